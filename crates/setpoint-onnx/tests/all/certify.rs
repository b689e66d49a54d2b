//! A certified decision behind a graph: of this crate, or of anyone's.

use prost::Message;
use serde_json::json;
use setpoint::artifact::Groups;
use setpoint_data::{ReadOptions, Roles, Table};
use setpoint_onnx::proto::{Graph, Model, Node, OperatorSet, Value, element};
use setpoint_onnx::{Classifier, Decided, Decision, Rows, check, export};
use setpoint_run::{Asked, Decisions, ModelChoice, Opened, certify};

use crate::{Random, both, has_runtime, roles, trained};

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
        let of_groups = Groups { column: "sex".to_owned(), names: certified.by_rank.groups.clone() };
        let groups_of = asked.column().map(|_| &of_groups);
        let thresholds = &certified.thresholds[..];
        let metadata = [("setpoint.goal", goal.to_owned())];
        let (decided, _) = classifier
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
        let decisions = Decisions::Positive(decisions);
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

#[test]
fn a_column_of_numbers_that_a_graph_takes_may_tell_the_groups() {
    if !has_runtime() {
        return;
    }
    let (mut random, mut text) = (Random(4), "a,site,y\n".to_owned());
    for row in 0..3000 {
        let positive = random.draw() < 0.3;
        let a = random.draw() + if positive { 0.7 } else { 0.0 };
        text += &format!("{a:.4},{},{}\n", [-2, 7, 3_000_000][row % 3], u8::from(positive));
    }
    let (label, group) = (Some("y".to_owned()), Some("site".to_owned()));
    let roles = Roles { label, group, group_is_feature: true, ..Roles::default() };
    let table = Table::from_bytes("t", text.into(), &ReadOptions::default(), &roles, None).unwrap();
    let (rows, groups) = (Rows::of_table(&table), table.groups().unwrap());
    let sample = setpoint::Sample::new(table.labels().unwrap().to_vec()).unwrap();
    let sample = sample.with_groups("site", groups.names.clone(), groups.of.clone()).unwrap();
    for kind in [element::FLOAT, element::DOUBLE] {
        let sum = Node {
            input: vec!["a".to_owned(), "site".to_owned()],
            output: vec!["s".to_owned()],
            op_type: "Add".to_owned(),
            ..Node::default()
        };
        let value = |name: &str| Value::tensor(name, kind, &[None, Some(1)]);
        let (input, output) = (vec![value("a"), value("site")], vec![value("s")]);
        let graph = Graph { node: vec![sum], name: "sum".to_owned(), input, output, ..Graph::default() };
        let opset_import = vec![OperatorSet { domain: String::new(), version: 11 }];
        let model = Model { ir_version: 7, graph: Some(graph), opset_import, ..Model::default() };
        let classifier = Classifier::new(model.encode_to_vec(), None).unwrap();
        let (scores, columns) = classifier.scores(&rows).unwrap();
        let certified = certify(&Asked::new("fpr(site)<=20%").unwrap(), &sample, &scores, 0.9).unwrap();
        let thresholds = &certified.thresholds[..];
        let known = Groups { column: "site".to_owned(), names: certified.by_rank.groups.clone() };
        let decision = Decision { thresholds, groups: Some(&known), columns, metadata: &[] };
        let (decided, name) = classifier.decided(&decision).unwrap();
        assert_eq!(name, "decision");
        let place = |name: &String| known.names.iter().position(|other| other == name).unwrap();
        let of = |row: usize| thresholds[place(&groups.names[groups.of[row] as usize])];
        let decisions: Vec<bool> = scores.iter().enumerate().map(|(row, score)| *score >= of(row)).collect();
        let positive = decisions.iter().filter(|decision| **decision).count();
        assert!((300..2000).contains(&positive), "{positive}");
        let scores = scores.iter().map(|score| *score as f32).collect();
        let decisions = Decisions::Positive(decisions);
        let checked = check(&decided, &rows, &Decided { scores, of: None, decisions }).unwrap();
        assert!(checked.different.is_empty(), "{checked}");
    }
}
