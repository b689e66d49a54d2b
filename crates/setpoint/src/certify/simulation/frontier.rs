//! Certificates along a frontier, at decisions whose rates are known in closed form; the sequences go past what holds.
//!
//! Scores are uniform, and a row is positive with the chance of its score s, of group b with s².

use super::*;

/// Rows, and the amount of each: 2 to 12 with equal chances, 7 on average.
fn drawn(rng: &mut Draw, rows: usize) -> (Sample, Vec<f32>, Vec<f64>) {
    let groups: Vec<u32> = (0..rows).map(|_| u32::from(uniform(rng) < 1.0 / 3.0)).collect();
    let scores: Vec<f32> = (0..rows).map(|_| uniform(rng) as f32).collect();
    let chance = |row: usize| f64::from(scores[row]).powi(1 + groups[row] as i32);
    let labels = (0..rows).map(|row| uniform(rng) < chance(row)).collect();
    let sample = Sample::new(labels).unwrap().with_groups("g", vec!["a".into(), "b".into()], groups).unwrap();
    (sample, scores, (0..rows).map(|_| 2.0 + (11.0 * uniform(rng)).floor()).collect())
}

/// Shares of all rows at thresholds of the two groups: tp, fp, fn, tn of group a, then of b; two thirds are of a.
fn shares(upper: f64, lower: f64) -> [[f64; 4]; 2] {
    let group = |power: i32| {
        let positives =
            |from: f64, to: f64| (to.powi(power + 1) - from.powi(power + 1)) / f64::from(power + 1);
        let above = [positives(upper, 1.0), 1.0 - upper - positives(upper, 1.0)];
        let below = [positives(0.0, lower), lower - positives(0.0, lower)];
        [above[0], above[1], below[0], below[1]]
    };
    [group(1), group(2)]
}

/// tp, fp, fn, tn as shares of all rows.
fn all(upper: f64, lower: f64) -> [f64; 4] {
    let [a, b] = shares(upper, lower);
    std::array::from_fn(|place| (2.0 * a[place] + b[place]) / 3.0)
}

fn truth(goal: &Goal, thresholds: &[f32]) -> bool {
    let [first, last] = [thresholds[0], *thresholds.last().unwrap()].map(f64::from);
    let counts = |[tp, fp, r#fn, tn]: [f64; 4], positives: f64| crate::goal::Counts {
        true_positives: tp,
        false_positives: fp,
        false_negatives: r#fn,
        true_negatives: tn,
        positives,
        negatives: 1.0 - positives,
        money: 0.0,
    };
    let whole = counts(all(first, last), (2.0 * 0.5 + 1.0 / 3.0) / 3.0);
    let [a, _] = shares(first, first);
    let [_, b] = shares(last, last);
    let groups = [counts(a, 0.5), counts(b, 1.0 / 3.0)];
    goal.constraints.iter().all(|constraint| match constraint {
        Constraint::Rate { rate, relation, target } => {
            let condition = crate::metric::Condition { rate: *rate, relation: *relation, target: *target };
            condition.allows(rate.of_decided(&whole).unwrap())
        }
        Constraint::Gap { rate, target, .. } => {
            let [x, y] = groups.map(|counts| rate.of(&counts).unwrap());
            (x - y).abs() <= *target
        }
        Constraint::Ratio { rate, target, .. } => {
            let [x, y] = groups.map(|counts| rate.of(&counts).unwrap());
            x.min(y) >= *target * x.max(y)
        }
        _ => unreachable!("not simulated"),
    })
}

const OPTIONS: FrontierOptions<'static> =
    FrontierOptions { confidence: 1.0 - DELTA, shared_threshold: false, inclusion: None };

#[test]
fn conditions_of_every_kind_hold_as_promised() {
    for (seed, rows, goal, candidates) in [
        (81, 300, "recall @ accuracy>=0.7", &[&[0.55][..], &[0.45], &[0.4], &[0.36], &[0.34], &[0.3]][..]),
        (82, 300, "recall @ error<=30%", &[&[0.55], &[0.45], &[0.4], &[0.36], &[0.34], &[0.3]]),
        (83, 1000, "recall @ balanced-accuracy>=0.7", &[&[0.53], &[0.45], &[0.35], &[0.3], &[0.29], &[0.25]]),
        (84, 800, "precision @ f1>=0.66", &[&[0.5], &[0.6], &[0.65], &[0.69], &[0.7], &[0.75]]),
        (
            85,
            3600,
            "accuracy @ gap(recall, g)<=0.1",
            &[&[0.5, 0.62], &[0.5, 0.58], &[0.5, 0.54], &[0.5, 0.53], &[0.5, 0.45]],
        ),
        (
            86,
            1500,
            "accuracy @ ratio(positive-rate, g)>=0.8",
            &[&[0.5, 0.5], &[0.5, 0.55], &[0.5, 0.59], &[0.5, 0.605], &[0.5, 0.7]],
        ),
        (
            87,
            500,
            "coverage @ precision>=0.75, npv>=0.85",
            &[&[0.8, 0.2], &[0.75, 0.25], &[0.65, 0.3], &[0.61, 0.33], &[0.59, 0.36], &[0.5, 0.4]],
        ),
        (
            88,
            300,
            "error @ coverage>=0.6, precision>=0.6",
            &[&[0.7, 0.4], &[0.7, 0.35], &[0.7, 0.31], &[0.7, 0.29], &[0.7, 0.2]],
        ),
        (
            89,
            400,
            "coverage @ error<=20%",
            &[&[0.8, 0.2], &[0.7, 0.3], &[0.65, 0.35], &[0.61, 0.39], &[0.59, 0.41], &[0.5, 0.45]],
        ),
    ] {
        let goal: Goal = goal.parse().unwrap();
        let candidates: Vec<Vec<f32>> = candidates.iter().map(|one| one.to_vec()).collect();
        assert!(truth(&goal, &candidates[0]) && !truth(&goal, candidates.last().unwrap()), "{goal}");
        let (failures, certified) = simulate(seed, |rng| {
            let (sample, scores, _) = drawn(rng, rows);
            let certificate = certify_along(&goal, &candidates, &sample, &scores, &OPTIONS).ok()?;
            Some(truth(&goal, &certificate.thresholds))
        });
        assert!(certified > DRAWS / 4, "{goal}: {certified}");
        println!("{goal}: {failures} of {certified} certified");
        assert_rare(failures);
    }
}

