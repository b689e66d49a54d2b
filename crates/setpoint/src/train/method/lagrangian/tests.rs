use super::super::plane::{clouds, descend, value_and_best};
use super::*;
use crate::count::Count;
use crate::count::reference::Reference;
use crate::sample::Sample;

fn options(learning_rate: f64, dual_learning_rate: f64) -> LagrangianOptions {
    LagrangianOptions { learning_rate, dual_learning_rate, problem: ProblemOptions::default() }
}

/// Overlapping classes with weights and two groups.
fn sample() -> (Sample, Vec<f32>) {
    let rows = 60;
    let sample = Sample::new((0..rows).map(|i| i % 3 == 0).collect())
        .unwrap()
        .with_weights((0..rows).map(|i| 0.5 + (i % 7) as f32 / 4.0).collect())
        .unwrap()
        .with_groups("g", vec!["a".into(), "b".into()], (0..rows).map(|i| u32::from(i % 5 < 2)).collect())
        .unwrap();
    let scores =
        (0..rows).map(|i| (i as f32 * 0.618_034).fract() * 4.0 - 2.0 + f32::from(u8::from(i % 3 == 0)));
    (sample, scores.collect())
}

const GOALS: [&str; 8] = [
    "recall @ fpr<=20%",
    "fnr @ fpr=0.2",
    "roc-auc @ fpr in 0..30%",
    "pr-auc @ recall in 0.8..1",
    "recall @ precision>=0.6",
    "accuracy @ gap(positive-rate, g)<=0.02",
    "f1",
    "precision @ top=20%",
];

/// A Lagrangian with thresholds and multipliers that say something.
fn lagrangian(goal: &str, sample: &Sample, scores: &[f32]) -> (Lagrangian, Vec<f64>, Vec<f32>) {
    let mut lagrangian = Lagrangian::new(&goal.parse().unwrap(), sample, options(0.05, 0.5)).unwrap();
    let mut players = lagrangian.start(sample, scores).unwrap();
    players.thresholds.iter_mut().enumerate().for_each(|(j, t)| *t = 0.25 - 0.125 * j as f32);
    players.multipliers.iter_mut().enumerate().for_each(|(k, m)| *m = 0.5 + 0.25 * k as f32);
    let (grid, multipliers) = (lagrangian.grid(&players.thresholds), players.multipliers.clone());
    lagrangian.players = Some(players);
    (lagrangian, grid, multipliers)
}

#[test]
fn gradients_by_scores_and_by_thresholds_match_finite_differences() {
    let (sample, scores) = sample();
    for goal in GOALS {
        let (mut lagrangian, grid, multipliers) = lagrangian(goal, &sample, &scores);
        let per_group = lagrangian.problem.by_group();
        let groups = lagrangian.problem.shape().groups;
        let mut exact = vec![Cell::default(); 2 * grid.len()];
        count_exact(&sample, groups, &scores, &grid, &mut exact).unwrap();
        let bound = lagrangian.bound(&exact, &multipliers);
        // The bound in f64, with its coefficients held, at other scores and thresholds.
        let value = |scores: Vec<f64>, grid: &[f64]| {
            let (surrogate, sharpness) = (Surrogate::Softplus, 1.0);
            let mut reference =
                Reference { sample: &sample, by_group: per_group, surrogate, sharpness, scores };
            let mut cells = exact.clone();
            reference.count(grid, &mut cells).unwrap();
            bound.value(&cells)
        };
        let wide = || scores.iter().map(|score| f64::from(*score)).collect::<Vec<f64>>();
        let h = 1e-4;
        let mut v = vec![0.0; scores.len()];
        let reported = lagrangian.evaluate(&sample, &scores, &mut v).unwrap();
        assert!((reported - value(wide(), &grid)).abs() < 1e-5, "{goal}");
        for row in 0..scores.len() {
            let at = |h: f64| {
                let mut moved = wide();
                moved[row] += h;
                value(moved, &grid)
            };
            let numeric = (at(h) - at(-h)) / (2.0 * h);
            // The kernels are within 1e-5 of each term; differences err by h² = 1e-8 of them.
            assert!((f64::from(v[row]) - numeric).abs() < 1e-5, "{goal}: {} is not {numeric}", v[row]);
        }
        let mut cells = exact.clone();
        lagrangian.counter.count(&sample, &scores, &grid, false, &mut cells).unwrap();
        let slopes = bound.by_threshold(&lagrangian.problem, &cells);
        let moved = lagrangian.thresholds().unwrap();
        for (j, slope) in slopes.iter().enumerate() {
            let at = |h: f64| {
                let mut thresholds: Vec<f64> = (0..slopes.len()).map(|j| 0.25 - 0.125 * j as f64).collect();
                thresholds[j] += h;
                let mut grid = grid.clone();
                lagrangian.problem.fill_grid(&thresholds, &mut grid);
                value(wide(), &grid)
            };
            let numeric = (at(h) - at(-h)) / (2.0 * h);
            assert!((f64::from(*slope) - numeric).abs() < 1e-4, "{goal}: {slope} is not {numeric}");
            // Adam's first step is one learning rate downhill.
            let step = moved[j] - (0.25 - 0.125 * j as f32);
            assert!((step + 0.05 * slope.signum()).abs() < 1e-4, "{goal}: {step} for {slope}");
        }
    }
}

