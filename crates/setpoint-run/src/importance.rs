//! What the goal's value loses when a column is shuffled.
//!
//! The value is the one at the goal's condition, solved for anew on the shuffled scores: at the shipped threshold a
//! shuffled column moves both the objective and the conditions, and the one cannot be held against the other.
//!
//! ```text
//! screen     every column once, on few rows: how far it moves the scores
//! measure    those that move them most: the mean loss over a few shuffles of at most ROWS rows
//! interval   those that lose most: the paired bootstrap of the first shuffle, moved to the mean
//! ```

use std::collections::{BTreeMap, BinaryHeap};
use std::ops::Range;

use setpoint::Sample;
use setpoint::features::Sparse;
use setpoint::goal::Direction;
use setpoint::metric::Rows;
use setpoint::model::Linear;
use setpoint_data::{Encoder, Encoding, Form, Inputs, mix, shuffle};
use setpoint_report::{ColumnRecord, ImportanceRecord, WeightRecord};

use crate::blueprint::Held;
use crate::examples::Examples;
use crate::failure::Failure;
use crate::kind::Kind;
use crate::schema::Schema;
use crate::scorer::Scorer;

/// Most rows measured on; shifts of several classes take a search, and so fewer rows.
const ROWS: usize = 20_000;
const ROWS_BY_CLASS: usize = 60_000;
const LEAST_ROWS: usize = 2_000;
/// Rows of the screen, all columns together and each at least.
const SCREENED: usize = 200_000;
const LEAST_SCREENED: usize = 64;
const MOST_SCREENED: usize = 1_000;
/// Shuffles of a column that is measured; of several classes.
const SHUFFLES: u64 = 5;
const SHUFFLES_OF_CLASSES: u64 = 2;
/// So many times the columns that are shown are measured, and so many at least.
const MEASURED: usize = 2;
const LEAST_MEASURED: usize = 20;
/// Most weights kept of a column.
const WEIGHTS: usize = 20;
/// Orders and samples are drawn by it.
const SEED: u64 = 0;

/// A model, and what its scores are for.
pub(crate) struct Subject<'a> {
    pub(crate) kind: &'a dyn Kind,
    pub(crate) scorer: &'a Scorer,
    pub(crate) schema: &'a Schema,
    /// The goal, as it prints.
    pub(crate) goal: &'a str,
}

/// A column of the table and its columns of the matrix, and of that of the trees beside.
struct Column {
    name: String,
    own: [Range<usize>; 2],
}

