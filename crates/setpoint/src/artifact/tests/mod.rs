//! Round trips here; damage, hostile files and disks in files of their own.

use rand::RngExt;
use safetensors::SafeTensors;
use serde_json::{Value, json};

use super::*;
use crate::goal::{AnyGoal, ClassObjective, Goal};
use crate::optimizer::State;

mod disk;
mod hostile;
mod mutation;

/// A model with every field filled and every type of tensor.
fn model() -> ModelFile {
    let goal: Goal = "recall @ fpr(sex)<=2%".parse().unwrap();
    let mut document = Document::new(&goal, "linear", "ico", vec![0.1, -1.5e-7]);
    document.groups = Some(Groups { column: "sex".into(), names: vec!["f".into(), "m\"\\\u{1}é".into()] });
    document.settings.insert("rho".into(), json!(0.1));
    document.settings.insert("correct_every".into(), json!(100));
    document.features =
        json!({"columns": [{"name": "age", "mean": 38.5816, "scale": 13.64}], "deep": [[[{}]]]});
    document.certificate = Some(json!({"condition": "fpr<=2%", "confidence": 0.95}));
    document.data_hash = Some("e3b0c442".into());
    document.seed = u64::MAX;
    document.metrics.entry("test".into()).or_default().insert("recall".into(), 0.1 + 0.2);
    let mut file = ModelFile::new(document);
    let weights = TensorData::F32(vec![1.5, -0.0, f32::MIN_POSITIVE / 2.0, f32::MAX, 3.0, 4.0]);
    file.tensors.insert("weights".into(), Tensor { shape: vec![3, 2], data: weights });
    file.tensors.insert("bias".into(), Tensor { shape: vec![], data: TensorData::F32(vec![0.25]) });
    file.tensors.insert("gain".into(), Tensor::vector(TensorData::F64(vec![std::f64::consts::PI, -0.0])));
    file.tensors.insert("count".into(), Tensor::vector(TensorData::U64(vec![u64::MAX])));
    file.tensors.insert("node".into(), Tensor::vector(TensorData::U32(vec![7, 8, 9])));
    file.tensors.insert("empty".into(), Tensor::vector(TensorData::F32(vec![])));
    file
}

fn checkpoint() -> Checkpoint {
    let state = State::default()
        .with("adam/mean", vec![-0.0, f32::MIN_POSITIVE / 4.0, f32::INFINITY])
        .with("pairs/s", vec![-0.0, f64::MIN_POSITIVE / 8.0, 1.0 / 3.0])
        .with("step", vec![u64::MAX, 0])
        .with("codes", vec![7u32])
        .with("none", Vec::<f32>::new());
    Checkpoint { document: json!({"step": 41, "loss": 0.1}), state }
}

/// Numbers as bits, so that negative zero is not zero.
fn bits(data: &TensorData) -> Vec<u64> {
    match data {
        TensorData::F32(values) => values.iter().map(|value| value.to_bits().into()).collect(),
        TensorData::F64(values) => values.iter().map(|value| value.to_bits()).collect(),
        TensorData::U64(values) => values.clone(),
        TensorData::U32(values) => values.iter().map(|&value| value.into()).collect(),
    }
}

fn kind_of<T: std::fmt::Debug>(result: Result<T, ArtifactError>) -> ArtifactErrorKind {
    result.unwrap_err().kind
}

#[test]
fn a_model_comes_back_to_the_last_bit() {
    let file = model();
    let back = ModelFile::from_bytes(&file.to_bytes().unwrap()).unwrap();
    assert_eq!(back, file);
    for (name, tensor) in &file.tensors {
        assert_eq!(bits(&back.tensors[name].data), bits(&tensor.data), "{name}");
    }
    assert!(
        matches!(back.document.parse_goal().unwrap(), AnyGoal::Two(goal) if goal.column() == Some("sex"))
    );
}

