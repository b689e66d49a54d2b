//! Metrics against every order of tied rows, gradients against differences through solved thresholds.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::goal::{QueryGoal, QueryMetric};
use crate::metric::interval::Bootstrap;

const GOALS: [&str; 7] = [
    "precision @ k=3 per query",
    "recall @ k=3 per query",
    "recall @ top=20% per query",
    "ndcg @ k=5 per query",
    "ndcg(linear) @ k=40 per query",
    "ndcg @ k=1 per query",
    "map per query",
];

fn goal(text: &str) -> QueryGoal {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

/// Queries of 1 to `most` rows in mixed order, with grades 0 to 3 of which most are 0.
fn case(seed: u64, count: u32, most: u32) -> (Queries, Vec<f64>) {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut keys: Vec<u32> =
        (0..count).flat_map(|query| vec![query * 7; random.random_range(1..=most) as usize]).collect();
    rand::seq::SliceRandom::shuffle(&mut keys[..], &mut random);
    let grades = keys.iter().map(|_| [0.0, 0.0, 0.0, 1.0, 2.0, 3.0][random.random_range(0..6)]).collect();
    let scores = keys.iter().map(|_| random.random_range(-1.0..1.0f64)).collect();
    (Queries::new("q", &keys, grades).unwrap(), scores)
}

/// The metric of rows in this order, by its definition.
fn slow(goal: &QueryGoal, queries: &Queries, ranked: &[u32]) -> f64 {
    let positive = |row: &u32| f64::from(u8::from(queries.positive()[*row as usize]));
    let places = goal.places(ranked.len());
    let hits = |places: usize| ranked.iter().take(places).map(positive).sum::<f64>();
    let all = hits(ranked.len());
    match goal.metric {
        QueryMetric::Precision => hits(places) / places as f64,
        QueryMetric::Recall => hits(places) / all,
        QueryMetric::Ndcg(gain) => {
            let of = |row: &u32| gain.of(queries.grades()[*row as usize]);
            let dcg = |rows: &[u32]| -> f64 {
                let each = rows.iter().take(places).enumerate();
                each.map(|(at, row)| of(row) / (at as f64 + 2.0).log2()).sum()
            };
            let mut best = ranked.to_vec();
            best.sort_by(|a, b| of(b).total_cmp(&of(a)));
            dcg(ranked) / dcg(&best)
        }
        QueryMetric::AveragePrecision => {
            let at = |(place, row): (usize, &u32)| positive(row) * hits(place + 1) / (place + 1) as f64;
            ranked.iter().enumerate().map(at).sum::<f64>() / all
        }
    }
}

/// Calls with every order of the rows.
fn orders(rows: &mut Vec<u32>, from: usize, visit: &mut dyn FnMut(&[u32])) {
    if from == rows.len() {
        return visit(rows);
    }
    for other in from..rows.len() {
        rows.swap(from, other);
        orders(rows, from + 1, visit);
        rows.swap(from, other);
    }
}

#[test]
fn metrics_are_the_means_over_all_orders_of_tied_rows() {
    for seed in 0..30 {
        let (queries, scores) = case(seed, 4, 6);
        // Few distinct scores.
        let scores: Vec<f32> = scores.iter().map(|score| (score * 2.0).round() as f32).collect();
        for text in GOALS {
            let goal = goal(text);
            let values = Values::new(&goal, &queries, &scores, Convention::default()).unwrap();
            for query in 0..queries.len() {
                let rows = queries.rows(query);
                if rows.iter().all(|row| !queries.positive()[*row as usize]) {
                    assert_eq!(values.of()[query], None);
                    continue;
                }
                let (mut sum, mut count) = (0.0, 0.0);
                orders(&mut rows.to_vec(), 0, &mut |ranked| {
                    if ranked.windows(2).all(|two| scores[two[0] as usize] >= scores[two[1] as usize]) {
                        sum += slow(&goal, &queries, ranked);
                        count += 1.0;
                    }
                });
                let value = values.of()[query].unwrap();
                assert!((value - sum / count).abs() < 1e-12, "{text}: {value} is not {}", sum / count);
            }
        }
    }
}

#[test]
fn conventions_differ_in_ties_and_in_queries_without_relevant_rows() {
    let queries = Queries::new("q", &[0, 0, 1, 1], vec![0.0, 1.0, 0.0, 0.0]).unwrap();
    let goal = goal("precision @ k=1 per query");
    let values = |empty, ties| {
        let values = Values::new(&goal, &queries, &[1.0, 1.0, 2.0, 1.0], Convention { empty, ties }).unwrap();
        (values.of()[0].unwrap(), values.of()[1], values.mean().unwrap())
    };
    assert_eq!(values(Empty::Skip, Ties::Expected), (0.5, None, 0.5));
    assert_eq!(values(Empty::Zero, Ties::Expected), (0.5, Some(0.0), 0.25));
    assert_eq!(values(Empty::One, Ties::Order), (0.0, Some(1.0), 0.5));
    assert_eq!(places(&queries, &[1.0, 1.0, 2.0, 3.0]).unwrap(), [1, 2, 2, 1]);
}

/// Value and gradient in 64 bits, from cold thresholds.
fn evaluate(
    goal: &QueryGoal,
    queries: &Queries,
    scores: &[f64],
    options: QueryOptions,
) -> (QueryStep, Vec<f64>) {
    let mut engine = QueryEngine::new(goal, queries, options).unwrap();
    let step = engine.step_of(&|row| scores[row as usize]);
    (step, engine.gradient())
}

#[test]
fn the_gradient_matches_differences_through_solved_thresholds() {
    for least_spread in [0.0, 2.0] {
        let options = QueryOptions { least_spread, ..QueryOptions::default() };
        for text in GOALS {
            let goal = goal(text);
            let (queries, scores) = case(5, 12, 40);
            let (_, v) = evaluate(&goal, &queries, &scores, options);
            let largest = v.iter().fold(0.0_f64, |most, v| most.max(v.abs()));
            assert!(largest > 1e-3, "{text}");
            for row in 0..scores.len() {
                // Five points: the error of the differences is h⁴, far below rounding at this h.
                let h = 1e-3;
                let at = |by: f64| {
                    let mut moved = scores.clone();
                    moved[row] += by * h;
                    -evaluate(&goal, &queries, &moved, options).0.value
                };
                let numeric = (8.0 * (at(1.0) - at(-1.0)) - (at(2.0) - at(-2.0))) / (12.0 * h);
                assert!((v[row] - numeric).abs() < 1e-6 * largest, "{text}: {} is not {numeric}", v[row]);
            }
            for query in 0..queries.len() {
                let sum: f64 = queries.rows(query).iter().map(|row| v[*row as usize]).sum();
                assert!(sum.abs() < 1e-14, "{text}: {sum}");
            }
        }
    }
}

#[test]
fn sharp_counts_come_to_the_exact_metric() {
    for text in GOALS {
        let goal = goal(text);
        let (queries, scores) = case(11, 30, 9);
        let options = QueryOptions { sharpness: 3e3, ..QueryOptions::default() };
        let (step, _) = evaluate(&goal, &queries, &scores, options);
        let single: Vec<f32> = scores.iter().map(|score| *score as f32).collect();
        let exact = Values::new(&goal, &queries, &single, Convention::default()).unwrap().mean().unwrap();
        // Between rungs the discount is a mean, which of queries of up to nine rows the last rungs are.
        let close = if text.starts_with("ndcg") && !text.contains("k=1 ") { 0.05 } else { 1e-3 };
        assert!((step.value - exact).abs() < close, "{text}: {} is not {exact}", step.value);
    }
}

/// Found by fuzzing: halving no work at all went on until the stack was full.
#[test]
fn queries_none_of_which_scores_can_change_have_a_value_and_no_gradient() {
    let queries = Queries::new("qid", &[0, 0, 1], vec![1.0, 0.0, 1.0]).unwrap();
    let mut engine =
        QueryEngine::new(&goal("precision @ k=2 per query"), &queries, QueryOptions::default()).unwrap();
    let mut v = [1.0; 3];
    let step = engine.step(&[0.5, 1.5, 0.0], &mut v).unwrap();
    assert_eq!((step.value, step.counted, step.idle, v), (0.5, 2, 2, [0.0; 3]));
}

#[test]
fn queries_that_teach_nothing_cost_nothing_and_count() {
    // Two rows for three places; all relevant; none relevant; and one that teaches.
    let keys = [0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3];
    let grades = [1., 0., 1., 1., 1., 1., 0., 0., 0., 0., 1., 0., 0., 0.];
    let queries = Queries::new("q", &keys, grades.to_vec()).unwrap();
    let scores: Vec<f32> = (0..14).map(|at| (at as f32 * 1.7).sin()).collect();
    for (text, idle, settled) in [
        ("precision @ k=3 per query", 2, 1.0 / 3.0 + 1.0),
        ("recall @ k=3 per query", 2, 1.0 + 0.75),
        ("map per query", 1, 1.0),
        ("ndcg @ k=3 per query", 1, 1.0),
    ] {
        let mut engine = QueryEngine::new(&goal(text), &queries, QueryOptions::default()).unwrap();
        let mut v = vec![f32::NAN; 14];
        let step = engine.step(&scores, &mut v).unwrap();
        assert_eq!((step.counted, step.idle), (3, idle), "{text}");
        assert!(v[2..10].iter().all(|v| *v == 0.0) && v[10..].iter().any(|v| *v != 0.0), "{text}: {v:?}");
        assert!(step.value * 3.0 > settled && step.value < 1.0, "{text}: {}", step.value);
    }
    let none = Queries::new("q", &[0, 0], vec![0.0, 0.0]).unwrap();
    let error = QueryEngine::new(&goal("map per query"), &none, QueryOptions::default()).unwrap_err();
    assert_eq!(error.to_string(), "none of 1 queries has a relevant row: map is undefined");
}

#[test]
fn scores_that_all_tie_have_a_value_and_teach_only_above_the_floor() {
    let (queries, scores) = case(2, 10, 20);
    let tied = vec![0.25f32; scores.len()];
    for text in GOALS {
        let goal = goal(text);
        for least_spread in [0.0, 1.0] {
            let options = QueryOptions { least_spread, ..QueryOptions::default() };
            let mut engine = QueryEngine::new(&goal, &queries, options).unwrap();
            let mut v = vec![0.0; tied.len()];
            let step = engine.step(&tied, &mut v).unwrap();
            assert!(step.value > 0.0 && step.value < 1.0 && step.tied > 0, "{text}");
            assert_eq!(v.iter().any(|v| *v != 0.0), least_spread > 0.0, "{text}");
            if goal.metric == QueryMetric::Precision {
                let exact = Values::new(&goal, &queries, &tied, Convention::default()).unwrap();
                assert!((step.value - exact.mean().unwrap()).abs() < 1e-8, "{text}");
            }
        }
    }
}

#[test]
fn steps_do_not_depend_on_threads_and_warm_ones_are_cheap() {
    let (queries, scores) = case(9, 900, 60);
    let first: Vec<f32> = scores.iter().map(|score| *score as f32).collect();
    let second: Vec<f32> =
        first.iter().enumerate().map(|(at, score)| score + 1e-2 * (at as f32).sin()).collect();
    for text in GOALS {
        let with = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let mut engine = QueryEngine::new(&goal(text), &queries, QueryOptions::default()).unwrap();
                let mut v = vec![0.0; first.len()];
                let cold = engine.step(&first, &mut v).unwrap();
                (cold, engine.step(&second, &mut v).unwrap(), v, engine.thresholds().len() as u64)
            })
        };
        let one = with(1);
        assert_eq!(one, with(2), "{text}");
        let (cold, warm, _, terms) = one;
        assert!(warm.passes < cold.passes && warm.passes < 4 * terms, "{text}: {warm:?} of {terms}");
    }
}

