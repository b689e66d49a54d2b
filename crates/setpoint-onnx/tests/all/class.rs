//! Models of several classes: the class by name, of equal ones the first.

use prost::Message;
use serde_json::json;
use setpoint_data::{ClassOptions, Roles, Several};
use setpoint_onnx::proto::{Model as Proto, element};
use setpoint_onnx::{Decided, Rows, check, export};
use setpoint_run::{Decision, ModelChoice, Opened, Schema, opened};

use crate::{Random, both, decided, has_runtime, image, run, trained};

/// The roles of a label of several classes.
pub fn roles(label: &str) -> Roles {
    let classes = ClassOptions { when: Several::IfMore, ..ClassOptions::default() };
    Roles { label: Some(label.to_owned()), classes, ..Roles::default() }
}

/// The table of two classes with a third among the positives.
fn of_three(text: &str) -> String {
    let mut random = Random(13);
    let mut of_line = |line: &str| match line.rsplit_once(',') {
        Some((start, "1")) => format!("{start},{}\n", if random.draw() < 0.4 { "T shirt" } else { "bag" }),
        Some((start, "0")) => format!("{start},coat\n"),
        _ => format!("{line}\n"),
    };
    text.lines().map(&mut of_line).collect()
}

fn models(text: &str) -> Vec<(f64, Opened)> {
    let mlp = ModelChoice::Mlp { hidden: vec![16, 8], dropout: 0.1 };
    let mut choices = vec![(0.0, ModelChoice::Linear, json!({})), (1e-5, mlp, json!({ "epochs": 3 }))];
    if setpoint_trees::Library::get().is_ok() {
        choices.push((0.0, ModelChoice::Trees { search: Some(1), rounds: Some(20) }, json!({})));
    }
    let roles = Roles { categorical: vec!["code".to_owned()], ..roles("y") };
    let train = |(most, choice, settings)| (most, trained(text, "macro-f1", choice, settings, &roles));
    choices.into_iter().map(train).collect()
}

#[test]
fn every_row_gets_the_class_that_setpoint_gives_it() {
    if !has_runtime() {
        return;
    }
    let [known, new] = both().map(|text| of_three(&text));
    for (most, model) in models(&known) {
        for text in [&known, &new] {
            let (checked, bytes) = run(&model, text);
            let name = &model.document.model;
            assert!(checked.different.is_empty() && checked.largest <= most, "{name}: {checked}");
            let file = Proto::decode(&bytes[..]).unwrap();
            let outputs: Vec<_> = file.graph.unwrap().output;
            let outputs = outputs.iter().map(|one| (one.name.as_str(), one.as_tensor().unwrap()));
            let sizes = |columns| Some(vec![None, Some(columns)]);
            assert!(outputs.eq([
                ("score", (element::FLOAT, sizes(3))),
                ("probability", (element::FLOAT, sizes(3))),
                ("decision", (element::STRING, sizes(1))),
            ]));
            let entry = |key: &str| {
                let found = file.metadata_props.iter().find(|entry| entry.key == key);
                found.map(|entry| serde_json::from_str::<serde_json::Value>(&entry.value).unwrap())
            };
            assert_eq!(entry("setpoint.classes"), Some(json!(["T shirt", "bag", "coat"])));
            let Decision::Shift(decision) = &model.decision else { panic!("classes") };
            assert_eq!(entry("setpoint.shifts"), Some(json!(decision.shifts)));
            assert_eq!(entry("setpoint.thresholds"), None);
        }
    }
}

