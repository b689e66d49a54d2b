//! Functions of counts: sums of ratios of linear forms, and their derivatives.

use std::ops::Range;

use super::Problem;
use crate::count::Cell;
use crate::sample::ClassTotals;

/// A linear form of counts: constant + Σ (positive P_c + negative N_c).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Form {
    /// The constant part: whole-class totals.
    pub constant: f64,
    /// Coefficients on the smooth counts of single cells.
    pub terms: Vec<FormTerm>,
    /// What the constant is made of.
    pub(super) whole: Whole,
}

/// Coefficients on whole classes of some groups.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Whole {
    pub(super) groups: Range<usize>,
    pub(super) positives: f64,
    pub(super) negatives: f64,
}

impl Whole {
    fn value(&self, totals: &[ClassTotals]) -> f64 {
        let of = |class: &ClassTotals| self.positives * class.positives + self.negatives * class.negatives;
        totals[self.groups.clone()].iter().map(of).sum()
    }
}

/// Coefficients on the counts of one cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FormTerm {
    /// Which cell.
    pub cell: usize,
    /// On its predicted positives.
    pub positive: f64,
    /// On its predicted negatives.
    pub negative: f64,
}

impl Form {
    /// Ties it to these totals.
    pub(super) fn tie(&mut self, totals: &[ClassTotals]) {
        self.constant = self.whole.value(totals);
    }

    /// Its value for these counts.
    #[must_use]
    pub fn value(&self, cells: &[Cell]) -> f64 {
        self.terms.iter().fold(self.constant, |sum, term| {
            let cell = &cells[term.cell];
            sum + term.positive * cell.positive + term.negative * cell.negative
        })
    }
}

/// weight * numerator / denominator.
#[derive(Clone, Debug, PartialEq)]
pub struct Ratio {
    /// Factor in front.
    pub weight: f64,
    /// Above the line.
    pub numerator: Form,
    /// Below the line; positive for any counts.
    pub denominator: Form,
}

/// A sum of ratios of counts and a constant.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Combination {
    /// The constant part, such as minus a target.
    pub constant: f64,
    /// The ratios.
    pub ratios: Vec<Ratio>,
}

/// Which way a combination moves when a threshold rises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Monotone {
    /// Never falls.
    Rising,
    /// Never rises.
    Falling,
}

impl Combination {
    /// Its value for these counts.
    #[must_use]
    pub fn value(&self, cells: &[Cell]) -> f64 {
        self.ratios.iter().fold(self.constant, |sum, ratio| {
            sum + ratio.weight * ratio.numerator.value(cells) / ratio.denominator.value(cells)
        })
    }

    /// Calls `visit(cell, by P, by N)` with the partial derivatives by the counts.
    ///
    /// A cell may be visited more than once; contributions add up.
    pub fn visit_partials(&self, cells: &[Cell], mut visit: impl FnMut(usize, f64, f64)) {
        for ratio in &self.ratios {
            let denominator = ratio.denominator.value(cells);
            let value = ratio.numerator.value(cells) / denominator;
            let scale = ratio.weight / denominator;
            for term in &ratio.numerator.terms {
                visit(term.cell, scale * term.positive, scale * term.negative);
            }
            for term in &ratio.denominator.terms {
                visit(term.cell, -value * scale * term.positive, -value * scale * term.negative);
            }
        }
    }

