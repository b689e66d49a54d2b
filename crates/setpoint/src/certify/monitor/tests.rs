use super::*;
use crate::certify::{Certificate, CertifyOptions, FrontierOptions, certify, certify_along, certify_classes};
use crate::goal::{ClassGoal, Goal, parse_conditions};

/// Negatives of which `above` are decided positive, at scores around a threshold of 0.5.
fn negatives(above: usize, below: usize) -> (Sample, Vec<f32>) {
    let scores = (0..above + below).map(|row| if row < above { 1.0 } else { 0.0 }).collect();
    (Sample::new(vec![false; above + below]).unwrap(), scores)
}

fn certificate(conditions: &str, sample: &Sample) -> Certificate {
    let scores: Vec<f32> = (0..sample.len()).map(|row| row as f32 / (2 * sample.len()) as f32).collect();
    certify(&parse_conditions(conditions).unwrap(), sample, &scores, &CertifyOptions::new(0.9)).unwrap()
}

fn fpr() -> Certificate {
    certificate("fpr<=5%", &Sample::new(vec![false; 2000]).unwrap())
}

fn watch(certificate: &Certificate) -> Monitor {
    Monitor::new("m", Some(certificate.into()), 0.05).unwrap()
}

#[test]
fn a_broken_condition_raises_an_alarm_that_stays() {
    let certificate = fpr();
    let mut monitor = watch(&certificate);
    for _ in 0..20 {
        let (sample, scores) = negatives(5, 95);
        assert!(monitor.add(&certificate, &sample, &scores).unwrap().is_empty());
    }
    let quiet = &monitor.status(&certificate).unwrap()[0];
    assert_eq!((quiet.alarm, quiet.alarm_at, quiet.rate), (None, 20.0, Some(0.05)));
    assert!(quiet.interval.lower < 0.05 && quiet.interval.upper > 0.05 && quiet.survives_mix);
    assert!(
        (quiet.told - 0.075).abs() < 1e-12
            && quiet.needed.unwrap() > 100
            && quiet.needed == quiet.needed_rows
    );
    let (sample, scores) = negatives(80, 420);
    monitor.add(&certificate, &sample, &scores).unwrap();
    assert_eq!(monitor.status(&certificate).unwrap()[0].alarm, Some(2500));
    let (sample, scores) = negatives(0, 5000);
    monitor.add(&certificate, &sample, &scores).unwrap();
    // What the test of that batch won is kept.
    let evidence = monitor.status(&certificate).unwrap()[0].evidence;
    assert!(monitor.alarmed() && (20.0 - 1e-9..22.0).contains(&evidence), "{evidence}");
    assert_eq!(monitor.history().len(), 22);
}

#[test]
fn a_batch_counts_by_its_sums_and_one_class_alone_is_no_trouble() {
    let certificate = fpr();
    let (mut one, mut other) = (watch(&certificate), watch(&certificate));
    let (sample, mut scores) = negatives(9, 91);
    one.add(&certificate, &sample, &scores).unwrap();
    scores.reverse();
    other.add(&certificate, &sample, &scores).unwrap();
    assert_eq!(one, other);
    let before = one.status(&certificate).unwrap()[0].evidence;
    one.add(&certificate, &Sample::new(vec![true; 50]).unwrap(), &[1.0; 50]).unwrap();
    assert_eq!(one.status(&certificate).unwrap()[0].evidence, before);
    assert_eq!(one.rows(), (150, 0));
}

#[test]
fn the_state_is_plain_data_and_knows_its_model() {
    let certificate = fpr();
    let mut monitor = watch(&certificate);
    let (sample, scores) = negatives(9, 91);
    monitor.add(&certificate, &sample, &scores).unwrap();
    let text = serde_json::to_string(&monitor).unwrap();
    let again: Monitor = serde_json::from_str(&text).unwrap();
    assert_eq!(again, monitor);
    let this = Certified::from(&certificate);
    assert!(again.fits("m", Some(this)) && !again.fits("n", Some(this)));
    assert!(!again.fits("m", Some((&certificate_of("fpr<=4%")).into())) && !again.fits("m", None));
}

