//! Certificates on ten million scores: `cargo bench --bench certify`.
//!
//! `plain_sort` is the yardstick: the standard library's sort of the same scores, on one thread
//! and on all. Issue 5 allows three times that.

use divan::{Bencher, black_box};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use setpoint::certify::{CertifyOptions, certify};
use setpoint::goal::{Objective, Rate, parse_conditions};
use setpoint::sample::Sample;

const ROWS: usize = 10_000_000;

fn main() {
    divan::main();
}

fn data() -> (Sample, Vec<f32>) {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let labels: Vec<bool> = (0..ROWS).map(|_| rng.random_bool(0.1)).collect();
    let noise = |rng: &mut ChaCha8Rng| (0..4).map(|_| rng.random::<f32>()).sum::<f32>();
    let scores = labels.iter().map(|label| noise(&mut rng) + if *label { 0.9 } else { 0.0 }).collect();
    (Sample::new(labels).unwrap(), scores)
}

#[divan::bench(sample_count = 5)]
fn plain_sort(bencher: Bencher) {
    let (_, scores) = data();
    bencher.with_inputs(|| scores.clone()).bench_local_values(|mut scores| {
        scores.sort_unstable_by(f32::total_cmp);
        scores
    });
}

#[divan::bench(sample_count = 5)]
fn plain_parallel_sort(bencher: Bencher) {
    let (_, scores) = data();
    bencher.with_inputs(|| scores.clone()).bench_local_values(|mut scores| {
        scores.par_sort_unstable_by(f32::total_cmp);
        scores
    });
}

#[divan::bench(sample_count = 5, args = ["fpr<=1%", "recall>=0.5", "positive-rate<=5%", "fpr<=1%, recall>=0.1", "precision>=0.6"])]
fn conditions(bencher: Bencher, conditions: &str) {
    run(bencher, conditions, CertifyOptions::new(0.95));
}

#[divan::bench(sample_count = 5)]
fn fpr_and_recall_for_accuracy(bencher: Bencher) {
    let objective = Some(Objective::Rate(Rate::Accuracy));
    run(bencher, "fpr<=1%, recall>=0.1", CertifyOptions { objective, ..CertifyOptions::new(0.95) });
}

#[divan::bench(sample_count = 5)]
fn precision_per_group(bencher: Bencher) {
    let (sample, scores) = data();
    let names = (0..4).map(|group| group.to_string()).collect();
    let codes = (0..ROWS as u32).map(|row| row.wrapping_mul(2_654_435_761) >> 30).collect();
    let sample = sample.with_groups("group", names, codes).unwrap();
    let conditions = parse_conditions("precision(group)>=0.6").unwrap();
    let options = CertifyOptions::new(0.95);
    bencher.bench(|| certify(&conditions, black_box(&sample), black_box(&scores), &options).unwrap());
}

fn run(bencher: Bencher, conditions: &str, options: CertifyOptions) {
    let (sample, scores) = data();
    let conditions = parse_conditions(conditions).unwrap();
    bencher.bench(|| certify(&conditions, black_box(&sample), black_box(&scores), &options).unwrap());
}
