//! Models of every kind, trained or made up, row by row in onnxruntime.

#![allow(missing_docs, reason = "a test binary has no readers of its documentation")]

mod image;
mod real;

use serde_json::{Map, json};
use setpoint::train::Silent;
use setpoint_data::{ReadOptions, Roles, SplitPlan, Table};
use setpoint_onnx::{Checked, Classifier, Decided, Decision, Rows, check, export};
use setpoint_run::{Asked, Job, ModelChoice, Opened, certify, load, opened, train};

/// Whether onnxruntime can be had; says so where not.
pub fn has_runtime() -> bool {
    let there = setpoint_onnx::library_file().is_some();
    if !there {
        eprintln!("skipped: onnxruntime is not installed, and SETPOINT_ONNXRUNTIME names no file");
    }
    there
}

/// Numbers in [0, 1) from a seed.
pub struct Random(pub u64);

impl Random {
    pub fn draw(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as f64 / (1u64 << 31) as f64
    }
}

/// A table with what is hard: numbers and texts with gaps, numbers that 32 bits round, whole numbers as
/// categories, a column with many categories, groups.
fn table(rows: usize, seed: u64, towns: [&str; 3]) -> String {
    let mut random = Random(seed);
    let mut text = "age,when,town,code,street,sex,y\n".to_owned();
    for row in 0..rows {
        let positive = random.draw() < 0.25;
        let shift = if positive { 1.0 } else { 0.0 };
        let age = if random.draw() < 0.1 { "NA".to_owned() } else { format!("{:.4}", random.draw() + shift) };
        let when = 1_700_000_000.0 + 4000.0 * (random.draw() + 0.3 * shift);
        let town = if random.draw() < 0.1 { "" } else { towns[(3.0 * random.draw()) as usize] };
        let code = (4.0 * random.draw() + shift) as usize;
        let (street, sex) = (row * 7 % 40, if random.draw() < 0.4 { "f" } else { "m" });
        text += &format!("{age},{when:.3},{town},{code},s{street},{sex},{}\n", u8::from(positive));
    }
    text
}

fn roles(label: bool) -> Roles {
    Roles {
        label: label.then(|| "y".to_owned()),
        group: Some("sex".to_owned()),
        categorical: vec!["code".to_owned()],
        ..Roles::default()
    }
}

fn trained(text: &str, goal: &str, model: ModelChoice, settings: serde_json::Value, roles: &Roles) -> Opened {
    let table = Table::from_bytes("t", text.into(), &ReadOptions::default(), roles, None).unwrap();
    trained_on(table, goal, model, settings)
}

fn trained_on(table: Table, goal: &str, model: ModelChoice, settings: serde_json::Value) -> Opened {
    let split: SplitPlan = "train=0.5,validation=0.25,calibration=0.25".parse().unwrap();
    let parts = split.split(&table, 0).unwrap();
    let settings: Map<_, _> = serde_json::from_value(settings).unwrap();
    let job = Job::new(goal.parse().unwrap(), model, &settings, &split, Some(0.9)).unwrap();
    let mut loaded = load(table, &parts, None, &job.model).unwrap();
    opened(&train(&job, &mut loaded, &mut Silent, None).unwrap().file).unwrap()
}

/// Exports with these rows and runs them.
fn run(model: &Opened, text: &str) -> (Checked, Vec<u8>) {
    run_bytes(model, text.as_bytes().to_vec())
}

/// The same of the bytes of a file.
fn run_bytes(model: &Opened, bytes: Vec<u8>) -> (Checked, Vec<u8>) {
    let encoder = model.schema.encoder().unwrap();
    let roles =
        Roles { group: model.group_column().map(str::to_owned), ..Roles::default() };
    let table = Table::from_bytes("t", bytes, &ReadOptions::default(), &roles, Some(encoder)).unwrap();
    let (rows, groups) = (Rows::of_table(&table), table.groups().cloned());
    let scores = model.scores(encoder.encode(table).unwrap().features).unwrap();
    let decided = Decided::new(model, scores, groups.as_ref()).unwrap();
    let bytes = export(model, Some(decided.observed())).unwrap();
    (check(&bytes, &rows, &decided).unwrap(), bytes)
}

/// Rows of training, and others of which some have categories that training never had.
fn both() -> [String; 2] {
    [table(2000, 8, ["York", "Leeds", "Hull"]), table(3000, 9, ["York", "Ripon", "Hull"])]
}

#[test]
fn linear_models_score_and_decide_the_same_to_the_last_bit() {
    if !has_runtime() {
        return;
    }
    let [known, new] = both();
    for goal in ["recall @ fpr<=10%", "recall @ fpr(sex)<=10%"] {
        let model = trained(&known, goal, ModelChoice::Linear, json!({}), &roles(true));
        for text in [&known, &new] {
            let (checked, bytes) = run(&model, text);
            assert_eq!((checked.different.len(), checked.largest), (0, 0.0), "{goal}: {checked}");
            assert!(bytes == run(&model, &known).1, "the same model gives the same bytes");
        }
    }
}

#[test]
fn trees_score_and_decide_the_same_to_the_last_bit() {
    if !has_runtime() || setpoint_trees::Library::get().is_err() {
        eprintln!("skipped: onnxruntime or LightGBM is not installed");
        return;
    }
    let [known, new] = both();
    let trees = ModelChoice::Trees { search: 2, rounds: Some(30) };
    let model = trained(&known, "recall @ fpr(sex)<=10%", trees, json!({}), &roles(true));
    for text in [&known, &new] {
        let (checked, _) = run(&model, text);
        assert_eq!((checked.different.len(), checked.largest), (0, 0.0), "{checked}");
    }
}

