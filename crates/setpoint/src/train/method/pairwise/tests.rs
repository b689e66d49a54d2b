use super::super::plane::{clouds, descend, value_and_best};
use super::*;

fn sample(weighted: bool) -> (Sample, Vec<f32>) {
    let rows = 90;
    let mut sample = Sample::new((0..rows).map(|i| i % 3 == 0).collect()).unwrap();
    if weighted {
        sample = sample.with_weights((0..rows).map(|i| 0.5 + (i % 7) as f32 / 4.0).collect()).unwrap();
    }
    let scores =
        (0..rows).map(|i| (i as f32 * 0.618_034).fract() * 4.0 - 2.0 + f32::from(u8::from(i % 3 == 0)));
    (sample, scores.collect())
}

/// S and its shares by the definition: the weight of a negative that lies within the top.
fn shares(sample: &Sample, scores: &[f32], fraction: f64) -> Vec<f64> {
    let negative = |row: &usize| !sample.labels()[*row];
    let weight = |keep: &dyn Fn(f32) -> bool| -> f64 {
        (0..scores.len())
            .filter(|row| negative(row) && keep(scores[*row]))
            .map(|row| sample.weight(row))
            .sum()
    };
    let wanted = fraction * weight(&|_| true);
    let share = |row: usize| {
        let (above, tied) = (weight(&|score| score > scores[row]), weight(&|score| score == scores[row]));
        sample.weight(row) * ((wanted - above) / tied).clamp(0.0, 1.0)
    };
    (0..scores.len()).map(|row| if negative(&row) { share(row) } else { 0.0 }).collect()
}

/// The loss by the definition, pair by pair, with the shares given.
fn oracle(sample: &Sample, scores: &[f64], shares: &[f64], surrogate: Surrogate, k: f64) -> f64 {
    let (mut sum, mut pairs) = (0.0, 0.0);
    for i in (0..scores.len()).filter(|row| sample.labels()[*row]) {
        for (j, share) in shares.iter().enumerate() {
            sum += sample.weight(i) * share * surrogate.value(-k * (scores[i] - scores[j]));
            pairs += sample.weight(i) * share;
        }
    }
    sum / pairs
}

/// Standardised by the weighted mean and deviation.
fn standardise(sample: &Sample, scores: &[f64]) -> Vec<f64> {
    let mean_of = |f: &dyn Fn(f64) -> f64| {
        let terms = scores.iter().enumerate().map(|(row, score)| sample.weight(row) * f(*score));
        terms.sum::<f64>() / (0..scores.len()).map(|row| sample.weight(row)).sum::<f64>()
    };
    let mean = mean_of(&|score| score);
    let deviation = mean_of(&|score| (score - mean).powi(2)).sqrt();
    scores.iter().map(|score| (score - mean) / deviation).collect()
}

#[test]
fn loss_and_gradient_match_the_definition_and_its_finite_differences() {
    for weighted in [false, true] {
        let (sample, scores) = sample(weighted);
        let wide: Vec<f64> = scores.iter().map(|score| f64::from(*score)).collect();
        for (goal, fraction) in [
            ("recall @ fpr<=13%", 0.13),
            ("fnr @ tnr>=0.6", 0.4),
            ("roc-auc", 1.0),
            ("roc-auc @ fpr in 0..0.5", 0.5),
        ] {
            for surrogate in [Surrogate::Sigmoid, Surrogate::Softplus] {
                for (bandwidth, standard) in
                    [(Bandwidth::Score(0.5), false), (Bandwidth::Deviations(0.5), true)]
                {
                    let mut loss =
                        Pairwise::new(&goal.parse().unwrap(), &sample, surrogate, bandwidth).unwrap();
                    let mut v = vec![0.0; scores.len()];
                    let found = loss.evaluate(&sample, &scores, &mut v).unwrap();
                    let shares = shares(&sample, &scores, fraction);
                    let value = |scores: &[f64]| {
                        let scores = if standard { standardise(&sample, scores) } else { scores.to_vec() };
                        oracle(&sample, &scores, &shares, surrogate, 2.0)
                    };
                    assert!((found - value(&wide)).abs() < 1e-6 * (1.0 + found), "{goal}");
                    for row in 0..scores.len() {
                        let h = 1e-4;
                        let at = |h: f64| {
                            let mut moved = wide.clone();
                            moved[row] += h;
                            value(&moved)
                        };
                        let numeric = (at(h) - at(-h)) / (2.0 * h);
                        // The kernels are f32; the differences err by h² of third derivatives, 8 at most.
                        let error = (f64::from(v[row]) - numeric).abs();
                        assert!(error < 1e-6, "{goal} {surrogate:?}: {} is not {numeric}", v[row]);
                    }
                }
            }
        }
    }
}

