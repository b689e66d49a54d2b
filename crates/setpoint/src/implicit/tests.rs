//! Everything here runs on the plain `f64` reference of counts, so that what is
//! tested is the mathematics; `count/tests.rs` ties the fast kernels to it.

use super::*;
use crate::Goal;
use crate::count::reference::Reference;
use crate::count::{Count, Counter};
use crate::problem::ProblemOptions;
use crate::sample::Sample;
use crate::surrogate::Surrogate;
use crate::threshold::smooth::{self, Request, SmoothOptions, SmoothThresholds};
use crate::threshold::{exact, track};

const FEATURES: usize = 4;
const TIGHT: SmoothOptions = SmoothOptions { tolerance: 1e-11, noise: 0.0, passes: 400 };

/// A small linear problem: two overlapping classes, two groups that differ, uneven weights.
struct Case {
    sample: Sample,
    features: Vec<[f64; FEATURES]>,
    surrogate: Surrogate,
    sharpness: f64,
}

impl Case {
    fn new(surrogate: Surrogate, sharpness: f64) -> Self {
        let rows = 260;
        let mut state = 7u64;
        // A linear congruential generator: the tests need plausible data, not good randomness.
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let mut normal = || (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
        let labels: Vec<bool> = (0..rows).map(|row| row % 4 == 0).collect();
        let groups: Vec<u32> = (0..rows).map(|row| u32::from(row % 7 < 3)).collect();
        let features = (0..rows)
            .map(|row| {
                let (signal, shift) = (if labels[row] { 1.2 } else { 0.0 }, f64::from(groups[row]) * 0.5);
                [signal + normal(), 0.5 * signal + shift + normal(), shift + normal(), 1.0]
            })
            .collect();
        let weights = (0..rows).map(|row| 0.5 + (row % 5) as f32 * 0.25).collect();
        let sample = Sample::new(labels)
            .unwrap()
            .with_weights(weights)
            .unwrap()
            .with_groups("g", vec!["a".into(), "b".into()], groups)
            .unwrap();
        Self { sample, features, surrogate, sharpness }
    }

    fn problem(&self, goal: &str) -> Problem {
        let goal = parsed(goal);
        Problem::new(&goal, &self.sample, &ProblemOptions::default()).unwrap()
    }

    /// The same with what decisions pay by such a goal, its amounts from a column of uneven numbers.
    fn paying(mut self, goal: &str) -> Self {
        if let Some(money) = parsed(goal).money() {
            let amounts: Vec<f64> = (0..self.sample.len()).map(|row| 2.0 + (row % 11) as f64).collect();
            let pays = money.pays(self.sample.labels(), &[amounts]);
            self.sample = self.sample.with_stakes(money.profit, pays).unwrap();
        }
        self
    }

    /// Where a search for the thresholds starts: of two, where the engine would start.
    fn start(&self, goal: &str, problem: &Problem) -> Vec<f64> {
        let goal = parsed(goal);
        if !goal.abstains() {
            return vec![0.3; problem.thresholds()];
        }
        let scores: Vec<f32> = self.source(problem, &PARAMETERS).scores.iter().map(|s| *s as f32).collect();
        let found = exact::solve(&goal, &self.sample, &scores, &ProblemOptions::default()).unwrap();
        found.thresholds.iter().map(|t| f64::from(*t)).collect()
    }

    fn source(&self, problem: &Problem, parameters: &[f64; FEATURES]) -> Reference<'_> {
        let score = |x: &[f64; FEATURES]| x.iter().zip(parameters).map(|(x, w)| x * w).sum();
        Reference {
            sample: &self.sample,
            by_group: problem.by_group(),
            surrogate: self.surrogate,
            sharpness: self.sharpness,
            scores: self.features.iter().map(score).collect(),
        }
    }

