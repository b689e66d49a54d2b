//! A model after training: `monitor`, `recertify`, `sample`.

mod monitor;
mod recertify;
mod sample;

pub use monitor::monitor;
pub use recertify::recertify;
pub use sample::sample;

use std::path::Path;

use setpoint::artifact::ModelFile;
use setpoint_run::{Failure, Opened, opened};

/// A model file as it is, and ready to score.
fn open(path: &Path) -> Result<(ModelFile, Opened), Failure> {
    let file = ModelFile::load(path)?;
    let model = opened(&file).map_err(|failure| failure.context(path.display()))?;
    Ok((file, model))
}
