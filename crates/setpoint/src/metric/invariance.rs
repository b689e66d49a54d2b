//! What every metric owes its users, tested over a table of all of them.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::data::random_case;
use super::operating_point::best;
use super::{Condition, Cuts, MetricError, confusion, interval, pr, proper, ranking, roc};
use crate::goal::{Rate, Relation};
use crate::sample::{Sample, SampleError};

type Metric = fn(&Sample, &[f32]) -> Result<f64, MetricError>;

/// Metrics of the order of the scores alone.
const RANKING: [(&str, Metric); 14] = [
    ("roc-auc", |s, x| roc::auc(&Cuts::new(s, x)?)),
    ("roc-auc @ fpr in 0..10%", |s, x| roc::area_over_fpr(&Cuts::new(s, x)?, 0.0, 0.1)),
    ("roc-auc @ fpr in 5%..30%", |s, x| roc::area_over_fpr(&Cuts::new(s, x)?, 0.05, 0.3)),
    ("roc-auc @ recall in 0.8..1", |s, x| roc::area_over_recall(&Cuts::new(s, x)?, 0.8, 1.0)),
    ("average precision", |s, x| pr::average_precision(&Cuts::new(s, x)?)),
    ("pr-auc @ recall in 0.9..1", |s, x| pr::area_over_recall(&Cuts::new(s, x)?, 0.9, 1.0)),
    ("pr-auc @ precision in 0.5..0.9", |s, x| pr::area_over_precision(&Cuts::new(s, x)?, 0.5, 0.9)),
    ("recall @ fpr<=25%", |s, x| at(s, x, Rate::Recall, &[(Rate::FalsePositiveRate, 0.25)])),
    ("fnr @ fpr=25%", |s, x| at(s, x, Rate::FalseNegativeRate, &[(Rate::FalsePositiveRate, 0.25)])),
    ("precision @ recall>=0.75", |s, x| at(s, x, Rate::Precision, &[(Rate::Recall, 0.75)])),
    ("f1", |s, x| at(s, x, Rate::FBeta(1.0), &[])),
    ("error @ positive-rate<=50%, recall>=0.1", |s, x| {
        at(s, x, Rate::Error, &[(Rate::PositiveRate, 0.5), (Rate::Recall, 0.01)])
    }),
    ("precision @ k=3", |s, x| ranking::precision_at_k(&Cuts::new(s, x)?, 3)),
    ("recall @ k=3", |s, x| ranking::recall_at_k(&Cuts::new(s, x)?, 3)),
];

/// Metrics that also depend on the values of the scores.
const VALUED: [(&str, Metric); 3] = [
    ("accuracy at 0.1", |s, x| Ok(Rate::Accuracy.of(&confusion::at(s, x, 0.1)?).unwrap())),
    ("log loss", proper::log_loss_of_scores),
    ("brier", proper::brier_of_scores),
];

fn at(sample: &Sample, scores: &[f32], rate: Rate, held: &[(Rate, f64)]) -> Result<f64, MetricError> {
    let condition =
        |(rate, target): &(Rate, f64)| Condition { rate: *rate, relation: Relation::Equal, target: *target };
    let conditions: Vec<Condition> = held.iter().map(condition).collect();
    Ok(best(&Cuts::new(sample, scores)?, rate, &conditions)?.value)
}

fn all() -> impl Iterator<Item = (&'static str, Metric)> {
    RANKING.into_iter().chain(VALUED)
}

/// Rows of a sample with other weights; a row may come more than once.
fn rows(
    sample: &Sample,
    scores: &[f32],
    rows: &[usize],
    weight: impl Fn(usize) -> f32,
) -> (Sample, Vec<f32>) {
    let picked = Sample::new(rows.iter().map(|row| sample.labels()[*row]).collect()).unwrap();
    let weights = rows.iter().map(|row| weight(*row)).collect();
    (picked.with_weights(weights).unwrap(), rows.iter().map(|row| scores[*row]).collect())
}

fn same(name: &str, seed: u64, a: Result<f64, MetricError>, b: Result<f64, MetricError>) {
    match (a, b) {
        // The weights are eighths, so counts are exact; sums of up to 120 products are not.
        (Ok(a), Ok(b)) => assert!((a - b).abs() < 1e-12, "{name}, seed {seed}: {a} became {b}"),
        (Err(_), Err(_)) => {}
        (a, b) => panic!("{name}, seed {seed}: {a:?} became {b:?}"),
    }
}

