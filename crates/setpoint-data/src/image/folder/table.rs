//! A folder of images and a label table: a column of file names, columns of labels.

use std::collections::HashMap;
use std::collections::hash_map::Entry as Slot;
use std::path::PathBuf;

use setpoint::message::{self, quote};

use super::Listing;
use super::walk::{Found, Walk, is_table};
use crate::Error;
use crate::image::column::{self, text};
use crate::image::decode::Entry;
use crate::image::error::ImageError;
use crate::image::option::ImageOptions;
use crate::read::source::Source;
use crate::role::find;

/// Columns taken for that of the file names, in this order.
const FILE_COLUMNS: [&str; 7] = ["file", "filename", "file_name", "image", "image_id", "path", "name"];

/// The tables in the folder itself.
pub(super) fn tables(walk: &Walk) -> impl Iterator<Item = &Found> {
    walk.files.iter().filter(|file| is_table(&file.path) && !file.path.contains('/'))
}

/// Images and labels in the order of the table.
pub(super) fn list(walk: &Walk, options: &ImageOptions) -> Result<Listing, Error> {
    let path = match &options.labels {
        Some(path) => path.clone(),
        None => only_table(walk)?,
    };
    read(
        walk,
        &Source::open(&path)?,
        options.missing.as_deref(),
        options.file_column.as_deref(),
        options.part_column.as_deref(),
    )
}

/// Images and labels as a table says.
pub(super) fn read(
    walk: &Walk,
    source: &Source,
    missing: Option<&[String]>,
    file_column: Option<&str>,
    part_column: Option<&str>,
) -> Result<Listing, Error> {
    let table = source.name();
    let mut labels = column::of_table(source, missing)?;
    let names: Vec<String> = labels.iter().map(|column| column.column.clone()).collect();
    let refuse = |problem: String| ImageError::Labels { file: table.to_owned(), problem };
    let at = match file_column {
        Some(wanted) => find(table, &names, wanted, "file-column")?,
        None => {
            let known = |wanted: &&str| names.iter().position(|name| name.eq_ignore_ascii_case(wanted));
            FILE_COLUMNS.iter().find_map(known).ok_or_else(|| {
                refuse(format!(
                    "no column of file names among {}; expected one called file, or name it with ‹file-column›",
                    message::list(&names)
                ))
            })?
        }
    };
    let files = labels.remove(at);
    let mut part_of = None;
    if let Some(wanted) = part_column {
        let at = find(table, &names, wanted, "part-column")?;
        let at = labels.iter().position(|column| column.column == names[at]).ok_or_else(|| {
            refuse(format!("column {} cannot name both the files and their parts", quote(wanted)))
        })?;
        let parts = labels.remove(at);
        let part = |row: usize| {
            let found = text(&parts, row);
            found.and_then(column::part).ok_or_else(|| {
                let found = found.map_or_else(|| "a missing value".to_owned(), quote);
                refuse(format!("row {}: {found} in column {} is no part; expected train, validation, calibration or test (or 0, 1, 2)", row + 1, quote(wanted)))
            })
        };
        part_of = Some((0..parts.of.len()).map(part).collect::<Result<Vec<u8>, _>>()?);
    }
    if labels.is_empty() {
        return Err(refuse("no column of labels beside the file names".to_owned()).into());
    }
    let paths = Paths::new(walk);
    let mut entries = Vec::with_capacity(files.of.len());
    let (mut first_missing, mut missing_count) = (None, 0usize);
    let mut rows: HashMap<String, usize> = HashMap::new();
    for row in 0..files.of.len() {
        let name =
            text(&files, row).ok_or_else(|| refuse(format!("row {}: the file name is missing", row + 1)))?;
        let Some(path) = paths.find(name) else {
            first_missing.get_or_insert((row + 1, name.to_owned()));
            missing_count += 1;
            continue;
        };
        match rows.entry(path.to_owned()) {
            Slot::Occupied(other) => {
                let problem = format!(
                    "row {}: {} is already in row {}; list each image once",
                    row + 1,
                    quote(name),
                    other.get()
                );
                return Err(refuse(problem).into());
            }
            Slot::Vacant(slot) => slot.insert(row + 1),
        };
        entries.push(Entry { name: path.to_owned(), files: vec![walk.root.join(path)] });
    }
    if let Some((row, name)) = first_missing {
        let more = if missing_count > 1 {
            format!("; {} more are missing", missing_count - 1)
        } else {
            String::new()
        };
        let (table, count) = (table.to_owned(), walk.images().count());
        return Err(ImageError::Missing { table, row, name, count, more }.into());
    }
    let mut notes = Vec::new();
    let unlisted = walk.images().count() - entries.len();
    if unlisted > 0 {
        notes.push(format!("{unlisted} images of the folder are not in {table} and are left out"));
    }
    Ok(Listing { entries, labels, part_of, notes })
}

fn only_table(walk: &Walk) -> Result<PathBuf, ImageError> {
    let found: Vec<&Found> = tables(walk).collect();
    let named = found.iter().find(|file| file.path.to_ascii_lowercase().starts_with("labels."));
    let chosen = match (&found[..], named) {
        ([only], _) => only,
        (_, Some(named)) => named,
        ([], None) => {
            let problem =
                "no label table (.csv, .tsv, .parquet) in the folder; name it with ‹labels›".to_owned();
            return Err(ImageError::Labels { file: walk.name(), problem });
        }
        (several, None) => {
            let names: Vec<&str> = several.iter().map(|file| file.path.as_str()).collect();
            let problem =
                format!("several tables ({}); name that of the labels with ‹labels›", names.join(", "));
            return Err(ImageError::Labels { file: walk.name(), problem });
        }
    };
    Ok(walk.root.join(&chosen.path))
}

/// Images by path within the folder, and by bare name where only one has it.
struct Paths<'a> {
    whole: HashMap<&'a str, &'a str>,
    bare: HashMap<&'a str, Option<&'a str>>,
}

impl<'a> Paths<'a> {
    fn new(walk: &'a Walk) -> Self {
        let mut paths = Self { whole: HashMap::new(), bare: HashMap::new() };
        for file in walk.images() {
            let path = file.path.as_str();
            let name = path.rsplit('/').next().unwrap_or(path);
            paths.whole.insert(path, path);
            paths.bare.entry(name).and_modify(|other| *other = None).or_insert(Some(path));
        }
        paths
    }

    fn find(&self, name: &str) -> Option<&'a str> {
        let name = name.strip_prefix("./").unwrap_or(name);
        self.whole.get(name).copied().or_else(|| self.bare.get(name).copied().flatten())
    }
}
