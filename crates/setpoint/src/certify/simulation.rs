//! The guarantees, tested as guarantees: thousands of calibration samples from populations whose
//! rates at any threshold are known in closed form.
//!
//! A rule that fails with probability at most delta gives at most Binomial(draws, delta) failures.
//! [`assert_rare`] refuses a number of failures that such a rule reaches or exceeds with
//! probability below 1e-4: the seeds are fixed, so a correct rule passes for good unless it was
//! that unlucky the first time. With 4000 draws and delta = 0.1 that is 473 failures (11.8%).

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::goal::parse_conditions;
use crate::metric::interval::{lower_tail, normal_quantile, upper_tail};

mod frontier;
mod moved;

const DRAWS: u64 = 4000;
const DELTA: f64 = 0.1;

type Draw = ChaCha8Rng;

fn uniform(rng: &mut Draw) -> f64 {
    rng.random()
}

fn options() -> CertifyOptions {
    CertifyOptions::new(1.0 - DELTA)
}

/// How often a draw certifies something false, and how often it certifies at all.
fn simulate(seed: u64, mut draw: impl FnMut(&mut Draw) -> Option<bool>) -> (u64, u64) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (mut false_ones, mut certified) = (0, 0);
    for _ in 0..DRAWS {
        if let Some(holds) = draw(&mut rng) {
            certified += 1;
            false_ones += u64::from(!holds);
        }
    }
    (false_ones, certified)
}

fn assert_rare(failures: u64) {
    let chance = upper_tail(DRAWS, failures, DELTA);
    assert!(chance > 1e-4, "{failures} failures of {DRAWS} where {DELTA} is promised");
}

/// The frequency is that of a rule with exactly this chance: within the two tails of 1e-4.
fn assert_tight(failures: u64, chance: f64) {
    let (low, high) = (lower_tail(DRAWS, failures, chance), upper_tail(DRAWS, failures, chance));
    assert!(low > 1e-4 && high > 1e-4, "{failures} failures of {DRAWS}, expected {chance} of them");
}

/// A sample whose score is a power of a uniform number: P[score >= t] = 1 - t^(1 / power).
fn powers(rng: &mut Draw, negatives: usize, positives: usize, power: f64) -> (Sample, Vec<f32>) {
    let labels: Vec<bool> = (0..negatives + positives).map(|i| i >= negatives).collect();
    let scores =
        labels.iter().map(|label| uniform(rng).powf(if *label { power } else { 1.0 }) as f32).collect();
    (Sample::new(labels).unwrap(), scores)
}

