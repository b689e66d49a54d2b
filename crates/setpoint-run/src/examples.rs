//! From a file to models over its parts, with one copy of the matrix.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::path::Path;

use setpoint::Sample;
use setpoint::artifact::Groups;
use setpoint::message::{counted, list, quote};
use setpoint::train::Part;
use setpoint_data::{Dataset, Encoder, Features, Notes, Parts, ReadOptions, Roles, Table, later_half};
use setpoint_report::Splits;

use crate::blueprint::{Blueprint, Held};
use crate::choice::ModelChoice;
use crate::failure::Failure;
use crate::group;
use crate::schema::Schema;
use crate::scorer::Scorer;

/// The examples of one part: their features, and what is known of them.
pub struct Examples {
    /// The features.
    pub held: Held,
    /// Labels, weights, groups.
    pub sample: Sample,
}

impl Examples {
    /// The scores that a model gives them.
    ///
    /// # Errors
    /// If they are not the model's, or a score is not finite.
    pub fn scores(&mut self, scorer: &Scorer) -> Result<Vec<f32>, Failure> {
        scorer.scores(&mut self.held)
    }

    /// The examples as the core trains on them; `None` for trees, which it does not.
    pub fn part(&mut self) -> Option<Part<'_>> {
        match &mut self.held {
            Held::Model(model) => Some(Part { model: &mut **model, sample: &self.sample }),
            Held::Rows(_) => None,
        }
    }
}

/// A data file, read, split and encoded.
pub struct Loaded {
    /// How rows became numbers.
    pub schema: Schema,
    /// What the model is built from.
    pub blueprint: Blueprint,
    /// The parts; those that were not asked for are `None`.
    pub parts: Splits<Option<Examples>>,
    /// Columns of the matrix.
    pub columns: usize,
    /// SHA-256 of the data file.
    pub hash: Option<String>,
    /// SHA-256 of a test file of its own.
    pub test_hash: Option<String>,
    /// Of a split by time, whether each row of the calibration part is in its later half.
    pub later: Option<Vec<bool>>,
    /// That most calibration rows repeat others, in words.
    pub copies: Option<String>,
    /// The groups that were pooled into one.
    pub pooled: Vec<String>,
    /// What was left out on the way.
    pub notes: Vec<String>,
}

impl Loaded {
    /// Takes the rows of another file for the test part, their groups pooled as those of training are.
    ///
    /// # Errors
    /// If the groups do not fit the rows.
    pub fn set_test(&mut self, mut examples: Examples, hash: Option<String>) -> Result<(), Failure> {
        if let (Some(known), Some(found)) = (
            self.parts
                .train
                .as_ref()
                .and_then(|train| train.sample.groups())
                .filter(|_| !self.pooled.is_empty()),
            examples.sample.groups(),
        ) {
            let pooled: Vec<&str> = self.pooled.iter().map(String::as_str).collect();
            let groups = Groups { column: known.column().to_owned(), names: known.names().to_vec() };
            self.notes.extend(group::strangers(&groups, Some(&pooled), found.names(), found.codes()));
            examples.sample = group::pool_others(&examples.sample, known.names())?;
        }
        self.parts.test = Some(examples);
        self.test_hash = hash;
        Ok(())
    }
}

/// Splits a table, fits the encoder on its training rows, and encodes it.
pub fn load(
    table: Table,
    parts: &Parts,
    min_group: Option<u64>,
    choice: &ModelChoice,
) -> Result<Loaded, Failure> {
    let mut encoder = Encoder::fit(&table, parts.rows("train"))?;
    if let ModelChoice::Trees { .. } = choice {
        encoder = encoder.plain();
    }
    let blueprint = Blueprint::for_table(choice, &encoder)?;
    let mut data = encoder.encode(table)?;
    let mut notes = notes(&data.notes, None);
    let mut pooled = Vec::new();
    if let (Some(least), Some(sample)) = (min_group, &mut data.sample)
        && let Some(small) = group::Small::of(sample, least)
    {
        *sample = small.pool(sample)?;
        notes.push(small.note());
        pooled = small.names();
    }
    let copies = copies(&data, parts.rows("calibration"));
    let later = data.times.as_ref().map(|times| {
        let rows = parts.rows("calibration").iter();
        later_half(&rows.map(|row| times[*row as usize]).collect::<Vec<_>>())
    });
    let (columns, hash) = (data.features.columns(), data.hash.clone());
    let parts = take_apart(data, parts, &blueprint)?;
    let schema = Schema::Table(encoder);
    Ok(Loaded { schema, blueprint, parts, columns, hash, test_hash: None, later, copies, pooled, notes })
}

/// A caution where most calibration rows repeat others: each counts as a draw in a certificate.
fn copies(data: &Dataset, rows: &[u32]) -> Option<String> {
    let sample = data.sample.as_ref().filter(|sample| sample.entities().is_none())?;
    let mut seen = HashSet::with_capacity(rows.len());
    for row in rows {
        let mut hasher = DefaultHasher::new();
        sample.labels()[*row as usize].hash(&mut hasher);
        data.features.hash_row(*row as usize, &mut hasher);
        seen.insert(hasher.finish());
    }
    (2 * seen.len() <= rows.len() && !rows.is_empty()).then(|| {
        format!(
            "of {} calibration rows only {} differ: a certificate counts each as a draw of its own; if copies are \
             one case, or several rows belong to one, say so (split_by)",
            rows.len(),
            seen.len()
        )
    })
}

/// The parts that training and selection use.
pub(crate) const LEARNT: [&str; 2] = ["train", "validation"];

