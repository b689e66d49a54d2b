//! Both passes of the linear model beside a plain read of the same bytes.
//!
//! ```text
//! cargo bench -p setpoint --bench linear [-- ROWSxCOLUMNS ...]
//! ```
//!
//! Rounds alternate between the read and the passes, so that whatever else the machine does falls
//! on all of them; the medians are printed. `step / 2 reads` is the number to look at: a full
//! gradient reads the matrix twice, and cannot be faster than that unless a cache holds it.

use std::hint::black_box;
use std::time::Instant;

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;
use setpoint::features::{Features, Sparse};
use setpoint::model::{Linear, Model, Rows};

fn main() {
    let shapes: Vec<(usize, usize)> = std::env::args()
        .skip(1)
        .filter_map(|shape| shape.split_once('x').and_then(|(n, d)| Some((n.parse().ok()?, d.parse().ok()?))))
        .collect();
    let shapes = if shapes.is_empty() {
        vec![(20_000, 16), (50_000, 22), (300_000, 30), (1_000_000, 30)]
    } else {
        shapes
    };
    println!(
        "{:>14} {:>7} {:>9} {:>9} {:>9} {:>9} {:>15} {:>17}",
        "dense", "threads", "read ms", "GB/s", "scores", "backward", "step / 2 reads", "200 steps, s"
    );
    for (rows, columns) in shapes {
        for threads in [1, 2] {
            in_pool(threads, || dense(rows, columns, threads));
        }
    }
    in_pool(2, batches);
    println!(
        "\n{:>18} {:>7} {:>9} {:>9} {:>9} {:>13}",
        "sparse", "threads", "read ms", "scores", "backward", "step / 2 reads"
    );
    // a9a (14 of 123 values a row), a wider one, and one as wide as text.
    for (rows, columns, stored) in [(32_561, 123, 14), (200_000, 10_000, 50), (20_000, 1_000_000, 400)] {
        for threads in [1, 2] {
            in_pool(threads, || sparse(rows, columns, stored, threads));
        }
    }
}

fn in_pool(threads: usize, run: impl FnOnce() + Send) {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a thread pool").install(run);
}

fn dense(rows: usize, columns: usize, threads: usize) {
    let values: Vec<f32> = random().take(rows * columns).collect();
    let same = values.clone();
    let model = Linear::new(Features::from_row_major(values, columns).expect("finite features"));
    let [read, scores, backward, step] = measure(&same, model);
    println!(
        "{:>14} {threads:>7} {:>9.3} {:>9.1} {:>9.3} {:>9.3} {:>15.2} {:>17.2}",
        format!("{rows}x{columns}"),
        read * 1e3,
        (same.len() * 4) as f64 / read / 1e9,
        scores * 1e3,
        backward * 1e3,
        step / (2.0 * read),
        200.0 * step,
    );
}

fn sparse(rows: usize, columns: usize, stored: usize, threads: usize) {
    let values: Vec<f32> = random().take(rows * stored).collect();
    let indices =
        random().skip(7).map(|x| (((x + 1.0) * 0.5 * columns as f32) as u32).min(columns as u32 - 1));
    let starts = (0..=rows).map(|row| row * stored).collect();
    let features =
        Features::from_csr(Sparse { columns, starts, indices: indices.take(values.len()).collect(), values });
    let same = vec![1.0; 2 * rows * stored];
    let [read, scores, backward, step] = measure(&same, Linear::new(features.expect("finite features")));
    println!(
        "{:>18} {threads:>7} {:>9.3} {:>9.3} {:>9.3} {:>13.2}",
        format!("{rows}x{columns}:{stored}"),
        read * 1e3,
        scores * 1e3,
        backward * 1e3,
        step / (2.0 * read),
    );
}

/// Mini-batches of 512 rows drawn from 1,000,000 x 30.
fn batches() {
    let values: Vec<f32> = random().take(30_000_000).collect();
    let mut model = Linear::new(Features::from_row_major(values, 30).expect("finite features"));
    let parameters: Vec<f32> = random().take(31).collect();
    let rows: Vec<u32> = random().take(512 * 400).map(|x| ((x + 1.0) * 499_999.0) as u32).collect();
    let (mut scores, mut gradient) = ([0.0; 512], [0.0; 31]);
    let mut seconds: Vec<f64> = vec![];
    for rows in rows.chunks_exact(512) {
        let start = Instant::now();
        model.scores(&parameters, Rows::At(rows), &mut scores).expect("lengths fit");
        model.backward(&parameters, &scores, &mut gradient).expect("lengths fit");
        seconds.push(start.elapsed().as_secs_f64());
    }
    println!("\n512 random rows of 1000000x30: {:.3} ms a step", median(seconds) * 1e3);
}

/// Median seconds of: a read of `same`, the scores, the backward pass, and both.
fn measure(same: &[f32], mut model: Linear) -> [f64; 4] {
    let parameters: Vec<f32> = random().take(model.parameter_count()).collect();
    let mut scores = vec![0.0; model.rows()];
    let mut gradient = vec![0.0; parameters.len()];
    let rounds = (1_000_000_000 / same.len()).clamp(21, 2001);
    let mut seconds: [Vec<f64>; 4] = Default::default();
    for _ in 0..rounds {
        // Twice, as the passes do, so that caches serve both alike.
        let start = Instant::now();
        black_box(read(same));
        black_box(read(same));
        seconds[0].push(start.elapsed().as_secs_f64() / 2.0);

        let start = Instant::now();
        model.scores(&parameters, Rows::All, &mut scores).expect("lengths fit");
        let between = Instant::now();
        model.backward(&parameters, &scores, &mut gradient).expect("lengths fit");
        seconds[1].push((between - start).as_secs_f64());
        seconds[2].push(between.elapsed().as_secs_f64());
        seconds[3].push(start.elapsed().as_secs_f64());
        black_box(&mut gradient);
    }
    seconds.map(median)
}

fn median(mut seconds: Vec<f64>) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}

/// The sum of all values: as fast as this machine reads memory with the threads of the pool.
fn read(values: &[f32]) -> f32 {
    let arch = Arch::new();
    values.par_chunks(1 << 14).map(|values| arch.dispatch(Sum(values))).sum()
}

struct Sum<'a>(&'a [f32]);

impl WithSimd for Sum<'_> {
    type Output = f32;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f32 {
        let mut sums = [simd.splat_f32s(0.0); 8];
        let (vectors, _) = S::as_simd_f32s(self.0);
        for vectors in vectors.chunks_exact(8) {
            for (sum, vector) in sums.iter_mut().zip(vectors) {
                *sum = simd.add_f32s(*sum, *vector);
            }
        }
        sums.iter().map(|sum| simd.reduce_sum_f32s(*sum)).sum()
    }
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
