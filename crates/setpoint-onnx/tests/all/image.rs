//! Networks for images, with weights made up.

use serde_json::json;
use setpoint::artifact::{Document, ModelFile, Tensor, TensorData};
use setpoint::model::Architecture;
use setpoint::model::net::InputShape;
use setpoint_data::ImageShape;
use setpoint_onnx::{Decided, Rows, check, export};
use setpoint_run::{Decision, Opened, Schema, opened};

use crate::{Random, has_runtime};

/// A model that averages two networks, and pixels of fifty images.
pub fn made_up(architecture: &Architecture) -> (ModelFile, Vec<u8>) {
    let InputShape::Image { height, width, channels } = architecture.input else { panic!("images") };
    let mut random = Random(5);
    let mut document = Document::new(&"recall @ fpr<=10%", "cnn", "ico", vec![0.25]);
    document.settings.insert("architecture".to_owned(), serde_json::to_value(architecture).unwrap());
    document.features = json!({
        "image": [height, width, channels], "crop": null,
        "mean": vec![100.0; channels], "scale": vec![0.02; channels],
        "label": { "column": "y", "position": 0, "rule": { "pair": { "positive": "1", "negative": "0" } } },
    });
    let mut file = ModelFile::new(document);
    let mut put = |name: &str, data| file.tensors.insert(name.to_owned(), Tensor::vector(data));
    put("member-weights", TensorData::F64(vec![0.7, -0.3]));
    put("member-shifts", TensorData::F64(vec![0.1, 0.2]));
    let count = architecture.parameter_count().unwrap();
    for member in ["member-0", "member-1"] {
        // All numbers positive, so that variances are.
        put(member, TensorData::F32((0..count).map(|_| (random.draw() * 0.2 + 0.01) as f32).collect()));
    }
    let pixels = (0..50 * height * width * channels).map(|_| (random.draw() * 256.0) as u8).collect();
    (file, pixels)
}

/// Setpoint's own scores of images.
pub fn scores(model: &Opened, pixels: &[u8]) -> Vec<f32> {
    let Schema::Images(schema) = &model.schema else { panic!("images") };
    let [height, width, channels] = schema.image;
    let images = schema.images(pixels.to_vec(), ImageShape { height, width, channels }).unwrap();
    model.scorer.scores(&mut model.blueprint.hold_images(images).unwrap()).unwrap()
}

#[test]
fn convolutions_batch_norm_and_averages_decide_the_same() {
    if !has_runtime() {
        return;
    }
    for architecture in [Architecture::cnn_small(9, 12, 3), Architecture::cnn(17, 17, 1)] {
        let (file, pixels) = made_up(&architecture);
        let mut model = opened(&file).unwrap();
        let scores = scores(&model, &pixels);
        // Right at a score, as thresholds are.
        let Decision::Threshold(decision) = &mut model.decision else { panic!("one threshold") };
        decision.shipped.thresholds = vec![scores[7]];
        let decided = Decided::new(&model, scores, None).unwrap();
        let bytes = export(&model, Some(decided.observed())).unwrap();
        let Schema::Images(schema) = &model.schema else { panic!("images") };
        let checked = check(&bytes, &Rows::of_images(schema.image, &pixels), &decided).unwrap();
        assert!(checked.different.is_empty() && checked.largest < 1e-5, "{checked}");
    }
}