#[test]
fn the_order_of_examples_does_not_matter() {
    for seed in 0..30 {
        let (sample, scores) = random_case(seed, 60);
        let mut order: Vec<usize> = (0..sample.len()).collect();
        order.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
        let (shuffled, moved) = rows(&sample, &scores, &order, |row| sample.weight(row) as f32);
        for (name, metric) in all() {
            same(name, seed, metric(&sample, &scores), metric(&shuffled, &moved));
        }
    }
}

#[test]
fn a_strictly_increasing_rescaling_does_not_matter() {
    for seed in 0..30 {
        let (sample, scores) = random_case(seed, 60);
        // Each keeps all these scores apart: powers of two times odd numbers, and cubes well within f32.
        let rescalings: [fn(f32) -> f32; 3] = [|x| x * 1024.0, |x| -(-x * 0.125), |x| (x * 8.0).exp()];
        for rescale in rescalings {
            let rescaled: Vec<f32> = scores.iter().map(|score| rescale(*score)).collect();
            for (name, metric) in RANKING {
                same(name, seed, metric(&sample, &scores), metric(&sample, &rescaled));
            }
        }
    }
}

#[test]
fn weight_two_equals_a_duplicated_row() {
    for seed in 0..30 {
        let (sample, scores) = random_case(seed, 60);
        let twice = |row: usize| row.is_multiple_of(3);
        let once: Vec<usize> = (0..sample.len()).collect();
        let copied: Vec<usize> =
            once.iter().flat_map(|row| vec![*row; 1 + usize::from(twice(*row))]).collect();
        let weight = |row: usize| sample.weight(row) as f32;
        let (weighted, scores_once) =
            rows(&sample, &scores, &once, |row| weight(row) * if twice(row) { 2.0 } else { 1.0 });
        let (duplicated, scores_twice) = rows(&sample, &scores, &copied, weight);
        for (name, metric) in all() {
            same(name, seed, metric(&weighted, &scores_once), metric(&duplicated, &scores_twice));
        }
    }
}

#[test]
fn the_scale_of_the_weights_does_not_matter_but_for_k() {
    for seed in 0..30 {
        let (sample, scores) = random_case(seed, 60);
        let once: Vec<usize> = (0..sample.len()).collect();
        let (scaled, _) = rows(&sample, &scores, &once, |row| sample.weight(row) as f32 * 4.0);
        for (name, metric) in all().filter(|(name, _)| !name.contains("k=")) {
            same(name, seed, metric(&sample, &scores), metric(&scaled, &scores));
        }
    }
}

#[test]
fn scores_that_are_no_numbers_or_do_not_fit_are_refused() {
    let (sample, scores) = random_case(3, 60);
    let intervals: [(&str, Metric); 3] = [
        ("delong", |s, x| Ok(interval::delong(s, x, 0.9)?.auc)),
        ("bootstrap", |s, x| Ok(interval::Bootstrap::default().estimate(s, x, roc::auc)?.value)),
        ("rate", |s, x| Ok(interval::of_rate(Rate::Recall, s, x, 0.0, 0.9)?.lower)),
    ];
    for (name, metric) in all().chain(intervals) {
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let mut scores = scores.clone();
            scores[2] = bad;
            let error = metric(&sample, &scores).unwrap_err();
            assert!(
                matches!(error, MetricError::Sample(SampleError::Score { index: 2, .. })),
                "{name}: {error}"
            );
        }
        let error = metric(&sample, &scores[1..]).unwrap_err();
        assert!(matches!(error, MetricError::Sample(SampleError::Length { .. })), "{name}: {error}");
    }
}

#[test]
fn every_value_is_a_number_between_zero_and_one() {
    for seed in 0..200 {
        let (sample, scores) = random_case(seed, 12);
        for (name, metric) in RANKING {
            if let Ok(value) = metric(&sample, &scores) {
                assert!((-1e-15..=1.0 + 1e-15).contains(&value), "{name}, seed {seed}: {value}");
            }
        }
    }
}
