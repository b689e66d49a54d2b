//! A folder for each class: `folder/cat/1.png`.

use super::Listing;
use super::walk::Walk;
use crate::Error;
use crate::image::column;
use crate::image::decode::Entry;

/// Images under the name of the folder they are in; `train`, `validation` and `test` above are parts.
pub(super) fn list(walk: &Walk) -> Result<Listing, Error> {
    let mut listing = Listing { entries: Vec::new(), labels: Vec::new(), part_of: None, notes: Vec::new() };
    let (mut classes, mut parts, mut loose) = (Vec::new(), Vec::new(), 0u64);
    for file in walk.images() {
        let folders: Vec<&str> = file.path.split('/').collect();
        let Some(class) = folders.len().checked_sub(2).map(|at| folders[at]) else {
            loose += 1;
            continue;
        };
        classes.push(Some(class));
        parts.push(if folders.len() > 2 { column::part(folders[0]) } else { None });
        listing.entries.push(Entry { name: file.path.clone(), files: vec![walk.root.join(&file.path)] });
    }
    listing.labels = vec![column::of_texts("class", classes)];
    listing.part_of = parts.into_iter().collect();
    if loose > 0 {
        listing.notes.push(format!("{loose} images outside the folders of classes are left out"));
    }
    Ok(listing)
}
