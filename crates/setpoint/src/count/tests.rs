use proptest::prelude::*;

use super::reference::Reference;
use super::*;

/// Scores with ties, labels, weights and groups of `rows` examples.
fn arbitrary_sample(rows: usize) -> impl Strategy<Value = (Sample, Vec<f32>)> {
    let example = (-3.0f32..3.0, any::<bool>(), 0.1f32..4.0, 0u32..3, any::<bool>());
    proptest::collection::vec(example, rows).prop_map(|examples| {
        let score =
            |(score, _, _, _, tie): &(f32, bool, f32, u32, bool)| if *tie { score.round() } else { *score };
        let scores = examples.iter().map(score).collect();
        let labels = examples.iter().map(|example| example.1).collect();
        let mut codes: Vec<u32> = examples.iter().map(|example| example.3).collect();
        codes[..3].copy_from_slice(&[0, 1, 2]);
        let sample = Sample::new(labels)
            .unwrap()
            .with_weights(examples.iter().map(|example| example.2).collect())
            .unwrap()
            .with_groups("g", ["a", "b", "c"].map(String::from).to_vec(), codes)
            .unwrap();
        (sample, scores)
    })
}

fn cells(thresholds: &[f64]) -> Vec<Cell> {
    vec![Cell::default(); thresholds.len() * 2]
}

