//! From the derivative by the scores to the derivative by the parameters.

use rayon::prelude::*;

use super::batch_norm::add_sums;
use super::elementwise::{add, add_column_sums, relu_slope};
use super::forward::{Mode, Pass};
use super::matmul::{Matrix, multiply};
use super::plan::Plan;
use super::window::add_back;
use super::workspace::{Group, Parts, Scratch, Workspace, grow};

/// Parameters whose sums over groups are taken at a time.
const PARAMETERS: usize = 1 << 14;

/// Derivatives by the scores: those that the last block's parameters learn by, and those that go on to
/// the blocks before it.
#[derive(Clone, Copy)]
pub(super) struct Slopes<'a> {
    pub head: &'a [f32],
    pub body: &'a [f32],
}

/// Overwrites `gradient` with that of the batch last learnt from.
pub(super) fn backward(
    plan: &Plan,
    parameters: &[f32],
    slopes: Slopes<'_>,
    mode: Mode,
    workspace: &mut Workspace,
    gradient: &mut [f32],
) {
    workspace.make_room_for_slopes(plan);
    let Parts { groups, norms, shelf, .. } = workspace.parts();
    for stage in plan.stages.iter().rev() {
        let pass = Pass { plan, parameters, norms, mode };
        groups.par_iter_mut().for_each(|group| {
            shelf.with(|scratch| {
                for at in stage.clone().rev() {
                    pass.block_backward(at, group, slopes, scratch);
                }
            });
        });
        let Some(before) = stage.start.checked_sub(1) else { continue };
        if let Some(place) = &plan.blocks[before].norm {
            let sums = groups.iter().map(|group| &*group.sums[before]);
            norms[before].backward(sums, &mut gradient[place.clone()]);
        }
    }
    let groups = &*groups;
    for block in &plan.blocks {
        let end = block.bias.as_ref().map_or(block.weights.end, |bias| bias.end);
        let learnt = block.weights.start..end;
        let parts = gradient[learnt.clone()].par_chunks_mut(PARAMETERS).enumerate();
        parts.for_each(|(part, into)| {
            into.fill(0.0);
            for group in groups {
                add(&group.gradient[learnt.start + part * PARAMETERS..][..into.len()], into);
            }
        });
    }
}

impl Pass<'_> {
    fn block_backward(&self, at: usize, group: &mut Group, slopes: Slopes<'_>, scratch: &mut Scratch) {
        let block = &self.plan.blocks[at];
        let weights = Matrix::new(&self.parameters[block.weights.clone()], block.channels, block.depth);
        let Group { first, rows, inputs, outputs, slopes: stored_slopes, sums, gradient } = group;
        let (before, outputs) = outputs.split_at(at);
        let stored = before.last().unwrap_or(inputs);
        let (slopes_before, stored_slopes) = stored_slopes.split_at_mut(at);
        let mut slopes_before = slopes_before.last_mut();
        let last = at + 1 == self.plan.blocks.len();
        let (by_weights, by_bias) = gradient[block.weights.start..].split_at_mut(block.weights.len());
        let mut by_bias = block.bias.as_ref().map(|bias| &mut by_bias[..bias.len()]);
        if let Some(by_bias) = &mut by_bias {
            by_bias.fill(0.0);
        }
        if let Some(before) = at.checked_sub(1) {
            sums[before].fill(0.0);
        }
        for start in (0..*rows).step_by(block.chunk) {
            let count = block.chunk.min(*rows - start);
            let values = start * block.outputs..(start + count) * block.outputs;
            let (own, on) = if last {
                let places = (*first + start) * block.outputs..(*first + start + count) * block.outputs;
                (&slopes.head[places.clone()], &slopes.body[places])
            } else if block.norm.is_some() {
                let own = grow(&mut scratch.slopes, values.len());
                self.norms[at].slope(&outputs[0][values.clone()], &stored_slopes[0][values], own);
                (&*own, &*own)
            } else {
                let own = &stored_slopes[0][values];
                (own, own)
            };
            let stored = &stored[start * block.inputs..][..count * block.inputs];
            let inputs = self.inputs(at, stored, *first + start, &mut scratch.inputs);
            let windows = block.windows(inputs, &mut scratch.windows);
            let lines = count * block.positions;
            multiply(
                Matrix::new(own, lines, block.channels).transposed(),
                Matrix::new(windows, lines, block.depth),
                by_weights,
                start > 0,
            );
            if let Some(by_bias) = &mut by_bias {
                add_column_sums(own, by_bias);
            }

            let Some(slopes_before) = &mut slopes_before else { continue };
            let slopes_before = &mut slopes_before[start * block.inputs..][..count * block.inputs];
            let on = Matrix::new(on, lines, block.channels);
            match &block.window {
                None => multiply(on, weights, slopes_before, false),
                Some(window) => {
                    let window_slopes = grow(&mut scratch.window_slopes, lines * block.depth);
                    multiply(on, weights, window_slopes, false);
                    add_back(window, window_slopes, slopes_before);
                }
            }
            let before = &self.plan.blocks[at - 1];
            if before.relu {
                relu_slope(inputs, slopes_before);
            }
            if let Some(mask) = self.mode.mask(before) {
                mask.apply(*first + start, before.outputs, slopes_before);
            }
            if before.norm.is_some() {
                add_sums(slopes_before, stored, &mut sums[at - 1]);
            }
        }
    }
}