impl Subject<'_> {
    /// The columns that the goal's value on these rows is owed to, so many at most; `None` of images, where the
    /// condition cannot be met, or where none are asked for.
    pub(crate) fn importance(
        &self,
        examples: &Examples,
        shown: usize,
        confidence: f64,
    ) -> Result<Option<ImportanceRecord>, Failure> {
        let (Schema::Table(encoder), true) = (self.schema, shown > 0) else { return Ok(None) };
        let columns = columns(encoder);
        let (mut held, sample) =
            some_rows(examples, (ROWS_BY_CLASS / self.schema.outputs()).clamp(LEAST_ROWS, ROWS))?;
        let scores = self.scorer.scores(&mut held)?;
        let Some(value) = self.kind.value(&sample, &scores)? else { return Ok(None) };
        let sign = if self.kind.direction() == Direction::Up { 1.0 } else { -1.0 };
        let shuffles = if self.schema.outputs() > 1 { SHUFFLES_OF_CLASSES } else { SHUFFLES };
        let orders = orders(held.rows(), shuffles);
        let mut measured = Vec::new();
        for column in self.screened(&held, &columns, (MEASURED * shown).max(LEAST_MEASURED))? {
            let mut values = Vec::new();
            let mut first = Vec::new();
            for order in &orders {
                let shuffled = self.shuffled(&held, &columns[column].own, order)?;
                values.push(self.kind.value(&sample, &shuffled)?);
                if first.is_empty() {
                    first = shuffled;
                }
            }
            let losses: Option<Vec<f64>> =
                values.into_iter().map(|other| Some(sign * (value - other?))).collect();
            measured.push((column, losses, first));
        }
        let mean =
            |losses: &Option<Vec<f64>>| losses.as_ref().map(|all| all.iter().sum::<f64>() / all.len() as f64);
        measured.sort_by(|(_, one, _), (_, other, _)| match (mean(one), mean(other)) {
            (Some(one), Some(other)) => other.total_cmp(&one),
            (one, other) => one.is_some().cmp(&other.is_some()),
        });
        measured.truncate(shown);
        let weights = weights(self.scorer, &held, encoder);
        let record = |(column, losses, first): (usize, Option<Vec<f64>>, Vec<f32>)| {
            let loss = mean(&losses);
            let found = loss.and_then(|_| self.kind.difference(&sample, &scores, &first, confidence));
            let interval =
                found.zip(losses.and_then(|all| all.first().copied())).map(|(mut bounds, of_first)| {
                    let ends = [sign * bounds.lower, sign * bounds.upper]
                        .map(|end| end - of_first + loss.unwrap_or(0.0));
                    (bounds.lower, bounds.upper) = (ends[0].min(ends[1]), ends[0].max(ends[1]));
                    bounds
                });
            let Column { name, own } = &columns[column];
            let weights = weights.as_ref().map(|weights| listed(weights, &own[0])).unwrap_or_default();
            ColumnRecord { column: name.clone(), loss, interval, weights }
        };
        Ok(Some(ImportanceRecord {
            goal: self.goal.to_owned(),
            value,
            rows: sample.len() as u64,
            shuffles,
            columns_read: columns.len() as u64,
            columns: measured.into_iter().map(record).collect(),
        }))
    }

    fn shuffled(&self, held: &Held, own: &[Range<usize>; 2], order: &[u32]) -> Result<Vec<f32>, Failure> {
        let shuffled = held.shuffled(own, order)?;
        let mut shuffled = shuffled.ok_or_else(|| Failure::input("the model has no columns to shuffle"))?;
        self.scorer.scores(&mut shuffled)
    }

    /// So many columns at most that move the scores of some rows, those that move them most first.
    fn screened(&self, held: &Held, columns: &[Column], most: usize) -> Result<Vec<usize>, Failure> {
        let rows = (SCREENED / columns.len().max(1)).clamp(LEAST_SCREENED, MOST_SCREENED).min(held.rows());
        let mut few = held.view(&drawn(held.rows(), SEED)[..rows])?;
        let scores = self.scorer.scores(&mut few)?;
        let order = drawn(rows, SEED + 1);
        let mut moved = Vec::new();
        for (place, column) in columns.iter().enumerate() {
            let shuffled = self.shuffled(&few, &column.own, &order)?;
            let squares = scores.iter().zip(&shuffled).map(|(one, other)| f64::from(one - other).powi(2));
            moved.push((squares.sum::<f64>(), place));
        }
        moved.sort_by(|one, other| other.0.total_cmp(&one.0));
        Ok(moved.into_iter().filter(|(moved, _)| *moved > 0.0).map(|(_, place)| place).take(most).collect())
    }
}

/// Numbers below `count` in an order that depends on the seed alone.
fn drawn(count: usize, seed: u64) -> Vec<u32> {
    let mut order: Vec<u32> = (0..count as u32).collect();
    shuffle(&mut order, seed);
    order
}

fn orders(rows: usize, shuffles: u64) -> Vec<Vec<u32>> {
    (0..shuffles).map(|shuffle| drawn(rows, SEED + 2 + shuffle)).collect()
}

