//! Certificates by simulation, and what they say and refuse.

use rand::RngExt;

use super::*;
use crate::class::{Classes, Confusion};
use crate::goal::Rate;

fn draw(rows: usize, seed: u64) -> (Sample, Vec<f32>) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let codes: Vec<u32> =
        (0..rows).map(|row| if row < 3 { row as u32 } else { rng.random_range(0..3) }).collect();
    let noise = |rng: &mut ChaCha8Rng| (0..4).map(|_| rng.random_range(-1.0f32..1.0)).sum::<f32>();
    let mut scores = Vec::with_capacity(3 * rows);
    for y in &codes {
        (0..3).for_each(|c| scores.push(noise(&mut rng) + 1.2 * f32::from(u8::from(c == *y))));
    }
    (Sample::of_classes("label", ["a", "b", "c"].map(str::to_owned).to_vec(), codes).unwrap(), scores)
}

fn goal(text: &str) -> ClassGoal {
    ClassGoal::parse(text, &["a", "b", "c"].map(str::to_owned)).unwrap()
}

/// The steps that 600 rows lead to, and whether each holds on a population.
fn steps(
    goal: &ClassGoal,
    population: &Classes<'_>,
    population_scores: &[f32],
) -> (Vec<Vec<f64>>, Vec<bool>) {
    let (sample, scores) = draw(600, 7);
    let shifts = shift::best(goal, &sample, &scores, 2).unwrap().shifts;
    let sequence = class_sequence(goal, &sample, &scores, &shifts, 0.9).unwrap();
    let holds = |shifts: &Vec<f64>| {
        let confusion = Confusion::at(population, population_scores, shifts).unwrap();
        // The population's own rates are known to half a percent: what is so near counts as held.
        goal.conditions.iter().all(|condition| confusion.missed(condition) < 0.005)
    };
    let held = sequence.iter().map(holds).collect();
    (sequence, held)
}

#[test]
fn certified_conditions_fail_no_more_often_than_promised() {
    // 400 draws at delta 10%: 40 failures expected at most, standard deviation 6, so 58 is three beyond.
    let (population, population_scores) = draw(60_000, 1_000_000);
    let classes = Classes::new(&population);
    for text in [
        "accuracy @ recall(b)>=0.7",
        "accuracy @ recall(a)>=0.7, recall(b)>=0.5",
        "macro-f1 @ coverage(c)<=20%",
    ] {
        let goal = goal(text);
        let (sequence, held) = steps(&goal, &classes, &population_scores);
        let (mut failed, mut certified, mut plain) = (0, 0, 0);
        for seed in 0..400 {
            let (sample, scores) = draw(500, 100 + seed);
            if let Ok(found) = certify_classes(&goal, &sample, &scores, &sequence, 0.9) {
                certified += 1;
                failed += usize::from(!held[found.steps.1 as usize - 1]);
            }
            // Shifts that only meet the conditions on these rows fail far more often.
            if let Ok(found) = shift::best(&goal, &sample, &scores, 1).map(|found| found.shifts)
                && seed < 100
            {
                let confusion = Confusion::at(&classes, &population_scores, &found).unwrap();
                plain +=
                    usize::from(goal.conditions.iter().any(|condition| confusion.missed(condition) > 0.0));
            }
        }
        assert!(certified > 200, "{text}: {certified} certified");
        assert!(failed <= 58, "{text}: {failed} of {certified} failed");
        assert!(plain > 30, "{text}: {plain} of 100 at plain shifts");
    }
}

#[test]
fn conditions_that_pull_against_each_other_are_certified_between_the_strictest_shifts_and_the_best() {
    // As above: 400 draws at delta 10%. Every class is held, so that no direction makes all of them safer.
    let (population, population_scores) = draw(60_000, 1_000_000);
    let classes = Classes::new(&population);
    let goal = goal("precision(a) @ recall(each)>=0.5");
    let (sequence, held) = steps(&goal, &classes, &population_scores);
    assert!(held[0] && !held[STEPS], "from safe to bold");
    let (mut failed, mut certified) = (0, 0);
    for seed in 0..400 {
        let (sample, scores) = draw(500, 100 + seed);
        if let Ok(found) = certify_classes(&goal, &sample, &scores, &sequence, 0.9) {
            certified += 1;
            failed += usize::from(!held[found.steps.1 as usize - 1]);
        }
    }
    assert!(certified > 200 && failed <= 58, "{failed} of {certified} failed");
}