#[test]
fn numbers_of_the_document_come_back_to_the_last_bit() {
    let mut file = model();
    let mut random = mutation::random();
    for _ in 0..2000 {
        let threshold = f32::from_bits(random.random());
        let metric = f64::from_bits(random.random());
        if !threshold.is_finite() || !metric.is_finite() {
            continue;
        }
        file.document.thresholds[0] = threshold;
        file.document.metrics.entry("test".into()).or_default().insert("recall".into(), metric);
        file.document.settings.insert("rho".into(), json!(metric));
        let back = ModelFile::from_bytes(&file.to_bytes().unwrap()).unwrap().document;
        assert_eq!(back.thresholds[0].to_bits(), threshold.to_bits(), "{threshold:e}");
        assert_eq!(back.metrics["test"]["recall"].to_bits(), metric.to_bits(), "{metric:e}");
        assert_eq!(back.settings["rho"].as_f64().unwrap().to_bits(), metric.to_bits(), "{metric:e}");
    }
}

#[test]
fn the_same_content_gives_the_same_bytes_in_whatever_order_it_was_made() {
    let file = model();
    let mut other = ModelFile::new(file.document.clone());
    for (name, tensor) in file.tensors.iter().rev() {
        other.tensors.insert(name.clone(), tensor.clone());
    }
    other.document.settings = file.document.settings.clone().into_iter().rev().collect();
    other.document.features = json!({"deep": [[[{}]]], "columns": file.document.features["columns"]});
    assert_eq!(other.to_bytes().unwrap(), file.to_bytes().unwrap());
    assert_eq!(checkpoint().to_bytes().unwrap(), checkpoint().to_bytes().unwrap());
}

#[test]
fn a_checkpoint_comes_back_to_the_last_bit() {
    let checkpoint = checkpoint();
    let back = Checkpoint::from_bytes(&checkpoint.to_bytes().unwrap()).unwrap();
    assert_eq!(back, checkpoint);
    for (entry, values) in &checkpoint.state.entries {
        assert_eq!(bits(&back.state.entries[entry]), bits(values), "{entry}");
    }
}

#[test]
fn other_programs_can_read_the_weights() {
    let bytes = model().to_bytes().unwrap();
    let tensors = SafeTensors::deserialize(&bytes).unwrap();
    assert_eq!(tensors.len(), 6);
    let weights = tensors.tensor("weights").unwrap();
    assert_eq!((weights.dtype(), weights.shape()), (safetensors::Dtype::F32, &[3, 2][..]));
    assert_eq!(weights.data()[..4], 1.5_f32.to_le_bytes());
    // The document is JSON in JSON, beside nothing else.
    let (_, header) = SafeTensors::read_metadata(&bytes).unwrap();
    let metadata = header.metadata().as_ref().unwrap();
    assert_eq!(metadata.len(), 1);
    let envelope: Value = serde_json::from_str(&metadata["setpoint"]).unwrap();
    assert_eq!(envelope["document"]["goal"], "recall @ fpr(sex)<=2%");
}

#[test]
fn a_tensor_is_handed_out_only_with_the_type_and_shape_asked_for() {
    let file = model();
    assert_eq!(file.tensor::<f32>("bias", &[]).unwrap(), [0.25]);
    assert_eq!(file.tensor::<u32>("node", &[3]).unwrap(), [7, 8, 9]);
    assert_eq!(file.tensor::<u64>("count", &[1]).unwrap(), [u64::MAX]);
    assert_eq!(file.tensor::<f64>("gain", &[2]).unwrap()[0], std::f64::consts::PI);
    let message = |result: Result<&[f32], ArtifactError>| result.unwrap_err().to_string();
    assert_eq!(
        message(file.tensor::<f32>("weights", &[6])),
        "tensor \"weights\": expected F32 [6], found F32 [3, 2]"
    );
    assert_eq!(message(file.tensor::<f32>("gain", &[2])), "tensor \"gain\": expected F32 [2], found F64 [2]");
    assert!(
        message(file.tensor::<f32>("wieghts", &[6]))
            .starts_with("there is no tensor \"wieghts\"; there are: ")
    );
}

