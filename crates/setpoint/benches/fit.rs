//! A whole training step of a linear model, full batch, against the memory bound.
//!
//! One step: scores, standardisation, thresholds solved on the surrogate (warm),
//! implicit gradient, and the gradient by the weights. The yardstick reads the
//! matrix through memory as often as the step has to: twice.
//!
//! ```text
//! cargo bench -p setpoint --bench fit                   the table below, 1 and 2 threads
//! cargo bench -p setpoint --bench fit -- step 50000 22 5 THREADS STEPS     milliseconds per step, for bench/peers/step.py
//! ```

use std::hint::black_box;
use std::time::Instant;

use rayon::prelude::*;
use setpoint::engine::EngineOptions;
use setpoint::features::Features;
use setpoint::model::Linear;
use setpoint::model::{Model, Rows};
use setpoint::problem::ProblemOptions;
use setpoint::train::Bandwidth;
use setpoint::train::method::{Ico, Loss};
use setpoint::{Goal, Sample};

/// Features, labels and all that a step needs.
struct Case {
    matrix: Vec<f32>,
    model: Linear,
    sample: Sample,
    bins: usize,
}

impl Case {
    fn new(rows: usize, columns: usize, bins: usize) -> Self {
        let labels: Vec<bool> = (0..rows).map(|i| i % 10 == 0).collect();
        let noise = |i: usize| ((i as f64 * 0.618_033_988_75).fract() * 2.0 - 1.0) as f32;
        let mut matrix = Vec::with_capacity(rows * columns);
        for (row, label) in labels.iter().enumerate() {
            let shift = if *label { 0.4 } else { 0.0 };
            matrix.extend((0..columns).map(|column| shift + noise(row * columns + column)));
        }
        let model = Linear::new(Features::from_row_major(matrix.clone(), columns).expect("a matrix"));
        Self { matrix, model, sample: Sample::new(labels).expect("labels"), bins }
    }

    /// Seconds per step over `steps` gradient steps.
    fn run(&mut self, steps: usize) -> f64 {
        let goal: Goal = "pr-auc @ recall in 0.9..1".parse().expect("a goal");
        let options = EngineOptions {
            problem: ProblemOptions { bins: Some(self.bins), ..ProblemOptions::default() },
            ..EngineOptions::default()
        };
        let mut ico =
            Ico::new(&goal, &self.sample, options, Bandwidth::Deviations(0.1)).expect("the goal fits");
        let mut parameters = vec![0.1f32; self.model.parameter_count()];
        let (mut scores, mut v) = (vec![0.0; self.sample.len()], vec![0.0; self.sample.len()]);
        let mut gradient = vec![0.0; parameters.len()];
        let mut step = |parameters: &mut [f32]| {
            self.model.scores(parameters, Rows::All, &mut scores).expect("scores");
            black_box(ico.evaluate(&self.sample, &scores, &mut v).expect("a step"));
            self.model.backward(parameters, &v, &mut gradient).expect("a gradient");
            parameters.iter_mut().zip(&gradient).for_each(|(p, g)| *p -= 0.05 * g);
        };
        // The first step sorts the scores for its exact start; training pays that once.
        step(&mut parameters);
        let start = Instant::now();
        (0..steps).for_each(|_| step(&mut parameters));
        start.elapsed().as_secs_f64() / steps as f64
    }

    /// Seconds to read the matrix twice.
    fn stream(&self, times: usize) -> f64 {
        let start = Instant::now();
        for _ in 0..2 * times {
            let sum: f32 = self
                .matrix
                .par_chunks(1 << 16)
                .map(|chunk| {
                    let mut lanes = [0.0f32; 32];
                    for part in chunk.chunks_exact(32) {
                        lanes.iter_mut().zip(part).for_each(|(lane, x)| *lane += x);
                    }
                    lanes.iter().sum::<f32>()
                })
                .sum();
            black_box(sum);
        }
        start.elapsed().as_secs_f64() / times as f64
    }
}

fn on(threads: usize) -> rayon::ThreadPool {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a thread pool")
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    if let [command, rest @ ..] = &arguments[..]
        && command == "step"
    {
        let numbers: Vec<usize> = rest.iter().map(|a| a.parse().expect("a whole number")).collect();
        let [rows, columns, bins, threads, steps] = numbers[..] else {
            panic!("expected: step ROWS COLUMNS THRESHOLDS THREADS STEPS");
        };
        let mut case = Case::new(rows, columns, bins);
        println!("{:.4}", 1e3 * on(threads).install(|| case.run(steps)));
        return;
    }
    println!("{:>18} {:>8} {:>12} {:>14} {:>8}", "matrix", "threads", "step", "two reads", "ratio");
    for (rows, columns, steps, rounds) in [(50_000, 22, 100, 9), (1_000_000, 30, 40, 5)] {
        let mut case = Case::new(rows, columns, 5);
        for threads in [1, 2] {
            let pool = on(threads);
            let (mut step, mut stream) = (Vec::new(), Vec::new());
            for _ in 0..rounds {
                step.push(pool.install(|| case.run(steps)));
                stream.push(pool.install(|| case.stream(steps)));
            }
            let (step, stream) = (median(step), median(stream));
            println!(
                "{:>18} {threads:>8} {:>9.3} ms {:>11.3} ms {:>8.2}",
                format!("{rows} x {columns}"),
                step * 1e3,
                stream * 1e3,
                step / stream
            );
        }
    }
}
