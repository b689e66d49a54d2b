//! The plain `f64` counts that the fast kernels are tested against: the formulas, written once more.

use super::{Cell, CellPartial, Count, Shape};
use crate::sample::{Sample, SampleError};
use crate::surrogate::Surrogate;

/// Counts by the definition, example by example.
pub(crate) struct Reference<'s> {
    pub(crate) sample: &'s Sample,
    pub(crate) by_group: bool,
    pub(crate) surrogate: Surrogate,
    pub(crate) sharpness: f64,
    pub(crate) scores: Vec<f64>,
}

impl Reference<'_> {
    fn group(&self, row: usize) -> usize {
        match self.sample.groups() {
            Some(groups) if self.by_group => groups.codes()[row] as usize,
            _ => 0,
        }
    }

    fn groups(&self) -> usize {
        self.sample.groups().filter(|_| self.by_group).map_or(1, |groups| groups.names().len())
    }

    /// Calls `visit(row, cell, margin, weight)` for every example and threshold, in every layer.
    fn visit(&self, thresholds: &[f64], mut visit: impl FnMut(usize, usize, f64, f64)) {
        let layers = 1 + usize::from(self.sample.stakes().is_some());
        let shape = Shape { groups: self.groups(), columns: thresholds.len() / self.groups(), layers };
        for (row, score) in self.scores.iter().enumerate() {
            let group = self.group(row);
            for column in 0..shape.columns {
                let margin = self.sharpness * (score - thresholds[group * shape.columns + column]);
                visit(
                    row,
                    shape.cell(group, column, self.sample.labels()[row]),
                    margin,
                    self.sample.weight(row),
                );
                if let Some(stakes) = self.sample.stakes() {
                    let cell = shape.layer() + shape.cell(group, column, stakes.better()[row]);
                    visit(row, cell, margin, f64::from(stakes.weights()[row]));
                }
            }
        }
    }

    /// Counts with each example's weight multiplied by a factor.
    fn count_scaled(&self, thresholds: &[f64], factor: impl Fn(usize) -> f64, cells: &mut [Cell]) {
        let (phi, k) = (self.surrogate, self.sharpness);
        cells.fill(Cell::default());
        self.visit(thresholds, |row, cell, x, weight| {
            let w = weight * factor(row);
            // A goal that is not in money has one layer of cells.
            let Some(cell) = cells.get_mut(cell) else { return };
            cell.merge(&Cell {
                positive: w * phi.value(x),
                negative: w * phi.value(-x),
                positive_slope: w * k * phi.slope(x),
                negative_slope: -w * k * phi.slope(-x),
                positive_curvature: w * k * k * phi.curvature(x),
                negative_curvature: w * k * k * phi.curvature(-x),
            });
        });
    }

    /// First-order change of the counts, as [`super::Counter::count_motion`].
    pub(crate) fn count_motion(&self, thresholds: &[f64], motion: &[f64], cells: &mut [Cell]) {
        self.count_scaled(thresholds, |row| motion[row], cells);
        for cell in cells {
            *cell = Cell { positive: cell.positive_slope, negative: cell.negative_slope, ..Cell::default() };
        }
    }

    /// v, as [`super::Counter::gradient`].
    pub(crate) fn gradient(&self, thresholds: &[f64], partials: &[CellPartial]) -> Vec<f64> {
        let (phi, k) = (self.surrogate, self.sharpness);
        let mut gradient = vec![0.0; self.scores.len()];
        self.visit(thresholds, |row, cell, x, weight| {
            let Some(partial) = partials.get(cell) else { return };
            gradient[row] += weight
                * (partial.positive * k * phi.slope(x) - partial.negative * k * phi.slope(-x)
                    + partial.positive_slope * k * k * phi.curvature(x)
                    + partial.negative_slope * k * k * phi.curvature(-x));
        });
        gradient
    }
}

impl Count for Reference<'_> {
    fn count(&mut self, thresholds: &[f64], cells: &mut [Cell]) -> Result<(), SampleError> {
        self.count_scaled(thresholds, |_| 1.0, cells);
        Ok(())
    }
}