/// The columns of the table, each with those of the matrix.
fn columns(encoder: &Encoder) -> Vec<Column> {
    let Inputs::Table(inputs) = &encoder.inputs else {
        let names = encoder.feature_names().into_iter().enumerate();
        return names.map(|(at, name)| Column { name, own: [at..at + 1, 0..0] }).collect();
    };
    let mut columns: Vec<Column> = Vec::new();
    for input in inputs {
        let first = columns.last().map_or(0, |column| column.own[0].end);
        match columns.last_mut().filter(|_| input.part.is_some()) {
            Some(dates) => dates.own[0].end += input.width(),
            None => {
                let own = [first..first + input.width(), 0..0];
                columns.push(Column { name: input.name.clone(), own });
            }
        }
    }
    let mut at = 0;
    for input in &encoder.beside {
        let next = at + input.width();
        if let Some(column) = columns.iter_mut().find(|column| column.name == input.name) {
            let first = if column.own[1].is_empty() { at } else { column.own[1].start };
            column.own[1] = first..next;
        }
        at = next;
    }
    columns
}

/// Rows by a hash of their place.
type First = BinaryHeap<(u64, u32)>;

/// At most so many rows: as many of each label in each group as there is room for, weighted back to what they stand
/// for; of queries, whole ones.
fn some_rows(examples: &Examples, most: usize) -> Result<(Held, Sample), Failure> {
    let sample = &examples.sample;
    let here = (sample, &[][..]);
    let rows: &dyn Rows = match examples.stored() {
        Some(stored) => stored,
        None => &here,
    };
    let count = rows.about().rows;
    if count <= most {
        let all: Vec<u32> = (0..count as u32).collect();
        return Ok((examples.held.view(&all)?, rows.pick(&all)?.0));
    }
    if let Some(queries) = sample.queries() {
        let mut rows = Vec::new();
        for query in drawn(queries.len(), SEED) {
            let own = queries.rows(query as usize);
            if rows.is_empty() || rows.len() + own.len() <= most {
                rows.extend_from_slice(own);
            }
        }
        rows.sort_unstable();
        return Ok((examples.held.view(&rows)?, sample.select(&rows)));
    }
    // How many there are of each, and as many of them as may be taken: those that come first by a hash of their place.
    let mut strata: BTreeMap<(bool, u32), (usize, First)> = BTreeMap::new();
    let mut place = 0;
    rows.each(&mut |sample, _| {
        for (row, label) in sample.labels().iter().enumerate() {
            let group = sample.groups().map_or(0, |groups| groups.codes()[row]);
            let (count, first) = strata.entry((*label, group)).or_default();
            *count += 1;
            let own = (mix(u64::from(place)), place);
            if first.len() < most {
                first.push(own);
            } else if let Some(mut last) = first.peek_mut().filter(|last| own < **last) {
                *last = own;
            }
            place += 1;
        }
    });
    let mut strata: Vec<(usize, Vec<u32>)> = strata
        .into_values()
        .map(|(count, first)| (count, first.into_sorted_vec().into_iter().map(|(_, row)| row).collect()))
        .collect();
    strata.sort_by_key(|(count, _)| *count);
    let (mut room, mut left, mut taken) = (most, strata.len(), Vec::new());
    for (count, stratum) in strata {
        let own = count.min((room / left).max(1));
        let stands_for = count as f64 / own as f64;
        taken.extend(stratum[..own].iter().map(|row| (*row, stands_for)));
        (room, left) = (room.saturating_sub(own), left - 1);
    }
    taken.sort_unstable_by_key(|(row, _)| *row);
    let (taken, stands_for): (Vec<u32>, Vec<f64>) = taken.into_iter().unzip();
    let (some, _) = rows.pick(&taken)?;
    rows.check()?;
    let weights = stands_for.iter().enumerate();
    let weights = weights.map(|(row, stands_for)| (some.weight(row) * stands_for) as f32).collect();
    Ok((examples.held.view(&taken)?, some.with_weights(weights)?))
}

