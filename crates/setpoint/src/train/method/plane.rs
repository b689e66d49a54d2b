//! For tests: two clouds of points in the plane, where the best direction can be found by trying all.

use super::Loss;
use crate::Goal;
use crate::features::Features;
use crate::model::Linear;
use crate::model::{Model, Rows};
use crate::optimizer::{Adam, Optimizer};
use crate::sample::Sample;
use crate::train::Judge;

/// Normal clouds of the same shape, a quarter of the points positive: by theory the same direction is
/// best at every threshold, and for every proper surrogate.
pub(super) fn clouds(rows: usize) -> (Linear, Sample) {
    let labels: Vec<bool> = (0..rows).map(|i| i % 4 == 0).collect();
    let values = labels.iter().enumerate().flat_map(|(i, label)| {
        // Evenly spread pairs (the R2 sequence), made normal by Box and Muller's formula.
        let [a, b] = [0.754_877_666, 0.569_840_291].map(|step: f64| (0.5 + step * i as f64).fract());
        let (radius, angle) = ((-2.0 * (1.0 - a).ln()).sqrt(), std::f64::consts::TAU * b);
        let (x, y) = (radius * angle.cos(), radius * angle.sin());
        let shift = f64::from(u8::from(*label));
        [(x + 1.5 * shift) as f32, (0.6 * x + 0.8 * y + 0.3 * shift) as f32]
    });
    let model = Linear::new(Features::from_row_major(values.collect(), 2).unwrap());
    (model, Sample::new(labels).unwrap())
}

/// The goal's exact value in this direction of the plane, and in the best of 720.
pub(super) fn value_and_best(
    goal: &Goal,
    model: &mut Linear,
    sample: &Sample,
    parameters: &[f32],
) -> (f64, f64) {
    let mut value = |parameters: &[f32]| {
        let mut scores = vec![0.0; sample.len()];
        model.scores(parameters, Rows::All, &mut scores).unwrap();
        Judge::new(goal, sample).exact(&scores).unwrap()
    };
    let direction = |step: u32| {
        let angle = f64::from(step) / 720.0 * std::f64::consts::TAU;
        value(&[angle.cos() as f32, angle.sin() as f32, 0.0])
    };
    let best = (0..720).map(direction).fold(f64::NEG_INFINITY, f64::max);
    (value(parameters), best)
}

/// Minimises a loss by Adam from this start, and calls `look` with the scores after each step.
pub(super) fn descend<L: Loss>(
    loss: &mut L,
    model: &mut Linear,
    sample: &Sample,
    start: [f32; 3],
    steps: usize,
    mut look: impl FnMut(usize, &L, &[f32]),
) -> [f32; 3] {
    let mut adam = Adam::new(0.02).unwrap();
    let mut parameters = start;
    let (mut scores, mut v, mut gradient) = (vec![0.0; sample.len()], vec![0.0; sample.len()], [0.0; 3]);
    for step in 0..steps {
        model.scores(&parameters, Rows::All, &mut scores).unwrap();
        look(step, loss, &scores);
        loss.evaluate(sample, &scores, &mut v).unwrap();
        model.backward(&parameters, &v, &mut gradient).unwrap();
        adam.step(&mut parameters, &gradient).unwrap();
    }
    parameters
}
