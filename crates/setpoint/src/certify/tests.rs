//! What `certify` takes, what it refuses and what it hands back.

mod shared;

use super::*;
use crate::goal::parse_conditions;
use crate::sample::SampleError;

/// Negatives from 0 to 1, positives from 0.5 to 1.5, evenly.
fn overlapping(each: usize) -> (Sample, Vec<f32>) {
    let labels: Vec<bool> = (0..2 * each).map(|i| i >= each).collect();
    let place = |i: usize| (i % each) as f32 / each as f32 + if i >= each { 0.5 } else { 0.0 };
    (Sample::new(labels).unwrap(), (0..2 * each).map(place).collect())
}

fn conditions(text: &str) -> Vec<Constraint> {
    parse_conditions(text).unwrap()
}

fn refusal(text: &str, sample: &Sample, scores: &[f32], confidence: f64) -> CertifyError {
    certify(&conditions(text), sample, scores, &CertifyOptions::new(confidence)).unwrap_err()
}

#[test]
fn bad_input_is_refused() {
    let (sample, scores) = overlapping(100);
    for confidence in [0.0, 1.0, 95.0, -0.1, f64::NAN] {
        assert!(matches!(refusal("fpr<=10%", &sample, &scores, confidence), CertifyError::Confidence { .. }));
    }
    let mut broken = scores.clone();
    broken[7] = f32::NAN;
    assert!(matches!(
        refusal("fpr<=10%", &sample, &broken, 0.9),
        CertifyError::Sample(SampleError::Score { index: 7, .. })
    ));
    assert!(matches!(
        refusal("fpr<=10%", &sample, &scores[1..], 0.9),
        CertifyError::Sample(SampleError::Length { .. })
    ));
    assert_eq!(certify(&[], &sample, &scores, &CertifyOptions::new(0.9)), Err(CertifyError::NoCondition));
    let outside = [Constraint::at_most(Rate::FalsePositiveRate, 1.5)];
    assert!(matches!(
        certify(&outside, &sample, &scores, &CertifyOptions::new(0.9)),
        Err(CertifyError::Goal(_))
    ));
    let grid = CertifyOptions { grid: Some(vec![0.5, f32::INFINITY]), ..CertifyOptions::new(0.9) };
    assert!(matches!(
        certify(&conditions("precision>=0.5"), &sample, &scores, &grid),
        Err(CertifyError::Grid { index: 1, .. })
    ));
    let rate = Some(Objective::Rate(Rate::PositiveRate));
    let undirected = CertifyOptions { objective: rate, ..CertifyOptions::new(0.9) };
    assert!(matches!(
        certify(&conditions("fpr<=10%"), &sample, &scores, &undirected),
        Err(CertifyError::Metric(MetricError::NoDirection { .. }))
    ));
    let area = "roc-auc @ fpr in 0..5%".parse::<Goal>().unwrap().objective;
    let area = CertifyOptions { objective: Some(area), ..CertifyOptions::new(0.9) };
    assert_eq!(certify(&conditions("fpr<=10%"), &sample, &scores, &area), Err(CertifyError::AreaObjective));
}

#[test]
fn a_slice_without_examples_is_refused_by_name() {
    let sample = Sample::new(vec![true; 50]).unwrap();
    assert_eq!(
        refusal("fpr<=10%", &sample, &[0.0; 50], 0.9).to_string(),
        "labels hold no negatives (0 of 50): fpr is undefined; use a larger or stratified sample"
    );
    let sample = Sample::new((0..100).map(|i| i < 50).collect()).unwrap();
    let codes = (0..100).map(|i| u32::from(i >= 50)).collect();
    let sample = sample.with_groups("sex", vec!["f".into(), "m".into()], codes).unwrap();
    assert!(matches!(
        refusal("recall(sex)>=0.5", &sample, &[0.0; 100], 0.9),
        CertifyError::Sample(SampleError::GroupWithoutClass { group, missing: "positives", .. }) if group == "m"
    ));
}

