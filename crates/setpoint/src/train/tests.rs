mod alone;
mod classes;
mod disk;
mod inequality;
mod queries;
mod rotation;
mod shards;

use std::ops::ControlFlow;

use super::*;
use crate::Goal;
use crate::engine::Inequality;
use crate::features::Features;
use crate::model::{Linear, Model};
use crate::sample::Sample;

/// Rows whose first feature separates the bulk and whose second matters only in the tail.
fn part(rows: usize, phase: f32) -> (Linear, Sample) {
    let uniform = |i: usize, k: f32| ((i as f32 * k + phase).sin() * 43_758.547).fract().abs();
    let normal = |i: usize, k: f32| (0..6).map(|j| uniform(i, k + j as f32 * 0.71)).sum::<f32>() - 3.0;
    let labels: Vec<bool> = (0..rows).map(|i| i % 8 == 0).collect();
    let values = (0..rows)
        .flat_map(|i| {
            let y = f32::from(u8::from(labels[i]));
            let heavy = if i % 8 == 3 { 3.0 * uniform(i, 3.3) } else { 0.0 };
            [normal(i, 12.9) + 0.9 * y + heavy, normal(i, 78.2) - heavy + 0.2 * y, normal(i, 37.7)]
        })
        .collect();
    let model = Linear::new(Features::from_row_major(values, 3).unwrap());
    let groups = (0..rows).map(|i| u32::from(i % 3 == 0)).collect();
    let sample = Sample::new(labels).unwrap().with_groups("g", vec!["a".into(), "b".into()], groups).unwrap();
    (model, sample)
}

fn run<'r>(
    goal: &str,
    settings: &Settings,
    observer: &'r mut (dyn Observer + 'r),
    store: Option<&'r mut (dyn Store + 'r)>,
) -> Result<Fit, TrainError> {
    let goal: Goal = goal.parse().unwrap();
    let (mut train, train_sample) = part(4000, 0.0);
    let (mut validation, validation_sample) = part(3000, 0.5);
    fit(
        &goal,
        Part { model: &mut train, sample: &train_sample },
        Part { model: &mut validation, sample: &validation_sample },
        settings,
        observer,
        store,
    )
}

#[test]
fn a_goal_without_a_value_on_validation_does_not_end_the_run() {
    let goal: Goal = "precision @ fpr(g)<=2%".parse().unwrap();
    let (mut train, train_sample) = part(2000, 0.0);
    // What scores high is negative here, and 2% of a group's negatives are less than one.
    let (mut validation, sample) = part(300, 0.5);
    let groups = sample.groups().unwrap();
    let flipped = Sample::new(sample.labels().iter().map(|label| !label).collect()).unwrap();
    let flipped = flipped.with_groups("g", groups.names().to_vec(), groups.codes().to_vec()).unwrap();
    for shared_threshold in [false, true] {
        let settings =
            Settings { method: MethodChoice::CrossEntropy, shared_threshold, ..Settings::default() };
        let fit = fit(
            &goal,
            Part { model: &mut train, sample: &train_sample },
            Part { model: &mut validation, sample: &flipped },
            &settings,
            &mut Silent,
            None,
        );
        match fit {
            Ok(fit) => assert!(!shared_threshold && !fit.candidates.is_empty()),
            // One threshold for all must meet the conditions in training: there is no other to choose.
            Err(error) => assert!(shared_threshold && error.is_no_value(), "{error}"),
        }
    }
}

#[test]
fn auto_beats_cross_entropy_where_the_tail_differs_from_the_bulk() {
    for goal in
        ["recall @ fpr<=2%", "pr-auc @ recall in 0.9..1", "roc-auc @ fpr in 0..5%", "precision @ k=100"]
    {
        let fit = run(goal, &Settings::default(), &mut Silent, None).unwrap();
        let gain = fit.gain.unwrap();
        assert!(gain.difference > -0.02, "{goal}: {gain:?} by {}", fit.winner);
        assert_eq!(fit.candidates.len(), 19);
        assert!(fit.candidates.iter().all(|candidate| candidate.validation.is_some()));
    }
}