#[test]
fn extreme_scores_keep_the_step_finite() {
    let keys = vec![0; 5000];
    let grades = (0..5000).map(|row| f32::from(u8::from(row % 100 == 0))).collect();
    let queries = Queries::new("q", &keys, grades).unwrap();
    let mut scores = vec![0.0f32; 5000];
    (scores[0], scores[1], scores[2]) = (1e30, -1e30, 1.0);
    for text in GOALS {
        let mut engine = QueryEngine::new(&goal(text), &queries, QueryOptions::default()).unwrap();
        let mut v = vec![0.0; 5000];
        let step = engine.step(&scores, &mut v).unwrap();
        assert!(step.value.is_finite() && v.iter().all(|v| v.is_finite()), "{text}");
        assert!(engine.step(&vec![f32::NAN; 5000], &mut v).is_err());
        assert!(engine.step(&[0.0], &mut v).is_err());
    }
}

#[test]
fn a_score_that_is_no_number_is_refused_also_where_no_order_matters() {
    let queries = Queries::new("q", &[0, 0, 0, 1, 1], vec![1.0, 0.0, 0.0, 0.0, 0.0]).unwrap();
    for text in GOALS {
        let mut engine = QueryEngine::new(&goal(text), &queries, QueryOptions::default()).unwrap();
        for value in [f32::NAN, f32::INFINITY] {
            let refused = engine.step(&[1.0, 2.0, 3.0, 4.0, value], &mut [0.0; 5]);
            assert!(matches!(refused, Err(RankError::Sample(SampleError::Score { index: 4, .. }))), "{text}");
        }
    }
}

