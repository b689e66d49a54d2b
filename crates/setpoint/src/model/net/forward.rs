//! From examples to scores.

use rayon::prelude::*;

use super::batch_norm::add_sums;
use super::dropout::Mask;
use super::elementwise::{add_bias, add_bias_relu, relu};
use super::inputs::Inputs;
use super::matmul::{Matrix, multiply};
use super::plan::{Block, Plan};
use super::workspace::{Group, Norm, Parts, Scratch, Workspace, grow};

/// Which examples a batch is made of: places in `rows` (all, if `None`), through `view` if there is one.
#[derive(Clone, Copy)]
pub(super) struct Selection<'a> {
    pub inputs: &'a Inputs,
    pub view: Option<&'a [u32]>,
    pub rows: Option<&'a [u32]>,
    /// Place of the first row.
    pub first: usize,
}

impl Selection<'_> {
    fn copy(&self, place: usize, into: &mut [f32]) {
        let place = self.first + place;
        let row = self.rows.map_or(place, |rows| rows[place] as usize);
        let row = self.view.map_or(row, |view| view[row] as usize);
        self.inputs.copy(row, into);
    }
}

/// What a pass is for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Mode {
    /// To learn: with the statistics of the batch, and dropout.
    Learn { seed: u64, step: u64 },
    /// To score: with running statistics, without dropout.
    Score,
}

impl Mode {
    /// The masks of a block in this pass, if it has any.
    pub(super) fn mask(self, block: &Block) -> Option<Mask> {
        match (self, block.dropout) {
            (Self::Learn { seed, step }, Some(dropout)) => Some(Mask::new(dropout, seed, step)),
            _ => None,
        }
    }
}

/// Scores the batch that the workspace was cut for, with weights that it has flipped.
pub(super) fn forward(
    plan: &Plan,
    parameters: &[f32],
    selection: Selection<'_>,
    mode: Mode,
    workspace: &mut Workspace,
    scores: &mut [f32],
) {
    let Parts { groups, norms, flipped, shelf } = workspace.parts();
    let whole = 0..plan.blocks.len();
    let stages =
        if matches!(mode, Mode::Learn { .. }) { &*plan.stages } else { std::slice::from_ref(&whole) };
    if matches!(mode, Mode::Score) {
        for (block, norm) in plan.blocks.iter().zip(norms.iter_mut()) {
            if let Some(place) = &block.norm {
                norm.in_use(&parameters[place.clone()]);
            }
        }
    }
    for stage in stages {
        let pass = Pass { plan, parameters, norms, mode };
        groups.par_iter_mut().for_each(|group| {
            shelf.with(|scratch| {
                if stage.start == 0 {
                    let rows = group.inputs.chunks_exact_mut(plan.inputs).take(group.rows);
                    rows.enumerate().for_each(|(row, values)| selection.copy(group.first + row, values));
                }
                for at in stage.clone() {
                    pass.block(at, flipped, group, scratch);
                }
            });
        });
        let last = &plan.blocks[stage.end - 1];
        if let Some(place) = &last.norm {
            let count = groups.iter().map(|group| group.rows).sum::<usize>() * last.positions;
            let sums = groups.iter().map(|group| &*group.sums[stage.end - 1]);
            norms[stage.end - 1].learn(&parameters[place.clone()], count, sums);
        }
    }
    for group in groups.iter() {
        let Some(outputs) = group.outputs.last() else { continue };
        let count = group.rows * plan.scores();
        scores[group.first * plan.scores()..][..count].copy_from_slice(&outputs[..count]);
    }
}

/// What all groups share in a pass.
#[derive(Clone, Copy)]
pub(super) struct Pass<'a> {
    pub plan: &'a Plan,
    pub parameters: &'a [f32],
    pub norms: &'a [Norm],
    pub mode: Mode,
}

impl Pass<'_> {
    fn block(&self, at: usize, flipped: &[f32], group: &mut Group, scratch: &mut Scratch) {
        let block = &self.plan.blocks[at];
        let weights = Matrix::new(&flipped[block.weights.clone()], block.depth, block.channels);
        let Group { first, rows, inputs, outputs, sums, .. } = group;
        let (before, outputs) = outputs.split_at_mut(at);
        let before = before.last().unwrap_or(inputs);
        sums[at].fill(0.0);
        for start in (0..*rows).step_by(block.chunk) {
            let count = block.chunk.min(*rows - start);
            let stored = &before[start * block.inputs..][..count * block.inputs];
            let outputs = &mut outputs[0][start * block.outputs..][..count * block.outputs];
            let inputs = self.inputs(at, stored, *first + start, &mut scratch.inputs);
            let windows = block.windows(inputs, &mut scratch.windows);
            multiply(Matrix::new(windows, count * block.positions, block.depth), weights, outputs, false);
            let after = block.norm.is_none();
            match &block.bias {
                Some(bias) if after && block.relu => add_bias_relu(outputs, &self.parameters[bias.clone()]),
                Some(bias) => add_bias(outputs, &self.parameters[bias.clone()]),
                None if after && block.relu => relu(outputs),
                None => {}
            }
            if after {
                if let Some(mask) = self.mode.mask(block) {
                    mask.apply(*first + start, block.outputs, outputs);
                }
            } else if matches!(self.mode, Mode::Learn { .. }) {
                add_sums(outputs, outputs, &mut sums[at]);
            }
        }
    }

    /// What goes into a block, from what the block before it stored.
    pub(super) fn inputs<'b>(
        &self,
        at: usize,
        stored: &'b [f32],
        first: usize,
        scratch: &'b mut Vec<f32>,
    ) -> &'b [f32] {
        let Some(before) = at.checked_sub(1).map(|before| &self.plan.blocks[before]) else { return stored };
        if before.norm.is_none() {
            return stored;
        }
        let inputs = grow(scratch, stored.len());
        self.norms[at - 1].apply(stored, inputs, before.relu);
        if let Some(mask) = self.mode.mask(before) {
            mask.apply(first, before.outputs, inputs);
        }
        inputs
    }
}

impl Block {
    /// The rows that the weights are multiplied with.
    pub(super) fn windows<'b>(&self, inputs: &'b [f32], scratch: &'b mut Vec<f32>) -> &'b [f32] {
        let Some(window) = &self.window else { return inputs };
        let windows = grow(scratch, inputs.len() / self.inputs * self.positions * self.depth);
        window.copy(inputs, windows);
        windows
    }
}
