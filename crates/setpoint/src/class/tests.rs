//! Kernels against plain loops, gradients against differences.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::kernel::{Ask, Tally};
use super::problem::Problem;
use super::reference::Plain;
use super::shift::best;
use super::solve::{Pass, State};
use super::*;
use crate::goal::{ClassRate, Over, Rate};

pub(super) fn names(count: usize) -> Vec<String> {
    (0..count).map(|class| format!("c{class}")).collect()
}

/// Rows of unequal classes whose own score is higher, with weights if asked for.
pub(super) fn case(count: usize, rows: usize, seed: u64, weighted: bool) -> (Sample, Vec<f32>) {
    case_of(1.0, count, rows, seed, weighted)
}

/// The same, the own score higher by `ahead` on average.
fn case_of(ahead: f32, count: usize, rows: usize, seed: u64, weighted: bool) -> (Sample, Vec<f32>) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let codes: Vec<u32> = (0..rows)
        .map(|row| if row < count { row as u32 } else { (rng.random::<f64>().powi(2) * count as f64) as u32 })
        .collect();
    let noise = |rng: &mut ChaCha8Rng| (0..4).map(|_| rng.random_range(-0.9f32..0.9)).sum::<f32>();
    let scores = codes
        .iter()
        .flat_map(|y| {
            (0..count as u32)
                .map(|c| noise(&mut rng) + ahead * f32::from(u8::from(c == *y)))
                .collect::<Vec<_>>()
        })
        .collect();
    let sample = Sample::of_classes("label", names(count), codes).unwrap();
    match weighted {
        true => (sample.with_weights((0..rows).map(|row| 0.5 + (row % 3) as f32).collect()).unwrap(), scores),
        false => (sample, scores),
    }
}

pub(super) fn goal(text: &str, count: usize) -> ClassGoal {
    let goal = ClassGoal::parse(text, &names(count)).unwrap();
    let costs = (0..count * count).map(|at| if at % (count + 1) == 0 { 0.0 } else { 1.0 + (at % 7) as f64 });
    if text.starts_with("cost") { goal.with_costs(costs.collect()).unwrap() } else { goal }
}

/// Every kind of goal, some with limits that tie and some with limits that do not.
const GOALS: [&str; 16] = [
    "accuracy",
    "error",
    "accuracy @ coverage(each)=prior",
    "accuracy @ coverage(c1)<=5%",
    "accuracy @ coverage(c1)<=0.9",
    "balanced-accuracy",
    "macro-f1",
    "worst(recall)",
    "accuracy @ recall(c1)>=0.9, recall(c2)>=0.8",
    "macro-f1 @ recall(c1)>=0.9, coverage(c0)<=30%",
    "recall(c1) @ precision(c1)>=0.8",
    "recall(c1) @ precision(c1)=0.7",
    "accuracy @ recall(each)>=0.3",
    "cost(table.csv)",
    "cost(table.csv) @ recall(c1)>=0.9",
    "f1(c2) @ fpr(c1)<=1%",
];

#[test]
fn passes_are_those_of_plain_loops() {
    for (count, rows) in [(2, 40), (3, 700), (8, 300), (10, 5000), (16, 100), (26, 2500)] {
        let (sample, scores) = case(count, rows, 1, rows % 700 == 0);
        let classes = Classes::new(&sample);
        let shifts: Vec<f64> = (0..count).map(|class| 0.1 * class as f64 - 0.3).collect();
        let costs: Vec<f64> = (0..count * count).map(|at| (at % 5) as f64).collect();
        let gram = [1, count - 1];
        let wide: Vec<f64> = scores.iter().map(|score| f64::from(*score)).collect();
        let weights: Vec<f64> = (0..count).map(|class| 1.0 + class as f64 / 10.0).collect();
        for loss in [None, Some(&weights[..])] {
            let ask = Ask { sharpness: 4.0, shifts: &shifts, gram: &gram, costs: &costs, loss };
            let (mut fast, mut slow) = (Tally::default(), Tally::default());
            let mut v = vec![0.0; scores.len()];
            let mut softmax = Softmax::default();
            assert!(softmax.count(&classes, &scores, ask, &mut v, &mut fast));
            let mut plain = Plain::new(&classes, &wide);
            plain.count(ask, &mut slow);
            let close = |fast: &[f64], slow: &[f64]| {
                let scale = rows as f64;
                fast.len() == slow.len()
                    && fast.iter().zip(slow).all(|(a, b)| (a - b).abs() <= 3e-7 * scale.max(b.abs()))
            };
            assert!(close(&[fast.loss], &[slow.loss]), "{count}");
            if loss.is_none() {
                assert!(close(&fast.matrix, &slow.matrix) && close(&fast.gram, &slow.gram), "{count}");
                assert!(close(&fast.cost, &slow.cost) && close(&fast.own, &slow.own), "{count}");
            }
            if loss.is_some() {
                for (fast, slow) in v.iter().zip(&plain.p) {
                    assert!((f64::from(*fast) - slow).abs() < 2e-6, "{fast} is not {slow}");
                }
                continue;
            }
            let table: Vec<f64> = (0..count * count).map(|at| ((at * 7) % 11) as f64 / 11.0).collect();
            softmax.spread(&classes, 4.0, &table, &mut v);
            for (fast, slow) in v.iter().zip(plain.spread(4.0, &table)) {
                assert!((f64::from(*fast) - slow).abs() < 2e-6, "{fast} is not {slow}");
            }
        }
    }
}