/// What each column of the matrix is called within its column of the table, what it adds to the score, and how far
/// scores spread by it; `None` unless one score is linear in them.
fn weights(scorer: &Scorer, held: &Held, encoder: &Encoder) -> Option<Vec<(String, f64, f64)>> {
    let (combined, model) = match (scorer, held) {
        (Scorer::Model(combined), Held::Model(model)) => (combined, model),
        // What columns add through the trees is not linear.
        (Scorer::Both(both), Held::Both(held)) => return weights(&both[0], &held[0], encoder),
        _ => return None,
    };
    let (parameters, linear) = (combined.parameters()?, model.as_any()?.downcast_ref::<Linear>()?);
    if parameters.len() != encoder.own_columns() + 1 {
        return None;
    }
    let scaled = |of: &str, weight: f32, scale: f32| {
        (of.to_owned(), f64::from(weight) / f64::from(scale), f64::from(weight).abs())
    };
    let inputs = match &encoder.inputs {
        Inputs::Sparse { scales, .. } => {
            return Some(
                scales
                    .iter()
                    .zip(parameters)
                    .map(|(scale, weight)| scaled("a unit", *weight, *scale))
                    .collect(),
            );
        }
        Inputs::Table(inputs) => inputs,
    };
    let entries = linear.features().entries().map(|entries| Entries::of(entries, encoder.own_columns()));
    let mut found = Vec::with_capacity(encoder.own_columns());
    for input in inputs {
        let own = &parameters[found.len()..][..input.width()];
        match &input.encoding {
            Encoding::Number { scaling, missing } => {
                // A second of a date is no unit that anybody thinks in.
                let date = input.form.is_some_and(Form::is_date);
                let (unit, size) = if date { ("a day", 86_400.0) } else { ("a unit", 1.0) };
                found.push(scaled(unit, own[0], scaling.scale / size));
                found.extend(missing.map(|missing| scaled("missing", own[1], missing.scale)));
            }
            Encoding::Category { values, missing, rare } => {
                let part = input.part.map_or_else(String::new, |part| format!("{} ", part.name()));
                let names =
                    values.iter().map(|category| (format!("{part}{}", category.value), category.scaling));
                let names = names.chain(missing.map(|scaling| ("missing".to_owned(), scaling)));
                let names = names.chain(rare.map(|scaling| ("any other".to_owned(), scaling)));
                found.extend(
                    names.zip(own).map(|((of, scaling), weight)| scaled(&of, *weight, scaling.scale)),
                );
            }
            Encoding::Text(words) => {
                let first = found.len();
                let term = |(place, (term, weight)): (usize, (&setpoint_data::Term, &f32))| {
                    let (mean, spread) =
                        entries.as_ref().map_or((0.0, 0.0), |all| all.of_column(first + place));
                    let weight = f64::from(*weight);
                    (term.text.clone(), weight * mean, weight.abs() * spread)
                };
                found.extend(words.terms.iter().zip(own).enumerate().map(term));
            }
            Encoding::Plain | Encoding::Code { .. } | Encoding::Learnt(_) => return None,
        }
    }
    Some(found)
}

/// What entries come to, column by column.
struct Entries {
    rows: f64,
    /// Number, sum, and sum of squares.
    sums: Vec<[f64; 3]>,
}

impl Entries {
    fn of(entries: &Sparse, columns: usize) -> Self {
        let mut sums = vec![[0.0; 3]; columns];
        for (column, value) in entries.indices.iter().zip(&entries.values) {
            let (sums, value) = (&mut sums[*column as usize], f64::from(*value));
            sums.iter_mut().zip([1.0, value, value * value]).for_each(|(sum, more)| *sum += more);
        }
        Self { rows: entries.rows() as f64, sums }
    }

    /// The mean where there is an entry, and the root mean square over all rows.
    fn of_column(&self, column: usize) -> (f64, f64) {
        let [count, sum, squares] = self.sums[column];
        (if count > 0.0 { sum / count } else { 0.0 }, (squares / self.rows).sqrt())
    }
}

/// The weights of a column, those by which scores spread most first.
fn listed(weights: &[(String, f64, f64)], own: &Range<usize>) -> Vec<WeightRecord> {
    let mut own: Vec<_> = weights[own.clone()].iter().filter(|(_, weight, _)| *weight != 0.0).collect();
    own.sort_by(|one, other| other.2.total_cmp(&one.2));
    let record = |(of, weight, _): &(String, f64, f64)| WeightRecord { of: of.clone(), weight: *weight };
    own.into_iter().take(WEIGHTS).map(record).collect()
}