#[test]
fn the_bound_is_the_lagrangian_at_exact_counts_and_never_rewards_a_larger_surrogate() {
    let (sample, scores) = sample();
    for goal in GOALS {
        let (lagrangian, grid, multipliers) = lagrangian(goal, &sample, &scores);
        let mut exact = vec![Cell::default(); 2 * grid.len()];
        count_exact(&sample, lagrangian.problem.shape().groups, &scores, &grid, &mut exact).unwrap();
        let bound = lagrangian.bound(&exact, &multipliers);
        let violations = lagrangian.violations(&exact);
        let expected = violations
            .iter()
            .zip(&multipliers)
            .fold(lagrangian.problem.loss().value(&exact), |sum, (g, m)| sum + g * f64::from(*m));
        assert!((bound.value(&exact) - expected).abs() < 1e-12, "{goal}");
        assert!(bound.partials.iter().all(|partial| partial.positive >= 0.0 && partial.negative >= 0.0));
        for (limit, violation) in lagrangian.limits.iter().zip(violations) {
            let g = lagrangian.problem.conditions()[limit.condition].expression.value(&exact);
            assert!((limit.sign * g - violation).abs() < 1e-12, "{goal}: {g} is not {violation}");
        }
    }
}

#[test]
fn a_precision_without_predictions_is_neither_met_nor_missed() {
    let (sample, scores) = sample();
    let (lagrangian, ..) = lagrangian("recall @ precision>=0.6", &sample, &scores);
    let mut exact = vec![Cell::default(); 2];
    count_exact(&sample, 1, &scores, &[99.0], &mut exact).unwrap();
    assert_eq!(lagrangian.violations(&exact), [0.0]);
    assert!(lagrangian.bound(&exact, &[1.0]).partials.iter().all(|partial| partial.positive.is_finite()));
}

#[test]
fn it_comes_to_the_best_direction_and_holds_the_limit() {
    let goal: Goal = "recall @ fpr<=10%".parse().unwrap();
    let (mut model, sample) = clouds(3000);
    let mut loss = Lagrangian::new(&goal, &sample, options(0.02, 0.05)).unwrap();
    let (mut rates, mut kept) = (Vec::new(), 0);
    let parameters = descend(&mut loss, &mut model, &sample, [0.0; 3], 3000, |step, loss, scores| {
        let Some(thresholds) = loss.thresholds() else { return };
        assert!(loss.multipliers().unwrap().iter().all(|multiplier| *multiplier >= 0.0));
        if step >= 2500 {
            let mut cells = [Cell::default(); 2];
            count_exact(&sample, 1, scores, &[f64::from(thresholds[0])], &mut cells).unwrap();
            rates.push(cells[0].positive / (cells[0].positive + cells[0].negative));
            kept += usize::from(loss.multipliers().unwrap()[0] > 0.0);
        }
    });
    // Players of a game circle around the answer: its own threshold holds the limit on average, to
    // within a tenth of it.
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    assert!((mean - 0.1).abs() < 0.01, "fpr {mean}");
    assert_eq!(kept, rates.len(), "an active limit has a price");
    // 750 positives: a recall is known to 0.0013; the optimum over directions is flat.
    let (value, best) = value_and_best(&goal, &mut model, &sample, &parameters);
    assert!(value > best - 0.01, "{value} of {best}");
}

#[test]
fn a_limit_that_does_not_bind_costs_nothing() {
    let (mut model, sample) = clouds(1000);
    let mut loss =
        Lagrangian::new(&"error @ fpr<=90%".parse().unwrap(), &sample, options(0.02, 0.5)).unwrap();
    descend(&mut loss, &mut model, &sample, [1.0, 0.0, 0.0], 200, |_, _, _| {});
    assert_eq!(loss.multipliers(), Some(&[0.0f32][..]));
}

#[test]
fn the_state_goes_on_to_the_last_bit_and_a_bad_one_is_refused() {
    let (sample, scores) = sample();
    let goal: Goal = "roc-auc @ fpr in 0..30%".parse().unwrap();
    let mut v = vec![0.0; scores.len()];
    let mut whole = Lagrangian::new(&goal, &sample, options(0.05, 0.5)).unwrap();
    for _ in 0..5 {
        whole.evaluate(&sample, &scores, &mut v).unwrap();
    }
    let mut other = Lagrangian::new(&goal, &sample, options(0.05, 0.5)).unwrap();
    other.restore(&whole.state()).unwrap();
    for _ in 0..5 {
        assert_eq!(
            whole.evaluate(&sample, &scores, &mut v).unwrap(),
            other.evaluate(&sample, &scores, &mut v).unwrap()
        );
    }
    assert_eq!(whole.state(), other.state());
    let mut state = whole.state();
    state.entries.remove("multipliers mean");
    assert!(other.restore(&state).is_err());
}

#[test]
fn step_sizes_must_be_positive() {
    let (sample, _) = sample();
    for (primal, dual) in [(0.0, 0.1), (0.1, f64::NAN)] {
        let refused = Lagrangian::new(&"f1".parse().unwrap(), &sample, options(primal, dual));
        assert!(matches!(refused, Err(TrainError::Optimizer(OptimizerError::Setting { .. }))));
    }
}