    /// Solves the thresholds from `start` and differentiates there.
    fn derivative(
        &self,
        problem: &Problem,
        parameters: &[f64; FEATURES],
        start: &[f64],
        slack: Option<&[f64]>,
        regulariser: f64,
    ) -> (SmoothThresholds, Derivative) {
        let mut source = self.source(problem, parameters);
        let mut cells = vec![Cell::default(); problem.shape().cells()];
        let free = vec![false; problem.thresholds()];
        let request = Request { sharpness: self.sharpness, start, free: &free, slack };
        let solved = smooth::solve(problem, &mut source, request, &TIGHT, &mut cells)
            .unwrap_or_else(|error| panic!("{error}: {problem:?}"));
        let options = ImplicitOptions { regulariser, ..ImplicitOptions::default() };
        let mut out = Derivative::default();
        differentiate(problem, &cells, self.sharpness, &solved.active, &free, &options, &mut out).unwrap();
        (solved, out)
    }

    /// v at the solution, and its image in the parameters.
    fn gradient(
        &self,
        problem: &Problem,
        parameters: &[f64; FEATURES],
        thresholds: &[f64],
        out: &Derivative,
    ) -> (Vec<f64>, [f64; FEATURES]) {
        let v = self.source(problem, parameters).gradient(&grid(problem, thresholds), &out.partials);
        let mut gradient = [0.0; FEATURES];
        for (x, v) in self.features.iter().zip(&v) {
            gradient.iter_mut().zip(x).for_each(|(g, x)| *g += x * v);
        }
        (v, gradient)
    }
}

fn parsed(goal: &str) -> Goal {
    goal.parse().unwrap_or_else(|error| panic!("{error}"))
}

fn grid(problem: &Problem, thresholds: &[f64]) -> Vec<f64> {
    let mut grid = vec![0.0; problem.shape().grid()];
    problem.fill_grid(thresholds, &mut grid);
    grid
}

const PARAMETERS: [f64; FEATURES] = [0.9, 0.4, -0.2, 0.1];

/// Every family of the goal language.
const GOALS: [&str; 33] = [
    "recall @ fpr<=5%",
    "fnr @ fpr=0.1",
    "tnr @ recall>=0.9",
    "precision @ recall>=0.9",
    "precision @ recall=0.7",
    "precision @ top=20%",
    "recall @ precision>=0.5",
    "npv @ fpr<=20%, positive-rate<=40%",
    "fdr @ recall>=0.6",
    "recall @ precision>=0.45, fpr<=20%",
    "pr-auc @ recall in 0.8..1",
    "pr-auc @ precision in 0.4..0.6",
    "roc-auc @ fpr in 0..20%",
    "roc-auc @ recall in 0.8..1",
    "f1",
    "f2",
    "balanced-accuracy",
    "error @ positive-rate<=10%",
    "accuracy @ npv>=0.9",
    "recall @ fpr(g)<=10%",
    "accuracy @ gap(positive-rate, g)<=0.02",
    "accuracy @ gap(positive-rate, g)=0",
    "balanced-accuracy @ ratio(positive-rate, g)>=0.9",
    "f1 @ gap(recall, g)<=0.02, fpr<=25%",
    "profit(tp=a, fp=-5)",
    "cost(fp=3, fn=a, tn=-0.5)",
    "profit(tp=a, fp=-5) @ positive-rate<=10%",
    "cost(fp=3, fn=a) @ fpr(g)<=15%",
    "coverage @ precision>=0.6, npv>=0.9",
    "coverage @ error<=10%",
    "error @ coverage>=0.8",
    "recall @ precision>=0.5, coverage>=0.7",
    "accuracy @ coverage=0.7, fnr<=10%",
];

fn check_gradient(case: &Case, goal: &str, regulariser: f64) {
    let problem = case.problem(goal);
    let start = case.start(goal, &problem);
    let (solved, out) = case.derivative(&problem, &PARAMETERS, &start, None, regulariser);
    let (v, gradient) = case.gradient(&problem, &PARAMETERS, &solved.thresholds, &out);
    // Fourth-order central differences: error about step⁴ and 1e-11 / step, both below 1e-8.
    let step = 2e-3;
    let total = |feature: usize, times: f64| {
        let mut moved = PARAMETERS;
        moved[feature] += times * step;
        let (_, out) = case.derivative(&problem, &moved, &solved.thresholds, None, regulariser);
        out.loss + out.penalty
    };
    let size = gradient.iter().fold(0.0f64, |m, g| m.max(g.abs()));
    for (feature, exact) in gradient.into_iter().enumerate() {
        let numeric = (8.0 * (total(feature, 1.0) - total(feature, -1.0))
            - (total(feature, 2.0) - total(feature, -2.0)))
            / (12.0 * step);
        let error = (exact - numeric).abs() / size;
        assert!(
            error < 1e-6,
            "{goal} ({:?}), parameter {feature}: {exact} is not {numeric} ({error:e})",
            case.surrogate
        );
    }
    let (sum, absolute) = v.iter().fold((0.0, 0.0), |(s, a), v| (s + v, a + v.abs()));
    assert!(f64::abs(sum) <= 1e-8 * absolute, "{goal}: the score gradient sums to {sum:e} of {absolute:e}");
}

