//! Whole runs, from rows to a model.

use std::ops::ControlFlow;

use setpoint::train::selection::as_fraction;
use setpoint::train::{Judge, MethodChoice, Progress, Silent, TrainError};
use setpoint::{Goal, Sample};

use super::{Task, library};
use crate::store::{pack, unpack};
use crate::{
    Data, FeatureView, Finished, Parameters, Session, Settings, Store, TreesError, TreesFit, conclude, fit,
};

struct Splits {
    train: Task,
    validation: Task,
    test: Task,
}

impl Splits {
    fn new() -> Self {
        Self { train: Task::new(3000, 20), validation: Task::new(1500, 21), test: Task::new(6000, 22) }
    }

    fn data(task: &Task) -> Data<'_> {
        let features = FeatureView::dense(&task.values, Task::COLUMNS).unwrap();
        Data { features, sample: &task.sample, categorical: &Task::CATEGORICAL }
    }

    fn fit(
        &self,
        goal: &Goal,
        settings: &Settings,
        store: Option<&mut Memory>,
    ) -> Result<TreesFit, TreesError> {
        let store = store.map(|store| store as &mut dyn Store);
        fit(goal, Self::data(&self.train), Self::data(&self.validation), settings, &mut Silent, store)
    }

    /// The goal's value on the test rows.
    fn value(&self, goal: &Goal, fit: &crate::Ensemble) -> f64 {
        let test = Self::data(&self.test);
        let mut scores = vec![0.0; self.test.sample.len()];
        fit.scores(&test.features, &mut scores).unwrap();
        Judge::new(&as_fraction(goal, 6000), &self.test.sample).exact(&scores).unwrap()
    }
}

fn settings(method: MethodChoice) -> Settings {
    let configurations = Parameters::search(4, 0);
    Settings {
        method,
        configurations,
        rounds: 60,
        look_every: 10,
        patience: 30,
        threads: Some(1),
        ..Settings::default()
    }
}

fn goal(text: &str) -> Goal {
    text.parse().unwrap()
}

#[test]
fn boosters_that_grow_side_by_side_are_those_that_grow_one_by_one() {
    if library().is_none() {
        return;
    }
    let splits = Splits::new();
    let goal = goal("recall @ fpr<=5%");
    let fit = |threads| {
        let settings = Settings { retrain: true, threads: Some(threads), ..settings(MethodChoice::Auto) };
        splits.fit(&goal, &settings, None).unwrap()
    };
    let one_by_one = fit(1);
    assert_eq!(fit(2), one_by_one);
    assert_eq!(fit(5), one_by_one);
}

#[test]
fn auto_learns_and_says_every_step() {
    if library().is_none() {
        return;
    }
    let splits = Splits::new();
    for text in ["recall @ fpr<=5%", "pr-auc @ recall in 0.9..1", "precision @ k=50"] {
        let goal = goal(text);
        let fit =
            splits.fit(&goal, &Settings { retrain: true, ..settings(MethodChoice::Auto) }, None).unwrap();
        assert!(fit.used_validation && fit.winner.contains("retrained"), "{}", fit.winner);
        assert_eq!((fit.candidates.len(), fit.steps.len()), (4, 3), "{:?}", fit.steps);
        assert!(fit.steps.iter().all(|step| step.gain.is_some_and(|gain| gain.standard_error.is_some())));
        let (value, baseline) = (splits.value(&goal, &fit.ensemble), splits.value(&goal, &fit.baseline));
        // Standard errors on 6,000 rows are 2 points or less; a model of chance has 5% recall, and the
        // rate of positives (13%) as precision.
        assert!(value > 0.5 && value > baseline - 0.04, "{text}: {value} against {baseline}");
    }
}

#[test]
fn boosters_that_were_grown_elsewhere_make_the_same_model() {
    if library().is_none() {
        return;
    }
    let (splits, goal) = (Splits::new(), goal("recall @ fpr<=5%"));
    let (train, validation) = (Splits::data(&splits.train), Splits::data(&splits.validation));
    for method in [MethodChoice::Auto, MethodChoice::CrossEntropy] {
        let settings = settings(method);
        let mut observer = Silent;
        let mut session = Session::new(train, validation, &settings, &mut observer, None).unwrap();
        let searched = session.search(std::slice::from_ref(&goal)).unwrap();
        let here = session.conclude(&goal, &searched).unwrap();
        assert_eq!(conclude(&goal, &searched, &splits.validation.sample, &settings).unwrap(), here);
    }
    let found = conclude(&goal, &[], &splits.validation.sample, &settings(MethodChoice::Ico));
    assert!(found.unwrap_err().to_string().contains("auto or cross-entropy"));
}

