//! From the boosters of a search to one model for one goal, every step said with what it gained.
//!
//! ```text
//! best rounds of each booster ─▶ average of the best ─▶ head where it gains ─▶ retrained on all rows
//! ```
//!
//! Rounds, boosters and steps are chosen on validation by the goal's own metric. What a step gained is
//! measured on rows that it has not used: a head is fitted on one half of validation and judged on the
//! other, and so is a retraining.

use setpoint::Goal;
use setpoint::train::{Gain, MethodChoice, Observer, Standard};

use crate::ensemble::Ensemble;
use crate::error::TreesError;
use crate::features::Data;
use crate::head;
use crate::judge::{Judge, halves, mean_gain, pick};
use crate::session::{Searched, Session};
use crate::settings::Settings;
use crate::store::Store;

/// How many of the best boosters are averaged.
const AVERAGED: usize = 3;

/// A booster as the goal chose it.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// What was grown.
    pub name: String,
    /// The goal's value on validation at the best rounds; `None` where its conditions cannot be met.
    pub validation: Option<f64>,
    /// The best rounds.
    pub rounds: usize,
}

/// Something that was tried on the way to the model.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// What.
    pub name: String,
    /// What it gained on validation rows; `None` where that could not be measured.
    pub gain: Option<Gain>,
    /// Whether it was taken.
    pub taken: bool,
}

/// Trained trees and how they came about.
#[derive(Clone, Debug, PartialEq)]
pub struct TreesFit {
    /// The model.
    pub ensemble: Ensemble,
    /// What it is.
    pub winner: String,
    /// The goal's value on validation. Where validation rows were used for fitting, that of the same
    /// recipe before it used them.
    pub validation: Option<f64>,
    /// The best single booster for log loss: the baseline.
    pub baseline: Ensemble,
    /// How the baseline was chosen.
    pub baseline_candidate: Candidate,
    /// Every booster of the search, then ico's.
    pub candidates: Vec<Candidate>,
    /// The gain over the baseline on validation.
    pub gain: Option<Gain>,
    /// What was tried after the search.
    pub steps: Vec<Step>,
    /// Whether validation rows were used to fit the model: its thresholds must then come from others.
    pub used_validation: bool,
}

/// Trains trees for a goal.
///
/// Deterministic: the same arguments give the same bytes, for any number of threads, and after a
/// resume from `store`.
///
/// # Errors
/// If LightGBM is not there or refuses, the goal does not fit or cannot be met, a setting makes no
/// sense, the observer stops the run, or a checkpoint cannot be written.
pub fn fit<'r>(
    goal: &Goal,
    train: Data<'r>,
    validation: Data<'r>,
    settings: &'r Settings,
    observer: &'r mut (dyn Observer + 'r),
    store: Option<&'r mut (dyn Store + 'r)>,
) -> Result<TreesFit, TreesError> {
    let mut session = Session::new(train, validation, settings, observer, store)?;
    let searched = session.search(std::slice::from_ref(goal))?;
    session.conclude(goal, &searched)
}

/// A booster cut at its best rounds.
struct Chosen<'s> {
    searched: &'s Searched,
    scores: &'s [f32],
    candidate: Candidate,
}

impl<'s> Chosen<'s> {
    fn new(searched: &'s Searched, judge: &Judge<'_>) -> Result<Self, TreesError> {
        let mut best: Option<(f64, Self)> = None;
        for look in &searched.looks {
            let validation = judge.value(&look.scores)?;
            let merit = judge.merit(validation);
            if best.as_ref().is_none_or(|(best, _)| merit > *best) {
                let candidate = Candidate { name: searched.name.clone(), validation, rounds: look.rounds };
                best = Some((merit, Self { searched, scores: &look.scores, candidate }));
            }
        }
        best.map(|(_, chosen)| chosen).ok_or_else(|| TreesError::Shape {
            found: "a booster without a look at validation".into(),
            expected: "one that a search has grown",
        })
    }

    fn ensemble(&self) -> Ensemble {
        self.searched.ensemble.first(self.candidate.rounds)
    }
}

/// The best first; of equals the earlier.
fn ranked<'c, 's>(chosen: &'c [Chosen<'s>], judge: &Judge<'_>) -> Vec<&'c Chosen<'s>> {
    let mut order: Vec<_> = chosen.iter().filter(|chosen| chosen.candidate.validation.is_some()).collect();
    let merit = |chosen: &Chosen<'_>| judge.merit(chosen.candidate.validation);
    order.sort_by(|a, b| merit(b).total_cmp(&merit(a)));
    order
}

