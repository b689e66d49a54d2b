//! Grows one booster, looking at the held-out rows every few rounds.
//!
//! New trees are read from LightGBM at each look and added to the held-out rows' scores, so a look
//! costs what the new trees cost. The scores are those that the finished ensemble gives, bit for bit:
//! a booster that is read back from a checkpoint has the same looks.

use std::ops::ControlFlow;

use rayon::prelude::*;
use setpoint::Sample;
use setpoint::train::TrainError;

use crate::ensemble::Ensemble;
use crate::error::TreesError;
use crate::features::{Data, Features};
use crate::ico::Mixture;
use crate::library::{Booster, Dataset, Library};
use crate::parameters::{Parameters, steady};

/// Rows that are summed as one unit, so that sums do not depend on the number of threads.
const CHUNK: usize = 8_192;

/// The training rows, binned.
pub(crate) fn dataset<'l>(
    library: &'l Library,
    data: &Data<'_>,
    threads: usize,
) -> Result<Dataset<'l>, TreesError> {
    data.check()?;
    // Boosters of different settings share the bins: no column may be left out for some of them.
    let mut parameters = format!("{} feature_pre_filter=false", steady(threads));
    if !data.categorical.is_empty() {
        let columns: Vec<String> = data.categorical.iter().map(ToString::to_string).collect();
        parameters += &format!(" categorical_feature={}", columns.join(","));
    }
    let mut dataset = Dataset::new(library, &data.features, &parameters)?;
    let labels: Vec<f32> = data.sample.labels().iter().map(|label| f32::from(u8::from(*label))).collect();
    dataset.set_labels(&labels)?;
    if let Some(weights) = data.sample.weights() {
        dataset.set_weights(weights)?;
    }
    Ok(dataset)
}

/// The held-out rows' scores after some rounds.
#[derive(Clone, Debug, PartialEq)]
pub struct Look {
    /// Trees so far.
    pub rounds: usize,
    /// The score of each held-out row.
    pub scores: Vec<f32>,
}

/// How far to grow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Growth {
    pub(crate) parameters: Parameters,
    pub(crate) rounds: usize,
    pub(crate) look_every: usize,
    pub(crate) seed: u64,
    pub(crate) threads: usize,
}

/// Where a booster stands after a round.
pub(crate) struct Round<'a> {
    pub(crate) rounds: usize,
    /// The training loss at the last look.
    pub(crate) loss: f64,
    /// The look, if this round has one.
    pub(crate) look: Option<&'a Look>,
}

/// Grows a booster for log loss, or for the mixture with ico's gradient where one is given.
///
/// `after` sees every round and may end the growth: `Break` keeps the trees that there are.
pub(crate) fn grow(
    dataset: &Dataset<'_>,
    sample: &Sample,
    held_out: Option<&Features<'_>>,
    columns: usize,
    growth: &Growth,
    mut mixture: Option<&mut Mixture<'_>>,
    after: &mut dyn FnMut(&Round<'_>) -> Result<ControlFlow<()>, TreesError>,
) -> Result<(Ensemble, Vec<Look>), TreesError> {
    growth.parameters.check()?;
    let objective = match mixture {
        Some(_) => "objective=none".to_owned(),
        None => format!("objective=binary scale_pos_weight={}", growth.parameters.positive_weight),
    };
    let text = format!("{objective} {}", growth.parameters.to_text(growth.seed, growth.threads));
    let mut booster = Booster::new(dataset, &text)?;
    let bias = mixture.as_ref().map_or(0.0, |mixture| mixture.bias());
    let mut ensemble = Ensemble::constant(columns, bias);
    let mut raw = vec![bias; held_out.map_or(0, Features::rows)];
    let (mut looks, mut loss, mut rounds) = (Vec::new(), loss_of_no_tree(sample), 0);
    let mut outputs = vec![0.0; sample.len()];
    while rounds < growth.rounds {
        let grown = match &mut mixture {
            None => booster.update()?,
            Some(mixture) => {
                booster.outputs(&mut outputs)?;
                let (gradient, curvature) = mixture.derivatives(&outputs)?;
                booster.update_with(gradient, curvature)?
            }
        };
        // A booster that cannot split even once has one tree, its constant.
        rounds = booster.trees()?;
        let ends = !grown || rounds >= growth.rounds;
        let mut look = None;
        if (ends || rounds.is_multiple_of(growth.look_every)) && rounds > ensemble.trees() {
            let new = Ensemble::from_text(&booster.to_text(ensemble.trees())?, columns)?;
            if let Some(held_out) = held_out {
                new.add(held_out, 0..new.trees(), &mut raw)?;
                let scores = raw.iter().map(|raw| *raw as f32).collect();
                looks.push(Look { rounds, scores });
                look = looks.last();
            }
            ensemble.extend(&new, 0..new.trees(), 1.0);
            booster.outputs(&mut outputs)?;
            loss = match mixture {
                None => log_loss(sample, &outputs, |output| output),
                Some(_) => log_loss(sample, &outputs, |output| 1.0 / (1.0 + (-output - bias).exp())),
            };
            if !loss.is_finite() {
                return Err(TrainError::Diverged { step: rounds as u64 }.into());
            }
        }
        if after(&Round { rounds, loss, look })?.is_break() || !grown {
            break;
        }
    }
    Ok((ensemble, looks))
}

/// The looks of an ensemble that is grown already: the same as while it grew.
pub(crate) fn looks(
    ensemble: &Ensemble,
    held_out: &Features<'_>,
    look_every: usize,
) -> Result<Vec<Look>, TreesError> {
    let mut raw = vec![ensemble.bias(); held_out.rows()];
    let mut looks = Vec::new();
    let mut done = 0;
    while done < ensemble.trees() {
        let rounds = (done + look_every).min(ensemble.trees());
        ensemble.add(held_out, done..rounds, &mut raw)?;
        looks.push(Look { rounds, scores: raw.iter().map(|raw| *raw as f32).collect() });
        done = rounds;
    }
    Ok(looks)
}

/// The log loss of saying how frequent positives are.
fn loss_of_no_tree(sample: &Sample) -> f64 {
    let (mut positive, mut total) = (0.0, 0.0);
    for (row, label) in sample.labels().iter().enumerate() {
        total += sample.weight(row);
        positive += if *label { sample.weight(row) } else { 0.0 };
    }
    let share = positive / total;
    -(share * share.ln() + (1.0 - share) * (1.0 - share).ln())
}

/// Weighted mean log loss; probabilities of exactly 0 and 1 count as the nearest that are not.
fn log_loss(sample: &Sample, outputs: &[f64], probability: impl Fn(f64) -> f64 + Sync) -> f64 {
    let labels = sample.labels();
    let sums: Vec<(f64, f64)> = outputs
        .par_chunks(CHUNK)
        .enumerate()
        .map(|(chunk, outputs)| {
            let first = chunk * CHUNK;
            outputs.iter().enumerate().fold((0.0, 0.0), |(loss, total), (offset, output)| {
                let row = first + offset;
                let p = probability(*output);
                let likelihood = if labels[row] { p } else { 1.0 - p };
                let weight = sample.weight(row);
                (loss - weight * likelihood.max(f64::MIN_POSITIVE).ln(), total + weight)
            })
        })
        .collect();
    let (loss, total) = sums.iter().fold((0.0, 0.0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
    loss / total
}
