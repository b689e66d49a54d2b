//! From a file to models over its parts, with one copy of the matrix.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hasher};
use std::path::Path;

use rayon::prelude::*;
use setpoint::Sample;
use setpoint::artifact::Groups;
use setpoint::features::{Features, Stored};
use setpoint::goal::Goal;
use setpoint::message::{clip, counted, list, quote};
use setpoint::model::{ModelError, StoredLinear};
use setpoint::train::Part;
use setpoint_data::{
    Dataset, Encoder, Identifier, Inputs, Notes, OutOfFold, Parts, Positive, ReadOptions, Roles, Table,
    Telling, hash, later_half, layout, select_sample,
};
use setpoint_report::ByPart;

use crate::blueprint::{Blueprint, Held, Scored};
use crate::choice::ModelChoice;
use crate::failure::Failure;
use crate::group;
use crate::model::Opened;
use crate::schema::Schema;
use crate::scorer::Scorer;

/// A larger share of the rows held out than this that repeat others is worth a note.
const REPEATED: f64 = 0.1;
/// Values up to which rows are compared.
const MOST_HASHED: usize = 500_000_000;

/// Bytes that a row takes in memory while features are on disk, about: labels, lists of rows, scores, and those of the fifth
/// that is sorted and drawn from for the interval of the gain.
const ROW_BYTES: usize = 40;

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
            Held::Rows(_) | Held::Scored(_) | Held::Elsewhere(_) => None,
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

/// Rows of a part, on their way from the encoder to the model.
enum Growing {
    Here(Option<Features>),
    /// In a scratch file.
    There(Box<Stored>),
}

impl Growing {
    fn new(encoder: &Encoder, scratch: Option<&Path>) -> Result<Self, Failure> {
        let (Some(directory), Inputs::Table(inputs)) = (scratch, &encoder.inputs) else {
            return Ok(Self::Here(None));
        };
        Ok(Self::There(Box::new(Stored::create(layout(inputs).into(), directory)?)))
    }

    fn add(&mut self, block: Features) -> Result<(), ModelError> {
        match self {
            Self::Here(all) => *all = Some(block),
            Self::There(stored) => stored.push(&block)?,
        }
        Ok(())
    }

    fn hold(self, blueprint: &Blueprint) -> Result<Held, Failure> {
        match self {
            Self::Here(Some(features)) => blueprint.hold(features),
            Self::Here(None) => Err(Failure::input("there are no rows")),
            Self::There(stored) => Ok(Held::Model(Box::new(StoredLinear::new(stored.finish()?)))),
        }
    }
}

/// Refuses by name what needs all rows in memory.
fn refuse_on_disk(table: &Table, encoder: &Encoder, choice: &ModelChoice) -> Result<(), Failure> {
    let texts = encoder.texts().into_iter().next();
    let what = match choice {
        ModelChoice::Linear if table.classes().is_some() => "models of several classes need".to_owned(),
        ModelChoice::Linear if table.queries().is_some() => "goals per query need".to_owned(),
        ModelChoice::Linear if texts.is_some() => {
            format!("column {}, read word by word, needs", quote(texts.unwrap_or_default()))
        }
        ModelChoice::Linear => return Ok(()),
        other => return Err(too_many(other)),
    };
    Err(Failure::input(format!("‹memory›: the rows take more than that, and {what} all of them in memory")))
}

/// What to say of a kind of model that needs all rows in memory, where they are too many.
pub fn too_many(choice: &ModelChoice) -> Failure {
    Failure::input(format!(
        "‹memory›: the rows take more than that, and {choice} models need all of them in memory"
    ))
}

/// Refuses a limit that does not hold what training needs in memory, features aside.
///
/// # Errors
/// With what it takes.
pub fn check_memory(table: &Table, bytes: usize) -> Result<(), Failure> {
    let there = |there: bool, bytes: usize| if there { bytes } else { 0 };
    let row = ROW_BYTES
        + there(table.weights().is_some(), 2 * size_of::<f32>())
        + there(table.groups().is_some(), 2 * size_of::<u32>())
        + there(table.entities().is_some(), 4 * size_of::<u32>())
        + there(table.times().is_some(), 3 * size_of::<f64>())
        + there(table.stakes().is_some(), 4 * size_of::<f64>());
    let needed = table.rows().saturating_mul(row);
    if needed <= bytes {
        return Ok(());
    }
    Err(Failure::input(format!(
        "‹memory›: too little: labels, scores and lists of {} rows take about {} MB, features aside; give that much, or \
         fewer rows",
        table.rows(),
        needed.div_ceil(1_000_000)
    )))
}