impl Session<'_> {
    /// Makes a model for one goal of the boosters of a search, by the settings' method.
    ///
    /// # Errors
    /// As [`fit`].
    pub fn conclude(&mut self, goal: &Goal, searched: &[Searched]) -> Result<TreesFit, TreesError> {
        let goal = &self.fraction(goal);
        let judge = self.judge(goal);
        let chosen: Vec<Chosen<'_>> =
            searched.iter().map(|searched| Chosen::new(searched, &judge)).collect::<Result<_, _>>()?;
        let order = ranked(&chosen, &judge);
        let Some(baseline) = order.first() else {
            // Says which condition is missed, and by how much.
            let first = chosen.first().map_or(&[][..], |chosen| chosen.scores);
            return Err(judge.exact(first).err().map_or_else(
                || TreesError::Shape { found: "no booster".into(), expected: "those of a search" },
                Into::into,
            ));
        };
        let mut fit = TreesFit {
            ensemble: baseline.ensemble(),
            winner: baseline.candidate.name.clone(),
            validation: baseline.candidate.validation,
            baseline: baseline.ensemble(),
            baseline_candidate: baseline.candidate.clone(),
            candidates: chosen.iter().map(|chosen| chosen.candidate.clone()).collect(),
            gain: Some(Gain { difference: 0.0, standard_error: Some(0.0) }),
            steps: Vec::new(),
            used_validation: false,
        };
        match self.settings.method {
            MethodChoice::Ico => {
                let ico = self.grow_ico(goal, baseline.searched)?;
                let ico = Chosen::new(&ico, &judge)?;
                fit.gain = judge.gain(ico.scores, baseline.scores)?;
                fit.ensemble = ico.ensemble();
                fit.winner.clone_from(&ico.candidate.name);
                fit.validation = ico.candidate.validation;
                fit.candidates.push(ico.candidate);
            }
            MethodChoice::Auto => self.improve(&judge, &order, &mut fit)?,
            _ => {}
        }
        Ok(fit)
    }

    /// Average, head and retraining, each where it pays.
    fn improve(
        &mut self,
        judge: &Judge<'_>,
        order: &[&Chosen<'_>],
        fit: &mut TreesFit,
    ) -> Result<(), TreesError> {
        let baseline = order[0];
        let mut recipe = Recipe::new(judge, order);
        if order.len() > 1 {
            let averaged = order.len().min(AVERAGED);
            let weights = recipe.average_of(averaged);
            let average = recipe.scores(&weights);
            let gain = judge.gain(&average, baseline.scores)?;
            // The best of many looks better than it is: an average within its error is preferred.
            let taken = gain.is_some_and(|gain| gain.difference >= -gain.standard_error.unwrap_or(0.0));
            if taken {
                recipe.weights = weights;
                fit.winner = format!("average of the {averaged} best boosters");
                fit.validation = judge.value(&average)?;
                fit.gain = gain;
            }
            fit.steps.push(Step { name: format!("average of the {averaged} best"), gain, taken });
            self.add_head(judge, &mut recipe, fit)?;
        }
        let mut retrain = self.settings.retrain;
        if retrain {
            let members = recipe.weights.iter().filter(|weight| **weight != 0.0).count();
            self.expect(2 + members);
            let gain = self.measure_retraining(judge, baseline)?;
            retrain = gain.is_none_or(|gain| gain.difference >= -gain.standard_error.unwrap_or(0.0));
            let name = "retraining, measured with half of validation on the other half".to_owned();
            fit.steps.push(Step { name, gain, taken: retrain });
        }
        let mut members = Vec::new();
        for ((chosen, weight), spread) in order.iter().zip(&recipe.weights).zip(&recipe.spreads) {
            if *weight != 0.0 {
                let ensemble = if retrain {
                    self.retrain(chosen.searched, chosen.candidate.rounds, None)?
                } else {
                    chosen.ensemble()
                };
                members.push((weight / spread, ensemble));
            }
        }
        if retrain {
            fit.winner += ", retrained on train and validation rows";
            fit.used_validation = true;
        }
        let members: Vec<(f64, &Ensemble)> =
            members.iter().map(|(weight, member)| (*weight, member)).collect();
        fit.ensemble = Ensemble::combine(&members)?;
        Ok(())
    }

    /// Fits the head, and keeps it where its gain on rows that it has not seen is beyond its error.
    fn add_head(
        &mut self,
        judge: &Judge<'_>,
        recipe: &mut Recipe,
        fit: &mut TreesFit,
    ) -> Result<(), TreesError> {
        let name = format!("ico head over {} boosters, fitted on half of validation", recipe.units.len());
        if judge.goal.column().is_some() {
            let name = format!("{name}: not tried, the goal has conditions on groups");
            fit.steps.push(Step { name, gain: None, taken: false });
            return Ok(());
        }
        let halves = halves(judge.sample);
        let mut gains = [None; 2];
        let mut values = [None; 2];
        for (own, gain) in gains.iter_mut().enumerate() {
            // A half may lack what the goal needs: there is then nothing to be measured.
            let sample = judge.sample.select(&halves[own]);
            let units: Vec<Vec<f32>> = recipe.units.iter().map(|unit| pick(unit, &halves[own])).collect();
            let Ok(weights) = head::fit(judge.goal, &sample, &units, &recipe.weights) else { break };
            let other = &halves[1 - own];
            let sample = judge.sample.select(other);
            let judge = Judge { sample: &sample, ..*judge };
            let scores = pick(&recipe.scores(&weights), other);
            *gain = judge.gain(&scores, &pick(&recipe.scores(&recipe.weights), other))?;
            values[own] = judge.value(&scores)?;
        }
        let gain = mean_gain(gains);
        let beyond =
            gain.is_some_and(|gain| gain.standard_error.is_some_and(|error| gain.difference > error));
        let whole = if beyond {
            head::fit(judge.goal, judge.sample, &recipe.units, &recipe.weights).ok()
        } else {
            None
        };
        let taken = whole.is_some();
        if let Some(weights) = whole {
            recipe.weights = weights;
            fit.winner = format!("ico head over {} boosters", recipe.units.len());
            fit.used_validation = true;
            fit.validation = values[0].zip(values[1]).map(|(a, b)| (a + b) / 2.0);
            fit.gain = fit.gain.zip(gain).map(|(before, more)| Gain {
                difference: before.difference + more.difference,
                standard_error: before.standard_error.zip(more.standard_error).map(|(a, b)| a.hypot(b)),
            });
        }
        fit.steps.push(Step { name, gain, taken });
        Ok(())
    }

    /// What the baseline gains from half of validation on the other half, both ways.
    fn measure_retraining(
        &mut self,
        judge: &Judge<'_>,
        baseline: &Chosen<'_>,
    ) -> Result<Option<Gain>, TreesError> {
        let halves = halves(judge.sample);
        let mut gains = [None; 2];
        for (own, gain) in gains.iter_mut().enumerate() {
            let label = [
                "train rows and the first half of validation",
                "train rows and the second half of validation",
            ];
            let rounds = baseline.candidate.rounds;
            let retrained = self.retrain(baseline.searched, rounds, Some((label[own], &halves[own])))?;
            let mut scores = vec![0.0; judge.sample.len()];
            retrained.scores(&self.validation.features, &mut scores)?;
            let other = &halves[1 - own];
            let sample = judge.sample.select(other);
            let judge = Judge { sample: &sample, ..*judge };
            *gain = judge.gain(&pick(&scores, other), &pick(baseline.scores, other))?;
        }
        Ok(mean_gain(gains))
    }
}

