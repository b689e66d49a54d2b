//! One image: decoded, cut, resized.

use std::io::Cursor;
use std::path::Path;

use fast_image_resize as resize;
use fast_image_resize::images::{TypedImage, TypedImageRef};
use fast_image_resize::pixels::U8;
use image::{DynamicImage, ImageDecoder, ImageReader};

use super::error::ImageError;
use super::option::{ImageOptions, ImageShape};

/// Most bytes of an image.
const MOST_BYTES: u64 = 512 << 20;

/// An image in memory, channels last.
#[derive(Debug)]
pub(super) struct Picture {
    pub shape: ImageShape,
    pub pixels: Vec<u8>,
    /// Whether it was stored in colour.
    pub colour: bool,
}

/// Decodes an image file of any format; `None` channels: as it is stored.
pub(super) fn decode(path: &Path, channels: Option<usize>) -> Result<Picture, ImageError> {
    let image = open(path)?;
    let colour = image.color().has_color();
    let (width, height) = (image.width() as usize, image.height() as usize);
    let channels = channels.unwrap_or(if colour { 3 } else { 1 });
    let pixels = if channels == 1 { image.into_luma8().into_raw() } else { image.into_rgb8().into_raw() };
    Ok(Picture { shape: ImageShape { height, width, channels }, pixels, colour })
}

/// Decodes an image of one channel of 16 bits: a band of a satellite image.
pub(super) fn decode_band(path: &Path) -> Result<(usize, usize, Vec<u16>), ImageError> {
    match open(path)? {
        DynamicImage::ImageLuma16(band) => {
            Ok((band.height() as usize, band.width() as usize, band.into_raw()))
        }
        other => Err(ImageError::Decode {
            file: path.display().to_string(),
            message: format!("pixels of type {:?}; expected one channel of 16 bits", other.color()),
        }),
    }
}

/// The image, turned as its camera says.
fn open(path: &Path) -> Result<DynamicImage, ImageError> {
    let file = || path.display().to_string();
    let bytes = std::fs::read(path).map_err(|source| ImageError::Io { file: file(), source })?;
    let refuse = |error: image::ImageError| ImageError::Decode { file: file(), message: error.to_string() };
    let reader = ImageReader::new(Cursor::new(bytes))
        .with_guessed_format()
        .map_err(|source| ImageError::Io { file: file(), source })?;
    if reader.format().is_none() {
        let message = "expected PNG, JPEG or TIFF".to_owned();
        return Err(ImageError::Decode { file: file(), message });
    }
    let mut decoder = reader.into_decoder().map_err(refuse)?;
    // A few bytes can say that an image has billions of pixels.
    if decoder.total_bytes() > MOST_BYTES {
        let (width, height) = decoder.dimensions();
        let message = format!("{width} x {height} pixels, which take more than 512 MiB");
        return Err(ImageError::Decode { file: file(), message });
    }
    let orientation = decoder.orientation().map_err(refuse)?;
    let mut image = DynamicImage::from_decoder(decoder).map_err(refuse)?;
    image.apply_orientation(orientation);
    if image.width() == 0 || image.height() == 0 {
        let message = format!("it has {} x {} pixels", image.width(), image.height());
        return Err(ImageError::Decode { file: file(), message });
    }
    Ok(image)
}

/// What is cut from every image, and the side it is resized to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fit {
    pub crop: Option<usize>,
    pub size: Option<usize>,
}

impl Fit {
    pub fn new(options: &ImageOptions, crop: Option<usize>, size: Option<usize>) -> Self {
        Self { crop: options.crop.or(crop), size: options.size.or(size) }
    }

    /// The shape that an image of this shape gets.
    pub fn shape(self, shape: ImageShape) -> ImageShape {
        match self.size.or(self.crop) {
            Some(side) => ImageShape { height: side, width: side, ..shape },
            None => shape,
        }
    }