fn certificate_of(conditions: &str) -> Certificate {
    certificate(conditions, &Sample::new(vec![false; 2000]).unwrap())
}

#[test]
fn groups_are_watched_by_name_and_strangers_refused() {
    let grouped = |names: [&str; 2], rows: u32| {
        let names = names.map(str::to_owned).to_vec();
        let sample = Sample::new(vec![false; rows as usize]).unwrap();
        sample.with_groups("g", names, (0..rows).map(|row| row % 2).collect()).unwrap()
    };
    let certificate = certificate("fpr(g)<=10%", &grouped(["a", "b"], 2000));
    let mut monitor = watch(&certificate);
    // Only a's rows are above.
    let scores: Vec<f32> = (0..400).map(|row| if row % 2 == 0 && row < 200 { 1.0 } else { 0.0 }).collect();
    monitor.add(&certificate, &grouped(["a", "b"], 400), &scores).unwrap();
    let status = monitor.status(&certificate).unwrap();
    let alarms: Vec<_> = status.iter().map(|one| (one.group.as_deref(), one.alarm.is_some())).collect();
    assert_eq!(alarms, [(Some("a"), true), (Some("b"), false)]);
    assert_eq!(status[0].alarm_at, 40.0);
    let before = monitor.clone();
    assert!(matches!(
        monitor.add(&certificate, &grouped(["a", "x"], 400), &scores),
        Err(CertifyError::UnknownGroup { .. })
    ));
    assert_eq!(monitor, before);
}

#[test]
fn weights_count_and_those_larger_than_the_first_batch_had_are_cut() {
    let certificate = fpr();
    let mut monitor = watch(&certificate);
    let (sample, scores) = negatives(10, 90);
    let weighted = |heavy: f32| {
        let weights = (0..100).map(|row| if row == 50 { heavy } else { 1.0 }).collect();
        sample.clone().with_weights(weights).unwrap()
    };
    assert!(monitor.add(&certificate, &weighted(3.0), &scores).unwrap().is_empty());
    let status = &monitor.status(&certificate).unwrap()[0];
    assert_eq!((status.counted, status.examples), (10.0, 102.0));
    let notes = monitor.add(&certificate, &weighted(9.0), &scores).unwrap();
    assert!(notes[0].starts_with("1 draws are larger"), "{notes:?}");
    assert_eq!(monitor.status(&certificate).unwrap()[0].examples, 204.0);
    let error = monitor.add(&certificate, &sample, &scores).unwrap_err();
    assert!(error.to_string().starts_with("the batches before had weights"), "{error}");
    // Equal weights are none.
    let equal = sample.clone().with_weights(vec![2.0; 100]).unwrap();
    let (mut one, mut other) = (watch(&certificate), watch(&certificate));
    one.add(&certificate, &equal, &scores).unwrap();
    other.add(&certificate, &sample, &scores).unwrap();
    assert_eq!(one, other);
}

#[test]
fn rows_without_labels_hint_at_other_scores_and_stay_quiet_else() {
    let scores: Vec<f32> = (0..4000).map(|row| ((row * 37) % 4000) as f32 / 4000.0).collect();
    let sample = Sample::new((0..4000).map(|row| row % 10 == 0).collect()).unwrap();
    let decided = |scores: &[f32]| scores.iter().filter(|score| **score >= 0.95).count() as u64;
    let sketch = Sketch::of(&sample, &scores, decided(&scores)).unwrap();
    let mut monitor = Monitor::new("m", None, 0.05).unwrap();
    let add = |monitor: &mut Monitor, batch: &[f32]| {
        let seen = sketch.seen(batch, decided(batch));
        monitor.add_unlabelled(&sketch.known(), &seen, batch.len() as u64).unwrap();
    };
    for batch in scores.chunks(100) {
        add(&mut monitor, batch);
    }
    add(&mut monitor, &[]);
    assert!(!monitor.hinted());
    // Shrunk towards the middle: the mean stays, and so do not the tails.
    let changed: Vec<f32> = scores.iter().map(|score| 0.25 + 0.5 * score).collect();
    for batch in changed.chunks(100) {
        add(&mut monitor, batch);
    }
    let hints = monitor.hints(&sketch.known()).unwrap();
    assert!(hints.iter().all(|hint| hint.alarm.is_some_and(|rows| rows > 4000)), "{hints:?}");
    assert!(hints[1].place < sketch.edges.len() && (hints[0].expected - 0.05).abs() < 1e-9);
    assert_eq!((monitor.rows(), monitor.alarmed()), ((0, 8000), false));
}

