//! Exact metrics of a million scores: `cargo bench --bench metric`.
//!
//! `plain_sort` is the yardstick: the standard library's parallel sort of the same scores and
//! nothing else. `cuts` is our sort with all counts; the metrics after it start from the cuts.

use divan::{Bencher, black_box};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use setpoint::goal::{Constraint, Goal, Objective, Rate, Relation};
use setpoint::metric::interval::{Bootstrap, delong};
use setpoint::metric::{Cuts, pr, ranking, roc, value_at, value_of};
use setpoint::sample::Sample;

const MILLION: usize = 1_000_000;

fn main() {
    divan::main();
}

fn data(rows: usize) -> (Sample, Vec<f32>) {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let labels: Vec<bool> = (0..rows).map(|_| rng.random_bool(0.1)).collect();
    let noise = |rng: &mut ChaCha8Rng| (0..4).map(|_| rng.random::<f32>()).sum::<f32>();
    let scores = labels.iter().map(|label| noise(&mut rng) + if *label { 0.9 } else { 0.0 }).collect();
    (Sample::new(labels).unwrap(), scores)
}

fn recall_at_fpr() -> Goal {
    let (rate, relation, target) = (Rate::FalsePositiveRate, Relation::AtMost, 0.01);
    Goal {
        objective: Objective::Rate(Rate::Recall),
        constraints: vec![Constraint::Rate { rate, relation, target }],
    }
}

fn from_scores<R>(bencher: Bencher, metric: impl Fn(&Sample, &[f32]) -> R + Sync) {
    let (sample, scores) = data(MILLION);
    bencher.bench(|| metric(black_box(&sample), black_box(&scores)));
}

fn from_cuts<R>(bencher: Bencher, metric: impl Fn(&Cuts) -> R + Sync) {
    let (sample, scores) = data(MILLION);
    let cuts = Cuts::new(&sample, &scores).unwrap();
    bencher.bench(|| metric(black_box(&cuts)));
}

mod sorting {
    use super::*;

    #[divan::bench]
    fn plain_sort(bencher: Bencher) {
        let (_, scores) = data(MILLION);
        bencher.with_inputs(|| scores.clone()).bench_local_values(|mut scores| {
            scores.par_sort_unstable_by(f32::total_cmp);
            scores
        });
    }

    #[divan::bench]
    fn cuts(bencher: Bencher) {
        from_scores(bencher, |sample, scores| Cuts::new(sample, scores).unwrap());
    }

    #[divan::bench]
    fn cuts_weighted(bencher: Bencher) {
        let (sample, scores) = data(MILLION);
        let sample = sample.with_weights(scores.iter().map(|s| 1.0 + s).collect()).unwrap();
        bencher.bench(|| Cuts::new(black_box(&sample), black_box(&scores)).unwrap());
    }
}

mod sort_included {
    use super::*;

    #[divan::bench]
    fn value_at_recall_at_fpr(bencher: Bencher) {
        let goal = recall_at_fpr();
        from_scores(bencher, |sample, scores| value_at(&goal, sample, scores).unwrap());
    }

    #[divan::bench]
    fn roc_auc_with_delong(bencher: Bencher) {
        from_scores(bencher, |sample, scores| delong(sample, scores, 0.95).unwrap());
    }
}

mod after_the_sort {
    use super::*;

    #[divan::bench]
    fn roc_auc(bencher: Bencher) {
        from_cuts(bencher, |cuts| roc::auc(cuts).unwrap());
    }

    #[divan::bench]
    fn roc_auc_fpr_0_to_5_percent(bencher: Bencher) {
        from_cuts(bencher, |cuts| roc::area_over_fpr(cuts, 0.0, 0.05).unwrap());
    }

    #[divan::bench]
    fn average_precision(bencher: Bencher) {
        from_cuts(bencher, |cuts| pr::average_precision(cuts).unwrap());
    }

    #[divan::bench]
    fn pr_auc_recall_from_95_percent(bencher: Bencher) {
        from_cuts(bencher, |cuts| pr::area_over_recall(cuts, 0.95, 1.0).unwrap());
    }

    #[divan::bench]
    fn pr_auc_precision_from_50_percent(bencher: Bencher) {
        from_cuts(bencher, |cuts| pr::area_over_precision(cuts, 0.5, 0.9).unwrap());
    }

    #[divan::bench]
    fn recall_at_fpr_one_percent(bencher: Bencher) {
        let goal = recall_at_fpr();
        from_cuts(bencher, |cuts| value_of(&goal, cuts).unwrap());
    }

    #[divan::bench]
    fn best_f1(bencher: Bencher) {
        let goal = Goal { objective: Objective::Rate(Rate::FBeta(1.0)), constraints: vec![] };
        from_cuts(bencher, |cuts| value_of(&goal, cuts).unwrap());
    }

    #[divan::bench]
    fn precision_at_100(bencher: Bencher) {
        from_cuts(bencher, |cuts| ranking::precision_at_k(cuts, 100).unwrap());
    }
}

mod bootstrap_100_replicates_of_100_000 {
    use super::*;

    const DRAWS: Bootstrap = Bootstrap { replicates: 100, confidence: 0.95, seed: 0 };

    #[divan::bench(sample_count = 20)]
    fn one_plain_sort(bencher: Bencher) {
        let (_, scores) = data(100_000);
        bencher.with_inputs(|| scores.clone()).bench_local_values(|mut scores| {
            scores.par_sort_unstable_by(f32::total_cmp);
            scores
        });
    }

    #[divan::bench(sample_count = 20)]
    fn roc_auc(bencher: Bencher) {
        let (sample, scores) = data(100_000);
        bencher.bench(|| DRAWS.estimate(&sample, &scores, roc::auc).unwrap());
    }

    #[divan::bench(sample_count = 20)]
    fn recall_at_fpr_one_percent(bencher: Bencher) {
        let (sample, scores) = data(100_000);
        let goal = recall_at_fpr();
        bencher.bench(|| DRAWS.estimate(&sample, &scores, |cuts| Ok(value_of(&goal, cuts)?.value)).unwrap());
    }
}
