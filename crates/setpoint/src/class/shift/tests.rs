//! Shifts against all there are.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::class::tests::{case, goal, names};

/// The best value over all decisions that shifts can make, of three classes.
fn brute(goal: &ClassGoal, classes: &Classes<'_>, scores: &[f32]) -> Option<f64> {
    let between = |mut at: Vec<f64>| {
        at.sort_by(f64::total_cmp);
        at.dedup();
        let ends = [at[0] - 1.0, at[at.len() - 1] + 1.0];
        at.windows(2).map(|pair| f64::midpoint(pair[0], pair[1])).chain(ends).collect::<Vec<f64>>()
    };
    let rows = || scores.chunks(3).map(|s| [f64::from(s[0]), f64::from(s[1]), f64::from(s[2])]);
    // Where lines between decisions cross: shifts of the second class at which something changes.
    let mut seconds: Vec<f64> = rows().map(|s| s[1] - s[0]).collect();
    seconds.extend(rows().flat_map(|a| rows().map(move |b| a[2] - a[0] + b[1] - b[2])));
    let mut best: Option<f64> = None;
    for second in between(seconds) {
        for third in between(rows().map(|s| s[2] - s[0].max(s[1] - second)).collect()) {
            let value = Confusion::at(classes, scores, &[0.0, second, third]).unwrap().value(goal).ok();
            let merit = |value| goal.objective.direction().merit(value);
            if merit(value) > merit(best) {
                best = value;
            }
        }
    }
    best
}

#[test]
fn searched_shifts_are_rarely_behind_the_best_there_are() {
    let (mut met, mut equal, mut all) = (0, 0, 0);
    for text in [
        "accuracy",
        "macro-f1",
        "balanced-accuracy",
        "worst(recall)",
        "cost(table.csv)",
        "recall(c1) @ precision(c1)>=0.8",
        "accuracy @ recall(c2)>=0.9",
        "accuracy @ recall(each)>=0.5",
        "accuracy @ coverage(c0)<=30%",
    ] {
        for seed in 0..10 {
            let (sample, scores) = case(3, 24, seed, false);
            let classes = Classes::new(&sample);
            let goal = goal(text, 3);
            let Some(most) = brute(&goal, &classes, &scores) else { continue };
            all += 1;
            let merit = |value| goal.objective.direction().merit(Some(value));
            let Ok(found) = best(&goal, &sample, &scores, 8) else { continue };
            met += 1;
            assert!(merit(found.value) <= merit(most) + 1e-12, "{text}: {} is above {most}", found.value);
            assert!(
                merit(found.value) >= merit(most) - 0.15 * most.abs(),
                "{text}: {} of {most}",
                found.value
            );
            equal += usize::from((found.value - most).abs() < 1e-12);
        }
    }
    assert!(met * 100 >= all * 97 && equal * 100 >= all * 80, "{equal} best, {met} met of {all}");
}

#[test]
fn many_rows_searched_in_part_have_nearly_the_shifts_of_all() {
    let (sample, mut scores) = case(5, 120_000, 6, false);
    scores.iter_mut().skip(1).step_by(5).for_each(|score| *score += 0.6);
    for text in
        ["macro-f1", "worst(recall)", "recall(c1) @ precision(c1)>=0.8", "accuracy @ recall(each)>=0.4"]
    {
        let goal = goal(text, 5);
        let found = best(&goal, &sample, &scores, 2).unwrap();
        let classes = Classes::new(&sample);
        let shifts = whole(&goal, &classes, &scores, 2);
        let all = Confusion::at(&classes, &scores, &shifts).unwrap().value(&goal).unwrap();
        // Half of the standard error of a rate of the rarest class, of 12,600 rows.
        assert!(all - found.value < 2.2e-3, "{text}: {} of {all}", found.value);
    }
}

#[test]
fn a_condition_on_the_class_itself_is_found_on_the_line_of_its_margins() {
    let (sample, scores) = case(3, 400, 11, false);
    let goal = goal("recall(c1) @ precision(c1)>=0.8", 3);
    let found = best(&goal, &sample, &scores, 2).unwrap();
    let labels = sample.groups().unwrap().codes().iter().map(|code| *code == 1).collect();
    let two = Sample::new(labels).unwrap();
    let z = margins(&scores, &found.shifts, 1);
    let line = crate::metric::value_at(&"recall @ precision>=0.8".parse().unwrap(), &two, &z).unwrap();
    assert!((line.value - found.value).abs() < 1e-12, "{} is not {}", found.value, line.value);
}

#[test]
fn counted_steps_bring_every_coverage_to_its_share() {
    for (rows, count) in [(3000, 3), (60_000, 10)] {
        let (sample, mut scores) = case(count, rows, 4, false);
        scores.iter_mut().step_by(count).for_each(|score| *score += 1.0);
        let goal = goal("accuracy @ coverage(each)=prior", count);
        let found = best(&goal, &sample, &scores, 4).unwrap();
        let classes = Classes::new(&sample);
        let confusion = Confusion::at(&classes, &scores, &found.shifts).unwrap();
        for class in 0..count {
            let coverage =
                confusion.rate(ClassRate { rate: Rate::PositiveRate, over: Over::Class(class) }).unwrap();
            assert!(
                (coverage - classes.prior(class)).abs() <= 0.001 + 1.0 / rows as f64 + 1e-9,
                "{class}: {coverage}"
            );
        }
    }
}