#[test]
fn a_decision_among_classes_comes_back_with_its_goal() {
    let decided = |goal: &str, names: &[&str], shifts: &[f64], costs: &[f64]| {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        let decision = Decision::Classes { names, shifts: shifts.to_vec(), costs: costs.to_vec() };
        let document = Document::new(&goal, "linear", "auto", Vec::new()).with_decision(decision);
        ModelFile { document, ..model() }.to_bytes().map_err(|error| error.to_string())
    };
    let names = ["a", "T shirt", "c"];
    let bytes = decided("recall(\"T shirt\") @ precision(\"T shirt\")>=0.9", &names, &[0.5, -0.25, 0.1], &[]);
    let back = ModelFile::from_bytes(&bytes.unwrap()).unwrap().document;
    assert!(back.format == 2 && back.thresholds.is_empty());
    assert!(matches!(back.parse_goal().unwrap(), AnyGoal::Classes(goal) if goal.classes == names));
    let costs = [0.0, 1.0, 2.0, 3.0, 0.0, 5.0, 6.0, 7.0, 0.0];
    let back = ModelFile::from_bytes(&decided("cost(c.csv)", &names, &[0.0; 3], &costs).unwrap()).unwrap();
    let AnyGoal::Classes(goal) = back.document.parse_goal().unwrap() else { panic!("of classes") };
    assert!(matches!(goal.objective, ClassObjective::Cost { table, .. } if table == costs));
    for (goal, names, shifts, costs, said) in [
        ("recall @ fpr<=1%", &names[..], &[0.0; 3][..], &[][..], "recall is of one class here"),
        ("accuracy", &names[..], &[0.0; 2][..], &[][..], "2 shifts for 3 classes"),
        ("accuracy", &["a", "a"][..], &[0.0; 2][..], &[][..], "\"a\" is named twice"),
        ("accuracy", &names[..], &[0.0, f64::NAN, 0.0][..], &[][..], "the list of shifts holds NaN"),
        ("cost(c.csv)", &names[..], &[0.0; 3][..], &costs[..4], "9 finite numbers"),
    ] {
        let error = decided(goal, names, shifts, costs).unwrap_err();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn an_order_within_queries_comes_back_with_its_goal() {
    let decided = |goal: &str, empty: &str| {
        let decision = Decision::Queries { column: Some("session".to_owned()), empty: empty.to_owned() };
        let document = Document::new(&goal, "linear", "auto", Vec::new()).with_decision(decision);
        ModelFile { document, ..model() }.to_bytes().map_err(|error| error.to_string())
    };
    let back = ModelFile::from_bytes(&decided("ndcg @ k=10 per query", "skip").unwrap()).unwrap().document;
    assert!(matches!(back.parse_goal().unwrap(), AnyGoal::Queries(goal) if goal.places(100) == 10));
    assert!(decided("ndcg @ k=10 per query", "2").unwrap_err().contains("count \"2\""));
    assert!(decided("recall @ fpr<=1%", "0").is_err());
    let document = Document::new(&"ndcg @ k=10 per query", "linear", "auto", vec![0.0]);
    assert!(ModelFile { document, ..model() }.to_bytes().is_err(), "a goal per query has no threshold");
}

#[test]
fn models_of_several_labels_come_back_by_name_and_one_alone_is_asked_for() {
    let mut other = model();
    other.tensors.insert("a/b".into(), Tensor::vector(TensorData::F32(vec![1.0])));
    let models = Models::Labels(vec![("fraud".into(), model()), ("a/b".into(), other.clone())]);
    let bytes = models.to_bytes().unwrap();
    let read = Models::from_bytes(&bytes).unwrap();
    assert_eq!((read.to_bytes().unwrap(), &read), (bytes.clone(), &models));
    assert_eq!(read.clone().of_label(Some("a/b")).unwrap(), other);
    let said = |label| read.clone().of_label(label).unwrap_err().to_string();
    assert_eq!(
        said(None),
        "it holds a model for each of the labels \"fraud\", \"a/b\"; name one of them (‹label›)"
    );
    assert!(said(Some("b")).starts_with("no label \"b\": it holds"));
    assert!(matches!(kind_of(ModelFile::from_bytes(&bytes)), ArtifactErrorKind::SeveralLabels { .. }));
    // A file of one model is that one, whatever label is named.
    let one = Models::from_bytes(&model().to_bytes().unwrap()).unwrap();
    assert_eq!(one.of_label(Some("any")).unwrap(), model());
    for (labels, said) in [
        (vec![("a".to_owned(), model())], "1 labels; expected 2 to 1024"),
        (vec![("a".to_owned(), model()), ("a".to_owned(), model())], "label \"a\" is there twice"),
    ] {
        assert!(Models::Labels(labels).to_bytes().unwrap_err().to_string().contains(said));
    }
}

#[test]
fn what_could_not_be_loaded_is_not_saved() {
    let refused = |change: fn(&mut ModelFile)| {
        let mut file = model();
        change(&mut file);
        file.to_bytes().unwrap_err().to_string()
    };
    assert_eq!(
        refused(|file| file.document.thresholds[1] = f32::NAN),
        "the list of thresholds holds NaN at position 1; only finite numbers can be stored"
    );
    assert_eq!(
        refused(|file| file.document.thresholds.clear()),
        "there are no thresholds; a model has at least one"
    );
    assert_eq!(
        refused(|file| file.document.thresholds.push(1.0)),
        "3 thresholds for 2 groups; there must be one for each"
    );
    assert_eq!(
        refused(|file| file.document.groups.as_mut().unwrap().names[1] = "f".into()),
        "group \"f\" is named twice"
    );
    assert!(refused(|file| file.document.goal = "recal".into()).starts_with("goal \"recal\": "));
    assert!(refused(|file| file.document.goal = "f1 ".repeat(10_000)).contains("longer than"));
    assert!(refused(|file| file.document.format = 2).contains("thresholds with format 1"));
    assert!(
        refused(|file| {
            file.document.metrics.entry("test".into()).or_default().insert("x".into(), f64::INFINITY);
        })
        .contains("metrics of \"test\" holds inf at position 1")
    );
    assert_eq!(
        refused(|file| {
            file.tensors.insert("w".into(), Tensor::vector(TensorData::F32(vec![0.0, f32::NEG_INFINITY])));
        }),
        "tensor \"w\" holds -inf at position 1; only finite numbers can be stored"
    );
    assert_eq!(
        refused(|file| {
            file.tensors.insert("w".into(), Tensor { shape: vec![2, 2], data: TensorData::F32(vec![0.0]) });
        }),
        "tensor \"w\": shape [2, 2] does not fit 1 numbers"
    );
    for shape in [vec![usize::MAX, 2], vec![1; 9]] {
        let mut file = model();
        file.tensors.insert("w".into(), Tensor { shape, data: TensorData::F32(vec![0.0]) });
        assert!(matches!(kind_of(file.to_bytes()), ArtifactErrorKind::Tensor { .. }));
    }
    assert!(
        refused(|file| {
            file.tensors.insert("__metadata__".into(), Tensor::vector(TensorData::U32(vec![])));
        })
        .contains("taken by the format")
    );
    let deep = (0..200).fold(Value::Null, |inner, _| json!([inner]));
    let mut file = model();
    file.document.features = deep.clone();
    assert!(matches!(kind_of(file.to_bytes()), ArtifactErrorKind::Document { .. }));
    let mut file = checkpoint();
    file.document = deep;
    assert!(matches!(kind_of(file.to_bytes()), ArtifactErrorKind::Document { .. }));
}

#[test]
fn a_model_and_a_checkpoint_are_not_taken_for_each_other() {
    let error = ModelFile::from_bytes(&checkpoint().to_bytes().unwrap()).unwrap_err();
    assert_eq!(error.to_string(), "this is a training checkpoint, not a model");
    let error = Checkpoint::from_bytes(&model().to_bytes().unwrap()).unwrap_err();
    assert_eq!(error.to_string(), "this is a model, not a training checkpoint");
}
