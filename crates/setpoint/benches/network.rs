//! A training step of a network: forward, cross-entropy, backward, Adam.
//!
//! ```text
//! cargo bench -p setpoint --bench network [-- CASE ...]
//! ```
//!
//! Cases are `cnn-512` and `cnn-128` (the paper's network on 32 x 32 x 3 images, with this batch),
//! `small-512` (the small one) and `mlp-512` (57-256-128-1). For each: rows per second, floating-point
//! operations of the matrix products per second, memory, and what a step asks of the system: page
//! faults, and allocations, which are those of the matrix-multiply crate.
//!
//! `-- serve CASE THREADS STEPS` times that many steps for each line it reads, and prints one line of
//! JSON: so that `bench/peers/network.py` can take turns with PyTorch.

#![allow(unsafe_code, reason = "counting allocations needs a global allocator")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::BufRead;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use setpoint::features::Features;
use setpoint::model::net::Standard;
use setpoint::model::{Architecture, Batch, Images, Inputs, Model, Network, Rows};
use setpoint::optimizer::{Adam, Optimizer};

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);
static BYTES: AtomicUsize = AtomicUsize::new(0);

struct Counting;

// SAFETY: hands every request to the system allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        BYTES.fetch_add(layout.size(), Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static GLOBAL: Counting = Counting;

const CASES: [&str; 4] = ["cnn-512", "cnn-128", "small-512", "mlp-512"];

fn main() {
    // `cargo bench` adds `--bench`.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    if let [first, case, threads, steps] = &arguments[..]
        && first == "serve"
    {
        let number = |text: &String| text.parse().expect("a number");
        return serve(case, number(threads), number(steps));
    }
    println!(
        "{:>10} {:>7} {:>9} {:>10} {:>8} {:>12} {:>10} {:>12} {:>12} {:>12}",
        "case",
        "threads",
        "ms/step",
        "rows/s",
        "GF/s",
        "score rows/s",
        "peak MB",
        "faults/step",
        "allocations",
        "bytes/step"
    );
    let chosen = |case: &&&str| arguments.is_empty() || arguments.iter().any(|argument| argument == **case);
    for case in CASES.iter().filter(chosen) {
        for threads in [1, 2] {
            in_pool(threads, || report(case, threads));
        }
    }
}

fn in_pool(threads: usize, run: impl FnOnce() + Send) {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a thread pool").install(run);
}

fn report(case: &str, threads: usize) {
    let mut training = Training::new(case);
    let steps = if case.starts_with("cnn") { 3 } else { 60 };
    training.run(3);
    let before = (ALLOCATIONS.load(Ordering::Relaxed), BYTES.load(Ordering::Relaxed), faults());
    let mut seconds: Vec<f64> = (0..5).map(|_| training.run(steps)).collect();
    let each = (5 * steps) as f64;
    let per_step = |now: usize, before: usize| (now - before) as f64 / each;
    let (allocations, bytes) = (ALLOCATIONS.load(Ordering::Relaxed), BYTES.load(Ordering::Relaxed));
    let faulted = faults();
    seconds.sort_by(f64::total_cmp);
    let step = seconds[2];
    let rows = training.batch as f64 / step;

    let mut scores = vec![0.0; training.network.rows()];
    training.network.scores(&training.parameters, Rows::All, &mut scores).expect("lengths fit");
    let start = Instant::now();
    training.network.scores(&training.parameters, Rows::All, &mut scores).expect("lengths fit");
    let scored = scores.len() as f64 / start.elapsed().as_secs_f64();
    println!(
        "{case:>10} {threads:>7} {:>9.2} {rows:>10.0} {:>8.1} {scored:>12.0} {:>10} {:>12.1} {:>12.1} {:>12.0}",
        step * 1e3,
        rows * training.operations / 1e9,
        peak(),
        (faulted - before.2) as f64 / each,
        per_step(allocations, before.0),
        per_step(bytes, before.1),
    );
}

fn serve(case: &str, threads: usize, steps: usize) {
    in_pool(threads, || {
        let mut training = Training::new(case);
        training.run(3);
        for _ in std::io::stdin().lock().lines() {
            let (faults_before, used) = (faults(), processor());
            let seconds = training.run(steps);
            let rows = training.batch as f64;
            println!(
                r#"{{"wall": {}, "cpu": {}, "faults": {}, "peak": {}}}"#,
                rows / seconds,
                rows * steps as f64 / (processor() - used),
                (faults() - faults_before) as f64 / steps as f64,
                peak()
            );
        }
    });
}