#[test]
fn gradient_matches_finite_differences_through_the_resolved_threshold() {
    for goal in GOALS {
        check_gradient(&Case::new(Surrogate::Sigmoid, 4.0).paying(goal), goal, 0.0);
    }
}

#[test]
fn gradient_matches_finite_differences_with_softplus() {
    let case = Case::new(Surrogate::Softplus, 2.0);
    for goal in [
        "recall @ fpr<=5%",
        "fnr @ fpr=0.1",
        "fpr @ fnr=0.2",
        "precision @ recall=0.7",
        "precision @ top=20%",
        "roc-auc @ fpr in 0..20%",
        "pr-auc @ recall in 0.8..1",
        "recall @ fpr(g)<=10%",
    ] {
        check_gradient(&case, goal, 0.0);
    }
}

#[test]
fn gradient_of_the_regulariser_matches_finite_differences() {
    for (surrogate, sharpness) in [(Surrogate::Sigmoid, 4.0), (Surrogate::Softplus, 2.0)] {
        let case = Case::new(surrogate, sharpness);
        for goal in [
            "recall @ fpr=5%",
            "precision @ recall=0.7",
            "roc-auc @ fpr in 0..20%",
            "pr-auc @ precision in 0.4..0.5",
            "recall @ fpr(g)<=10%",
        ] {
            check_gradient(&case, goal, 0.3);
        }
    }
}

#[test]
fn the_fast_kernels_agree_with_the_reference_end_to_end() {
    for (surrogate, sharpness) in [(Surrogate::Sigmoid, 4.0), (Surrogate::Softplus, 2.0)] {
        for goal in GOALS {
            let case = Case::new(surrogate, sharpness).paying(goal);
            let problem = case.problem(goal);
            // The reference sees the rounded scores too, so that only the kernels differ.
            let mut plain = case.source(&problem, &PARAMETERS);
            let scores: Vec<f32> = plain.scores.iter().map(|s| *s as f32).collect();
            plain.scores = scores.iter().map(|s| f64::from(*s)).collect();
            let thresholds: Vec<f64> = (0..problem.thresholds()).map(|j| 0.8 + 0.05 * j as f64).collect();
            let grid = grid(&problem, &thresholds);
            let mut fast = Counter::new(problem.shape().groups, surrogate, sharpness);
            let mut cells = [
                vec![Cell::default(); problem.shape().cells()],
                vec![Cell::default(); problem.shape().cells()],
            ];
            plain.count(&grid, &mut cells[0]).unwrap();
            fast.count(&case.sample, &scores, &grid, true, &mut cells[1]).unwrap();
            let [expected, got] = [&cells[0], &cells[1]].map(|cells| {
                let rates = |expression: &Combination| {
                    expression
                        .ratios
                        .iter()
                        .map(|ratio| ratio.numerator.value(cells) / ratio.denominator.value(cells))
                        .collect::<Vec<f64>>()
                };
                problem
                    .conditions()
                    .iter()
                    .flat_map(|c| rates(&c.expression))
                    .chain(rates(problem.loss()))
                    .collect::<Vec<f64>>()
            });
            for (got, expected) in got.iter().zip(&expected) {
                assert!(
                    (got - expected).abs() <= 1e-5 * expected.abs(),
                    "{goal}: rate {got} is not {expected}"
                );
            }
            let active = vec![problem.diagonal(); problem.conditions().len()];
            let mut out = Derivative::default();
            differentiate(
                &problem,
                &cells[1],
                sharpness,
                &active,
                &vec![false; thresholds.len()],
                &ImplicitOptions::default(),
                &mut out,
            )
            .unwrap();
            let expected = plain.gradient(&grid, &out.partials);
            let mut got = vec![0.0; scores.len()];
            fast.gradient(&case.sample, &scores, &grid, &out.partials, false, &mut got).unwrap();
            let largest = expected.iter().fold(0.0f64, |m, v| m.max(v.abs()));
            for (got, expected) in got.iter().zip(&expected) {
                // Contributions of several thresholds may cancel: then the largest entry is the measure.
                let error = (f64::from(*got) - expected).abs();
                assert!(error <= 1e-4 * expected.abs() + 1e-7 * largest, "{goal}: v {got} is not {expected}");
            }
        }
    }
}

