use std::convert::Infallible;

use super::*;
use crate::artifact::TensorData;
use crate::features::Features;
use crate::model::{Linear, Model, Rows};

type Make = fn() -> Box<dyn Optimizer>;

fn first_order() -> [(&'static str, Make); 3] {
    [
        ("sgd", || Box::new(Sgd::new(0.1).unwrap())),
        ("adagrad", || Box::new(Adagrad::new(1.0).unwrap())),
        ("adam", || Box::new(Adam::new(0.02).unwrap())),
    ]
}

/// Gradient of (x - 3)^2 + 2 (y + 1)^2.
fn bowl(p: &[f32]) -> [f32; 2] {
    [2.0 * (p[0] - 3.0), 4.0 * (p[1] + 1.0)]
}

#[test]
fn first_order_methods_reach_the_bottom_of_a_bowl() {
    for (name, make) in first_order() {
        let mut optimizer = make();
        let mut p = [0.0; 2];
        for _ in 0..1000 {
            let gradient = bowl(&p);
            optimizer.step(&mut p, &gradient).unwrap();
        }
        assert!((p[0] - 3.0).abs() < 1e-3 && (p[1] + 1.0).abs() < 1e-3, "{name}: {p:?}");
    }
}

#[test]
fn a_restored_optimizer_goes_on_to_the_last_bit() {
    for (name, make) in first_order() {
        for cut in [0, 1, 7] {
            let (mut whole, mut p) = (make(), [0.5, 0.25]);
            let (mut resumed, mut q) = (make(), p);
            for step in 0..12 {
                if step == cut {
                    (resumed, q) = (make(), p);
                    resumed.restore(&whole.state()).unwrap();
                }
                let gradient = bowl(&p);
                whole.step(&mut p, &gradient).unwrap();
                if step >= cut {
                    let gradient = bowl(&q);
                    resumed.step(&mut q, &gradient).unwrap();
                }
            }
            assert_eq!(p.map(f32::to_bits), q.map(f32::to_bits), "{name}, cut at {cut}");
            assert_eq!(whole.state(), resumed.state(), "{name}, cut at {cut}");
        }
    }
}

#[test]
fn bad_gradients_change_nothing() {
    for (name, make) in first_order() {
        let mut optimizer = make();
        let mut p = [1.0, 2.0];
        optimizer.step(&mut p, &[0.1, 0.1]).unwrap();
        let (before, state) = (p, optimizer.state());
        let error = optimizer.step(&mut p, &[0.1, f32::INFINITY]).unwrap_err();
        assert_eq!(error, OptimizerError::Gradient { index: 1, value: f32::INFINITY }, "{name}");
        assert!(matches!(optimizer.step(&mut p, &[0.1]), Err(OptimizerError::Length { .. })), "{name}");
        assert_eq!((p, optimizer.state()), (before, state), "{name}");
    }
}

#[test]
fn states_of_another_kind_are_refused() {
    let adam = Adam::new(0.1).unwrap();
    let error = Adagrad::new(0.1).unwrap().restore(&adam.state()).unwrap_err();
    assert_eq!(error, OptimizerError::State { name: "accumulator".into() });
    assert!(Lbfgs::restore(LbfgsConfig::default(), &adam.state()).is_err());
}

fn rosenbrock(p: &[f32], gradient: &mut [f64]) -> Result<f64, Infallible> {
    let (x, y) = (f64::from(p[0]), f64::from(p[1]));
    let bend = y - x * x;
    gradient.copy_from_slice(&[-400.0 * x * bend - 2.0 * (1.0 - x), 200.0 * bend]);
    Ok(100.0 * bend * bend + (1.0 - x) * (1.0 - x))
}

#[test]
fn lbfgs_walks_the_valley_of_rosenbrock() {
    let config = LbfgsConfig { decrease_tolerance: 0.0, gradient_tolerance: 1e-4, ..Default::default() };
    let mut lbfgs = Lbfgs::new(config, vec![-1.2, 1.0]).unwrap();
    let stop = lbfgs.minimize(&mut rosenbrock).unwrap();
    assert_eq!(stop, Stop::SmallGradient);
    assert!((lbfgs.parameters()[0] - 1.0).abs() < 1e-4);
    // 42 when this was written; the bound leaves room for a change of the line search, not for a slip.
    let evaluations = lbfgs.iterate().evaluations;
    assert!(evaluations <= 50, "{evaluations} evaluations");
}

#[test]
fn lbfgs_restored_between_iterations_goes_on_to_the_last_bit() {
    let config = LbfgsConfig { decrease_tolerance: 0.0, memory: 3, ..Default::default() };
    let mut whole = Lbfgs::new(config, vec![-1.2, 1.0]).unwrap();
    for _ in 0..15 {
        let mut resumed = Lbfgs::restore(config, &whole.state()).unwrap();
        for _ in 0..4 {
            resumed.next_iter(&mut rosenbrock).unwrap();
        }
        let mut ahead = whole.clone();
        for _ in 0..4 {
            ahead.next_iter(&mut rosenbrock).unwrap();
        }
        assert_eq!(ahead.state().entries.len(), 6);
        assert_eq!(format!("{:?}", ahead.state()), format!("{:?}", resumed.state()));
        whole.next_iter(&mut rosenbrock).unwrap();
    }
}

#[test]
fn lbfgs_backs_away_from_where_there_is_no_value() {
    // x - ln x, minimum at 1, no value from 0 down; first steps of 100 shoot past it.
    let mut barrier = |p: &[f32], gradient: &mut [f64]| {
        let x = f64::from(p[0]);
        gradient[0] = 1.0 - 1.0 / x;
        Ok::<_, Infallible>(x - x.ln())
    };
    let config = LbfgsConfig { first_step: 100.0, ..Default::default() };
    for start in [0.05, 9.0] {
        let mut lbfgs = Lbfgs::new(config, vec![start]).unwrap();
        lbfgs.minimize(&mut barrier).unwrap();
        assert!((lbfgs.parameters()[0] - 1.0).abs() < 1e-3, "{start}: {:?}", lbfgs.iterate());
    }
    let mut lbfgs = Lbfgs::new(config, vec![-1.0]).unwrap();
    assert_eq!(lbfgs.next_iter(&mut barrier), Ok(Outcome::Done(Stop::NotFinite)));
}

#[test]
fn lbfgs_restarts_when_the_curvature_it_remembers_is_of_no_use() {
    let config = LbfgsConfig { decrease_tolerance: 0.0, gradient_tolerance: 1e-4, ..Default::default() };
    let mut lbfgs = Lbfgs::new(config, vec![-1.2, 1.0]).unwrap();
    for _ in 0..5 {
        lbfgs.next_iter(&mut rosenbrock).unwrap();
    }
    // Turn the remembered curvature upside down: the direction now points uphill.
    let mut state = lbfgs.state();
    let Some(TensorData::F64(changes)) = state.entries.get_mut("changes") else { unreachable!() };
    changes.iter_mut().for_each(|change| *change = -*change);
    let mut lbfgs = Lbfgs::restore(config, &state).unwrap();
    let stop = lbfgs.minimize(&mut rosenbrock);
    assert_eq!((stop, lbfgs.restarts()), (Ok(Stop::SmallGradient), 1));
}

#[test]
fn lbfgs_gives_up_on_a_gradient_that_points_uphill() {
    let mut wrong = |p: &[f32], gradient: &mut [f64]| {
        gradient[0] = -2.0 * f64::from(p[0]);
        Ok::<_, Infallible>(f64::from(p[0]).powi(2))
    };
    let mut lbfgs = Lbfgs::new(LbfgsConfig::default(), vec![1.0]).unwrap();
    let stop = lbfgs.minimize(&mut wrong).unwrap();
    assert_eq!(stop, Stop::NoDescent);
    assert_eq!(lbfgs.parameters(), [1.0]);
}

#[test]
fn lbfgs_stops_when_evaluations_run_out() {
    for max_evaluations in 1..12 {
        let config = LbfgsConfig { max_evaluations, ..Default::default() };
        let mut lbfgs = Lbfgs::new(config, vec![-1.2, 1.0]).unwrap();
        let stop = lbfgs.minimize(&mut rosenbrock);
        assert_eq!(stop, Ok(Stop::Evaluations));
        assert_eq!(lbfgs.iterate().evaluations, max_evaluations);
    }
}

#[test]
fn an_error_of_the_objective_leaves_lbfgs_where_it_was() {
    let mut lbfgs = Lbfgs::new(LbfgsConfig::default(), vec![-1.2, 1.0]).unwrap();
    for _ in 0..4 {
        lbfgs.next_iter(&mut rosenbrock).unwrap();
    }
    let (before, value) = (lbfgs.parameters().to_vec(), lbfgs.iterate().value);
    assert_eq!(lbfgs.next_iter(&mut |_: &[f32], _: &mut [f64]| Err("no")), Err("no"));
    assert_eq!((lbfgs.parameters(), lbfgs.iterate().value), (&before[..], value));
    assert!(lbfgs.next_iter(&mut rosenbrock).is_ok());
}

/// Ridge-penalised logistic regression whose optimum is known from Newton's method in f64.
struct Logistic {
    features: Vec<f32>,
    labels: Vec<bool>,
    columns: usize,
}

const RIDGE: f64 = 1e-3;

impl Logistic {
    fn new(rows: usize, columns: usize) -> Self {
        let mut state = 42_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f32 / (1 << 23) as f32 - 1.0
        };
        let features: Vec<f32> = (0..rows * columns).map(|i| next() * (1 + i % columns) as f32).collect();
        let labels = features.chunks_exact(columns).map(|x| x[0] - 0.3 * x[1] + next() > 0.4).collect();
        Self { features, labels, columns }
    }

    fn penalty(&self, parameters: &[f64], gradient: &mut [f64]) -> f64 {
        let mut value = 0.0;
        for (p, g) in parameters.iter().zip(gradient).take(self.columns) {
            value += 0.5 * RIDGE * p * p;
            *g += RIDGE * p;
        }
        value
    }

    /// The score gradient of the mean log loss, and its value.
    fn loss(&self, scores: &[f32], v: &mut [f32]) -> f64 {
        let count = scores.len() as f64;
        let terms = scores.iter().zip(&self.labels).zip(v).map(|((score, label), v)| {
            let margin = if *label { f64::from(*score) } else { -f64::from(*score) };
            let miss = 1.0 / (1.0 + margin.exp());
            *v = (if *label { -miss } else { miss } / count) as f32;
            (-margin).max(0.0) + (-margin.abs()).exp().ln_1p()
        });
        terms.sum::<f64>() / count
    }

    fn optimum(&self) -> Vec<f64> {
        let width = self.columns + 1;
        let mut p = vec![0.0; width];
        for _ in 0..30 {
            let (mut gradient, mut hessian) = (vec![0.0; width], vec![0.0; width * width]);
            for (row, label) in self.features.chunks_exact(self.columns).zip(&self.labels) {
                let x: Vec<f64> = row.iter().chain([&1.0]).map(|x| f64::from(*x)).collect();
                let score: f64 = x.iter().zip(&p).map(|(x, p)| x * p).sum();
                let chance = 1.0 / (1.0 + (-score).exp());
                let count = self.labels.len() as f64;
                for i in 0..width {
                    gradient[i] += (chance - f64::from(u8::from(*label))) * x[i] / count;
                    for j in 0..width {
                        hessian[i * width + j] += chance * (1.0 - chance) * x[i] * x[j] / count;
                    }
                }
            }
            self.penalty(&p, &mut gradient);
            (0..self.columns).for_each(|i| hessian[i * width + i] += RIDGE);
            solve(&mut hessian, &mut gradient);
            p.iter_mut().zip(&gradient).for_each(|(p, step)| *p -= step);
        }
        p
    }
}

