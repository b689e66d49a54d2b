//! Models of every kind, trained or made up, row by row in onnxruntime.

#![allow(missing_docs, reason = "a test binary has no readers of its documentation")]

mod certify;
mod class;
mod hostile;
mod image;
mod real;

use prost::Message;
use serde_json::{Map, json};
use setpoint::train::Silent;
use setpoint_data::{ReadOptions, Roles, SplitPlan, Table};
use setpoint_onnx::proto::{Model as Proto, element};
use setpoint_onnx::{Checked, Decided, Rows, check, export};
use setpoint_run::{Decision, Decisions, Job, ModelChoice, Opened, POOL, load, opened, train};

/// A goal that leaves rows undecided.
const BAND: &str = "error @ coverage>=0.8";

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
    let (rows, decided) = decided(model, bytes);
    let bytes = export(model, Some(decided.observed())).unwrap();
    (check(&bytes, &rows, &decided).unwrap(), bytes)
}

/// Rows as they were read, and as Setpoint decides them.
fn decided(model: &Opened, bytes: Vec<u8>) -> (Rows<'static>, Decided) {
    let encoder = model.schema.encoder().unwrap();
    let group = model.group_column().map(str::to_owned);
    let group_is_feature = encoder.unused.iter().all(|column| Some(column) != group.as_ref());
    let roles = Roles { group, group_is_feature, ..Roles::default() };
    let table = Table::from_bytes("t", bytes, &ReadOptions::default(), &roles, Some(encoder)).unwrap();
    let (rows, groups) = (Rows::of_table(&table), table.groups().cloned());
    let scores = model.scores(encoder.encode(table).unwrap().features).unwrap();
    let decided = Decided::new(model, scores, groups.as_ref()).unwrap();
    (rows, decided)
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
    for goal in ["recall @ fpr<=10%", "recall @ fpr(sex)<=10%", BAND] {
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
    let trees = ModelChoice::Trees { search: Some(2), rounds: Some(30) };
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
    for goal in ["recall @ fpr(sex)<=10%", BAND] {
        let model = trained(&known, goal, mlp.clone(), json!({ "epochs": 3 }), &roles(true));
        for text in [&known, &new] {
            let (checked, _) = run(&model, text);
            assert!(checked.different.is_empty() && checked.largest < 1e-5, "{checked}");
        }
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
fn an_altered_graph_is_found_out_row_by_row() {
    if !has_runtime() {
        return;
    }
    let [known, _] = both();
    let model = trained(&known, "recall @ fpr<=10%", ModelChoice::Linear, json!({}), &roles(true));
    let (rows, decided) = decided(&model, known.as_bytes().to_vec());
    let graph = Proto::decode(&export(&model, None).unwrap()[..]).unwrap();
    let after = |op: &str| {
        let nodes = &graph.graph.as_ref().unwrap().node;
        nodes.iter().find(|node| node.op_type == op).unwrap().input[1].clone()
    };
    let altered = |name: &str, value: f32| {
        let mut graph = graph.clone();
        let constants = &mut graph.graph.as_mut().unwrap().initializer;
        let constant = constants.iter_mut().find(|constant| constant.name == name).unwrap();
        constant.raw_data[..4].copy_from_slice(&value.to_le_bytes());
        check(&graph.encode_to_vec(), &rows, &decided).unwrap()
    };
    let threshold = model.decision.threshold().unwrap().shipped.thresholds[0];
    assert!(altered(&after("GreaterOrEqual"), threshold).different.is_empty());
    // Rows left undecided are told from both.
    let band = trained(&known, BAND, ModelChoice::Linear, json!({}), &roles(true));
    let Decisions::Some(own) = self::decided(&band, known.as_bytes().to_vec()).1.decisions else {
        panic!("no rows are left undecided")
    };
    assert!([Some(true), Some(false), None].iter().all(|decision| own.contains(decision)));
    let (rows_of_band, mut turned) = self::decided(&band, known.as_bytes().to_vec());
    turned.decisions = Decisions::Some(own.iter().map(|one| one.or(Some(false))).collect());
    let checked = check(&export(&band, None).unwrap(), &rows_of_band, &turned).unwrap();
    assert_eq!(checked.different.len(), own.iter().filter(|one| one.is_none()).count());
    // Another threshold: the rows between the two.
    let checked = altered(&after("GreaterOrEqual"), threshold + 0.5);
    let between = |row: &usize| (threshold..threshold + 0.5).contains(&decided.scores[*row]);
    assert_eq!(checked.different, (0..2000).filter(between).collect::<Vec<_>>());
    assert!(!checked.different.is_empty() && checked.largest == 0.0, "{checked}");
    // The smallest change, to the threshold that is a row's very score.
    let nearest =
        decided.scores.iter().copied().filter(|score| *score >= threshold).reduce(f32::min).unwrap();
    assert!(!altered(&after("GreaterOrEqual"), nearest.next_up()).different.is_empty());
    // Another weight.
    let checked = altered(&after("Mul"), 3.0);
    assert!(!checked.different.is_empty() && checked.largest > 0.1, "{checked}");
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
    let decisions = Decisions::Positive(vec![false; 3000]);
    let decided = Decided { scores: vec![0.0; 3000], of: None, decisions };
    let error = check(&bytes, &rows, &decided).unwrap_err().message;
    assert!(error.starts_with("onnxruntime refused a run: ") && error.contains("out of"), "{error}");
}

#[test]
fn groups_may_be_whole_numbers_and_others_go_to_the_pool() {
    if !has_runtime() {
        return;
    }
    let [known, _] = both();
    let known = known.replace(",4,s", ",3,s");
    let (label, group) = (Some("y".to_owned()), Some("code".to_owned()));
    for group_is_feature in [false, true] {
        let roles =
            Roles { label: label.clone(), group: group.clone(), group_is_feature, ..Roles::default() };
        let mut model = trained(&known, "recall @ fpr(code)<=20%", ModelChoice::Linear, json!({}), &roles);
        let (checked, bytes) = run(&model, &known);
        assert_eq!((checked.different.len(), checked.largest), (0, 0.0), "{checked}");
        let graph = Proto::decode(&bytes[..]).unwrap().graph.unwrap();
        let input = graph.input.iter().find(|input| input.name == "code").unwrap();
        assert_eq!(input.as_tensor().unwrap().0, element::INT64);
        // Two codes are no group of their own any more.
        let Decision::Threshold(decision) = &mut model.decision else { panic!("thresholds") };
        let groups = decision.shipped.groups.as_mut().unwrap();
        groups.names[1] = POOL.to_owned();
        groups.names.remove(3);
        decision.shipped.thresholds.remove(3);
        for (place, threshold) in decision.shipped.thresholds.iter_mut().enumerate() {
            *threshold += [0.5, -0.5, 0.25][place];
        }
        // What is no whole number is none either.
        let (checked, _) = run(&model, &known.replacen(",0,s", ",0.5,s", 300));
        assert_eq!((checked.different.len(), checked.largest), (0, 0.0), "{checked}");
        assert_eq!(checked.rows, 2000);
    }
}

#[test]
fn columns_may_be_called_what_the_graph_calls_its_values() {
    if !has_runtime() {
        return;
    }
    let [known, _] = both();
    let strange = known.replacen(
        "age,when,town,code,street,sex,y",
        "/constant_1,/Sub_0,score,decision,/LabelEncoder_2,/Concat_4,y",
        1,
    );
    let roles = Roles {
        group: Some("/Concat_4".to_owned()),
        categorical: vec!["decision".to_owned()],
        ..Roles { label: Some("y".to_owned()), ..Roles::default() }
    };
    let model = trained(&strange, "recall @ fpr(\"/Concat_4\")<=10%", ModelChoice::Linear, json!({}), &roles);
    let (checked, bytes) = run(&model, &strange);
    assert_eq!((checked.different.len(), checked.largest), (0, 0.0), "{checked}");
    let outputs = Proto::decode(&bytes[..]).unwrap().graph.unwrap().output;
    let outputs: Vec<&str> = outputs.iter().map(|output| output.name.as_str()).collect();
    assert_eq!(outputs, ["setpoint.score", "probability", "setpoint.decision"]);
}
