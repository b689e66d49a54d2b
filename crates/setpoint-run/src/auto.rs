//! The best kind of model: each is trained, and the goal's value on validation rows decides.

use std::time::Instant;

use setpoint::Sample;
use setpoint::goal::{AnyGoal, Direction};
use setpoint::train::{Gain, Judge, Settings};
use setpoint_report::KindRecord;
use setpoint_trees::Library;

use crate::average;
use crate::choice::ModelChoice;
use crate::examples::Loaded;
use crate::failure::{Failure, FailureKind};
use crate::kind::{goal_of, kind_of};
use crate::probability::Probability;
use crate::train::{Job, Trained};

/// The confidence at which an interval of a normal law is one standard error to each side.
const ONE_ERROR: f64 = 0.682_689_492;

/// How one model stands beside another, by the rows of validation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Clearly better.
    Ahead,
    /// These rows cannot tell.
    Level,
    /// Clearly worse, or not to be compared.
    Behind,
}

/// A kind of model, trained.
pub struct Contender {
    /// What it was trained for; its model is never [`ModelChoice::Auto`].
    pub job: Job,
    /// The data as this kind takes it.
    pub loaded: Loaded,
    /// What came of it.
    pub trained: Trained,
}

/// Reads the data for a job of one kind of model, and trains.
pub type TrainOne<'t> = dyn FnMut(&Job) -> Result<(Loaded, Trained), Failure> + 't;

/// Trains what a job asks for: one kind of model, or each of several, of which the best is kept.
///
/// A kind must be better than a simpler one on validation, by scores of what has not seen those rows, by more than the
/// standard error of the difference; or be no worse there, and clearly better in what hangs less on single rows: the goal's
/// neighbours, or the log loss.
///
/// # Errors
/// If no kind can be trained, with the reason of the first; or if the run is stopped.
pub fn train_best(job: &Job, train: &mut TrainOne<'_>) -> Result<Contender, Failure> {
    let job = Job { until: job.time.map(|time| Instant::now() + time), ..job.clone() };
    let ModelChoice::Auto { kinds } = &job.model else {
        let (loaded, trained) = train(&job)?;
        return Ok(Contender { job, loaded, trained });
    };
    let missing = kinds.iter().any(is_trees) && Library::get().is_err();
    let (mut tried, mut best): (Vec<Contender>, Option<usize>) = (Vec::new(), None);
    let (mut records, mut reason) = (Vec::new(), None);
    for kind in kinds.iter().filter(|kind| !(missing && is_trees(kind))) {
        let (clock, job) = (Instant::now(), Job { model: kind.clone(), ..job.clone() });
        let mut record = KindRecord { model: kind.name().to_owned(), ..KindRecord::default() };
        let late = best.is_some() && job.until.is_some_and(|until| clock >= until);
        let trained = if late { Err(Failure::no("not tried, the time was up")) } else { train(&job) };
        record.seconds = clock.elapsed().as_secs_f64();
        match trained {
            Ok((loaded, trained)) => {
                let next = Contender { job, loaded, trained };
                record.validation = next.trained.record.objective.validation;
                let taken = match best {
                    Some(best) => next.beats(&tried[best], &mut record)?,
                    None => true,
                };
                best = if taken { Some(tried.len()) } else { best };
                tried.push(next);
            }
            Err(failure) if failure.kind == FailureKind::Interrupted => return Err(failure),
            Err(failure) => {
                record.failed = Some(failure.message.clone());
                reason.get_or_insert(failure);
            }
        }
        records.push(record);
    }
    let Some(best) = best else {
        return Err(reason.unwrap_or_else(|| Failure::input("there is no kind of model to train")));
    };
    let (mut best, of_average) = average::or_best(tried, best, &records)?;
    records.extend(of_average);
    let record = &mut best.trained.record;
    records.iter_mut().for_each(|one| one.kept = one.model == record.model);
    record.kinds = records;
    if missing {
        record.notes.push(
            "only a linear model was tried: where LightGBM is installed (pip install lightgbm), boosted trees are too"
                .to_owned(),
        );
    }
    Ok(best)
}

fn is_trees(kind: &ModelChoice) -> bool {
    matches!(kind, ModelChoice::Trees { .. })
}

impl Contender {
    /// Whether it is better than a simpler one by more than the standard error of the difference, which goes to the record.
    fn beats(&self, simpler: &Self, record: &mut KindRecord) -> Result<bool, Failure> {
        self.unseen().map_or(Ok(false), |own| Ok(simpler.beside(own, record)? == Standing::Ahead))
    }

