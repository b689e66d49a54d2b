//! One engine step against the memory bound.
//!
//! A step is what training pays for beside the model: smooth counts and slopes
//! at m thresholds, the implicit solve, and the score gradient. The yardstick
//! is a stream of the same bytes: read scores and labels, write a gradient.
//!
//! Every round times each case once, in turn, so that a busy machine slows all
//! alike; the table shows medians, and how many allocations a step made.
//!
//! ```text
//! cargo bench -p setpoint --bench engine
//! ```

#![allow(unsafe_code, reason = "counting allocations needs a global allocator")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rayon::prelude::*;
use setpoint::engine::{Engine, EngineOptions, Solve};
use setpoint::problem::ProblemOptions;
use setpoint::{Goal, Sample};

const ROUNDS: usize = 15;
const ROWS: [usize; 3] = [10_000, 1_000_000, 10_000_000];
const THRESHOLDS: [usize; 3] = [1, 10, 100];

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

struct Counting;

// SAFETY: hands every request to the system allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static GLOBAL: Counting = Counting;

/// Times and allocations of one case.
#[derive(Default)]
struct Case {
    times: Vec<Duration>,
    allocations: usize,
}

impl Case {
    fn run(&mut self, work: impl FnOnce()) {
        let before = ALLOCATIONS.load(Ordering::Relaxed);
        let start = Instant::now();
        work();
        self.times.push(start.elapsed());
        // The last round: the workspaces have their size by then.
        self.allocations = ALLOCATIONS.load(Ordering::Relaxed) - before;
    }

    fn median(&mut self) -> f64 {
        self.times.sort();
        self.times[self.times.len() / 2].as_secs_f64()
    }
}

fn main() {
    println!("{} threads, median of {ROUNDS} interleaved rounds", rayon::current_num_threads());
    println!(
        "{:>10} {:>22} {:>12} {:>9} {:>9} {:>11}",
        "scores", "case", "time", "x stream", "x m=1", "allocations"
    );
    for n in ROWS {
        bench(n);
    }
}

fn bench(n: usize) {
    let labels: Vec<bool> = (0..n).map(|i| i % 25 == 0).collect();
    let scores: Vec<f32> =
        (0..n).map(|i| (i as f32 * 0.618_034).fract() * 4.0 + if i % 25 == 0 { 1.0 } else { 0.0 }).collect();
    let sample = Sample::new(labels).expect("not empty");
    let goal: Goal = "roc-auc @ fpr in 0..20%".parse().expect("a goal");
    let engine = |solve: Solve, bins: usize| {
        let problem = ProblemOptions { bins: Some(bins), ..ProblemOptions::default() };
        let options = EngineOptions { sharpness: 8.0, solve, problem, ..EngineOptions::default() };
        Engine::new(&goal, &sample, options).expect("the goal fits")
    };
    let mut held = THRESHOLDS.map(|m| engine(Solve::Hold, m));
    let mut solved = engine(Solve::Smooth, 1);
    let mut gradient = vec![0.0f32; n];
    let mut cases: [Case; 5] = Default::default();
    for _ in 0..ROUNDS {
        cases[0].run(|| stream(&scores, sample.labels(), &mut gradient));
        for (case, engine) in cases[1..4].iter_mut().zip(&mut held) {
            case.run(|| _ = black_box(engine.step(&sample, &scores, &mut gradient).expect("a step").loss));
        }
        cases[4].run(|| _ = black_box(solved.step(&sample, &scores, &mut gradient).expect("a step").loss));
    }
    let medians = cases.each_mut().map(Case::median);
    let names = ["stream", "step, m = 1", "step, m = 10", "step, m = 100", "m = 1, re-solved"];
    for ((name, median), case) in names.iter().zip(medians).zip(&cases) {
        println!(
            "{n:>10} {name:>22} {:>9.3} ms {:>9.2} {:>9.2} {:>11}",
            median * 1e3,
            median / medians[0],
            median / medians[1],
            case.allocations
        );
    }
}

/// Reads and writes what a step must at least read and write.
fn stream(scores: &[f32], labels: &[bool], gradient: &mut [f32]) {
    let chunk = 16_384;
    gradient.par_chunks_mut(chunk).zip(scores.par_chunks(chunk)).zip(labels.par_chunks(chunk)).for_each(
        |((gradient, scores), labels)| {
            for ((v, score), label) in gradient.iter_mut().zip(scores).zip(labels) {
                *v = *score + f32::from(u8::from(*label));
            }
        },
    );
}
