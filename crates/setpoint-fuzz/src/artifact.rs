//! Files of our own: models, checkpoints, states of a watch.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::Deserialize;
use serde_json::{Value, json};
use setpoint::artifact::{Checkpoint, ModelFile, Models};
use setpoint::{Sample, message};
use setpoint_data::{Encoder, Inputs, ReadOptions, Roles, Table};
use setpoint_run::{Opened, Schema, opened};
use sha2::{Digest, Sha256};

#[derive(Deserialize)]
struct Entry {
    dtype: String,
    shape: Vec<u64>,
    data_offsets: [usize; 2],
}

/// The file of a document, the entries of a header and data, which the input has with a zero byte between them: the
/// checksum is right, so that what comes behind it is reached. Other inputs are files as they are.
fn composed(key: &str, input: &[u8]) -> Vec<u8> {
    let mut parts = input.splitn(3, |byte| *byte == 0);
    let text = |part: Option<&[u8]>| part.and_then(|part| String::from_utf8(part.to_vec()).ok());
    let (Some(document), Some(entries), Some(data)) = (text(parts.next()), text(parts.next()), parts.next())
    else {
        return input.to_vec();
    };
    let document = document.trim_matches([' ', '\t', '\n', '\r']);
    let places: BTreeMap<String, Entry> = serde_json::from_str(&entries).unwrap_or_default();
    let mut digest = Sha256::new();
    let number = |digest: &mut Sha256, number: u64| digest.update(number.to_le_bytes());
    let text = |digest: &mut Sha256, text: &str| {
        digest.update((text.len() as u64).to_le_bytes());
        digest.update(text);
    };
    text(&mut digest, document);
    for (name, Entry { dtype, shape, data_offsets: [from, to] }) in &places {
        text(&mut digest, name);
        text(&mut digest, dtype);
        number(&mut digest, shape.len() as u64);
        shape.iter().for_each(|length| number(&mut digest, *length));
        digest.update(Sha256::digest(data.get(*from..*to).unwrap_or_default()));
    }
    let sha256: String = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    let envelope = format!("{{\"sha256\":\"{sha256}\",\"document\":{document}}}");
    let inner = entries.trim().trim_start_matches('{').trim_end_matches('}');
    let comma = if inner.trim().is_empty() { "" } else { "," };
    let header = format!("{{\"__metadata__\":{}{comma}{inner}}}", json!({ key: envelope }));
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

/// A model file: opened, used, written again and exported.
///
/// # Panics
/// If what was read cannot be written, or is read as another.
pub fn model(bytes: &[u8]) {
    let Ok(models) = Models::from_bytes(&composed("setpoint", bytes)) else { return };
    let written = models.to_bytes().expect("what was read can be written");
    assert_eq!(Models::from_bytes(&written).expect("and read"), models);
    let files = match models {
        Models::One(file) => vec![*file],
        Models::Labels(files) => files.into_iter().map(|(_, file)| file).collect(),
    };
    for file in files {
        let Ok(model) = opened(&file) else { continue };
        if let Schema::Table(encoder) = &model.schema {
            score(&model, encoder);
        }
        let _ = setpoint_onnx::export(&model, None);
    }
}

/// Scores three rows: of nothing, of numbers and of words.
fn score(model: &Opened, encoder: &Encoder) {
    let bytes = match &encoder.inputs {
        Inputs::Table(inputs) => {
            let names: Vec<String> = inputs.iter().map(|input| message::quote(&input.name)).collect();
            let row = |value: &str| vec![value; names.len()].join(",");
            [names.join(","), row(""), row("1"), row("a b")].join("\n")
        }
        Inputs::Sparse { .. } => "1 1:2 3:4\n0 2:1\n0\n".to_owned(),
    };
    let table =
        Table::from_bytes("t", bytes.into_bytes(), &ReadOptions::default(), &Roles::default(), Some(encoder));
    if let Ok(table) = table
        && let Ok(data) = encoder.encode(table)
        && let Ok(scores) = model.scores(data.features)
    {
        let _ = model.predict(&scores, None);
    }
}

/// A checkpoint of training.
///
/// # Panics
/// If what was read cannot be written, or is read as another.
pub fn checkpoint(bytes: &[u8]) {
    if let Ok(checkpoint) = Checkpoint::from_bytes(&composed("setpoint-checkpoint", bytes)) {
        let written = checkpoint.to_bytes().expect("what was read can be written");
        assert_eq!(Checkpoint::from_bytes(&written).expect("and read"), checkpoint);
        let _ = setpoint_cli::check_checkpoint(checkpoint);
    }
}

/// The state of a watch over a model that is known, to which rows are then added.
///
/// # Panics
/// If the state cannot be kept, or does not come back.
pub fn monitor(bytes: &[u8]) {
    static MODEL: OnceLock<(ModelFile, Opened)> = OnceLock::new();
    let (file, model) = MODEL.get_or_init(|| {
        let file = ModelFile::from_bytes(include_bytes!("watched.safetensors")).expect("a sound model");
        let model = opened(&file).expect("a sound model");
        (file, model)
    });
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(mut monitor) = setpoint_run::resume(text, file, model, None) else { return };
    let _ = setpoint_run::monitor_record(&monitor, model);
    let scores: Vec<f32> = (-20..20).map(|score| score as f32 / 4.0).collect();
    let labels = (0..40).map(|row| row % 3 == 0).collect();
    let Ok(sample) = Sample::new(labels) else { return };
    let _ = setpoint_run::add(&mut monitor, model, &sample, &scores);
    let _ = setpoint_run::add_unlabelled(&mut monitor, model, &scores, None);
    let _ = setpoint_run::monitor_record(&monitor, model);
    let _ = (monitor.alarmed(), monitor.hinted());
    let kept = serde_json::to_value(&monitor).expect("a state can be kept");
    let again: Value = serde_json::from_str(&kept.to_string()).expect("and read");
    assert_eq!(kept, again);
    assert!(setpoint_run::resume(&kept.to_string(), file, model, None).is_ok());
}
