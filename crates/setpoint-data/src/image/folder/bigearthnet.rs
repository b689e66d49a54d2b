//! BigEarthNet: patches of Sentinel-2, each a folder with its bands and its labels.
//!
//! ```text
//! PATCH/PATCH_B04.tif, PATCH_B03.tif, PATCH_B02.tif    red, green, blue: 120 x 120, 16 bits
//! PATCH/PATCH_labels_metadata.json                     {"labels": ["Coniferous forest", ...], ...}
//! train.csv, val.csv, test.csv                         names of patches, where there is a split
//! ```
//!
//! A band is a reflectance times 10,000. Colours show 0 to 0.2 of it: values are
//! clipped at 2,000 and scaled to 0..255, as the usual RGB version of the set is made.
//! Each label that occurs becomes a column of 0 and 1.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::PathBuf;

use rayon::prelude::*;
use serde::Deserialize;

use super::Listing;
use super::walk::Walk;
use crate::Error;
use crate::image::column;
use crate::image::decode::Entry;
use crate::image::error::ImageError;
use crate::image::option::ImageShape;
use crate::image::picture::{Picture, decode_band};

/// The side that patches are resized to: the paper's images.
pub(super) const SIZE: usize = 40;
/// How the names of label files end.
pub(super) const LABELS: &str = "_labels_metadata.json";
/// Values from here on are white.
const WHITE: u32 = 2_000;

const BANDS: [&str; 3] = ["B04", "B03", "B02"];

#[derive(Deserialize)]
struct Metadata {
    labels: Vec<String>,
}

/// The patches by name, with a column for each label.
pub(super) fn list(walk: &Walk) -> Result<Listing, Error> {
    let mut patches: Vec<(String, PathBuf, [PathBuf; 3])> = Vec::new();
    for file in &walk.files {
        let Some(stem) = file.path.strip_suffix(LABELS) else { continue };
        let name = stem.rsplit('/').next().unwrap_or(stem).to_owned();
        let band = |band: &str| {
            let path = format!("{stem}_{band}.tif");
            walk.find(&path).ok_or(ImageError::Labels {
                file: walk.root.join(&file.path).display().to_string(),
                problem: format!("its patch lacks {path}"),
            })
        };
        patches.push((name, walk.root.join(&file.path), [band(BANDS[0])?, band(BANDS[1])?, band(BANDS[2])?]));
    }
    let mut notes = Vec::new();
    let parts = read_split(walk)?;
    if let Some(parts) = &parts {
        let found: HashSet<&str> = patches.iter().map(|(name, ..)| name.as_str()).collect();
        let absent = parts.keys().filter(|name| !found.contains(name.as_str())).count();
        let before = patches.len();
        patches.retain(|(name, ..)| parts.contains_key(name));
        if patches.len() < before {
            notes.push(format!(
                "{} patches are in no list of the split and are left out",
                before - patches.len()
            ));
        }
        if absent > 0 {
            notes.push(format!("{absent} patches that the split lists are not there"));
        }
    }
    if patches.is_empty() {
        return Err(ImageError::Empty { file: walk.name(), expected: "patches with bands and labels" }.into());
    }
    let sets: Vec<Result<Vec<String>, ImageError>> =
        patches.par_iter().map(|(_, path, _)| read_labels(path)).collect();
    let sets = sets.into_iter().collect::<Result<Vec<_>, _>>()?;
    let all: BTreeSet<&String> = sets.iter().flatten().collect();
    let labels =
        all.iter().map(|label| column::of_bools(label, sets.iter().map(|set| set.contains(label)))).collect();
    let part_of = parts.map(|parts| patches.iter().map(|(name, ..)| parts[name]).collect());
    let entry = |(name, _, files): (String, PathBuf, [PathBuf; 3])| Entry { name, files: files.to_vec() };
    Ok(Listing { entries: patches.into_iter().map(entry).collect(), labels, part_of, notes })
}

/// Red, green and blue of a patch.
pub(super) fn decode(entry: &Entry, _channels: Option<usize>) -> Result<Picture, ImageError> {
    let mut shape = ImageShape { height: 0, width: 0, channels: BANDS.len() };
    let mut pixels = Vec::new();
    for (channel, path) in entry.files.iter().enumerate() {
        let (height, width, values) = decode_band(path)?;
        if channel == 0 {
            (shape.height, shape.width) = (height, width);
            pixels = vec![0; shape.bytes()];
        } else if (height, width) != (shape.height, shape.width) {
            return Err(ImageError::Size {
                file: path.display().to_string(),
                found: (width, height),
                first: format!("the red band of {}", entry.name),
                expected: (shape.width, shape.height),
            });
        }
        for (pixel, value) in pixels.chunks_exact_mut(shape.channels).zip(values) {
            pixel[channel] = (u32::from(value).min(WHITE) * 255 / WHITE) as u8;
        }
    }
    Ok(Picture { shape, pixels, colour: true })
}

fn read_labels(path: &PathBuf) -> Result<Vec<String>, ImageError> {
    let file = || path.display().to_string();
    let text = std::fs::read(path).map_err(|source| ImageError::Io { file: file(), source })?;
    let metadata: Metadata = serde_json::from_slice(&text).map_err(|error| ImageError::Labels {
        file: file(),
        problem: format!("{error}; expected JSON with a list of \"labels\""),
    })?;
    Ok(metadata.labels)
}

/// The part of each patch, if lists of a split are there.
fn read_split(walk: &Walk) -> Result<Option<HashMap<String, u8>>, ImageError> {
    let mut parts = HashMap::new();
    for (file, part) in [("train.csv", 0), ("val.csv", 1), ("test.csv", 3)] {
        let Some(path) = walk.find(file) else { continue };
        let io = |source| ImageError::Io { file: path.display().to_string(), source };
        for line in std::fs::read_to_string(&path).map_err(io)?.lines() {
            // The lists of the multi-modal version name the radar patch second.
            let name = line.split(',').next().unwrap_or_default().trim();
            if name.is_empty() {
                continue;
            }
            if let Some(other) = parts.insert(name.to_owned(), part).filter(|other| *other != part) {
                let problem =
                    format!("{name} is in the list of {} as well", crate::PARTS[usize::from(other)]);
                return Err(ImageError::Labels { file: path.display().to_string(), problem });
            }
        }
    }
    Ok((!parts.is_empty()).then_some(parts))
}
