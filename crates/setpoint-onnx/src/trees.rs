//! Boosted trees as one `TreeEnsemble` of `ai.onnx.ml` 5, in 64 bits.
//!
//! Thresholds are kept as the 32-bit numbers that decide about 32-bit values as LightGBM's doubles do, so every
//! row ends in the same leaves. Leaves are doubles, added up as doubles, and the sum is rounded to 32 bits once:
//! another order of the trees gives the same 32 bits, but for one row in some hundred million.

use setpoint_run::Failure;
use setpoint_trees::Ensemble;
use setpoint_trees::ensemble::Question;

use crate::graph::{Builder, doubles, int, ints, octets};
use crate::proto::element;

/// Modes of nodes: `x <= t`, and `x` is in a set.
const AT_MOST: u8 = 0;
const MEMBER: u8 = 6;
/// How leaves are added up.
const SUM: i64 = 1;

/// The settings of the operator, a number for each node or leaf.
#[derive(Default)]
struct Forest {
    roots: Vec<i64>,
    columns: Vec<i64>,
    modes: Vec<u8>,
    splits: Vec<f64>,
    missing: Vec<i64>,
    /// Children on the side of yes and no: where, and whether they are leaves.
    children: [(Vec<i64>, Vec<i64>); 2],
    leaves: Vec<f64>,
    /// Which score each leaf adds to.
    outputs: Vec<i64>,
    /// The sets, NaN after each.
    sets: Vec<f64>,
}

/// The score of rows whose numbers and places of categories (from 1) lie side by side.
pub(crate) fn score(
    graph: &mut Builder,
    ensemble: &Ensemble,
    coded: &[u32],
    values: &str,
) -> Result<String, Failure> {
    let mut forest = Forest::default();
    let mut constants = ensemble.bias().to_vec();
    let mut trees = Vec::new();
    for tree in 0..ensemble.trees() {
        let output = tree % constants.len();
        let nodes = ensemble.tree(tree);
        match nodes[..] {
            [(Question::Leaf(value), _)] => constants[output] += value,
            _ => trees.push((output, nodes)),
        }
    }
    for output in 0..constants.len() {
        if trees.iter().all(|(other, _)| *other != output) {
            // Whatever the first column is: nothing.
            let any = Question::Number { column: 0, threshold: 0.0, missing_left: true, zero_missing: false };
            trees.push((output, vec![(any, 1), (Question::Leaf(0.0), 1), (Question::Leaf(0.0), 2)]));
        }
    }
    for (output, nodes) in trees {
        // Every row ends in one leaf of a score's first tree: these carry the constant.
        forest.add(&nodes, coded, output, std::mem::take(&mut constants[output]))?;
    }
    let wide = graph.cast(values, element::DOUBLE);
    let [(yes, yes_leaf), (no, no_leaf)] = forest.children;
    let mut settings = vec![
        int("n_targets", constants.len() as i64),
        int("aggregate_function", SUM),
        int("post_transform", 0),
        ints("tree_roots", forest.roots),
        ints("nodes_featureids", forest.columns),
        octets("nodes_modes", forest.modes),
        doubles("nodes_splits", &forest.splits),
        ints("nodes_missing_value_tracks_true", forest.missing),
        ints("nodes_truenodeids", yes),
        ints("nodes_trueleafs", yes_leaf),
        ints("nodes_falsenodeids", no),
        ints("nodes_falseleafs", no_leaf),
        ints("leaf_targetids", forest.outputs),
        doubles("leaf_weights", &forest.leaves),
    ];
    if !forest.sets.is_empty() {
        settings.push(doubles("membership_values", &forest.sets));
    }
    let sum = graph.ml("TreeEnsemble", &[&wide], settings);
    Ok(graph.cast(&sum, element::FLOAT))
}