#[test]
fn without_retraining_the_model_is_made_of_the_searchs_own_boosters() {
    if library().is_none() {
        return;
    }
    let splits = Splits::new();
    let goal = goal("recall @ fpr<=5%");
    let fit = splits.fit(&goal, &settings(MethodChoice::Auto), None).unwrap();
    let validation = Splits::data(&splits.validation);
    let mut scores = vec![0.0; 1500];
    fit.ensemble.scores(&validation.features, &mut scores).unwrap();
    let value = Judge::new(&goal, validation.sample).exact(&scores).unwrap();
    // Nothing is fitted to validation rows; scores of the combined trees differ from the combined scores
    // in the last bits only.
    assert!(!fit.used_validation);
    assert!((value - fit.validation.unwrap()).abs() < 0.01, "{value} {:?}", fit.validation);
    let best = fit.candidates.iter().filter_map(|candidate| candidate.validation).fold(0.0, f64::max);
    assert_eq!(fit.baseline_candidate.validation, Some(best));
}

#[test]
fn cross_entropy_is_the_best_booster_and_ico_boosts_on_the_goals_gradient() {
    if library().is_none() {
        return;
    }
    let splits = Splits::new();
    let goal = goal("recall @ fpr<=5%");
    let plain = splits.fit(&goal, &settings(MethodChoice::CrossEntropy), None).unwrap();
    assert_eq!(plain.ensemble, plain.baseline);
    assert!(plain.steps.is_empty() && !plain.used_validation);
    let ico = splits.fit(&goal, &settings(MethodChoice::Ico), None).unwrap();
    assert_eq!(ico.baseline, plain.baseline);
    assert!(ico.winner.starts_with("ico, ") && ico.gain.is_some(), "{}", ico.winner);
    assert_ne!(ico.ensemble, ico.baseline);
    let (value, baseline) = (splits.value(&goal, &ico.ensemble), splits.value(&goal, &plain.ensemble));
    assert!(value > baseline - 0.06, "{value} against {baseline}");
}

/// Keeps checkpoints as a file would, and may end the run after some boosters.
#[derive(Default)]
struct Memory {
    kept: (Vec<String>, setpoint::optimizer::State),
    saves: usize,
    most: Option<usize>,
}

impl Store for Memory {
    fn load(&mut self) -> Vec<Finished> {
        unpack(&self.kept.0, &self.kept.1, Task::COLUMNS).unwrap()
    }

    fn save(&mut self, done: &[Finished]) -> Result<(), String> {
        self.kept = pack(done);
        self.saves += 1;
        if self.most == Some(self.saves) { Err("killed".into()) } else { Ok(()) }
    }
}

#[test]
fn a_run_that_is_killed_and_resumed_ends_in_the_same_bytes() {
    if library().is_none() {
        return;
    }
    let splits = Splits::new();
    let goal = goal("recall @ fpr<=5%");
    for method in [MethodChoice::Auto, MethodChoice::Ico] {
        let settings = Settings { retrain: true, rounds: 30, ..settings(method) };
        let whole = splits.fit(&goal, &settings, None).unwrap();
        let mut store = Memory { most: Some(3), ..Memory::default() };
        let error = splits.fit(&goal, &settings, Some(&mut store)).unwrap_err();
        assert!(matches!(error, TreesError::Train(TrainError::Checkpoint { .. })), "{error}");
        store.most = None;
        let resumed = splits.fit(&goal, &settings, Some(&mut store)).unwrap();
        assert_eq!(resumed, whole);
        let saves = store.saves;
        assert_eq!(splits.fit(&goal, &settings, Some(&mut store)).unwrap(), whole);
        assert_eq!(store.saves, saves, "everything was there already");
    }
}

