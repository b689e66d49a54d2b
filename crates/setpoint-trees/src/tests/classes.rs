//! Several classes: LightGBM's multiclass objective, from rows to a model with shifts.

use setpoint::Sample;
use setpoint::class::{Classes, Confusion, shift};
use setpoint::goal::ClassGoal;
use setpoint::train::{MethodChoice, Silent};

use super::{Task, library, noise};
use crate::library::{Booster, Dataset};
use crate::store::{pack, unpack};
use crate::{Data, Ensemble, FeatureView, Finished, Parameters, Settings, TreesFit, fit};

const NAMES: [&str; 3] = ["common", "rare", "other"];

/// The rows of a task in three classes, the second rare.
fn task(rows: usize, seed: usize) -> (Vec<f32>, Sample) {
    let Task { values, sample } = Task::new(rows, seed);
    let code = |row: usize| match sample.labels()[row] {
        true if noise(seed + row * 31) < 0.7 => 1,
        true => 2,
        false if values[row * Task::COLUMNS + 3] > 0.2 => 2,
        false => 0,
    };
    let codes = (0..rows).map(code).collect();
    (values, Sample::of_classes("class", NAMES.map(str::to_owned).to_vec(), codes).unwrap())
}

fn data<'d>((values, sample): &'d (Vec<f32>, Sample)) -> Data<'d> {
    let features = FeatureView::dense(values, Task::COLUMNS).unwrap();
    Data { features, sample, categorical: &Task::CATEGORICAL }
}

fn goal(text: &str) -> ClassGoal {
    ClassGoal::parse(text, &NAMES.map(str::to_owned)).unwrap()
}

fn settings(method: MethodChoice) -> Settings {
    Settings {
        method,
        configurations: Parameters::search(3, 0),
        rounds: 40,
        look_every: 10,
        patience: 30,
        threads: Some(1),
        ..Settings::default()
    }
}

fn trained(text: &str, settings: &Settings) -> TreesFit {
    let (train, validation) = (task(3000, 20), task(1500, 21));
    fit(&goal(text), data(&train), data(&validation), settings, &mut Silent, None).unwrap()
}

#[test]
fn scores_of_several_classes_match_lightgbms() {
    let Some(library) = library() else { return };
    let (train, test) = (task(3000, 1), task(1003, 2));
    let quiet = "verbosity=-1 num_threads=1 deterministic=true force_col_wise=true";
    let mut dataset =
        Dataset::new(library, &data(&train).features, &format!("{quiet} categorical_feature=5")).unwrap();
    let codes: Vec<f32> = train.1.groups().unwrap().codes().iter().map(|code| *code as f32).collect();
    dataset.set_labels(&codes).unwrap();
    let mut booster =
        Booster::new(&dataset, &format!("{quiet} objective=multiclass num_class=3 num_leaves=15")).unwrap();
    for _ in 0..30 {
        booster.update().unwrap();
    }
    assert_eq!((booster.classes(), booster.rounds().unwrap()), (3, 30));
    let text = booster.to_text(0).unwrap();
    let ensemble = Ensemble::from_text(&text, Task::COLUMNS).unwrap();
    assert_eq!((ensemble.outputs(), ensemble.rounds(), ensemble.trees()), (3, 30, 90));
    let stored = Ensemble::from_tensors(&ensemble.to_tensors(), Task::COLUMNS).unwrap();
    assert_eq!(stored, ensemble);
    let (names, state) = pack(&[Finished { name: "one".into(), ensemble }]);
    assert_eq!(unpack(&names, &state, Task::COLUMNS).unwrap()[0].ensemble, stored);
    let features = data(&test).features;
    let (mut theirs, mut ours) = (vec![0.0; 3 * 1003], vec![0.0; 3 * 1003]);
    Booster::from_text(library, &text).unwrap().predict(&features, 1, &mut theirs).unwrap();
    stored.raw(&features, &mut ours).unwrap();
    for (at, (theirs, ours)) in theirs.iter().zip(&ours).enumerate() {
        assert!((theirs - ours).abs() <= 1e-9, "{at}: {theirs} and {ours}");
    }
    assert!(booster.predict(&features, 1, &mut vec![0.0; 1003]).is_err(), "a place for each score");
}

