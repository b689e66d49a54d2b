//! Everything here runs on the plain `f64` reference of counts, so that what is
//! tested is the mathematics; `count/tests.rs` ties the fast kernels to it.

use super::*;
use crate::Goal;
use crate::count::reference::Reference;
use crate::count::{Count, Counter};
use crate::goal::Rate;
use crate::problem::ProblemOptions;
use crate::sample::Sample;
use crate::surrogate::Surrogate;
use crate::threshold::smooth::{self, Request, SmoothOptions, SmoothThresholds};
use crate::threshold::track;

const FEATURES: usize = 4;
const TIGHT: SmoothOptions = SmoothOptions { tolerance: 1e-11, passes: 400 };

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
        let goal: Goal = goal.parse().unwrap_or_else(|error| panic!("{error}"));
        Problem::new(&goal, &self.sample, &ProblemOptions::default()).unwrap()
    }

    fn source(&self, problem: &Problem, parameters: &[f64; FEATURES]) -> Reference<'_> {
        let score = |x: &[f64; FEATURES]| x.iter().zip(parameters).map(|(x, w)| x * w).sum();
        Reference {
            sample: &self.sample,
            by_group: problem.per_group(),
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
        let solved = smooth::solve(problem, &mut source, request, &TIGHT, &mut cells).unwrap();
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

fn grid(problem: &Problem, thresholds: &[f64]) -> Vec<f64> {
    let mut grid = vec![0.0; problem.shape().cells() / 2];
    problem.fill_grid(thresholds, &mut grid);
    grid
}

const PARAMETERS: [f64; FEATURES] = [0.9, 0.4, -0.2, 0.1];

/// Every family of the goal language.
const GOALS: [&str; 24] = [
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
];

fn check_gradient(case: &Case, goal: &str, regulariser: f64) {
    let problem = case.problem(goal);
    let start = vec![0.3; problem.thresholds()];
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
    for feature in 0..FEATURES {
        let numeric = (8.0 * (total(feature, 1.0) - total(feature, -1.0))
            - (total(feature, 2.0) - total(feature, -2.0)))
            / (12.0 * step);
        let error = (gradient[feature] - numeric).abs() / size;
        assert!(
            error < 1e-6,
            "{goal} ({:?}), parameter {feature}: {} is not {numeric} ({error:e})",
            case.surrogate,
            gradient[feature]
        );
    }
    let (sum, absolute) = v.iter().fold((0.0, 0.0), |(s, a), v| (s + v, a + v.abs()));
    assert!(f64::abs(sum) <= 1e-8 * absolute, "{goal}: the score gradient sums to {sum:e} of {absolute:e}");
}

#[test]
fn gradient_matches_finite_differences_through_the_resolved_threshold() {
    let case = Case::new(Surrogate::Sigmoid, 4.0);
    for goal in GOALS {
        check_gradient(&case, goal, 0.0);
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
