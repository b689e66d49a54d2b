//! Labelled rows of other files: held, or scored some at a time.

use std::path::Path;
use std::sync::Arc;

use setpoint::Sample;
use setpoint::certify::needs_frontier;
use setpoint::features::{Features, Stored};
use setpoint::metric::{Rows, StoredRows};
use setpoint::scratch::Scratch;
use setpoint_data::{Dataset, Encoder, Notes, Positive, ReadOptions, Roles, Spill, Table, hash};

use crate::blueprint::{Again, Blueprint, Held, Scored};
use crate::examples::{Examples, notes};
use crate::failure::Failure;
use crate::kind::Decision;
use crate::memory::Growing;
use crate::model::Opened;
use crate::scorer::Scorer;

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

/// Bytes that a row takes beside its features while it is measured: label, score, and the sorted scores, in lists that grow.
const ROW: usize = 16;

/// Rows of a piece on disk.
const STORED: usize = 1 << 20;

/// How rows of another file are to be read.
pub struct Reading<'a> {
    /// How the file is.
    pub options: &'a ReadOptions,
    /// What its columns are.
    pub roles: &'a Roles,
    /// Bytes of features that are held at a time.
    pub piece: usize,
    /// Whether the baseline is to score them too.
    pub baseline: bool,
    /// Where labels and scores go that are too many for memory.
    pub spill: Option<&'a Spill>,
    /// Whether what needs all of them in memory is refused where they are too many for it.
    pub strict: bool,
}