#[test]
fn scores_too_near_for_slopes_of_32_bits_teach_nothing() {
    let queries = Queries::new("q", &[0, 0, 0, 0], vec![1.0, 0.0, 1.0, 0.0]).unwrap();
    for text in GOALS {
        let mut engine = QueryEngine::new(&goal(text), &queries, QueryOptions::default()).unwrap();
        let mut v = vec![f32::NAN; 4];
        let step = engine.step(&[1e-40, 0.0, 0.0, -2e-39], &mut v).unwrap();
        assert!(step.value.is_finite() && step.tied <= 1, "{text}: {step:?}");
        assert_eq!(v, [0.0; 4], "{text}");
    }
}

#[test]
fn differences_are_paired_over_queries() {
    let (queries, scores) = case(4, 200, 30);
    let goal = goal("ndcg @ k=5 per query");
    let single: Vec<f32> = scores.iter().map(|score| *score as f32).collect();
    let better: Vec<f32> = single.iter().zip(queries.grades()).map(|(s, grade)| s + 0.1 * grade).collect();
    let values = |scores: &[f32]| Values::new(&goal, &queries, scores, Convention::default()).unwrap();
    let difference = values(&better).less(&values(&single));
    let estimate = difference.estimate(&Bootstrap { replicates: 2000, confidence: 0.95, seed: 1 }).unwrap();
    assert!(estimate.interval.lower > 0.0);
    let plain = difference.standard_error().unwrap();
    // A standard deviation from 2,000 draws is within 1.6%; three times that.
    assert!((estimate.standard_error / plain - 1.0).abs() < 0.05);
    assert!(plain < 0.5 * values(&single).standard_error().unwrap());
    assert_eq!(
        values(&single).less(&values(&single)).estimate(&Bootstrap::default()).unwrap().standard_error,
        0.0
    );
}

