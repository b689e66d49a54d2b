//! Batch norm: each channel to mean 0 and variance 1 over the batch, then scaled and shifted.
//!
//! ```text
//! learning:  y = gamma (z - m) / sqrt(v + epsilon) + beta,   m, v: mean and variance of z in the batch
//! in use:    the same with running averages of m and v
//! backward:  dz = gamma / sqrt(v + epsilon) (dy - mean(dy) - zhat mean(dy zhat)),   zhat = (z - m) / sqrt(v + epsilon)
//! ```
//!
//! Sums run in f64, group by group in order. Running averages start at mean 0 and variance 1, move a
//! tenth of the way at each step, the variance by its unbiased estimate: all as in PyTorch. A channel
//! with a single value in the batch (one row of a dense layer) has no variance: such a batch is
//! normalised by the running averages, as in use, and leaves them as they are.

use super::elementwise::{LANES, positive, vectorised};

/// Added to the variance.
const EPSILON: f64 = 1e-5;
/// How far running averages move at each step.
const MOMENTUM: f64 = 0.1;

/// The batch norm of a block as one batch sees it.
#[derive(Clone, Debug, Default)]
pub(super) struct Norm {
    /// y = scale (z - mean) + shift.
    mean: Vec<f32>,
    scale: Vec<f32>,
    shift: Vec<f32>,
    /// 1 / sqrt(v + epsilon).
    inverse: Vec<f64>,
    /// dz = scale dy - tilt (z - mean) - level.
    tilt: Vec<f32>,
    level: Vec<f32>,
    /// Mean and biased variance of the batch.
    moments: Vec<(f64, f64)>,
    /// Values of a channel in the batch.
    count: usize,
}

impl Norm {
    /// Whether the last batch had a variance.
    fn learns(&self) -> bool {
        self.count > 1
    }

    /// By the running averages.
    pub(super) fn in_use(&mut self, parameters: &[f32]) {
        self.count = 0;
        let channels = parameters.len() / 4;
        self.set(parameters, |c| (parameters[2 * channels + c].into(), parameters[3 * channels + c].into()));
    }

    /// By the sums and sums of squares of the groups of a batch.
    pub(super) fn learn<'a>(
        &mut self,
        parameters: &[f32],
        count: usize,
        groups: impl Iterator<Item = &'a [f64]> + Clone,
    ) {
        if count < 2 {
            return self.in_use(parameters);
        }
        self.count = count;
        let channels = parameters.len() / 4;
        self.moments.clear();
        self.moments.extend((0..channels).map(|c| {
            let mean = groups.clone().map(|sums| sums[c]).sum::<f64>() / count as f64;
            let square = groups.clone().map(|sums| sums[channels + c]).sum::<f64>() / count as f64;
            (mean, (square - mean * mean).max(0.0))
        }));
        let moments = std::mem::take(&mut self.moments);
        self.set(parameters, |c| moments[c]);
        self.moments = moments;
    }

    fn set(&mut self, parameters: &[f32], moments: impl Fn(usize) -> (f64, f64)) {
        let channels = parameters.len() / 4;
        for values in [&mut self.mean, &mut self.scale, &mut self.shift] {
            values.resize(channels, 0.0);
        }
        self.inverse.resize(channels, 0.0);
        for c in 0..channels {
            let (mean, variance) = moments(c);
            self.inverse[c] = 1.0 / (variance + EPSILON).sqrt();
            self.mean[c] = mean as f32;
            self.scale[c] = (f64::from(parameters[c]) * self.inverse[c]) as f32;
            self.shift[c] = parameters[channels + c];
        }
    }

    /// From the groups' sums of dy and dy z: writes the gradient by scale and shift (0 for what is
    /// observed), and keeps what turns dy into dz.
    pub(super) fn backward<'a>(
        &mut self,
        groups: impl Iterator<Item = &'a [f64]> + Clone,
        gradient: &mut [f32],
    ) {
        let channels = gradient.len() / 4;
        gradient[2 * channels..].fill(0.0);
        self.tilt.resize(channels, 0.0);
        self.level.resize(channels, 0.0);
        for c in 0..channels {
            let by_shift: f64 = groups.clone().map(|sums| sums[c]).sum();
            let product: f64 = groups.clone().map(|sums| sums[channels + c]).sum();
            let by_scale = self.inverse[c] * (product - f64::from(self.mean[c]) * by_shift);
            gradient[c] = by_scale as f32;
            gradient[channels + c] = by_shift as f32;
            let each = if self.learns() { f64::from(self.scale[c]) / self.count as f64 } else { 0.0 };
            self.tilt[c] = (each * self.inverse[c] * by_scale) as f32;
            self.level[c] = (each * by_shift) as f32;
        }
    }

    /// Moves the running averages towards the last batch.
    pub(super) fn observe(&self, parameters: &mut [f32]) {
        if !self.learns() {
            return;
        }
        let channels = parameters.len() / 4;
        let unbiased = self.count as f64 / (self.count - 1) as f64;
        let (means, variances) = parameters[2 * channels..].split_at_mut(channels);
        for ((running_mean, running_variance), (mean, variance)) in
            means.iter_mut().zip(variances).zip(&self.moments)
        {
            let towards =
                |running: f32, now: f64| ((1.0 - MOMENTUM) * f64::from(running) + MOMENTUM * now) as f32;
            *running_mean = towards(*running_mean, *mean);
            *running_variance = towards(*running_variance, unbiased * variance);
        }
    }

    /// Where scale, shift, running mean and running variance start.
    pub(super) fn initial(parameters: &mut [f32]) {
        let channels = parameters.len() / 4;
        parameters.fill(0.0);
        parameters[..channels].fill(1.0);
        parameters[3 * channels..].fill(1.0);
    }

    /// Writes y, or relu(y), for each z.
    pub(super) fn apply(&self, inputs: &[f32], outputs: &mut [f32], relu: bool) {
        let Self { mean, scale, shift, .. } = self;
        if relu {
            normalise_relu(inputs, outputs, mean, scale, shift)
        } else {
            normalise(inputs, outputs, mean, scale, shift)
        }
    }

    /// Writes dz for each z and dy.
    pub(super) fn slope(&self, inputs: &[f32], slopes: &[f32], into: &mut [f32]) {
        slope(inputs, slopes, into, &self.mean, &self.scale, &self.tilt, &self.level);
    }
}

