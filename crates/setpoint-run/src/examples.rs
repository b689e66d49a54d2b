//! From a file to models over its parts, with one copy of the matrix.

use std::path::Path;
use std::sync::Arc;

use setpoint::Sample;
use setpoint::artifact::Groups;
use setpoint::features::Stored;
use setpoint::goal::Goal;
use setpoint::message::{clip, counted, list, quote};
use setpoint::metric::StoredRows;
use setpoint::train::Part;
use setpoint_data::{
    Encoder, Identifier, Notes, OutOfFold, Parts, Table, Telling, later_half, select_sample,
};
use setpoint_report::ByPart;

use crate::blueprint::{Blueprint, Held};
use crate::choice::ModelChoice;
use crate::failure::Failure;
use crate::group;
use crate::memory::{Growing, refuse_on_disk};
use crate::repeat::Hashes;
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
    pub fn scores(&mut self, scorer: &Scorer) -> Result<Arc<Vec<f32>>, Failure> {
        if let Held::Scored(scored) = &self.held {
            let own = scored.by.iter().find(|(own, _)| own == scorer);
            let unknown = || Failure::input("the rows were scored by another model, and are not held");
            return own.map(|(_, scores)| Arc::clone(scores)).ok_or_else(unknown);
        }
        scorer.scores(&mut self.held).map(Arc::new)
    }

    /// Labels and scores that are on disk, of which the sample knows nothing.
    pub(crate) fn stored(&self) -> Option<&StoredRows> {
        match &self.held {
            Held::Scored(scored) => scored.stored.as_ref(),
            _ => None,
        }
    }

    /// The examples as the core trains on them; `None` for trees, which it does not.
    pub fn part(&mut self) -> Option<Part<'_>> {
        match &mut self.held {
            Held::Model(model) => Some(Part { model: &mut **model, sample: &self.sample }),
            Held::Rows(_) | Held::Both(_) | Held::Scored(_) | Held::Elsewhere(_) => None,
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
    pub parts: ByPart<Option<Examples>>,
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
    /// Which rows of the data each part has, where reports name rows: of queries.
    pub rows: ByPart<Vec<u32>>,
    /// The groups that were pooled into one.
    pub pooled: Vec<String>,
    /// Columns that nearly give the label away by themselves, and the labels that they do so for.
    pub telling: Vec<(Sample, Telling)>,
    /// What was left out on the way.
    pub notes: Vec<String>,
}

impl Loaded {
    /// The classes of the label, where there are several.
    #[must_use]
    pub fn classes(&self) -> Option<&[String]> {
        self.schema.classes()
    }

    /// Says what decisions about its rows pay, by a goal in money whose amounts are no columns.
    pub(crate) fn pay(&mut self, goal: &Goal) -> Result<(), Failure> {
        for name in ["train", "validation", "calibration", "test"] {
            if let Some(Some(part)) = self.parts.get_mut(name) {
                part.sample = part.sample.clone().paid_by(goal)?;
            }
        }
        Ok(())
    }

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
    let mut numbered = numbered(&table.identifiers());
    let doubled = table.doubled();
    let varies = |column: &String| !encoder.constant.contains(column);
    numbered.extend(doubled.iter().filter(|(column, _)| varies(column)).map(|(column, before)| {
        format!("column {} is the same as {} in every row", quote(column), quote(before))
    }));
    numbered.extend(table.following_time().iter().map(|column| {
        let named = if column.contains(',') { quote(column) } else { clip(column) };
        format!(
            "column {} goes with the time that the split goes by: new rows lie beyond all that is learnt of it; if it \
             is but the order of the rows, leave it out with ‹drop {named}›",
            quote(column)
        )
    }));
    let telling = table.telling(parts.rows("train"));
    let texts: Vec<String> = encoder.texts().into_iter().map(str::to_owned).collect();
    let (mut out_of_fold, mut how) = (OutOfFold::default(), "read as texts, word by word");
    if matches!(choice, ModelChoice::Trees { .. }) {
        (encoder, out_of_fold) = encoder.for_trees(&table, parts.rows("train"))?;
        how = "read as texts, word by word, of which trees get a linear score";
    }
    let (left_out, read): (Vec<&str>, Vec<&str>) =
        texts.iter().map(String::as_str).partition(|text| encoder.unused.iter().any(|name| name == text));
    let lost = "left out, since trees read texts only of a label of two classes with rows enough of both";
    for (how, texts) in [(how, read), (lost, left_out)] {
        if !texts.is_empty() {
            numbered.push(format!("{how}: {}", texts.into_iter().map(quote).collect::<Vec<_>>().join(", ")));
        }
    }
    let outputs = table.classes().map_or(1, |classes| classes.names.len());
    let scratch = table.spilled().map(Path::to_owned);
    if scratch.is_some() {
        refuse_on_disk(&table, &encoder, choice)?;
    }
    let blueprint = Blueprint::for_table(choice, &encoder, outputs)?;
    // Where train and validation rows may change places, they are views of the same rows.
    let is_shared = |name: &str| blueprint.shares_rows() && LEARNT.contains(&name);
    let (learnt, alone): (Vec<_>, Vec<_>) = parts.iter().partition(|(name, _)| is_shared(name));
    let mut shared: Vec<u32> = learnt.iter().flat_map(|(_, rows)| *rows).copied().collect();
    shared.sort_unstable();
    let lists: Vec<&[u32]> = [&shared[..]].into_iter().chain(alone.iter().map(|(_, rows)| *rows)).collect();
    let mut hashes = Hashes::new(&table, &lists, parts, encoder.columns());
    let mut held: Vec<Growing> =
        lists.iter().map(|_| Growing::new(&encoder, scratch.as_deref())).collect::<Result<_, _>>()?;
    let most = if scratch.is_some() { Stored::BLOCK } else { usize::MAX };
    let mut data = encoder.encode_blocks(table, &lists, most, &mut |list, block| {
        hashes.add(list, &block);
        held[list].add(block)
    })?;
    let mut notes = notes(&data.notes, None);
    notes.extend(numbered);
    let mut pooled = Vec::new();
    if let (Some(least), Some(sample)) = (min_group, &mut data.sample)
        && let Some(small) = group::Small::of(sample, least)
    {
        *sample = small.pool(sample)?;
        notes.push(small.note());
        pooled = small.names();
    }
    let whole = data.sample.ok_or_else(|| Failure::input("the data has no labels"))?;
    let telling = telling.into_iter().map(|telling| (whole.select(&telling.rows), telling)).collect();
    // Classes stay, even those that a part lacks.
    let select = |rows: &[u32]| {
        if outputs > 1 { Ok(whole.select(rows)) } else { select_sample(&whole, rows) }
    };
    let later = data.times.as_ref().map(|times| {
        let rows = parts.rows("calibration").iter();
        later_half(&rows.map(|row| times[*row as usize]).collect::<Vec<_>>())
    });
    let mut split = ByPart::default();
    let mut put = |name: &str, held: Held, sample: Sample| {
        if let Some(place) = split.get_mut(name) {
            *place = Some(Examples { held, sample });
        }
    };
    notes.extend(hashes.repeated(&lists, &whole, parts));
    let copies = hashes.copies(&lists, &whole);
    let mut held = held.into_iter();
    if let Some(Growing::Here(Some(features))) = held.next().filter(|_| !shared.is_empty()) {
        let held = blueprint.hold(features)?;
        for (name, rows) in learnt {
            let place = |row: &u32| shared.partition_point(|other| other < row) as u32;
            let view = held.view(&rows.iter().map(place).collect::<Vec<_>>())?;
            put(name, view, select(rows)?);
        }
    }
    for ((name, rows), mut held) in alone.into_iter().zip(held) {
        if let (Growing::Here(Some(features)), "train") = (&mut held, name) {
            out_of_fold.put(features);
        }
        put(name, held.hold(&blueprint)?, select(rows)?);
    }
    let mut rows = ByPart::<Vec<u32>>::default();
    if whole.queries().is_some() {
        for (name, own) in parts.iter() {
            if let Some(place) = rows.get_mut(name) {
                own.clone_into(place);
            }
        }
    }
    let (columns, hash, schema) = (encoder.columns(), data.hash, Schema::Table(encoder));
    Ok(Loaded {
        schema,
        blueprint,
        parts: split,
        columns,
        hash,
        test_hash: None,
        later,
        copies,
        rows,
        pooled,
        telling,
        notes,
    })
}