#[test]
fn few_rows_get_one_parameter_and_many_get_a_shift_for_each_class() {
    let macro_f1 = goal("macro-f1", 4);
    let (mut simple, mut all) = (0, 0);
    for seed in 0..20 {
        let (sample, scores) = case(4, 60, seed, false);
        let chosen = choose(&macro_f1, &sample, &scores, 4, seed).unwrap();
        simple += usize::from(chosen != best(&macro_f1, &sample, &scores, 4).unwrap());
        all += 1;
    }
    // Nothing is to be gained by shifts here: the search over all of them is rarely ahead on other rows.
    assert!(simple * 4 >= all * 3, "{simple} of {all}");
    let (sample, mut scores) = case(4, 4000, 1, false);
    scores.iter_mut().skip(2).step_by(4).for_each(|score| *score += 1.0);
    let chosen = choose(&macro_f1, &sample, &scores, 2, 0).unwrap();
    let one = adjusted(&macro_f1, &sample, &scores).unwrap();
    assert!(chosen.value > one.value + 0.02, "{} {}", chosen.value, one.value);
}

#[test]
fn few_rows_of_a_class_do_not_cost_many_other_decisions() {
    let goal = goal("accuracy @ recall(c1)>=0.9, recall(c2)>=0.8", 3);
    for seed in 0..15 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        // 50 and 10 rows of two classes among 3,000, a tenth of them on the wrong side.
        let codes: Vec<u32> =
            (0..3000).map(|row| if row < 50 { 1 } else { 2 * u32::from(row < 60) }).collect();
        let score = |rng: &mut ChaCha8Rng, y: u32| {
            let own = if y > 0 && rng.random::<f64>() < 0.1 { -2.0 } else { 3.0 };
            [0, 1, 2].map(|c| 1.5 * rng.random_range(-1.0f32..1.0) + if c == y { own } else { 0.0 })
        };
        let scores: Vec<f32> = codes.iter().flat_map(|y| score(&mut rng, *y)).collect();
        let sample = Sample::of_classes("label", names(3), codes).unwrap();
        let found = [best(&goal, &sample, &scores, 3), choose(&goal, &sample, &scores, 3, seed)];
        if let [Ok(best), Ok(chosen)] = found {
            // Four standard errors of a share of 3,000 rows; by halves alone, up to 0.08 were lost.
            assert!(best.value - chosen.value < 0.0366, "seed {seed}: {} of {}", chosen.value, best.value);
        }
    }
}

#[test]
fn smooth_shifts_meet_conditions_on_counted_decisions_and_are_near_the_best() {
    for text in ["macro-f1", "worst(recall)", "accuracy @ recall(c1)>=0.9", "accuracy @ recall(each)>=0.5"] {
        let goal = goal(text, 4);
        let (sample, mut scores) = case(4, 3000, 3, false);
        scores.iter_mut().skip(2).step_by(4).for_each(|score| *score += 0.7);
        let found = smooth(&goal, &sample, &scores, 0.3).unwrap();
        let most = best(&goal, &sample, &scores, 8).unwrap();
        let counted = Confusion::at(&Classes::new(&sample), &scores, &found.shifts).unwrap();
        assert_eq!(counted.value(&goal).unwrap(), found.value, "{text}");
        // Conditions on every class leave the smooth optimum a distance of its own from each of their limits.
        let near = if text.contains("each") { 0.05 } else { 0.03 };
        assert!(
            found.value <= most.value + 1e-12 && found.value > most.value - near,
            "{text}: {found:?} {most:?}"
        );
    }
}

#[test]
fn recalls_of_two_classes_that_can_be_had_among_these_alone_are_found() {
    let (least, mut met) = (0.8, 0);
    let goal = goal("accuracy @ recall(c1)>=0.8, recall(c2)>=0.8", 4);
    for seed in 0..40 {
        // Rows of the two classes, whose scores say little of which, and which the others' are above.
        let (sample, mut scores) = case(4, 200, seed, false);
        scores.chunks_mut(4).for_each(|scores| {
            let both = (scores[1] + scores[2]) / 2.0;
            (scores[1], scores[2]) = (both + 0.35 * (scores[1] - both), both + 0.35 * (scores[2] - both));
            (scores[0], scores[3]) = (scores[0] + 1.0, scores[3] + 1.0);
        });
        let codes = sample.groups().unwrap().codes();
        let between = |class: u32| -> Vec<f32> {
            let rows = scores.chunks(4).zip(codes).filter(|(_, code)| **code == class);
            rows.map(|(scores, _)| scores[1] - scores[2]).collect()
        };
        let (first, second) = (between(1), between(2));
        let share = |of: &[f32], holds: &dyn Fn(f32) -> bool| {
            of.iter().filter(|z| holds(**z)).count() as f64 / of.len() as f64
        };
        let possible = first
            .iter()
            .any(|at| share(&first, &|z| z >= *at) >= least && share(&second, &|z| z < *at) >= least);
        met += usize::from(possible);
        for starts in [1, 3] {
            assert_eq!(
                best(&goal, &sample, &scores, starts).is_ok(),
                possible,
                "seed {seed}, {starts} starts"
            );
        }
    }
    assert!((5..=35).contains(&met), "{met} of 40");
}
