//! What a goal of several classes costs against cross-entropy.
//!
//! An evaluation is one of training: scores of a linear model with an output for each class, the loss with its
//! gradient by the scores, the gradient by the parameters. The goal's shifts are solved at every one, from those of
//! the one before, while the parameters move a little. And exact shifts against one pass of counting.
//!
//! Every round times each case once, in turn, so that a busy machine slows all alike; the table shows medians, and
//! the fastest, which say most where the machine is busy.
//!
//! ```text
//! cargo bench -p setpoint --bench classes
//! cargo bench -p setpoint --bench classes -- step CLASSES THREADS STEPS     # ms per step of cross-entropy
//! ```

use std::time::Instant;

use setpoint::Sample;
use setpoint::class::{Classes, Confusion, shift};
use setpoint::features::Features;
use setpoint::goal::ClassGoal;
use setpoint::model::{Linear, Model, Rows};
use setpoint::train::Bandwidth;
use setpoint::train::method::{ClassCrossEntropy, ClassIco, Loss};

const ROUNDS: usize = 51;
const SEARCHES: usize = 10;
const ROWS: usize = 10_000;
const COLUMNS: usize = 16;
const GOALS: [&str; 5] = [
    "macro-f1",
    "accuracy @ recall(c1)>=0.9",
    "recall(c1) @ precision(c1)>=0.8",
    "worst(recall)",
    "accuracy @ coverage(each)=prior",
];

fn main() {
    let words: Vec<String> = std::env::args().collect();
    if let Some(at) = words.iter().position(|word| word == "step") {
        let numbers: Vec<usize> = words[at + 1..].iter().filter_map(|word| word.parse().ok()).collect();
        let [classes, threads, steps] = numbers[..] else { panic!("classes, threads and steps") };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        println!("{}", pool.install(|| cross_entropy(classes, steps)));
        return;
    }
    for classes in [10, 26] {
        evaluations(classes);
    }
    searches(26, 1_000_000);
}