#[test]
fn a_certificate_says_what_was_counted() {
    let (sample, scores) = draw(2000, 3);
    let goal = goal("accuracy @ recall(b)>=0.6, recall(c)>=0.6");
    let shifts = shift::best(&goal, &sample, &scores, 2).unwrap().shifts;
    let sequence = class_sequence(&goal, &sample, &scores, &shifts, 0.95).unwrap();
    let (sample, scores) = draw(2000, 4);
    let found = certify_classes(&goal, &sample, &scores, &sequence, 0.95).unwrap();
    assert_eq!(found.conditions.len(), 2);
    let confusion = Confusion::at(&Classes::new(&sample), &scores, &found.shifts).unwrap();
    let recall = confusion.rate(ClassRate { rate: Rate::Recall, over: Over::Class(1) }).unwrap();
    assert!((found.conditions[0].observed - recall).abs() < 1e-12);
    assert_eq!(found.conditions[0].condition, "recall(b)>=0.6");
    assert!(found.steps.1 > 1 && found.steps.1 <= found.steps.0);
}

#[test]
fn equal_weights_count_rows() {
    let (sample, scores) = draw(500, 3);
    let goal = goal("accuracy @ recall(b)>=0.6");
    let sequence = [vec![0.0, -0.5, 0.0]];
    let plain = certify_classes(&goal, &sample, &scores, &sequence, 0.9).unwrap();
    for weight in [0.25, 3.0] {
        let weighted = sample.clone().with_weights(vec![weight; 500]).unwrap();
        assert_eq!(certify_classes(&goal, &weighted, &scores, &sequence, 0.9).unwrap(), plain);
    }
}

/// Entities of two to six rows that have much of their class and scores in common.
fn entities(count: usize, seed: u64) -> (Sample, Vec<f32>) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let noise = |rng: &mut ChaCha8Rng| (0..4).map(|_| rng.random_range(-1.0f32..1.0)).sum::<f32>();
    let (mut of, mut codes, mut scores) = (Vec::new(), vec![], vec![]);
    for entity in 0..count {
        let usual = if entity < 3 { entity as u32 } else { rng.random_range(0..3) };
        let own: Vec<f32> = (0..3).map(|_| 0.8 * noise(&mut rng)).collect();
        for row in 0..rng.random_range(2..7) {
            let y = if row == 0 || rng.random_bool(0.8) { usual } else { rng.random_range(0..3) };
            of.push(entity as u32);
            codes.push(y);
            let score = |c: usize, rng: &mut ChaCha8Rng| {
                own[c] + 0.6 * noise(rng) + 1.4 * f32::from(u8::from(c as u32 == y))
            };
            (0..3).for_each(|c| scores.push(score(c, &mut rng)));
        }
    }
    let names = ["a", "b", "c"].map(str::to_owned).to_vec();
    let sample = Sample::of_classes("label", names, codes).unwrap();
    (sample.with_entities("who", &of).unwrap(), scores)
}