#[test]
fn of_equal_margins_the_first_is_decided_and_a_moved_shift_is_found_out() {
    if !has_runtime() {
        return;
    }
    // A model that knows only categories: few different rows.
    let mut random = Random(3);
    let mut text = "town,y\n".to_owned();
    for _ in 0..3000 {
        let (town, class) = ((4.0 * random.draw()) as usize, (7.0 * random.draw().powi(2)) as usize);
        text += &format!("t{town},class {class}\n");
    }
    let mut model = trained(&text, "macro-f1", ModelChoice::Linear, json!({}), &roles("y"));
    let (_, own) = decided(&model, text.clone().into());
    let count = model.decision.outputs();
    assert_eq!(count, 7);
    // By the scores of the row in question all are equal, or all but some; which is the first differs.
    for row in 0..6 {
        for smaller in 0..count {
            let scores = own.scores[count * row..][..count].iter().map(|score| f64::from(*score));
            let raised =
                scores.enumerate().map(|(class, score)| score + f64::from(u8::from(class < smaller)));
            let Decision::Shift(decision) = &mut model.decision else { panic!("classes") };
            decision.shifts = raised.collect();
            let (rows, now) = decided(&model, text.clone().into());
            let setpoint_run::Decisions::Class { of, .. } = &now.decisions else { panic!("classes") };
            assert_eq!(of[row] as usize, smaller);
            let bytes = export(&model, None).unwrap();
            let checked = check(&bytes, &rows, &now).unwrap();
            assert_eq!((checked.different.len(), checked.largest), (0, 0.0), "{checked}");
            // The graph of other shifts decides some row otherwise.
            let Decision::Shift(decision) = &mut model.decision else { panic!("classes") };
            decision.shifts[smaller] += 1e-9;
            let checked = check(&export(&model, None).unwrap(), &rows, &now).unwrap();
            assert_eq!(checked.different.contains(&row), smaller + 1 < count, "{checked}");
        }
    }
}

#[test]
fn sparse_rows_have_several_scores() {
    if !has_runtime() {
        return;
    }
    let mut random = Random(3);
    let mut line = || {
        let (x, z) = (random.draw() - 0.5, random.draw() - 0.5);
        let class = 1 + (3.0 * (0.7 * (x + 0.5) + 0.3 * random.draw())) as usize;
        if z > 0.0 { format!("{class} 1:{x:.5} 5:{z:.5}\n") } else { format!("{class} 2:{z:.5} 7:{x:.5}\n") }
    };
    let text: String = (0..2000).map(|_| line()).collect();
    let roles = Roles { label: None, ..roles("") };
    let mlp = ModelChoice::Mlp { hidden: vec![8], dropout: 0.0 };
    for (choice, settings) in [(ModelChoice::Linear, json!({})), (mlp, json!({ "epochs": 2 }))] {
        let model = trained(&text, "macro-f1", choice, settings, &roles);
        let (checked, _) = run(&model, &text);
        assert!(checked.different.is_empty() && checked.largest < 1e-5, "{checked}");
    }
}

#[test]
fn images_of_several_classes_are_decided_the_same() {
    if !has_runtime() {
        return;
    }
    let architecture = setpoint::model::Architecture::cnn_small(9, 12, 3).with_outputs(4);
    let (mut file, pixels) = image::made_up(&architecture);
    let names: Vec<String> = ["a", "b", "c", "d"].map(str::to_owned).to_vec();
    file.document.goal = "macro-f1".to_owned();
    let (shifts, costs) = (vec![0.0; 4], Vec::new());
    let decision = setpoint::artifact::Decision::Classes { names: names.clone(), shifts, costs };
    file.document = file.document.clone().with_decision(decision);
    file.document.features["label"] =
        json!({ "column": "y", "position": 0, "rule": { "classes": { "names": names } } });
    let mut model = opened(&file).unwrap();
    let scores = image::scores(&model, &pixels);
    // Right at a row, as shifts are.
    let Decision::Shift(decision) = &mut model.decision else { panic!("classes") };
    decision.shifts = scores[4 * 7..][..4].iter().map(|score| f64::from(*score)).collect();
    let decided = Decided::new(&model, scores, None).unwrap();
    let bytes = export(&model, Some(decided.observed())).unwrap();
    let Schema::Images(schema) = &model.schema else { panic!("images") };
    let checked = check(&bytes, &Rows::of_images(schema.image, &pixels), &decided).unwrap();
    assert!(checked.different.is_empty() && checked.largest < 1e-5, "{checked}");
}
