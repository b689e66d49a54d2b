//! How far a metric on a sample may be from its value on the population.
//!
//! | metric | method |
//! |---|---|
//! | a rate at a fixed threshold, no weights | [`clopper_pearson`], exact: never covers less than it says |
//! | roc-auc, no weights | [`delong`], on the logit scale |
//! | a rate of examples that come in entities | [`by_entity`], an approximation |
//! | anything, weights, differences between models | [`Bootstrap`], stratified by class, or of whole entities |
//!
//! None of them knows about a threshold chosen on the same data; that is what a certificate is for.

mod binomial;
mod bootstrap;
mod clopper_pearson;
mod delong;
mod draws;
mod entity;
mod normal;

pub(super) use binomial::pmf_pq;
pub use binomial::{lower_tail, upper_tail};
pub use bootstrap::{Bootstrap, Estimate};
pub(crate) use clopper_pearson::share;
pub use clopper_pearson::{at_least, at_most, clopper_pearson, of_counts, of_rate};
pub use delong::{DeLong, delong, delong_of};
pub use entity::{EntityCount, EntityShare, LEAST_ENTITIES, by_entity};
pub use normal::normal_quantile;

use super::MetricError;

/// A confidence interval, ends included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub lower: f64,
    /// Upper end.
    pub upper: f64,
    /// The chance, over samples, that it holds the population's value.
    pub confidence: f64,
}

fn check_confidence(value: f64) -> Result<(), MetricError> {
    if value > 0.0 && value < 1.0 { Ok(()) } else { Err(MetricError::Confidence { value }) }
}

fn sigmoid(x: f64) -> f64 {
    let small = (-x.abs()).exp();
    if x >= 0.0 { 1.0 / (1.0 + small) } else { small / (1.0 + small) }
}