/// Rows of three classes, of which the last `missed` of the second are decided as the third.
fn of_classes(each: usize, missed: usize) -> (Sample, Vec<f32>) {
    let codes: Vec<u32> = (0..3 * each).map(|row| (row / each) as u32).collect();
    let mut scores = vec![0.0; 9 * each];
    for (row, code) in codes.iter().enumerate() {
        let is_missed = *code == 1 && row >= 2 * each - missed;
        scores[3 * row + if is_missed { 2 } else { *code as usize }] = 1.0;
    }
    (Sample::of_classes("item", ["a", "b", "c"].map(str::to_owned).to_vec(), codes).unwrap(), scores)
}

#[test]
fn conditions_on_classes_are_watched_as_others_are() {
    let names = ["a", "b", "c"].map(str::to_owned);
    let goal = ClassGoal::parse("accuracy @ recall(b)>=0.9, precision(c)>=0.8", &names).unwrap();
    let (sample, scores) = of_classes(400, 10);
    let found = certify_classes(&goal, &sample, &scores, &[vec![0.0; 3]], 0.95).unwrap();
    let (certificate, shifts) = (found.certificate(), found.shifts);
    let certified = Certified::Shifts { goal: &goal, certificate: &certificate, shifts: &shifts };
    let mut monitor = Monitor::new("m", Some(certified), 0.05).unwrap();
    for _ in 0..10 {
        let (sample, scores) = of_classes(100, 10);
        monitor.add(certified, &sample, &scores).unwrap();
    }
    // One class alone says nothing of the recall of another.
    let (all, scores) = of_classes(100, 0);
    let first: Vec<u32> = (0..100).collect();
    monitor.add(certified, &all.select(&first), &scores[..300]).unwrap();
    let status = monitor.status(certified).unwrap();
    assert_eq!((status[0].counted, status[0].examples, status[0].noun), (900.0, 1000.0, "rows of the class"));
    assert_eq!((status[1].counted, status[1].examples), (1000.0, 1100.0));
    assert!(status[0].survives_mix && !status[1].survives_mix && status[0].alarm_at == 40.0);
    assert!(!monitor.alarmed() && monitor.fits("m", Some(certified)));
    let (sample, scores) = of_classes(100, 30);
    monitor.add(certified, &sample, &scores).unwrap();
    let status = monitor.status(certified).unwrap();
    assert_eq!((status[0].alarm, status[1].alarm), (Some(3400), None));
    // Weights make rows of more or less than one example.
    let mut weighed = Monitor::new("m", Some(certified), 0.05).unwrap();
    let weights = (0..300).map(|row| if row % 2 == 0 { 1.0 } else { 3.0 }).collect();
    weighed.add(certified, &sample.with_weights(weights).unwrap(), &scores).unwrap();
    assert_eq!(weighed.status(certified).unwrap()[0].examples, 200.0);
    let other = ClassGoal::parse("accuracy @ recall(a)>=0.9", &names).unwrap();
    let other = Certified::Shifts { goal: &other, certificate: &certificate, shifts: &shifts };
    assert!(matches!(Monitor::new("m", Some(other), 0.05), Err(CertifyError::Damaged { .. })));
}

/// Rows decided positive, left undecided and decided negative: positives and negatives of each.
fn three_ways(rows: [[usize; 2]; 3]) -> (Sample, Vec<f32>) {
    let (mut labels, mut scores) = (Vec::new(), Vec::new());
    for (counts, score) in rows.into_iter().zip([1.0, 0.5, 0.0]) {
        for (count, label) in counts.into_iter().zip([true, false]) {
            labels.extend(vec![label; count]);
            scores.extend(vec![score; count]);
        }
    }
    (Sample::new(labels).unwrap(), scores)
}