#[test]
fn bad_queries_are_refused() {
    assert!(Queries::new("q", &[], vec![]).is_err());
    assert!(Queries::new("q", &[0], vec![]).is_err());
    for bad in [-1.0, f32::NAN, f32::INFINITY] {
        assert!(matches!(Queries::new("q", &[0, 0], vec![1.0, bad]), Err(RankError::Grade { index: 1, .. })));
    }
    let large = Queries::new("q", &[0, 0], vec![1.0, 100.0]).unwrap();
    let refused = Values::new(&goal("ndcg @ k=1 per query"), &large, &[1.0, 2.0], Convention::default());
    assert!(refused.unwrap_err().to_string().contains("ndcg(linear)"));
    assert!(
        Values::new(&goal("ndcg(linear) @ k=1 per query"), &large, &[1.0, 2.0], Convention::default())
            .is_ok()
    );
}

/// What scikit-learn 1.9.1 and LightGBM 4.7.0 say of tied scores: `ndcg_score([y], [s], k=5)`, and `ndcg@5` and `map@12` of
/// a dataset whose scores are its `init_score`.
#[test]
fn values_are_those_of_scikit_learn_and_lightgbm() {
    let grades: [&[f32]; 4] = [
        &[0., 3., 1., 0., 3., 3.],
        &[0., 1., 0., 3., 0., 3., 1., 2., 3.],
        &[0., 0., 0., 0.],
        &[2., 3., 0., 2., 3., 1., 0., 1., 2., 0., 3., 0.],
    ];
    let scores: [&[f32]; 4] = [
        &[-1., 0.5, -0.5, 1., 0.5, -0.5],
        &[0., 0.5, 0., 0., -0.5, 0., 0., 0.5, -1.],
        &[-0.5, 0., 0.5, 0.5],
        &[0., 0., 0., -1., 1., 1., 0., 0.5, -0.5, 0.5, -0.5, 0.],
    ];
    let keys: Vec<u32> = (0..).zip(grades).flat_map(|(query, grades)| vec![query; grades.len()]).collect();
    let queries = Queries::new("q", &keys, grades.concat()).unwrap();
    let values =
        |text: &str, convention| Values::new(&goal(text), &queries, &scores.concat(), convention).unwrap();
    let close = |ours: f64, theirs: f64| assert!((ours - theirs).abs() < 1e-12, "{ours} is not {theirs}");
    let linear = values("ndcg(linear) @ k=5 per query", Convention::SCIKIT_LEARN);
    let theirs = [0.7368466589935191, 0.5615676542657212, 0.0, 0.5124724082789268];
    linear.of().iter().zip(theirs).for_each(|(ours, theirs)| close(ours.unwrap(), theirs));
    let lightgbm = |text| values(text, Convention::LIGHTGBM).mean().unwrap();
    close(lightgbm("ndcg @ k=5 per query"), 0.6481925269417924);
    close(lightgbm("ndcg @ k=3 per query"), 0.5674373476034855);
    close(lightgbm("map per query"), 0.8177038239538239);
}
