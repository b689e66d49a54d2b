//! Combination, and files that mean harm.

use std::collections::BTreeMap;

use setpoint::artifact::{Document, ModelFile, Tensor, TensorData};

use super::Question;
use crate::{Ensemble, FeatureView, TreesError};

/// Two trees as LightGBM writes them: one of three leaves with a category, one of a single leaf.
const TEXT: &str = "tree
version=v4
num_class=1
num_tree_per_iteration=1
max_feature_idx=1

Tree=0
num_leaves=3
num_cat=1
split_feature=0 1
threshold=0.5 0
decision_type=10 1
left_child=1 -1
right_child=-2 -3
leaf_value=1.5 -2 0.25
cat_boundaries=0 2
cat_threshold=5 1
is_linear=0
shrinkage=1


Tree=1
num_leaves=1
num_cat=0
split_feature=
leaf_value=0.125


end of trees
";

fn ensemble() -> Ensemble {
    Ensemble::from_text(TEXT, 2).unwrap()
}

fn score(ensemble: &Ensemble, row: [f32; 2]) -> f64 {
    let mut out = [0.0];
    ensemble.raw(&FeatureView::dense(&row, 2).unwrap(), &mut out).unwrap();
    out[0]
}

#[test]
fn trees_are_read_and_followed() {
    let ensemble = ensemble();
    assert_eq!((ensemble.trees(), ensemble.leaves(), ensemble.columns()), (2, 4, 2));
    let nan = f32::NAN;
    for (row, expected) in [
        ([0.5, 2.0], 1.625),
        ([0.5, 32.0], 1.625),
        ([0.5, 1.0], 0.375),
        ([0.5, nan], 0.375),
        ([0.5, 500.0], 0.375),
        ([0.6, 0.0], -1.875),
        ([nan, 0.0], 1.625),
    ] {
        assert_eq!(score(&ensemble, row), expected, "{row:?}");
    }
}

#[test]
fn a_combination_scores_as_the_weighted_sum() {
    let b = Ensemble::combine(&[(1.0, &ensemble().first(1)), (1.0, &Ensemble::constant(2, &[3.0]))]).unwrap();
    let a = ensemble();
    let sum = Ensemble::combine(&[(2.0, &a), (-1.0, &b)]).unwrap();
    assert_eq!((sum.trees(), sum.bias()), (3, &[-3.0][..]));
    for row in [[0.1, 2.0], [0.9, 0.0], [0.2, 7.0]] {
        assert_eq!(score(&sum, row), 2.0 * score(&a, row) - score(&b, row));
    }
    for other in [Ensemble::constant(3, &[0.0]), Ensemble::constant(2, &[0.0, 0.0])] {
        assert!(Ensemble::combine(&[(1.0, &a), (1.0, &other)]).is_err());
    }
    assert!(Ensemble::combine(&[(f64::NAN, &a)]).is_err());
    assert!(Ensemble::combine(&[]).is_err());
}

/// The trees of a round are those of the outputs, in turn.
#[test]
fn trees_of_several_outputs_add_up_to_a_score_for_each() {
    let text = TEXT.replacen("num_tree_per_iteration=1", "num_tree_per_iteration=2", 1);
    let two = Ensemble::from_text(&text, 2).unwrap();
    assert_eq!((two.outputs(), two.rounds(), two.trees()), (2, 1, 2));
    let one = ensemble();
    let rows: Vec<f32> = (0..40).map(|at| (at * 7 % 11) as f32 / 5.0).collect();
    let features = FeatureView::dense(&rows, 2).unwrap();
    let (mut both, mut whole) = (vec![0.0; 40], vec![0.0; 20]);
    two.raw(&features, &mut both).unwrap();
    one.raw(&features, &mut whole).unwrap();
    for (row, pair) in both.chunks(2).enumerate() {
        assert_eq!(pair, [score(&one.first(1), [rows[2 * row], rows[2 * row + 1]]), 0.125]);
        assert_eq!(whole[row], pair[0] + pair[1]);
    }
    assert_eq!(Ensemble::from_tensors(&two.to_tensors(), 2).unwrap(), two);
    assert!(two.raw(&features, &mut whole).is_err(), "a place for each score");
}

