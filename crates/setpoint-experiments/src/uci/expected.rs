//! The paper's own figures: pr-auc over recall in 0.95..1, times 100, mean ± deviation of five trials
//! (its table of section 4.3).

use crate::task::Source;

/// A figure of the paper.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// Mean over its trials.
    pub mean: f64,
    /// Their deviation.
    pub deviation: f64,
}

/// Trials behind each figure.
pub const TRIALS: f64 = 5.0;

/// What the paper has for a set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expected {
    /// Cross-entropy.
    pub cross_entropy: Figure,
    /// TensorFlow Constrained Optimization: our `lagrangian`.
    pub tfco: Figure,
    /// The paper's method.
    pub ico: Figure,
}

impl Expected {
    /// The paper's row for a set, if it has one.
    #[must_use]
    pub fn of(set: Source) -> Option<Self> {
        let [cross_entropy, tfco, ico] = match set {
            Source::Letter => [(15.13, 0.86), (20.49, 0.43), (23.04, 0.77)],
            Source::Ijcnn1 => [(21.18, 0.33), (26.14, 0.57), (27.28, 0.58)],
            Source::Adult => [(39.74, 0.29), (40.21, 0.38), (40.34, 0.41)],
            Source::Spambase => [(71.51, 1.73), (73.08, 1.70), (73.48, 1.80)],
            Source::Crime => [(47.00, 0.94), (47.04, 0.97), (47.03, 1.08)],
            _ => return None,
        }
        .map(|(mean, deviation)| Figure { mean, deviation });
        Some(Self { cross_entropy, tfco, ico })
    }
}
