//! Goals per query: LightGBM's objectives of queries, and rounds on the goal's gradient after them.

use setpoint::Sample;
use setpoint::goal::QueryGoal;
use setpoint::rank::{Convention, Queries, Values};
use setpoint::train::{MethodChoice, Silent};

use super::{Task, library, noise};
use crate::{Data, FeatureView, Parameters, Settings, TreesFit, fit};

/// The rows of a task in queries of about thirty, in the order of the queries or mixed; grades 0 to 2.
fn task(rows: usize, seed: usize, mixed: bool) -> (Vec<f32>, Sample) {
    let Task { values, sample } = Task::new(rows, seed);
    let grade = |row: usize| match sample.labels()[row] {
        true if noise(seed + row * 31) < 0.5 => 2.0,
        true => 1.0,
        false => 0.0,
    };
    let queries = (rows / 30) as u32;
    let key = |row: usize| if mixed { row as u32 % queries } else { row as u32 / 30 };
    let keys: Vec<u32> = (0..rows).map(key).collect();
    let queries = Queries::new("query", &keys, (0..rows).map(grade).collect()).unwrap();
    (values, Sample::of_queries(queries).unwrap())
}

fn data<'d>((values, sample): &'d (Vec<f32>, Sample)) -> Data<'d> {
    let features = FeatureView::dense(values, Task::COLUMNS).unwrap();
    Data { features, sample, categorical: &Task::CATEGORICAL }
}

fn trained(goal: &str, method: MethodChoice, mixed: bool, threads: usize) -> TreesFit {
    trained_with(goal, mixed, Settings { method, threads: Some(threads), ..Settings::default() })
}

fn trained_with(goal: &str, mixed: bool, settings: Settings) -> TreesFit {
    let settings = Settings {
        configurations: Parameters::search(4, 0),
        rounds: 40,
        look_every: 5,
        patience: 20,
        ..settings
    };
    let goal: QueryGoal = goal.parse().unwrap();
    let (train, validation) = (task(3000, 20, mixed), task(1500, 21, mixed));
    fit(&goal, data(&train), data(&validation), &settings, &mut Silent, None).unwrap()
}

#[test]
fn trees_of_queries_beat_no_trees_and_keep_what_gains() {
    if library().is_none() {
        return;
    }
    for goal in ["ndcg @ k=5 per query", "precision @ k=5 per query", "map per query"] {
        for method in [MethodChoice::CrossEntropy, MethodChoice::Auto, MethodChoice::Ico] {
            let fitted = trained(goal, method, true, 1);
            let goal: QueryGoal = goal.parse().unwrap();
            let test = task(3000, 22, true);
            let mut scores = vec![0.0; 3000];
            let queries = test.1.queries().unwrap();
            let value = |scores: &[f32]| {
                Values::new(&goal, queries, scores, Convention::default()).unwrap().mean().unwrap()
            };
            let none = value(&scores);
            fitted.ensemble.scores(&data(&test).features, &mut scores).unwrap();
            assert!(value(&scores) > none + 0.1, "{goal} {method}: {} {none}", value(&scores));
            assert_eq!(fitted.candidates.len(), 4 + usize::from(method != MethodChoice::CrossEntropy));
            let names: Vec<&str> =
                fitted.candidates.iter().map(|one| one.name.split(',').next().unwrap()).collect();
            assert_eq!(names[..4], ["lambdarank", "lambdarank", "rank_xendcg", "cross-entropy"]);
            assert_eq!(
                method == MethodChoice::Ico,
                fitted.winner.starts_with("implicit rounds after lambdarank")
                    || fitted.winner.starts_with("implicit rounds after rank_xendcg")
                    || fitted.winner.starts_with("implicit rounds after cross-entropy"),
                "{}",
                fitted.winner
            );
        }
    }
}

#[test]
fn validation_queries_are_learnt_from_where_rounds_on_the_gradient_do_not_gain() {
    if library().is_none() {
        return;
    }
    let validation = task(1500, 21, true);
    let goals = ["ndcg @ k=5 per query", "precision @ k=5 per query", "map per query"];
    let mut again = 0;
    for text in goals {
        let of = |retrain, threads| {
            trained_with(text, true, Settings { retrain, threads: Some(threads), ..Settings::default() })
        };
        let (kept, fitted) = (of(false, 1), of(true, 1));
        assert_eq!(fitted, of(true, 2), "{text}");
        let retrained = fitted.winner.ends_with(", retrained on train and validation rows");
        assert_eq!(fitted.used_validation, retrained, "{text}: {}", fitted.winner);
        let goal: QueryGoal = text.parse().unwrap();
        let value = |fitted: &TreesFit| {
            let mut scores = vec![0.0; 1500];
            fitted.ensemble.scores(&data(&validation).features, &mut scores).unwrap();
            Values::new(&goal, validation.1.queries().unwrap(), &scores, Convention::default())
                .unwrap()
                .mean()
                .unwrap()
        };
        if retrained {
            // It knows the validation queries by now.
            assert!(value(&fitted) > value(&kept) + 0.05, "{text}: {} {}", value(&fitted), value(&kept));
            again += 1;
        }
    }
    assert!(again > 0, "rounds on the gradient gained for every goal");
}

#[test]
fn trees_of_queries_do_not_depend_on_threads() {
    if library().is_none() {
        return;
    }
    let of = |threads| trained("ndcg @ k=5 per query", MethodChoice::Ico, false, threads);
    assert_eq!(of(1), of(2));
}