#[test]
fn networks_decide_the_same_and_score_within_a_hundred_thousandth() {
    if !has_runtime() {
        return;
    }
    let [known, new] = both();
    let mlp = ModelChoice::Mlp { hidden: vec![16, 8], dropout: 0.1 };
    let model = trained(&known, "recall @ fpr(sex)<=10%", mlp, json!({ "epochs": 3 }), &roles(true));
    for text in [&known, &new] {
        let (checked, _) = run(&model, text);
        assert!(checked.different.is_empty() && checked.largest < 1e-5, "{checked}");
    }
}

#[test]
fn sparse_rows_are_one_matrix() {
    if !has_runtime() {
        return;
    }
    let mut random = Random(3);
    let mut line = || {
        let (x, z) = (random.draw() - 0.5, random.draw() - 0.5);
        let label = if x + 0.3 * z + random.draw() > 0.9 { "+1" } else { "-1" };
        if z > 0.0 { format!("{label} 1:{x:.5} 5:{z:.5}\n") } else { format!("{label} 2:{z:.5} 7:{x:.5}\n") }
    };
    let text: String = (0..2000).map(|_| line()).collect();
    let mlp = ModelChoice::Mlp { hidden: vec![8], dropout: 0.0 };
    for (choice, settings) in [(ModelChoice::Linear, json!({})), (mlp, json!({ "epochs": 2 }))] {
        let model = trained(&text, "recall @ fpr<=20%", choice, settings, &Roles::default());
        let (checked, _) = run(&model, &text);
        assert!(checked.different.is_empty() && checked.largest < 1e-5, "{checked}");
    }
}

#[test]
fn a_group_that_the_model_does_not_know_is_refused_by_the_runtime() {
    if !has_runtime() {
        return;
    }
    let [known, new] = both();
    let model = trained(&known, "recall @ fpr(sex)<=10%", ModelChoice::Linear, json!({}), &roles(true));
    let bytes = run(&model, &known).1;
    let encoder = model.schema.encoder().unwrap();
    let strange = new.replace(",f,", ",x,");
    let table = Table::from_bytes("t", strange.into(), &ReadOptions::default(), &roles(false), Some(encoder))
        .unwrap();
    let rows = Rows::of_table(&table);
    let decided = Decided { scores: vec![0.0; 3000], of: None, decisions: vec![false; 3000] };
    let error = check(&bytes, &rows, &decided).unwrap_err().message;
    assert!(error.starts_with("onnxruntime refused a run: ") && error.contains("out of"), "{error}");
}

#[test]
fn a_certified_decision_follows_any_graph() {
    if !has_runtime() {
        return;
    }
    let [known, new] = both();
    let model = trained(&known, "recall @ fpr<=10%", ModelChoice::Linear, json!({}), &roles(true));
    let graph = export(&model, None).unwrap();
    let group_roles = Roles { group_is_feature: true, ..roles(true) };
    let table = Table::from_bytes("t", new.into(), &ReadOptions::default(), &group_roles, None).unwrap();
    let rows = Rows::of_table(&table);
    let groups = table.groups().unwrap();
    let sample = setpoint::Sample::new(table.labels().unwrap().to_vec()).unwrap();
    let sample = sample.with_groups("sex", groups.names.clone(), groups.of.clone()).unwrap();
    for (goal, output) in [("fpr<=20%", None), ("fpr(sex)<=20%", Some("score"))] {
        // Of score and probability, the latter is meant unless told.
        let classifier = Classifier::new(graph.clone(), output).unwrap();
        let (scores, columns) = classifier.scores(&rows).unwrap();
        let asked = Asked::new(goal).unwrap();
        let certified = certify(&asked, &sample, &scores, 0.95).unwrap();
        let of_groups =
            setpoint::artifact::Groups { column: "sex".to_owned(), names: certified.by_rank.groups.clone() };
        let groups_of = asked.column().map(|_| &of_groups);
        let thresholds = &certified.thresholds[..];
        let metadata = [("setpoint.goal", goal.to_owned())];
        let decided = classifier
            .decided(&Decision { thresholds, groups: groups_of, columns, metadata: &metadata })
            .unwrap();
        assert!(decided.starts_with(&graph), "the original is as it was");
        let of = asked.column().map(|_| {
            let place =
                |name: &String| of_groups.names.iter().position(|other| other == name).unwrap() as u32;
            groups.of.iter().map(|code| place(&groups.names[*code as usize])).collect::<Vec<u32>>()
        });
        let threshold = |row: usize| thresholds[of.as_ref().map_or(0, |of| of[row] as usize)];
        let decisions = scores.iter().enumerate().map(|(row, score)| *score >= threshold(row)).collect();
        let expected = Decided { scores: model_scores(&model), of, decisions };
        let checked = check(&decided, &rows, &expected).unwrap();
        // Read without regard to the model, large numbers have another offset, and another last digit.
        assert!(checked.different.is_empty() && checked.largest < 1e-6, "{goal}: {checked}");
    }
    let error = Classifier::new(graph, Some("nothing")).unwrap_err().message;
    assert!(error.contains("no output \"nothing\" of numbers (‹score›)"), "{error}");
}

/// Setpoint's own scores of the other rows.
fn model_scores(model: &Opened) -> Vec<f32> {
    let [_, new] = both();
    let encoder = model.schema.encoder().unwrap();
    let table = Table::from_bytes("t", new.into(), &ReadOptions::default(), &Roles::default(), Some(encoder))
        .unwrap();
    model.scores(encoder.encode(table).unwrap().features).unwrap()
}
