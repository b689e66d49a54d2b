//! The paper's own figures: pr-auc over recall in 0.95..1, times 100, mean and deviation of five trials
//! (its table of section 4.3).

use crate::{Method, Source};

/// Trials behind each figure.
pub const TRIALS: f64 = 5.0;

/// The columns of the paper's table; its TFCO is our `lagrangian`.
pub const METHODS: [Method; 3] = [Method::CrossEntropy, Method::Lagrangian, Method::Ico];

/// The paper's row for a set, if it has one.
pub fn expected(set: Source) -> Option<[(f64, f64); 3]> {
    Some(match set {
        Source::Letter => [(15.13, 0.86), (20.49, 0.43), (23.04, 0.77)],
        Source::Ijcnn1 => [(21.18, 0.33), (26.14, 0.57), (27.28, 0.58)],
        Source::Adult => [(39.74, 0.29), (40.21, 0.38), (40.34, 0.41)],
        Source::Spambase => [(71.51, 1.73), (73.08, 1.70), (73.48, 1.80)],
        Source::Crime => [(47.00, 0.94), (47.04, 0.97), (47.03, 1.08)],
        _ => return None,
    })
}