#[test]
fn rows_of_another_width_and_too_few_places_are_refused() {
    let rows = [0.0; 6];
    let wide = FeatureView::dense(&rows, 3).unwrap();
    assert!(ensemble().raw(&wide, &mut [0.0; 2]).is_err());
    let fitting = FeatureView::dense(&rows, 2).unwrap();
    assert!(ensemble().raw(&fitting, &mut [0.0; 2]).is_err());
    assert!(ensemble().scores(&fitting, &mut [0.0; 3]).is_ok());
}

#[test]
fn text_that_is_no_sound_tree_is_refused_by_its_line() {
    for (from, to, field) in [
        ("version=v4\n", "", "version"),
        ("num_tree_per_iteration=1", "num_tree_per_iteration=3", "num_tree_per_iteration"),
        ("split_feature=0 1", "split_feature=0 2", "split_feature"),
        ("split_feature=0 1", "split_feature=0", "split_feature"),
        ("threshold=0.5 0\n", "threshold=0.5 x\n", "threshold"),
        ("threshold=0.5 0\n", "threshold=-1e300 0\n", "threshold"),
        ("left_child=1 -1", "left_child=0 -1", "left_child"),
        ("left_child=1 -1", "left_child=7 -1", "left_child"),
        ("leaf_value=1.5 -2 0.25", "leaf_value=1.5 nan 0.25", "leaf_value"),
        ("right_child=-2 -3", "right_child=-2 -9", "leaf_value"),
        ("cat_boundaries=0 2", "cat_boundaries=0 3", "cat_boundaries"),
        ("num_leaves=3", "num_leaves=0", "num_leaves"),
        ("is_linear=0", "is_linear=1", "is_linear"),
    ] {
        let text = TEXT.replacen(from, to, 1);
        assert_ne!(text, TEXT, "{from}");
        match Ensemble::from_text(&text, 2) {
            Err(TreesError::Text { field: found, .. }) => assert_eq!(found, field, "{to}"),
            other => panic!("{to}: {other:?}"),
        }
    }
}

#[test]
fn trees_come_back_from_a_model_file_bit_for_bit() {
    let ensemble = Ensemble::combine(&[(0.5, &ensemble()), (0.1, &ensemble())]).unwrap();
    let goal: setpoint::Goal = "recall @ fpr<=1%".parse().unwrap();
    let mut file = ModelFile::new(Document::new(&goal, "trees", "auto", vec![0.0]));
    file.tensors = ensemble.to_tensors();
    let read = ModelFile::from_bytes(&file.to_bytes().unwrap()).unwrap();
    assert_eq!(Ensemble::from_tensors(&read.tensors, 2).unwrap(), ensemble);
    let plain = ensemble.first(0);
    assert_eq!(Ensemble::from_tensors(&plain.to_tensors(), 2).unwrap(), plain);
}

fn u32s<'t>(tensors: &'t mut BTreeMap<String, Tensor>, name: &str) -> &'t mut Vec<u32> {
    match &mut tensors.get_mut(&format!("trees.{name}")).unwrap().data {
        TensorData::U32(values) => values,
        _ => panic!("{name} is not U32"),
    }
}

