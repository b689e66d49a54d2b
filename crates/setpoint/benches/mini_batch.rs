//! What ico costs over cross-entropy on mini-batches: whole training steps, taking turns.
//!
//! ```text
//! cargo bench -p setpoint --bench mini_batch
//! ```
//!
//! Ico trains for `roc-auc @ fpr in 0..10%` with 10 thresholds, solved at every step on a pool of 20 batches.
//! One thread, processor time, medians of five turns; validation is looked at once, at the end.

use std::sync::Arc;

use setpoint::features::Features;
use setpoint::model::net::Standard;
use setpoint::model::{Architecture, Images, Inputs, Model, Network};
use setpoint::train::{Bandwidth, MethodChoice, Part, PositiveWeight, Settings, Silent, fit_alone};
use setpoint::{Goal, Sample};

const TURNS: usize = 5;

fn main() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
    println!("{:>8} {:>6} {:>18} {:>10} {:>8}", "model", "batch", "cross-entropy ms", "ico ms", "ratio");
    pool.install(|| {
        for (name, size, steps) in [("mlp", 512, 200), ("small", 512, 30), ("cnn", 128, 3)] {
            let mut times = [Vec::new(), Vec::new()];
            for _ in 0..TURNS {
                for (method, times) in
                    [MethodChoice::CrossEntropy, MethodChoice::Ico].into_iter().zip(&mut times)
                {
                    times.push(step(name, size, steps, method));
                }
            }
            let [cross_entropy, ico] = times.map(median);
            println!(
                "{name:>8} {size:>6} {:>18.3} {:>10.3} {:>8.3}",
                1e3 * cross_entropy,
                1e3 * ico,
                ico / cross_entropy
            );
        }
    });
}

/// Seconds of a step: those of a long run less those of a short one, which pays for what comes once.
fn step(name: &str, size: usize, steps: u64, method: MethodChoice) -> f64 {
    let of = |steps| {
        let before = processor_seconds();
        run(name, size, steps, method);
        processor_seconds() - before
    };
    (of(25 + steps) - of(25)) / steps as f64
}

fn run(name: &str, size: usize, steps: u64, method: MethodChoice) {
    let rows = 20 * size;
    let goal: Goal = "roc-auc @ fpr in 0..10%".parse().expect("a goal");
    let labels: Vec<bool> = (0..rows).map(|row| row % 10 == 0).collect();
    let sample = Sample::new(labels).expect("two classes");
    let mut network = network(name, rows);
    let few: Vec<u32> = (0..20).collect();
    let mut held_out = network.select(&few).expect("rows").expect("a view");
    let held_out_sample = sample.select(&few);
    let settings = Settings {
        method,
        positive_weight: PositiveWeight::Fixed(1.0),
        learning_rate: 1e-4,
        batch_size: Some(size),
        steps: Some(steps),
        bins: Some(10),
        mix: 0.5,
        bandwidth: Bandwidth::Tail(0.5),
        ..Settings::default()
    };
    let train = Part { model: &mut network, sample: &sample };
    let validation = Part { model: &mut *held_out, sample: &held_out_sample };
    fit_alone(&goal, train, validation, &settings, None, &mut Silent, None).expect("a fit");
}

fn network(name: &str, rows: usize) -> Network {
    let mut state = 1u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1 << 24) as f32
    };
    let (architecture, inputs) = match name {
        "mlp" => {
            let values = (0..rows * 57).map(|_| random() - 0.5).collect();
            let features = Features::from_row_major(values, 57).expect("a matrix");
            (Architecture::mlp(57, &[256, 128], 0.0), Inputs::Matrix(Arc::new(features)))
        }
        _ => {
            let pixels: Vec<u8> = (0..rows * 3072).map(|_| (255.0 * random()) as u8).collect();
            let standard = Standard::of(&pixels, 3);
            let images = Images::new(pixels, 32, 32, 3, standard).expect("images");
            let small = name == "small";
            let architecture =
                if small { Architecture::cnn_small(32, 32, 3) } else { Architecture::cnn(32, 32, 3) };
            (architecture, Inputs::Images(images))
        }
    };
    Network::new(architecture, inputs).expect("a network")
}

/// Processor time of all threads, in seconds.
fn processor_seconds() -> f64 {
    let tasks = std::fs::read_dir("/proc/self/task").expect("Linux");
    let of = |task: std::fs::DirEntry| {
        let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<f64>().ok()
    };
    tasks.filter_map(|task| of(task.ok()?)).sum::<f64>() / 1e9
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
