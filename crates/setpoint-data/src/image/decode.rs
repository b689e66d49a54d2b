//! Many images at once: in parallel, in order, with progress.

use std::ops::ControlFlow;
use std::path::PathBuf;

use rayon::prelude::*;

use super::error::ImageError;
use super::option::ImageShape;
use super::picture::{Fit, Picture};
use super::{Progress, check_bytes};

/// Images between two reports: enough to keep every thread busy, few enough to stop soon.
const BATCH: usize = 512;

/// An image of a folder: its name, and the file or files it is made of.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub name: String,
    pub files: Vec<PathBuf>,
}

/// Makes an image of an entry, with so many channels or as many as it is stored with.
pub(super) type Decode = dyn Fn(&Entry, Option<usize>) -> Result<Picture, ImageError> + Sync;

/// Decodes every entry into one buffer; the first says the shape, and the channels if nobody did.
///
/// An error is that of the first entry that has one, for any number of threads.
pub(super) fn decode_all(
    folder: &str,
    entries: &[Entry],
    (fit, channels): (Fit, Option<usize>),
    decode: &Decode,
    progress: Progress<'_>,
) -> Result<(ImageShape, Vec<u8>), ImageError> {
    let Some(first) = entries.first() else {
        return Err(ImageError::Empty { file: folder.to_owned(), expected: "at least one" });
    };
    let example = decode(first, channels)?;
    let shape = fit.shape(example.shape);
    let mut pixels = vec![0; check_bytes(folder, entries.len() as u64, shape)?];
    let place = |entry: &Entry, out: &mut [u8]| -> Result<(), ImageError> {
        let picture = decode(entry, Some(shape.channels))?;
        let file = entry.files.first();
        let name = || file.map_or_else(|| entry.name.clone(), |file| file.display().to_string());
        if channels.is_none() && picture.colour && !example.colour {
            return Err(ImageError::Colour { file: name(), first: first.name.clone() });
        }
        let found = fit.shape(picture.shape);
        if found != shape {
            return Err(ImageError::Size {
                file: name(),
                found: (found.width, found.height),
                first: first.name.clone(),
                expected: (shape.width, shape.height),
            });
        }
        fit.apply(&picture.pixels, picture.shape, out, &name)
    };
    let total = entries.len();
    let mut done = 0;
    for (batch, out) in entries.chunks(BATCH).zip(pixels.chunks_mut(BATCH * shape.bytes())) {
        if let ControlFlow::Break(()) = progress(done, total) {
            return Err(ImageError::Cancelled { file: folder.to_owned(), done, total });
        }
        let results: Vec<Result<(), ImageError>> = batch
            .par_iter()
            .zip(out.par_chunks_mut(shape.bytes()))
            .with_max_len(8)
            .map(|(entry, out)| place(entry, out))
            .collect();
        results.into_iter().collect::<Result<(), ImageError>>()?;
        done += batch.len();
    }
    // Nothing is left to stop.
    let _ = progress(done, total);
    Ok((shape, pixels))
}

/// Cuts and resizes images that are in memory already.
pub(super) fn fit_all(
    file: &str,
    pixels: Vec<u8>,
    shape: ImageShape,
    fit: Fit,
) -> Result<(ImageShape, Vec<u8>), ImageError> {
    let to = fit.shape(shape);
    if to == shape {
        return Ok((shape, pixels));
    }
    let rows = pixels.len() / shape.bytes();
    let mut fitted = vec![0; check_bytes(file, rows as u64, to)?];
    fitted
        .par_chunks_mut(to.bytes())
        .zip(pixels.par_chunks(shape.bytes()))
        .try_for_each(|(out, image)| fit.apply(image, shape, out, &|| file.to_owned()))?;
    Ok((to, fitted))
}

/// Turns plane after plane into channels last, image by image.
///
/// Each image starts `skip` bytes into a record of `skip` bytes and the image.
pub(super) fn interleave(records: &[u8], skip: usize, shape: ImageShape) -> Vec<u8> {
    let plane = shape.height * shape.width;
    let mut pixels = vec![0; records.len() / (skip + shape.bytes()) * shape.bytes()];
    pixels.par_chunks_mut(shape.bytes()).zip(records.par_chunks(skip + shape.bytes())).for_each(
        |(image, record)| {
            for (channel, values) in record[skip..].chunks_exact(plane).enumerate() {
                for (pixel, value) in image.chunks_exact_mut(shape.channels).zip(values) {
                    pixel[channel] = *value;
                }
            }
        },
    );
    pixels
}