#[test]
fn hostile_tensors_are_refused_by_name() {
    type Spoil = fn(&mut BTreeMap<String, Tensor>);
    let spoils: [(&str, Spoil); 18] = [
        ("bias", |t| *t.get_mut("trees.bias").unwrap() = Tensor::vector(TensorData::F64(vec![0.0; 3]))),
        ("bias", |t| *t.get_mut("trees.bias").unwrap() = Tensor::vector(TensorData::F64(Vec::new()))),
        ("start", |t| u32s(t, "start")[1] = 99),
        ("start", |t| u32s(t, "start")[1] = 0),
        ("start", |t| *t.get_mut("trees.start").unwrap() = Tensor::vector(TensorData::U32(vec![]))),
        ("split", |t| u32s(t, "split")[0] |= 5),
        ("split", |t| u32s(t, "split")[0] |= 1 << 30),
        ("split", |t| u32s(t, "split")[2] = 1 << 28),
        ("left", |t| u32s(t, "left")[0] = 0),
        ("left", |t| u32s(t, "left")[1] = 1),
        ("left", |t| u32s(t, "left")[1] = 4),
        ("left", |t| u32s(t, "left")[1] = u32::MAX),
        ("value", |t| *t.get_mut("trees.value").unwrap() = Tensor::vector(TensorData::F64(vec![1.0; 3]))),
        ("value", |t| *t.get_mut("trees.value").unwrap() = Tensor::vector(TensorData::F64(vec![1.0; 5]))),
        ("value", |t| {
            *t.get_mut("trees.value").unwrap() = Tensor::vector(TensorData::F64(vec![f64::NAN; 4]));
        }),
        ("set_start", |t| u32s(t, "set_start")[1] = 3),
        ("threshold", |t| {
            *t.get_mut("trees.threshold").unwrap() = Tensor::vector(TensorData::F64(vec![0.0; 6]))
        }),
        ("bias", |t| t.get_mut("trees.bias").unwrap().shape = vec![]),
    ];
    for (index, (name, spoil)) in spoils.into_iter().enumerate() {
        let mut tensors = ensemble().to_tensors();
        spoil(&mut tensors);
        match Ensemble::from_tensors(&tensors, 2) {
            Err(TreesError::Tensor { name: found, .. }) => {
                assert_eq!(found, format!("trees.{name}"), "{index}")
            }
            other => panic!("{index} {name}: {other:?}"),
        }
    }
    for name in ensemble().to_tensors().keys() {
        let mut tensors = ensemble().to_tensors();
        tensors.remove(name);
        assert!(Ensemble::from_tensors(&tensors, 2).is_err(), "{name}");
    }
    assert!(Ensemble::from_tensors(&ensemble().to_tensors(), 1).is_err());
}

/// Whatever the numbers are, trees that are taken can be followed to their ends.
#[test]
fn tensors_with_any_number_changed_are_refused_or_scored() {
    let rows = [0.1, 2.0, 0.9, f32::NAN, -1.0, 1e30];
    let features = FeatureView::dense(&rows, 2).unwrap();
    let tensors = ensemble().to_tensors();
    for name in ["start", "split", "left", "set_start", "set"] {
        let length = tensors[&format!("trees.{name}")].data.len();
        for at in 0..length {
            for value in [0, 1, 2, 3, 4, 5, 6, 7, 31, 32, 1 << 28, 1 << 29, 1 << 30, 1 << 31, u32::MAX] {
                let mut spoiled = tensors.clone();
                u32s(&mut spoiled, name)[at] = value;
                if let Ok(ensemble) = Ensemble::from_tensors(&spoiled, 2) {
                    ensemble.raw(&features, &mut [0.0; 3]).unwrap();
                }
            }
        }
    }
}

#[test]
fn a_tree_tells_what_it_asks() {
    let ensemble = ensemble();
    let tree = ensemble.tree(0);
    let asked =
        |column, threshold| Question::Number { column, threshold, missing_left: true, zero_missing: false };
    assert_eq!(tree[0], (asked(0, 0.5), 1));
    assert_eq!(tree[1].0, Question::Category { column: 1, codes: vec![0, 2, 32] });
    assert_eq!(tree[2].0, Question::Leaf(-2.0));
    assert_eq!(ensemble.tree(1), [(Question::Leaf(0.125), 0)]);
}