impl Forest {
    /// Adds a tree of an output, and a constant to each of its leaves.
    fn add(
        &mut self,
        nodes: &[(Question, usize)],
        coded: &[u32],
        output: usize,
        constant: f64,
    ) -> Result<(), Failure> {
        let (first_node, first_leaf) = (self.columns.len() as i64, self.leaves.len() as i64);
        self.roots.push(first_node);
        // Among the nodes, or the leaves.
        let mut places = Vec::with_capacity(nodes.len());
        let (mut inner, mut leaves) = (first_node, first_leaf);
        for (question, _) in nodes {
            let is_leaf = matches!(question, Question::Leaf(_));
            let next = if is_leaf { &mut leaves } else { &mut inner };
            places.push((*next, i64::from(is_leaf)));
            *next += 1;
        }
        for (question, left) in nodes {
            let (column, mode, split, missing) = match question {
                Question::Leaf(value) => {
                    self.leaves.push(value + constant);
                    self.outputs.push(output as i64);
                    continue;
                }
                Question::Number { zero_missing: true, .. } => {
                    return Err(cannot("splits for which zeros are missing values (zero_as_missing)"));
                }
                Question::Number { column, .. } if coded.contains(&(*column as u32)) => {
                    return Err(cannot("a split by the order of categories"));
                }
                Question::Number { column, threshold, missing_left, .. } => {
                    (*column, AT_MOST, f64::from(*threshold), *missing_left)
                }
                Question::Category { column, codes } => {
                    self.sets.extend(codes.iter().map(|code| f64::from(*code) + 1.0));
                    // A set may not be empty: nothing has the place -1.
                    self.sets.extend(codes.is_empty().then_some(-1.0));
                    self.sets.push(f64::NAN);
                    (*column, MEMBER, 0.0, false)
                }
            };
            self.columns.push(column as i64);
            self.modes.push(mode);
            self.splits.push(split);
            self.missing.push(i64::from(missing));
            for (side, (at, is_leaf)) in self.children.iter_mut().enumerate() {
                let (place, leaf) = places[left + side];
                at.push(place);
                is_leaf.push(leaf);
            }
        }
        Ok(())
    }
}

fn cannot(what: &str) -> Failure {
    Failure::input(format!("the trees cannot be exported: they have {what}, which ONNX has no operator for"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(question: Question) -> [(Question, usize); 3] {
        [(question, 1), (Question::Leaf(-1.0), 0), (Question::Leaf(1.0), 0)]
    }

    #[test]
    fn what_onnx_has_no_operator_for_is_refused_by_name() {
        let asked =
            |zero_missing| Question::Number { column: 1, threshold: 0.5, missing_left: true, zero_missing };
        for (question, coded, said) in
            [(asked(true), vec![], "zero_as_missing"), (asked(false), vec![1], "the order of categories")]
        {
            let error = Forest::default().add(&tree(question), &coded, 0, 0.0).unwrap_err().message;
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn children_are_told_among_nodes_or_leaves() {
        let mut forest = Forest::default();
        let number = Question::Number { column: 0, threshold: 0.5, missing_left: true, zero_missing: false };
        let category = Question::Category { column: 1, codes: vec![0, 33] };
        let leaf = Question::Leaf;
        forest
            .add(&[(number, 1), (leaf(1.0), 1), (category, 3), (leaf(2.0), 3), (leaf(3.0), 4)], &[1], 1, 0.5)
            .unwrap();
        forest.add(&tree(Question::Category { column: 1, codes: vec![] }), &[1], 0, 0.0).unwrap();
        assert_eq!(forest.roots, [0, 2]);
        assert_eq!(forest.children[0], (vec![0, 1, 3], vec![1, 1, 1]));
        assert_eq!(forest.children[1], (vec![1, 2, 4], vec![0, 1, 1]));
        assert_eq!(forest.leaves, [1.5, 2.5, 3.5, -1.0, 1.0]);
        assert_eq!(forest.outputs, [1, 1, 1, 0, 0]);
        assert_eq!(
            forest.sets.iter().filter(|code| !code.is_nan()).copied().collect::<Vec<_>>(),
            [1.0, 34.0, -1.0]
        );
    }
}
