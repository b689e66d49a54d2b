//! NumPy arrays: NPZ and NPY.
//!
//! Images are the array of three dimensions, or of four with a few channels last or
//! first; labels are the arrays of one or two dimensions with as many rows. Names
//! that end or start with a part, as in `x_train` and `y_test` or `train_images`,
//! are joined, and the parts kept.

mod file;
mod value;

use std::path::Path;

use file::{Arrays, Header};

use super::decode::{fit_all, interleave};
use super::error::ImageError;
use super::option::{ImageOptions, ImageShape};
use super::picture::Fit;
use super::{ImageSet, check_bytes, column};
use crate::Error;
use crate::dataset::Codes;

/// Most channels that tell which dimension they are.
const FEW: u64 = 4;

/// Reads an NPZ or NPY file.
pub(super) fn read(path: &Path, options: &ImageOptions) -> Result<ImageSet, Error> {
    let mut arrays = Arrays::open(path)?;
    let file = arrays.file.clone();
    let images = choose_images(&arrays, options)?;
    let base = images[0].base.clone();
    let first = &images[0];
    let (shape, planes) = image_shape(&file, first, options.channels_first)?;
    let rows: Vec<u64> = images.iter().map(|array| array.shape[0]).collect();
    let total = rows.iter().try_fold(0u64, |total, rows| total.checked_add(*rows)).unwrap_or(u64::MAX);
    check_bytes(&file, total, shape)?;
    if total == 0 {
        return Err(ImageError::Empty { file, expected: "arrays with at least one row" }.into());
    }
    let mut pixels = Vec::new();
    for array in &images {
        if array.shape[1..] != first.shape[1..] {
            let problem =
                format!("shape {:?} does not fit that of {:?}, {:?}", array.shape, first.name, first.shape);
            return Err(array.refuse(&file, problem).into());
        }
        let values = value::pixels(&mut arrays, array)?;
        if pixels.is_empty() { pixels = values } else { pixels.extend_from_slice(&values) }
    }
    if planes {
        pixels = interleave(&pixels, 0, shape);
    }
    let part_of = images
        .iter()
        .zip(&rows)
        .map(|(array, rows)| array.part.map(|part| std::iter::repeat_n(part, *rows as usize)));
    let part_of: Option<Vec<u8>> =
        part_of.collect::<Option<Vec<_>>>().map(|parts| parts.into_iter().flatten().collect());
    let parts: Vec<Option<u8>> = images.iter().map(|array| array.part).collect();
    let labels = read_labels(&mut arrays, options, &base, &parts, &rows)?;
    let (shape, pixels) = fit_all(&file, pixels, shape, Fit::new(options, None, None))?;
    Ok(ImageSet { file, shape, pixels, labels, part_of, names: None, notes: Vec::new() })
}

/// The array of images, or one for each part.
fn choose_images(arrays: &Arrays, options: &ImageOptions) -> Result<Vec<Header>, ImageError> {
    let of_base = |base: &str| -> Vec<Header> {
        let mut found: Vec<Header> = arrays
            .headers
            .iter()
            .filter(|array| array.base == base && array.part.is_some())
            .cloned()
            .collect();
        found.sort_by_key(|array| array.part);
        found
    };
    if let Some(key) = &options.images_key {
        if let Some(array) = arrays.headers.iter().find(|array| array.name == *key) {
            return Ok(vec![array.clone()]);
        }
        let parts = of_base(key);
        if !parts.is_empty() {
            return Ok(parts);
        }
        return Err(ImageError::Option {
            setting: "images-key",
            given: key.clone(),
            expected: format!("{} has no such array; it has {}", arrays.file, arrays.listed()),
        });
    }
    let mut bases: Vec<(&str, bool)> = (arrays.headers.iter())
        .filter(|array| (3..=4).contains(&array.shape.len()))
        .map(|array| (array.base.as_str(), array.part.is_some()))
        .collect();
    bases.dedup();
    bases.sort_unstable();
    bases.dedup();
    match bases[..] {
        [(base, true)] => Ok(of_base(base)),
        [(base, false)] => Ok(arrays
            .headers
            .iter()
            .filter(|array| array.base == base && array.part.is_none())
            .cloned()
            .collect()),
        [] => Err(ImageError::Unrecognised {
            file: arrays.file.clone(),
            found: format!("no array of 3 or 4 dimensions among {}", arrays.listed()),
        }),
        _ => Err(ImageError::Option {
            setting: "images-key",
            given: String::new(),
            expected: format!(
                "{} has several arrays that may be images, name one: {}",
                arrays.file,
                arrays.listed()
            ),
        }),
    }
}

