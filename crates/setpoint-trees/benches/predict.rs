//! Scores of 1,000,000 rows of 30 columns, beside LightGBM's own in the same process.
//!
//! ```text
//! cargo bench -p setpoint-trees --bench predict                   the table, 1 and 2 threads
//! cargo bench -p setpoint-trees --bench predict -- ROWS ROUNDS LEAVES
//! ```
//!
//! Both read the same `f32` rows; the smaller of a few runs each, taken in turn. Says that it is
//! skipped where LightGBM is not installed.

use std::time::Instant;

use setpoint_trees::library::{Booster, Dataset};
use setpoint_trees::{Ensemble, FeatureView, Library};

const COLUMNS: usize = 30;
const TRAINED_ON: usize = 100_000;
const RUNS: usize = 3;

fn main() {
    let library = match Library::get() {
        Ok(library) => library,
        Err(error) => return eprintln!("skipped: {error}"),
    };
    let arguments: Vec<usize> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    let [rows, rounds, leaves] = arguments[..] else { return table(library, 1_000_000, 200, 31) };
    table(library, rows, rounds, leaves);
}

fn table(library: &Library, rows: usize, rounds: usize, leaves: usize) {
    let values = rows_of(rows.max(TRAINED_ON));
    let train = FeatureView::dense(&values[..TRAINED_ON * COLUMNS], COLUMNS).expect("rows");
    let text = grow(library, &train, rounds, leaves);
    let booster = Booster::from_text(library, &text).expect("LightGBM reads its own text");
    let ensemble = Ensemble::from_text(&text, COLUMNS).expect("trees");
    let features = FeatureView::dense(&values[..rows * COLUMNS], COLUMNS).expect("rows");
    println!("{rows} x {COLUMNS}, {} trees of {leaves} leaves, seconds", ensemble.trees());
    println!("{:>8} {:>10} {:>10} {:>7}", "threads", "LightGBM", "Setpoint", "ratio");
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        let (mut theirs, mut ours) = (vec![0.0; rows], vec![0.0; rows]);
        let (mut their_time, mut our_time) = (f64::INFINITY, f64::INFINITY);
        for _ in 0..RUNS {
            let start = Instant::now();
            booster.predict(&features, threads, &mut theirs).expect("scores");
            their_time = their_time.min(start.elapsed().as_secs_f64());
            let start = Instant::now();
            pool.install(|| ensemble.raw(&features, &mut ours)).expect("scores");
            our_time = our_time.min(start.elapsed().as_secs_f64());
        }
        let apart = theirs.iter().zip(&ours).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(apart < 1e-6, "scores differ by {apart}");
        println!("{threads:>8} {their_time:>10.3} {our_time:>10.3} {:>7.2}", our_time / their_time);
    }
}

/// Rows with a tenth of their values missing.
fn rows_of(rows: usize) -> Vec<f32> {
    let noise = |i: usize| (i as f64 * 0.618_033_988_749_894_9 + (i as f64 * 0.37).sin()).fract() as f32;
    (0..rows * COLUMNS).map(|i| if i % 10 == 3 { f32::NAN } else { noise(i) }).collect()
}

fn grow(library: &Library, train: &FeatureView<'_>, rounds: usize, leaves: usize) -> String {
    let rows = train.rows();
    let quiet = "verbosity=-1 num_threads=2 force_col_wise=true";
    let mut dataset = Dataset::new(library, train, quiet).expect("rows");
    let noise = |i: usize| (i as f64 * 0.754_877_666).fract();
    let labels: Vec<f32> =
        (0..rows).map(|row| f32::from(u8::from(noise(row * row % 10_007) < 0.3))).collect();
    dataset.set_labels(&labels).expect("labels");
    let parameters = format!("{quiet} objective=binary num_leaves={leaves} learning_rate=0.1");
    let mut booster = Booster::new(&dataset, &parameters).expect("parameters");
    for _ in 0..rounds {
        booster.update().expect("a round");
    }
    booster.to_text(0).expect("text")
}