#[test]
fn amounts_are_bounded_as_promised_alone_and_beside_conditions() {
    for (seed, goal, candidates) in [
        (91, "profit(tp=a, fp=-5)", &[0.4][..]),
        (92, "cost(fp=3, fn=a)", &[0.4]),
        (93, "profit(tp=a, fp=-5) @ positive-rate<=50%", &[0.6, 0.55, 0.51, 0.495, 0.4]),
    ] {
        let goal: Goal = goal.parse().unwrap();
        let money = goal.money().unwrap();
        let candidates: Vec<Vec<f32>> = candidates.iter().map(|one| vec![*one]).collect();
        let mean = |t: f64| {
            let [tp, fp, r#fn, _] = all(t, t);
            if money.profit { 7.0 * tp - 5.0 * fp } else { 3.0 * fp + 7.0 * r#fn }
        };
        let (failures, certified) = simulate(seed, |rng| {
            let (sample, scores, amounts) = drawn(rng, 400);
            let pays = money.pays(sample.labels(), &[amounts]);
            let sample = sample.with_stakes(money.profit, pays).unwrap();
            let certificate = certify_along(&goal, &candidates, &sample, &scores, &OPTIONS).ok()?;
            let bound = certificate.amount.unwrap().bound;
            let paid = mean(f64::from(certificate.thresholds[0]));
            let holds = if money.profit { bound <= paid } else { bound >= paid };
            Some(holds && truth(&goal, &certificate.thresholds))
        });
        assert!(certified > DRAWS / 4, "{goal}: {certified}");
        assert_rare(failures);
    }
}

#[test]
fn rows_that_stand_for_unequal_numbers_prove_what_holds_of_those_they_stand_for() {
    for (seed, goal, candidates) in [
        (95, "recall @ error<=30%", &[0.55, 0.5, 0.45, 0.42, 0.38, 0.3][..]),
        (96, "precision @ f1>=0.62", &[0.4, 0.5, 0.6, 0.68, 0.72, 0.8]),
    ] {
        let goal: Goal = goal.parse().unwrap();
        let candidates: Vec<Vec<f32>> = candidates.iter().map(|one| vec![*one]).collect();
        assert!(truth(&goal, &candidates[0]) && !truth(&goal, candidates.last().unwrap()), "{goal}");
        let (failures, certified) = simulate(seed, |rng| {
            let (sample, scores, _) = drawn(rng, 1500);
            let chance = |row: u32| 0.3 + 0.5 * f64::from(scores[row as usize]);
            let rows: Vec<u32> = (0..1500).filter(|row| uniform(rng) < chance(*row)).collect();
            let inclusion: Vec<f64> = rows.iter().map(|row| chance(*row)).collect();
            let kept: Vec<f32> = rows.iter().map(|row| scores[*row as usize]).collect();
            let options = FrontierOptions { inclusion: Some(&inclusion), ..OPTIONS };
            let certificate =
                certify_along(&goal, &candidates, &sample.select(&rows), &kept, &options).ok()?;
            Some(truth(&goal, &certificate.thresholds))
        });
        assert!(certified > DRAWS / 4, "{goal}: {certified}");
        assert_rare(failures);
    }
}

#[test]
fn entities_of_alike_rows_are_counted_not_their_rows() {
    for (seed, goal, candidates) in [
        (
            101,
            "coverage @ precision>=0.75, npv>=0.85",
            &[&[0.85, 0.12][..], &[0.75, 0.25], &[0.65, 0.3], &[0.61, 0.33], &[0.59, 0.36], &[0.5, 0.4]][..],
        ),
        (102, "recall @ accuracy>=0.7", &[&[0.55], &[0.45], &[0.4], &[0.36], &[0.34], &[0.3]]),
        (103, "precision @ f1>=0.66", &[&[0.5], &[0.6], &[0.65], &[0.69], &[0.7], &[0.75]]),
    ] {
        let goal: Goal = goal.parse().unwrap();
        let candidates: Vec<Vec<f32>> = candidates.iter().map(|one| one.to_vec()).collect();
        assert!(truth(&goal, &candidates[0]) && !truth(&goal, candidates.last().unwrap()), "{goal}");
        let (failures, certified) = simulate(seed, |rng| {
            // One to four copies of each row: an entity is worth one draw.
            let (rows, scores, _) = drawn(rng, 800);
            let entities: Vec<u32> =
                (0..800).flat_map(|row| vec![row; 1 + (4.0 * uniform(rng)) as usize]).collect();
            let scores: Vec<f32> = entities.iter().map(|row| scores[*row as usize]).collect();
            let sample = rows.select(&entities).with_entities("who", &entities).unwrap();
            let certificate = certify_along(&goal, &candidates, &sample, &scores, &OPTIONS).ok()?;
            assert!(certificate.entities.is_some() && certificate.conditions[0].method.largest() == Some(4));
            Some(truth(&goal, &certificate.thresholds))
        });
        println!("{goal}: {failures} of {certified} certified");
        assert!(certified > DRAWS / 4, "{goal}: {certified}");
        assert_rare(failures);
    }
}