fn certified(
    conditions: &str,
    sample: &Sample,
    scores: &[f32],
    options: &CertifyOptions,
) -> Option<Certificate> {
    match certify(&parse_conditions(conditions).unwrap(), sample, scores, options) {
        Ok(certificate) => Some(certificate),
        Err(
            CertifyError::NoneCertified { .. }
            | CertifyError::NoneAtPrevalence { .. }
            | CertifyError::Contradiction { .. },
        ) => None,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn the_order_statistic_rule_is_tight_for_continuous_scores() {
    // Without ties the chance of failure is exactly P[Binomial(n, a) <= m], the largest such number
    // within delta: 0.0919 for n = 1000 and 0.9^22 = 0.0985 for the smallest n.
    for (n, seed) in [(1000, 1), (22, 2)] {
        let chance = |a| (0..n).map(|m| lower_tail(n, m, a)).take_while(|p| *p <= DELTA).last().unwrap();
        let (failures, _) = simulate(seed, |rng| {
            let (sample, scores) = powers(rng, n as usize, 0, 1.0);
            let t = f64::from(certified("fpr<=10%", &sample, &scores, &options())?.thresholds[0]);
            Some(1.0 - t <= 0.1)
        });
        assert!((0.09..=DELTA).contains(&chance(0.1)), "{}", chance(0.1));
        assert_tight(failures, chance(0.1));
        let (failures, _) = simulate(seed + 10, |rng| {
            let (sample, scores) = powers(rng, 0, n as usize, 0.25);
            let t = f64::from(certified("recall>=0.9", &sample, &scores, &options())?.thresholds[0]);
            Some(1.0 - t.powi(4) >= 0.9)
        });
        assert_tight(failures, chance(0.1));
    }
}

/// Shares of five tied scores, 0 to 4, for negatives; positives have them the other way round.
const LEVELS: [f64; 5] = [0.4, 0.3, 0.15, 0.1, 0.05];

fn level(rng: &mut Draw) -> f32 {
    let mut u = uniform(rng);
    LEVELS
        .iter()
        .position(|share| {
            u -= share;
            u < 0.0
        })
        .unwrap_or(4) as f32
}

/// P[score >= t] for a negative, and for a positive.
fn level_rates(t: f32) -> (f64, f64) {
    let above = |shares: &mut dyn Iterator<Item = &f64>| {
        shares.enumerate().filter(|(score, _)| *score as f32 >= t).map(|(_, share)| share).sum::<f64>()
    };
    (above(&mut LEVELS.iter()), above(&mut LEVELS.iter().rev()))
}

fn levels(rng: &mut Draw, rows: usize, positive: f64) -> (Sample, Vec<f32>) {
    let labels: Vec<bool> = (0..rows).map(|_| uniform(rng) < positive).collect();
    let scores = labels.iter().map(|label| if *label { 4.0 - level(rng) } else { level(rng) }).collect();
    (Sample::new(labels).unwrap(), scores)
}

#[test]
fn heavy_ties_do_not_break_the_limits() {
    // 5.1%, 15% and 29.9%: just above, at and just below rates that a threshold can have.
    for (seed, target) in [(21, 0.051), (22, 0.15), (23, 0.299)] {
        let (failures, found) = simulate(seed, |rng| {
            let (sample, scores) = levels(rng, 250, 0.4);
            let t = certified(&format!("fpr<={target}"), &sample, &scores, &options())?.thresholds[0];
            Some(level_rates(t).0 <= target + 1e-12)
        });
        assert_eq!(found, DRAWS);
        assert_rare(failures);
        let (failures, _) = simulate(seed + 10, |rng| {
            let (sample, scores) = levels(rng, 250, 0.4);
            let least = 1.0 - target;
            let t = certified(&format!("recall>={least}"), &sample, &scores, &options())?.thresholds[0];
            Some(level_rates(t).1 >= least - 1e-12)
        });
        assert_rare(failures);
    }
}

#[test]
fn groups_hold_together() {
    let (failures, _) = simulate(41, |rng| {
        let codes: Vec<u32> = (0..300).map(|i| u32::from(i % 3 == 0)).collect();
        // Group b has squares: P[score >= t] = 1 - sqrt(t).
        let scores: Vec<f32> = codes.iter().map(|code| uniform(rng).powi(1 + *code as i32) as f32).collect();
        let sample = Sample::new(vec![false; 300]).unwrap();
        let sample = sample.with_groups("group", vec!["a".into(), "b".into()], codes).unwrap();
        let certificate = certified("fpr(group)<=10%", &sample, &scores, &options())?;
        let [a, b] = [certificate.thresholds[0], certificate.thresholds[1]].map(f64::from);
        Some(1.0 - a <= 0.1 && 1.0 - b.sqrt() <= 0.1)
    });
    // Two independent groups, 200 and 100 negatives, each at delta / 2.
    let chance = |n| (0..n).map(|m| lower_tail(n, m, 0.1)).take_while(|p| *p <= DELTA / 2.0).last().unwrap();
    assert_rare(failures);
    assert_tight(failures, 1.0 - (1.0 - chance(200)) * (1.0 - chance(100)));
}

/// Two groups of tied scores, the second with other shares of positives.
fn tied_groups(rng: &mut Draw, rows: usize) -> (Sample, Vec<f32>) {
    let codes: Vec<u32> = (0..rows).map(|row| u32::from(row % 3 == 0)).collect();
    let labels: Vec<bool> = codes.iter().map(|code| uniform(rng) < [0.4, 0.6][*code as usize]).collect();
    let scores = labels.iter().map(|label| if *label { 4.0 - level(rng) } else { level(rng) }).collect();
    let sample = Sample::new(labels).unwrap();
    (sample.with_groups("group", vec!["a".into(), "b".into()], codes).unwrap(), scores)
}

#[test]
fn recall_and_precision_hold_in_two_groups_with_heavy_ties_and_few_rows() {
    // Recall takes the values 0.4, 0.7, 0.85, 0.95, 1 at the five scores: 0.84 is just below one.
    let (failures, found) = simulate(43, |rng| {
        let (sample, scores) = tied_groups(rng, 240);
        let certificate = certified("recall(group)>=0.84", &sample, &scores, &options())?;
        Some(certificate.thresholds.iter().all(|t| level_rates(*t).1 >= 0.84))
    });
    assert!(found == DRAWS, "{found} certified");
    assert_rare(failures);
    let precision = |t: f32, positive: f64| {
        let (false_ones, true_ones) = level_rates(t);
        positive * true_ones / (positive * true_ones + (1.0 - positive) * false_ones)
    };
    let (failures, found) = simulate(44, |rng| {
        let (sample, scores) = tied_groups(rng, 900);
        let t = certified("precision(group)>=0.75", &sample, &scores, &options())?.thresholds;
        Some(precision(t[0], 0.4) >= 0.75 && precision(t[1], 0.6) >= 0.75)
    });
    assert!(found > DRAWS / 10, "{found} certified");
    assert_rare(failures);
}

#[test]
fn one_threshold_holds_in_both_groups_and_over_all() {
    let shared = CertifyOptions { shared_threshold: true, ..options() };
    let (failures, found) = simulate(45, |rng| {
        let codes: Vec<u32> = (0..300).map(|i| u32::from(i % 3 == 0)).collect();
        // Group b has squares, as in `groups_hold_together`; a third of the rows.
        let scores: Vec<f32> = codes.iter().map(|code| uniform(rng).powi(1 + *code as i32) as f32).collect();
        let sample = Sample::new(vec![false; 300]).unwrap();
        let sample = sample.with_groups("group", vec!["a".into(), "b".into()], codes).unwrap();
        let t = certified("fpr(group)<=20%, fpr<=15%", &sample, &scores, &shared)?.thresholds;
        let [a, b] = [1.0 - f64::from(t[0]), 1.0 - f64::from(t[1]).sqrt()];
        Some(t[0] == t[1] && a <= 0.2 && b <= 0.2 && (2.0 * a + b) / 3.0 <= 0.15)
    });
    assert_eq!(found, DRAWS);
    assert_rare(failures);
}

#[test]
fn two_conditions_hold_together_whatever_the_objective_picks_between_them() {
    for (seed, objective) in [(51, None), (52, Some(Rate::Accuracy)), (53, Some(Rate::TrueNegativeRate))] {
        let options = CertifyOptions { objective: objective.map(Objective::Rate), ..options() };
        let (failures, found) = simulate(seed, |rng| {
            let (sample, scores) = powers(rng, 200, 200, 1.0 / 12.0);
            let t = f64::from(certified("fpr<=20%, recall>=0.8", &sample, &scores, &options)?.thresholds[0]);
            Some(1.0 - t <= 0.2 && 1.0 - t.powi(12) >= 0.8)
        });
        assert!(found > DRAWS / 2, "{found} certified");
        assert_rare(failures);
    }
}

#[test]
fn precision_holds_and_is_found() {
    // Positives are fourth roots: precision(t) = 1 / (1 + 1 / ((1 + t) (1 + t^2))), from 0.5 to 0.8.
    let precision = |t: f64| 1.0 / (1.0 + 1.0 / ((1.0 + t) * (1.0 + t * t)));
    let (failures, found) = simulate(61, |rng| {
        let positives = (0..600).filter(|_| uniform(rng) < 0.5).count();
        let (sample, scores) = powers(rng, 600 - positives, positives, 0.25);
        let t = f64::from(certified("precision>=0.65", &sample, &scores, &options())?.thresholds[0]);
        Some(precision(t) >= 0.65)
    });
    // The level is shared among some sixty ranks, so failures are much rarer than promised.
    assert!(found > DRAWS * 3 / 4, "{found} certified");
    assert_rare(failures);
}

/// Labels that have nothing to do with the scores: precision is the same at every threshold.
fn noise(rng: &mut Draw, rows: usize, positive: f64) -> (Sample, Vec<f32>) {
    let labels = (0..rows).map(|_| uniform(rng) < positive).collect();
    (Sample::new(labels).unwrap(), (0..rows).map(|_| uniform(rng) as f32).collect())
}

#[test]
fn precision_a_hair_below_its_target_everywhere_is_rarely_certified() {
    // Every rank is a chance to go wrong, and every certificate is wrong.
    for (seed, condition, positive) in [(71, "precision>=0.7", 0.699), (72, "npv>=0.7", 0.301)] {
        let (failures, found) = simulate(seed, |rng| {
            let (sample, scores) = noise(rng, 120, positive);
            certified(condition, &sample, &scores, &options()).map(|_| false)
        });
        assert_eq!(failures, found);
        assert!(failures > 0);
        assert_rare(failures);
    }
    // Thresholds fixed in advance use all of delta: the first test alone decides.
    let grid = CertifyOptions { grid: Some(vec![0.2, 0.4, 0.5]), ..options() };
    let (failures, _) = simulate(73, |rng| {
        let (sample, scores) = noise(rng, 120, 0.699);
        certified("precision>=0.7", &sample, &scores, &grid).map(|_| false)
    });
    assert_rare(failures);
    assert!(failures as f64 > 0.6 * DELTA * DRAWS as f64, "{failures}");
}

#[test]
fn precision_that_rises_and_falls_and_ties_hold() {
    // P[positive | score] by tenth of the score; precision(t), the mean of the tenths above t,
    // crosses 0.75 four times.
    let rising_and_falling = [0.1, 0.1, 0.2, 0.2, 0.9, 0.3, 0.9, 0.9, 0.95, 0.6];
    let precision = |t: f64| {
        let width = |i: usize| ((i + 1) as f64 / 10.0 - t.max(i as f64 / 10.0)).max(0.0);
        (0..10).map(|i| width(i) * rising_and_falling[i]).sum::<f64>() / (1.0 - t)
    };
    let (failures, found) = simulate(81, |rng| {
        let scores: Vec<f32> = (0..600).map(|_| uniform(rng) as f32).collect();
        let chance = |score: f32| rising_and_falling[(f64::from(score) * 10.0).min(9.0) as usize];
        let labels = scores.iter().map(|score| uniform(rng) < chance(*score)).collect();
        let certificate = certified("precision>=0.75", &Sample::new(labels).unwrap(), &scores, &options())?;
        Some(precision(f64::from(certificate.thresholds[0])) >= 0.75)
    });
    assert!(found > 100, "{found} certified");
    assert_rare(failures);
    let (failures, found) = simulate(82, |rng| {
        let (sample, scores) = levels(rng, 600, 0.5);
        let t = certified("precision>=0.83", &sample, &scores, &options())?.thresholds[0];
        let (false_ones, true_ones) = level_rates(t);
        Some(true_ones / (true_ones + false_ones) >= 0.83)
    });
    assert!(found > 100, "{found} certified");
    assert_rare(failures);
}

#[test]
fn drift_raises_few_false_alarms_and_sees_a_doubled_rate() {
    let mut rng = ChaCha8Rng::seed_from_u64(90);
    let (sample, scores) = powers(&mut rng, 1000, 0, 1.0);
    let mut certificate = certified("fpr<=10%", &sample, &scores, &options()).unwrap();
    for (seed, threshold) in [(91, 0.9), (92, 0.8)] {
        // At 0.9 the rate is exactly at its target, the hardest case to keep quiet about.
        certificate.thresholds[0] = threshold;
        let (alarms, _) = simulate(seed, |rng| {
            let (sample, scores) = powers(rng, 150, 0, 1.0);
            let tests = drift(&certificate, &sample, &scores).unwrap();
            Some(tests[0].verdict != Verdict::Violated)
        });
        if threshold == 0.9 {
            assert_rare(alarms);
        } else {
            // 21 of 150 is the first with P[Binomial(150, 0.1) >= 21] <= 0.1; at 0.2 its chance is 0.978.
            assert!(alarms > DRAWS * 95 / 100, "{alarms}");
        }
    }
}

/// Entities of 1 to `most` rows that share most of what makes their score, with labels that do not
/// depend on it. P[score >= t] is that of a standard normal, or of one moved up for the positives.
fn entities(rng: &mut Draw, count: u32, most: u32, positive: f64) -> (Sample, Vec<f32>) {
    let (mut labels, mut scores, mut codes) = (Vec::new(), Vec::new(), Vec::new());
    let normal = |rng: &mut Draw| normal_quantile(uniform(rng).clamp(1e-15, 1.0 - 1e-15));
    for entity in 0..count {
        let common = normal(rng);
        for _ in 0..=(most / 2 + rng.random_range(0..most / 2)) {
            let label = uniform(rng) < positive;
            let score = 0.8_f64.sqrt() * common + 0.2_f64.sqrt() * normal(rng);
            labels.push(label);
            scores.push((score + if label { 2.0 } else { 0.0 }) as f32);
            codes.push(entity);
        }
    }
    (Sample::new(labels).unwrap().with_entities("who", &codes).unwrap(), scores)
}

/// The threshold above which a standard normal has this share.
fn above(share: f64) -> f64 {
    normal_quantile(1.0 - share)
}

#[test]
fn entities_are_counted_where_counting_rows_breaks_the_promise() {
    let draws = 300;
    let (mut by_row, mut by_entity, mut approximate, mut found) = (0, 0, 0, 0);
    let mut rng = ChaCha8Rng::seed_from_u64(71);
    for _ in 0..draws {
        let (sample, scores) = entities(&mut rng, 100, 20, 0.2);
        let rows = Sample::new(sample.labels().to_vec()).unwrap();
        let broken = |sample: &Sample, options: &CertifyOptions| {
            let certificate = certified("fpr<=10%", sample, &scores, options)?;
            Some(f64::from(certificate.thresholds[0]) < above(0.1))
        };
        by_row += u64::from(broken(&rows, &options()).unwrap());
        let proved = broken(&sample, &options());
        found += u64::from(proved.is_some());
        by_entity += u64::from(proved == Some(true));
        let near = CertifyOptions { approximate: true, ..options() };
        approximate += u64::from(broken(&sample, &near) == Some(true));
    }
    assert!(upper_tail(draws, by_entity, DELTA) > 1e-4, "{by_entity} of {draws}");
    assert!(by_row > 2 * draws / 10, "{by_row} of {draws}");
    assert_eq!(found, draws);
    // No promise, but near one: half as often again at the most, and not by being strict.
    assert!(approximate > 0);
    assert!(upper_tail(draws, approximate, 1.5 * DELTA) > 1e-4, "{approximate} of {draws}");
}

#[test]
fn recall_and_precision_hold_over_entities_too() {
    let draws = 200;
    let (mut recall, mut precision, mut proved) = (0, 0, 0);
    let mut rng = ChaCha8Rng::seed_from_u64(72);
    for _ in 0..draws {
        let (sample, scores) = entities(&mut rng, 300, 4, 0.5);
        let at = |conditions: &str| {
            certified(conditions, &sample, &scores, &options()).map(|one| f64::from(one.thresholds[0]))
        };
        recall += u64::from(at("recall>=0.8").unwrap() > 2.0 + above(0.8));
        // Of the population's rows above t, as many are true as 1 - Phi(t - 2) is of both.
        let tail = |t: f64| chance_below(-t);
        let true_share = |t: f64| tail(t - 2.0) / (tail(t - 2.0) + tail(t));
        if let Some(t) = at("precision>=0.8") {
            proved += 1;
            precision += u64::from(true_share(t) < 0.8);
        }
    }
    assert!(upper_tail(draws, recall, DELTA) > 1e-4, "{recall} of {draws}");
    assert!(upper_tail(draws, precision, DELTA) > 1e-4, "{precision} of {draws}");
    assert!(proved > 0, "{proved} of {draws}");
}

/// The chance that a standard normal number is below x, by bisection on its quantile.
fn chance_below(x: f64) -> f64 {
    let (mut low, mut high) = (1e-15, 1.0 - 1e-15);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if normal_quantile(middle) < x { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

#[test]
fn groups_of_entities_hold_together() {
    let draws = 200;
    let mut rng = ChaCha8Rng::seed_from_u64(73);
    let mut broken = 0;
    for _ in 0..draws {
        let (sample, scores) = entities(&mut rng, 150, 10, 0.1);
        // Rows of one entity may be in either group.
        let codes: Vec<u32> = (0..sample.len() as u32).map(|row| row % 2).collect();
        let sample = sample.with_groups("g", vec!["a".into(), "b".into()], codes).unwrap();
        let certificate = certified("fpr(g)<=20%", &sample, &scores, &options()).unwrap();
        broken += u64::from(certificate.thresholds.iter().any(|one| f64::from(*one) < above(0.2)));
    }
    assert!(upper_tail(draws, broken, DELTA) > 1e-4, "{broken} of {draws}");
}

#[test]
fn drift_tests_of_entities_raise_few_false_alarms_and_see_a_shift() {
    let draws = 200;
    let mut rng = ChaCha8Rng::seed_from_u64(74);
    let (mut alarms, mut seen) = (0, 0);
    let (sample, scores) = entities(&mut rng, 300, 20, 0.2);
    let mut certificate = certified("fpr<=10%", &sample, &scores, &options()).unwrap();
    // The worst that a certificate may be: the rate is at its target.
    certificate.thresholds = vec![above(0.1) as f32];
    let plain = Sample::new(sample.labels().to_vec()).unwrap();
    assert!(matches!(drift(&certificate, &plain, &scores), Err(CertifyError::NoEntities { .. })));
    for _ in 0..draws {
        let (sample, scores) = entities(&mut rng, 100, 20, 0.2);
        let violated =
            |scores: &[f32]| drift(&certificate, &sample, scores).unwrap()[0].verdict == Verdict::Violated;
        alarms += u64::from(violated(&scores));
        seen += u64::from(violated(&scores.iter().map(|score| score + 1.0).collect::<Vec<f32>>()));
    }
    assert!(upper_tail(draws, alarms, DELTA) > 1e-4, "{alarms} of {draws}");
    assert!(seen > 9 * draws / 10, "{seen} of {draws}");
}
