//! Which rows to have labelled, for a new certificate of a model.

use setpoint::certify::design::{chances, draw};
use setpoint_data::Codes;

use crate::failure::Failure;
use crate::kind::Decision;
use crate::model::Opened;

/// Rows to have labelled.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawn {
    /// Their numbers, from 0, ascending.
    pub rows: Vec<usize>,
    /// The chance with which each was drawn.
    pub chances: Vec<f64>,
}

/// Draws about `labels` of these rows, each independently with the chance that suits the goal's conditions; `groups`
/// are theirs where thresholds are by group.
///
/// # Errors
/// If the conditions cannot be certified, the model knows no probabilities, or `labels` is not a number of rows.
pub fn sample(
    model: &Opened,
    scores: &[f32],
    groups: Option<&Codes>,
    labels: u64,
    seed: u64,
) -> Result<Drawn, Failure> {
    if labels == 0 || scores.is_empty() {
        return Err(Failure::input("‹labels 0›: expected at least one label, of at least one row"));
    }
    let does = match &model.decision {
        Decision::Threshold(_) => "",
        Decision::Band(_) => "leaves rows between two thresholds undecided",
        Decision::Shift(_) => "decides among several classes",
        Decision::Place(_) => "puts the rows of each query in order",
    };
    let Decision::Threshold(decision) = &model.decision else {
        return Err(Failure::input(format!(
            "the model {does}, and which rows to label is known for one score and a threshold alone: have rows labelled as \
             they come, and certify it anew on those (setpoint recertify)"
        )));
    };
    let margins = decision.margins(scores, groups)?;
    let curve = decision.probability.ok_or_else(|| {
        Failure::input("the model file holds no probabilities, by which rows are chosen: train it again with this version")
    })?;
    let probabilities: Vec<f64> = scores.iter().map(|score| curve.of(*score)).collect();
    let all = chances(&decision.goal.operating().constraints, &margins, &probabilities, labels as f64)?;
    let rows = draw(&all, seed);
    let chances = rows.iter().map(|row| all[*row]).collect();
    Ok(Drawn { rows, chances })
}
