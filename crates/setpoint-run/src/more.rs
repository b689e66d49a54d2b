//! Labelled rows of other files: held, or scored some at a time.

use std::path::Path;
use std::sync::Arc;

use setpoint::features::{Features, Stored};
use setpoint_data::{Dataset, Encoder, Notes, Positive, ReadOptions, Roles, Table, hash};

use crate::blueprint::{Blueprint, Held, Scored};
use crate::examples::{Examples, notes};
use crate::failure::Failure;
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

/// Labelled rows of another file for a model of tables: held where they are no more than a piece of so many bytes, else
/// scored piece by piece; by the baseline too, where that is wanted.
///
/// # Errors
/// If they are not the model's, or have no labels.
pub fn load_scored(
    path: &Path,
    options: &ReadOptions,
    roles: &Roles,
    model: &Opened,
    piece: usize,
    baseline: bool,
) -> Result<(Examples, Option<String>, Vec<String>), Failure> {
    let (encoder, blueprint) = (model.schema.encoder()?, &model.blueprint);
    let known = encoder.label.is_some() && roles.positive == Positive::Auto && roles.queries.is_none();
    if !known {
        // What the labels mean shows when all are read.
        return load_more(path, options, roles, encoder, blueprint);
    }
    let baseline = model.baseline.iter().filter(|_| baseline || model.decision.rule().compares());
    let scorers = std::iter::once(&model.scorer).chain(baseline);
    let mut by: Vec<(Scorer, Vec<Vec<f32>>)> = scorers.map(|scorer| (scorer.clone(), Vec::new())).collect();
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
            scores.push(scorer.scores(&mut held)?);
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
    // A list that grows leaves as much behind as it has, which comes back late.
    let whole = |pieces: Vec<Vec<f32>>| {
        let mut scores = Vec::with_capacity(sample.len());
        pieces.into_iter().for_each(|piece| scores.extend(piece));
        Arc::new(scores)
    };
    let by = by.into_iter().map(|(scorer, pieces)| (scorer, whole(pieces))).collect();
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

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use serde_json::Map;
    use setpoint::Sample;
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
        let read = Table::read(&few, &options, &roles).unwrap();
        let parts = split.split(&read, 0).unwrap();
        let mut loaded = load(read, &parts, None, &ModelChoice::Linear).unwrap();
        let goal = "recall @ fpr<=20%".parse().unwrap();
        let job = Job::new(goal, ModelChoice::Linear, &Map::new(), &split, Some(0.9)).unwrap();
        train(&job, &mut loaded, &mut Silent, None).unwrap().file.save(&file).unwrap();
        let (_, model) = crate::model::open_all(&file).unwrap().remove(0);
        let encoder = model.schema.encoder().unwrap();
        let held = load_more(&many, &options, &roles, encoder, &model.blueprint).unwrap();
        let scored = load_scored(&many, &options, &roles, &model, 1, false).unwrap();
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
        let whole = load_scored(&few, &options, &roles, &model, PIECE, false).unwrap();
        assert!(matches!(whole.0.held, Held::Model(_)));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
