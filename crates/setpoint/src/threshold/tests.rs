//! Exact thresholds against brute force, smooth ones against their definition.

use proptest::prelude::*;

use super::exact::{self, ExactThresholds};
use super::smooth::{self, Request, SmoothOptions};
use super::*;
use crate::Goal;
use crate::count::reference::Reference;
use crate::count::{Cell, Count};
use crate::goal::{Constraint, Counts, Direction, Objective};
use crate::metric::{Condition, Cuts};
use crate::problem::{Problem, ProblemOptions, Sense};
use crate::sample::Sample;
use crate::surrogate::Surrogate;

fn goal(text: &str) -> Goal {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

/// Weighted examples of two groups with many tied scores; both classes in both groups.
fn grouped(rows: usize) -> impl Strategy<Value = (Sample, Vec<f32>)> {
    let example = (0i8..6, any::<bool>(), 1u8..4, 0u32..2);
    proptest::collection::vec(example, rows).prop_map(|mut examples| {
        for (index, (_, label, _, group)) in examples.iter_mut().take(4).enumerate() {
            (*label, *group) = (index % 2 == 0, (index / 2) as u32);
        }
        let sample = Sample::new(examples.iter().map(|e| e.1).collect())
            .unwrap()
            .with_weights(examples.iter().map(|e| f32::from(e.2)).collect())
            .unwrap()
            .with_groups("g", vec!["a".into(), "b".into()], examples.iter().map(|e| e.3).collect())
            .unwrap();
        // Positives score a little higher; halves keep sums of weights and rates exact enough to compare.
        let scores = examples.iter().map(|e| f32::from(e.0) + if e.1 { 1.5 } else { 0.0 }).collect();
        (sample, scores)
    })
}

fn add(a: &Counts, b: &Counts) -> Counts {
    let mut sum = *a;
    sum.add(b, 1.0);
    sum
}

/// Whether a pair of decisions satisfies every constraint, by the definition.
fn satisfies(goal: &Goal, a: &Counts, b: &Counts) -> bool {
    goal.constraints.iter().all(|constraint| match constraint {
        Constraint::Rate { .. } => Condition::of(constraint).unwrap().unwrap().holds(&add(a, b)),
        Constraint::PerGroup { rate, relation, target, .. } => {
            let condition = Condition { rate: *rate, relation: *relation, target: *target };
            condition.holds(a) && condition.holds(b)
        }
        Constraint::Gap { rate, target, .. } => {
            matches!((rate.of(a), rate.of(b)), (Some(x), Some(y)) if x.max(y) - x.min(y) <= *target)
        }
        Constraint::Ratio { rate, target, .. } => {
            matches!((rate.of(a), rate.of(b)), (Some(x), Some(y)) if x.min(y) >= target * x.max(y))
        }
        Constraint::Top(_) => unreachable!("not used with groups"),
    })
}

/// The best objective over every pair of cuts.
fn brute_force(goal: &Goal, sample: &Sample, scores: &[f32]) -> Option<f64> {
    let Objective::Rate(rate) = goal.objective else { unreachable!("only rates here") };
    let groups = sample.groups().unwrap();
    let [a, b] = [0, 1].map(|group| Cuts::of_rows(sample, scores, groups.rows(group)).unwrap());
    let sign = if rate.direction() == Direction::Up { 1.0 } else { -1.0 };
    let mut best: Option<f64> = None;
    for i in 0..a.len() {
        for j in 0..b.len() {
            let (x, y) = (a.counts_at(i), b.counts_at(j));
            let Some(value) = rate.of(&add(&x, &y)) else { continue };
            if satisfies(goal, &x, &y) && best.is_none_or(|best| sign * value > sign * best) {
                best = Some(value);
            }
        }
    }
    best
}

/// The decisions that thresholds make in each of two groups.
fn decide(sample: &Sample, scores: &[f32], found: &ExactThresholds) -> [Counts; 2] {
    let groups = sample.groups().unwrap();
    [0, 1].map(|group| {
        let cuts = Cuts::of_rows(sample, scores, groups.rows(group)).unwrap();
        cuts.counts_at(cuts.cut_of(found.thresholds[group]))
    })
}

const COUPLED: [&str; 12] = [
    "accuracy @ gap(positive-rate, g)<=0.1",
    "recall @ gap(fpr, g)<=0.2, fpr(g)<=40%",
    "f1 @ ratio(positive-rate, g)>=0.8",
    "accuracy @ gap(recall, g)<=0.05",
    "precision @ gap(error, g)<=0.1, recall(g)>=0.3",
    "recall @ fpr(g)<=30%",
    "accuracy @ gap(precision, g)<=0.1",
    "balanced-accuracy @ gap(recall, g)<=0.2, gap(fpr, g)<=0.2",
    "error @ gap(positive-rate, g)=0",
    "precision @ fpr(g)<=30%",
    "fdr @ fpr(g)<=10%",
    "npv @ recall(g)>=0.5",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn coupled_thresholds_are_the_best_of_all_pairs((sample, scores) in grouped(24)) {
        // A poor iterate ranks the negatives first.
        let poor: Vec<f32> = scores.iter().map(|score| -score).collect();
        for (text, scores) in COUPLED.iter().flat_map(|text| [(text, &scores), (text, &poor)]) {
            let goal = goal(text);
            let expected = brute_force(&goal, &sample, scores);
            match (exact::solve(&goal, &sample, scores, &ProblemOptions::default()), expected) {
                (Ok(found), Some(expected)) => {
                    let [a, b] = decide(&sample, scores, &found);
                    prop_assert!(satisfies(&goal, &a, &b), "{text}");
                    prop_assert!((found.value - expected).abs() < 1e-12, "{text}: {} is not {expected}", found.value);
                }
                (Err(error), None) => prop_assert!(error.is_no_value(), "{text}: {error}"),
                (found, expected) => prop_assert!(false, "{text}: {found:?} against {expected:?}"),
            }
        }
    }

    #[test]
    fn overall_conditions_hold_exactly_and_cost_little((sample, scores) in grouped(60)) {
        let goal = goal("recall @ gap(fpr, g)<=0.3, precision>=0.6");
        let expected = brute_force(&goal, &sample, &scores);
        match exact::solve(&goal, &sample, &scores, &ProblemOptions::default()) {
            Ok(found) => {
                let [a, b] = decide(&sample, &scores, &found);
                prop_assert!(satisfies(&goal, &a, &b));
                prop_assert!(found.value <= expected.unwrap() + 1e-12);
            }
            Err(error) => prop_assert!(matches!(error, ThresholdError::Infeasible { .. }), "{error}"),
        }
    }
}

#[test]
fn an_area_has_a_threshold_at_each_midpoint() {
    let labels: Vec<bool> = (0..200).map(|i| i % 2 == 0).collect();
    let scores: Vec<f32> = (0..200).map(|i| if i % 2 == 0 { i as f32 + 40.0 } else { i as f32 }).collect();
    let sample = Sample::new(labels).unwrap();
    let found =
        exact::solve(&goal("roc-auc @ fpr in 0..20%"), &sample, &scores, &ProblemOptions::default()).unwrap();
    assert_eq!(found.thresholds.len(), 10);
    // The negatives score 1, 3, ... 199; fpr <= 1% (the first midpoint) admits one of the hundred.
    assert!(found.thresholds[0] > 197.0 && found.thresholds[0] <= 199.0);
    assert!(found.thresholds.windows(2).all(|pair| pair[0] > pair[1]));
}

#[test]
fn top_takes_as_many_as_fit() {
    let sample = Sample::new(vec![true, false, true, false, true]).unwrap();
    let scores = [5.0, 4.0, 3.0, 2.0, 1.0];
    let solve = |text| exact::solve(&goal(text), &sample, &scores, &ProblemOptions::default()).unwrap();
    let found = solve("precision @ k=3");
    assert!(found.thresholds[0] > 2.0 && found.thresholds[0] <= 3.0);
    assert!((found.value - 2.0 / 3.0).abs() < 1e-15);
    assert!(solve("precision @ top=40%").thresholds[0] > 3.0);
    let error =
        exact::solve(&goal("precision @ k=9"), &sample, &scores, &ProblemOptions::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "k=9 of 5 rows leaves nothing to choose; k must be below the number of rows"
    );
}

fn reference(rows: usize, sharpness: f64) -> (Sample, Vec<f64>, f64) {
    let labels = (0..rows).map(|i| i % 3 == 0).collect();
    let scores =
        (0..rows).map(|i| (i as f64 * 0.7).sin() * 2.0 + if i % 3 == 0 { 0.8 } else { 0.0 }).collect();
    (Sample::new(labels).unwrap(), scores, sharpness)
}

/// Solves the smooth thresholds of a goal and returns them with g at the solution.
fn solve_smooth(
    text: &str,
    start: f64,
    sharpness: f64,
) -> Result<(smooth::SmoothThresholds, Vec<f64>), ThresholdError> {
    let (sample, scores, sharpness) = reference(600, sharpness);
    let problem = Problem::new(&goal(text), &sample, &ProblemOptions::default()).unwrap();
    let mut source =
        Reference { sample: &sample, by_group: false, surrogate: Surrogate::Sigmoid, sharpness, scores };
    let mut cells = vec![Cell::default(); problem.shape().cells()];
    let start = vec![start; problem.thresholds()];
    let free = vec![false; problem.thresholds()];
    let request = Request { sharpness, start: &start, free: &free, slack: None };
    let solved = smooth::solve(&problem, &mut source, request, &SmoothOptions::default(), &mut cells)?;
    let mut again = vec![Cell::default(); cells.len()];
    source.count(&solved.thresholds, &mut again)?;
    assert_eq!(cells, again, "the counts left behind are those at the solution");
    let gaps = problem.conditions().iter().map(|condition| condition.expression.value(&cells)).collect();
    Ok((solved, gaps))
}

#[test]
fn smooth_roots_are_found_from_anywhere_at_any_sharpness() {
    for sharpness in [0.05, 1.0, 10.0, 300.0] {
        for start in [-50.0, 0.0, 3.0, 50.0] {
            for text in ["recall @ fpr<=1%", "fpr @ recall=0.97", "roc-auc @ fpr in 0..5%"] {
                let (solved, gaps) =
                    solve_smooth(text, start, sharpness).unwrap_or_else(|e| panic!("{text}: {e}"));
                assert!(
                    gaps.iter().all(|gap| gap.abs() <= 1e-6),
                    "{text} from {start} at {sharpness}: {gaps:?}"
                );
                assert!(solved.active.iter().all(|active| *active));
            }
        }
    }
}

#[test]
fn a_warm_start_takes_three_passes() {
    let (cold, _) = solve_smooth("recall @ fpr<=5%", 0.0, 5.0).unwrap();
    let (warm, _) = solve_smooth("recall @ fpr<=5%", cold.thresholds[0] + 1e-3, 5.0).unwrap();
    assert!(warm.passes <= 3, "{} passes", warm.passes);
}

#[test]
fn limits_that_do_not_bind_are_left_alone() {
    let (free, _) = solve_smooth("f1", 0.5, 4.0).unwrap();
    let (loose, gaps) = solve_smooth("f1 @ fpr<=90%, recall>=0.05", 0.5, 4.0).unwrap();
    assert_eq!(loose.active, [false, false]);
    assert!(gaps.iter().all(|gap| *gap < -0.01));
    assert!((free.thresholds[0] - loose.thresholds[0]).abs() < 1e-4);
    let (tight, gaps) = solve_smooth("f1 @ fpr<=10%, recall>=0.05", 0.5, 4.0).unwrap();
    assert_eq!(tight.active, [true, false]);
    assert!(gaps[0].abs() < 1e-6 && tight.thresholds[0] > free.thresholds[0]);
}

#[test]
fn goals_out_of_reach_are_refused() {
    let error = solve_smooth("recall @ precision>=0.99", 0.5, 4.0).unwrap_err();
    assert!(matches!(error, ThresholdError::Infeasible { condition: 0, .. }), "{error}");
    let error = solve_smooth("precision @ recall>=0.99, fpr<=1%", 0.5, 4.0).unwrap_err();
    assert!(error.to_string().starts_with("no thresholds meet condition"), "{error}");
}

#[test]
fn equalities_beyond_the_thresholds_are_refused() {
    let (sample, ..) = reference(30, 1.0);
    let error = Problem::new(&goal("f1 @ fpr=1%, positive-rate=5%"), &sample, &ProblemOptions::default())
        .unwrap_err();
    assert!(
        error.to_string().starts_with("2 equalities need as many thresholds, but the goal has 1"),
        "{error}"
    );
    let equal = Problem::new(&goal("f1 @ fpr=1%"), &sample, &ProblemOptions::default()).unwrap();
    assert_eq!(equal.conditions()[0].sense, Sense::Equal);
}