#[cfg(test)]
mod tests {
    use setpoint::train::Combined;
    use setpoint_data::{ReadOptions, Roles, Table};

    use super::*;
    use crate::blueprint::Blueprint;
    use crate::choice::ModelChoice;
    use crate::kind::{ByThreshold, Decision};
    use crate::threshold::Shipped;

    const ROWS: usize = 400;

    /// Numbers with gaps, categories, texts, and a number that says nothing.
    fn rows() -> Vec<[String; 5]> {
        let words = ["fits well", "runs small", "poor seam", "lovely cloth", "sent back"];
        let row = |row: usize| {
            let drawn = (row as u32).wrapping_mul(2_654_435_761) >> 16;
            let (x, noise) = (drawn % 101, drawn % 7);
            let x = if row.is_multiple_of(9) { String::new() } else { x.to_string() };
            let text = format!("{} {} item {}", words[row % 5], words[drawn as usize % 5], row % 60);
            let town = ["York", "Leeds", "Hull"][row % 3];
            let label = u8::from(drawn % 101 > 60 || (row % 3 == 1 && noise < 2));
            [x, town.to_owned(), text, noise.to_string(), label.to_string()]
        };
        (0..ROWS).map(row).collect()
    }

    fn table(rows: &[[String; 5]]) -> Table {
        let lines = rows.iter().map(|row| row.join(",") + "\n");
        let text = format!("x,town,review,noise,y\n{}", lines.collect::<String>());
        let roles = Roles { label: Some("y".into()), ..Roles::default() };
        Table::from_bytes("t.csv", text.into(), &ReadOptions::default(), &roles, None).unwrap()
    }

    struct Case {
        schema: Schema,
        blueprint: Blueprint,
        scorer: Scorer,
        decision: Decision,
    }

    impl Case {
        /// Weights of some size for all columns but the last.
        fn new(choice: &ModelChoice) -> Self {
            let all: Vec<u32> = (0..ROWS as u32).collect();
            let encoder = Encoder::fit(&table(&rows()), &all).unwrap();
            let blueprint = Blueprint::for_table(choice, &encoder, 1).unwrap();
            let Held::Model(model) =
                blueprint.hold(encoder.encode(table(&rows())).unwrap().features).unwrap()
            else {
                panic!("a model of the core")
            };
            let mut parameters = model.initial(3);
            if model.linear() {
                let count = parameters.len();
                let own = parameters.iter_mut().take(count - 2).enumerate();
                own.for_each(|(place, weight)| *weight = 0.3 + (place as f32).sin());
            }
            let (thresholds, from) = (vec![0.0], "calibration");
            let (groups, certificate, approximate, refused) = Default::default();
            let decision = Decision::Threshold(ByThreshold {
                goal: "recall @ fpr<=20%".parse().unwrap(),
                shared_threshold: false,
                shipped: Shipped { thresholds, groups, certificate, approximate, refused, from },
                probability: None,
                sketch: None,
            });
            let scorer = Scorer::Model(Combined::single(parameters));
            Self { schema: Schema::Table(encoder), blueprint, scorer, decision }
        }

        fn examples(&self, rows: &[[String; 5]]) -> Examples {
            let data = self.schema.encoder().unwrap().encode(table(rows)).unwrap();
            Examples { held: self.blueprint.hold(data.features).unwrap(), sample: data.sample.unwrap() }
        }

        fn importance(&self, examples: &Examples, shown: usize) -> ImportanceRecord {
            let kind = self.decision.kind();
            let subject =
                Subject { kind: &*kind, scorer: &self.scorer, schema: &self.schema, goal: "the goal" };
            subject.importance(examples, shown, 0.95).unwrap().unwrap()
        }
    }

