//! A state saved and restored.

use setpoint_burn::{GoalLoss, GoalLossConfig, LossState};

use crate::{leaf, scored};

fn loss(goal: &str) -> GoalLoss {
    let config = GoalLossConfig { pool_batches: 4, warmup: 3, ..GoalLossConfig::default() };
    GoalLoss::new(goal.parse().unwrap(), config).unwrap()
}

/// Value and gradient of batch `seed`.
fn step(loss: &mut GoalLoss, seed: u64) -> (f32, Vec<f32>) {
    let (scores, labels) = scored(128, 6, seed);
    let scores = leaf(&scores);
    let value = loss.forward(scores.clone(), &labels).unwrap();
    let gradient = scores.grad(&value.backward()).unwrap();
    (value.into_scalar(), gradient.into_data().try_to_vec().unwrap())
}

#[test]
fn a_restored_loss_goes_on_to_the_same_bits() {
    // Before, within and after the warm-up, and between two measurements of the scale.
    for stop in [1, 4, 13] {
        let mut whole = loss("recall @ fpr<=5%");
        (0..stop).for_each(|seed| drop(step(&mut whole, seed)));
        let saved = serde_json::to_string(&whole.state()).unwrap();
        let mut resumed = loss("recall @ fpr<=5%");
        resumed.restore(&serde_json::from_str(&saved).unwrap()).unwrap();
        for seed in stop..stop + 12 {
            assert_eq!(step(&mut whole, seed), step(&mut resumed, seed), "stopped at {stop}, batch {seed}");
        }
        assert_eq!(whole.state(), resumed.state());
    }
}

#[test]
fn a_state_of_another_goal_or_a_damaged_one_is_refused() {
    let mut loss = loss("recall @ fpr<=5%");
    (0..5).for_each(|seed| drop(step(&mut loss, seed)));
    let mut other = self::loss("recall @ fpr<=1%");
    let refused = other.restore(&loss.state()).unwrap_err().to_string();
    assert_eq!(
        refused,
        "the state cannot be restored: it is of the goal \"recall @ fpr<=5%\", and this loss is for \"recall @ fpr<=1%\""
    );
    let whole = serde_json::to_value(loss.state()).unwrap();
    for (entry, value) in [
        ("thresholds", serde_json::json!({"f64": [0.0, 1.0]})),
        ("sharpness", serde_json::json!({"f64": [-1.0]})),
        ("sizes", serde_json::json!({"f64": [-1.0, 1.0]})),
        ("pool labels", serde_json::json!({"u64": [0]})),
        ("pool scores", serde_json::json!({"f64": [0.0]})),
    ] {
        let mut damaged = whole.clone();
        damaged["entries"][entry] = value;
        let damaged: LossState = serde_json::from_value(damaged).unwrap();
        let refused = loss.restore(&damaged).unwrap_err().to_string();
        assert!(refused.starts_with("the state cannot be restored: "), "{entry}: {refused}");
    }
    assert_eq!(serde_json::to_value(loss.state()).unwrap(), whole, "a refused state changes nothing");
}