#[test]
fn entities_are_the_draws_where_rows_come_in_them() {
    // As above: 400 draws at delta 10%, of which 58 failures are three standard deviations too many.
    let (population, population_scores) = entities(20_000, 1_000_000);
    let classes = Classes::new(&population);
    for text in ["accuracy @ recall(b)>=0.7", "recall(a) @ precision(a)>=0.75"] {
        let goal = goal(text);
        let (sample, scores) = entities(400, 7);
        let shifts = shift::best(&goal, &sample, &scores, 2).unwrap().shifts;
        let sequence = class_sequence(&goal, &sample, &scores, &shifts, 0.9).unwrap();
        let held = |shifts: &Vec<f64>| {
            let confusion = Confusion::at(&classes, &population_scores, shifts).unwrap();
            goal.conditions.iter().all(|condition| confusion.missed(condition) < 0.005)
        };
        let held: Vec<bool> = sequence.iter().map(held).collect();
        let (mut failed, mut certified, mut by_row) = (0, 0, 0);
        for seed in 0..400 {
            let (sample, scores) = entities(300, 100 + seed);
            if let Ok(found) = certify_classes(&goal, &sample, &scores, &sequence, 0.9) {
                certified += 1;
                failed += usize::from(!held[found.steps.1 as usize - 1]);
                let entities = found.entities.as_ref().map(|entities| entities.count);
                assert_eq!(entities, Some(300));
                assert!(matches!(found.conditions[0].method, Method::Betting { largest: 2..=6, .. }));
            }
            let rows = sample.groups().unwrap().codes().to_vec();
            let alone = Sample::of_classes("label", sample.groups().unwrap().names().to_vec(), rows);
            if let Ok(found) = certify_classes(&goal, &alone.unwrap(), &scores, &sequence, 0.9) {
                by_row += usize::from(!held[found.steps.1 as usize - 1]);
            }
        }
        assert!(certified > 200 && failed <= 58, "{text}: {failed} of {certified} failed");
        assert!(by_row > failed, "{text}: {by_row} failed where rows were taken for draws");
    }
    let goal = goal("accuracy @ recall(b)>=0.7");
    let (sample, scores) = entities(2000, 3);
    let sequence = [vec![0.0, -0.8, 0.0]];
    let found = certify_classes(&goal, &sample, &scores, &sequence, 0.9).unwrap();
    let certificate = found.certificate();
    let (new, scores) = entities(500, 4);
    let drift = |shifts: &[f64], sample: &Sample| {
        class_drift(&goal, &certificate, sample, &scores, shifts).map(|drifts| drifts[0].verdict)
    };
    assert_eq!(drift(&sequence[0], &new), Ok(Verdict::Holds));
    assert_eq!(drift(&[0.0, 2.0, 0.0], &new), Ok(Verdict::Violated));
    let rows = new.groups().unwrap();
    let alone = Sample::of_classes("label", rows.names().to_vec(), rows.codes().to_vec()).unwrap();
    assert!(matches!(drift(&sequence[0], &alone), Err(CertifyError::NoEntities { .. })));
}

#[test]
fn what_cannot_be_proved_is_refused_by_name() {
    let (sample, scores) = draw(100, 5);
    let refuse = |text: &str, sample: &Sample| {
        certify_classes(&goal(text), sample, &scores, &[vec![0.0; 3]], 0.95).unwrap_err().to_string()
    };
    assert!(refuse("accuracy @ coverage(each)=prior", &sample).contains("give the coverage as a number"));
    assert!(refuse("accuracy @ coverage(a)=10%", &sample).contains("no safe side"));
    assert!(refuse("accuracy", &sample).contains("no condition"));
    assert!(
        refuse("accuracy @ recall(b)>=0.99", &sample)
            .starts_with("no shifts of the sequence certify recall(b)>=0.99 at 95%")
    );
    let together = sample.with_entities("who", &[0; 100]).unwrap();
    assert!(refuse("accuracy @ recall(b)>=0.2", &together).contains("bring more entities"));
}

#[test]
fn rows_to_choose_on_are_no_rows_to_prove_on() {
    let sample =
        Sample::of_classes("label", vec!["a".into(), "b".into()], (0..1000).map(|row| row % 2).collect());
    let sample = sample.unwrap();
    let [first, others] = apart(&sample, 0);
    assert_eq!((first.len(), others.len()), (333, 667));
    let mut all = [first.clone(), others].concat();
    all.sort_unstable();
    assert_eq!(all, (0..1000).collect::<Vec<_>>());
    // As the file has them, its last rows would be the proof.
    let again = |seed| apart(&sample, seed)[0].clone();
    assert!(first.iter().any(|row| *row > 900) && again(0) == first && again(1) != first);
    let of: Vec<u32> = (0..1000).map(|row| row / 4).collect();
    let [first, others] = apart(&sample.clone().with_entities("who", &of).unwrap(), 0);
    assert_eq!((first.len(), others.len()), (332, 668));
    assert!(first.iter().all(|row| others.iter().all(|other| other / 4 != row / 4)));
}
