use super::*;
use crate::task::TREES;
use crate::trees::Outcome;

/// Two seeds of one task; XGBoost's three together are best.
fn results() -> Grown {
    let outcome = |goal: &str, setpoint: f64| Outcome {
        goal: goal.to_owned(),
        setpoint,
        lightgbm: 0.5,
        lightgbm_average: 0.6,
        winner: "average".to_owned(),
        steps: Vec::new(),
        seconds: 1.0,
    };
    let trial = |seed, setpoint: f64| Entry {
        cell: TaskSplit { task: TREES[0], seed },
        outcome: Trial {
            search_seconds: 2.0,
            outcomes: GOALS.iter().map(|goal| outcome(goal, setpoint)).collect(),
        },
    };
    let peer = |seed, goal: &&str| PeerRecord {
        peer: "XGBoost".to_owned(),
        version: "3".to_owned(),
        task: "letter".to_owned(),
        seed,
        goal: (*goal).to_owned(),
        single: 0.4,
        average: 0.7,
    };
    Grown {
        search: 12,
        rounds: 400,
        trials: vec![trial(0, 0.75), trial(1, 0.69)],
        // The last goal lacks a seed.
        peers: [0, 1]
            .into_iter()
            .flat_map(|seed| GOALS[..3].iter().map(move |goal| peer(seed, goal)))
            .collect(),
    }
}

#[test]
fn the_rival_is_the_one_with_the_best_mean_and_differences_are_paired() {
    let results = results();
    let comparison = results.comparison();
    let gain = comparison.gain(&TREES[0], GOALS[0]).unwrap();
    assert_eq!(gain.rival, "XGBoost, 3");
    // 5 and -1 points: mean 2, deviation √18, over two pairs 3.
    assert!((gain.difference - 2.0).abs() < 1e-9 && (gain.error - 3.0).abs() < 1e-9, "{gain:?}");
}

#[test]
fn a_tool_without_every_seed_has_no_value() {
    let results = results();
    assert_eq!(results.values(&TREES[0], GOALS[3], ("XGBoost", false)), None);
    let comparison = results.comparison();
    assert_eq!(comparison.gain(&TREES[0], GOALS[3]).unwrap().rival, "LightGBM, 3");
    assert!(comparison.grid().heading.contains(&"XGBoost, 3".to_owned()));
}