#[test]
fn tracking_errs_with_the_square_of_the_step() {
    let case = Case::new(Surrogate::Sigmoid, 4.0);
    for goal in [
        "recall @ fpr=5%",
        "precision @ recall=0.7",
        "roc-auc @ fpr in 0..20%",
        "recall @ fpr(g)<=10%",
        "accuracy @ gap(positive-rate, g)=0, fpr=10%",
    ] {
        let problem = case.problem(goal);
        let (solved, out) =
            case.derivative(&problem, &PARAMETERS, &vec![0.5; problem.thresholds()], None, 0.0);
        let mut source = case.source(&problem, &PARAMETERS);
        let mut cells = vec![Cell::default(); problem.shape().cells()];
        source.count(&grid(&problem, &solved.thresholds), &mut cells).unwrap();
        let error = |step: f64| {
            let moved = [0.9 + step, 0.4 - step, -0.2 + 0.5 * step, 0.1];
            let after = case.source(&problem, &moved);
            let motion: Vec<f64> = after.scores.iter().zip(&source.scores).map(|(a, b)| a - b).collect();
            let mut change = vec![Cell::default(); cells.len()];
            source.count_motion(&grid(&problem, &solved.thresholds), &motion, &mut change);
            let free = vec![false; problem.thresholds()];
            let from = track::Origin {
                cells: &cells,
                constraint_slopes: &out.constraint_slopes,
                active: &solved.active,
                free: &free,
            };
            let dt = track::motion(&problem, from, &change, &vec![0.0; solved.active.len()], 0.0);
            let (resolved, _) = case.derivative(&problem, &moved, &solved.thresholds, None, 0.0);
            let errors = (0..dt.len()).map(|j| (solved.thresholds[j] + dt[j] - resolved.thresholds[j]).abs());
            errors.fold(0.0, f64::max)
        };
        let (coarse, fine) = (error(2e-2), error(1e-2));
        // Halving the step quarters a second-order error; third-order terms bend that a little.
        assert!((3.0..5.0).contains(&(coarse / fine)), "{goal}: {coarse:e} and {fine:e}");
    }
}

#[test]
fn a_free_threshold_has_its_own_gradient() {
    let case = Case::new(Surrogate::Sigmoid, 4.0);
    // One equality for two thresholds: the first is a parameter, the second follows.
    let problem = case.problem("accuracy @ gap(positive-rate, g)=0");
    let free = [true, false];
    let derivative = |first: f64| {
        let mut source = case.source(&problem, &PARAMETERS);
        let mut cells = vec![Cell::default(); problem.shape().cells()];
        let request = Request { sharpness: case.sharpness, start: &[first, 0.5], free: &free, slack: None };
        let solved = smooth::solve(&problem, &mut source, request, &TIGHT, &mut cells).unwrap();
        assert_eq!(solved.thresholds[0], first);
        let mut out = Derivative::default();
        differentiate(
            &problem,
            &cells,
            case.sharpness,
            &solved.active,
            &free,
            &ImplicitOptions::default(),
            &mut out,
        )
        .unwrap();
        out
    };
    let h = 1e-4;
    let numeric = (derivative(0.6 + h).loss - derivative(0.6 - h).loss) / (2.0 * h);
    let exact = derivative(0.6).free[0];
    assert!((exact - numeric).abs() < 1e-6 * exact.abs(), "{exact} is not {numeric}");
}

