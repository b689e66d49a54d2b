//! Scores of rows.
//!
//! Trees are gone through in the outer loop and a few rows in the inner one: a tree's nodes stay in
//! the fastest cache, and the rows' steps do not wait for each other. A row's score is added up in the
//! order of the trees, as LightGBM does, so it does not depend on threads or on the other rows.

use std::ops::Range;

use rayon::prelude::*;

use super::node::ZERO;
use super::{Ensemble, Node};
use crate::error::TreesError;
use crate::features::{FeatureView, Layout};

/// Rows that go down a tree side by side.
const LANES: usize = 8;
/// Rows that one thread takes through all trees.
const BLOCK: usize = 128;

impl Ensemble {
    /// The scores of each row, rounded to `f32`: one for each output, row after row.
    ///
    /// # Errors
    /// If the rows have another number of columns, or `out` has not a place for each score.
    pub fn scores(&self, features: &FeatureView<'_>, out: &mut [f32]) -> Result<(), TreesError> {
        let mut raw = vec![0.0; out.len()];
        self.raw(features, &mut raw)?;
        out.iter_mut().zip(raw).for_each(|(out, raw)| *out = raw as f32);
        Ok(())
    }

    /// The scores of each row.
    ///
    /// # Errors
    /// As [`scores`](Self::scores).
    pub fn raw(&self, features: &FeatureView<'_>, out: &mut [f64]) -> Result<(), TreesError> {
        self.start(out);
        self.add(features, 0..self.trees(), out)
    }

    /// Writes what scores start from.
    pub(crate) fn start(&self, out: &mut [f64]) {
        out.chunks_mut(self.outputs()).for_each(|out| out.copy_from_slice(&self.bias[..out.len()]));
    }

    /// Adds what these trees give each row; the first of them is of the first output.
    pub(crate) fn add(
        &self,
        features: &FeatureView<'_>,
        trees: Range<usize>,
        out: &mut [f64],
    ) -> Result<(), TreesError> {
        let outputs = self.outputs();
        if features.columns() != self.columns || features.rows() * outputs != out.len() {
            return Err(TreesError::Shape {
                found: format!(
                    "{} rows of {} columns, {} places for scores",
                    features.rows(),
                    features.columns(),
                    out.len()
                ),
                expected: "the columns that the trees were trained on, and a place for each score of each row",
            });
        }
        match *features.layout() {
            Layout::Dense { values, columns } => {
                out.par_chunks_mut(BLOCK * outputs).zip(values.par_chunks(BLOCK * columns)).for_each(
                    |(out, values)| self.add_block(&self.nodes, trees.clone(), values, columns, out),
                );
            }
            Layout::Sparse { starts, indices, values, .. } => {
                let (nodes, slots, width) = self.compact();
                out.par_chunks_mut(BLOCK * outputs).enumerate().for_each_init(
                    || vec![0.0; BLOCK * width],
                    |dense, (block, out)| {
                        dense.fill(0.0);
                        let rows = out.len() / outputs;
                        for (row, dense) in dense.chunks_exact_mut(width).take(rows).enumerate() {
                            let row = block * BLOCK + row;
                            for at in starts[row]..starts[row + 1] {
                                if let Some(slot) = dense.get_mut(slots[indices[at] as usize] as usize) {
                                    *slot = values[at];
                                }
                            }
                        }
                        self.add_block(&nodes, trees.clone(), &dense[..rows * width], width, out);
                    },
                );
            }
        }
        Ok(())
    }

    /// The nodes with only the columns that they ask numbered, and where each column went.
    fn compact(&self) -> (Vec<Node>, Vec<u32>, usize) {
        let mut slots = vec![u32::MAX; self.columns];
        let mut width = 0;
        let mut nodes = self.nodes.clone();
        for node in nodes.iter_mut().filter(|node| !node.split.is_leaf()) {
            let slot = &mut slots[node.split.column()];
            if *slot == u32::MAX {
                *slot = width;
                width += 1;
            }
            node.split = node.split.with_column(*slot);
        }
        (nodes, slots, width.max(1) as usize)
    }

    /// Adds the trees' values to a block of dense rows.
    fn add_block(&self, nodes: &[Node], trees: Range<usize>, rows: &[f32], columns: usize, out: &mut [f64]) {
        let outputs = self.outputs();
        for tree in trees {
            let output = tree % outputs;
            let root = self.starts[tree];
            let range = root as usize..self.starts[tree + 1] as usize;
            let plain = self.plain[tree];
            let groups = rows.chunks_exact(LANES * columns);
            let rest = groups.remainder();
            let group = LANES * outputs;
            let (grouped, single) = out.split_at_mut(out.len() / group * group);
            for (rows, out) in groups.zip(grouped.chunks_exact_mut(group)) {
                let lanes: [&[f32]; LANES] =
                    std::array::from_fn(|lane| &rows[lane * columns..(lane + 1) * columns]);
                let leaves = if plain {
                    walk(&nodes[..range.end], root, lanes, |node, x| {
                        (x <= node.threshold) | (x.is_nan() & node.split.missing_left())
                    })
                } else {
                    walk(&nodes[..range.end], root, lanes, |node, x| self.goes_left(node, x))
                };
                for (out, leaf) in out.iter_mut().skip(output).step_by(outputs).zip(leaves) {
                    *out += self.values[leaf as usize];
                }
            }
            for (row, out) in rest.chunks_exact(columns).zip(single.iter_mut().skip(output).step_by(outputs))
            {
                let [leaf] = walk(&nodes[..range.end], root, [row], |node, x| self.goes_left(node, x));
                *out += self.values[leaf as usize];
            }
        }
    }

    /// Any node's decision.
    fn goes_left(&self, node: &Node, x: f32) -> bool {
        let split = node.split;
        if split.is_categorical() {
            // The cast saturates, and a set ends long before that; a code below 0 is in no set.
            let code = x as i32;
            let word = self.set(node.set()).get((code / 32) as usize);
            return !x.is_nan() && code >= 0 && word.is_some_and(|word| word >> (code % 32) & 1 == 1);
        }
        if x.is_nan() || (split.zero_missing() && x.abs() <= ZERO) {
            return split.missing_left();
        }
        x <= node.threshold
    }
}

/// Takes rows from the root to their leaves.
#[inline]
fn walk<const N: usize>(
    nodes: &[Node],
    root: u32,
    rows: [&[f32]; N],
    goes_left: impl Fn(&Node, f32) -> bool,
) -> [u32; N] {
    let mut at = [root; N];
    loop {
        let mut moved = false;
        for lane in 0..N {
            let node = &nodes[at[lane] as usize];
            let x = rows[lane][node.split.column()];
            // A leaf is its own child and says left to everything.
            let next = node.left + u32::from(!goes_left(node, x));
            moved |= next != at[lane];
            at[lane] = next;
        }
        if !moved {
            return at;
        }
    }
}