    #[test]
    fn losses_are_those_of_tables_with_a_column_shuffled() {
        for choice in [ModelChoice::Linear, ModelChoice::Mlp { hidden: vec![5], dropout: 0.0 }] {
            let (case, rows) = (Case::new(&choice), rows());
            let examples = case.examples(&rows);
            let record = case.importance(&examples, 9);
            let names: Vec<&str> = record.columns.iter().map(|column| column.column.as_str()).collect();
            let linear = choice == ModelChoice::Linear;
            assert_eq!(
                names.len(),
                if linear { 3 } else { 4 },
                "a column without a weight moves nothing: {names:?}"
            );
            assert_eq!((record.rows, record.columns_read), (ROWS as u64, 4));
            let kind = case.decision.kind();
            for column in &record.columns {
                let place =
                    ["x", "town", "review", "noise"].iter().position(|name| *name == column.column).unwrap();
                let values = orders(ROWS, SHUFFLES).into_iter().map(|order| {
                    let mut shuffled = rows.clone();
                    let other = |(row, other): (&mut [String; 5], u32)| {
                        row[place].clone_from(&rows[other as usize][place]);
                    };
                    shuffled.iter_mut().zip(order).for_each(other);
                    let mut shuffled = case.examples(&shuffled);
                    let scores = shuffled.scores(&case.scorer).unwrap();
                    kind.value(&shuffled.sample, &scores).unwrap().unwrap()
                });
                let expected = record.value - values.sum::<f64>() / SHUFFLES as f64;
                let (loss, bounds) = (column.loss.unwrap(), column.interval.as_ref().unwrap());
                assert!((loss - expected).abs() < 1e-9, "{}: {loss} {expected}", column.column);
                assert!(bounds.lower <= loss && loss <= bounds.upper, "{}", column.column);
                assert_eq!(column.weights.is_empty(), !linear);
            }
            assert!(record.columns.is_sorted_by(|one, other| one.loss >= other.loss));
            assert_eq!(case.importance(&examples, 1).columns, record.columns[..1]);
        }
    }

    #[test]
    fn weights_are_in_units_of_the_column() {
        let case = Case::new(&ModelChoice::Linear);
        let mut rows = rows();
        let record = case.importance(&case.examples(&rows), 9);
        let weight = |column: &str, of: &str| {
            let column = record.columns.iter().find(|one| one.column == column).unwrap();
            column.weights.iter().find(|one| one.of == of).unwrap().weight
        };
        let score = |rows: &[[String; 5]]| f64::from(case.examples(rows).scores(&case.scorer).unwrap()[1]);
        let before = score(&rows);
        let x: f64 = rows[1][0].parse().unwrap();
        rows[1][0] = (x + 1.0).to_string();
        assert!((score(&rows) - before - weight("x", "a unit")).abs() < 1e-5);
        rows[1][0] = x.to_string();
        rows[1][1] = "Hull".to_owned();
        let moved = score(&rows) - before;
        assert!((moved - (weight("town", "Hull") - weight("town", "Leeds"))).abs() < 1e-5);
        let review = record.columns.iter().find(|one| one.column == "review").unwrap();
        assert!(review.weights.len() == WEIGHTS && review.weights.iter().any(|one| one.of.contains("seam")));
    }

    #[test]
    fn a_sample_of_rows_stands_for_all_of_them() {
        let case = Case::new(&ModelChoice::Linear);
        let examples = case.examples(&rows());
        let (held, sample) = some_rows(&examples, 100).unwrap();
        assert_eq!((held.rows(), sample.len()), (100, 100));
        let (some, all) = (sample.totals(), examples.sample.totals());
        assert!(
            (some.positives - all.positives).abs() < 1e-3 && (some.negatives - all.negatives).abs() < 1e-3
        );
        let positives = sample.labels().iter().filter(|label| **label).count();
        assert_eq!(positives, 50, "both labels have their half");
        assert_eq!(some_rows(&examples, ROWS).unwrap().1.weights(), None);
    }
}
