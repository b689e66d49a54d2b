//! Scores equal to LightGBM's own, whatever the rows hold.

use super::{Task, library, noise};
use crate::library::{Booster, Dataset, Library};
use crate::{Ensemble, FeatureView};

const QUIET: &str = "verbosity=-1 num_threads=1 deterministic=true force_col_wise=true";

/// Trains on rows and compares scores of other rows, which may hold what training never saw.
fn compare(
    library: &Library,
    train: &FeatureView<'_>,
    labels: &[bool],
    test: &[&FeatureView<'_>],
    extra: &str,
) {
    let mut dataset = Dataset::new(library, train, &format!("{QUIET} {extra}")).unwrap();
    let labels: Vec<f32> = labels.iter().map(|label| f32::from(u8::from(*label))).collect();
    dataset.set_labels(&labels).unwrap();
    let parameters = format!("{QUIET} objective=binary num_leaves=31 min_data_in_leaf=5 {extra}");
    let mut booster = Booster::new(&dataset, &parameters).unwrap();
    for _ in 0..40 {
        booster.update().unwrap();
    }
    let text = booster.to_text(0).unwrap();
    let ensemble = Ensemble::from_text(&text, train.columns()).unwrap();
    assert_eq!(ensemble.trees(), 40);
    let read = Booster::from_text(library, &text).unwrap();
    let stored = Ensemble::from_tensors(&ensemble.to_tensors(), train.columns()).unwrap();
    assert_eq!(stored, ensemble);
    for features in test {
        let (mut theirs, mut ours) = (vec![0.0; features.rows()], vec![0.0; features.rows()]);
        read.predict(features, 1, &mut theirs).unwrap();
        stored.raw(features, &mut ours).unwrap();
        for (row, (theirs, ours)) in theirs.iter().zip(&ours).enumerate() {
            assert!((theirs - ours).abs() <= 1e-9, "{extra}: row {row}: {theirs} and {ours}");
        }
    }
}

/// Zeros, missing values, tiny, huge and unseen numbers strewn over the rows.
fn strew(values: &[f32], share: f32, with: &[f32]) -> Vec<f32> {
    let strewn = |(index, value): (usize, &f32)| {
        let draw = noise(index + 77_777_777);
        if draw < share { with[(draw / share * with.len() as f32) as usize % with.len()] } else { *value }
    };
    values.iter().enumerate().map(strewn).collect()
}

const ODD: [f32; 12] = [
    f32::NAN,
    0.0,
    -0.0,
    1e-36,
    -1e-35,
    f32::INFINITY,
    f32::NEG_INFINITY,
    -3.0,
    1e9,
    -0.5,
    39.5,
    f32::MIN_POSITIVE,
];

#[test]
fn scores_match_on_numbers_with_every_kind_of_missing_value() {
    let Some(library) = library() else { return };
    let task = Task::new(3000, 1);
    let odd = strew(&Task::new(2003, 2).values, 0.3, &ODD);
    let test = FeatureView::dense(&odd, Task::COLUMNS).unwrap();
    for missing in [&[][..], &[f32::NAN], &[0.0], &[f32::NAN, 0.0]] {
        let values = if missing.is_empty() { task.values.clone() } else { strew(&task.values, 0.2, missing) };
        let train = FeatureView::dense(&values, Task::COLUMNS).unwrap();
        for extra in ["", "use_missing=false", "zero_as_missing=true"] {
            compare(library, &train, task.sample.labels(), &[&train, &test], extra);
        }
    }
}

#[test]
fn scores_match_on_categories_seen_and_unseen() {
    let Some(library) = library() else { return };
    let task = Task::new(3000, 3);
    let odd = strew(&Task::new(2005, 4).values, 0.3, &ODD);
    let test = FeatureView::dense(&odd, Task::COLUMNS).unwrap();
    for missing in [&[][..], &[f32::NAN]] {
        let values = if missing.is_empty() { task.values.clone() } else { strew(&task.values, 0.2, missing) };
        let train = FeatureView::dense(&values, Task::COLUMNS).unwrap();
        for extra in ["", " zero_as_missing=true", " cat_smooth=1 min_data_per_group=5 max_cat_to_onehot=1"] {
            let extra = format!("categorical_feature=5{extra}");
            compare(library, &train, task.sample.labels(), &[&train, &test], &extra);
        }
    }
}

/// Dense rows compressed: zeros are left out.
pub(crate) fn compress(values: &[f32], columns: usize) -> (Vec<usize>, Vec<u32>, Vec<f32>) {
    let (mut starts, mut indices, mut kept) = (vec![0], Vec::new(), Vec::new());
    for row in values.chunks(columns) {
        for (column, value) in row.iter().enumerate().filter(|(_, value)| **value != 0.0) {
            indices.push(column as u32);
            kept.push(*value);
        }
        starts.push(kept.len());
    }
    (starts, indices, kept)
}

#[test]
fn compressed_rows_score_as_dense_ones_and_as_lightgbm() {
    let Some(library) = library() else { return };
    let task = Task::new(3000, 5);
    let values = strew(&task.values, 0.6, &[0.0]);
    let (starts, indices, kept) = compress(&values, Task::COLUMNS);
    let sparse = FeatureView::sparse(&starts, &indices, &kept, Task::COLUMNS).unwrap();
    let dense = FeatureView::dense(&values, Task::COLUMNS).unwrap();
    for extra in ["", "zero_as_missing=true", "categorical_feature=5"] {
        compare(library, &sparse, task.sample.labels(), &[&sparse, &dense], extra);
    }
}

#[test]
fn an_objective_that_there_is_not_is_refused() {
    let Some(library) = library() else { return };
    let task = Task::new(300, 6);
    let features = FeatureView::dense(&task.values, Task::COLUMNS).unwrap();
    let dataset = Dataset::new(library, &features, QUIET).unwrap();
    let error = Booster::new(&dataset, &format!("{QUIET} objective=magic")).unwrap_err();
    assert!(error.to_string().contains("magic"), "{error}");
}