#[test]
fn every_optimizer_and_every_source_of_thresholds_improves_on_its_start() {
    for optimizer in [OptimizerChoice::Sgd, OptimizerChoice::Adagrad, OptimizerChoice::Adam] {
        for thresholds in [Thresholds::Smooth, Thresholds::Exact, Thresholds::Track, Thresholds::Hold] {
            for batch_size in [None, Some(256)] {
                let settings = Settings {
                    method: MethodChoice::Ico,
                    positive_weight: PositiveWeight::Fixed(1.0),
                    optimizer,
                    thresholds,
                    batch_size,
                    learning_rate: 0.05,
                    steps: Some(60),
                    ..Settings::default()
                };
                let fit = run("recall @ fpr<=2%", &settings, &mut Silent, None).unwrap();
                let value = fit.validation.unwrap();
                assert!(value > 0.05, "{optimizer:?}, {thresholds:?}, {batch_size:?}: {value}");
                assert!(fit.winner.starts_with("ico"));
            }
        }
    }
}

/// The rivals, on the full batch and on mini-batches.
fn rivals() -> Vec<Settings> {
    let of = |method, batch_size| Settings {
        method,
        batch_size,
        positive_weight: PositiveWeight::Fixed(1.0),
        steps: Some(60),
        ..Settings::default()
    };
    let methods = [MethodChoice::Lagrangian, MethodChoice::Pairwise];
    methods.into_iter().flat_map(|method| [of(method, None), of(method, Some(256))]).collect()
}

#[test]
fn rivals_train_for_the_goals_they_can_express() {
    for settings in rivals() {
        let fit = run("recall @ fpr<=2%", &settings, &mut Silent, None).unwrap();
        assert_eq!(fit.candidates.len(), 3);
        assert_eq!(fit.winner, fit.candidates[2].name);
        assert!(fit.winner.starts_with("lagrangian") || fit.winner.starts_with("pairwise"));
        assert!(fit.validation.unwrap() > 0.05, "{settings:?}");
        for goal in
            ["accuracy @ gap(positive-rate, g)<=0.02", "recall @ fpr(g)<=5%", "pr-auc @ recall in 0.9..1"]
        {
            let found = run(goal, &settings, &mut Silent, None);
            if settings.method == MethodChoice::Lagrangian {
                assert!(found.unwrap().validation.is_some(), "{goal}");
            } else {
                assert!(matches!(found, Err(TrainError::Method { .. })), "{goal}");
            }
        }
    }
}

#[test]
fn small_batches_without_a_class_do_not_stop_a_rival() {
    for settings in rivals().into_iter().filter(|settings| settings.batch_size.is_some()) {
        let settings = Settings { batch_size: Some(4), ..settings };
        assert!(run("recall @ fpr<=2%", &settings, &mut Silent, None).unwrap().validation.is_some());
    }
}

#[test]
fn a_line_search_cannot_follow_the_lagrangian() {
    let settings = Settings {
        method: MethodChoice::Lagrangian,
        optimizer: OptimizerChoice::Lbfgs,
        ..Settings::default()
    };
    let error = run("f1", &settings, &mut Silent, None).unwrap_err();
    assert!(error.to_string().starts_with("‹optimizer lbfgs with the lagrangian method›: expected adam"));
}

#[test]
fn group_goals_and_mixed_batches_train() {
    let settings = Settings {
        method: MethodChoice::Ico,
        positive_weight: PositiveWeight::Fixed(1.0),
        ..Settings::default()
    };
    for goal in ["recall @ fpr(g)<=5%", "accuracy @ gap(positive-rate, g)<=0.02", "f1"] {
        assert!(run(goal, &settings, &mut Silent, None).unwrap().validation.is_some(), "{goal}");
    }
    let settings = Settings {
        optimizer: OptimizerChoice::Adam,
        batch_size: Some(64),
        mix: 0.5,
        steps: Some(100),
        ..settings
    };
    assert!(run("recall @ fpr(g)<=5%", &settings, &mut Silent, None).unwrap().validation.is_some());
}

#[test]
fn the_same_seed_gives_the_same_bits_for_any_number_of_threads() {
    let settings = Settings {
        optimizer: OptimizerChoice::Adam,
        batch_size: Some(100),
        steps: Some(50),
        ..Settings::default()
    };
    let rotated = Settings { rotations: Some(3), ..Settings::default() };
    let shared = Settings { shared_threshold: true, ..Settings::default() };
    for (goal, settings) in [Settings::default(), rotated, settings]
        .into_iter()
        .chain(rivals())
        .map(|settings| ("recall @ fpr<=2%", settings))
        .chain([("accuracy @ gap(recall, g)<=0.02", shared)])
    {
        let bits = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let fit = pool.install(|| run(goal, &settings, &mut Silent, None)).unwrap();
            fit.combined.parameters().unwrap().iter().map(|p| p.to_bits()).collect::<Vec<_>>()
        };
        assert_eq!(bits(1), bits(2));
    }
}

/// Keeps snapshots in memory, and everything that was ever saved.
#[derive(Default)]
struct Memory {
    last: Option<Snapshot>,
}