/// A number for each row of features, equal for equal rows, of the lists of rows that are compared.
struct Hashes {
    of: Vec<Option<Vec<u64>>>,
    /// Which list the calibration rows are.
    calibration: Option<usize>,
}

impl Hashes {
    fn new(table: &Table, lists: &[&[u32]], parts: &Parts, columns: usize) -> Self {
        let cells = lists.iter().map(|rows| rows.len().saturating_mul(columns)).sum::<usize>();
        let all = cells <= MOST_HASHED && table.queries().is_none();
        let is_calibration = |rows: &&[u32]| !rows.is_empty() && *rows == parts.rows("calibration");
        let calibration = lists.iter().position(is_calibration);
        let wanted = |(list, rows): (usize, &&[u32])| {
            let wanted = table.entities().is_none() && (all || calibration == Some(list));
            wanted.then(|| Vec::with_capacity(rows.len()))
        };
        Self { of: lists.iter().enumerate().map(wanted).collect(), calibration }
    }

    fn add(&mut self, list: usize, block: &Features) {
        let hash = |row: usize| {
            let mut hasher = DefaultHasher::new();
            block.hash_row(row, &mut hasher);
            hasher.finish()
        };
        if let Some(hashes) = &mut self.of[list] {
            hashes.par_extend((0..block.rows()).into_par_iter().map(hash));
        }
    }

    /// A caution where most calibration rows repeat others: each counts as a draw in a certificate.
    fn copies(&self, lists: &[&[u32]], sample: &Sample) -> Option<String> {
        let list = self.calibration?;
        let rows = lists[list].iter().map(|row| sample.labels()[*row as usize]);
        let mut seen: Vec<u64> = self.of[list].as_ref()?.iter().zip(rows).map(with_label).collect();
        seen.sort_unstable();
        seen.dedup();
        (2 * seen.len() <= lists[list].len()).then(|| {
            format!(
                "of {} calibration rows only {} differ: a certificate counts each as a draw of its own; if copies are \
                 one case, or several rows belong to one, say so (split_by)",
                lists[list].len(),
                seen.len()
            )
        })
    }

    /// A note where many rows that are held out repeat rows that are learnt from: what is measured on them is memory too.
    fn repeated(&self, lists: &[&[u32]], sample: &Sample, parts: &Parts) -> Option<String> {
        let hashes: Vec<&Vec<u64>> = self.of.iter().map(Option::as_ref).collect::<Option<_>>()?;
        let mut held_out = vec![false; sample.len()];
        for (_, rows) in parts.iter().filter(|(name, _)| !LEARNT.contains(name)) {
            rows.iter().for_each(|row| held_out[*row as usize] = true);
        }
        let (mut learnt, mut others) = (HashSet::new(), Vec::new());
        for (row, hash) in lists.iter().zip(hashes).flat_map(|(rows, hashes)| rows.iter().zip(hashes)) {
            let row = *row as usize;
            let group = sample.groups().map_or(0, |groups| u64::from(groups.codes()[row]) + 1);
            let hash = with_label((&hash.wrapping_add(group.wrapping_mul(MIX)), sample.labels()[row]));
            match held_out[row] {
                true => others.push(hash),
                false => drop(learnt.insert(hash)),
            }
        }
        let again = others.iter().filter(|hash| learnt.contains(hash)).count();
        // Where few different rows are possible, they come again by themselves.
        let differ = 2 * learnt.len() > sample.len() - others.len();
        (differ && again as f64 > REPEATED * others.len() as f64).then(|| {
            format!(
                "{again} of the {} rows that are held out are the same, label included, as rows that are learnt from: if \
                 copies are one case, say which rows belong together (‹split-by›)",
                others.len()
            )
        })
    }
}

/// Any odd number with bits everywhere.
const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

fn with_label((hash, label): (&u64, bool)) -> u64 {
    if label { !hash } else { *hash }
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
    let (held, data) = hold_all(table, encoder, blueprint)?;
    let sample = data.sample.ok_or_else(|| no_labels(path))?;
    Ok((Examples { held, sample }, data.hash, notes(&data.notes, Some(path))))
}

