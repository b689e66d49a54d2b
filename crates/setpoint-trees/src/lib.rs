//! Boosted trees, trained for the operating point they will run at.
#![deny(unsafe_code)]
pub mod ensemble;
mod error;
mod features;
mod grow;
mod ico;
pub mod library;
mod parameters;

pub use ensemble::Ensemble;
pub use error::TreesError;
pub use features::{Data, Features};
pub use grow::Look;
pub use parameters::Parameters;

#[cfg(test)]
mod tests;
