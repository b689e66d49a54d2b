//! An exported file beside the model it was made from: every row through onnxruntime.

use std::fmt;

use prost::Message;
use setpoint_data::Codes;
use setpoint_run::{Failure, Opened};

use crate::decide::{Observed, spread};
use crate::proto::Outline;
use crate::rows::Rows;
use crate::runtime::Session;

/// Rows run at a time.
pub(crate) const BATCH: usize = 4096;
/// Most rows that a difference is told of.
const MOST_NAMED: usize = 10;

/// Rows as Setpoint scores and decides them.
#[derive(Clone, Debug)]
pub struct Decided {
    /// The scores.
    pub scores: Vec<f32>,
    /// The place of each row's threshold, where there are several.
    pub of: Option<Vec<u32>>,
    /// The decisions.
    pub decisions: Vec<bool>,
}

impl Decided {
    /// Compares scores with the thresholds of the rows' groups, where the model has any.
    ///
    /// # Errors
    /// If the model has no threshold for a group, or the groups are not there.
    pub fn new(model: &Opened, scores: Vec<f32>, groups: Option<&Codes>) -> Result<Self, Failure> {
        let shipped = &model.decision.threshold()?.shipped;
        let of = match (&shipped.groups, groups) {
            (None, _) => None,
            (Some(known), None) => {
                return Err(Failure::input(format!(
                    "the model has a threshold for each group of {:?}: give the group of each row",
                    known.column
                )));
            }
            (Some(known), Some(found)) => {
                let place = |name: &String| shipped.place_of(&known.column, name);
                let by_code: Vec<usize> = found.names.iter().map(place).collect::<Result<_, _>>()?;
                Some(found.of.iter().map(|code| by_code[*code as usize] as u32).collect::<Vec<u32>>())
            }
        };
        let threshold = |row: usize| shipped.thresholds[of.as_ref().map_or(0, |of| of[row] as usize)];
        let decisions = scores.iter().enumerate().map(|(row, score)| *score >= threshold(row)).collect();
        Ok(Self { scores, of, decisions })
    }

    /// What places a network's threshold.
    #[must_use]
    pub fn observed(&self) -> Observed<'_> {
        Observed { scores: &self.scores, of: self.of.as_deref() }
    }
}

/// What came of a check.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// Rows that were run.
    pub rows: usize,
    /// Those that were decided differently, from 0.
    pub different: Vec<usize>,
    /// The largest difference of a score, as a share of the score or of the scores' standard deviation,
    /// whichever is more.
    pub largest: f64,
}

/// Runs all rows through onnxruntime; score and decision are the first and the last output.
///
/// # Errors
/// If onnxruntime is not there, or refuses the file or a row.
pub fn check(file: &[u8], rows: &Rows<'_>, decided: &Decided) -> Result<Checked, Failure> {
    let outline = Outline::decode(file).map_err(|error| Failure::input(format!("no ONNX file: {error}")))?;
    let graph = outline.graph.unwrap_or_default();
    let (Some(score), Some(decision)) = (graph.output.first(), graph.output.last()) else {
        return Err(Failure::input("the graph has no outputs"));
    };
    let (session, inputs) = (Session::new(file)?, graph.inputs());
    let unit = spread(&decided.scores);
    let mut checked = Checked { rows: rows.count(), different: Vec::new(), largest: 0.0 };
    for start in (0..rows.count()).step_by(BATCH) {
        let end = rows.count().min(start + BATCH);
        let given = session.run(&rows.feed(&inputs, start..end)?, &[&score.name, &decision.name])?;
        if let Some(other) = given.iter().find(|given| given.values.len() != end - start) {
            let (sizes, rows) = (&other.sizes, end - start);
            return Err(Failure::input(format!(
                "the graph gave an output of sizes {sizes:?} for {rows} rows"
            )));
        }
        let (scores, decisions) = (&given[0].values, &given[1].values);
        for (row, (score, decision)) in (start..end).zip(scores.iter().zip(decisions)) {
            let own = f64::from(decided.scores[row]);
            let off = if *score == own { 0.0 } else { (score - own).abs() / own.abs().max(unit) };
            checked.largest = if off > checked.largest || off.is_nan() { off } else { checked.largest };
            if *decision != f64::from(u8::from(decided.decisions[row])) {
                checked.different.push(row);
            }
        }
    }
    Ok(checked)
}

impl fmt::Display for Checked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rows, different, largest } = self;
        match &different[..] {
            [] => write!(f, "{rows} rows in onnxruntime: every decision the same")?,
            several => {
                let named: Vec<String> =
                    several.iter().take(MOST_NAMED).map(|row| (row + 1).to_string()).collect();
                let more = if several.len() > MOST_NAMED { " and others" } else { "" };
                let named = named.join(", ");
                write!(
                    f,
                    "{rows} rows in onnxruntime: {} decisions differ, rows {named}{more}",
                    several.len()
                )?;
            }
        }
        match largest {
            0.0 => f.write_str(", every score the same to the last bit"),
            largest => write!(f, ", scores within {largest:.1e}"),
        }
    }
}
