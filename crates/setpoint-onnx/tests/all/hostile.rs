//! Files that are no models, or nearly: an error or a graph, and never a panic.

use prost::Message;
use setpoint::artifact::Groups;
use setpoint_onnx::proto::{Entry, Graph, Model, Node, OperatorSet, Tensor, Value, element};
use setpoint_onnx::{Classifier, Decision};

use crate::Random;

/// A classifier of two columns with something of everything.
fn classifier() -> Model {
    let node = |op: &str, input: &[&str], output: &str| Node {
        input: input.iter().map(|name| (*name).to_owned()).collect(),
        output: vec![output.to_owned()],
        op_type: op.to_owned(),
        ..Node::default()
    };
    let graph = Graph {
        node: vec![
            node("MatMul", &["x", "w"], "m"),
            node("Sigmoid", &["m"], "p"),
            node("ZipMap", &["p"], "map"),
        ],
        initializer: vec![Tensor {
            dims: vec![2, 1],
            data_type: element::FLOAT,
            name: "w".to_owned(),
            raw_data: vec![0; 8],
        }],
        input: vec![Value::tensor("x", element::FLOAT, &[None, Some(2)])],
        output: vec![
            Value::tensor("p", element::FLOAT, &[None, Some(1)]),
            Value { name: "map".to_owned(), kind: None },
        ],
        ..Graph::default()
    };
    Model {
        ir_version: 8,
        graph: Some(graph),
        opset_import: vec![OperatorSet { domain: String::new(), version: 17 }],
        metadata_props: vec![Entry { key: "setpoint.goal".to_owned(), value: "mine".to_owned() }],
        ..Model::default()
    }
}

/// All that is done with the bytes of a file besides running it.
fn handle(bytes: &[u8]) -> Result<Vec<u8>, setpoint_run::Failure> {
    let classifier = Classifier::new(bytes.to_vec(), Some("p"))?;
    let (_, _, _) = (classifier.inputs(), classifier.texts(), classifier.exposed());
    let groups = Groups { column: "site".to_owned(), names: vec!["a".to_owned(), "b".to_owned()] };
    let metadata = [("setpoint.goal", "fpr<=1%".to_owned())];
    let thresholds = &[0.5, 0.25][..];
    let decision = Decision { thresholds, groups: Some(&groups), columns: 2, metadata: &metadata };
    Ok(classifier.decided(&decision)?.0)
}

#[test]
fn damaged_files_are_refused_or_read_and_never_a_panic() {
    let whole = classifier().encode_to_vec();
    assert!(handle(&whole).unwrap().starts_with(&whole));
    for length in 0..whole.len() {
        let _ = handle(&whole[..length]);
    }
    let mut random = Random(11);
    let mut read = 0;
    for _ in 0..20_000 {
        let mut bytes = whole.clone();
        for _ in 0..=(random.draw() * 4.0) as usize {
            let at = (random.draw() * bytes.len() as f64) as usize;
            bytes[at] = (random.draw() * 256.0) as u8;
        }
        match handle(&bytes) {
            Ok(_) => read += 1,
            Err(failure) => assert!(!failure.message.is_empty()),
        }
    }
    // Some of both, or nothing was tested.
    assert!((1000..19_000).contains(&read), "{read}");
}

#[test]
fn what_the_file_has_is_not_said_twice_and_what_it_lacks_is_added() {
    let mut model = classifier();
    model.opset_import = vec![OperatorSet { domain: "ai.onnx.ml".to_owned(), version: 3 }];
    let written = Model::decode(&handle(&model.encode_to_vec()).unwrap()[..]).unwrap();
    let sets: Vec<&str> = written.opset_import.iter().map(|set| set.domain.as_str()).collect();
    assert_eq!(sets, ["ai.onnx.ml", ""]);
    let keys: Vec<&str> = written.metadata_props.iter().map(|entry| entry.key.as_str()).collect();
    assert_eq!(keys, ["setpoint.goal", "setpoint.setpoint.goal"]);
    model.graph.as_mut().unwrap().node[0].output[0] = "site".to_owned();
    let error = handle(&model.encode_to_vec()).unwrap_err().message;
    assert!(error.contains("column \"site\" cannot be an input of the model"), "{error}");
    model.opset_import[0] = OperatorSet { domain: String::new(), version: 8 };
    let error = handle(&model.encode_to_vec()).unwrap_err().message;
    assert!(error.contains("version 8 of ONNX's operators") && error.contains("target_opset"), "{error}");
}
