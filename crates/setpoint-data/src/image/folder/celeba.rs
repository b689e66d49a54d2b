//! CelebA: aligned faces of 178 x 218, forty attributes of -1 or 1, and a partition.
//!
//! ```text
//! img_align_celeba/000001.jpg ...
//! list_attr_celeba.txt       202599, then the names of the attributes, then 000001.jpg -1  1 ...
//! list_eval_partition.txt    000001.jpg 0      (0 train, 1 validation, 2 test)
//! ```
//!
//! The lists may be CSV (`image_id,...`) as well, and the images one folder deeper.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use setpoint::message::{clip, quote};

use super::walk::Walk;
use super::{Listing, table};
use crate::Error;
use crate::dataset::Codes;
use crate::image::column::{self, text};
use crate::image::decode::Entry;
use crate::image::error::ImageError;
use crate::read::source::Source;

/// The square cut from the centre, and the side it is resized to: the paper's images.
pub(super) const CROP: usize = 160;
pub(super) const SIZE: usize = 32;

const ATTRIBUTES: &str = "list_attr_celeba";
const PARTITION: &str = "list_eval_partition";

/// Whether the folder has the list of attributes.
pub(super) fn is_here(walk: &Walk) -> bool {
    list_file(walk, ATTRIBUTES).is_some()
}

/// The images in the order of the list, with attributes and parts.
pub(super) fn list(walk: &Walk) -> Result<Listing, Error> {
    let path = list_file(walk, ATTRIBUTES).ok_or_else(|| ImageError::Labels {
        file: walk.name(),
        problem: format!("no {ATTRIBUTES}.txt in it, the list of CelebA's attributes"),
    })?;
    let mut listing = if path.extension().is_some_and(|end| end == "csv") {
        table::read(walk, &Source::open(&path)?, None, None, None)?
    } else {
        read_attributes(walk, &path)?
    };
    match list_file(walk, PARTITION) {
        Some(path) => listing.part_of = Some(read_partition(&path, &listing.entries)?),
        None => listing.notes.push(format!("no {PARTITION}.txt: the data gives no parts")),
    }
    Ok(listing)
}

/// A list, in the folder itself or in one called `Anno` or `Eval` as it is published.
fn list_file(walk: &Walk, name: &str) -> Option<PathBuf> {
    let folders = ["", "Anno/", "Eval/"];
    folders
        .iter()
        .find_map(|folder| ["txt", "csv"].iter().find_map(|end| walk.find(&format!("{folder}{name}.{end}"))))
}

fn read_attributes(walk: &Walk, path: &Path) -> Result<Listing, Error> {
    let file = path.display().to_string();
    let refuse =
        |line: usize, problem: String| ImageError::Labels { file: format!("{file}:{line}"), problem };
    let text =
        std::fs::read_to_string(path).map_err(|source| ImageError::Io { file: file.clone(), source })?;
    let mut lines = text.lines();
    let count: usize = lines
        .next()
        .and_then(|line| line.trim().parse().ok())
        .ok_or_else(|| refuse(1, "expected the number of images alone".to_owned()))?;
    let names: Vec<&str> = lines.next().unwrap_or_default().split_whitespace().collect();
    if names.is_empty() {
        return Err(refuse(2, "expected the names of the attributes".to_owned()).into());
    }
    let mut places: HashMap<&str, &str> = HashMap::new();
    for image in walk.images() {
        places.insert(image.path.rsplit('/').next().unwrap_or(&image.path), &image.path);
    }
    let mut entries = Vec::new();
    let mut truths: Vec<Vec<bool>> = vec![Vec::new(); names.len()];
    for (index, line) in lines.enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let line_number = index + 3;
        let mut fields = line.split_whitespace();
        let name = fields.next().unwrap_or_default();
        let values: Vec<&str> = fields.collect();
        if values.len() != names.len() {
            let problem =
                format!("{} values, expected {} as there are attributes", values.len(), names.len());
            return Err(refuse(line_number, problem).into());
        }
        for (truths, value) in truths.iter_mut().zip(values) {
            match value {
                "1" => truths.push(true),
                "-1" => truths.push(false),
                other => {
                    return Err(refuse(line_number, format!("{}; expected 1 or -1", quote(other))).into());
                }
            }
        }
        let Some(place) = places.get(name) else {
            let problem = format!("{} is not among the {} images of the folder", quote(name), places.len());
            return Err(refuse(line_number, problem).into());
        };
        entries.push(Entry { name: (*place).to_owned(), files: vec![walk.root.join(place)] });
    }
    if entries.len() != count {
        let problem = format!("says {count} images and lists {}; it may be cut short", entries.len());
        return Err(refuse(1, problem).into());
    }
    let column = |(name, truths): (&&str, Vec<bool>)| column::of_bools(name, truths.into_iter());
    let labels: Vec<Codes> = names.iter().zip(truths).map(column).collect();
    Ok(Listing { entries, labels, part_of: None, notes: Vec::new() })
}

fn read_partition(path: &Path, entries: &[Entry]) -> Result<Vec<u8>, Error> {
    let file = path.display().to_string();
    let refuse = |problem: String| ImageError::Labels { file: file.clone(), problem };
    let mut parts: HashMap<String, u8> = HashMap::new();
    let mut insert = |name: &str, text: &str| {
        let part = column::part(text);
        let part =
            part.ok_or_else(|| refuse(format!("{}: part {}; expected 0, 1 or 2", clip(name), quote(text))))?;
        parts.insert(name.to_owned(), part);
        Ok::<(), ImageError>(())
    };
    if path.extension().is_some_and(|end| end == "csv") {
        let columns = column::of_table(&Source::open(path)?, None)?;
        let [names, part_names, ..] = &columns[..] else {
            return Err(refuse("expected two columns: image and part".to_owned()).into());
        };
        for row in 0..names.of.len() {
            insert(text(names, row).unwrap_or_default(), text(part_names, row).unwrap_or_default())?;
        }
    } else {
        let text = std::fs::read_to_string(path);
        let text = text.map_err(|source| ImageError::Io { file: file.clone(), source })?;
        for line in text.lines() {
            let mut fields = line.split_whitespace();
            if let (Some(name), Some(part)) = (fields.next(), fields.next()) {
                insert(name, part)?;
            }
        }
    }
    let part = |entry: &Entry| {
        let name = entry.name.rsplit('/').next().unwrap_or(&entry.name);
        parts.get(name).copied().ok_or_else(|| refuse(format!("says no part for {}", clip(name))).into())
    };
    entries.iter().map(part).collect()
}
