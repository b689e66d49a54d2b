//! A model after training: `monitor`, `recertify`, `sample`.

mod monitor;
mod recertify;
mod sample;

pub use monitor::monitor;
pub use recertify::recertify;
pub use sample::sample;