#[test]
fn scores_that_are_no_numbers_are_found_and_named() {
    let (sample, mut scores) = case(3, 50, 1, false);
    let classes = Classes::new(&sample);
    let mut v = vec![0.0; scores.len()];
    let mut engine = ShiftEngine::new(&goal("accuracy", 3), &classes, 5.0).unwrap();
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        scores[100] = bad;
        let error = engine.step(&classes, &scores, &mut v).unwrap_err();
        assert!(matches!(error, ClassError::Sample(SampleError::Score { index: 33, .. })), "{error}");
    }
    assert!(engine.step(&classes, &scores[3..], &mut v).is_err());
}

/// The loss through shifts that are solved at these scores, with everything it came from.
fn settle(
    problem: &Problem,
    classes: &Classes<'_>,
    scores: &[f64],
    start: Option<&[f64]>,
    free: bool,
) -> (State, Vec<f64>) {
    let mut state = State::new(problem.clone()).with_tolerance(1e-12);
    if let Some(start) = start {
        state.start_at(start);
    }
    let mut plain = Plain::new(classes, scores);
    assert!(if free { state.improve(&mut plain, 5.0) } else { state.settle(&mut plain, 5.0) });
    let mut table = Vec::new();
    problem.table(&state.partial, &mut table);
    let v = plain.spread(5.0, &table);
    (state, v)
}

fn check_gradient(text: &str, ahead: f32, count: usize, rows: usize, free: bool) -> bool {
    let (sample, scores) = case_of(ahead, count, rows, 3, true);
    let classes = Classes::new(&sample);
    let problem = Problem::new(&goal(text, count), &classes).unwrap();
    let scores: Vec<f64> = scores.iter().map(|score| f64::from(*score)).collect();
    let (state, v) = settle(&problem, &classes, &scores, None, free);
    let (_, met, active, shifts) = state.found();
    let largest = v.iter().fold(0.0f64, |most, v| most.max(v.abs()));
    assert!(largest > 0.0, "{text}");
    for row in v.chunks(count) {
        assert!(row.iter().sum::<f64>().abs() < 1e-14, "{text}: rows sum to zero");
    }
    for place in [0, 5, count + 1, 2 * count + 2, 7 * count, 11 * count + 1, 29 * count + 2] {
        let h = 1e-4;
        let at = |h: f64| {
            let mut moved = scores.clone();
            moved[place] += h;
            let (moved, _) = settle(&problem, &classes, &moved, Some(shifts), free);
            assert_eq!((moved.found().1, moved.found().2), (met, active), "{text}: the same limits tie");
            moved.found().0
        };
        let (near, far) = ((at(h) - at(-h)) / (2.0 * h), (at(2.0 * h) - at(-2.0 * h)) / (4.0 * h));
        // The differences' own error is of fourth order.
        let numeric = (4.0 * near - far) / 3.0;
        let error = (numeric - v[place]).abs() / largest;
        assert!(
            error <= 1e-6,
            "{text}, {count} classes, {place}: {numeric:e} is not {:e} ({error:e})",
            v[place]
        );
    }
    met
}

#[test]
fn gradients_match_differences_through_the_solved_shifts() {
    for count in [3, 26] {
        for text in GOALS {
            assert!(
                check_gradient(text, 2.0, count, if count == 3 { 120 } else { 400 }, false),
                "{text} is met"
            );
        }
    }
}

