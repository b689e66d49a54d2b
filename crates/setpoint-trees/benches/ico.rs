//! Rounds on the goal's own gradient, beside LightGBM's own rounds for log loss: 500,000 x 41.
//!
//! ```text
//! cargo bench -p setpoint-trees --bench ico                   the table
//! cargo bench -p setpoint-trees --bench ico -- ROWS ROUNDS THREADS
//! ```
//!
//! The same bins, settings and number of rounds; the two take turns. Says that it is skipped where
//! LightGBM is not installed.

use std::time::Instant;

use setpoint::train::{MethodChoice, Progress};
use setpoint::{Goal, Sample};
use setpoint_trees::{Data, FeatureView, Library, Parameters, Settings, fit};

const COLUMNS: usize = 41;
const RUNS: usize = 3;

fn main() {
    if let Err(error) = Library::get() {
        return eprintln!("skipped: {error}");
    }
    let arguments: Vec<usize> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    let [rows, rounds, threads] = arguments[..] else {
        return table(500_000, 50, rayon::current_num_threads());
    };
    table(rows, rounds, threads);
}

fn table(rows: usize, rounds: usize, threads: usize) {
    let noise = |i: usize| (i as f64 * 0.618_033_988_749_894_9 + (i as f64 * 0.37).sin()).fract() as f32;
    let values: Vec<f32> = (0..rows * COLUMNS).map(noise).collect();
    let label = |row: &[f32]| row[0] * row[1] + 0.5 * row[2] + 0.4 * row[3] * row[4] > 0.95;
    let sample = Sample::new(values.chunks(COLUMNS).map(label).collect()).expect("labels");
    let data = Data {
        features: FeatureView::dense(&values, COLUMNS).expect("rows"),
        sample: &sample,
        categorical: &[],
    };
    let few = values.len() / 50 / COLUMNS * COLUMNS;
    let held_out = Sample::new(sample.labels()[..few / COLUMNS].to_vec()).expect("labels");
    let held_out = Data {
        features: FeatureView::dense(&values[..few], COLUMNS).expect("rows"),
        sample: &held_out,
        categorical: &[],
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    println!("{rows} x {COLUMNS}, {rounds} rounds of 31 leaves, {threads} threads, milliseconds per round");
    println!("{:>24} {:>10} {:>10} {:>7}", "goal", "log loss", "ico", "ratio");
    for text in ["recall @ fpr<=1%", "pr-auc @ recall in 0.95..1"] {
        let goal: Goal = text.parse().expect("a goal");
        let settings = Settings {
            method: MethodChoice::Ico,
            configurations: vec![Parameters::default()],
            rounds,
            look_every: rounds,
            threads: Some(threads),
            ..Settings::default()
        };
        let mut best = [f64::INFINITY; 2];
        for _ in 0..RUNS {
            // From the first round of a booster to its last look: the binning is left out.
            let mut spans = [None; 2];
            let mut observer = |progress: &Progress| {
                let now = Instant::now();
                let span = spans[progress.stage_index].get_or_insert((now, now));
                // The last round has a look, which both have and neither is measured by.
                if progress.step < rounds as u64 {
                    span.1 = now;
                }
                std::ops::ControlFlow::Continue(())
            };
            pool.install(|| fit(&goal, data, held_out, &settings, &mut observer, None)).expect("a fit");
            for (best, span) in best.iter_mut().zip(spans) {
                let (first, last) = span.expect("rounds");
                *best = best.min((last - first).as_secs_f64() * 1e3 / (rounds - 2) as f64);
            }
        }
        println!("{text:>24} {:>10.1} {:>10.1} {:>7.2}", best[0], best[1], best[1] / best[0]);
    }
}
