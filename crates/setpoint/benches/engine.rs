//! One engine step (counts, then the score gradient) against the memory bound.
//!
//! Each round times every case once, in turn; the table shows medians over the
//! rounds, so that a busy machine slows all cases alike. The yardstick is a
//! stream of the same bytes: read scores and labels, write a gradient.
//!
//! ```text
//! cargo bench -p setpoint --bench engine
//! ```

use std::hint::black_box;
use std::time::{Duration, Instant};

use rayon::prelude::*;
use setpoint::Sample;
use setpoint::count::{Cell, CellPartial, Counter, Shape};
use setpoint::surrogate::Surrogate;

fn main() {
    for n in [10_000, 1_000_000, 10_000_000] {
        let scores: Vec<f32> = (0..n).map(|i| ((i as f32 * 0.618_034).fract() - 0.5) * 12.0).collect();
        let labels: Vec<bool> = (0..n).map(|i| i % 25 == 0).collect();
        let bytes: Vec<u8> = labels.iter().map(|l| u8::from(*l)).collect();
        let sample = Sample::new(labels).unwrap();
        let mut counter = Counter::new(&sample, false, Surrogate::Sigmoid, 4.0);
        let mut gradient = vec![0.0f32; n];
        let mut times: [Vec<Duration>; 5] = Default::default();
        for _ in 0..15 {
            let start = Instant::now();
            stream(&scores, &bytes, &mut gradient);
            times[0].push(start.elapsed());
            for (case, m) in [1, 10, 100].into_iter().enumerate() {
                let thresholds: Vec<f64> = (0..m).map(|j| 3.0 + f64::from(j) / f64::from(m)).collect();
                let shape = Shape { groups: 1, columns: thresholds.len() };
                let mut cells = vec![Cell::default(); shape.cells()];
                let partials = vec![
                    CellPartial { positive: 1.0, negative: -0.5, ..CellPartial::default() };
                    shape.cells()
                ];
                let start = Instant::now();
                counter.count(&scores, &thresholds, false, &mut cells).unwrap();
                counter.gradient(&scores, &thresholds, &partials, false, &mut gradient).unwrap();
                times[case + 1].push(start.elapsed());
                black_box(&cells);
            }
        }
        let medians: Vec<f64> = times[..4]
            .iter_mut()
            .map(|t| {
                t.sort();
                t[t.len() / 2].as_secs_f64()
            })
            .collect();
        println!(
            "n = {n:>9}: stream {:.3} ms; m=1 {:.2}x, m=10 {:.2}x ({:.2}x m=1), m=100 {:.2}x ({:.1} x m=1)",
            medians[0] * 1e3,
            medians[1] / medians[0],
            medians[2] / medians[0],
            medians[2] / medians[1],
            medians[3] / medians[0],
            medians[3] / medians[1]
        );
    }
}

fn stream(scores: &[f32], labels: &[u8], gradient: &mut [f32]) {
    gradient.par_chunks_mut(16_384).zip(scores.par_chunks(16_384)).zip(labels.par_chunks(16_384)).for_each(
        |((g, s), l)| {
            for ((g, s), l) in g.iter_mut().zip(s).zip(l) {
                *g = *s + f32::from(*l);
            }
        },
    );
}
