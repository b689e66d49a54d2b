//! The values of arrays: pixels as bytes, labels as texts.

use std::io::Read;

use npyz::{DType, Deserialize, NpyFile, TypeChar};

use super::file::{Arrays, Header};
use crate::image::error::ImageError;

/// Longest text of a label.
const MAX_TEXT: u64 = 10_000;

/// Pixels: bytes as they are, floats from 0 to 1 as 0 to 255.
pub(super) fn pixels(arrays: &mut Arrays, array: &Header) -> Result<Vec<u8>, ImageError> {
    let file = arrays.file.clone();
    match scalar(array) {
        Some((TypeChar::Uint, 1)) => {
            let mut bytes = Vec::new();
            let found = arrays.values(array, 1)?.take(array.count).read_to_end(&mut bytes);
            found.map_err(|error| array.refuse(&file, error.to_string()))?;
            if bytes.len() as u64 != array.count {
                return Err(cut(&file, array, bytes.len()));
            }
            Ok(bytes)
        }
        Some((TypeChar::Float, 4)) => floats::<f32>(arrays, array),
        Some((TypeChar::Float, 8)) => floats::<f64>(arrays, array),
        _ => {
            let problem = format!(
                "values of type {}; expected images of type uint8, or float32 or float64 from 0 to 1",
                array.kind()
            );
            Err(array.refuse(&file, problem))
        }
    }
}

fn floats<T: Deserialize + Into<f64>>(arrays: &mut Arrays, array: &Header) -> Result<Vec<u8>, ImageError> {
    let file = arrays.file.clone();
    let mut bytes = Vec::new();
    visit::<T>(arrays, array, |value| {
        let value: f64 = value.into();
        if !(0.0..=1.0).contains(&value) {
            let image = bytes.len() as u64 / (array.count / array.shape[0]).max(1) + 1;
            let problem =
                format!("image {image} holds {value}; expected numbers from 0 to 1, or uint8 from 0 to 255");
            return Err(array.refuse(&file, problem));
        }
        bytes.push((value * 255.0).round() as u8);
        Ok(())
    })?;
    Ok(bytes)
}

/// Values as texts; NaN and an empty text are missing.
pub(super) fn texts(arrays: &mut Arrays, array: &Header) -> Result<Vec<Option<String>>, ImageError> {
    let mut texts = Vec::new();
    macro_rules! numbers {
        ($type:ty) => {
            visit::<$type>(arrays, array, |value| {
                texts.push(Some(value.to_string()));
                Ok(())
            })
        };
    }
    match scalar(array) {
        Some((TypeChar::Bool, _)) => visit::<bool>(arrays, array, |value| {
            texts.push(Some(u8::from(value).to_string()));
            Ok(())
        }),
        Some((TypeChar::Int, 1)) => numbers!(i8),
        Some((TypeChar::Int, 2)) => numbers!(i16),
        Some((TypeChar::Int, 4)) => numbers!(i32),
        Some((TypeChar::Int, 8)) => numbers!(i64),
        Some((TypeChar::Uint, 1)) => numbers!(u8),
        Some((TypeChar::Uint, 2)) => numbers!(u16),
        Some((TypeChar::Uint, 4)) => numbers!(u32),
        Some((TypeChar::Uint, 8)) => numbers!(u64),
        Some((TypeChar::Float, 4)) => visit::<f32>(arrays, array, |value| {
            texts.push((!value.is_nan()).then(|| value.to_string()));
            Ok(())
        }),
        Some((TypeChar::Float, 8)) => visit::<f64>(arrays, array, |value| {
            texts.push((!value.is_nan()).then(|| value.to_string()));
            Ok(())
        }),
        Some((TypeChar::UnicodeStr | TypeChar::ByteStr, 0..=MAX_TEXT)) => {
            visit::<String>(arrays, array, |value| {
                texts.push((!value.is_empty()).then_some(value));
                Ok(())
            })
        }
        _ => {
            let problem = format!(
                "labels of type {}; expected whole numbers, floats, truths or short text",
                array.kind()
            );
            Err(array.refuse(&arrays.file, problem))
        }
    }?;
    Ok(texts)
}

/// Goes through the values in order.
fn visit<T: Deserialize>(
    arrays: &mut Arrays,
    array: &Header,
    mut take: impl FnMut(T) -> Result<(), ImageError>,
) -> Result<(), ImageError> {
    let file = arrays.file.clone();
    let reader = arrays.values(array, size_of::<Option<String>>() as u64)?;
    let values = NpyFile::with_header(array.npy.clone(), reader)
        .data::<T>()
        .map_err(|error| array.refuse(&file, error.to_string()))?;
    for (at, value) in values.enumerate() {
        take(value.map_err(|_| cut(&file, array, at))?)?;
    }
    Ok(())
}

fn scalar(array: &Header) -> Option<(TypeChar, u64)> {
    match array.npy.dtype() {
        DType::Plain(kind) => Some((kind.type_char(), kind.size_field())),
        _ => None,
    }
}

fn cut(file: &str, array: &Header, found: usize) -> ImageError {
    array.refuse(
        file,
        format!("{found} values can be read; expected {}; the file may be cut short", array.count),
    )
}
