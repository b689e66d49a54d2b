//! What scores are worth on held-out rows, by the goal's own metric.

use std::cmp::Ordering;

use setpoint::goal::AnyGoal;
use setpoint::train::method::{ClassCrossEntropy, CrossEntropy, Loss};
use setpoint::train::{Gain, TrainError};

use crate::purpose::Referee;

/// What is expected of scores on new rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Promise {
    /// The goal's own value on the rows looked at; `None` where its conditions cannot be met.
    pub value: Option<f64>,
    /// Larger is better.
    merit: f64,
    /// Log loss, which decides between equals.
    loss: f64,
}

impl Promise {
    /// The better comes first.
    pub(crate) fn order(&self, other: &Self) -> Ordering {
        other.merit.total_cmp(&self.merit).then(self.loss.total_cmp(&other.loss))
    }
}

impl Referee<'_> {
    /// What boosters and rounds are chosen by. At a small rate a handful of rows decides the goal's own
    /// value, and the best of many looks is luck: so neighbouring rates count too. Where the goal is met
    /// by all, log loss still tells them apart.
    pub(crate) fn promise(&self, scores: &[f32]) -> Result<Promise, TrainError> {
        let mut v = vec![0.0; scores.len()];
        let (value, merit, loss) = match self.judge() {
            Some(judge) => {
                let loss = CrossEntropy::new(1.0).evaluate(self.sample, scores, &mut v)?;
                let (value, merit) = judge.around(scores)?;
                (value, merit, loss)
            }
            None if matches!(self.purpose, AnyGoal::Queries(_)) => {
                let value = self.exact(scores)?;
                (Some(value), value, 0.0)
            }
            None => {
                let loss = ClassCrossEntropy::new(0.0).evaluate(self.sample, scores, &mut v)?;
                let value = self.value(scores)?;
                (value, self.direction().merit(value), loss)
            }
        };
        Ok(Promise { value, merit, loss })
    }
}

/// The mean of gains on two halves, whose errors are independent; `None` where one is missing.
pub(crate) fn mean_gain(halves: [Option<Gain>; 2]) -> Option<Gain> {
    let [Some(first), Some(second)] = halves else { return None };
    let standard_error =
        first.standard_error.zip(second.standard_error).map(|(a, b)| (a * a + b * b).sqrt() / 2.0);
    Some(Gain { difference: (first.difference + second.difference) / 2.0, standard_error })
}

/// These rows of scores, of which each row has `outputs`.
pub(crate) fn pick(values: &[f32], outputs: usize, rows: &[u32]) -> Vec<f32> {
    rows.iter().flat_map(|row| &values[*row as usize * outputs..][..outputs]).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use setpoint::Sample;
    use setpoint::goal::Goal;
    use setpoint::train::Judge;

    #[test]
    fn a_choice_looks_at_neighbouring_rates_too() {
        let labels: Vec<bool> = (0..1100).map(|row| row < 100).collect();
        let sample = Sample::new(labels).unwrap();
        // Both find 50 positives at 1% false alarms; the first has 40 of them above the first false alarm.
        let scores = |above: usize| -> Vec<f32> {
            let score = |row: usize| match row {
                row if row < above => 3.0,
                row if row < 50 => 2.0,
                row if row < 100 => 0.0,
                row if row < 104 => 2.5,
                row if row < 110 => 1.0,
                _ => -1.0,
            };
            (0..1100).map(score).collect()
        };
        let judge = |goal| Referee { purpose: goal, shared_threshold: false, sample: &sample, seed: 0 };
        let purpose = |text: &str| AnyGoal::Two(text.parse().unwrap());
        let (many, few) = (scores(40), scores(5));
        let goal = purpose("recall @ fpr<=1%");
        assert_eq!(judge(&goal).value(&many).unwrap(), judge(&goal).value(&few).unwrap());
        let goal = purpose("recall @ fpr<=0.6%");
        let judge = judge(&goal);
        // At half the rate the four false alarms are too many.
        let promises = [judge.promise(&many).unwrap(), judge.promise(&few).unwrap()];
        let [many, few] = promises.map(|promise| promise.merit);
        assert!((many - few - (0.40 - 0.05) / 4.0).abs() < 1e-12, "{many} {few}");
        assert_eq!(promises[0].order(&promises[1]), Ordering::Less);
    }

    #[test]
    fn log_loss_decides_between_scores_that_both_meet_the_goal_in_full() {
        let labels: Vec<bool> = (0..200).map(|row| row % 4 == 0).collect();
        let scores = |size: f32| -> Vec<f32> {
            labels.iter().map(|label| if *label { size } else { -size }).collect()
        };
        let (sure, unsure) = (scores(4.0), scores(0.1));
        let sample = Sample::new(labels).unwrap();
        let goal = AnyGoal::Two("recall @ fpr<=1%".parse().unwrap());
        let judge = Referee { purpose: &goal, shared_threshold: false, sample: &sample, seed: 0 };
        let [sure, unsure] = [sure, unsure].map(|scores| judge.promise(&scores).unwrap());
        assert_eq!(sure.order(&unsure), Ordering::Less);
    }

    #[test]
    fn gains_are_positive_for_the_better_scores_whichever_way_the_goal_points() {
        let labels: Vec<bool> = (0..200).map(|row| row % 4 == 0).collect();
        let good: Vec<f32> =
            (0..200).map(|row| (row % 5 + if row % 4 == 0 { 3 } else { 0 }) as f32).collect();
        let bad: Vec<f32> = (0..200).map(|row| (row % 5) as f32).collect();
        let sample = Sample::new(labels).unwrap();
        for goal in ["recall @ fpr<=40%", "fnr @ fpr<=40%"] {
            let goal: Goal = goal.parse().unwrap();
            let judge = Judge::new(&goal, &sample);
            let gain = judge.gain(&good, &bad).unwrap().unwrap();
            assert!(gain.difference > 0.0 && gain.standard_error.is_some(), "{goal}: {gain:?}");
        }
    }
}
