//! Boosters grown through LightGBM.

use std::ops::ControlFlow;

use super::parity::compress;
use super::{Task, library};
use crate::features::Data;
use crate::grow::{Growth, dataset, grow, looks};
use crate::library::Library;
use crate::{Ensemble, FeatureView, Look, Parameters};

fn growth(rounds: usize, threads: usize) -> Growth<'static> {
    let parameters = Parameters { row_share: 0.8, column_share: 0.8, ..Parameters::default() };
    Growth { parameters, outputs: 1, objective: None, rounds, look_every: 10, seed: 3, threads }
}

fn train(
    library: &Library,
    data: &Data<'_>,
    held_out: &FeatureView<'_>,
    growth: &Growth,
) -> (Ensemble, Vec<Look>) {
    let binned = dataset(library, data, growth.outputs, None, growth.threads).unwrap();
    let mut after = |_: &crate::grow::Round<'_>| Ok(ControlFlow::Continue(()));
    grow(&binned, data.sample, Some(held_out), data.features.columns(), growth, None, &mut after).unwrap()
}

#[test]
fn the_same_seed_gives_the_same_trees_for_one_thread_and_for_two() {
    let Some(library) = library() else { return };
    let task = Task::new(20_000, 10);
    let features = FeatureView::dense(&task.values, Task::COLUMNS).unwrap();
    let data = Data { features, sample: &task.sample, categorical: &Task::CATEGORICAL };
    let (one, _) = train(library, &data, &features, &growth(25, 1));
    let (two, _) = train(library, &data, &features, &growth(25, 2));
    assert_eq!(one, two);
    let (other, _) = train(library, &data, &features, &Growth { seed: 4, ..growth(25, 1) });
    assert_ne!(one, other);
}

#[test]
fn looks_are_the_scores_of_the_trees_so_far_and_can_be_had_again() {
    let Some(library) = library() else { return };
    let (task, held_out) = (Task::new(2000, 11), Task::new(500, 12));
    let features = FeatureView::dense(&task.values, Task::COLUMNS).unwrap();
    let held_out = FeatureView::dense(&held_out.values, Task::COLUMNS).unwrap();
    let data = Data { features, sample: &task.sample, categorical: &[] };
    let (ensemble, seen) = train(library, &data, &held_out, &growth(25, 1));
    assert_eq!(seen.iter().map(|look| look.rounds).collect::<Vec<_>>(), [10, 20, 25]);
    assert_eq!(looks(&ensemble, &held_out, 10, None).unwrap(), seen);
    let mut scores = vec![0.0; 500];
    ensemble.first(20).scores(&held_out, &mut scores).unwrap();
    assert_eq!(scores, seen[1].scores);
}

#[test]
fn compressed_rows_train_the_same_trees_as_dense_ones() {
    let Some(library) = library() else { return };
    let task = Task::new(2000, 13);
    let values: Vec<f32> = task.values.iter().map(|x| if x.abs() < 0.3 { 0.0 } else { *x }).collect();
    let (starts, indices, kept) = compress(&values, Task::COLUMNS);
    let dense = FeatureView::dense(&values, Task::COLUMNS).unwrap();
    let sparse = FeatureView::sparse(&starts, &indices, &kept, Task::COLUMNS).unwrap();
    let grown = |features| {
        train(library, &Data { features, sample: &task.sample, categorical: &[] }, &features, &growth(20, 1))
    };
    let (from_dense, from_sparse) = (grown(dense), grown(sparse));
    // Columns may be bundled differently, which changes the order of sums, not the scores.
    for (a, b) in from_dense.1[1].scores.iter().zip(&from_sparse.1[1].scores) {
        assert!((a - b).abs() < 1e-4, "{a} {b}");
    }
}

#[test]
fn a_weight_of_two_counts_as_the_row_twice() {
    let Some(library) = library() else { return };
    let task = Task::new(1000, 14);
    let labels = task.sample.labels();
    let weights: Vec<f32> = (0..1000).map(|row| if row % 3 == 0 { 2.0 } else { 1.0 }).collect();
    let weighted = task.sample.clone().with_weights(weights.clone()).unwrap();
    let rows = (0..1000).flat_map(|row| std::iter::repeat_n(row, weights[row] as usize));
    let rows: Vec<usize> = rows.collect();
    let repeated: Vec<f32> =
        rows.iter().flat_map(|row| task.values[row * 6..(row + 1) * 6].iter().copied()).collect();
    let twice = setpoint::Sample::new(rows.iter().map(|row| labels[*row]).collect()).unwrap();
    // LightGBM counts the rows of leaves and bins and does not weigh them: a few large leaves, and bins of
    // one value each, are the same in both.
    let parameters = Parameters { leaves: 4, ..Parameters::default() };
    let round = |values: &[f32]| values.iter().map(|x| (x * 20.0).round()).collect::<Vec<f32>>();
    let (values, repeated) = (round(&task.values), round(&repeated));
    let held_out = FeatureView::dense(&values, 6).unwrap();
    let grown = |values: &[f32], sample: &setpoint::Sample| {
        let data = Data { features: FeatureView::dense(values, 6).unwrap(), sample, categorical: &[] };
        train(library, &data, &held_out, &Growth { parameters, ..growth(5, 1) }).1.remove(0).scores
    };
    for (a, b) in grown(&values, &weighted).iter().zip(grown(&repeated, &twice)) {
        assert!((a - b).abs() < 1e-4, "{a} {b}");
    }
}
