//! The trees as plain data, for programs that write them down in another form.

use super::Ensemble;

/// What a node asks, or what a leaf gives.
#[derive(Clone, Debug, PartialEq)]
pub enum Question {
    /// No question: the row's value.
    Leaf(f64),
    /// Left where the number is not above the threshold.
    Number {
        /// The column.
        column: usize,
        /// The threshold.
        threshold: f32,
        /// Whether a missing number goes left.
        missing_left: bool,
        /// Whether zeros are missing too.
        zero_missing: bool,
    },
    /// Left where the code is among these; a missing or unknown one goes right.
    Category {
        /// The column.
        column: usize,
        /// The codes, ascending.
        codes: Vec<u32>,
    },
}

impl Ensemble {
    /// The nodes of a tree, the root first: each with the place of its left child; the right one is next.
    ///
    /// # Panics
    /// If there is no such tree.
    #[must_use]
    pub fn tree(&self, tree: usize) -> Vec<(Question, usize)> {
        let range = self.starts[tree] as usize..self.starts[tree + 1] as usize;
        let nodes = self.nodes[range.clone()].iter().zip(&self.values[range.clone()]);
        let question = nodes.map(|(node, value)| {
            let (split, column) = (node.split, node.split.column());
            let question = if split.is_leaf() {
                Question::Leaf(*value)
            } else if split.is_categorical() {
                let words = self.set(node.set()).iter().enumerate();
                let of = |(place, word): (usize, &u32)| {
                    let word = *word;
                    (0..32).filter(move |bit| word >> bit & 1 == 1).map(move |bit| place as u32 * 32 + bit)
                };
                Question::Category { column, codes: words.flat_map(of).collect() }
            } else {
                let (missing_left, zero_missing) = (split.missing_left(), split.zero_missing());
                Question::Number { column, threshold: node.threshold, missing_left, zero_missing }
            };
            (question, node.left as usize - range.start)
        });
        question.collect()
    }
}