    /// Cuts and resizes an image into a buffer of the shape it gets; errors call it `name()`.
    pub fn apply(
        self,
        pixels: &[u8],
        shape: ImageShape,
        out: &mut [u8],
        name: &dyn Fn() -> String,
    ) -> Result<(), ImageError> {
        let mut cut = Vec::new();
        let (mut pixels, mut from) = (pixels, shape);
        if let Some(crop) = self.crop {
            if crop > shape.width || crop > shape.height {
                let (width, height) = (shape.width, shape.height);
                return Err(ImageError::Crop { file: name(), width, height, crop });
            }
            let (top, left) = ((shape.height - crop) / 2, (shape.width - crop) / 2);
            for row in pixels.chunks_exact(shape.width * shape.channels).skip(top).take(crop) {
                cut.extend_from_slice(&row[left * shape.channels..][..crop * shape.channels]);
            }
            (pixels, from) = (&cut, ImageShape { height: crop, width: crop, ..shape });
        }
        let to = self.shape(shape);
        if from == to {
            out.copy_from_slice(pixels);
            return Ok(());
        }
        resample(pixels, from, out, to).map_err(|message| ImageError::Decode { file: name(), message })
    }
}

/// Resizes channel by channel.
///
/// The resizer is compiled anew for each type of pixel it is called with, at length: one
/// type, of one channel, serves for any number of them.
fn resample(pixels: &[u8], from: ImageShape, out: &mut [u8], to: ImageShape) -> Result<(), String> {
    let options = resize::ResizeOptions::new()
        .resize_alg(resize::ResizeAlg::Convolution(resize::FilterType::Lanczos3))
        .use_alpha(false);
    let mut resizer = resize::Resizer::new();
    let mut plane = vec![0; from.height * from.width];
    let mut small = vec![0; to.height * to.width];
    for channel in 0..from.channels {
        for (value, pixel) in plane.iter_mut().zip(pixels.chunks_exact(from.channels)) {
            *value = pixel[channel];
        }
        let source = TypedImageRef::<U8>::from_buffer(from.width as u32, from.height as u32, &plane)
            .map_err(|error| error.to_string())?;
        let mut target = TypedImage::<U8>::from_buffer(to.width as u32, to.height as u32, &mut small)
            .map_err(|error| error.to_string())?;
        resizer.resize_typed(&source, &mut target, &options).map_err(|error| error.to_string())?;
        for (pixel, value) in out.chunks_exact_mut(to.channels).zip(&small) {
            pixel[channel] = *value;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(height: usize, width: usize) -> ImageShape {
        ImageShape { height, width, channels: 1 }
    }

    fn fit(crop: Option<usize>, size: Option<usize>, pixels: &[u8], from: ImageShape) -> Vec<u8> {
        let fit = Fit { crop, size };
        let mut out = vec![0; fit.shape(from).bytes()];
        fit.apply(pixels, from, &mut out, &|| "t.png".to_owned()).unwrap();
        out
    }

    #[test]
    fn an_image_that_says_it_has_billions_of_pixels_is_refused_before_it_is_allocated() {
        let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".to_vec();
        // 8 x 4,143,906,824 points of one bit, the sum of the header, and the start of an image.
        bytes.extend([0, 0, 0, 8, 0xf6, 0xff, 0, 8, 1, 0, 0, 0, 0, 0x2f, 0xd3, 0x3f, 0xd0]);
        bytes.extend(
            b"\0\0\0\x18IDATx\x9cc\xb8\xc4\xc4\xc2\xa0\xcf\x94\xce$\xca\xa4\xc9\xf0\x86i\x1b\0\x17`\x03W",
        );
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("1.png");
        std::fs::write(&path, bytes).unwrap();
        let error = decode(&path, None).unwrap_err().to_string();
        assert!(error.ends_with("8 x 4143906824 pixels, which take more than 512 MiB"), "{error}");
    }

    #[test]
    fn a_crop_is_the_centre() {
        let pixels: Vec<u8> = (0..20).collect();
        assert_eq!(fit(Some(2), None, &pixels, shape(4, 5)), [6, 7, 11, 12]);
        assert_eq!(fit(None, None, &pixels, shape(4, 5)), pixels);
    }

    #[test]
    fn resizing_keeps_a_flat_image_flat_and_a_gradient_in_order() {
        assert_eq!(fit(None, Some(3), &[77; 64], shape(8, 8)), [77; 9]);
        let ramp: Vec<u8> = (0..144).map(|at| (at % 12) * 20).collect();
        let row = &fit(None, Some(4), &ramp, shape(12, 12))[..4];
        assert!(row.is_sorted() && row[3] > row[0] + 100, "{row:?}");
    }

    #[test]
    fn a_crop_larger_than_the_image_is_refused() {
        let error = Fit { crop: Some(9), size: None }
            .apply(&[0; 64], shape(8, 8), &mut [0; 81], &|| "t.png".to_owned())
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "t.png: 8 x 8 pixels are too few for a crop of 9 x 9; give a smaller ‹crop›"
        );
    }
}