vectorised! {
    fn normalise(inputs: &'a [f32], outputs: &'a mut [f32], mean: &'a [f32], scale: &'a [f32], shift: &'a [f32]) {
        let channels = mean.len();
        let (scale, shift) = (&scale[..channels], &shift[..channels]);
        for (z, y) in inputs.chunks_exact(channels).zip(outputs.chunks_exact_mut(channels)) {
            for c in 0..channels {
                y[c] = scale[c] * (z[c] - mean[c]) + shift[c];
            }
        }
    }

    fn normalise_relu(inputs: &'a [f32], outputs: &'a mut [f32], mean: &'a [f32], scale: &'a [f32], shift: &'a [f32]) {
        let channels = mean.len();
        let (scale, shift) = (&scale[..channels], &shift[..channels]);
        for (z, y) in inputs.chunks_exact(channels).zip(outputs.chunks_exact_mut(channels)) {
            for c in 0..channels {
                y[c] = positive(scale[c] * (z[c] - mean[c]) + shift[c]);
            }
        }
    }

    fn slope(
        inputs: &'a [f32],
        slopes: &'a [f32],
        into: &'a mut [f32],
        mean: &'a [f32],
        scale: &'a [f32],
        tilt: &'a [f32],
        level: &'a [f32],
    ) {
        let channels = mean.len();
        let (scale, tilt, level) = (&scale[..channels], &tilt[..channels], &level[..channels]);
        let rows = inputs.chunks_exact(channels).zip(slopes.chunks_exact(channels));
        for ((z, dy), dz) in rows.zip(into.chunks_exact_mut(channels)) {
            for c in 0..channels {
                dz[c] = scale[c] * dy[c] - tilt[c] * (z[c] - mean[c]) - level[c];
            }
        }
    }

    /// Adds each channel's sum of x and of x y to `sums`.
    fn add_sums(x: &'a [f32], y: &'a [f32], sums: &'a mut [f64]) {
        let channels = sums.len() / 2;
        let mut start = 0;
        while start < channels {
            start += match channels - start {
                WIDE.. => add_some::<WIDE>(x, y, start, sums),
                LANES.. => add_some::<LANES>(x, y, start, sums),
                _ => add_some::<1>(x, y, start, sums),
            };
        }
    }
}

/// Channels summed at a time where there are as many: their values in a row are some cache lines side by side.
const WIDE: usize = 4 * LANES;

/// Adds the sums of so many channels; how many they are.
#[inline(always)]
fn add_some<const WIDTH: usize>(x: &[f32], y: &[f32], start: usize, sums: &mut [f64]) -> usize {
    let channels = sums.len() / 2;
    let (mut plain, mut product) = ([0.0f64; WIDTH], [0.0f64; WIDTH]);
    for (x, y) in x.chunks_exact(channels).zip(y.chunks_exact(channels)) {
        let (x, y) = (&x[start..start + WIDTH], &y[start..start + WIDTH]);
        for lane in 0..WIDTH {
            let value = f64::from(x[lane]);
            plain[lane] += value;
            product[lane] += value * f64::from(y[lane]);
        }
    }
    for lane in 0..WIDTH {
        sums[start + lane] += plain[lane];
        sums[channels + start + lane] += product[lane];
    }
    WIDTH
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_a_plain_loop_for_any_number_of_channels() {
        // Each width alone, and all three.
        for channels in [1, LANES, WIDE, WIDE + LANES + 3] {
            let x: Vec<f32> = (0..5 * channels).map(|i| (i as f32 * 0.37).sin()).collect();
            let y: Vec<f32> = x.iter().map(|x| 1.5 - x).collect();
            let mut sums = vec![0.0; 2 * channels];
            add_sums(&x, &y, &mut sums);
            for channel in 0..channels {
                let own = |values: &[f32]| -> Vec<f64> {
                    values.iter().skip(channel).step_by(channels).map(|value| f64::from(*value)).collect()
                };
                let (x, y) = (own(&x), own(&y));
                assert_eq!(sums[channel], x.iter().sum::<f64>());
                assert_eq!(sums[channels + channel], x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>());
            }
        }
    }
}
