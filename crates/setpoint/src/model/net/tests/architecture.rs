//! What is refused, and what it says.

use super::*;

fn image_layers(layers: &[Layer]) -> Architecture {
    let input = InputShape::Image { height: 8, width: 8, channels: 3 };
    Architecture { input, layers: layers.to_vec() }
}

fn conv(outputs: usize, kernel: usize, stride: usize) -> Layer {
    Layer::Conv2d { outputs, kernel, stride, padding: Padding::Valid, bias: false }
}

const HEAD: Layer = Layer::Dense { outputs: 1, bias: true };

#[test]
fn presets_fit_and_have_the_parameters_of_their_description() {
    // Weights of the five convolutions, four numbers for each channel of batch norm, the output.
    let weights = 27 * 128 + 1152 * 128 + 1152 * 256 + 2304 * 256 + 256 * 512;
    let norms = 4 * (128 + 128 + 256 + 256 + 512);
    assert_eq!(Architecture::cnn(32, 32, 3).parameter_count(), Ok(weights + norms + 2 * 2 * 512));
    for (side, channels) in [(8, 1), (8, 3), (9, 3), (28, 1), (32, 3), (64, 3)] {
        Architecture::cnn_small(side, side, channels).check().unwrap();
    }
    Architecture::cnn(17, 17, 1).check().unwrap();
    assert!(Architecture::cnn(16, 16, 1).check().is_err());
    Architecture::mlp(1, &[], 0.0).check().unwrap();
}

#[test]
fn an_architecture_survives_json() {
    let text = serde_json::to_string(&everything()).unwrap();
    assert_eq!(serde_json::from_str::<Architecture>(&text).unwrap(), everything());
    assert!(text.contains(r#"{"kind":"batch-norm"}"#), "{text}");
    let unknown = text.replace("batch-norm", "attention");
    assert!(serde_json::from_str::<Architecture>(&unknown).is_err());
}

#[test]
fn absurd_architectures_are_refused_with_their_reason() {
    let huge = usize::MAX;
    let cases = [
        (image_layers(&[]), "number of layers 0 is outside 1..=1000"),
        (image_layers(&[Layer::Relu; 2000]), "number of layers 2000"),
        (image_layers(&[conv(4, 3, 1), Layer::Flatten]), "this one ends with flatten"),
        (image_layers(&[Layer::Flatten, HEAD, Layer::Relu]), "this one ends with relu"),
        (image_layers(&[HEAD]), "layer 0 (from 0), dense: takes a row, not an image"),
        (image_layers(&[Layer::Flatten, conv(4, 3, 1), HEAD]), "conv2d: takes an image"),
        (
            image_layers(&[conv(4, 9, 1), Layer::Flatten, HEAD]),
            "a kernel of 9 is larger than the image of 8 x 8 allows",
        ),
        (image_layers(&[conv(4, 0, 1), Layer::Flatten, HEAD]), "must be at least 1"),
        (image_layers(&[conv(4, 3, 0), Layer::Flatten, HEAD]), "must be at least 1"),
        (image_layers(&[conv(0, 3, 1), Layer::Flatten, HEAD]), "outputs of a convolution 0 is outside"),
        (image_layers(&[conv(huge, 3, 1), Layer::Flatten, HEAD]), "outputs of a convolution"),
        (image_layers(&[conv(1 << 25, 3, 1), Layer::Flatten, HEAD]), "values of a convolution"),
        (image_layers(&[Layer::Relu, Layer::Flatten, HEAD]), "the first layer must be dense or conv2d"),
        (image_layers(&[conv(4, 3, 1), Layer::Relu, Layer::BatchNorm, Layer::Flatten, HEAD]), "not relu"),
        (
            image_layers(&[conv(4, 3, 1), Layer::Dropout { rate: 1.0 }, Layer::Flatten, HEAD]),
            "rate 1 is outside",
        ),
        (image_layers(&[conv(4, 3, 1), Layer::Dropout { rate: f64::NAN }, Layer::Flatten, HEAD]), "rate NaN"),
        (Architecture::mlp(0, &[4], 0.0), "number of columns 0"),
        (Architecture::mlp(huge, &[4], 0.0), "number of columns"),
        (Architecture::mlp(4, &[0], 0.0), "outputs of a dense layer 0"),
        (Architecture::mlp(1 << 20, &[1 << 20], 0.0), "number of weights of a layer"),
        (Architecture::mlp(1 << 14, &[1 << 14, 1 << 14], 0.0), "number of parameters"),
        (Architecture::cnn(huge, huge, 3), "image height"),
        (Architecture::cnn(1 << 20, 1 << 20, 3), "number of values of an example"),
        (
            Architecture {
                input: InputShape::Image { height: 8000, width: 8000, channels: 1 },
                layers: vec![conv(1, 4000, 1), Layer::Flatten, HEAD],
            },
            "number of values of all windows",
        ),
    ];
    for (architecture, reason) in cases {
        let error = architecture.check().unwrap_err().to_string();
        assert!(error.contains(reason), "{error}\nfor {reason}");
        assert_eq!(architecture.parameter_count().unwrap_err().to_string(), error);
    }
}

#[test]
fn images_that_do_not_fit_are_refused() {
    let standard = Standard { mean: vec![0.0; 3], scale: vec![1.0; 3] };
    let new = |bytes: usize, standard: &Standard| Images::new(vec![0; bytes], 2, 2, 3, standard.clone());
    assert!(matches!(new(0, &standard), Err(ModelError::Empty { .. })));
    assert!(matches!(new(13, &standard), Err(ModelError::Ragged { values: 13, columns: 12 })));
    assert_eq!(new(24, &standard).unwrap().rows(), 2);
    for (mean, scale) in [(0.0, 0.0), (f32::NAN, 1.0), (0.0, f32::INFINITY)] {
        assert!(new(12, &Standard { mean: vec![mean; 3], scale: vec![scale; 3] }).is_err());
    }
    assert!(new(12, &Standard { mean: vec![0.0; 2], scale: vec![1.0; 3] }).is_err());
    let error = Network::new(Architecture::cnn_small(8, 8, 3), images(2, [9, 8, 3])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the network takes images of 8 x 8 x 3 (height x width x channels), but the examples are images of 9 x 8 x 3 (height x width x channels)"
    );
}