#[test]
fn weights_are_refused_unless_they_are_equal() {
    let (sample, scores) = overlapping(100);
    let plain = certify(&conditions("fpr<=10%"), &sample, &scores, &CertifyOptions::new(0.9)).unwrap();
    let equal = sample.clone().with_weights(vec![2.5; 200]).unwrap();
    let same = certify(&conditions("fpr<=10%"), &equal, &scores, &CertifyOptions::new(0.9)).unwrap();
    assert_eq!(plain, same);
    let mut weights = vec![1.0; 200];
    weights[3] = 2.0;
    let weighted = sample.with_weights(weights).unwrap();
    let error = refusal("fpr<=10%", &weighted, &scores, 0.9);
    assert_eq!(error, CertifyError::Weighted { first: 1.0, index: 3, other: 2.0 });
    assert_eq!(drift(&plain, &weighted, &scores), Err(error));
}

#[test]
fn limits_that_contradict_each_other_are_named_with_both_numbers() {
    let (sample, scores) = overlapping(100);
    let error = refusal("fpr<=10%, recall>=0.9", &sample, &scores, 0.9);
    let text = error.to_string();
    let CertifyError::Contradiction { at_least, at_most, .. } = error else { panic!("{text}") };
    assert!(at_least > 0.9 && at_most < 0.6);
    assert_eq!(
        text,
        format!(
            "the certified thresholds do not meet: fpr<=10% needs a threshold of at least {at_least}, recall>=0.9 one of at most {at_most}; relax one of them, lower the confidence or bring more examples"
        )
    );
    let (sample, scores) = overlapping(1000);
    let error = refusal("precision>=0.9, recall>=0.9", &sample, &scores, 0.9);
    assert!(matches!(error, CertifyError::Contradiction { strict, .. } if strict == "precision>=0.9"));
}

#[test]
fn the_objective_chooses_between_the_limits() {
    let (sample, scores) = overlapping(1000);
    let options = |objective| CertifyOptions { objective, ..CertifyOptions::new(0.9) };
    let pick = |text: &str, objective: Option<Rate>| {
        let options = options(objective.map(Objective::Rate));
        certify(&conditions(text), &sample, &scores, &options).unwrap().thresholds[0]
    };
    let (loose, strict) = (pick("fpr<=40%", None), pick("recall>=0.7", None));
    assert!((0.6..0.65).contains(&loose) && (0.75..0.8).contains(&strict), "{loose} {strict}");
    let both = "fpr<=40%, recall>=0.7";
    let ends = (pick(both, Some(Rate::Recall)), pick(both, Some(Rate::FalsePositiveRate)));
    // Each shares its confidence with the other, so the limits are a little tighter.
    assert!(ends.0 > loose && ends.1 < strict && ends.0 < ends.1);
    assert_eq!(pick(both, None), ends.0);
    // In the middle of the thresholds that decide alike, so at most half a step from the end.
    assert!((ends.1 - pick(both, Some(Rate::Precision))).abs() < 0.000_6);
    let accurate = pick(both, Some(Rate::Accuracy));
    assert!(ends.0 <= accurate && accurate <= ends.1);
    // The upper limit is no end for recall: it takes the lowest positive in.
    assert!((pick("recall>=0.7", Some(Rate::Recall)) - 0.5).abs() < 0.000_6);
    let held = pick("precision>=0.7", None);
    assert_eq!(pick("precision>=0.7", Some(Rate::Recall)), held);
    assert!(pick("precision>=0.7", Some(Rate::Precision)) > held);
    let goal: Goal = "recall @ fpr<=40%".parse().unwrap();
    assert_eq!(certify_goal(&goal, &sample, &scores, 0.9).unwrap().thresholds[0], loose);
}

#[test]
fn a_band_of_the_positive_rate_is_certified_from_both_sides() {
    let (sample, scores) = overlapping(2000);
    let certificate = certify(
        &conditions("positive-rate>=20%, positive-rate<=30%"),
        &sample,
        &scores,
        &CertifyOptions::new(0.95),
    )
    .unwrap();
    assert!(certificate.conditions.iter().all(|c| 0.2 < c.observed && c.observed < 0.3));
    assert_eq!(certificate.confidence_each, 0.975);
    assert_eq!(certificate.conditions[0].examples, 4000);
}

