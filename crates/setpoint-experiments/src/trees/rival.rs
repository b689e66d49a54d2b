//! LightGBM as people use it: rounds and configuration by the validation rows, the best alone or the best
//! three together.

use setpoint::train::{Judge, Standard};
use setpoint::{Goal, Sample};
use setpoint_trees::{Ensemble, Look, Searched, TreesError};

use crate::goals::sign;

/// How many are averaged.
const TOGETHER: usize = 3;

/// A booster at the rounds that the goal chose.
pub struct Chosen<'s> {
    searched: &'s Searched,
    look: &'s Look,
    merit: f64,
}

impl Chosen<'_> {
    /// Its trees up to there.
    pub fn ensemble(&self) -> Ensemble {
        self.searched.ensemble.first(self.look.rounds)
    }
}

/// The best three boosters, the best first; of equals the earlier.
pub fn best<'s>(
    goal: &Goal,
    validation: &Sample,
    searched: &'s [Searched],
) -> Result<Vec<Chosen<'s>>, TreesError> {
    let sign = sign(goal);
    let mut chosen = Vec::new();
    for searched in searched {
        let mut best: Option<Chosen<'s>> = None;
        for look in &searched.looks {
            let value = Judge::new(goal, validation).value(&look.scores)?;
            let merit = value.map_or(f64::NEG_INFINITY, |value| sign * value);
            if best.as_ref().is_none_or(|best| merit > best.merit) {
                best = Some(Chosen { searched, look, merit });
            }
        }
        chosen.extend(best);
    }
    chosen.sort_by(|a, b| b.merit.total_cmp(&a.merit));
    chosen.truncate(TOGETHER);
    Ok(chosen)
}

/// Their scores added up, each in units of its spread over validation.
pub fn together(
    validation: &Sample,
    best: &[Chosen<'_>],
    scored: impl Fn(&Chosen<'_>) -> Result<Vec<f32>, TreesError>,
) -> Result<Vec<f32>, TreesError> {
    let mut sum: Vec<f64> = Vec::new();
    for chosen in best {
        let spread = Standard::of(validation, &chosen.look.scores).deviation;
        let scores = scored(chosen)?;
        sum.resize(scores.len(), 0.0);
        sum.iter_mut().zip(scores).for_each(|(sum, score)| *sum += f64::from(score) / spread);
    }
    Ok(sum.into_iter().map(|sum| sum as f32).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use setpoint_trees::Parameters;

    fn searched(name: &str, looks: &[&[f32]]) -> Searched {
        let looks = looks.iter().enumerate();
        let looks = looks.map(|(at, scores)| Look { rounds: 20 * (at + 1), scores: scores.to_vec() });
        Searched {
            parameters: Parameters::default(),
            name: name.to_owned(),
            ensemble: Ensemble::constant(1, &[0.0]),
            looks: looks.collect(),
            seed: 0,
            objective: None,
            promises: Vec::new(),
        }
    }

    #[test]
    fn the_best_rounds_of_the_best_boosters_come_first() {
        let sample = Sample::new(vec![true, true, false, false]).unwrap();
        let (good, fair, bad) = ([4.0, 3.0, 2.0, 1.0f32], [4.0, 2.0, 3.0, 1.0f32], [1.0, 2.0, 3.0, 4.0f32]);
        let all = [
            searched("bad", &[&bad]),
            searched("fair", &[&bad, &fair]),
            searched("good", &[&fair, &good, &bad]),
            searched("worst", &[&bad]),
        ];
        let goal: Goal = "recall @ fpr<=10%".parse().unwrap();
        let best = best(&goal, &sample, &all).unwrap();
        let found: Vec<(&str, usize)> =
            best.iter().map(|chosen| (chosen.searched.name.as_str(), chosen.look.rounds)).collect();
        assert_eq!(found, [("good", 40), ("fair", 40), ("bad", 20)]);
        let sum = together(&sample, &best, |chosen| Ok(chosen.look.scores.clone())).unwrap();
        let spread = 1.25f32.sqrt();
        assert!(sum.iter().zip([9.0, 7.0, 8.0, 6.0]).all(|(sum, whole)| (sum - whole / spread).abs() < 1e-5));
    }
}