/// Relative to the size of the sum of absolute terms: what rounding in `f32` can reach. What the
/// clamp of far margins cuts off is below e^-48 = 1.4e-21 per example and power of k.
fn assert_close(fast: &[Cell], plain: &[Cell], k: f64) {
    for (fast, plain) in fast.iter().zip(plain) {
        let pairs = [
            (fast.positive, plain.positive, plain.positive),
            (fast.negative, plain.negative, plain.negative),
            (fast.positive_slope, plain.positive_slope, plain.positive_slope),
            (fast.negative_slope, plain.negative_slope, plain.negative_slope),
            // Curvatures of both signs cancel; each term is below k times its slope.
            (fast.positive_curvature, plain.positive_curvature, k * plain.positive_slope),
            (fast.negative_curvature, plain.negative_curvature, k * plain.negative_slope),
        ];
        for (fast, plain, size) in pairs {
            assert!((fast - plain).abs() <= 1e-5 * size.abs() + 1e-15, "{fast} is not {plain}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn kernels_agree_with_the_plain_reference(
        (sample, scores) in (3usize..700).prop_flat_map(arbitrary_sample),
        k in 0.2f64..50.0,
        low in -4.0f64..3.0,
        spread in 0.0f64..3.0,
        softplus: bool,
        by_group: bool,
    ) {
        let surrogate = if softplus { Surrogate::Softplus } else { Surrogate::Sigmoid };
        let groups = if by_group { 3 } else { 1 };
        let thresholds: Vec<f64> = (0..4 * groups).map(|j| low + spread * j as f64 / 12.0).collect();
        let mut plain = Reference { sample: &sample, by_group, surrogate, sharpness: k, scores: scores.iter().map(|s| f64::from(*s)).collect() };
        let mut fast = Counter::new(groups, surrogate, k);
        let (mut expected, mut got) = (cells(&thresholds), cells(&thresholds));
        plain.count(&thresholds, &mut expected).unwrap();
        fast.count(&sample, &scores, &thresholds, true, &mut got).unwrap();
        assert_close(&got, &expected, k);

        let motion: Vec<f32> = scores.iter().map(|s| (s * 7.0).sin().abs()).collect();
        plain.count_motion(&thresholds, &motion.iter().map(|m| f64::from(*m)).collect::<Vec<_>>(), &mut expected);
        fast.count_motion(&sample, &scores, &motion, &thresholds, &mut got).unwrap();
        assert_close(&got, &expected, k);

        let partials: Vec<CellPartial> = (0..expected.len())
            .map(|c| CellPartial { positive: 1.0 + c as f64, negative: -0.5, positive_slope: 0.1 / k, negative_slope: -0.2 / k })
            .collect();
        let expected = plain.gradient(&thresholds, &partials);
        let mut got = vec![0.0; scores.len()];
        fast.gradient(&sample, &scores, &thresholds, &partials, true, &mut got).unwrap();
        let largest = expected.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        for (got, expected) in got.iter().zip(&expected) {
            prop_assert!((f64::from(*got) - expected).abs() <= 1e-4 * expected.abs() + 1e-6 * largest + 1e-15, "{got} is not {expected}");
        }
    }

    #[test]
    fn shards_merge_to_the_whole((sample, scores) in arbitrary_sample(200), cut in 1usize..199) {
        let count = |rows: std::ops::Range<usize>| {
            let part = Sample::new(sample.labels()[rows.clone()].to_vec()).unwrap();
            let mut cells = cells(&[0.3, 1.0]);
            Counter::new(1, Surrogate::Sigmoid, 3.0)
                .count(&part, &scores[rows], &[0.3, 1.0], true, &mut cells)
                .unwrap();
            cells
        };
        let whole = count(0..200);
        let mut merged = count(0..cut);
        merged.iter_mut().zip(count(cut..200)).for_each(|(a, b)| a.merge(&b));
        assert_close(&merged, &whole, 3.0);
    }
}

#[test]
fn margins_of_ten_thousand_stay_finite_and_right() {
    let scores = [-100.0, -1.0, 0.0, 0.5, 100.0];
    let sample = Sample::new(vec![true, false, true, false, true]).unwrap();
    for surrogate in [Surrogate::Sigmoid, Surrogate::Softplus] {
        // Thresholds far apart, in no order: the shared exponentials must move their centre.
        let thresholds = [0.0, 99.0, -99.0, 0.01, 50.0];
        let mut plain = Reference {
            sample: &sample,
            by_group: false,
            surrogate,
            sharpness: 100.0,
            scores: scores.iter().map(|s| f64::from(*s)).collect(),
        };
        let (mut expected, mut got) = (cells(&thresholds), cells(&thresholds));
        plain.count(&thresholds, &mut expected).unwrap();
        Counter::new(1, surrogate, 100.0).count(&sample, &scores, &thresholds, true, &mut got).unwrap();
        for (got, expected) in got.iter().zip(&expected) {
            for (got, expected) in [
                (got.positive, expected.positive),
                (got.negative, expected.negative),
                (got.positive_slope, expected.positive_slope),
            ] {
                assert!((got - expected).abs() <= 1e-5 * expected.abs() + 1e-15, "{got} is not {expected}");
            }
        }
    }
}

#[test]
fn counts_and_gradients_are_the_same_bits_for_any_number_of_threads() {
    let rows = 3 * CHUNK + 77;
    let scores: Vec<f32> = (0..rows).map(|i| (i as f32 * 0.37).sin() * 4.0).collect();
    let labels = (0..rows).map(|i| i % 7 == 0).collect();
    let codes = (0..rows).map(|i| (i / 3 % 3) as u32).collect();
    let sample = Sample::new(labels)
        .unwrap()
        .with_groups("g", ["a", "b", "c"].map(String::from).to_vec(), codes)
        .unwrap();
    for by_group in [false, true] {
        let thresholds = [0.5, 1.0, 1.5];
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let mut counter = Counter::new(if by_group { 3 } else { 1 }, Surrogate::Sigmoid, 5.0);
                let mut cells = cells(&thresholds);
                counter.count(&sample, &scores, &thresholds, true, &mut cells).unwrap();
                let partials =
                    vec![CellPartial { positive: 0.3, negative: -1.0, ..CellPartial::default() }; 6];
                let mut gradient = vec![0.0; rows];
                counter.gradient(&sample, &scores, &thresholds, &partials, false, &mut gradient).unwrap();
                (cells, gradient.iter().map(|v| v.to_bits()).collect::<Vec<_>>())
            })
        };
        let one = run(1);
        assert!(run(2) == one && run(3) == one, "by_group {by_group}");
    }
}

#[test]
fn bad_scores_are_named() {
    let sample = Sample::new((0..1000).map(|i| i % 2 == 0).collect()).unwrap();
    let mut counter = Counter::new(1, Surrogate::Sigmoid, 1.0);
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let mut scores = vec![0.25; 1000];
        scores[777] = bad;
        let error = counter.count(&sample, &scores, &[0.0], false, &mut [Cell::default(); 2]).unwrap_err();
        assert!(matches!(error, SampleError::Score { index: 777, .. }), "{error}");
    }
    let error = counter.count(&sample, &[0.0; 3], &[0.0], false, &mut [Cell::default(); 2]).unwrap_err();
    assert_eq!(error, SampleError::Length { what: "scores", expected: 1000, got: 3 });
}
