//! Beyond the best booster: average, head, retraining, each where it pays and with what it gained.
//!
//! ```text
//! average of the best ─▶ ico head over all, where it gains ─▶ retrained on train and validation rows
//! per query: average  ─▶ rounds on the goal's gradient, where they gain; else retrained
//! ```
//!
//! The best of many is flattered by the rows that chose it, and anything fitted on rows by those. So a
//! step is measured twice, with validation cut in halves: rounds, boosters, head and additional rows
//! come from one half, and what comes of them is compared on the other. Where a condition of several classes is on a
//! coverage, all that ships is grown again with each half too: the other half's scores are then such as new rows get.

use setpoint::goal::{AnyGoal, ClassCondition, Rate};
use setpoint::train::{Gain, Judge, TrainError};

use crate::conclude::{Step, TreesFit};
use crate::ensemble::Ensemble;
use crate::error::TreesError;
use crate::features::Rows;
use crate::judge::{mean_gain, pick};
use crate::purpose::Referee;
use crate::recipe::{Chosen, Recipe, ranked};
use crate::retrain::Retraining;
use crate::session::{Searched, Session};

/// How many of the best boosters are averaged.
const AVERAGED: usize = 3;
/// The same of a goal per query, where boosters differ by their objectives too.
const AVERAGED_OF_QUERIES: usize = 5;
/// Rows that boosters are grown on where one half of validation is kept for what comes of them.
const HALVES: [&str; 2] =
    ["train rows and the first half of validation", "train rows and the second half of validation"];
/// Averaging and retraining pay almost everywhere (see `docs/decisions.md`): they are given up only
/// where they lost more than this many standard errors.
const LOSS: f64 = 2.0;

/// What one half says of each step, by the rows of the other.
#[derive(Clone, Copy, Default)]
struct Measured {
    average: Option<Gain>,
    head: Option<Gain>,
    head_value: Option<f64>,
    retraining: Option<Gain>,
}