    /// Adds `factor` times the second derivatives by the thresholds to `hessian` (row-major).
    ///
    /// For one ratio R = N / D, with subscripts for derivatives by thresholds,
    ///
    /// ```text
    /// R_jl = (N_jl - R D_jl - R_l D_j - R_j D_l) / D,      N_jl = D_jl = 0 for j != l
    /// ```
    pub fn add_threshold_hessian(&self, problem: &Problem, cells: &[Cell], factor: f64, hessian: &mut [f64]) {
        let thresholds = problem.thresholds();
        let derivatives = |form: &Form| {
            let mut first = vec![0.0; thresholds];
            let mut second = vec![0.0; thresholds];
            for term in &form.terms {
                let (cell, j) = (&cells[term.cell], problem.threshold_of(term.cell));
                first[j] -= term.positive * cell.positive_slope + term.negative * cell.negative_slope;
                second[j] +=
                    term.positive * cell.positive_curvature + term.negative * cell.negative_curvature;
            }
            (first, second)
        };
        for ratio in &self.ratios {
            let (n, nn) = derivatives(&ratio.numerator);
            let (d, dd) = derivatives(&ratio.denominator);
            let denominator = ratio.denominator.value(cells);
            let value = ratio.numerator.value(cells) / denominator;
            let slope = |j: usize| (n[j] - value * d[j]) / denominator;
            let scale = factor * ratio.weight / denominator;
            for j in 0..thresholds {
                hessian[j * thresholds + j] += scale * (nn[j] - value * dd[j]);
                for l in 0..thresholds {
                    hessian[j * thresholds + l] -= scale * (slope(l) * d[j] + slope(j) * d[l]);
                }
            }
        }
    }

    /// Ties it to these totals.
    pub(super) fn tie(&mut self, totals: &[ClassTotals]) {
        for ratio in &mut self.ratios {
            ratio.numerator.tie(totals);
            ratio.denominator.tie(totals);
        }
    }

    /// Every cell the combination depends on, some perhaps twice.
    pub(super) fn cells(&self) -> impl Iterator<Item = usize> + '_ {
        let forms = self.ratios.iter().flat_map(|ratio| [&ratio.numerator, &ratio.denominator]);
        forms.flat_map(|form| form.terms.iter().map(|term| term.cell))
    }

    /// Which way the combination moves with a threshold, where its form alone tells.
    pub(super) fn monotone(&self, problem: &Problem, threshold: usize) -> Option<Monotone> {
        let (mut rising, mut falling) = (true, true);
        for ratio in &self.ratios {
            if ratio.denominator.terms.iter().any(|term| problem.threshold_of(term.cell) == threshold) {
                return None;
            }
            for term in &ratio.numerator.terms {
                if problem.threshold_of(term.cell) == threshold {
                    // P falls and N rises with the threshold.
                    let (positive, negative) = (ratio.weight * term.positive, ratio.weight * term.negative);
                    rising &= positive <= 0.0 && negative >= 0.0;
                    falling &= positive >= 0.0 && negative <= 0.0;
                }
            }
        }
        match (rising, falling) {
            (true, false) => Some(Monotone::Rising),
            (false, true) => Some(Monotone::Falling),
            _ => None,
        }
    }

    pub(super) fn minus(mut self, other: Self, factor: f64) -> Self {
        self.constant -= factor * other.constant;
        self.ratios.extend(other.ratios.into_iter().map(|mut ratio| {
            ratio.weight *= -factor;
            ratio
        }));
        self
    }

    pub(super) fn plus(mut self, constant: f64) -> Self {
        self.constant += constant;
        self
    }

    /// This rate over another, where both are one fraction of a slice that no threshold moves:
    /// (N / n) / (M / m) = (m / n) N / M. `None` where they are not.
    pub(super) fn over(&self, other: &Self) -> Option<Self> {
        let ([above], [below]) = (&self.ratios[..], &other.ratios[..]) else { return None };
        if !(above.denominator.terms.is_empty() && below.denominator.terms.is_empty()) {
            return None;
        }
        let weight = below.denominator.constant / above.denominator.constant;
        let (numerator, denominator) = (above.numerator.clone(), below.numerator.clone());
        Some(Self { constant: 0.0, ratios: vec![Ratio { weight, numerator, denominator }] })
    }

    pub(super) fn scaled(mut self, factor: f64) -> Self {
        self.constant *= factor;
        for ratio in &mut self.ratios {
            ratio.weight *= factor;
        }
        self
    }
}
