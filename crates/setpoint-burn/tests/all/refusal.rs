//! What is refused, in which words, and what is taken in stride.

use burn::prelude::*;
use setpoint::Goal;
use setpoint::goal::Rate;
use setpoint::metric::At;
use setpoint::train::Bandwidth;
use setpoint_burn::{GoalLoss, GoalLossConfig, LossError};

use crate::{device, leaf, scored};

fn loss() -> GoalLoss {
    GoalLoss::new("recall @ fpr<=5%".parse().unwrap(), GoalLossConfig::default()).unwrap()
}

#[test]
fn bad_batches_are_refused_and_leave_no_trace() {
    let mut loss = loss();
    let before = loss.state();
    let labels = [true, false, false];
    let refused = |found: Result<Tensor<1>, LossError>| found.unwrap_err().to_string();
    assert_eq!(
        refused(loss.forward(leaf(&[1.0, f32::NAN, 0.0]), labels.as_slice())),
        "score NaN of example 1 is not a finite number; try a smaller learning rate"
    );
    assert_eq!(
        refused(loss.forward(leaf(&[1.0, 0.0, 0.5, 2.0]).reshape([2, 2]), labels.as_slice())),
        "scores of shape [2, 2] with 3 labels: expected one label for each score"
    );
    let labels = Tensor::<1, Int>::from_ints([1, 0, 2], &device());
    assert_eq!(
        refused(loss.forward(leaf(&[1.0, 0.0, 0.5]), &labels)),
        "label 2 of example 2: expected 0 or 1"
    );
    assert_eq!(refused(loss.forward(leaf(&[]), &Vec::new())), "the sample is empty: nothing to count");
    assert_eq!(loss.state(), before);
}

#[test]
fn a_pool_without_positives_is_cross_entropy_alone_until_some_come() {
    let mut loss = loss();
    let (scores, _) = scored(100, 5, 6);
    let (with, labels) = scored(100, 5, 7);
    let negatives = vec![false; 100];
    let entropy = {
        let config = GoalLossConfig { mix: 1.0, ..GoalLossConfig::default() };
        let mut plain = GoalLoss::new(loss.goal().clone(), config).unwrap();
        plain.forward(leaf(&scores), &negatives).unwrap().into_scalar::<f32>()
    };
    assert_eq!(loss.forward(leaf(&scores), &negatives).unwrap().into_scalar::<f32>(), entropy);
    assert_eq!((loss.steps(), loss.alone(), loss.thresholds()), (1, 1, None));
    loss.forward(leaf(&with), &labels).unwrap();
    // The pool has positives now, so a batch of negatives has a place in it.
    loss.forward(leaf(&scores), &negatives).unwrap();
    assert_eq!((loss.steps(), loss.alone()), (3, 1));
    assert!(loss.thresholds().is_some());
}

#[test]
fn the_warm_up_is_cross_entropy_and_fills_the_pool() {
    let (scores, labels) = scored(100, 5, 8);
    let config = GoalLossConfig { warmup: 2, ..GoalLossConfig::default() };
    let mut loss = GoalLoss::new("recall @ fpr<=5%".parse().unwrap(), config).unwrap();
    for _ in 0..2 {
        loss.forward(leaf(&scores), &labels).unwrap();
        assert!(loss.thresholds().is_none());
    }
    assert!(loss.pool_value().is_ok());
    loss.forward(leaf(&scores), &labels).unwrap();
    assert!(loss.thresholds().is_some());
    assert_eq!(loss.alone(), 0);
}

#[test]
fn goals_and_settings_that_cannot_be_trained_for_are_refused() {
    let new = |goal: &str, config: GoalLossConfig| {
        GoalLoss::new(goal.parse::<Goal>().unwrap(), config).unwrap_err().to_string()
    };
    let plain = GoalLossConfig::default;
    assert_eq!(
        new("recall @ fpr(sex)<=2%", plain()),
        "goal recall @ fpr(sex)<=2%: expected conditions on all examples, not on groups"
    );
    assert!(new("precision @ k=100", plain()).contains("k=100 of 5000"));
    let goal = "recall @ fpr<=1%";
    assert_eq!(
        new(goal, GoalLossConfig { mix: 1.5, ..plain() }),
        "mix 1.5: expected a share between 0 and 1"
    );
    for config in [
        GoalLossConfig { pool_batches: 0, ..plain() },
        GoalLossConfig { positive_weight: f64::NAN, ..plain() },
        GoalLossConfig { bandwidth: Bandwidth::Tail(0.0), ..plain() },
    ] {
        assert!(new(goal, config).contains("expected"));
    }
}

#[test]
fn logs_read_the_exact_value_and_rates_of_the_pool() {
    let (scores, labels) = scored(1000, 5, 9);
    let mut loss = loss();
    assert_eq!(loss.pool_value().unwrap_err(), LossError::EmptyPool);
    for batch in [0..500, 500..1000] {
        loss.forward(leaf(&scores[batch.clone()]), &labels[batch]).unwrap();
    }
    let pool = loss.pool_value().unwrap();
    assert_eq!(pool, loss.value(&leaf(&scores), &labels).unwrap());
    let At::Threshold(point) = pool.at else { panic!("a goal with one threshold") };
    assert_eq!(point.rate(Rate::Recall), Some(pool.value));
    let fpr = point.rate(Rate::FalsePositiveRate).unwrap();
    assert!((0.04..=0.05).contains(&fpr), "{fpr}");
}

#[test]
fn the_certified_threshold_is_stricter_than_the_one_that_just_holds() {
    let (scores, labels) = scored(1000, 5, 10);
    let loss = loss();
    let certificate = loss.certify(&leaf(&scores), &labels, 0.95).unwrap();
    let At::Threshold(point) = loss.value(&leaf(&scores), &labels).unwrap().at else {
        panic!("one threshold")
    };
    assert!(certificate.threshold(None).unwrap() > point.threshold);
    let few = loss.certify(&leaf(&scores[..40]), &labels[..40], 0.95).unwrap_err();
    assert!(matches!(few, LossError::Certify(_)), "{few}");
}