impl Store for Memory {
    fn load(&mut self) -> Option<Snapshot> {
        self.last.clone()
    }

    fn save(&mut self, snapshot: &Snapshot) -> Result<(), String> {
        self.last = Some(snapshot.clone());
        Ok(())
    }
}

#[test]
fn a_run_that_is_killed_and_resumed_ends_in_the_same_bits() {
    let first_order = |thresholds| Settings {
        method: MethodChoice::Ico,
        positive_weight: PositiveWeight::Fixed(3.0),
        optimizer: OptimizerChoice::Adagrad,
        thresholds,
        steps: Some(45),
        ..Settings::default()
    };
    let cases = [
        Settings::default(),
        Settings { rotations: Some(3), ..Settings::default() },
        first_order(Thresholds::Track),
        first_order(Thresholds::Smooth),
        Settings { batch_size: Some(300), ..first_order(Thresholds::Smooth) },
        Settings { batch_size: Some(300), mix: 0.3, ..first_order(Thresholds::Track) },
    ];
    let slack = Settings {
        optimizer: OptimizerChoice::Adam,
        inequality: Inequality::Slack,
        ..first_order(Thresholds::Smooth)
    };
    let shared = Settings { shared_threshold: true, ..Settings::default() };
    let cases =
        cases.into_iter().chain(rivals()).chain([slack]).map(|settings| ("recall @ fpr<=2%", settings));
    for (goal, settings) in cases.chain([("accuracy @ gap(recall, g)<=0.02", shared)]) {
        let whole = run(goal, &settings, &mut Silent, None).unwrap();
        let mut kills = 0;
        let mut store = Memory::default();
        // Kill after some more observations, again and again, until a run comes through.
        let resumed = loop {
            let mut left = 17 + kills % 5;
            let mut observer = |_: &Progress| {
                left -= 1;
                if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            };
            match run(goal, &settings, &mut observer, Some(&mut store)) {
                Ok(fit) => break fit,
                Err(TrainError::Stopped) => kills += 1,
                Err(error) => panic!("{error}"),
            }
            assert!(kills < 2000, "no progress");
        };
        assert!(kills > 0);
        assert_eq!(
            resumed.combined.parameters().unwrap(),
            whole.combined.parameters().unwrap(),
            "{settings:?}"
        );
        assert_eq!((resumed.winner, resumed.evaluations), (whole.winner, whole.evaluations));
    }
}

#[test]
fn bad_settings_are_refused() {
    for settings in [
        Settings { learning_rate: 0.0, ..Settings::default() },
        Settings { bandwidth: Bandwidth::Tail(f64::NAN), ..Settings::default() },
        Settings { batch_size: Some(64), optimizer: OptimizerChoice::Lbfgs, ..Settings::default() },
        Settings { dual_learning_rate: 0.0, ..Settings::default() },
        Settings { mix: 1.5, ..Settings::default() },
        Settings { rotations: Some(2), ..Settings::default() },
        Settings { positive_weight: PositiveWeight::Fixed(-1.0), ..Settings::default() },
    ] {
        let error = run("f1", &settings, &mut Silent, None).unwrap_err();
        assert!(matches!(error, TrainError::Setting { .. }), "{error}");
    }
}

#[test]
fn observers_are_told_what_a_loss_through_thresholds_is_made_of() {
    for batch_size in [None, Some(500)] {
        let settings =
            Settings { method: MethodChoice::Ico, batch_size, steps: Some(20), ..Settings::default() };
        let mut told = Vec::new();
        let mut observer = |progress: &Progress| {
            told.push((progress.stage.clone(), progress.detail.clone()));
            ControlFlow::Continue(())
        };
        run("recall @ fpr<=2%", &settings, &mut observer, None).unwrap();
        let (plain, ico): (Vec<_>, Vec<_>) =
            told.into_iter().partition(|(stage, _)| stage.starts_with("cross-entropy"));
        assert!(!plain.is_empty() && plain.iter().all(|(_, detail)| detail.is_none()));
        assert!(!ico.is_empty());
        for (_, detail) in ico {
            let detail = detail.unwrap();
            assert_eq!((detail.thresholds.len(), detail.constraints.len()), (1, 1));
            assert!(detail.objective > 0.0 && detail.objective < 1.0, "{detail:?}");
            // The smooth condition is solved at every step; on mini-batches to a share of what is chance.
            let most = if batch_size.is_none() { 1e-6 } else { 0.1 * 0.02 };
            assert!(detail.constraints[0] < most, "{detail:?}");
        }
    }
}
