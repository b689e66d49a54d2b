//! Goals of several classes, from features to a model.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::class::{Classes, Confusion, shift};
use crate::features::Features;
use crate::goal::ClassGoal;
use crate::model::{Architecture, Inputs, Linear, Network};
use crate::sample::Sample;
use crate::train::{Bandwidth, Fit, MethodChoice, Part, Settings, Silent, TrainError, fit_classes};

const CLASSES: [&str; 3] = ["few", "many", "wide"];

/// Three classes in the plane, one of them all around the others, where lines separate badly.
fn rows(count: usize, seed: u64) -> (Linear, Sample) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (mut features, mut codes) = (Vec::new(), Vec::new());
    for row in 0..count {
        let code = if row < 3 { row as u32 } else { [0, 1, 1, 1, 1, 1, 2, 2, 2][rng.random_range(0..9)] };
        let (centre, width) = [((1.0, 0.5), 0.7), ((-0.5, 0.0), 0.8), ((0.5, -0.5), 2.2)][code as usize];
        let mut noise = || (0..3).map(|_| rng.random_range(-1.0f32..1.0)).sum::<f32>();
        features.extend([centre.0 + width * noise(), centre.1 + width * noise()]);
        codes.push(code);
    }
    let names = CLASSES.map(str::to_owned).to_vec();
    let model = Linear::new(Features::from_row_major(features, 2).unwrap()).with_outputs(3);
    (model, Sample::of_classes("label", names, codes).unwrap())
}

fn goal(text: &str) -> ClassGoal {
    ClassGoal::parse(text, &CLASSES.map(str::to_owned)).unwrap()
}

fn fitted(text: &str, settings: &Settings) -> Result<Fit, TrainError> {
    let ((mut a, train), (mut b, validation)) = (rows(1500, 1), rows(700, 2));
    let (train, validation) =
        (Part { model: &mut a, sample: &train }, Part { model: &mut b, sample: &validation });
    fit_classes(&goal(text), train, validation, settings, &mut Silent, None)
}

#[test]
fn a_goal_of_classes_is_trained_for_and_never_behind_cross_entropy_on_validation() {
    let mut gains = Vec::new();
    for text in [
        "worst(recall)",
        "recall(few) @ precision(few)>=0.35",
        "macro-f1",
        "accuracy @ recall(few)>=0.9",
        "accuracy @ coverage(each)=prior",
    ] {
        let fit = fitted(text, &Settings::default()).unwrap();
        let (value, baseline) = (fit.validation.expect(text), fit.baseline.validation.expect(text));
        assert!(value >= baseline, "{text}: {value} is behind {baseline}");
        assert_eq!(fit.candidates.len(), 10);
        let (mut model, test) = rows(4000, 3);
        let mut scores = vec![0.0; 12_000];
        fit.combined.scores(&mut model, &mut scores).unwrap();
        let own = shift::best(&goal(text), &test, &scores, 3).unwrap().value;
        fit.baseline.combined.scores(&mut model, &mut scores).unwrap();
        gains.push((text, own, own - shift::best(&goal(text), &test, &scores, 3).unwrap().value));
    }
    // Lines fit these classes badly: what they are fitted for matters.
    assert!(gains[0].2 > 0.03, "{gains:?}");
    assert!(gains.iter().all(|gain| gain.2 > -0.03), "{gains:?}");
}

#[test]
fn the_same_bytes_come_of_any_number_of_threads_and_rotations_average() {
    let settings = Settings { rotations: Some(3), steps: Some(8), ..Settings::default() };
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| fitted("macro-f1 @ recall(few)>=0.6", &settings).unwrap())
    };
    let fit = run(1);
    assert_eq!(fit, run(3));
    assert_eq!(fit.rotations, 3);
    let (mut model, test) = rows(500, 3);
    let mut scores = vec![0.0; 1500];
    fit.combined.scores(&mut model, &mut scores).unwrap();
    assert!(Confusion::at(&Classes::of(&goal("macro-f1"), &test).unwrap(), &scores, &[0.0; 3]).is_ok());
}

#[test]
fn settings_that_several_classes_have_no_use_for_are_refused() {
    let settings = Settings { method: MethodChoice::Pairwise, ..Settings::default() };
    let error = fitted("macro-f1", &settings).unwrap_err();
    assert_eq!(
        error.to_string(),
        "‹method›: expected auto, ico or cross-entropy for several classes and goals per query"
    );
    let batches =
        Settings { batch_size: Some(256), epochs: 3, method: MethodChoice::Ico, ..Settings::default() };
    assert!(fitted("macro-f1", &batches).is_ok());
    let missing = fitted(
        "cost(table.csv)",
        &Settings { method: MethodChoice::Ico, steps: Some(2), ..Settings::default() },
    );
    assert!(missing.is_err());
}

#[test]
fn networks_learn_several_classes_on_mini_batches() {
    let network = |count, seed| {
        let (linear, sample) = rows(count, seed);
        let layers = Architecture::mlp(2, &[24], 0.0).with_outputs(3);
        let features = Features::clone(linear.features());
        (Network::new(layers, Inputs::Matrix(features.into())).unwrap(), sample)
    };
    let ((mut a, train), (mut b, validation)) = (network(1500, 1), network(700, 2));
    let settings = Settings {
        batch_size: Some(128),
        epochs: 12,
        learning_rate: 0.01,
        bandwidth: Bandwidth::Deviations(0.3),
        ..Settings::default()
    };
    let goal = goal("worst(recall)");
    let parts = (Part { model: &mut a, sample: &train }, Part { model: &mut b, sample: &validation });
    let fit = fit_classes(&goal, parts.0, parts.1, &settings, &mut Silent, None).unwrap();
    // Three fits of cross-entropy and what the goal makes of each.
    assert_eq!(fit.candidates.len(), 6);
    let (mut model, test) = network(4000, 3);
    let mut scores = vec![0.0; 12_000];
    fit.combined.scores(&mut model, &mut scores).unwrap();
    let value = shift::best(&goal, &test, &scores, 3).unwrap().value;
    assert!(value > 0.6, "{value}");
}