#[test]
fn targets_out_of_reach_have_the_gradient_of_what_comes_nearest() {
    for (text, count) in [
        ("recall(c1) @ precision(c1)>=0.999", 3),
        ("accuracy @ recall(each)>=0.95", 3),
        ("accuracy @ recall(c1)>=0.9, precision(c1)>=0.9", 26),
    ] {
        assert!(!check_gradient(text, 0.3, count, 120, false), "{text} is out of reach");
    }
}

#[test]
fn targets_that_come_within_reach_tie_where_they_are_just_met() {
    let (sample, mut scores) = case_of(1.6, 26, 4000, 5, false);
    let classes = Classes::new(&sample);
    let sharpness = 10.0 / classes.spread(&scores);
    let two = goal("accuracy @ recall(c1)>=0.9, recall(c2)>=0.8", 26);
    let mut engine = ShiftEngine::new(&two, &classes, sharpness).unwrap();
    let mut v = vec![0.0; scores.len()];
    assert!(!engine.step(&classes, &scores, &mut v).unwrap().met);
    scores.iter_mut().zip(&v).for_each(|(score, v)| *score -= 100.0 * v);
    let step = engine.step(&classes, &scores, &mut v).unwrap();
    assert!(step.met);
    for (g, price) in step.constraints.iter().zip(step.prices) {
        // A condition with room to spare has no price.
        assert!(*g <= 2e-5 && (g.abs() <= 2e-5 || *price == 0.0), "{g}, {price}");
    }
    // A limit that is loosened raises what is worth most.
    assert!(step.prices.iter().all(|price| *price < 0.0), "{:?}", step.prices);
}

#[test]
fn with_free_shifts_at_their_best_the_gradient_is_that_of_the_best() {
    for text in ["accuracy", "macro-f1", "worst(recall)", "accuracy @ recall(c1)>=0.9", "cost(table.csv)"] {
        check_gradient(text, 1.5, 3, 120, true);
    }
}

#[test]
fn limits_that_hold_tie_nothing_and_those_that_do_not_are_met() {
    let (sample, scores) = case(4, 2000, 5, false);
    let classes = Classes::new(&sample);
    let mut v = vec![0.0; scores.len()];
    for (text, ties) in [("accuracy @ recall(c1)>=0.2", false), ("accuracy @ recall(c1)>=0.9", true)] {
        let mut engine = ShiftEngine::new(&goal(text, 4), &classes, 8.0).unwrap();
        let step = engine.step(&classes, &scores, &mut v).unwrap();
        assert_eq!(step.shifts[1] != 0.0, ties, "{text}");
        assert!(step.constraints[0] <= 2e-5 && (step.prices[0] != 0.0) == ties);
        let first = step.passes;
        let again = engine.step(&classes, &scores, &mut v).unwrap();
        assert!(again.passes <= first.min(2), "{} after {first}", again.passes);
    }
}

