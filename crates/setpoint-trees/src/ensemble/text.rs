//! Reads trees from the text that LightGBM saves models as.
//!
//! A header, then for each tree lines `field=values`; inner nodes and leaves are numbered apart, and
//! a child below 0 is the leaf `-(child + 1)`. `decision_type` packs bit 0: categorical, bit 1: the
//! default is left, bits 2 and 3: what is missing (0 nothing, 1 zero, 2 NaN).

use std::collections::{HashMap, VecDeque};
use std::str::FromStr;

use super::node::threshold;
use super::{Ensemble, Node, Split};
use crate::error::TreesError;

/// Bits of `decision_type`.
const CATEGORICAL: u8 = 1;
const DEFAULT_LEFT: u8 = 2;
/// Values of its bits 2 and 3.
const NOTHING_MISSING: u8 = 0;
const ZERO_MISSING: u8 = 1;

impl Ensemble {
    /// Reads a model that LightGBM saved, for rows of `columns` columns: an output for each tree of a round.
    ///
    /// # Errors
    /// If the text is not that of a model, or holds what cannot be scored here (linear leaves,
    /// averaged outputs).
    pub fn from_text(text: &str, columns: usize) -> Result<Self, TreesError> {
        let mut sections = text.split("\nTree=");
        let header = fields(sections.next().unwrap_or_default());
        let wrong = |field, reason: String| TreesError::Text { tree: 0, field, reason };
        if !header.get("version").is_some_and(|version| version.starts_with('v')) {
            return Err(wrong("version", "not there: this is not a model that LightGBM saved".into()));
        }
        let trees = text.matches("\nTree=").count();
        let found = header.get("num_tree_per_iteration").copied().unwrap_or_default();
        let whole = |outputs: &usize| *outputs > 0 && trees.is_multiple_of(*outputs);
        let Some(outputs) = found.parse().ok().filter(whole) else {
            let reason = format!("{found:?}: expected a number of which {trees} trees are whole rounds");
            return Err(wrong("num_tree_per_iteration", reason));
        };
        if header.contains_key("average_output") || text.contains("\naverage_output") {
            return Err(wrong("average_output", "a forest's average: expected a sum".into()));
        }
        if columns >= Split::COLUMNS {
            return Err(wrong("columns", format!("{columns}: expected fewer than {}", Split::COLUMNS)));
        }
        let mut ensemble = Self::constant(columns, &vec![0.0; outputs]);
        for (tree, section) in sections.enumerate() {
            let body = section.split("\nend of trees").next().unwrap_or_default();
            let tree = Tree::read(tree, body)?;
            ensemble.push(&tree)?;
        }
        Ok(ensemble)
    }

    /// Adds a tree, its nodes in breadth-first order.
    fn push(&mut self, tree: &Tree) -> Result<(), TreesError> {
        let start = self.nodes.len();
        let total = tree.leaf_values.len() + tree.splits.len();
        if start + total > u32::MAX as usize {
            return Err(tree.wrong("num_leaves", "more nodes than can be numbered".into()));
        }
        let root = if tree.splits.is_empty() { -1 } else { 0 };
        let mut waiting = VecDeque::from([root]);
        let mut next = start + 1;
        while let Some(child) = waiting.pop_front() {
            let at = self.nodes.len() as u32;
            if child < 0 {
                let leaf = !child as usize;
                let value = tree.leaf_values.get(leaf).copied().filter(|value| value.is_finite());
                let Some(value) = value else {
                    return Err(tree.wrong("leaf_value", format!("leaf {leaf} has no finite value")));
                };
                self.nodes.push(Node::leaf(at));
                self.values.push(value);
                continue;
            }
            // A child that is named twice would never end.
            if next + 2 > start + total {
                return Err(tree.wrong("left_child", "the nodes do not make a tree".into()));
            }
            let node = self.node(tree, child as usize, next as u32)?;
            self.nodes.push(node);
            self.values.push(0.0);
            waiting.extend([tree.left[child as usize], tree.right[child as usize]]);
            next += 2;
        }
        self.starts.push(self.nodes.len() as u32);
        self.plain.push(is_plain(&self.nodes[start..]));
        Ok(())
    }

