//! Every row of real data sets, where `SETPOINT_DATA` names their folder.

use std::path::PathBuf;

use serde_json::json;
use setpoint_data::{ImageOptions, ImageSet, ReadOptions, Roles, SplitPlan, Table, list};
use setpoint_onnx::{Decided, Rows, check, export};
use setpoint_run::{
    CnnSize, Job, ModelChoice, Schema, hold_images, load_images, opened, split_images, train,
};

use crate::{has_runtime, run_bytes, trained_on};

/// The folder of the data; says so where there is none.
fn folder() -> Option<PathBuf> {
    let folder = std::env::var_os("SETPOINT_DATA").filter(|folder| !folder.is_empty()).map(PathBuf::from);
    if folder.is_none() {
        eprintln!("skipped: SETPOINT_DATA is not set");
    }
    folder.filter(|_| has_runtime())
}

/// Trains small models quickly and runs every row: no decision may differ, and scores of linear models and
/// trees not at all.
fn every_row(name: &str, bytes: &[u8], roles: &Roles, goal: &str) {
    let quick = json!({ "method": "cross-entropy" });
    let mlp = ModelChoice::Mlp { hidden: vec![16], dropout: 0.0 };
    let once = json!({ "method": "cross-entropy", "epochs": 1, "rotations": 1 });
    let mut choices = vec![(ModelChoice::Linear, quick, 0.0), (mlp, once, 1e-5)];
    if setpoint_trees::Library::get().is_ok() {
        choices.push((ModelChoice::Trees { search: Some(1), rounds: Some(20) }, json!({}), 0.0));
    }
    for (choice, settings, most) in choices {
        let table = Table::from_bytes(name, bytes.to_vec(), &ReadOptions::default(), roles, None).unwrap();
        let model = trained_on(table, goal, choice, settings);
        let (checked, graph) = run_bytes(&model, bytes.to_vec());
        println!("{name}, {goal}, {}: {checked}; {} KB", model.document.model, graph.len() / 1024);
        assert!(checked.different.is_empty() && checked.largest <= most, "{name}: {checked}");
    }
}

#[test]
fn satellite_images_of_several_classes() {
    let Some(folder) = folder() else { return };
    let bytes = std::fs::read(folder.join("sat.trn")).unwrap();
    every_row("Satimage", &bytes, &crate::class::roles("37"), "macro-f1");
}

fn labelled(label: &str) -> Roles {
    Roles { label: Some(label.to_owned()), ..Roles::default() }
}

#[test]
fn give_me_some_credit_with_its_missing_values() {
    let Some(folder) = folder() else { return };
    let bytes = std::fs::read(folder.join("give-me-some-credit.csv.gz")).unwrap();
    let roles = Roles { drop: list("id"), ..labelled("SeriousDlqin2yrs") };
    every_row("Give Me Some Credit", &bytes, &roles, "recall @ fpr<=1%");
}

#[test]
fn adult_with_its_categories_by_sex() {
    let Some(folder) = folder() else { return };
    let mut text =
        "age,workclass,fnlwgt,education,years,marital,occupation,relationship,race,sex,gain,loss,hours,\
                    country,income\n"
            .to_owned();
    for file in ["adult.data", "adult.test"] {
        let part = std::fs::read_to_string(folder.join(file)).unwrap();
        let rows = part.lines().filter(|line| line.matches(',').count() == 14);
        rows.for_each(|line| text += &format!("{}\n", line.trim_end_matches('.').replace(", ", ",")));
    }
    let positive = ">50K".parse().unwrap();
    let group = Some("sex".to_owned());
    let roles = Roles { positive, group, group_is_feature: true, ..labelled("income") };
    every_row("Adult", text.as_bytes(), &roles, "recall @ fpr(sex)<=5%");
}

#[test]
fn kdd_with_its_categories() {
    let Some(folder) = folder() else { return };
    let bytes = std::fs::read(folder.join("kddcup.data_10_percent.gz")).unwrap();
    let roles = Roles { positive: "!=normal.".parse().unwrap(), ..labelled("42") };
    every_row("KDD Cup 99", &bytes, &roles, "recall @ fpr<=1%");
}

#[test]
fn protein_homology() {
    let Some(folder) = folder() else { return };
    let bytes = std::fs::read(folder.join("protein-homology.parquet")).unwrap();
    let roles = Roles { drop: list("id"), split_by: Some("query".to_owned()), ..labelled("target") };
    every_row("Protein homology", &bytes, &roles, "recall @ fpr<=1%");
}

#[test]
fn every_face_of_utkface() {
    let Some(folder) = folder() else { return };
    let record = Some("age,gender,race".parse().unwrap());
    let options = ImageOptions { record, ..ImageOptions::default() };
    let set = ImageSet::read(&folder.join("utkface32.bin.gz"), &options).unwrap();
    let task = set.task("gender", &"1".parse().unwrap(), None).unwrap();
    let split: SplitPlan = "train=0.1,validation=0.1,calibration=0.8".parse().unwrap();
    let parts = split_images(&task, &split, 0).unwrap();
    let quick = json!({ "method": "cross-entropy", "epochs": 1, "rotations": 1 });
    let quick = serde_json::from_value(quick).unwrap();
    let choice = ModelChoice::Cnn { size: CnnSize::Small };
    let job = Job::new("recall @ fpr<=5%".parse().unwrap(), choice, &quick, &split, Some(0.9)).unwrap();
    let mut loaded = load_images(&set, &task, &parts, None, None, &job.model).unwrap();
    let file = train(&job, &mut loaded, &mut setpoint::train::Silent, None).unwrap().file;
    let model = opened(&file).unwrap();
    let Schema::Images(schema) = &model.schema else { panic!("images") };
    let all: Vec<u32> = (0..set.rows() as u32).collect();
    let scores =
        model.scorer.scores(&mut hold_images(schema, &model.blueprint, &set, &all).unwrap()).unwrap();
    let decided = Decided::new(&model, scores, None).unwrap();
    let bytes = export(&model, Some(decided.observed())).unwrap();
    let checked = check(&bytes, &Rows::of_images(schema.image, set.pixels()), &decided).unwrap();
    println!("UTKFace, cnn: {checked}; {} KB", bytes.len() / 1024);
    assert!(checked.different.is_empty() && checked.largest <= 1e-5, "{checked}");
}
