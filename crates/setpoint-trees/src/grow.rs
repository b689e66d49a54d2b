//! Grows one booster, looking at the held-out rows every few rounds.
//!
//! New trees are read from LightGBM at each look and added to the held-out rows' scores, so a look
//! costs what the new trees cost. The scores are those that the finished ensemble gives, bit for bit:
//! a booster that is read back from a checkpoint has the same looks.

use std::ops::ControlFlow;

use rayon::prelude::*;
use setpoint::Sample;
use setpoint::goal::QueryGoal;
use setpoint::rank::Queries;
use setpoint::sample::Groups;
use setpoint::train::TrainError;
use setpoint::train::queries::mean_of;

use crate::ensemble::Ensemble;
use crate::error::TreesError;
use crate::features::{Data, FeatureView};
use crate::ico::Derivatives;
use crate::library::{Booster, Dataset, Library};
use crate::parameters::{Parameters, steady};
use crate::rank;

/// Rows that are summed as one unit, so that sums do not depend on the number of threads.
const CHUNK: usize = 8_192;

/// The training rows, binned; of several outputs, the classes of the sample are the labels, and of a goal per query the
/// grades.
pub(crate) fn dataset<'l>(
    library: &'l Library,
    data: &Data<'_>,
    outputs: usize,
    queries: Option<&QueryGoal>,
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
    let labels = data.sample.labels().iter().map(|label| f32::from(u8::from(*label)));
    let labels: Vec<f32> = match (data.sample.groups(), queries) {
        (_, Some(goal)) => {
            let queries = Queries::of_sample(data.sample).map_err(TrainError::from)?;
            dataset.set_queries(&rank::sizes(queries))?;
            rank::labels(goal, queries).0
        }
        (Some(classes), None) if outputs > 1 => classes.codes().iter().map(|code| *code as f32).collect(),
        _ => labels.collect(),
    };
    dataset.set_labels(&labels)?;
    if let Some(weights) = data.sample.weights() {
        dataset.set_weights(weights)?;
    }
    Ok(dataset)
}

/// The held-out rows' scores after some rounds.
#[derive(Clone, Debug, PartialEq)]
pub struct Look {
    /// Rounds so far.
    pub rounds: usize,
    /// The scores of each held-out row.
    pub scores: Vec<f32>,
}

/// How far to grow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Growth<'g> {
    pub(crate) parameters: Parameters,
    /// Scores of a row: 1, or the number of classes.
    pub(crate) outputs: usize,
    /// A goal per query and LightGBM's objective for it.
    pub(crate) objective: Option<(&'g QueryGoal, &'g str)>,
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

