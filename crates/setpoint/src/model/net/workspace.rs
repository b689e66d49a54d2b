//! The memory of a network's passes, kept from step to step.
//!
//! A batch is cut into groups of rows. A group has everything that its passes write to itself, so
//! groups run in parallel without locks; what is the same for all of them ([`Norm`]) is read only
//! while they run. Memory for what one thread needs at a time ([`Scratch`]) is lent from a shelf, and
//! so stays in that thread's cache.

use std::sync::Mutex;

pub(super) use super::batch_norm::Norm;
use super::plan::Plan;

/// Memory that grows to what the largest batch needed, and no more.
#[derive(Debug, Default)]
pub(super) struct Workspace {
    groups: Vec<Group>,
    /// Groups of the last batch.
    active: usize,
    /// One for each block; of no use where a block has no batch norm.
    norms: Vec<Norm>,
    /// The weights of each block as `[inputs][outputs]`, at their places among the parameters: what the
    /// forward product reads fastest.
    flipped: Vec<f32>,
    shelf: Shelf,
}

/// What a pass works with: the groups, and what they only read.
pub(super) struct Parts<'a> {
    pub groups: &'a mut [Group],
    pub norms: &'a mut [Norm],
    pub flipped: &'a [f32],
    pub shelf: &'a Shelf,
}

/// Some rows of a batch, and what their passes keep.
#[derive(Debug, Default)]
pub(super) struct Group {
    /// Place of its first row in the batch.
    pub first: usize,
    pub rows: usize,
    pub inputs: Vec<f32>,
    /// What each block gave: before batch norm if it has one, else in the end.
    pub outputs: Vec<Vec<f32>>,
    /// For each block but the last, the derivative by its output: after batch norm if it has one (but
    /// before ReLU and dropout), else by the product itself.
    pub slopes: Vec<Vec<f32>>,
    /// For each block with batch norm, its channels' sums.
    pub sums: Vec<Vec<f64>>,
    /// By all parameters, of this group's rows.
    pub gradient: Vec<f32>,
}

/// What one thread needs while it works on a group.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// Inputs of a block after batch norm.
    pub inputs: Vec<f32>,
    /// Their windows.
    pub windows: Vec<f32>,
    /// Derivatives by the windows.
    pub window_slopes: Vec<f32>,
    /// Derivatives by the product.
    pub slopes: Vec<f32>,
}

/// Scratch memory to borrow. What it holds never shows in a result.
#[derive(Debug, Default)]
pub(super) struct Shelf(Mutex<Vec<Scratch>>);

impl Shelf {
    pub(super) fn with(&self, work: impl FnOnce(&mut Scratch)) {
        // A thread that panicked left the list whole, at worst shorter.
        let lock = || self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let scratch = lock().pop();
        let mut scratch = scratch.unwrap_or_default();
        work(&mut scratch);
        lock().push(scratch);
    }
}

impl Workspace {
    /// Cuts a batch into groups and makes room for its forward pass.
    pub(super) fn cut(&mut self, plan: &Plan, batch: usize) {
        let size = plan.group_rows(batch);
        self.active = batch.div_ceil(size);
        if self.groups.len() < self.active {
            self.groups.resize_with(self.active, Group::default);
        }
        self.norms.resize_with(plan.blocks.len(), Norm::default);
        for (at, group) in self.groups[..self.active].iter_mut().enumerate() {
            group.first = at * size;
            group.rows = size.min(batch - group.first);
            grow(&mut group.inputs, group.rows * plan.inputs);
            group.outputs.resize_with(plan.blocks.len(), Vec::new);
            group.sums.resize_with(plan.blocks.len(), Vec::new);
            for ((block, outputs), sums) in plan.blocks.iter().zip(&mut group.outputs).zip(&mut group.sums) {
                grow(outputs, group.rows * block.outputs);
                sums.resize(block.norm.as_ref().map_or(0, |_| 2 * block.channels), 0.0);
            }
        }
    }

    /// Makes room for the backward pass of the last batch.
    pub(super) fn make_room_for_slopes(&mut self, plan: &Plan) {
        for group in &mut self.groups[..self.active] {
            group.slopes.resize_with(plan.blocks.len(), Vec::new);
            let inner = plan.blocks.len() - 1;
            for (block, slopes) in plan.blocks[..inner].iter().zip(&mut group.slopes) {
                grow(slopes, group.rows * block.outputs);
            }
            grow(&mut group.gradient, plan.parameter_count);
        }
    }

    /// Flips the weights for forward passes with these parameters.
    pub(super) fn flip(&mut self, plan: &Plan, parameters: &[f32]) {
        let flipped = grow(&mut self.flipped, plan.parameter_count);
        for block in &plan.blocks {
            let (weights, flipped) =
                (&parameters[block.weights.clone()], &mut flipped[block.weights.clone()]);
            transpose(weights, block.channels, block.depth, flipped);
        }
    }

    pub(super) fn parts(&mut self) -> Parts<'_> {
        let Self { groups, active, norms, flipped, shelf } = self;
        Parts { groups: &mut groups[..*active], norms, flipped, shelf }
    }

    /// What batch norm saw in the last batch, block by block.
    pub(super) fn norms(&self) -> &[Norm] {
        &self.norms
    }
}

#[cfg(test)]
impl Workspace {
    /// Where everything lies that a batch needs room for.
    pub(super) fn places(&self) -> Vec<*const f32> {
        let shelf = self.shelf.0.lock().unwrap();
        let groups = self.groups.iter().flat_map(|group| {
            group.outputs.iter().chain(&group.slopes).chain([&group.inputs, &group.gradient])
        });
        let scratch = shelf.iter().flat_map(|s| [&s.inputs, &s.windows, &s.window_slopes, &s.slopes]);
        groups.chain(scratch).chain([&self.flipped]).map(|values| values.as_ptr()).collect()
    }
}

/// Rows become columns, in squares that fit a few cache lines.
fn transpose(values: &[f32], rows: usize, columns: usize, into: &mut [f32]) {
    const SIDE: usize = 16;
    for top in (0..rows).step_by(SIDE) {
        for left in (0..columns).step_by(SIDE) {
            for column in left..columns.min(left + SIDE) {
                for row in top..rows.min(top + SIDE) {
                    into[column * rows + row] = values[row * columns + column];
                }
            }
        }
    }
}

/// At least `length` values; never shrinks, so that what was there needs no clearing.
pub(super) fn grow(values: &mut Vec<f32>, length: usize) -> &mut [f32] {
    if values.len() < length {
        values.resize(length, 0.0);
    }
    &mut values[..length]
}
