//! Which shifts to ship: those of the rule that does best on rows it has not seen.

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{ROUNDS, Search, Shifts, adjusted, best, by_share, picked_scores, ties_all};
use crate::class::confusion::Confusion;
use crate::class::{ClassError, Classes, ShiftEngine};
use crate::goal::{ClassGoal, ClassObjective, Over};
use crate::sample::Sample;

/// Bandwidth of the smooth rule, in units of the scores' spread.
pub(super) const BANDWIDTH: f64 = 0.3;
/// How often the rows are cut in halves.
const CUTS: u64 = 2;
/// The rule that is [`best`].
const BEST: usize = 2;

/// The shifts at which the smooth goal is best, for a surrogate of this width in units of the scores' spread. Those
/// that conditions tie are then set on counted decisions.
///
/// The smooth objective sees rows near a decision too, so that it fits few rows less closely than [`best`] does.
///
/// # Errors
/// As [`best`].
pub fn smooth(
    goal: &ClassGoal,
    sample: &Sample,
    scores: &[f32],
    bandwidth: f64,
) -> Result<Shifts, ClassError> {
    let classes = Classes::of(goal, sample)?;
    classes.check_scores(scores)?;
    let mut shifts = smooth_start(goal, &classes, scores, bandwidth)?;
    let whole = Search::new(goal, &classes, scores);
    whole.tie(&mut shifts);
    let value = match Confusion::at(&classes, scores, &shifts)?.value(goal) {
        Err(ClassError::Infeasible { .. }) => {
            whole.improve(&mut shifts, ROUNDS);
            Confusion::at(&classes, scores, &shifts)?.value(goal)
        }
        value => value,
    }?;
    Ok(Shifts { shifts, value })
}

/// The shifts at which the smooth goal is best; zeros where it has no value.
pub(super) fn smooth_start(
    goal: &ClassGoal,
    classes: &Classes<'_>,
    scores: &[f32],
    bandwidth: f64,
) -> Result<Vec<f64>, ClassError> {
    let sharpness = 1.0 / (bandwidth * classes.spread(scores));
    let mut work = vec![0.0; scores.len()];
    let mut found: Option<(f64, Vec<f64>)> = None;
    for share in [0.0, 1.0] {
        let mut engine = ShiftEngine::new(goal, classes, sharpness)?;
        engine.hold(&by_share(classes, share));
        match engine.improve(classes, scores, &mut work) {
            Ok(step) if found.as_ref().is_none_or(|(loss, _)| step.loss < *loss) => {
                found = Some((step.loss, step.shifts.to_vec()));
            }
            Ok(_) => {}
            Err(error) if error.is_no_value() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found.map_or_else(|| vec![0.0; classes.count()], |(_, shifts)| shifts))
}

/// Shifts to ship: [`adjusted`] by one parameter, [`smooth`], or the [`best`] of all, whichever rule is
/// ahead on halves of the rows that it was not used on. Many shifts fit few rows too well.
///
/// # Errors
/// As [`best`].
pub fn choose(
    goal: &ClassGoal,
    sample: &Sample,
    scores: &[f32],
    starts: usize,
    seed: u64,
) -> Result<Shifts, ClassError> {
    let classes = Classes::of(goal, sample)?;
    classes.check_scores(scores)?;
    let rule = |rule: usize, sample: &Sample, scores: &[f32]| match rule {
        0 => adjusted(goal, sample, scores),
        1 => smooth(goal, sample, scores, BANDWIDTH),
        _ => best(goal, sample, scores, starts),
    };
    // Coverages that must equal their shares leave nothing to choose.
    if goal.conditions.iter().any(ties_all) {
        return best(goal, sample, scores, starts);
    }
    let mut merits = [0.0; 3];
    for cut in 0..CUTS {
        let parts = halves(&classes, seed.wrapping_add(cut))
            .map(|rows| (sample.select(&rows), picked_scores(scores, classes.count(), &rows)));
        for (own, other) in [(&parts[0], &parts[1]), (&parts[1], &parts[0])] {
            let others = Classes::new(&other.0);
            let search = Search::new(goal, &others, &other.1);
            for (place, merit) in merits.iter_mut().enumerate() {
                let worth = rule(place, &own.0, &own.1).and_then(|mut found| {
                    // What conditions tie is set anew: compared are the shifts that they leave free.
                    search.tie(&mut found.shifts);
                    Confusion::at(&others, &other.1, &found.shifts)?.value(goal)
                });
                *merit += goal.objective.direction().merit(worth.ok());
            }
        }
    }
    let ahead =
        (0..merits.len()).reduce(|a, b| if merits[b] > merits[a] { b } else { a }).unwrap_or_default();
    let best = best(goal, sample, scores, starts);
    if ahead == BEST {
        return best;
    }
    // What cannot be met on half of the rows may be on all; and on few rows of a class a rule may be ahead by chance
    // that pays for its conditions with nearly all decisions.
    let merit = |found: &Shifts| goal.objective.direction().merit(Some(found.value));
    match (rule(ahead, sample, scores), best) {
        (Ok(found), Ok(best)) if merit(&best) - merit(&found) > by_chance(goal, &classes) => Ok(best),
        (Ok(found), _) => Ok(found),
        (Err(_), best) => best,
    }
}

/// What the best of all shifts gains by chance on the rows that it is chosen on, at most: four standard errors of a
/// share of the rows that the objective is of.
fn by_chance(goal: &ClassGoal, classes: &Classes<'_>) -> f64 {
    let fewest = || classes.totals.iter().copied().filter(|rows| *rows > 0.0).fold(classes.total, f64::min);
    let (rows, range) = match &goal.objective {
        ClassObjective::Rate(rate) => match rate.over {
            Over::All => (classes.total, 1.0),
            Over::Class(class) => (classes.totals[class], 1.0),
            Over::Each | Over::Mean | Over::Worst => (fewest(), 1.0),
        },
        ClassObjective::Cost { table, .. } => (classes.total, table.iter().copied().fold(0.0, f64::max)),
    };
    4.0 * 0.5 * range / rows.max(1.0).sqrt()
}

/// The rows in two halves, those of every class dealt out in turn.
fn halves(classes: &Classes<'_>, seed: u64) -> [Vec<u32>; 2] {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut rows: Vec<u32> = (0..classes.codes().len() as u32).collect();
    rows.shuffle(&mut rng);
    let mut next: Vec<usize> = (0..classes.count()).map(|_| rng.random_range(0..2)).collect();
    let mut halves = [Vec::new(), Vec::new()];
    for row in rows {
        let turn = &mut next[classes.codes()[row as usize] as usize];
        halves[*turn % 2].push(row);
        *turn += 1;
    }
    halves
}