impl Session<'_> {
    /// Takes the steps that pay and puts the result into `fit`, which holds the baseline.
    pub(crate) fn improve<'s>(
        &mut self,
        judge: &Referee<'_>,
        searched: &[Searched],
        order: &[&Chosen<'s>],
        fit: &mut TreesFit,
    ) -> Result<(), TreesError> {
        let averaged = order.len().min(averaged(judge));
        let several = order.len() > 1;
        let folded = is_folded(judge.purpose);
        if self.settings.retrain {
            self.expect(2 + averaged * if folded { 3 } else { 1 });
        }
        let measured = self.measure(judge, searched, if folded { &order[..averaged] } else { &[] })?;
        let mut recipe = Recipe::new(judge, order)?;
        let all: Vec<u32> = (0..judge.sample.len() as u32).collect();
        if several {
            let gain = mean_gain(measured.map(|half| half.average));
            let taken = !lost(gain);
            if taken {
                recipe.weights = recipe.average_of(averaged);
                fit.winner = format!("average of the {averaged} best boosters");
                let scores = recipe.scores(&recipe.weights, &all);
                fit.validation = judge.value(&scores)?;
                fit.gain = gain;
            }
            fit.steps.push(Step { name: format!("average of the {averaged} best boosters"), gain, taken });
        }
        // In the units of what ships, of a single booster too.
        fit.held_out = recipe.scores(&recipe.weights, &all);
        // A head is fitted on the validation rows: where they choose the threshold, it is none of theirs.
        // Over the scores of several classes it gains nothing that shifts do not.
        if let (true, true, Some(own)) = (several, self.settings.retrain, judge.judge()) {
            add_head(&own, &measured, &all, &mut recipe, fit);
        }
        let weighted = order.iter().zip(&recipe.weights).zip(&recipe.spreads);
        let weighted = weighted.filter(|((_, weight), _)| **weight != 0.0);
        let (chosen, weights): (Vec<&Chosen<'s>>, Vec<f64>) =
            weighted.map(|((chosen, weight), spread)| (*chosen, weight / spread)).unzip();
        let combine = |members: &[Ensemble]| {
            Ensemble::combine(&weights.iter().copied().zip(members).collect::<Vec<_>>())
        };
        fit.ensemble = combine(&chosen.iter().map(|chosen| chosen.ensemble()).collect::<Vec<_>>())?;
        // These rounds are chosen on validation queries: what they follow must not have learnt from them.
        if let AnyGoal::Queries(goal) = judge.purpose
            && self.add_query_rounds(goal, judge, order[0].searched.parameters, fit)?
        {
            return Ok(());
        }
        if self.settings.retrain {
            let gain = mean_gain(measured.map(|half| half.retraining));
            let taken = !lost(gain);
            let name = "the best booster retrained with half of the validation rows".to_owned();
            fit.steps.push(Step { name, gain, taken });
            if taken {
                self.expect(chosen.len() * if folded { 3 } else { 1 });
                fit.winner += ", retrained on train and validation rows";
                fit.used_validation = true;
                let again = |chosen: &&Chosen<'s>| Retraining {
                    like: chosen.searched,
                    rounds: self.more_rounds(chosen.candidate.rounds, judge.sample.len()),
                    rows: None,
                };
                let wanted: Vec<Retraining<'_>> = chosen.iter().map(again).collect();
                fit.ensemble = combine(&self.retrain(&wanted)?)?;
                if folded {
                    fit.held_out = self.out_of_fold(judge, &wanted, &combine)?;
                }
            }
        }
        Ok(())
    }

    /// The scores of the validation rows by boosters that are grown like these but with one half of validation, each row
    /// by those that have not seen it.
    fn out_of_fold(
        &mut self,
        judge: &Referee<'_>,
        wanted: &[Retraining<'_>],
        combine: &dyn Fn(&[Ensemble]) -> Result<Ensemble, TreesError>,
    ) -> Result<Vec<f32>, TreesError> {
        let (halves, outputs) = (judge.sample.deal(2), judge.purpose.outputs());
        let mut held_out = vec![0.0; judge.sample.len() * outputs];
        for own in [0, 1] {
            let rows = Some((HALVES[own], &halves[own][..]));
            let fold = wanted.iter().map(|wanted| Retraining { rows, ..*wanted });
            let ensemble = combine(&self.retrain(&fold.collect::<Vec<_>>())?)?;
            let others = &halves[1 - own];
            let rows = Rows::stacked(None, &self.validation.features, others)?;
            let mut scores = vec![0.0; others.len() * outputs];
            ensemble.scores(&rows.view(), &mut scores)?;
            for (row, scores) in others.iter().zip(scores.chunks_exact(outputs)) {
                held_out[*row as usize * outputs..][..outputs].copy_from_slice(scores);
            }
        }
        Ok(held_out)
    }

    /// What each half says; nothing where one of them lacks what the goal needs. Boosters that are `folded` will be
    /// wanted with either half for their rounds on all rows.
    fn measure(
        &mut self,
        judge: &Referee<'_>,
        searched: &[Searched],
        folded: &[&Chosen<'_>],
    ) -> Result<[Measured; 2], TreesError> {
        let halves = judge.sample.deal(2);
        let mut measured = [Measured::default(); 2];
        let mut best = Vec::new();
        for own in [0, 1] {
            match self.measure_half(judge, searched, &halves[own], &halves[1 - own]) {
                Ok((half, chosen)) => {
                    measured[own] = half;
                    best.extend(chosen);
                }
                Err(TreesError::Train(
                    TrainError::Metric(_)
                    | TrainError::Sample(_)
                    | TrainError::Threshold(_)
                    | TrainError::Engine(_)
                    | TrainError::Class(_)
                    | TrainError::Rank(_),
                )) => return Ok([Measured::default(); 2]),
                Err(error) => return Err(error),
            }
        }
        if !self.settings.retrain || best.len() < 2 {
            return Ok(measured);
        }
        let rounds = [0, 1].map(|own| self.more_rounds(best[own].candidate.rounds, halves[own].len()));
        let again = |own: usize| {
            let like = best[own].searched;
            let later = folded.iter().find(|chosen| std::ptr::eq(chosen.searched, like));
            let later =
                later.map_or(0, |chosen| self.more_rounds(chosen.candidate.rounds, judge.sample.len()));
            Retraining { like, rounds: rounds[own].max(later), rows: Some((HALVES[own], &halves[own])) }
        };
        let retrained = self.retrain(&[again(0), again(1)])?;
        for (own, retrained) in retrained.iter().enumerate() {
            let retrained = retrained.first(rounds[own]);
            let others = &halves[1 - own];
            let outputs = retrained.outputs();
            let mut scores = vec![0.0; judge.sample.len() * outputs];
            retrained.scores(&self.validation.features, &mut scores)?;
            let other = Referee { sample: &judge.sample.select(others), ..*judge };
            let before = pick(best[own].scores, outputs, others);
            measured[own].retraining = other.gain(&pick(&scores, outputs, others), &before)?;
        }
        Ok(measured)
    }

    /// Goes through the steps before retraining on these rows of validation and compares on the others;
    /// also the best booster there.
    fn measure_half<'s>(
        &self,
        judge: &Referee<'_>,
        searched: &'s [Searched],
        rows: &[u32],
        others: &[u32],
    ) -> Result<(Measured, Option<Chosen<'s>>), TreesError> {
        let samples = [judge.sample.select(rows), judge.sample.select(others)];
        let own = Referee { sample: &samples[0], ..*judge };
        let other = Referee { sample: &samples[1], ..*judge };
        let choose = |searched| Chosen::new(searched, &own, Some(rows));
        let chosen: Vec<Chosen<'_>> = searched.iter().map(choose).collect::<Result<_, _>>()?;
        let order = ranked(&chosen);
        let mut measured = Measured::default();
        let Some(best) = order.first() else { return Ok((measured, None)) };
        let before = pick(best.scores, judge.purpose.outputs(), others);
        let mut recipe = Recipe::new(judge, &order)?;
        recipe.weights = recipe.average_of(averaged(judge));
        let average = recipe.scores(&recipe.weights, others);
        measured.average = other.gain(&average, &before)?;
        if self.settings.retrain
            && let Some(judge) = own.judge()
            && judge.goal.column().is_none()
            && let Ok(weights) = recipe.head_on(&judge, rows)
        {
            let scores = recipe.scores(&weights, others);
            measured.head = other.gain(&scores, &average)?;
            measured.head_value = other.value(&scores)?;
        }
        Ok((measured, Some((*best).clone())))
    }
}