/// What to say of columns from which nothing can be learnt that holds on new rows.
fn numbered(found: &[(String, Identifier)]) -> Vec<String> {
    let said = |(column, kind): &(String, Identifier)| {
        let named = if column.contains(',') { quote(column) } else { clip(column) };
        let what = match kind {
            Identifier::RowNumbers => "row numbers",
            Identifier::Identifiers => "identifiers, whole numbers that are all different",
            Identifier::Repeated => "identifiers of what several rows belong to",
        };
        let remedy = match kind {
            Identifier::Repeated => format!("keep those rows together with ‹split-by {named}›, or "),
            _ => String::new(),
        };
        format!(
            "column {} looks like {what}: if it is, {remedy}leave it out with ‹drop {named}›",
            quote(column)
        )
    };
    found.iter().map(said).collect()
}

/// The parts that training and selection use.
pub(crate) const LEARNT: [&str; 2] = ["train", "validation"];

/// What was left out or filled in, in words.
pub fn notes(notes: &Notes, file: Option<&Path>) -> Vec<String> {
    let mut said = Vec::new();
    let were = |count: u64| if count == 1 { "was" } else { "were" };
    if notes.unlabelled > 0 {
        let rows = counted(notes.unlabelled as usize, "row");
        said.push(format!("{rows} without a label {} left out", were(notes.unlabelled)));
    }
    if notes.other_classes > 0 {
        let rows = counted(notes.other_classes as usize, "row");
        said.push(format!("{rows} of other classes {} left out", were(notes.other_classes)));
    }
    if !notes.constant_columns.is_empty() && file.is_none() {
        let columns = list(&notes.constant_columns);
        said.push(format!("left out, with a single value in the training rows: {columns}"));
    }
    if !notes.identifier_columns.is_empty() && file.is_none() {
        let columns = list(&notes.identifier_columns);
        said.push(format!("left out, with another value in (nearly) each training row: {columns}"));
    }
    if !notes.extra_columns.is_empty() {
        said.push(format!(
            "columns that the model does not know were ignored: {}",
            list(&notes.extra_columns)
        ));
    }
    let mut readings: Vec<(&String, Vec<String>)> = Vec::new();
    for (column, what) in &notes.read_as {
        match readings.iter_mut().find(|(known, _)| *known == what) {
            Some((_, columns)) => columns.push(column.clone()),
            None => readings.push((what, vec![column.clone()])),
        }
    }
    said.extend(readings.into_iter().map(|(what, columns)| match &columns[..] {
        [only] => format!("column {only:?} was read as {what}"),
        several => format!("columns {} were read as {what}", list(several)),
    }));
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
