use crate::Sample;
use crate::certify::{CertifyOptions, Verdict, certify, drift};
use crate::goal::parse_conditions;

/// Positives 1 above the negatives, the second group 0.5 above the first.
fn sample(rows: usize) -> (Sample, Vec<f32>) {
    let labels: Vec<bool> = (0..rows).map(|row| row % 2 == 0).collect();
    let codes: Vec<u32> = (0..rows).map(|row| (row / 2 % 2) as u32).collect();
    let scores = (0..rows).map(|row| {
        let place = row as f32 / rows as f32;
        place + f32::from(u8::from(labels[row])) + 0.5 * codes[row] as f32
    });
    let scores = scores.collect();
    let sample = Sample::new(labels).unwrap();
    (sample.with_groups("g", vec!["a".into(), "b".into()], codes).unwrap(), scores)
}

#[test]
fn one_threshold_serves_the_group_that_needs_the_strictest() {
    let (sample, scores) = sample(4000);
    let by_group = CertifyOptions::new(0.95);
    let shared = CertifyOptions { shared_threshold: true, ..CertifyOptions::new(0.95) };
    let conditions = parse_conditions("fpr(g)<=10%").unwrap();
    let each = certify(&conditions, &sample, &scores, &by_group).unwrap();
    let one = certify(&conditions, &sample, &scores, &shared).unwrap();
    assert_eq!(one.thresholds, [each.thresholds[1]; 2]);
    assert!(each.thresholds[0] < each.thresholds[1]);
    assert_eq!((one.threshold(None), each.threshold(None)), (Some(each.thresholds[1]), None));
    // The same proofs, so the same share of the confidence; the first group has room to spare.
    assert_eq!(one.confidence_each, each.confidence_each);
    assert_eq!(one.conditions[1], each.conditions[1]);
    assert!(one.conditions[0].observed < each.conditions[0].observed);
}

#[test]
fn conditions_over_all_rows_may_stand_beside_those_within_groups() {
    let (sample, scores) = sample(4000);
    let shared = CertifyOptions { shared_threshold: true, ..CertifyOptions::new(0.95) };
    let conditions = parse_conditions("recall(g)>=0.3, fpr<=20%").unwrap();
    let one = certify(&conditions, &sample, &scores, &shared).unwrap();
    assert!((one.confidence_each - (1.0 - 0.05 / 3.0)).abs() < 1e-12);
    let named: Vec<Option<&str>> = one.conditions.iter().map(|c| c.group.as_deref()).collect();
    assert_eq!(named, [Some("a"), Some("b"), None]);
    assert_eq!(one.conditions[2].examples, 2000);
    let tested = drift(&one, &sample, &scores).unwrap();
    assert_eq!(tested.len(), 3);
    assert!(tested.iter().all(|drift| drift.verdict == Verdict::Holds));
    assert_eq!(tested[2].examples, 2000);
    let shifted: Vec<f32> = scores.iter().map(|score| score + 0.5).collect();
    let tested = drift(&one, &sample, &shifted).unwrap();
    assert_eq!((tested[0].verdict, tested[2].verdict), (Verdict::Holds, Verdict::Violated));
}