#[test]
fn one_search_serves_several_goals() {
    if library().is_none() {
        return;
    }
    let splits = Splits::new();
    let settings = Settings { patience: 60, ..settings(MethodChoice::Auto) };
    let goals = [goal("recall @ fpr<=5%"), goal("pr-auc @ recall in 0.9..1")];
    let mut silent = Silent;
    let (train, validation) = (Splits::data(&splits.train), Splits::data(&splits.validation));
    let mut session = Session::new(train, validation, &settings, &mut silent, None).unwrap();
    let searched = session.search(&goals).unwrap();
    for goal in &goals {
        let shared = session.conclude(goal, &searched).unwrap();
        assert_eq!(shared, splits.fit(goal, &settings, None).unwrap(), "{goal}");
    }
}

#[test]
fn observers_see_rounds_and_may_stop_the_run() {
    if library().is_none() {
        return;
    }
    let splits = Splits::new();
    let (mut seen, settings) = (Vec::new(), settings(MethodChoice::Auto));
    let mut observer = |progress: &Progress| {
        seen.push(progress.clone());
        if progress.stage_index == 1 && progress.step == 7 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let goal = goal("recall @ fpr<=5%");
    let (train, validation) = (Splits::data(&splits.train), Splits::data(&splits.validation));
    let error = fit(&goal, train, validation, &settings, &mut observer, None).unwrap_err();
    assert_eq!(error, TreesError::Train(TrainError::Stopped));
    let first: Vec<_> = seen.iter().filter(|progress| progress.stage_index == 0).collect();
    assert!(first.iter().all(|progress| progress.validation.is_some() == (progress.step % 10 == 0)));
    assert!(first[29].loss < first[9].loss && first[0].stages == 4);
}

#[test]
fn goals_with_groups_are_trained_and_the_head_says_why_it_is_not() {
    if library().is_none() {
        return;
    }
    let splits = Splits::new();
    let grouped = |sample: &Sample| {
        let groups = (0..sample.len()).map(|row| u32::from(row % 3 == 0)).collect();
        sample.clone().with_groups("g", vec!["a".into(), "b".into()], groups).unwrap()
    };
    let (train, validation) = (grouped(&splits.train.sample), grouped(&splits.validation.sample));
    let settings = Settings { retrain: true, ..settings(MethodChoice::Auto) };
    let fit = fit(
        &goal("recall @ fpr(g)<=5%"),
        Data { sample: &train, ..Splits::data(&splits.train) },
        Data { sample: &validation, ..Splits::data(&splits.validation) },
        &settings,
        &mut Silent,
        None,
    )
    .unwrap();
    assert!(fit.validation.unwrap() > 0.3);
    assert!(fit.steps[1].name.contains("groups") && !fit.steps[1].taken, "{:?}", fit.steps);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let splits = Splits::new();
    let goal = goal("recall @ fpr<=5%");
    let refused = |settings: Settings| splits.fit(&goal, &settings, None).unwrap_err().to_string();
    let lagrangian = refused(settings(MethodChoice::Lagrangian));
    assert_eq!(lagrangian, "‹method lagrangian for trees›: expected auto, ico or cross-entropy");
    let none = refused(Settings { configurations: vec![], ..settings(MethodChoice::Auto) });
    assert!(none.contains("at least one configuration"), "{none}");
    let other = [0.0; 30];
    let narrow =
        Data { features: FeatureView::dense(&other, 5).unwrap(), ..Splits::data(&splits.validation) };
    let error =
        fit(&goal, Splits::data(&splits.train), narrow, &settings(MethodChoice::Auto), &mut Silent, None);
    assert!(error.unwrap_err().to_string().contains("1500 labels for 6 rows"));
}

#[test]
fn a_validation_split_with_one_positive_trains_and_measures_nothing() {
    if library().is_none() {
        return;
    }
    let splits = Splits::new();
    let labels = (0..1500).map(|row| row == 700).collect();
    let lonely = Sample::new(labels).unwrap();
    let settings = Settings { retrain: true, rounds: 20, ..settings(MethodChoice::Auto) };
    let validation = Data { sample: &lonely, ..Splits::data(&splits.validation) };
    let fit =
        fit(&goal("recall @ fpr<=5%"), Splits::data(&splits.train), validation, &settings, &mut Silent, None)
            .unwrap();
    assert!(fit.steps.iter().all(|step| step.gain.is_none()), "{:?}", fit.steps);
}
