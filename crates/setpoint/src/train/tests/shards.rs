//! The same rows in one piece and in several.

use super::*;
use crate::engine::{Engine, EngineOptions, Solve};
use crate::shard::Shards;

/// The rows in so many pieces of uneven size: the second is empty, the third has no positives.
fn cut(sample: &Sample, pieces: usize) -> (Vec<u32>, Shards) {
    let rows = 0..sample.len() as u32;
    let (negatives, others): (Vec<u32>, Vec<u32>) =
        rows.partition(|row| pieces > 2 && *row % 5 == 0 && !sample.labels()[*row as usize]);
    let mut parts: Vec<Vec<u32>> = Vec::new();
    let mut rest = &others[..];
    for piece in 0..pieces {
        parts.push(match piece {
            1 if pieces > 2 => Vec::new(),
            2 => negatives.clone(),
            last if last + 1 == pieces => rest.to_vec(),
            piece => {
                let (now, later) = rest.split_at(rest.len() / (piece + 3));
                rest = later;
                now.to_vec()
            }
        });
    }
    let shards = parts.iter().map(|rows| Box::new(sample.select(rows)) as Box<dyn Shard + Send>);
    let shards = Shards::new(shards.collect()).unwrap();
    (parts.concat(), shards)
}

#[test]
fn thresholds_and_gradients_are_those_of_one_piece() {
    let (_, sample) = part(6000, 0.0);
    let weights = (0..6000).map(|row| 0.5 + (row % 7) as f32 / 4.0).collect();
    let sample = sample.with_weights(weights).unwrap();
    let scores: Vec<f32> = (0..6000)
        .map(|row| (row as f32 * 0.618_034).fract() * 4.0 + f32::from(u8::from(row % 8 == 0)))
        .collect();
    for text in [
        "recall @ fpr<=5%",
        "f1",
        "recall @ precision>=0.3, fpr<=20%",
        "pr-auc @ recall in 0.9..1",
        "recall @ fpr(g)<=5%",
        "accuracy @ gap(recall, g)<=0.02",
    ] {
        for (pieces, solve) in [1, 2, 7].into_iter().flat_map(|n| [(n, Solve::Smooth), (n, Solve::Exact)]) {
            let (order, shards) = cut(&sample, pieces);
            let scores: Vec<f32> = order.iter().map(|row| scores[*row as usize]).collect();
            let whole = sample.select(&order);
            let step = |rows: &dyn Shard| {
                let options = EngineOptions { sharpness: 8.0, solve, ..EngineOptions::default() };
                let mut engine = Engine::new(&text.parse().unwrap(), rows, options).unwrap();
                let mut v = vec![0.0; scores.len()];
                engine.step(rows, &scores, &mut v).unwrap();
                engine.track(rows, &scores, &v).unwrap();
                (engine.thresholds().unwrap().to_vec(), v)
            };
            let ((expected, whole_v), (found, v)) = (step(&whole), step(&shards));
            for (found, expected) in found.iter().zip(&expected) {
                assert!((found - expected).abs() < 1e-6, "{text}, {pieces}: {found} is not {expected}");
            }
            let largest = whole_v.iter().fold(0.0f32, |most, v| most.max(v.abs()));
            for (found, expected) in v.iter().zip(&whole_v) {
                assert!(
                    (found - expected).abs() <= 1e-6 + 1e-4 * largest,
                    "{text}, {pieces}: {found} {expected}"
                );
            }
        }
    }
}

#[test]
fn auto_and_every_method_train_on_shards_with_the_same_bytes_for_any_threads() {
    let goal: Goal = "recall @ fpr<=5%".parse().unwrap();
    let fit_on = |settings: &Settings, sharded: bool, threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let (model, sample) = part(3000, 0.0);
            let (mut validation, validation_sample) = part(2000, 0.5);
            let (order, shards) = cut(&sample, 7);
            let (mut model, whole) = (model.select(&order).unwrap().unwrap(), sample.select(&order));
            let train = Part { model: &mut *model, sample: if sharded { &shards } else { &whole } };
            let validation = Part { model: &mut validation, sample: &validation_sample };
            fit(&goal, train, validation, settings, &mut Silent, None).unwrap()
        })
    };
    for (method, batch_size) in [
        (MethodChoice::Auto, None),
        (MethodChoice::Ico, Some(300)),
        (MethodChoice::Lagrangian, None),
        (MethodChoice::Pairwise, None),
    ] {
        let settings = Settings { method, batch_size, steps: Some(20), ..Settings::default() };
        let whole = fit_on(&settings, false, 1);
        let found = fit_on(&settings, true, 1);
        let (expected, value) = (whole.validation.unwrap(), found.validation.unwrap());
        assert!((expected - value).abs() < 0.01, "{method:?}: {value} is not {expected}");
        assert_eq!(found, fit_on(&settings, true, 2), "{method:?}");
    }
}