fn along(goal: &str, thresholds: &[f32], rows: [[usize; 2]; 3]) -> Certificate {
    let (goal, (sample, scores)): (Goal, _) = (goal.parse().unwrap(), three_ways(rows));
    let options = FrontierOptions { confidence: 0.9, shared_threshold: false, inclusion: None };
    certify_along(&goal, &[thresholds.to_vec()], &sample, &scores, &options).unwrap()
}

const QUIET: [[usize; 2]; 3] = [[90, 10], [100, 100], [10, 390]];

#[test]
fn rates_of_rows_decided_between_two_thresholds_are_watched() {
    let certificate = along("recall @ precision>=0.8, npv>=0.9, coverage>=0.6", &[1.0, 0.5], QUIET);
    let certified = Certified::Band(&certificate);
    let mut monitor = Monitor::new("m", Some(certified), 0.05).unwrap();
    let mut add = |rows| {
        let (sample, scores) = three_ways(rows);
        monitor.add(certified, &sample, &scores).unwrap();
        monitor.status(certified).unwrap()
    };
    for _ in 0..9 {
        add(QUIET);
    }
    let status = add(QUIET);
    let counted: Vec<_> = status.iter().map(|one| (one.counted, one.examples, one.noun)).collect();
    assert_eq!(
        counted,
        [
            (900.0, 1000.0, "predicted positives"),
            (3900.0, 4000.0, "predicted negatives"),
            (5000.0, 7000.0, "examples")
        ]
    );
    assert!(status.iter().all(|one| one.alarm.is_none() && !one.survives_mix && one.alarm_at > 59.9));
    // Positives that are decided negative break npv alone, and rows left to people coverage alone.
    let alarms = |status: Vec<Status>| status.iter().map(|one| one.alarm.is_some()).collect::<Vec<_>>();
    let status = add([[90, 10], [100, 100], [200, 390]]);
    assert_eq!(alarms(status), [false, true, false]);
    let status = add([[90, 10], [400, 800], [10, 390]]);
    assert_eq!(alarms(status), [false, true, true]);
    // Weights count here as elsewhere.
    let (sample, scores) = three_ways(QUIET);
    let weights = (0..sample.len()).map(|row| if row % 2 == 0 { 1.0 } else { 3.0 }).collect();
    let mut weighed = Monitor::new("m", Some(certified), 0.05).unwrap();
    weighed.add(certified, &sample.with_weights(weights).unwrap(), &scores).unwrap();
    assert_eq!(weighed.status(certified).unwrap()[2].examples, 1400.0);
    let damaged = Certificate { thresholds: vec![0.5, 1.0], ..certificate.clone() };
    let refused = Monitor::new("m", Some(Certified::Band(&damaged)), 0.05);
    assert!(matches!(refused, Err(CertifyError::Damaged { .. })));
}

#[test]
fn shares_of_rows_proved_along_a_frontier_are_watched_and_others_refused_by_name() {
    let rows = [[400, 20], [0, 0], [20, 560]];
    let certificate = along("recall @ accuracy>=0.9", &[1.0], rows);
    let mut monitor = watch(&certificate);
    let (sample, scores) = three_ways(rows);
    monitor.add(&certificate, &sample, &scores).unwrap();
    let status = &monitor.status(&certificate).unwrap()[0];
    assert_eq!((status.counted, status.examples, status.alarm), (960.0, 1000.0, None));
    let (sample, scores) = three_ways([[400, 200], [0, 0], [20, 380]]);
    monitor.add(&certificate, &sample, &scores).unwrap();
    assert!(monitor.alarmed());
    let certificate = along("recall @ balanced-accuracy>=0.8", &[1.0], rows);
    let refused = Monitor::new("m", Some((&certificate).into()), 0.05).unwrap_err().to_string();
    assert!(refused.starts_with("balanced-accuracy>=0.8 is no share of rows"), "{refused}");
}