#[test]
fn the_price_is_the_change_of_the_loss_with_the_target_and_with_the_slack() {
    let case = Case::new(Surrogate::Sigmoid, 4.0);
    let at = |target: f64| {
        let problem = case.problem(&format!("recall @ fpr<={target}"));
        let (_, out) = case.derivative(&problem, &PARAMETERS, &[0.5], None, 0.0);
        (out.loss, out.prices[0])
    };
    let h = 1e-5;
    let numeric = (at(0.05 + h).0 - at(0.05 - h).0) / (2.0 * h);
    assert!((at(0.05).1 - numeric).abs() < 1e-6 * numeric.abs(), "{} is not {numeric}", at(0.05).1);

    let problem = case.problem("recall @ fpr<=5%");
    let slacked = |slack: f64| case.derivative(&problem, &PARAMETERS, &[0.5], Some(&[slack]), 0.0).1.loss;
    let numeric = (slacked(0.01 + h) - slacked(0.01 - h)) / (2.0 * h);
    let (_, out) = case.derivative(&problem, &PARAMETERS, &[0.5], Some(&[0.01]), 0.0);
    assert!((out.prices[0] + numeric).abs() < 1e-6 * numeric.abs(), "{} is not {numeric}", -out.prices[0]);
}

/// Proposition 1: with softplus surrogates and a linear model, fpr under fnr = β is convex.
#[test]
fn the_implicit_objective_is_convex_for_softplus_and_not_for_sigmoids() {
    let violations = |surrogate: Surrogate| {
        let case = Case::new(surrogate, 1.0);
        let problem = case.problem("fpr @ fnr=0.3");
        let mut state = 99u64;
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        };
        let mut violations = 0;
        for _ in 0..40 {
            let (from, to): ([f64; FEATURES], [f64; FEATURES]) =
                (std::array::from_fn(|_| 4.0 * uniform()), std::array::from_fn(|_| 4.0 * uniform()));
            let values: Vec<f64> = (0..=12)
                .map(|step| {
                    let along = f64::from(step) / 12.0;
                    let point = std::array::from_fn(|i| from[i] + along * (to[i] - from[i]));
                    case.derivative(&problem, &point, &[0.0], None, 0.0).1.loss
                })
                .collect();
            violations += values.windows(3).filter(|w| w[0] - 2.0 * w[1] + w[2] < -1e-9).count();
        }
        violations
    };
    assert_eq!(violations(Surrogate::Softplus), 0);
    assert!(violations(Surrogate::Sigmoid) > 10);
}

#[test]
fn flat_constraints_are_clamped_and_counted_or_refused() {
    // Two clusters far apart on the scale of the surrogate: no score near the threshold between them.
    let sample = Sample::new(vec![true, true, false, false]).unwrap();
    let problem =
        Problem::new(&"recall @ fpr=25%".parse().unwrap(), &sample, &ProblemOptions::default()).unwrap();
    let mut source = Reference {
        sample: &sample,
        by_group: false,
        surrogate: Surrogate::Sigmoid,
        sharpness: 1.0,
        scores: vec![60.0, 61.0, 0.0, 1.0],
    };
    let mut cells = vec![Cell::default(); 2];
    source.count(&[30.0], &mut cells).unwrap();
    let mut out = Derivative::default();
    let options = ImplicitOptions::default();
    differentiate(&problem, &cells, 1.0, &[true], &[false], &options, &mut out).unwrap();
    assert_eq!(out.clamped, 1);
    assert!(out.prices[0].is_finite() && out.prices[0].abs() < 1.0);
    let options = ImplicitOptions { flat: Flat::Refuse, ..options };
    let error = differentiate(&problem, &cells, 1.0, &[true], &[false], &options, &mut out).unwrap_err();
    assert!(matches!(error, ImplicitError::FlatConstraint { slope, floor } if slope < floor), "{error}");
}

#[test]
fn more_active_constraints_than_thresholds_are_refused() {
    let case = Case::new(Surrogate::Sigmoid, 4.0);
    let problem = case.problem("recall @ precision>=0.5, fpr<=10%");
    let cells = vec![
        Cell {
            positive: 1.0,
            negative: 1.0,
            positive_slope: 1.0,
            negative_slope: -1.0,
            ..Cell::default()
        };
        2
    ];
    let error = differentiate(
        &problem,
        &cells,
        1.0,
        &[true, true],
        &[false],
        &ImplicitOptions::default(),
        &mut Derivative::default(),
    );
    assert_eq!(error, Err(ImplicitError::Overdetermined { active: 2, thresholds: 1 }));
}