/// All rows of a table, where they fit: in memory, or on disk.
fn hold_all(table: Table, encoder: &Encoder, blueprint: &Blueprint) -> Result<(Held, Dataset<()>), Failure> {
    let scratch = table.spilled().map(Path::to_owned);
    let most = if scratch.is_some() { Stored::BLOCK } else { usize::MAX };
    let (all, mut held) = (every_row(&table), Growing::new(encoder, scratch.as_deref())?);
    let data = encoder.encode_blocks(table, &[&all], most, &mut |_, block| held.add(block))?;
    Ok((held.hold(blueprint)?, data))
}

fn every_row(table: &Table) -> Vec<u32> {
    (0..table.rows() as u32).collect()
}

fn no_labels(path: &Path) -> Failure {
    Failure::input(format!("{}: no labels; name them with ‹label›", path.display()))
}

/// Bytes of rows that are held at a time.
pub const PIECE: usize = 32 << 20;

/// Labelled rows of another file for a model of tables: held where they are no more than a piece of so many bytes, else
/// scored piece by piece.
///
/// # Errors
/// If they are not the model's, or have no labels.
pub fn load_scored(
    path: &Path,
    options: &ReadOptions,
    roles: &Roles,
    model: &Opened,
    piece: usize,
) -> Result<(Examples, Option<String>, Vec<String>), Failure> {
    let (encoder, blueprint) = (model.schema.encoder()?, &model.blueprint);
    let known = encoder.label.is_some() && roles.positive == Positive::Auto && roles.queries.is_none();
    if !known {
        // What the labels mean shows when all are read.
        return load_more(path, options, roles, encoder, blueprint);
    }
    let scorers = || std::iter::once(&model.scorer).chain(&model.baseline);
    let mut by: Vec<(Scorer, Vec<f32>)> = scorers().map(|scorer| (scorer.clone(), Vec::new())).collect();
    let (mut about, mut all_notes, mut last, mut ended) = (None::<Table>, None::<Notes>, None, Ok(()));
    let mut score = |mut table: Table| -> Result<(), Failure> {
        let next = table.take_about();
        match &mut about {
            Some(about) => about.append_about(next),
            None => about = Some(next),
        }
        if table.rows() == 0 {
            return Ok(());
        }
        let (mut held, data) = hold_all(table, encoder, blueprint)?;
        for (scorer, scores) in &mut by {
            scores.extend(scorer.scores(&mut held)?);
        }
        match &mut all_notes {
            Some(all) => all.merge(data.notes),
            None => all_notes = Some(data.notes),
        }
        Ok(())
    };
    let mut several = false;
    let mut take = |table: Table| {
        // The first is scored once a second comes.
        if let Some(before) = last.replace(table) {
            (several, ended) = (true, score(before));
        }
        ended.is_ok()
    };
    let (read, hash) = std::thread::scope(|scope| {
        let hash = scope.spawn(|| options.hash.then(|| hash(path)).transpose());
        let read = Table::read_pieces(path, options, roles, encoder, piece, &mut take);
        (read, hash.join())
    });
    read?;
    ended?;
    let hash = hash
        .map_err(|_| Failure::input("the file could not be hashed"))?
        .map_err(setpoint_data::Error::from)?;
    let last = last.ok_or_else(|| no_labels(path))?;
    if !several {
        let (held, data) = hold_all(last, encoder, blueprint)?;
        let sample = data.sample.ok_or_else(|| no_labels(path))?;
        return Ok((Examples { held, sample }, hash, notes(&data.notes, Some(path))));
    }
    score(last)?;
    let sample = about.map(Table::into_sample).transpose()?.flatten().ok_or_else(|| no_labels(path))?;
    let again = {
        let (path, options, roles) = (path.to_owned(), options.clone(), roles.clone());
        let (encoder, blueprint) = (encoder.clone(), blueprint.clone());
        move |rows: &[u32]| read_again(&path, &options, &roles, &encoder, &blueprint, piece, rows)
    };
    let held = Held::Scored(Scored { rows: sample.len(), by, again: Box::new(again) });
    Ok((Examples { held, sample }, hash, all_notes.map_or_else(Vec::new, |all| notes(&all, Some(path)))))
}