#[test]
fn tied_negatives_share_the_boundary_and_weight_two_is_a_row_twice() {
    let goal: Goal = "recall @ fpr<=40%".parse().unwrap();
    let evaluate = |labels: &[bool], weights: Option<Vec<f32>>, scores: &[f32]| {
        let mut sample = Sample::new(labels.to_vec()).unwrap();
        if let Some(weights) = weights {
            sample = sample.with_weights(weights).unwrap();
        }
        let mut v = vec![0.0; scores.len()];
        let mut loss = Pairwise::new(&goal, &sample, Surrogate::Sigmoid, Bandwidth::Score(1.0)).unwrap();
        (loss.evaluate(&sample, scores, &mut v).unwrap(), v)
    };
    // Two of five negatives: one alone at the top, and a third of each of three tied.
    let labels = [true, false, false, false, false, false];
    let (value, v) = evaluate(&labels, None, &[1.0, 2.0, 0.5, 0.5, 0.5, -1.0]);
    let phi = |x: f64| Surrogate::Sigmoid.value(x);
    assert!((value - (phi(1.0) + phi(-0.5)) / 2.0).abs() < 1e-6);
    assert!(v[2] == v[3] && v[3] == v[4] && v[2] > 0.0 && v[5] == 0.0);
    let (merged, _) =
        evaluate(&[true, false, false, false], Some(vec![1.0, 1.0, 3.0, 1.0]), &[1.0, 2.0, 0.5, -1.0]);
    assert!((value - merged).abs() < 1e-6);
}

#[test]
fn buckets_stay_within_their_bound() {
    for surrogate in [Surrogate::Sigmoid, Surrogate::Softplus] {
        let (_, sample) = clouds(4000);
        let scores: Vec<f32> = (0..4000).map(|i| (i as f32 * 0.618_034).fract() * 6.0 - 3.0).collect();
        let goal = "roc-auc".parse().unwrap();
        let mut loss = Pairwise::new(&goal, &sample, surrogate, Bandwidth::Score(0.5)).unwrap();
        let (mut exact, mut near) = (vec![0.0; 4000], vec![0.0; 4000]);
        let value = loss.evaluate(&sample, &scores, &mut exact).unwrap();
        loss.exact_pairs = 0;
        let classes = Classes::of(&sample).unwrap();
        let buckets = loss.buckets(&loss.top(&classes, &scores), classes.positives.len(), 2.0).len();
        assert!(buckets < 400, "{buckets} for 3000 negatives");
        let found = loss.evaluate(&sample, &scores, &mut near).unwrap();
        assert!((found - value).abs() < 4e-5, "{found} for {value}");
        // A slope moves by at most φ'' BUCKET from the bucket's mean, times k / rows of the class.
        for (near, exact) in near.iter().zip(&exact) {
            assert!((near - exact).abs() < 0.25 * BUCKET as f32 * 2.0 / 1000.0, "{near} for {exact}");
        }
    }
}

