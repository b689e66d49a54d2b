//! Trained trees, owned: flat arrays that are read, stored, combined and scored without LightGBM.
//!
//! A score is a constant plus one leaf's value from each tree. With several outputs, a score for each class,
//! every round has a tree for each, in turn. A split asks one column:
//!
//! ```text
//! numbers      left where x <= threshold; a missing x goes where the node says
//! categories   left where the code is in the node's set; a missing or unknown code goes right
//! ```
//!
//! Both children of a node lie side by side, so that one index is enough, and after their parent, so
//! that every path ends. A leaf is its own child: rows that arrive early wait there for the others.
//!
//! LightGBM compares doubles. Features are `f32`, and `x <= t` holds for an `f32` x just where
//! x <= the largest `f32` not above t: thresholds are kept as that, with the same decisions.

mod node;
mod score;
mod tensor;
mod text;
mod view;

#[cfg(test)]
mod tests;

use std::ops::Range;

use crate::error::TreesError;
use node::{Node, Split};
pub use tensor::PREFIX;
pub use view::Question;

/// A weighted sum of trees.
#[derive(Clone, Debug, PartialEq)]
pub struct Ensemble {
    columns: usize,
    /// What the score of each output starts from.
    bias: Vec<f64>,
    /// Where each tree's nodes start; one more entry than trees.
    starts: Vec<u32>,
    /// Which trees ask numbers only, with no zero that counts as missing.
    plain: Vec<bool>,
    nodes: Vec<Node>,
    /// The values of leaves; 0 for other nodes.
    values: Vec<f64>,
    /// Where each categorical split's set starts among the words; one more entry than sets.
    set_starts: Vec<u32>,
    /// Sets of codes, one bit each.
    words: Vec<u32>,
}

impl Ensemble {
    /// No trees: every row's score is `bias`, one number for each output.
    #[must_use]
    pub fn constant(columns: usize, bias: &[f64]) -> Self {
        Self {
            columns,
            bias: bias.to_vec(),
            starts: vec![0],
            plain: Vec::new(),
            nodes: Vec::new(),
            values: Vec::new(),
            set_starts: vec![0],
            words: Vec::new(),
        }
    }

    /// Number of columns that rows must have.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Number of scores of a row: one, or one for each class.
    #[must_use]
    pub fn outputs(&self) -> usize {
        self.bias.len()
    }

    /// Number of rounds, of a tree for each output.
    #[must_use]
    pub fn rounds(&self) -> usize {
        self.trees() / self.outputs()
    }

    /// Number of trees.
    #[must_use]
    pub fn trees(&self) -> usize {
        self.starts.len() - 1
    }

    /// Number of leaves over all trees.
    #[must_use]
    pub fn leaves(&self) -> usize {
        self.nodes.iter().filter(|node| node.split.is_leaf()).count()
    }

    /// What the score of each output starts from.
    #[must_use]
    pub fn bias(&self) -> &[f64] {
        &self.bias
    }

    /// The first rounds alone; all of them where there are no more.
    #[must_use]
    pub fn first(&self, rounds: usize) -> Self {
        let mut first = Self::constant(self.columns, &self.bias);
        first.extend(self, 0..rounds.min(self.rounds()) * self.outputs(), 1.0);
        first
    }

    /// The weighted sum of ensembles, as one: its scores are the weighted sums of theirs.
    ///
    /// ```
    /// use setpoint_trees::Ensemble;
    /// let (a, b) = (Ensemble::constant(2, &[1.0]), Ensemble::constant(2, &[4.0]));
    /// assert_eq!(Ensemble::combine(&[(1.0, &a), (-0.5, &b)])?.bias(), [-1.0]);
    /// # Ok::<(), setpoint_trees::TreesError>(())
    /// ```
    ///
    /// # Errors
    /// If there is none, a weight is not finite, or they are made for different numbers of columns or classes.
    pub fn combine(members: &[(f64, &Self)]) -> Result<Self, TreesError> {
        let Some((_, first)) = members.first() else {
            return Err(TreesError::Shape {
                found: "no ensemble".into(),
                expected: "at least one to combine",
            });
        };
        let mut sum = Self::constant(first.columns, &vec![0.0; first.outputs()]);
        for (weight, member) in members {
            let alike = member.columns == sum.columns && member.outputs() == sum.outputs();
            if !alike || !weight.is_finite() {
                return Err(TreesError::Shape {
                    found: format!(
                        "{} columns, {} outputs with weight {weight}",
                        member.columns,
                        member.outputs()
                    ),
                    expected: "the same columns and outputs in every ensemble, and finite weights",
                });
            }
            sum.bias.iter_mut().zip(&member.bias).for_each(|(sum, bias)| *sum += weight * bias);
            sum.extend(member, 0..member.trees(), *weight);
        }
        Ok(sum)
    }

    /// Adds these trees of another ensemble, their leaves times `weight`.
    pub(crate) fn extend(&mut self, other: &Self, trees: Range<usize>, weight: f64) {
        for tree in trees {
            let range = other.starts[tree] as usize..other.starts[tree + 1] as usize;
            let offset = self.nodes.len() as u32;
            for node in &other.nodes[range.clone()] {
                let mut node = *node;
                node.left = node.left - range.start as u32 + offset;
                if node.split.is_categorical() {
                    let set = node.set();
                    node = node.with_set(self.set_starts.len() as u32 - 1);
                    self.words.extend_from_slice(other.set(set));
                    self.set_starts.push(self.words.len() as u32);
                }
                self.nodes.push(node);
            }
            self.values.extend(other.values[range].iter().map(|value| weight * value));
            self.starts.push(self.nodes.len() as u32);
            self.plain.push(other.plain[tree]);
        }
    }

    /// The words of a set.
    fn set(&self, set: u32) -> &[u32] {
        let set = set as usize;
        &self.words[self.set_starts[set] as usize..self.set_starts[set + 1] as usize]
    }
}
