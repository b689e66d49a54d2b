//! Trees as tensors of a model file, and back with every number checked.
//!
//! ```text
//! trees.bias        F64 [outputs]  what the score of each output starts from; trees are theirs in turn
//! trees.start       U32 [trees+1]  where each tree's nodes start
//! trees.split       U32 [nodes]    column and marks, see `node`
//! trees.threshold   F32 [nodes]    0 for leaves and categories
//! trees.left        U32 [nodes]    the left child within the tree, the right one is next; 0 for a leaf
//! trees.value       F64 [leaves]   in the order of the leaves' nodes
//! trees.set_start   U32 [sets+1]   where each categorical node's set starts, in the order of the nodes
//! trees.set         U32 [words]    codes, one bit each
//! ```
//!
//! A file may come from anyone: what is not a sound tree is refused, so that scoring cannot leave its
//! arrays or walk in circles.

use std::collections::BTreeMap;

use setpoint::artifact::{Element, Tensor, TensorData};

use super::text::is_plain;
use super::{Ensemble, Node, Split};
use crate::error::TreesError;

/// What the tensors' names begin with.
pub const PREFIX: &str = "trees.";

impl Ensemble {
    /// The trees as named tensors.
    #[must_use]
    pub fn to_tensors(&self) -> BTreeMap<String, Tensor> {
        let leaf = |node: &Node| node.split.is_leaf();
        let thresholds = self
            .nodes
            .iter()
            .map(|node| if leaf(node) || node.split.is_categorical() { 0.0 } else { node.threshold });
        let mut left = Vec::with_capacity(self.nodes.len());
        for range in self.starts.windows(2) {
            let nodes = &self.nodes[range[0] as usize..range[1] as usize];
            left.extend(nodes.iter().map(|node| if leaf(node) { 0 } else { node.left - range[0] }));
        }
        let leaves = self.nodes.iter().zip(&self.values).filter(|(node, _)| leaf(node));
        let data = [
            ("bias", TensorData::F64(self.bias.clone())),
            ("start", TensorData::U32(self.starts.clone())),
            ("split", TensorData::U32(self.nodes.iter().map(|node| node.split.0).collect())),
            ("threshold", TensorData::F32(thresholds.collect())),
            ("left", TensorData::U32(left)),
            ("value", TensorData::F64(leaves.map(|(_, value)| *value).collect())),
            ("set_start", TensorData::U32(self.set_starts.clone())),
            ("set", TensorData::U32(self.words.clone())),
        ];
        data.into_iter().map(|(name, data)| (format!("{PREFIX}{name}"), Tensor::vector(data))).collect()
    }

    /// Trees from their tensors, for rows of `columns` columns. Other tensors are not looked at.
    ///
    /// # Errors
    /// If one is missing, or they are not those of sound trees.
    pub fn from_tensors(tensors: &BTreeMap<String, Tensor>, columns: usize) -> Result<Self, TreesError> {
        let source = Source(tensors);
        let bias: &[f64] = source.get("bias")?;
        bias.iter().try_for_each(|bias| finite("bias", *bias).map(drop))?;
        let starts = source.ascending("start", source.get::<u32>("split")?.len())?;
        if bias.is_empty() || !(starts.len() - 1).is_multiple_of(bias.len()) {
            let reason =
                format!("{} outputs: expected one, or a share of {} trees", bias.len(), starts.len() - 1);
            return Err(wrong("bias", reason));
        }
        let set_starts = source.ascending("set_start", source.get::<u32>("set")?.len())?;
        let splits: &[u32] = source.get("split")?;
        let (thresholds, left): (&[f32], &[u32]) = (source.get("threshold")?, source.get("left")?);
        for (name, got) in [("threshold", thresholds.len()), ("left", left.len())] {
            if got != splits.len() {
                return Err(wrong(
                    name,
                    format!("{got} numbers: expected {}, one for each node", splits.len()),
                ));
            }
        }
        if columns >= Split::COLUMNS {
            return Err(wrong("split", format!("{columns} columns: expected fewer than {}", Split::COLUMNS)));
        }
        let mut ensemble = Self {
            set_starts: set_starts.to_vec(),
            words: source.get("set")?.to_vec(),
            ..Self::constant(columns, bias)
        };
        let (mut leaves, mut sets) = (source.get::<f64>("value")?.iter(), 0..set_starts.len() as u32 - 1);
        for range in starts.windows(2) {
            let (first, last) = (range[0] as usize, range[1] as usize);
            if first == last {
                return Err(wrong("start", "a tree without nodes".into()));
            }
            for at in first..last {
                let split = Split(splits[at]);
                if !split.is_sound() || (!split.is_leaf() && split.column() >= columns) {
                    return Err(wrong("split", format!("{} of node {at} asks what no row has", split.0)));
                }
                let node = if split.is_leaf() {
                    let value = leaves.next().ok_or_else(|| wrong("value", "fewer than leaves".into()))?;
                    ensemble.values.push(finite("value", *value)?);
                    Node::leaf(at as u32)
                } else {
                    ensemble.values.push(0.0);
                    let child = first + left[at] as usize;
                    // Children after their parent: no path goes round.
                    if child <= at || child + 1 >= last {
                        return Err(wrong("left", format!("{} of node {at} is no later node", left[at])));
                    }
                    let threshold = finite("threshold", f64::from(thresholds[at]))? as f32;
                    let node = Node { threshold, split, left: child as u32 };
                    if split.is_categorical() {
                        node.with_set(
                            sets.next().ok_or_else(|| wrong("set_start", "fewer than sets".into()))?,
                        )
                    } else {
                        node
                    }
                };
                ensemble.nodes.push(node);
            }
            ensemble.starts.push(last as u32);
            ensemble.plain.push(is_plain(&ensemble.nodes[first..]));
        }
        if leaves.next().is_some() || sets.next().is_some() {
            return Err(wrong("value", "more than leaves, or more sets than categorical nodes".into()));
        }
        Ok(ensemble)
    }
}

struct Source<'a>(&'a BTreeMap<String, Tensor>);

impl<'a> Source<'a> {
    fn get<T: Element>(&self, name: &str) -> Result<&'a [T], TreesError> {
        let found = self.0.get(&format!("{PREFIX}{name}")).ok_or_else(|| wrong(name, "not there".into()))?;
        if found.shape != [found.data.len()] {
            return Err(wrong(name, format!("shape {:?}: expected one dimension", found.shape)));
        }
        T::of(&found.data).ok_or_else(|| wrong(name, "of another type".into()))
    }

    /// Numbers that ascend from 0 to `end`.
    fn ascending(&self, name: &str, end: usize) -> Result<&'a [u32], TreesError> {
        let starts: &[u32] = self.get(name)?;
        let ascend = starts.windows(2).all(|pair| pair[0] <= pair[1]);
        let ends = starts.first() == Some(&0) && starts.last().is_some_and(|last| *last as usize == end);
        if ascend && ends { Ok(starts) } else { Err(wrong(name, format!("does not ascend from 0 to {end}"))) }
    }
}

fn finite(name: &str, value: f64) -> Result<f64, TreesError> {
    if value.is_finite() { Ok(value) } else { Err(wrong(name, format!("{value} is not a finite number"))) }
}

fn wrong(name: &str, reason: String) -> TreesError {
    TreesError::Tensor { name: format!("{PREFIX}{name}"), reason }
}