#[test]
fn a_hundred_thousand_rows_need_far_fewer_than_all_pairs() {
    let rows = 100_000;
    let sample = Sample::new((0..rows).map(|i| i % 4 == 0).collect()).unwrap();
    let scores: Vec<f32> = (0..rows).map(|i| (i as f32 * 0.618_034).fract() * 6.0 - 3.0).collect();
    let mut loss =
        Pairwise::new(&"roc-auc".parse().unwrap(), &sample, Surrogate::Sigmoid, Bandwidth::Score(0.1))
            .unwrap();
    // 75,000 negatives over a range of 60 bandwidths, in buckets of a 32nd of one.
    let classes = Classes::of(&sample).unwrap();
    let buckets = loss.buckets(&loss.top(&classes, &scores), classes.positives.len(), 10.0).len();
    assert!(buckets <= 60 * 32 + 1, "{buckets} for 75,000 negatives");
    let mut v = vec![0.0; rows];
    let value = loss.evaluate(&sample, &scores, &mut v).unwrap();
    // Labels have nothing to do with these scores: half of the pairs are the wrong way round, to within
    // chance (1 / sqrt(12 * 25,000) = 0.002).
    assert!((value - 0.5).abs() < 0.01, "{value}");
    // Shifting all scores changes nothing. Each v is at most k / 4 / 25,000 = 1e-4, rounded to f32.
    let sum: f64 = v.iter().map(|v| f64::from(*v)).sum();
    assert!(sum.abs() < rows as f64 * 1e-4 * 6e-8, "{sum}");
}

#[test]
fn it_comes_to_the_best_direction() {
    let goal: Goal = "roc-auc @ fpr in 0..20%".parse().unwrap();
    let (mut model, sample) = clouds(3000);
    for (surrogate, bandwidth) in
        [(Surrogate::Softplus, Bandwidth::Score(1.0)), (Surrogate::Sigmoid, Bandwidth::Deviations(0.3))]
    {
        let mut loss = Pairwise::new(&goal, &sample, surrogate, bandwidth).unwrap();
        let parameters = descend(&mut loss, &mut model, &sample, [0.0, 1.0, 0.0], 600, |_, _, _| {});
        // The optimum over directions is flat, and the sample's own differs from that of the surrogate
        // by chance: 750 positives, each worth 0.0013 of a recall.
        let (value, best) = value_and_best(&goal, &mut model, &sample, &parameters);
        assert!(value > best - 0.005, "{value} of {best}");
    }
}

#[test]
fn goals_it_cannot_express_are_refused_with_those_it_can() {
    let (sample, _) = sample(false);
    for (goal, reason) in [
        ("pr-auc @ recall in 0.95..1", "its area is not one over fpr"),
        ("roc-auc @ recall in 0.8..1", "its area is not one over fpr"),
        ("roc-auc @ fpr in 1%..5%", "its fpr range does not start at 0"),
        ("recall @ precision>=0.9", "its condition does not limit the negatives over all rows"),
        ("recall @ fpr(g)<=2%", "its condition does not limit the negatives over all rows"),
        ("recall @ precision>=0.9, fpr<=2%", "it needs exactly one condition"),
        ("precision @ fpr<=2%", "its objective does not compare positives with negatives"),
        ("f1", "its objective does not compare positives with negatives"),
    ] {
        let refused =
            Pairwise::new(&goal.parse().unwrap(), &sample, Surrogate::Sigmoid, Bandwidth::Score(1.0));
        let message = refused.unwrap_err().to_string();
        assert_eq!(
            message,
            format!("the pairwise method cannot train for {goal:?}: {reason}; it can for {ABLE}")
        );
    }
}

#[test]
fn one_class_is_refused() {
    let sample = Sample::new(vec![true; 3]).unwrap();
    let refused =
        Pairwise::new(&"roc-auc".parse().unwrap(), &sample, Surrogate::Sigmoid, Bandwidth::Score(1.0));
    assert!(matches!(refused, Err(TrainError::Sample(SampleError::OneClass { missing: "negatives", .. }))));
}