/// Labelled rows of another file for a model of tables: held where they are no more than a piece of so many bytes, else
/// scored piece by piece; by the baseline too, where that is wanted. Labels and scores go to a scratch file where they take more memory
/// than they may, and where they can be measured there.
///
/// # Errors
/// If they are not the model's, or have no labels.
pub fn load_scored(
    path: &Path,
    reading: &Reading<'_>,
    model: &Opened,
) -> Result<(Examples, Option<String>, Vec<String>), Failure> {
    let Reading { options, roles, piece, baseline, .. } = *reading;
    let (encoder, blueprint) = (model.schema.encoder()?, &model.blueprint);
    let known = encoder.label.is_some() && roles.positive == Positive::Auto && roles.queries.is_none();
    let over = |rows: usize| reading.spill.is_some_and(|spill| rows * ROW > spill.bytes);
    if !known {
        // What the labels mean shows when all are read.
        let found = load_more(path, options, roles, encoder, blueprint)?;
        let refused = reading.strict && over(found.0.sample.len());
        return if refused { Err(all_needed("queries and labels by ‹positive›")) } else { Ok(found) };
    }
    let baseline = model.baseline.iter().filter(|_| baseline || model.decision.rule().compares());
    let scorers = std::iter::once(&model.scorer).chain(baseline);
    let mut known = Known::new(reading, model, encoder, scorers.cloned().collect());
    let (mut last, mut ended, mut several) = (None, Ok(()), false);
    let mut take = |table: Table| {
        // The first is scored once a second comes.
        if let Some(before) = last.replace(table) {
            several = true;
            ended = known.add(before);
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
    if !several && !over(last.rows()) {
        let (held, data) = hold_all(last, encoder, blueprint)?;
        let sample = data.sample.ok_or_else(|| no_labels(path))?;
        return Ok((Examples { held, sample }, hash, notes(&data.notes, Some(path))));
    }
    known.add(last)?;
    let again = {
        let (path, options, roles) = (path.to_owned(), options.clone(), roles.clone());
        let (encoder, blueprint) = (encoder.clone(), blueprint.clone());
        move |rows: &[u32]| read_again(&path, &options, &roles, &encoder, &blueprint, piece, rows)
    };
    let (examples, all_notes) = known.finish(Box::new(again))?;
    let examples = examples.ok_or_else(|| no_labels(path))?;
    Ok((examples, hash, all_notes.map_or_else(Vec::new, |all| notes(&all, Some(path)))))
}

/// What is known of the rows that have been read.
struct Known<'a> {
    model: &'a Opened,
    encoder: &'a Encoder,
    about: Option<Table>,
    by: Vec<(Scorer, Vec<Vec<f32>>)>,
    notes: Option<Notes>,
    spill: Option<&'a Spill>,
    /// What needs all rows in memory.
    needs_all: Option<&'static str>,
    strict: bool,
    stored: Option<StoredRows>,
}

impl<'a> Known<'a> {
    fn new(reading: &Reading<'a>, model: &'a Opened, encoder: &'a Encoder, scorers: Vec<Scorer>) -> Self {
        Self {
            model,
            encoder,
            about: None,
            by: scorers.into_iter().map(|scorer| (scorer, Vec::new())).collect(),
            notes: None,
            spill: reading.spill,
            needs_all: needs_all(model, reading),
            strict: reading.strict,
            stored: None,
        }
    }

    fn add(&mut self, mut table: Table) -> Result<(), Failure> {
        let next = table.take_about();
        match &mut self.about {
            Some(about) => about.append_about(next),
            None => self.about = Some(next),
        }
        if table.rows() == 0 {
            return Ok(());
        }
        let (mut held, data) = hold_all(table, self.encoder, &self.model.blueprint)?;
        for (scorer, scores) in &mut self.by {
            scores.push(scorer.scores(&mut held)?);
        }
        match &mut self.notes {
            Some(all) => all.merge(data.notes),
            None => self.notes = Some(data.notes),
        }
        self.make_room()
    }

    /// Writes labels and scores to the scratch file, where they take too much memory.
    fn make_room(&mut self) -> Result<(), Failure> {
        let rows = self.about.as_ref().map_or(0, Table::rows);
        let Some(spill) = self.spill.filter(|spill| rows * ROW > spill.bytes) else { return Ok(()) };
        match self.needs_all {
            Some(what) if self.strict => Err(all_needed(what)),
            Some(_) => Ok(()),
            None => self.store(spill),
        }
    }

    fn store(&mut self, spill: &Spill) -> Result<(), Failure> {
        let stored = match &mut self.stored {
            Some(stored) => stored,
            None => {
                let scratch = match Scratch::create(&spill.directory) {
                    // Nobody asked for it.
                    Err(_) if !self.strict => {
                        self.spill = None;
                        return Ok(());
                    }
                    scratch => scratch?,
                };
                self.stored.insert(StoredRows::new(scratch, spill.bytes))
            }
        };
        let Some(sample) = self.about.take().map(Table::into_sample).transpose()?.flatten() else {
            return Ok(());
        };
        let scores = joined(std::mem::take(&mut self.by[0].1), sample.len());
        let rows: Vec<u32> = (0..sample.len() as u32).collect();
        for (rows, scores) in rows.chunks(STORED).zip(scores.chunks(STORED)) {
            stored.push(&sample.select(rows), scores)?;
        }
        Ok(())
    }

    /// The examples; none if there are no labels.
    fn finish(mut self, again: Box<Again>) -> Result<(Option<Examples>, Option<Notes>), Failure> {
        if let (Some(spill), Some(_)) = (self.spill, &self.stored) {
            self.store(spill)?;
            let stored = self.stored.map(StoredRows::finish);
            let rows = stored.as_ref().map_or(0, |stored| stored.about().rows);
            let held = Held::Scored(Scored { rows, by: Vec::new(), again, stored });
            return Ok((Some(Examples { held, sample: Sample::none() }), self.notes));
        }
        let Some(sample) = self.about.map(Table::into_sample).transpose()?.flatten() else {
            return Ok((None, self.notes));
        };
        let whole = |pieces| Arc::new(joined(pieces, sample.len()));
        let by = self.by.into_iter().map(|(scorer, pieces)| (scorer, whole(pieces))).collect();
        let held = Held::Scored(Scored { rows: sample.len(), by, again, stored: None });
        Ok((Some(Examples { held, sample }), self.notes))
    }
}

/// Scores of pieces, one after the other. A list that grows leaves as much behind as it has, which comes back late.
fn joined(pieces: Vec<Vec<f32>>, rows: usize) -> Vec<f32> {
    let mut scores = Vec::with_capacity(rows);
    pieces.into_iter().for_each(|piece| scores.extend(piece));
    scores
}

fn all_needed(what: &str) -> Failure {
    Failure::input(format!(
        "‹memory›: labels and scores take more than that, and {what} need all of them in memory"
    ))
}

/// What needs the labels and scores of all rows in memory, if anything does.
fn needs_all(model: &Opened, reading: &Reading<'_>) -> Option<&'static str> {
    let roles = reading.roles;
    let Decision::Threshold(decision) = &model.decision else {
        return Some("models that do not decide by one threshold");
    };
    let tested = decision.shipped.certificate.is_some();
    let reasons = [
        (reading.baseline, "reports"),
        (decision.goal.column().is_some(), "goals on groups"),
        (decision.goal.money().is_some(), "goals in money"),
        (tested && needs_frontier(&decision.goal), "tests of this goal's certificate"),
        (roles.split_by.is_some() || roles.split_by_if_there.is_some(), "rows that belong together"),
    ];
    reasons.into_iter().find_map(|(needs, what)| needs.then_some(what))
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

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use serde_json::Map;
    use setpoint::train::Silent;
    use setpoint_data::SplitPlan;

    use super::*;
    use crate::choice::ModelChoice;
    use crate::evaluate::evaluate;
    use crate::examples::load;
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
        let trained = |roles: &Roles| {
            let read = Table::read(&few, &options, roles).unwrap();
            let parts = split.split(&read, 0).unwrap();
            let mut loaded = load(read, &parts, None, &ModelChoice::Linear).unwrap();
            let goal = "recall @ fpr<=20%".parse().unwrap();
            let job = Job::new(goal, ModelChoice::Linear, &Map::new(), &split, Some(0.9)).unwrap();
            train(&job, &mut loaded, &mut Silent, None).unwrap().file.save(&file).unwrap();
            crate::model::open_all(&file).unwrap().remove(0).1
        };
        let model = trained(&roles);
        let encoder = model.schema.encoder().unwrap();
        let held = load_more(&many, &options, &roles, encoder, &model.blueprint).unwrap();
        let reading = |spill| Reading {
            options: &options,
            roles: &roles,
            piece: 1,
            baseline: false,
            spill,
            strict: true,
        };
        let scored = load_scored(&many, &reading(None), &model).unwrap();
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
        // Labels and scores on disk: with weights and groups, with either, with none.
        let drop = ["w", "g", "who"].map(str::to_owned).to_vec();
        let certified = trained(&Roles { label: column("y"), drop, ..Roles::default() });
        let spill = Spill { bytes: 1 << 20, directory: folder.clone() };
        for (weight, group) in [(true, true), (true, false), (false, true), (false, false)] {
            let roles = Roles {
                label: column("y"),
                weight: column("w").filter(|_| weight),
                group: column("g").filter(|_| group),
                ..Roles::default()
            };
            let measured = |spill| {
                let reading = Reading { roles: &roles, ..reading(spill) };
                let (mut examples, ..) = load_scored(&many, &reading, &certified).unwrap();
                assert_eq!(examples.stored().is_some(), spill.is_some());
                // The importance of columns takes most of the time.
                evaluate(&certified, &mut examples, if weight == group { 1 } else { 0 }, 0.9).unwrap()
            };
            let held = measured(None);
            assert_eq!(
                (held.drift.len(), held.groups.len()),
                (usize::from(!weight), if group { 3 } else { 0 })
            );
            assert_eq!(measured(Some(&spill)), held);
        }
        let refused = load_scored(&many, &reading(Some(&spill)), &model).map(|_| ()).unwrap_err().message;
        assert!(refused.contains("rows that belong together need all of them in memory"), "{refused}");
        let roles = Roles { label: column("y"), positive: Positive::Value("yes".into()), ..Roles::default() };
        let reading_of = Reading { roles: &roles, ..reading(Some(&spill)) };
        let refused = load_scored(&many, &reading_of, &certified).map(|_| ()).unwrap_err().message;
        assert!(refused.contains("labels by ‹positive› need all"), "{refused}");
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 3);
        let reading = Reading { piece: PIECE, ..reading(None) };
        let whole = load_scored(&few, &reading, &model).unwrap();
        assert!(matches!(whole.0.held, Held::Model(_)));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
