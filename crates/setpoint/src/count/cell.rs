//! What is counted: the cells of a grid of thresholds, and what a function of them is multiplied back with.

use serde::{Deserialize, Serialize};

/// Smooth counts of one slice at one threshold, and their derivatives in the scores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// P: smooth count of predicted positives.
    pub positive: f64,
    /// N: smooth count of predicted negatives.
    pub negative: f64,
    /// dP/ds, summed: k Σ w φ'(k (s - t)).
    pub positive_slope: f64,
    /// dN/ds, summed: -k Σ w φ'(-k (s - t)).
    pub negative_slope: f64,
    /// d²P/ds², summed.
    pub positive_curvature: f64,
    /// d²N/ds², summed.
    pub negative_curvature: f64,
}

impl Cell {
    /// Its numbers.
    pub(crate) fn to_array(self) -> [f64; 6] {
        let Self {
            positive,
            negative,
            positive_slope,
            negative_slope,
            positive_curvature,
            negative_curvature,
        } = self;
        [positive, negative, positive_slope, negative_slope, positive_curvature, negative_curvature]
    }

    /// The cell of such numbers.
    pub(crate) fn from_array(numbers: [f64; 6]) -> Self {
        let [positive, negative, positive_slope, negative_slope, positive_curvature, negative_curvature] =
            numbers;
        Self { positive, negative, positive_slope, negative_slope, positive_curvature, negative_curvature }
    }

    /// Adds the counts of other examples of the same slice.
    pub fn merge(&mut self, other: &Self) {
        self.positive += other.positive;
        self.negative += other.negative;
        self.positive_slope += other.positive_slope;
        self.negative_slope += other.negative_slope;
        self.positive_curvature += other.positive_curvature;
        self.negative_curvature += other.negative_curvature;
    }
}

/// Which thresholds the examples of each group are compared with.
///
/// Every group has a row of `columns` thresholds; the cell of group g, column j
/// and label y has index `(g * columns + j) * 2 + y`, within its layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Number of groups, at least 1.
    pub groups: usize,
    /// Thresholds per group, at least 1.
    pub columns: usize,
    /// 1, or 2 where what hangs on decisions is counted too.
    pub layers: usize,
}

impl Shape {
    /// Number of cells.
    #[must_use]
    pub fn cells(self) -> usize {
        self.layers * self.layer()
    }

    /// Number of thresholds of the cells' grid: a row of columns for each group.
    #[must_use]
    pub fn grid(self) -> usize {
        self.groups * self.columns
    }

    /// Number of cells of a layer.
    #[must_use]
    pub fn layer(self) -> usize {
        self.groups * self.columns * 2
    }

    /// Index of a cell of the first layer.
    #[must_use]
    pub fn cell(self, group: usize, column: usize, label: bool) -> usize {
        (group * self.columns + column) * 2 + usize::from(label)
    }
}

/// What to multiply each example's slopes with: the score gradient is
///
/// ```text
/// v_i = w_i Σ_j  positive[c] k φ'(x_ij) - negative[c] k φ'(-x_ij)
///              + positive_slope[c] k² φ''(x_ij) + negative_slope[c] k² φ''(-x_ij)
/// ```
///
/// where c is the cell of example i's slice at threshold j. These are the
/// partial derivatives of a function of the counts (and, for the regulariser,
/// of the slopes) by each cell's fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CellPartial {
    /// By the cell's `positive`.
    pub positive: f64,
    /// By the cell's `negative`.
    pub negative: f64,
    /// By the cell's `positive_slope`.
    pub positive_slope: f64,
    /// By the cell's `negative_slope`.
    pub negative_slope: f64,
}