#[test]
fn coverages_are_met_from_a_cold_start_where_decisions_are_sharp() {
    for seed in 0..40 {
        let (sample, mut scores) = case(5, 400, seed, false);
        // One class far above the others: no decision for any other at shifts of zero.
        scores.iter_mut().step_by(5).for_each(|score| *score += seed as f32 / 8.0);
        let classes = Classes::new(&sample);
        let mut v = vec![0.0; scores.len()];
        let mut engine =
            ShiftEngine::new(&goal("accuracy @ coverage(each)=prior", 5), &classes, 20.0).unwrap();
        let step = engine.step(&classes, &scores, &mut v).unwrap();
        assert!(
            step.met && step.constraints.iter().all(|g| g.abs() <= 2e-5),
            "{seed}: {:?}",
            step.constraints
        );
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    let (sample, scores) = case(10, 9000, 2, true);
    let run = |threads: usize| {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(|| {
            let classes = Classes::new(&sample);
            let mut v = vec![0.0; scores.len()];
            let goal = goal("macro-f1 @ recall(c1)>=0.9", 10);
            let loss =
                ShiftEngine::new(&goal, &classes, 8.0).unwrap().step(&classes, &scores, &mut v).unwrap().loss;
            (loss, v, best(&goal, &sample, &scores, 2).unwrap())
        })
    };
    assert_eq!(run(1), run(3));
}

/// Found by `./task fuzz`: margins beyond 32 bits were infinite, and the loss was no number.
#[test]
fn scores_that_the_sharpness_takes_beyond_32_bits_are_refused_and_lower_ones_are_not() {
    let (sample, _) = case(3, 30, 1, false);
    let classes = Classes::new(&sample);
    let mut v = vec![0.0; 90];
    for text in ["macro-recall @ recall(c1)>=0.3, precision(c0)==0.2", "accuracy", "macro-f1"] {
        let goal = goal(text, 3);
        for (size, refused) in [(1e37, true), (-1e37, true), (1e34, false), (-1e34, false)] {
            let scores: Vec<f32> = (0..90).map(|at| size * [1.0, 1.0, 0.99][at % 3]).collect();
            let mut engine = ShiftEngine::new(&goal, &classes, 50.0).unwrap();
            match engine.step(&classes, &scores, &mut v) {
                Ok(step) => assert!(step.loss.is_finite() && !refused, "{text}, {size}: {}", step.loss),
                Err(error) if refused => assert_eq!(error, ClassError::Large { sharpness: 50.0 }),
                Err(error) => assert!(matches!(error, ClassError::Undefined { .. }), "{text}: {error}"),
            }
            assert!(refused || v.iter().all(|v| v.is_finite()), "{text}, {size}");
        }
    }
}

/// Every rate of classes, from decisions alone.
#[test]
fn rates_of_classes_are_counted() {
    for weighted in [false, true] {
        let (sample, scores) = case(4, 200, 7, weighted);
        let classes = Classes::new(&sample);
        let shifts = [0.1, -0.4, 0.0, 0.3];
        let found = Confusion::at(&classes, &scores, &shifts).unwrap();
        let decisions: Vec<usize> = scores.chunks(4).map(|scores| decide(scores, &shifts)).collect();
        let weigh = |of: &dyn Fn(usize, usize) -> bool| {
            let rows = (0..200).filter(|row| of(classes.codes()[*row] as usize, decisions[*row]));
            rows.map(|row| classes.weight(row)).sum::<f64>()
        };
        let recall = |c: usize| weigh(&|y, d| y == c && d == c) / weigh(&|y, _| y == c);
        let precision = |c: usize| weigh(&|y, d| y == c && d == c) / weigh(&|_, d| d == c);
        let f1 = |c: usize| 2.0 * recall(c) * precision(c) / (recall(c) + precision(c));
        let all = weigh(&|_, _| true);
        let mean = |of: &dyn Fn(usize) -> f64| (0..4).map(of).sum::<f64>() / 4.0;
        let rate = |rate, over| found.rate(ClassRate { rate, over }).unwrap();
        for (got, expected) in [
            (rate(Rate::Accuracy, Over::All), weigh(&|y, d| y == d) / all),
            (rate(Rate::Error, Over::All), weigh(&|y, d| y != d) / all),
            (rate(Rate::Recall, Over::Class(2)), recall(2)),
            (rate(Rate::Precision, Over::Class(3)), precision(3)),
            (
                rate(Rate::FalsePositiveRate, Over::Class(1)),
                weigh(&|y, d| y != 1 && d == 1) / weigh(&|y, _| y != 1),
            ),
            (rate(Rate::PositiveRate, Over::Class(1)), weigh(&|_, d| d == 1) / all),
            (rate(Rate::FBeta(1.0), Over::Mean), mean(&f1)),
            (rate(Rate::Recall, Over::Mean), mean(&recall)),
            (rate(Rate::Recall, Over::Worst), (0..4).map(recall).fold(1.0, f64::min)),
            (
                rate(Rate::FalseDiscoveryRate, Over::Worst),
                (0..4).map(|c| 1.0 - precision(c)).fold(0.0, f64::max),
            ),
            (
                found.weighted(Rate::FBeta(1.0)).unwrap(),
                (0..4).map(|c| weigh(&|y, _| y == c) / all * f1(c)).sum(),
            ),
            (found.of(1, 2), weigh(&|y, d| y == 1 && d == 2)),
        ] {
            assert!((got - expected).abs() < 1e-12, "{got} is not {expected}");
        }
        let interval = found.interval(Rate::Recall, 2, 0.95);
        assert_eq!(interval.is_err(), weighted);
        assert!(
            interval.is_ok_and(|interval| interval.lower < recall(2) && recall(2) < interval.upper)
                || weighted
        );
    }
}
