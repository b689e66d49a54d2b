//! A goal among its neighbours: the same goal with its condition stricter and looser.
//!
//! At a small rate a handful of rows decides a goal's own value. What lies around it says more of which scores are the better
//! ones, with less luck; see `docs/decisions.md`.

use super::TrainError;
use super::judge::{Gain, Judge, if_any};
use crate::goal::{Constraint, Direction, Goal, Relation, Top, safe_side};
use crate::metric::{self, Cuts, MetricError};

/// How much looser the neighbours' condition is than the goal's own.
const NEIGHBOURS: [f64; 4] = [0.5, 1.0, 2.0, 4.0];

impl Judge<'_> {
    /// The goal's value, and the mean merit of its neighbours; where it has none, its own.
    ///
    /// # Errors
    /// As [`value`](Self::value).
    pub fn around(&self, scores: &[f32]) -> Result<(Option<f64>, f64), TrainError> {
        let direction = self.goal.objective.direction();
        let neighbours = self.neighbours();
        if neighbours.is_empty() {
            let value = self.value(scores)?;
            return Ok((value, direction.merit(value)));
        }
        let cuts = Cuts::new(self.sample, scores)?;
        let Some(own) = if_any(metric::value_of(self.goal, &cuts).map(|value| value.value))? else {
            return Ok((None, f64::NEG_INFINITY));
        };
        Ok((Some(own), merit(&neighbours, &cuts)?))
    }

    /// How much better the first scores are than the second over the goal's neighbours; `None` where either have no value,
    /// or the goal has no neighbours.
    ///
    /// # Errors
    /// As [`value`](Self::value).
    pub fn gain_around(&self, first: &[f32], second: &[f32]) -> Result<Option<Gain>, TrainError> {
        let neighbours = self.neighbours();
        let ((Some(_), a), (Some(_), b)) = (self.around(first)?, self.around(second)?) else {
            return Ok(None);
        };
        let standard_error = self.error_of(first, second, |cuts| merit(&neighbours, cuts));
        Ok((!neighbours.is_empty()).then_some(Gain { difference: a - b, standard_error }))
    }

    fn neighbours(&self) -> Vec<Goal> {
        if self.shared_threshold { Vec::new() } else { neighbours(self.goal) }
    }
}

/// The mean merit of these goals; one that cannot be met counts as the worst rate.
fn merit(goals: &[Goal], cuts: &Cuts) -> Result<f64, MetricError> {
    let mut sum = 0.0;
    for goal in goals {
        let direction = goal.objective.direction();
        let worst = if direction == Direction::Up { 0.0 } else { 1.0 };
        let value = match metric::value_of(goal, cuts) {
            Ok(found) => found.value,
            Err(error) if error.is_no_value() => worst,
            Err(error) => return Err(error),
        };
        sum += direction.merit(Some(value));
    }
    Ok(sum / goals.len() as f64)
}

/// The goal with its one condition as it is, stricter and looser; none where it has another form.
fn neighbours(goal: &Goal) -> Vec<Goal> {
    let Goal { objective, constraints } = goal;
    let [constraint] = &constraints[..] else { return Vec::new() };
    // An amount has no worst value, and coverage is no rate of one class.
    if goal.money().is_some() || goal.abstains() {
        return Vec::new();
    }
    let scaled = |factor: f64| {
        let constraint = match *constraint {
            Constraint::Rate { rate, relation, target } => {
                let relation = if relation == Relation::Equal { safe_side(rate) } else { relation };
                let target = match relation {
                    Relation::AtLeast => 1.0 - factor * (1.0 - target),
                    _ => factor * target,
                };
                Constraint::Rate { rate, relation, target }
            }
            Constraint::Top(Top::Fraction(share)) => Constraint::Top(Top::Fraction(factor * share)),
            _ => return None,
        };
        let sound = match constraint {
            Constraint::Rate { target, .. } => target > 0.0 && target < 1.0,
            Constraint::Top(Top::Fraction(share)) => share < 1.0,
            _ => false,
        };
        sound.then(|| Goal { objective: objective.clone(), constraints: vec![constraint] })
    };
    NEIGHBOURS.into_iter().filter_map(scaled).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Sample;

    #[test]
    fn neighbours_loosen_the_condition_whichever_way_it_points() {
        let sample = Sample::new(vec![true, false]).unwrap();
        for (goal, loosest) in [
            ("recall @ fpr<=1%", Some("recall @ fpr<=4%")),
            ("precision @ recall>=0.875", Some("precision @ recall>=0.5")),
            ("fpr @ recall=0.875", Some("fpr @ recall>=0.5")),
            ("precision @ top=12.5%", Some("precision @ top=0.5")),
            ("recall @ fpr<=0.375", Some("recall @ fpr<=0.75")),
            ("f1", None),
            ("pr-auc @ recall in 0.95..1", None),
        ] {
            let goal: Goal = goal.parse().unwrap();
            let judge = Judge::new(&goal, &sample);
            let found = neighbours(judge.goal).last().map(ToString::to_string);
            assert_eq!(found.as_deref(), loosest, "{goal}");
        }
    }
}