/// The shape of an image, and whether planes come one after the other.
fn image_shape(
    file: &str,
    array: &Header,
    channels_first: Option<bool>,
) -> Result<(ImageShape, bool), ImageError> {
    let (height, width, channels, planes) = match array.shape[..] {
        [_, height, width] => (height, width, 1, false),
        [_, a, b, c] => match channels_first.unwrap_or(a <= FEW) {
            _ if channels_first.is_none() && (a <= FEW) == (c <= FEW) => {
                let problem = format!(
                    "shape {:?} does not tell whether channels come first or last; say it with ‹channels-first true› or ‹channels-first false›",
                    array.shape
                );
                return Err(array.refuse(file, problem));
            }
            true => (b, c, a, true),
            false => (a, b, c, false),
        },
        _ => {
            return Err(array.refuse(file, format!("shape {:?}; images have 3 or 4 dimensions", array.shape)));
        }
    };
    let shape = ImageShape::checked(height, width, channels)
        .ok_or_else(|| array.refuse(file, format!("shape {:?} is not that of images", array.shape)))?;
    Ok((shape, planes))
}

/// The label columns, part after part.
fn read_labels(
    arrays: &mut Arrays,
    options: &ImageOptions,
    images: &str,
    parts: &[Option<u8>],
    rows: &[u64],
) -> Result<Vec<Codes>, Error> {
    let file = arrays.file.clone();
    let fits = |array: &Header| {
        let place = parts.iter().position(|part| *part == array.part);
        place.is_some_and(|place| (1..=2).contains(&array.shape.len()) && array.shape[0] == rows[place])
    };
    let mut bases: Vec<String> = Vec::new();
    for array in arrays.headers.iter().filter(|array| array.base != images && fits(array)) {
        let wanted = options.labels_keys.as_ref();
        let named = wanted.is_none_or(|keys| keys.contains(&array.name) || keys.contains(&array.base));
        if named && !bases.contains(&array.base) {
            bases.push(array.base.clone());
        }
    }
    if bases.is_empty() && !options.unlabelled {
        let problem = format!(
            "no labels: no array of one or two dimensions with as many rows as the images among {}",
            arrays.listed()
        );
        return Err(ImageError::Labels { file, problem }.into());
    }
    let mut labels = Vec::new();
    for base in bases {
        // For each column the texts of all rows.
        let mut columns: Vec<Vec<Option<String>>> = Vec::new();
        for part in parts {
            let array =
                arrays.headers.iter().find(|array| array.base == base && array.part == *part && fits(array));
            let Some(array) = array.cloned() else {
                let problem = format!("labels {base:?} are not there for every part of the images");
                return Err(ImageError::Labels { file, problem }.into());
            };
            let width = usize::try_from(array.shape.get(1).copied().unwrap_or(1)).unwrap_or(usize::MAX);
            if !(1..=10_000).contains(&width) || (!columns.is_empty() && columns.len() != width) {
                return Err(array.refuse(&file, format!("{width} columns of labels do not fit")).into());
            }
            columns.resize(width, Vec::new());
            for (at, text) in value::texts(arrays, &array)?.into_iter().enumerate() {
                columns[at % width].push(text);
            }
        }
        let single = columns.len() == 1;
        for (at, texts) in columns.into_iter().enumerate() {
            let name = if single { base.clone() } else { format!("{base}.{at}") };
            labels.push(column::of_texts(&name, texts));
        }
    }
    Ok(labels)
}