#[test]
fn auto_learns_averages_and_finds_shifts_that_meet_conditions_elsewhere() {
    if library().is_none() {
        return;
    }
    let test = task(6000, 22);
    for (text, retrain) in
        [("macro-f1", false), ("accuracy @ recall(rare)>=0.8", false), ("accuracy @ recall(rare)>=0.8", true)]
    {
        let goal = goal(text);
        let fit = trained(text, &Settings { retrain, ..settings(MethodChoice::Auto) });
        assert_eq!(fit.used_validation, retrain, "{}", fit.winner);
        assert!(
            fit.steps.iter().all(|step| step.gain.is_some() && !step.name.contains("head")),
            "{:?}",
            fit.steps
        );
        let shifts = shift::smooth(&goal, &task(1500, 21).1, &fit.held_out, 0.3).unwrap().shifts;
        let mut scores = vec![0.0; 3 * 6000];
        fit.ensemble.scores(&data(&test).features, &mut scores).unwrap();
        let classes = Classes::of(&goal, &test.1).unwrap();
        let found = Confusion::at(&classes, &scores, &shifts).unwrap();
        // About 600 rare rows here and 150 on validation: a standard error of 3.5 points.
        assert!(goal.conditions.iter().all(|condition| found.missed(condition) < 0.11), "{text}");
        let best = shift::best(&goal, &test.1, &scores, 4).unwrap().value;
        let value = found.objective(&goal).unwrap();
        assert!(value > 0.5 && value > best - 0.06, "{text}: {value}, and {best} at best");
    }
}

#[test]
fn held_out_scores_are_in_the_units_of_what_ships() {
    if library().is_none() {
        return;
    }
    let validation = task(1500, 21);
    for configurations in [1, 3] {
        let configurations = Parameters::search(configurations, 0);
        let settings = Settings { retrain: false, configurations, ..settings(MethodChoice::Auto) };
        let fit = trained("macro-f1", &settings);
        let mut scores = vec![0.0; 3 * 1500];
        fit.ensemble.scores(&data(&validation).features, &mut scores).unwrap();
        for (held_out, score) in fit.held_out.iter().zip(&scores) {
            assert!((held_out - score).abs() < 1e-4 * score.abs().max(1.0), "{held_out} is not {score}");
        }
    }
}

#[test]
fn a_coverage_is_kept_by_boosters_that_are_grown_again_and_surer_of_themselves() {
    if library().is_none() {
        return;
    }
    // Six validation rows for each to train on, and few rounds: boosters grow again by 1.9 times as many.
    let (train, validation, test) = (task(1000, 20), task(6000, 21), task(20_000, 22));
    let goal = goal("accuracy @ coverage(other)<=20%");
    let fit = |retrain| {
        let settings = Settings { retrain, rounds: 20, look_every: 5, ..settings(MethodChoice::Auto) };
        fit(&goal, data(&train), data(&validation), &settings, &mut Silent, None).unwrap()
    };
    let (before, again) = (fit(false), fit(true));
    assert!(again.used_validation, "{}", again.winner);
    let mut scores = vec![0.0; 3 * 20_000];
    again.ensemble.scores(&data(&test).features, &mut scores).unwrap();
    let classes = Classes::of(&goal, &test.1).unwrap();
    let [early, folded] = [&before.held_out, &again.held_out].map(|held_out| {
        let found = shift::best(&goal, &validation.1, held_out, 4).unwrap();
        Confusion::at(&classes, &scores, &found.shifts).unwrap().missed(&goal.conditions[0])
    });
    // A fifth of 6,000 rows has a standard error of 0.5 points, of 20,000 of 0.3: three of both together.
    assert!(
        folded < 0.018 && early > 0.018,
        "missed by {folded}, and {early} at shifts of the boosters before"
    );
}

#[test]
fn the_same_bytes_for_any_threads_and_the_search_alone_for_cross_entropy() {
    if library().is_none() {
        return;
    }
    let with = |threads| {
        let settings = Settings { retrain: true, threads: Some(threads), ..settings(MethodChoice::Auto) };
        trained("worst(recall)", &settings)
    };
    assert_eq!(with(1), with(3));
    let plain = trained("worst(recall)", &settings(MethodChoice::CrossEntropy));
    assert_eq!(plain.ensemble, plain.baseline);
    assert!(!plain.held_out.is_empty() && plain.steps.is_empty());
}

#[test]
fn what_cannot_be_had_of_several_classes_is_refused() {
    if library().is_none() {
        return;
    }
    let (train, validation) = (task(600, 20), task(300, 21));
    let small = Settings { rounds: 10, ..settings(MethodChoice::Ico) };
    let error =
        fit(&goal("macro-f1"), data(&train), data(&validation), &small, &mut Silent, None).unwrap_err();
    assert!(error.to_string().contains("auto or cross-entropy"), "{error}");
}