/// A weighted sum of boosters, each in units of its spread over validation.
struct Recipe {
    units: Vec<Vec<f32>>,
    spreads: Vec<f64>,
    weights: Vec<f64>,
}

impl Recipe {
    /// The first booster alone.
    fn new(judge: &Judge<'_>, order: &[&Chosen<'_>]) -> Self {
        let spread = |chosen: &&Chosen<'_>| Standard::of(judge.sample, chosen.scores).deviation;
        let spreads: Vec<f64> = order.iter().map(spread).collect();
        let unit = |(chosen, spread): (&&Chosen<'_>, &f64)| {
            chosen.scores.iter().map(|score| (f64::from(*score) / spread) as f32).collect()
        };
        let units = order.iter().zip(&spreads).map(unit).collect();
        let mut recipe = Self { units, spreads, weights: Vec::new() };
        recipe.weights = recipe.average_of(1);
        recipe
    }

    /// The weights that average the first boosters.
    fn average_of(&self, count: usize) -> Vec<f64> {
        (0..self.units.len()).map(|index| if index < count { 1.0 / count as f64 } else { 0.0 }).collect()
    }

    fn scores(&self, weights: &[f64]) -> Vec<f32> {
        let weights: Vec<f32> = weights.iter().map(|weight| *weight as f32).collect();
        let mut scores = vec![0.0; self.units[0].len()];
        head::mix(&self.units, &weights, &mut scores);
        scores
    }
}
