//! What a goal improves: a rate, or a mean of rates along a stretch of a curve.

use super::Money;
use super::rate::{Direction, Rate};

/// The quantity to improve; its direction follows from the rate.
#[derive(Clone, Debug, PartialEq)]
pub enum Objective {
    /// One rate at one operating point, such as `recall`.
    Rate(Rate),
    /// The normalised area under a stretch of a curve, such as `roc-auc @ fpr in 0..5%`.
    Area(Area),
    /// What decisions pay or cost, a row, such as `profit(tp=amount, fp=-5)`.
    Money(Money),
}

impl Objective {
    /// Which way the objective gets better.
    #[must_use]
    pub fn direction(&self) -> Direction {
        match self {
            Self::Rate(rate) => rate.direction(),
            Self::Area(_) => Direction::Up,
            Self::Money(money) => money.direction(),
        }
    }

    /// The rate of one operating point; none for an area.
    #[must_use]
    pub fn rate(&self) -> Option<Rate> {
        match self {
            Self::Rate(rate) => Some(*rate),
            Self::Area(_) => None,
            Self::Money(money) => Some(money.rate()),
        }
    }
}

/// Which curve an area lies under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Curve {
    /// Recall against fpr.
    Roc,
    /// Precision against recall.
    PrecisionRecall,
}

/// The stretch of a curve between two values of one of its rates.
///
/// In training, a mean of [`height`](Self::height) at thresholds where
/// [`axis`](Self::axis) has the midpoints of equal bins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Area {
    /// The curve.
    pub curve: Curve,
    /// The rate whose range is given: fpr or recall for roc, recall or precision for pr.
    pub axis: Rate,
    /// Lower end of the range.
    pub from: f64,
    /// Upper end of the range.
    pub to: f64,
}

impl Area {
    /// The whole area under a curve: over fpr for roc, over recall for pr.
    #[must_use]
    pub fn whole(curve: Curve) -> Self {
        let axis = match curve {
            Curve::Roc => Rate::FalsePositiveRate,
            Curve::PrecisionRecall => Rate::Recall,
        };
        Self { curve, axis, from: 0.0, to: 1.0 }
    }

    /// Whether this is the [`whole`](Self::whole) area, whose range goes without saying.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        *self == Self::whole(self.curve)
    }

    /// The rate that is averaged along the axis, or `None` where the curve lacks that axis.
    ///
    /// | curve | axis | height |
    /// |---|---|---|
    /// | roc | fpr | recall |
    /// | roc | recall | tnr |
    /// | pr | recall | precision |
    /// | pr | precision | recall |
    #[must_use]
    pub fn height(&self) -> Option<Rate> {
        match (self.curve, self.axis) {
            (Curve::Roc, Rate::FalsePositiveRate) => Some(Rate::Recall),
            (Curve::Roc, Rate::Recall) => Some(Rate::TrueNegativeRate),
            (Curve::PrecisionRecall, Rate::Recall) => Some(Rate::Precision),
            (Curve::PrecisionRecall, Rate::Precision) => Some(Rate::Recall),
            _ => None,
        }
    }

    /// The default number of thresholds that stand for the area in training.
    #[must_use]
    pub fn default_bins(&self) -> usize {
        match self.curve {
            Curve::Roc => 10,
            Curve::PrecisionRecall => 5,
        }
    }

    /// The midpoints of `bins` equal parts of the range.
    pub fn midpoints(&self, bins: usize) -> impl Iterator<Item = f64> + '_ {
        let width = (self.to - self.from) / bins as f64;
        (0..bins).map(move |bin| self.from + (bin as f64 + 0.5) * width)
    }
}