/// Grows a booster for log loss or its own objective, or for the derivatives that are given.
///
/// `after` sees every round and may end the growth: `Break` keeps the trees that there are.
pub(crate) fn grow(
    dataset: &Dataset<'_>,
    sample: &Sample,
    held_out: Option<&FeatureView<'_>>,
    columns: usize,
    growth: &Growth<'_>,
    mut mixture: Option<&mut dyn Derivatives>,
    after: &mut dyn FnMut(&Round<'_>) -> Result<ControlFlow<()>, TreesError>,
) -> Result<(Ensemble, Vec<Look>), TreesError> {
    growth.parameters.check()?;
    let outputs = growth.outputs;
    let Growth { parameters, seed, threads, .. } = *growth;
    let with = |objective: &str| format!("{objective} {}", parameters.to_text(seed, threads));
    let text = match (&mixture, growth.objective) {
        (Some(_), _) => with("objective=none"),
        (None, Some((goal, objective))) => {
            let queries = Queries::of_sample(sample).map_err(TrainError::from)?;
            with(&format!("{objective} {}", rank::gains(goal, queries)))
        }
        (None, None) if outputs > 1 => with(&format!("objective=multiclass num_class={outputs}")),
        (None, None) => parameters.of_log_loss(seed, threads),
    };
    let mut booster = Booster::new(dataset, &text)?;
    let bias = mixture.as_ref().map_or(0.0, |mixture| mixture.bias());
    let mut ensemble = Ensemble::constant(columns, &vec![bias; outputs]);
    let mut raw = match mixture.as_ref().and_then(|mixture| mixture.held_out()) {
        Some(from) => from.iter().map(|score| f64::from(*score)).collect(),
        None => vec![bias; held_out.map_or(0, FeatureView::rows) * outputs],
    };
    let labels = sample.labels();
    let classes = sample.groups().filter(|_| outputs > 1).map(Groups::codes);
    let (mut looks, mut loss, mut rounds) = (Vec::new(), loss_of_no_tree(sample, outputs), 0);
    let mut on_train = vec![0.0; sample.len() * outputs];
    while rounds < growth.rounds {
        let grown = match &mut mixture {
            None => booster.update()?,
            Some(mixture) => {
                booster.outputs(&mut on_train)?;
                let (gradient, curvature) = mixture.derivatives(&on_train)?;
                booster.update_with(gradient, curvature)?
            }
        };
        // A booster that cannot split even once has one round, its constants.
        rounds = booster.rounds()?;
        let ends = !grown || rounds >= growth.rounds;
        let mut look = None;
        if (ends || rounds.is_multiple_of(growth.look_every)) && rounds > ensemble.rounds() {
            let new = Ensemble::from_text(&booster.to_text(ensemble.rounds())?, columns)?;
            if let Some(held_out) = held_out {
                new.add(held_out, 0..new.trees(), &mut raw)?;
                let scores = raw.iter().map(|raw| *raw as f32).collect();
                looks.push(Look { rounds, scores });
                look = looks.last();
            }
            ensemble.extend(&new, 0..new.trees(), 1.0);
            booster.outputs(&mut on_train)?;
            let own = mixture.as_ref().and_then(|mixture| mixture.loss());
            loss = match (&mixture, classes) {
                (Some(_), _) if own.is_some() => own.unwrap_or_default(),
                (None, _) if growth.objective.is_some() => of_queries(growth, sample, &on_train)?,
                (None, Some(codes)) => {
                    let rows = sample.len();
                    log_loss(sample, |row| on_train[codes[row] as usize * rows + row])
                }
                (None, None) => log_loss(sample, |row| of_label(labels[row], on_train[row])),
                (Some(_), _) => {
                    log_loss(sample, |row| of_label(labels[row], 1.0 / (1.0 + (-on_train[row] - bias).exp())))
                }
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

/// What the training rows lack of the goal per query.
fn of_queries(growth: &Growth<'_>, sample: &Sample, outputs: &[f64]) -> Result<f64, TrainError> {
    let Some((goal, _)) = growth.objective else { return Ok(0.0) };
    let scores: Vec<f32> = outputs.iter().map(|output| *output as f32).collect();
    Ok(1.0 - mean_of(goal, sample, &scores)?)
}

/// The looks of an ensemble that is grown already, after the scores of others where they are given: the same as while it
/// grew.
///
/// # Errors
/// If the rows have another number of columns.
pub fn looks(
    ensemble: &Ensemble,
    held_out: &FeatureView<'_>,
    look_every: usize,
    after: Option<&[f32]>,
) -> Result<Vec<Look>, TreesError> {
    let outputs = ensemble.outputs();
    let mut raw = vec![0.0; held_out.rows() * outputs];
    ensemble.start(&mut raw);
    if let Some(after) = after {
        raw = after.iter().map(|score| f64::from(*score)).collect();
    }
    let mut looks = Vec::new();
    let mut done = 0;
    while done < ensemble.rounds() {
        let rounds = (done + look_every).min(ensemble.rounds());
        ensemble.add(held_out, done * outputs..rounds * outputs, &mut raw)?;
        looks.push(Look { rounds, scores: raw.iter().map(|raw| *raw as f32).collect() });
        done = rounds;
    }
    Ok(looks)
}

/// The log loss of saying how frequent each class is.
fn loss_of_no_tree(sample: &Sample, outputs: usize) -> f64 {
    let mut totals = vec![0.0; outputs.max(2)];
    for (row, label) in sample.labels().iter().enumerate() {
        let class = match sample.groups() {
            Some(classes) if outputs > 1 => classes.codes()[row] as usize,
            _ => usize::from(*label),
        };
        totals[class] += sample.weight(row);
    }
    let total: f64 = totals.iter().sum();
    let shares = totals.iter().map(|class| class / total).filter(|share| *share > 0.0);
    -shares.map(|share| share * share.ln()).sum::<f64>()
}

/// The likelihood of a label, by the probability of a positive.
fn of_label(label: bool, probability: f64) -> f64 {
    if label { probability } else { 1.0 - probability }
}

/// Weighted mean log loss; likelihoods of 0 count as the nearest that are not.
fn log_loss(sample: &Sample, likelihood: impl Fn(usize) -> f64 + Sync) -> f64 {
    let rows = sample.len();
    let sums: Vec<(f64, f64)> = (0..rows.div_ceil(CHUNK))
        .into_par_iter()
        .map(|chunk| {
            (chunk * CHUNK..rows.min((chunk + 1) * CHUNK)).fold((0.0, 0.0), |(loss, total), row| {
                let weight = sample.weight(row);
                (loss - weight * likelihood(row).max(f64::MIN_POSITIVE).ln(), total + weight)
            })
        })
        .collect();
    let (loss, total) = sums.iter().fold((0.0, 0.0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
    loss / total
}
