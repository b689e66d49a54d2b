//! The average of a linear model and boosted trees: they err on different rows, and most so where there are texts.
//!
//! ```text
//! score = (s₁ / σ₁ + s₂ / σ₂) / 2      σ: the spread of each on validation rows, of trees before they learnt from these
//! ```

use std::time::Instant;

use setpoint::goal::AnyGoal;
use setpoint::train::Combined;
use setpoint_data::Encoder;
use setpoint_report::KindRecord;
use setpoint_trees::Ensemble;

use crate::auto::{Contender, Standing};
use crate::blueprint::{Blueprint, Held};
use crate::choice::ModelChoice;
use crate::examples::Examples;
use crate::failure::Failure;
use crate::fit::Fitted;
use crate::kind::{goal_of, kind_of};
use crate::schema::Schema;
use crate::scorer::Scorer;
use crate::train::{Job, ship};

/// The best of what was tried, or the average of two of them, with what is to be said of it.
///
/// The average is taken where it is clearly better; and where the goal's values of the two, which are in these records, differ by
/// no more than the standard error, unless it is clearly worse: a coin would decide between them otherwise.
///
/// # Errors
/// If what ships with the average cannot be chosen or measured.
pub(crate) fn or_best(
    mut tried: Vec<Contender>,
    best: usize,
    records: &[KindRecord],
) -> Result<(Contender, Option<KindRecord>), Failure> {
    let clock = Instant::now();
    let Some((scorer, encoder, unseen)) = of(&tried)? else { return Ok((tried.swap_remove(best), None)) };
    let mut record = KindRecord { model: ModelChoice::Average.name().to_owned(), ..KindRecord::default() };
    let own = &tried[best];
    let part = own.loaded.parts.validation.as_ref();
    record.validation = match part {
        Some(part) => kind_of(&own.job, &own.loaded)?.value(&part.sample, &unseen)?,
        None => None,
    };
    let apart = |one: &KindRecord| Some(one.gain?.abs() > one.standard_error?);
    let undecided = records.iter().any(|one| apart(one) == Some(false));
    let standing = own.beside(&unseen, &mut record)?;
    if !(standing == Standing::Ahead || undecided && standing == Standing::Level) {
        record.seconds = clock.elapsed().as_secs_f64();
        return Ok((tried.swap_remove(best), Some(record)));
    }
    let first = encoder.own_columns();
    let (Some(trees), Some(linear)) = (tried.pop(), tried.pop()) else {
        return Err(Failure::input("there are not two models to average"));
    };
    let job = Job { model: ModelChoice::Average, ..linear.job };
    let mut loaded = linear.loaded;
    let mut beside = trees.loaded.parts;
    for name in ["train", "validation", "calibration", "test"] {
        let (Some(own), Some(other)) = (loaded.parts.get_mut(name), beside.get_mut(name)) else { continue };
        let both = |own: Examples, other: Examples| Examples {
            held: Held::Both(Box::new([own.held, other.held])),
            sample: own.sample,
        };
        *own = own.take().zip(other.take()).map(|(own, other)| both(own, other));
    }
    (loaded.blueprint, loaded.columns) = (Blueprint::Both { first }, encoder.columns());
    loaded.schema = Schema::Table(encoder);
    let more = trees.loaded.notes.into_iter().filter(|note| !loaded.notes.contains(note));
    loaded.notes.extend(more.collect::<Vec<_>>());
    let history = [linear.trained.history, trees.trained.history].into_iter().nth(best).unwrap_or_default();
    let (own, other) = (linear.trained.fitted, trees.trained.fitted);
    let (candidates, notes) =
        ([own.candidates.clone(), other.candidates.clone()], [own.notes.clone(), other.notes.clone()]);
    let fitted = Fitted {
        scorer,
        winner: format!("average of both: {}; and {}", own.winner, other.winner),
        validation: record.validation,
        used_validation: own.used_validation || other.used_validation,
        candidates: candidates.concat(),
        recipe: other.recipe.clone(),
        fell_back: false,
        evaluations: own.evaluations + other.evaluations,
        passes: own.passes,
        rotations: own.rotations,
        kept: Vec::new(),
        notes: notes.concat(),
        held_out: Some(unseen),
        // The baseline is that of the better one.
        ..if best == 0 { own } else { other }
    };
    let trained = ship(&job, &mut loaded, fitted, history)?;
    record.seconds = clock.elapsed().as_secs_f64();
    Ok((Contender { job, loaded, trained }, Some(record)))
}

/// The average, how its rows are encoded, and its scores of the validation rows, unseen; `None` where there is none to be
/// made of what was tried.
fn of(tried: &[Contender]) -> Result<Option<(Scorer, Encoder, Vec<f32>)>, Failure> {
    let [linear, trees] = tried else { return Ok(None) };
    // An average need not meet conditions that each of the two meets.
    let met = linear.job.settings.shared_threshold;
    let AnyGoal::Two(_) = goal_of(&linear.job, &linear.loaded)? else { return Ok(None) };
    let (Scorer::Model(combined), Scorer::Trees(ensemble)) =
        (&linear.trained.fitted.scorer, &trees.trained.fitted.scorer)
    else {
        return Ok(None);
    };
    let (Schema::Table(own), Schema::Table(other)) = (&linear.loaded.schema, &trees.loaded.schema) else {
        return Ok(None);
    };
    let (Some(encoder), Some(parameters), Some(shown), Some(unseen), Some(beside), false) = (
        own.clone().with_trees(other.clone()),
        combined.parameters(),
        &linear.trained.scores.validation,
        linear.unseen(),
        trees.unseen(),
        met,
    ) else {
        return Ok(None);
    };
    let weights = [shown, unseen, beside].map(|scores| 0.5 / spread(scores));
    if weights.iter().any(|weight| !weight.is_finite()) {
        return Ok(None);
    }
    let [of_linear, of_unseen, of_trees] = weights;
    let parameters = parameters.iter().map(|one| (of_linear * f64::from(*one)) as f32).collect();
    let ensemble = Ensemble::combine(&[(of_trees, ensemble)])?;
    let scorer =
        Scorer::Both(Box::new([Scorer::Model(Combined::single(parameters)), Scorer::Trees(ensemble)]));
    let pairs = unseen.iter().zip(beside);
    let unseen = pairs.map(|(s, t)| (of_unseen * f64::from(*s) + of_trees * f64::from(*t)) as f32).collect();
    Ok(Some((scorer, encoder, unseen)))
}

/// The standard deviation of scores.
fn spread(scores: &[f32]) -> f64 {
    let rows = scores.len() as f64;
    let mean = scores.iter().map(|score| f64::from(*score)).sum::<f64>() / rows;
    (scores.iter().map(|score| (f64::from(*score) - mean).powi(2)).sum::<f64>() / rows).sqrt()
}
