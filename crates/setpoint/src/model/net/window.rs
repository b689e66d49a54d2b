//! The windows of a convolution as rows of a matrix, and back.
//!
//! With channels last, a window is `kernel` runs of `kernel * channels` values, each contiguous in
//! the image, so both directions are long copies and additions.

use super::elementwise::vectorised;

/// How a convolution reads an image.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    /// Height, width, channels.
    pub image: [usize; 3],
    pub kernel: usize,
    pub stride: usize,
    /// Rows and columns of zeros above and to the left of the image.
    pub before: [usize; 2],
    /// Height and width of the output.
    pub out: [usize; 2],
}

/// A run of values common to an image and a row of windows.
struct Run {
    /// Where it starts in the image and in the windows.
    image: usize,
    row: usize,
    length: usize,
}

impl Window {
    fn image_size(&self) -> usize {
        self.image.iter().product()
    }

    fn rows_size(&self) -> usize {
        self.out[0] * self.out[1] * self.kernel * self.kernel * self.image[2]
    }

    /// Writes the windows of whole images to `rows`.
    pub(super) fn copy(&self, images: &[f32], rows: &mut [f32]) {
        let outside = self.reaches_outside();
        for (image, rows) in
            images.chunks_exact(self.image_size()).zip(rows.chunks_exact_mut(self.rows_size()))
        {
            if outside {
                rows.fill(0.0);
            }
            self.for_each_run(|run| {
                rows[run.row..][..run.length].copy_from_slice(&image[run.image..][..run.length]);
            });
        }
    }

    fn reaches_outside(&self) -> bool {
        let past = |side: usize| {
            let last = (self.out[side] - 1) * self.stride + self.kernel;
            self.before[side] > 0 || last > self.image[side] + self.before[side]
        };
        past(0) || past(1)
    }

    #[inline(always)]
    fn for_each_run(&self, mut apply: impl FnMut(Run)) {
        let [height, width, channels] = self.image;
        let kernel = self.kernel;
        for top in 0..self.out[0] {
            for left in 0..self.out[1] {
                let window = (top * self.out[1] + left) * kernel * kernel * channels;
                // The window's columns that lie in the image.
                let x = left * self.stride;
                let from = self.before[1].saturating_sub(x);
                let to = kernel.min((width + self.before[1]).saturating_sub(x));
                if from >= to {
                    continue;
                }
                for row in 0..kernel {
                    let y = top * self.stride + row;
                    if y < self.before[0] || y - self.before[0] >= height {
                        continue;
                    }
                    apply(Run {
                        image: ((y - self.before[0]) * width + x + from - self.before[1]) * channels,
                        row: window + (row * kernel + from) * channels,
                        length: (to - from) * channels,
                    });
                }
            }
        }
    }
}

vectorised! {
    /// Overwrites whole images with the sums, for each value, of where the windows had it.
    fn add_back(window: &'a Window, rows: &'a [f32], images: &'a mut [f32]) {
        let images = images.chunks_exact_mut(window.image_size());
        for (image, rows) in images.zip(rows.chunks_exact(window.rows_size())) {
            image.fill(0.0);
            window.for_each_run(|run| {
                let rows = &rows[run.row..][..run.length];
                for (image, row) in image[run.image..][..run.length].iter_mut().zip(rows) {
                    *image += row;
                }
            });
        }
    }
}
