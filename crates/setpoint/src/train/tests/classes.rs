//! Goals of several classes, from features to a model.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::class::{Classes, Confusion, shift};
use crate::features::Features;
use crate::goal::ClassGoal;
use crate::model::{Architecture, Inputs, Linear, Network};
use crate::sample::Sample;
use crate::train::method::{ClassCrossEntropy, ClassIco, Loss};
use crate::train::{
    Bandwidth, ClassBatchLoss, Fit, MethodChoice, Part, Settings, Silent, TrainError, fit_classes,
};

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
    assert_eq!(error.to_string(), "‹method›: expected auto, ico or cross-entropy for several classes");
    let batches =
        Settings { batch_size: Some(256), epochs: 3, method: MethodChoice::Ico, ..Settings::default() };
    assert!(fitted("macro-f1", &batches).is_ok());
    let missing = fitted(
        "cost(table.csv)",
        &Settings { method: MethodChoice::Ico, steps: Some(2), ..Settings::default() },
    );
    assert!(missing.is_err());
}

/// Rows with scores in which the own class is ahead, in so many batches.
fn batches(count: usize) -> Vec<(Sample, Vec<f32>)> {
    let (_, sample) = rows(count * 120, 5);
    let mut rng = ChaCha8Rng::seed_from_u64(6);
    let batch = |at: usize| {
        let chosen: Vec<u32> = (at as u32 * 120..(at as u32 + 1) * 120).collect();
        let part = sample.select(&chosen);
        let own = part.groups().unwrap().codes().to_vec();
        let mut score = |y: u32, c: u32| rng.random_range(-1.0f32..1.0) + f32::from(u8::from(c == y));
        let scores = own.iter().flat_map(|y| [score(*y, 0), score(*y, 1), score(*y, 2)]).collect();
        (part, scores)
    };
    (0..count).map(batch).collect()
}

#[test]
fn the_gradient_of_a_batch_is_its_share_of_the_pools() {
    let goal = goal("accuracy @ recall(few)>=0.8");
    let batches = batches(4);
    let mut loss = ClassBatchLoss::new(&goal, Bandwidth::Score(0.3), 4, 0.0, 0);
    let mut v = vec![0.0; 360];
    for (sample, scores) in &batches {
        loss.evaluate(sample, scores, &mut v).unwrap();
    }
    let (_, whole) = rows(480, 5);
    let scores: Vec<f32> = batches.iter().flat_map(|(_, scores)| scores).copied().collect();
    let mut expected = vec![0.0; scores.len()];
    ClassIco::new(&goal, Bandwidth::Score(0.3)).evaluate(&whole, &scores, &mut expected).unwrap();
    for (v, expected) in v.iter().zip(&expected[3 * 360..]) {
        // Shifts that were solved from elsewhere agree to the tolerance of the solver.
        assert!((v - 4.0 * expected).abs() < 1e-5, "{v} {expected}");
    }
    // A batch more, and the first is forgotten.
    loss.evaluate(&batches[0].0, &batches[0].1, &mut v).unwrap();
    let last: Vec<f32> = batches[1..].iter().chain(&batches[..1]).flat_map(|(_, scores)| scores).copied().collect();
    let order: Vec<u32> = (120..480).chain(0..120).collect();
    ClassIco::new(&goal, Bandwidth::Score(0.3)).evaluate(&whole.select(&order), &last, &mut expected).unwrap();
    assert!(v.iter().zip(&expected[3 * 360..]).all(|(v, expected)| (v - 4.0 * expected).abs() < 1e-5));
}

#[test]
fn a_loss_on_batches_goes_on_from_its_state_and_leaves_what_it_cannot_to_cross_entropy() {
    let goal = goal("recall(few) @ precision(few)>=0.6");
    let batches = batches(5);
    let new = || ClassBatchLoss::new(&goal, Bandwidth::Deviations(0.3), 3, 0.5, 1);
    let (mut loss, mut v) = (new(), vec![0.0; 360]);
    for (sample, scores) in &batches[..3] {
        loss.evaluate(sample, scores, &mut v).unwrap();
    }
    let mut resumed = new();
    resumed.restore(&loss.state()).unwrap();
    let mut again = vec![0.0; 360];
    for (sample, scores) in &batches[3..] {
        let values = (loss.evaluate(sample, scores, &mut v), resumed.evaluate(sample, scores, &mut again));
        assert_eq!((values.0.unwrap(), &v), (values.1.unwrap(), &again));
    }
    // No row of the class that the goal is about: cross-entropy alone.
    let many: Vec<u32> = (0..120).filter(|row| batches[0].0.groups().unwrap().codes()[*row as usize] != 0).collect();
    let sample = batches[0].0.select(&many);
    let scores: Vec<f32> = many.iter().flat_map(|row| &batches[0].1[3 * *row as usize..][..3]).copied().collect();
    let (mut own, mut entropy) = (vec![0.0; scores.len()], vec![0.0; scores.len()]);
    let mut fresh = ClassBatchLoss::new(&goal, Bandwidth::Deviations(0.3), 3, 0.5, 0);
    let value = fresh.evaluate(&sample, &scores, &mut own).unwrap();
    assert_eq!(value, ClassCrossEntropy::new(0.0).evaluate(&sample, &scores, &mut entropy).unwrap());
    assert_eq!(own, entropy);
    let damaged = loss.state().with("pool sizes", vec![7u64]);
    assert!(new().restore(&damaged).is_err());
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