    fn node(&mut self, tree: &Tree, index: usize, left: u32) -> Result<Node, TreesError> {
        let (Some(column), Some(kind)) = (tree.splits.get(index), tree.kinds.get(index)) else {
            return Err(tree.wrong("left_child", format!("there is no node {index}")));
        };
        if *column as usize >= self.columns {
            let reason = format!("column {column}: expected one below {}", self.columns);
            return Err(tree.wrong("split_feature", reason));
        }
        let double = tree.thresholds[index];
        if kind & CATEGORICAL != 0 {
            let set = double as usize;
            let bounds = tree.set_starts.get(set).zip(tree.set_starts.get(set + 1));
            let words = bounds.and_then(|(from, to)| tree.words.get(*from as usize..*to as usize));
            let Some(words) = words else {
                return Err(tree.wrong("cat_boundaries", format!("there is no set {set}")));
            };
            self.words.extend_from_slice(words);
            self.set_starts.push(self.words.len() as u32);
            let set = self.set_starts.len() as u32 - 2;
            return Ok(Node { threshold: 0.0, split: Split::category(*column), left }.with_set(set));
        }
        let Some(threshold) = threshold(double) else {
            return Err(tree.wrong("threshold", format!("{double} is below every float")));
        };
        let default_left = kind & DEFAULT_LEFT != 0;
        let split = match (kind >> 2) & 3 {
            // What is missing counts as zero.
            NOTHING_MISSING => Split::number(*column, false, 0.0 <= threshold),
            ZERO_MISSING => Split::number(*column, true, default_left),
            _ => Split::number(*column, false, default_left),
        };
        Ok(Node { threshold, split, left })
    }
}

/// Whether every decision is `x <= threshold`, but for NaN.
pub(super) fn is_plain(nodes: &[Node]) -> bool {
    nodes.iter().all(|node| !node.split.is_categorical() && !node.split.zero_missing())
}

/// One tree's lines, as numbers.
struct Tree {
    tree: usize,
    splits: Vec<u32>,
    kinds: Vec<u8>,
    thresholds: Vec<f64>,
    left: Vec<i64>,
    right: Vec<i64>,
    leaf_values: Vec<f64>,
    set_starts: Vec<u32>,
    words: Vec<u32>,
}

impl Tree {
    fn read(tree: usize, body: &str) -> Result<Self, TreesError> {
        let fields = fields(body);
        let wrong = |field, reason| TreesError::Text { tree, field, reason };
        if fields.get("is_linear").is_some_and(|linear| *linear != "0") {
            return Err(wrong("is_linear", "linear leaves: expected constant ones".into()));
        }
        let leaves: usize = match numbers(tree, &fields, "num_leaves")?[..] {
            [leaves] if leaves > 0 => leaves,
            _ => return Err(wrong("num_leaves", "expected a positive number".into())),
        };
        let inner = leaves - 1;
        let read = Self {
            tree,
            splits: numbers(tree, &fields, "split_feature")?,
            kinds: numbers(tree, &fields, "decision_type")?,
            thresholds: numbers(tree, &fields, "threshold")?,
            left: numbers(tree, &fields, "left_child")?,
            right: numbers(tree, &fields, "right_child")?,
            leaf_values: numbers(tree, &fields, "leaf_value")?,
            set_starts: numbers(tree, &fields, "cat_boundaries")?,
            words: numbers(tree, &fields, "cat_threshold")?,
        };
        let lengths = [
            ("split_feature", read.splits.len(), inner),
            ("decision_type", read.kinds.len(), inner),
            ("threshold", read.thresholds.len(), inner),
            ("left_child", read.left.len(), inner),
            ("right_child", read.right.len(), inner),
            ("leaf_value", read.leaf_values.len(), leaves),
        ];
        for (field, got, expected) in lengths {
            if got != expected {
                return Err(wrong(field, format!("{got} values: expected {expected}")));
            }
        }
        Ok(read)
    }

    fn wrong(&self, field: &'static str, reason: String) -> TreesError {
        TreesError::Text { tree: self.tree, field, reason }
    }
}

fn fields(text: &str) -> HashMap<&str, &str> {
    text.lines().filter_map(|line| line.split_once('=')).collect()
}

/// The numbers of a field; none where it is not there.
fn numbers<T: FromStr>(
    tree: usize,
    fields: &HashMap<&str, &str>,
    field: &'static str,
) -> Result<Vec<T>, TreesError> {
    let text = fields.get(field).copied().unwrap_or_default();
    let number = |word: &str| {
        word.parse().map_err(|_| TreesError::Text {
            tree,
            field,
            reason: format!("{word:?} is not a number"),
        })
    };
    text.split_ascii_whitespace().map(number).collect()
}
