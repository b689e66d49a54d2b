//! An exported file beside the model it was made from: every row through onnxruntime.

use std::fmt;

use prost::Message;
use setpoint_data::Codes;
use setpoint_run::{Decision, Decisions, Failure, Opened, Shipped};

use crate::decide::{Observed, UNDECIDED, spread};
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
    /// The scores: one for each row, or one for each of its classes.
    pub scores: Vec<f32>,
    /// The place of each row's threshold, where there are several.
    pub of: Option<Vec<u32>>,
    /// The decisions.
    pub decisions: Decisions,
}

impl Decided {
    /// Decides as the model does; `groups` are those of the rows, where they have thresholds.
    ///
    /// # Errors
    /// If the model has no threshold for a group, or the groups are not there.
    pub fn new(model: &Opened, scores: Vec<f32>, groups: Option<&Codes>) -> Result<Self, Failure> {
        let decisions = match &model.decision {
            // A place depends on the other rows of a query, which a graph does not see: it gives scores alone.
            Decision::Place(_) => Decisions::Place { places: Vec::new(), first: None },
            _ => model.predict(&scores, groups)?.decisions,
        };
        let of = match (&model.decision, groups) {
            (Decision::Threshold(decision), Some(groups)) => places(&decision.shipped, groups)?,
            _ => None,
        };
        Ok(Self { scores, of, decisions })
    }

    /// What places a network's thresholds or shifts.
    #[must_use]
    pub fn observed(&self) -> Observed<'_> {
        Observed { scores: &self.scores, of: self.of.as_deref() }
    }
}

/// Which of the thresholds is each row's, where there are several.
fn places(shipped: &Shipped, groups: &Codes) -> Result<Option<Vec<u32>>, Failure> {
    let Some(known) = &shipped.groups else { return Ok(None) };
    let place = |name: &String| Ok(shipped.place_of(&known.column, name)? as u32);
    let by_code: Vec<u32> = groups.names.iter().map(place).collect::<Result<_, Failure>>()?;
    Ok(Some(groups.of.iter().map(|code| by_code[*code as usize]).collect()))
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
    let outputs = match &decided.decisions {
        Decisions::Place { .. } => vec![score.name.as_str()],
        _ => vec![score.name.as_str(), decision.name.as_str()],
    };
    let unit = spread(&decided.scores);
    let each = decided.scores.len() / rows.count().max(1);
    let mut checked = Checked { rows: rows.count(), different: Vec::new(), largest: 0.0 };
    for start in (0..rows.count()).step_by(BATCH) {
        let end = rows.count().min(start + BATCH);
        let given = session.run(&rows.feed(&inputs, start..end)?, &outputs)?;
        if given[0].values.len() != each * (end - start) {
            let (sizes, rows) = (&given[0].sizes, end - start);
            return Err(Failure::input(format!("the graph gave scores of sizes {sizes:?} for {rows} rows")));
        }
        for (score, own) in given[0].values.iter().zip(&decided.scores[each * start..]) {
            let own = f64::from(*own);
            let off = if *score == own { 0.0 } else { (score - own).abs() / own.abs().max(unit) };
            checked.largest = if off > checked.largest || off.is_nan() { off } else { checked.largest };
        }
        for row in start..end {
            let at = row - start;
            let same = match &decided.decisions {
                Decisions::Positive(own) => given[1].values.get(at) == Some(&f64::from(u8::from(own[row]))),
                Decisions::Some(own) => {
                    let own = own[row].map_or(UNDECIDED as f64, |positive| f64::from(u8::from(positive)));
                    given[1].values.get(at) == Some(&own)
                }
                Decisions::Class { names, of } => given[1].texts.get(at) == names.get(of[row] as usize),
                Decisions::Place { .. } => true,
            };
            if !same {
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