/// Fits the head on all validation rows, where the halves say that it gains.
fn add_head(
    judge: &Judge<'_>,
    measured: &[Measured; 2],
    all: &[u32],
    recipe: &mut Recipe,
    fit: &mut TreesFit,
) {
    let name = format!("ico head over {} boosters", recipe.units.len());
    if judge.goal.column().is_some() {
        let name = format!("{name}: not tried, as the goal has conditions on groups");
        fit.steps.push(Step { name, gain: None, taken: false });
        return;
    }
    let gain = mean_gain(measured.map(|half| half.head));
    let gained = gain.is_some_and(|gain| gain.standard_error.is_some_and(|error| gain.difference > error));
    let whole = if gained { recipe.head_on(judge, all).ok() } else { None };
    fit.steps.push(Step { name: name.clone(), gain, taken: whole.is_some() });
    let Some(weights) = whole else { return };
    recipe.weights = weights;
    fit.winner = name;
    fit.used_validation = true;
    fit.validation = measured[0].head_value.zip(measured[1].head_value).map(|(a, b)| (a + b) / 2.0);
    fit.gain = fit.gain.zip(gain).map(|(before, more)| Gain {
        difference: before.difference + more.difference,
        standard_error: before.standard_error.zip(more.standard_error).map(|(a, b)| a.hypot(b)),
    });
}

/// Whether the shifts that ship are found on scores of boosters that were grown again, out of fold. Boosters that saw more
/// rows are surer of themselves: shifts found for those before keep recall and precision or better them, while a
/// coverage grows past its limit.
fn is_folded(purpose: &AnyGoal) -> bool {
    let of_coverage = |condition: &ClassCondition| condition.rate.rate == Rate::PositiveRate;
    matches!(purpose, AnyGoal::Classes(goal) if goal.conditions.iter().any(of_coverage))
}

fn averaged(judge: &Referee<'_>) -> usize {
    if matches!(judge.purpose, AnyGoal::Queries(_)) { AVERAGED_OF_QUERIES } else { AVERAGED }
}

/// Whether a step did clearly worse than going without it.
fn lost(gain: Option<Gain>) -> bool {
    gain.is_some_and(|gain| gain.difference < -LOSS * gain.standard_error.unwrap_or(0.0))
}