#[test]
fn groups_get_a_threshold_each_and_share_the_confidence() {
    let (sample, scores) = overlapping(1000);
    let codes = (0..2000).map(|i| i % 2).collect();
    let sample = sample.with_groups("sex", vec!["f".into(), "m".into()], codes).unwrap();
    let certificate =
        certify(&conditions("fpr(sex)<=20%, recall(sex)>=0.3"), &sample, &scores, &CertifyOptions::new(0.95))
            .unwrap();
    assert_eq!(
        (certificate.groups.len(), certificate.thresholds.len(), certificate.conditions.len()),
        (2, 2, 4)
    );
    assert!((certificate.confidence_each - 0.9875).abs() < 1e-15);
    assert_eq!(certificate.threshold(Some("m")), Some(certificate.thresholds[1]));
    assert_eq!((certificate.threshold(None), certificate.threshold(Some("x"))), (None, None));
    assert!(matches!(
        refusal("fpr(sex)<=0.1%", &sample, &scores, 0.95),
        CertifyError::TooFew { group: Some(group), found: 500, shared_by: 2, needed: 3688, .. } if group == "f"
    ));
    assert!(matches!(refusal("fpr(age)<=10%", &sample, &scores, 0.9), CertifyError::OtherColumn { .. }));
    assert!(matches!(
        refusal("fpr(sex)<=10%, recall>=0.5", &sample, &scores, 0.9),
        CertifyError::OverallBesideGroups { .. }
    ));
    let (plain, scores) = overlapping(10);
    assert!(matches!(refusal("fpr(sex)<=10%", &plain, &scores, 0.9), CertifyError::NoGroups { .. }));
}

#[test]
fn precision_and_npv_together_need_a_grid_fixed_in_advance() {
    let (sample, scores) = overlapping(1000);
    let both = "precision>=0.7, npv>=0.7";
    assert!(matches!(refusal(both, &sample, &scores, 0.9), CertifyError::TwoGrids { .. }));
    let grid: Vec<f32> = (0..30).map(|i| i as f32 / 20.0 + 0.025).rev().skip(2).collect();
    let options = CertifyOptions { grid: Some(grid.clone()), ..CertifyOptions::new(0.9) };
    let certificate = certify(&conditions("precision>=0.7"), &sample, &scores, &options).unwrap();
    assert!(grid.contains(&certificate.thresholds[0]));
    assert!(matches!(certificate.conditions[0].method, Method::FixedSequence { tested: 28, .. }));
    let middle: Vec<f32> = vec![0.65, 0.7, 0.75, 0.8, 0.85];
    let options = CertifyOptions { grid: Some(middle), ..CertifyOptions::new(0.9) };
    let certificate = certify(&conditions(both), &sample, &scores, &options).unwrap();
    assert!((0.65..=0.85).contains(&certificate.thresholds[0]));
}

#[test]
fn order_and_rescaling_of_the_scores_change_nothing() {
    let (sample, scores) = overlapping(300);
    let reversed = Sample::new(sample.labels().iter().rev().copied().collect()).unwrap();
    let turned: Vec<f32> = scores.iter().rev().copied().collect();
    let doubled: Vec<f32> = scores.iter().map(|score| 2.0 * score).collect();
    for text in ["fpr<=20%", "recall>=0.8", "precision>=0.6", "npv>=0.6", "positive-rate<=10%"] {
        let of = |sample, scores: &[f32]| {
            certify(&conditions(text), sample, scores, &CertifyOptions::new(0.9)).unwrap()
        };
        let certificate = of(&sample, &scores);
        assert_eq!(of(&reversed, &turned), certificate);
        assert_eq!(of(&sample, &doubled).conditions[0].counted, certificate.conditions[0].counted);
    }
}

#[test]
fn a_certificate_prints_and_survives_json() {
    let (sample, scores) = overlapping(1000);
    let certificate =
        certify(&conditions("fpr=10%, precision>=0.7"), &sample, &scores, &CertifyOptions::new(0.95))
            .unwrap();
    let text = certificate.to_string();
    assert!(text.starts_with("certified at 95% confidence on 2000 examples, 97.5% for each of 2 conditions\n  fpr=10%: observed "), "{text}");
    let json = serde_json::to_string(&certificate).unwrap();
    assert!(json.contains("\"method\":{\"name\":\"order-statistic\",\"k\":"), "{json}");
    assert_eq!(serde_json::from_str::<Certificate>(&json).unwrap(), certificate);
}