/// Some rows of a file, which ascend.
fn read_again(
    path: &Path,
    options: &ReadOptions,
    roles: &Roles,
    encoder: &Encoder,
    blueprint: &Blueprint,
    piece: usize,
    rows: &[u32],
) -> Result<Held, Failure> {
    let (mut found, mut first, mut next, mut ended) = (None::<Features>, 0, 0, Ok(()));
    let mut take = |table: Table| {
        let end = next + rows[next..].partition_point(|row| *row < first + table.rows() as u32);
        let own: Vec<u32> = rows[next..end].iter().map(|row| row - first).collect();
        (first, next) = (first + table.rows() as u32, end);
        let block = encoder.encode_parts(table, &[&own]).map(|data| data.features.into_iter().next());
        ended = block.map(|block| match (&mut found, block) {
            (Some(found), Some(block)) => found.append(&block).unwrap_or_default(),
            (found, block) => *found = block,
        });
        ended.is_ok()
    };
    Table::read_pieces(path, options, roles, encoder, piece, &mut take)?;
    ended?;
    blueprint.hold(found.filter(|_| next == rows.len()).ok_or_else(|| no_labels(path))?)
}

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

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use serde_json::Map;
    use setpoint::train::Silent;
    use setpoint_data::SplitPlan;

    use super::*;
    use crate::evaluate::evaluate;
    use crate::train::{Job, train};

    /// Numbers, some missing, a category, a weight, groups, entities, in blocks of their own.
    fn table(rows: usize) -> String {
        let mut text = "y,x,z,town,w,g,who\n".to_owned();
        for row in 0..rows {
            let noise = |k: usize| (row.wrapping_mul(k) >> 3) % 1000;
            let positive = noise(2_654_435_761) < 150;
            let x = noise(40_503_777) + 400 * usize::from(positive);
            let x = if row % 50 == 7 { String::new() } else { x.to_string() };
            let (town, group) = (["York", "Hull", "Bath"][noise(97_531) % 3], ["m", "f", ""][row * 3 / rows]);
            let y = if row % 999 == 5 {
                ""
            } else if positive {
                "yes"
            } else {
                "no"
            };
            let _ =
                writeln!(text, "{y},{x},{},{town},{},{group},e{}", noise(7_777_777), 1 + row % 3, row / 5);
        }
        text
    }

    #[test]
    fn rows_that_are_scored_in_pieces_measure_as_rows_that_are_held() {
        let folder = std::env::temp_dir().join(format!("setpoint-pieces-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let [few, many, file] = ["few.csv", "many.csv", "m"].map(|name| folder.join(name));
        std::fs::write(&few, table(4_000)).unwrap();
        // More than two blocks of text.
        std::fs::write(&many, table(200_000)).unwrap();
        let options = ReadOptions { hash: true, ..ReadOptions::default() };
        let column = |name: &str| Some(name.to_owned());
        let roles = Roles {
            label: column("y"),
            weight: column("w"),
            group: column("g"),
            split_by: column("who"),
            ..Roles::default()
        };
        let split = SplitPlan::default();
        let read = Table::read(&few, &options, &roles).unwrap();
        let parts = split.split(&read, 0).unwrap();
        let mut loaded = load(read, &parts, None, &ModelChoice::Linear).unwrap();
        let goal = "recall @ fpr<=20%".parse().unwrap();
        let job = Job::new(goal, ModelChoice::Linear, &Map::new(), &split, Some(0.9)).unwrap();
        train(&job, &mut loaded, &mut Silent, None).unwrap().file.save(&file).unwrap();
        let (_, model) = crate::model::open_all(&file).unwrap().remove(0);
        let encoder = model.schema.encoder().unwrap();
        let held = load_more(&many, &options, &roles, encoder, &model.blueprint).unwrap();
        let scored = load_scored(&many, &options, &roles, &model, 1).unwrap();
        assert!(matches!(scored.0.held, Held::Scored(_)));
        let about = |sample: &Sample| {
            let groups = sample.groups().map(|groups| (groups.names().to_vec(), groups.codes().to_vec()));
            (sample.labels().to_vec(), sample.weights().map(<[f32]>::to_vec), groups)
        };
        assert_eq!((&scored.1, &scored.2), (&held.1, &held.2));
        assert!(about(&scored.0.sample) == about(&held.0.sample));
        let [held, scored] =
            [held.0, scored.0].map(|mut examples| evaluate(&model, &mut examples, 2, 0.9).unwrap());
        assert!(held.importance.is_some());
        assert_eq!(scored, held);
        let whole = load_scored(&few, &options, &roles, &model, PIECE).unwrap();
        assert!(matches!(whole.0.held, Held::Model(_)));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