/// A run of training, on made-up examples.
struct Training {
    network: Network,
    parameters: Vec<f32>,
    gradient: Vec<f32>,
    scores: Vec<f32>,
    adam: Adam,
    batch: usize,
    step: u64,
    /// Floating-point operations of the matrix products of a step, for each row.
    operations: f64,
}

impl Training {
    fn new(case: &str) -> Self {
        let (name, batch) = case.split_once('-').expect("NAME-BATCH");
        let batch: usize = batch.parse().expect("a batch size");
        let rows = if name == "mlp" { 20_000 } else { 1024 };
        let inputs: Inputs = if name == "mlp" {
            let features: Arc<Features> =
                Features::from_row_major(random().take(rows * 57).collect(), 57).expect("finite").into();
            features.into()
        } else {
            let pixels: Vec<u8> = random().take(rows * 3072).map(|x| (127.5 * (x + 1.0)) as u8).collect();
            let standard = Standard::of(&pixels, 3);
            Images::new(pixels, 32, 32, 3, standard).expect("whole images").into()
        };
        let (architecture, products, first) = match name {
            "mlp" => (Architecture::mlp(57, &[256, 128], 0.0), 57 * 256 + 256 * 128 + 128, 57 * 256),
            "cnn" => {
                let first = 900 * 27 * 128;
                let rest = 196 * 1152 * 128 + 36 * 1152 * 256 + 4 * 2304 * 256 + 4 * 256 * 512 + 2048;
                (Architecture::cnn(32, 32, 3), first + rest, first)
            }
            "small" => {
                let first = 256 * 27 * 16;
                (Architecture::cnn_small(32, 32, 3), first + 64 * 144 * 32 + 16 * 288 * 64 + 1024, first)
            }
            _ => panic!("cases are {CASES:?}, not {case}"),
        };
        let network = Network::new(architecture, inputs).expect("an architecture");
        let parameters = network.initial(0);
        let gradient = vec![0.0; parameters.len()];
        let adam = Adam::new(1e-3).expect("settings");
        // Forward, and backward by the weights and (but for the first layer) by the inputs.
        let operations = 2.0 * (3 * products - first) as f64;
        Self { network, parameters, gradient, scores: vec![0.0; batch], adam, batch, step: 0, operations }
    }

    /// Seconds of each of so many steps.
    fn run(&mut self, steps: usize) -> f64 {
        let count = self.network.rows();
        let mut rows = vec![0; self.batch];
        let start = Instant::now();
        for _ in 0..steps {
            for (place, row) in rows.iter_mut().enumerate() {
                *row = ((self.step as usize * self.batch + place) * 7919 % count) as u32;
            }
            let batch = Batch { rows: &rows, seed: 0, step: self.step };
            self.network.learn(&self.parameters, &batch, &mut self.scores).expect("lengths fit");
            for (score, row) in self.scores.iter_mut().zip(&rows) {
                let label = if row % 10 == 0 { 1.0 } else { 0.0 };
                *score = (1.0 / (1.0 + (-*score).exp()) - label) / self.batch as f32;
            }
            self.network.backward(&self.parameters, &self.scores, &mut self.gradient).expect("lengths fit");
            self.adam.step(&mut self.parameters, &self.gradient).expect("finite gradients");
            self.network.observe(&mut self.parameters);
            self.step += 1;
        }
        start.elapsed().as_secs_f64() / steps as f64
    }
}

/// Minor page faults so far; 0 where the system does not say.
fn faults() -> usize {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // After the name in parentheses: state, parent, group, session, terminal, its group, flags, faults.
    let after = stat.rsplit(')').next().unwrap_or_default();
    after.split_whitespace().nth(7).and_then(|count| count.parse().ok()).unwrap_or(0)
}

/// Seconds that the threads of this process ran so far; 0 where the system does not say.
fn processor() -> f64 {
    let Ok(threads) = std::fs::read_dir("/proc/self/task") else { return 0.0 };
    let nanoseconds = threads.filter_map(|thread| {
        let schedule = std::fs::read_to_string(thread.ok()?.path().join("schedstat")).ok()?;
        schedule.split_whitespace().next()?.parse::<f64>().ok()
    });
    nanoseconds.sum::<f64>() * 1e-9
}

/// Most memory used so far, in megabytes; 0 where the system does not say.
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<usize>().ok());
    kilobytes.unwrap_or(0) / 1000
}

/// Numbers in [-1, 1).
fn random() -> impl Iterator<Item = f32> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    })
}