    /// How what gives the validation rows these scores, unseen, stands beside it.
    pub(crate) fn beside(&self, own: &[f32], record: &mut KindRecord) -> Result<Standing, Failure> {
        let kind = kind_of(&self.job, &self.loaded)?;
        let (Some(part), Some(other)) = (&self.loaded.parts.validation, self.unseen()) else {
            return Ok(Standing::Behind);
        };
        let value = |scores: &[f32]| kind.value(&part.sample, scores);
        let (own_value, other_value) = match (value(own)?, value(other)?) {
            (Some(own), Some(other)) => (own, other),
            (Some(_), None) => return Ok(Standing::Ahead),
            _ => return Ok(Standing::Behind),
        };
        let (gain, first, second) = match kind.direction() {
            Direction::Down => (other_value - own_value, other, own),
            _ => (own_value - other_value, own, other),
        };
        let interval = kind.difference(&part.sample, first, second, ONE_ERROR);
        let error = interval.map(|interval| (interval.upper - interval.lower) / 2.0);
        (record.gain, record.standard_error) = (Some(gain), error);
        match error.unwrap_or_default() {
            error if gain > error => return Ok(Standing::Ahead),
            error if gain < -error => return Ok(Standing::Behind),
            _ => {}
        }
        let AnyGoal::Two(goal) = goal_of(&self.job, &self.loaded)? else { return Ok(Standing::Behind) };
        let Settings { shared_threshold, seed, .. } = self.job.settings;
        let judge = Judge { goal: &goal, shared_threshold, sample: &part.sample, seed };
        let clearly =
            |gain: Gain, errors: f64| gain.difference > errors * gain.standard_error.unwrap_or(f64::INFINITY);
        let ahead = gain >= 0.0
            && (judge.gain_around(own, other)?.is_some_and(|gain| clearly(gain, 1.0))
                || clearly(saved(&part.sample, own, other), 2.0));
        Ok(match ahead {
            true => Standing::Ahead,
            false if clearly(saved(&part.sample, other, own), 2.0) => Standing::Behind,
            false => Standing::Level,
        })
    }

    /// The validation rows' scores by what has not seen them.
    pub(crate) fn unseen(&self) -> Option<&[f32]> {
        let fitted = &self.trained.fitted;
        fitted.held_out.as_deref().or(self.trained.scores.validation.as_deref())
    }
}

/// How much less the first scores' probabilities are surprised by the labels, in a row.
fn saved(sample: &Sample, first: &[f32], second: &[f32]) -> Gain {
    let [first, second] = [first, second].map(|scores| {
        let probability = Probability::fit(sample, scores);
        let row = |(label, score): (&bool, &f32)| {
            let p = probability.of(*score);
            -(if *label { p } else { 1.0 - p }).max(f64::MIN_POSITIVE).ln()
        };
        sample.labels().iter().zip(scores).map(row).collect::<Vec<f64>>()
    });
    let rows = (0..sample.len()).map(|row| (sample.weight(row), second[row] - first[row]));
    let total: f64 = rows.clone().map(|(weight, _)| weight).sum();
    let difference = rows.clone().map(|(weight, saved)| weight * saved).sum::<f64>() / total;
    let squares: f64 = rows.map(|(weight, saved)| (weight * (saved - difference)).powi(2)).sum();
    Gain { difference, standard_error: Some(squares.sqrt() / total) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_that_tell_more_save_surprise() {
        let labels: Vec<bool> = (0..400).map(|row| row % 4 == 0).collect();
        let scores = |noise: f32| -> Vec<f32> {
            let noisy = |(row, label): (usize, &bool)| {
                f32::from(u8::from(*label)) + noise * ((row * 7919 % 101) as f32 / 50.0 - 1.0)
            };
            labels.iter().enumerate().map(noisy).collect()
        };
        let sample = Sample::new(labels.clone()).unwrap();
        let (sharp, blunt) = (scores(1.0), scores(4.0));
        let gain = saved(&sample, &sharp, &blunt);
        assert!(gain.difference > 4.0 * gain.standard_error.unwrap(), "{gain:?}");
        // Shift and scale say nothing.
        let moved: Vec<f32> = sharp.iter().map(|score| 3.0 * score + 7.0).collect();
        assert!(saved(&sample, &sharp, &moved).difference.abs() < 1e-6);
        // Rows of weight 2 are two rows.
        let weighted = sample.clone().with_weights(vec![2.0; 400]).unwrap();
        let twice = saved(&weighted, &sharp, &blunt);
        assert!((twice.difference - gain.difference).abs() < 2e-3, "{twice:?} {gain:?}");
    }
}