/// Moves the rows of each part into a model of its own.
fn take_apart(
    mut data: Dataset,
    parts: &Parts,
    blueprint: &Blueprint,
) -> Result<Splits<Option<Examples>>, Failure> {
    let ranges = data.arrange(parts)?;
    let whole = data.sample.take().ok_or_else(|| Failure::input("the data has no labels"))?;
    let mut split = Splits::default();
    // Where train and validation rows may change places, they are views of one matrix.
    let shared =
        ranges.iter().take_while(|(name, _)| blueprint.shares_rows() && LEARNT.contains(name)).count();
    let (shared, alone) = ranges.split_at(shared);
    let mut held = cut_parts(alone, &mut data.features, blueprint)?;
    if !shared.is_empty() {
        let views = blueprint.hold(data.features)?.views(shared.iter().map(|(_, range)| range.clone()))?;
        held.extend(shared.iter().map(|(name, _)| *name).zip(views));
    }
    for (name, held) in held {
        let range = ranges.iter().find(|(part, _)| *part == name).map_or(0..0, |(_, range)| range.clone());
        let rows: Vec<u32> = range.map(|row| row as u32).collect();
        let sample = setpoint_data::select_sample(&whole, &rows)?;
        if let Some(place) = split.get_mut(name) {
            *place = Some(Examples { held, sample });
        }
    }
    Ok(split)
}

/// The rows of each part, cut off the end of the matrix from the last part to the first.
fn cut_parts(
    ranges: &[(&'static str, Range<usize>)],
    features: &mut Features,
    blueprint: &Blueprint,
) -> Result<Vec<(&'static str, Held)>, Failure> {
    let cut =
        ranges.iter().rev().map(|(name, range)| Ok((*name, blueprint.hold(cut_off(features, range.start))?)));
    cut.collect()
}

/// Cuts the rows from `start` on off a matrix.
fn cut_off(features: &mut Features, start: usize) -> Features {
    match features {
        Features::Dense(dense) => {
            let values = if start == 0 {
                std::mem::take(&mut dense.values)
            } else {
                let values = dense.values.split_off(start * dense.columns);
                dense.values.shrink_to_fit();
                values
            };
            let rows = dense.rows - start;
            dense.rows = start;
            Features::Dense(setpoint_data::Dense { rows, columns: dense.columns, values })
        }
        Features::Sparse(sparse) => {
            let entry = sparse.indptr[start];
            let mut indptr = sparse.indptr.split_off(start);
            indptr.iter_mut().for_each(|at| *at -= entry);
            sparse.indptr.push(entry);
            let cut = setpoint_data::Sparse {
                rows: sparse.rows - start,
                columns: sparse.columns,
                indptr,
                indices: sparse.indices.split_off(entry),
                values: sparse.values.split_off(entry),
            };
            sparse.rows = start;
            sparse.indices.shrink_to_fit();
            sparse.values.shrink_to_fit();
            Features::Sparse(cut)
        }
    }
}

/// Labelled rows of another file, encoded as in training.
pub fn load_more(
    path: &Path,
    options: &ReadOptions,
    roles: &Roles,
    encoder: &Encoder,
    blueprint: &Blueprint,
) -> Result<(Examples, Option<String>, Vec<String>), Failure> {
    let table = Table::read_for(path, options, roles, encoder)?;
    let data = encoder.encode(table)?;
    let notes = notes(&data.notes, Some(path));
    let hash = data.hash.clone();
    let sample = data
        .sample
        .ok_or_else(|| Failure::input(format!("{}: no labels; name them with ‹label›", path.display())))?;
    Ok((Examples { held: blueprint.hold(data.features)?, sample }, hash, notes))
}

/// What was left out or filled in, in words.
pub fn notes(notes: &Notes, file: Option<&Path>) -> Vec<String> {
    let mut said = Vec::new();
    let were = |count: u64| if count == 1 { "was" } else { "were" };
    if notes.unlabelled > 0 {
        let rows = counted(notes.unlabelled as usize, "row");
        said.push(format!("{rows} without a label {} left out", were(notes.unlabelled)));
    }
    if !notes.constant_columns.is_empty() && file.is_none() {
        let columns = list(&notes.constant_columns);
        said.push(format!("left out, with a single value in the training rows: {columns}"));
    }
    if !notes.extra_columns.is_empty() {
        said.push(format!(
            "columns that the model does not know were ignored: {}",
            list(&notes.extra_columns)
        ));
    }
    for (column, what) in &notes.read_as {
        said.push(format!("column {column:?} was read as {what}"));
    }
    for (column, count) in &notes.unseen_categories {
        let values = counted(*count as usize, "value");
        let verb = if *count == 1 { "counts" } else { "count" };
        said.push(format!(
            "column {}: {values} that the training rows did not have {verb} as no category",
            quote(column)
        ));
    }
    for (column, count) in &notes.unseen_missing {
        let values = counted(*count as usize, "missing value");
        said.push(format!(
            "column {}: {values} where the training rows had none: the model knows nothing of them",
            quote(column)
        ));
    }
    if notes.unknown_entries > 0 {
        said.push(format!(
            "{} entries in columns that the training rows did not have were ignored",
            notes.unknown_entries
        ));
    }
    match file {
        Some(file) => said.into_iter().map(|note| format!("{}: {note}", file.display())).collect(),
        None => said,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_cut_off_a_sparse_matrix_are_its_last() {
        let mut features = Features::Sparse(setpoint_data::Sparse {
            rows: 3,
            columns: 2,
            indptr: vec![0, 2, 3, 5],
            indices: vec![0, 1, 1, 0, 1],
            values: vec![1., 2., 3., 4., 5.],
        });
        let whole = features.clone();
        let last = cut_off(&mut features, 1);
        assert_eq!(last, whole.select(&[1, 2]));
        assert_eq!(features, whole.select(&[0]));
        assert_eq!(cut_off(&mut features, 0), whole.select(&[0]));
    }
}