/// Numbers that look like noise, between -1 and 1.
fn noise(at: usize) -> f32 {
    let mixed = (at as u64 ^ 0x9E37_79B9).wrapping_mul(0xD129_0D3B_3F4B_3F4B);
    ((mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 40) as f32 / 8_388_608.0 - 1.0
}

fn sample(classes: usize, rows: usize) -> Sample {
    let names = (0..classes).map(|class| format!("c{class}")).collect();
    let codes = (0..rows).map(|row| (row * 7919 % (classes * classes) / classes) as u32).collect();
    Sample::of_classes("label", names, codes).expect("every class has rows")
}

fn goal(text: &str, sample: &Sample) -> ClassGoal {
    let names = sample.groups().map(|groups| groups.names().to_vec()).unwrap_or_default();
    ClassGoal::parse(text, &names).expect("a goal")
}

/// A linear model over rows of some classes, and parameters that decide well.
fn model(classes: usize, sample: &Sample) -> (Linear, Vec<f32>) {
    let codes = sample.groups().map(|groups| groups.codes().to_vec()).unwrap_or_default();
    let value = |row: usize, column: usize| {
        noise(row * COLUMNS + column) + 0.8 * noise((1 << 30) + codes[row] as usize * COLUMNS + column)
    };
    let values = (0..ROWS * COLUMNS).map(|at| value(at / COLUMNS, at % COLUMNS)).collect();
    let features = Features::from_row_major(values, COLUMNS).expect("rows");
    let model = Linear::new(features).with_outputs(classes);
    // Towards each class's own mean: a model that decides well.
    let weight = |at: usize| 3.0 * noise((1 << 30) + at);
    let parameters: Vec<f32> = (0..model.parameter_count())
        .map(|at| if at < classes * COLUMNS { weight(at) } else { 0.0 })
        .collect();
    (model, parameters)
}

/// Milliseconds of a step of gradient descent on cross-entropy: scores, loss, gradient, new parameters.
fn cross_entropy(classes: usize, steps: usize) -> f64 {
    let sample = sample(classes, ROWS);
    let (mut model, mut parameters) = model(classes, &sample);
    let mut loss = ClassCrossEntropy::new(0.0);
    let (mut scores, mut v) = (vec![0.0; ROWS * classes], vec![0.0; ROWS * classes]);
    let mut gradient = vec![0.0; parameters.len()];
    let mut step = || {
        model.scores(&parameters, Rows::All, &mut scores).expect("scores");
        loss.evaluate(&sample, &scores, &mut v).expect("a loss");
        model.backward(&parameters, &v, &mut gradient).expect("a gradient");
        parameters.iter_mut().zip(&gradient).for_each(|(p, g)| *p -= 0.05 * g);
    };
    (0..5).for_each(|_| step());
    let start = Instant::now();
    (0..steps).for_each(|_| step());
    1e3 * start.elapsed().as_secs_f64() / steps as f64
}

fn evaluations(classes: usize) {
    let sample = sample(classes, ROWS);
    let (mut model, parameters) = model(classes, &sample);
    let mut losses: Vec<(&str, Box<dyn Loss>, Vec<f64>)> =
        vec![("cross-entropy", Box::new(ClassCrossEntropy::new(0.0)), Vec::new())];
    for text in GOALS {
        let loss = ClassIco::new(&goal(text, &sample), Bandwidth::Deviations(0.3));
        losses.push((text, Box::new(loss), Vec::new()));
    }
    let (mut scores, mut v) = (vec![0.0; ROWS * classes], vec![0.0; ROWS * classes]);
    let mut gradient = vec![0.0; parameters.len()];
    for round in 0..ROUNDS + 2 {
        let moved: Vec<f32> = parameters
            .iter()
            .enumerate()
            .map(|(at, p)| p * (1.0 + 0.01 * noise(at + round * 10_000)))
            .collect();
        for (_, loss, times) in &mut losses {
            let start = Instant::now();
            model.scores(&moved, Rows::All, &mut scores).expect("scores");
            loss.evaluate(&sample, &scores, &mut v).expect("a loss");
            model.backward(&moved, &v, &mut gradient).expect("a gradient");
            if round > 1 {
                times.push(start.elapsed().as_secs_f64());
            }
        }
    }
    println!(
        "{ROWS} rows, {COLUMNS} columns, {classes} classes: ms per evaluation, over cross-entropy; the fastest"
    );
    let (base, least) = (median(&losses[0].2), fastest(&losses[0].2));
    for (name, _, times) in &losses {
        let (middle, best) = (median(times), fastest(times));
        println!(
            "  {name:36} {:8.3} {:6.2}x {:8.3} {:6.2}x",
            1e3 * middle,
            middle / base,
            1e3 * best,
            best / least
        );
    }
}

fn searches(classes: usize, rows: usize) {
    let sample = sample(classes, rows);
    let codes = sample.groups().map(|groups| groups.codes().to_vec()).unwrap_or_default();
    let own = |at: usize| if codes[at / classes] as usize == at % classes { 0.8 } else { 0.0 };
    let scores: Vec<f32> = (0..rows * classes).map(|at| noise(at) + own(at)).collect();
    let accuracy = goal("accuracy", &sample);
    let view = Classes::of(&accuracy, &sample).expect("its classes");
    let time = |work: &dyn Fn()| {
        let start = processor_seconds();
        (0..SEARCHES).for_each(|_| work());
        (processor_seconds() - start) / SEARCHES as f64
    };
    let count = time(&|| drop(Confusion::at(&view, &scores, &vec![0.1; classes]).expect("counts")));
    println!(
        "{rows} rows, {classes} classes: ms of all processors, over one pass of counting ({:.1} ms)",
        1e3 * count
    );
    for text in ["accuracy @ coverage(each)=prior", "macro-f1", "recall(c1) @ precision(c1)>=0.5"] {
        let goal = goal(text, &sample);
        let taken = time(&|| drop(shift::best(&goal, &sample, &scores, 3)));
        let value = shift::best(&goal, &sample, &scores, 3).expect("shifts").value;
        println!("  {text:36} {:8.1} {:6.1}x   value {value:.5}", 1e3 * taken, taken / count);
    }
}

/// Seconds that this process has run, in steps of a hundredth; on other systems than Linux the time of day.
fn processor_seconds() -> f64 {
    let ticks = |text: String| -> Option<f64> {
        let mut fields = text.rsplit(')').next()?.split_whitespace().skip(11);
        Some((fields.next()?.parse::<f64>().ok()? + fields.next()?.parse::<f64>().ok()?) / 100.0)
    };
    let since = || std::time::UNIX_EPOCH.elapsed().unwrap_or_default().as_secs_f64();
    std::fs::read_to_string("/proc/self/stat").ok().and_then(ticks).unwrap_or_else(since)
}

fn fastest(times: &[f64]) -> f64 {
    times.iter().copied().fold(f64::INFINITY, f64::min)
}

fn median(times: &[f64]) -> f64 {
    let mut times = times.to_vec();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