/// Gaussian elimination without pivoting, fine for a positive definite matrix.
fn solve(a: &mut [f64], b: &mut [f64]) {
    let n = b.len();
    for k in 0..n {
        for i in k + 1..n {
            let factor = a[i * n + k] / a[k * n + k];
            (k..n).for_each(|j| a[i * n + j] -= factor * a[k * n + j]);
            b[i] -= factor * b[k];
        }
    }
    for k in (0..n).rev() {
        let rest: f64 = (k + 1..n).map(|j| a[k * n + j] * b[j]).sum();
        b[k] = (b[k] - rest) / a[k * n + k];
    }
}

#[test]
fn every_method_finds_the_optimum_of_a_logistic_regression() {
    let problem = Logistic::new(700, 6);
    let optimum = problem.optimum();
    let mut model = Linear::new(Features::from_row_major(problem.features.clone(), problem.columns).unwrap());
    let (mut scores, mut v, mut slopes) = (vec![0.0; 700], vec![0.0; 700], vec![0.0; 7]);
    let mut evaluate = |p: &[f32], gradient: &mut [f64]| {
        model.scores(p, Rows::All, &mut scores)?;
        let loss = problem.loss(&scores, &mut v);
        model.backward(p, &v, &mut slopes)?;
        gradient.iter_mut().zip(&slopes).for_each(|(g, slope)| *g = f64::from(*slope));
        let wide: Vec<f64> = p.iter().map(|p| f64::from(*p)).collect();
        Ok::<_, crate::model::ModelError>(loss + problem.penalty(&wide, gradient))
    };
    let worst =
        |p: &[f32]| p.iter().zip(&optimum).map(|(p, best)| (f64::from(*p) - best).abs()).fold(0.0, f64::max);

    let config = LbfgsConfig { decrease_tolerance: 0.0, gradient_tolerance: 1e-6, ..Default::default() };
    let mut lbfgs = Lbfgs::new(config, vec![0.0; 7]).unwrap();
    let stop = lbfgs.minimize(&mut evaluate).unwrap();
    let iterate = lbfgs.iterate();
    // The smallest curvature at the optimum is 0.0204, so a gradient g is at most g / 0.02 away from
    // it; the gradient itself carries about 1e-7 of rounding.
    let distance = (iterate.gradient_norm + 1e-7) / 0.02;
    assert!(worst(lbfgs.parameters()) < distance, "{stop:?} {iterate:?} {optimum:?}");
    assert!(iterate.gradient_norm < 1e-5, "{stop:?} {iterate:?}");
    assert!(iterate.evaluations <= 30, "{} evaluations", iterate.evaluations);
    assert!(iterate.evaluations <= iterate.iteration + 5, "{iterate:?}: more than one trial a step");

    for (name, make) in first_order() {
        let (mut optimizer, mut p, mut gradient) = (make(), vec![0.0; 7], vec![0.0; 7]);
        for _ in 0..5000 {
            evaluate(&p, &mut gradient).unwrap();
            let gradient: Vec<f32> = gradient.iter().map(|g| *g as f32).collect();
            optimizer.step(&mut p, &gradient).unwrap();
        }
        assert!(worst(&p) < 1e-2, "{name}: {p:?} for {optimum:?}");
    }
}
