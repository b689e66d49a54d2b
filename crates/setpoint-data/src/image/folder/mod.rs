//! Folders of images: what is in them, which layout that is, and the cache in front.
//!
//! Every layout lists its images first, with their labels; the images are then
//! decoded in parallel. Both are skipped where the cache holds the result for the
//! same files, told by their names, sizes and times.

mod bigearthnet;
mod celeba;
mod classes;
mod table;
mod walk;

pub use walk::belongs_to_folder;

use std::path::Path;

pub(super) use walk::Walk;

use super::decode::{Decode, Entry, decode_all};
use super::error::ImageError;
use super::option::{ImageLayout, ImageOptions};
use super::picture::{Fit, decode};
use super::{ImageSet, Progress, cache};
use crate::Error;
use crate::dataset::Codes;

/// The images of a folder before they are decoded.
struct Listing {
    entries: Vec<Entry>,
    labels: Vec<Codes>,
    part_of: Option<Vec<u8>>,
    notes: Vec<String>,
}

/// Reads a folder.
pub(super) fn read(path: &Path, options: &ImageOptions, progress: Progress<'_>) -> Result<ImageSet, Error> {
    let walk = Walk::new(path)?;
    let layout = match options.layout {
        Some(layout) => layout,
        None => recognise(&walk, options)?,
    };
    let place = options.cache.as_ref().map(|directory| cache::Place::new(directory, &walk, layout, options));
    let mut stale = None;
    if let Some(place) = &place {
        match place.load(&walk.name()) {
            Ok(Some(set)) => return Ok(set),
            Ok(None) => {}
            Err(problem) => stale = Some(format!("the cached images are not used: {problem}")),
        }
    }
    let mut set = decode_folder(&walk, layout, options, progress)?;
    if let Some(Err(problem)) = place.map(|place| place.store(&set)) {
        set.notes.push(format!("the decoded images are not kept: {problem}"));
    }
    set.notes.extend(stale);
    Ok(set)
}

/// The layout of a folder.
pub(super) fn layout(path: &Path) -> Result<ImageLayout, Error> {
    recognise(&Walk::new(path)?, &ImageOptions::default())
}

fn recognise(walk: &Walk, options: &ImageOptions) -> Result<ImageLayout, Error> {
    if celeba::is_here(walk) {
        return Ok(ImageLayout::CelebA);
    }
    if walk.files.iter().any(|file| file.path.ends_with(bigearthnet::LABELS)) {
        return Ok(ImageLayout::BigEarthNet);
    }
    if walk.images().next().is_none() {
        let expected = "files ending in .png, .jpg, .jpeg, .tif or .tiff in it or in its folders";
        return Err(ImageError::Empty { file: walk.name(), expected }.into());
    }
    if options.labels.is_some() || table::tables(walk).next().is_some() {
        return Ok(ImageLayout::Table);
    }
    if options.unlabelled {
        return Ok(ImageLayout::Plain);
    }
    if walk.images().all(|file| file.path.contains('/')) {
        return Ok(ImageLayout::Classes);
    }
    let problem = "images without labels: no label table (.csv, .tsv, .parquet) beside them, and not a folder for each class; name the table with ‹labels›";
    Err(ImageError::Labels { file: walk.name(), problem: problem.to_owned() }.into())
}

/// All images, in the order of their names.
fn plain(walk: &Walk) -> Listing {
    let entry =
        |file: &walk::Found| Entry { name: file.path.clone(), files: vec![walk.root.join(&file.path)] };
    let entries = walk.images().map(entry).collect();
    Listing { entries, labels: Vec::new(), part_of: None, notes: Vec::new() }
}

fn decode_folder(
    walk: &Walk,
    layout: ImageLayout,
    options: &ImageOptions,
    progress: Progress<'_>,
) -> Result<ImageSet, Error> {
    let picture = |entry: &Entry, channels| decode(&entry.files[0], channels);
    let none = Fit::new(options, None, None);
    let (listing, fit, channels, decode): (Listing, Fit, Option<usize>, Box<Decode>) = match layout {
        ImageLayout::Table => (table::list(walk, options)?, none, options.channels, Box::new(picture)),
        ImageLayout::Classes => (classes::list(walk)?, none, options.channels, Box::new(picture)),
        ImageLayout::Plain => (plain(walk), none, options.channels, Box::new(picture)),
        ImageLayout::CelebA => {
            let fit = Fit::new(options, Some(celeba::CROP), Some(celeba::SIZE));
            (celeba::list(walk)?, fit, options.channels.or(Some(3)), Box::new(picture))
        }
        ImageLayout::BigEarthNet => {
            let fit = Fit::new(options, None, Some(bigearthnet::SIZE));
            (bigearthnet::list(walk)?, fit, Some(3), Box::new(bigearthnet::decode))
        }
        other => {
            let found = format!("a folder, where {other} is a format of files");
            return Err(ImageError::Unrecognised { file: walk.name(), found }.into());
        }
    };
    let Listing { entries, labels, part_of, notes } = listing;
    let (shape, pixels) = decode_all(&walk.name(), &entries, (fit, channels), &*decode, progress)?;
    let names = Some(entries.into_iter().map(|entry| entry.name).collect());
    Ok(ImageSet { file: walk.name(), shape, pixels, labels, part_of, names, notes })
}
