//! Goals per query, from features to a model.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::features::Features;
use crate::goal::QueryGoal;
use crate::model::{Architecture, Inputs, Linear, Network};
use crate::rank::Queries;
use crate::sample::Sample;
use crate::train::queries::{gain_of, mean_of};
use crate::train::{Fit, MethodChoice, Part, Settings, Silent, TrainError, fit_queries};

const COLUMNS: usize = 3;

/// Queries of twenty rows: what is relevant is a bowl in the second feature, and each query has a level of its own.
fn rows(queries: usize, seed: u64) -> (Features, Sample) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (mut features, mut grades, mut keys) = (Vec::new(), Vec::new(), Vec::new());
    for row in 0..20 * queries {
        let mut noise = || (0..3).map(|_| rng.random_range(-1.0f32..1.0)).sum::<f32>();
        let x = [noise(), noise(), (row % queries) as f32 / queries as f32 + 0.1 * noise()];
        let worth = x[0] - 0.8 * x[1] * x[1] + 0.5 * noise();
        grades.push(if worth > 0.8 { 2.0 } else { f32::from(u8::from(worth > 0.0)) });
        features.extend(x);
        keys.push((row % queries) as u32);
    }
    let queries = Queries::new("query", &keys, grades).unwrap();
    (Features::from_row_major(features, COLUMNS).unwrap(), Sample::of_queries(queries).unwrap())
}

fn goal(text: &str) -> QueryGoal {
    text.parse().unwrap()
}

fn fitted(text: &str, settings: &Settings) -> Result<Fit, TrainError> {
    let ((a, train), (b, validation)) = (rows(150, 1), rows(80, 2));
    let (mut a, mut b) = (Linear::new(a), Linear::new(b));
    let (train, validation) =
        (Part { model: &mut a, sample: &train }, Part { model: &mut b, sample: &validation });
    fit_queries(&goal(text), train, validation, settings, &mut Silent, None)
}

#[test]
fn a_goal_per_query_is_trained_for_and_only_a_clear_gain_is_kept() {
    for text in
        ["ndcg @ k=5 per query", "precision @ k=3 per query", "map per query", "recall @ top=25% per query"]
    {
        let fit = fitted(text, &Settings::default()).unwrap();
        assert_eq!(fit.candidates.len(), 14);
        assert_eq!(fit.candidates[0].name, "listwise, shrinkage 0.001");
        let gain = fit.gain.unwrap();
        let kept = fit.combined == fit.baseline.combined;
        assert!(kept || gain.difference > gain.standard_error.unwrap(), "{text}: {gain:?}");
        let (features, test) = rows(400, 3);
        let mut model = Linear::new(features);
        let (mut own, mut base) = (vec![0.0; 8000], vec![0.0; 8000]);
        fit.combined.scores(&mut model, &mut own).unwrap();
        fit.baseline.combined.scores(&mut model, &mut base).unwrap();
        let none = mean_of(&goal(text), &test, &vec![0.0; 8000]).unwrap();
        let value = mean_of(&goal(text), &test, &own).unwrap();
        assert!(value > none + 0.1, "{text}: {value} is not ahead of {none}");
        let gain = gain_of(&goal(text), &test, &own, &base).unwrap();
        assert!(gain.difference >= -2.0 * gain.standard_error.unwrap(), "{text}: {gain:?}");
    }
}

#[test]
fn the_same_bytes_come_of_any_number_of_threads_and_rotations_keep_queries_whole() {
    let settings = Settings { rotations: Some(3), steps: Some(8), ..Settings::default() };
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| fitted("ndcg @ k=5 per query", &settings).unwrap())
    };
    let fit = with(1);
    assert_eq!(fit.rotations, 3);
    assert_eq!(fit, with(2));
}

#[test]
fn a_network_learns_from_batches_of_whole_queries() {
    let ((a, train), (b, validation)) = (rows(150, 1), rows(80, 2));
    let network = |features: Features| {
        Network::new(Architecture::mlp(COLUMNS, &[16], 0.0), Inputs::Matrix(features.into())).unwrap()
    };
    let (mut a, mut b) = (network(a), network(b));
    let (train, validation) =
        (Part { model: &mut a, sample: &train }, Part { model: &mut b, sample: &validation });
    let settings = Settings { epochs: 10, batch_size: Some(200), learning_rate: 0.02, ..Settings::default() };
    let text = "ndcg @ k=5 per query";
    let fit = fit_queries(&goal(text), train, validation, &settings, &mut Silent, None).unwrap();
    assert_eq!(fit.candidates.len(), 6);
    let linear = fitted(text, &Settings::default()).unwrap();
    // The bowl is beyond lines.
    assert!(
        fit.validation.unwrap() > linear.validation.unwrap() + 0.02,
        "{:?} {:?}",
        fit.validation,
        linear.validation
    );
}

#[test]
fn what_does_not_go_with_queries_is_refused() {
    let refuse = |settings: Settings| fitted("map per query", &settings).unwrap_err().to_string();
    assert!(
        refuse(Settings { method: MethodChoice::Lagrangian, ..Settings::default() }).contains("per query")
    );
    assert!(refuse(Settings { shared_threshold: true, ..Settings::default() }).contains("groups"));
    let ((a, train), (b, _)) = (rows(5, 1), rows(5, 2));
    let plain = Sample::new(vec![true; 100]).unwrap();
    let (mut a, mut b) = (Linear::new(a), Linear::new(b));
    let (train, validation) =
        (Part { model: &mut a, sample: &train }, Part { model: &mut b, sample: &plain });
    let error =
        fit_queries(&goal("map per query"), train, validation, &Settings::default(), &mut Silent, None);
    assert_eq!(error.unwrap_err().to_string(), "a goal per query needs rows that come in queries");
}
