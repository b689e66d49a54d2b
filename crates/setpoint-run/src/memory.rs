//! Encoded rows in memory or, where they are too many for it, in a scratch file; and what needs them in memory.

use std::path::Path;

use setpoint::features::{Features, Layout, Stored};
use setpoint::message::quote;
use setpoint::model::{ModelError, StoredLinear};
use setpoint_data::{Encoder, Inputs, Table, layout};

use crate::blueprint::{Blueprint, Held};
use crate::choice::ModelChoice;
use crate::failure::Failure;

/// Bytes that a row takes in memory while features are on disk, about: labels, scores, and the sorted scores of the fifth that
/// a look is at. Measured: 23 at the peak of a run on 50,000,000 rows, the program included.
const ROW_BYTES: usize = 20;

/// Rows of a part, on their way from the encoder to the model.
pub(crate) enum Growing {
    Here(Option<Features>),
    /// In a scratch file.
    There(Box<Stored>),
}

impl Growing {
    pub(crate) fn new(encoder: &Encoder, scratch: Option<&Path>) -> Result<Self, Failure> {
        let Some(directory) = scratch else { return Ok(Self::Here(None)) };
        let layout = match &encoder.inputs {
            Inputs::Table(_) => layout(encoder.readings()),
            Inputs::Sparse { scales, .. } => {
                let mut layout = Layout::default();
                layout.add_entries(scales.len());
                layout
            }
        };
        Ok(Self::There(Box::new(Stored::create(layout.into(), directory)?)))
    }

    pub(crate) fn add(&mut self, block: Features) -> Result<(), ModelError> {
        match self {
            Self::Here(all) => *all = Some(block),
            Self::There(stored) => stored.push(&block)?,
        }
        Ok(())
    }

    pub(crate) fn hold(self, blueprint: &Blueprint) -> Result<Held, Failure> {
        match self {
            Self::Here(Some(features)) => blueprint.hold(features),
            Self::Here(None) => Err(Failure::input("there are no rows")),
            Self::There(stored) => Ok(Held::Model(Box::new(StoredLinear::new(stored.finish()?)))),
        }
    }
}

/// Refuses by name what needs all rows in memory.
pub(crate) fn refuse_on_disk(table: &Table, encoder: &Encoder, choice: &ModelChoice) -> Result<(), Failure> {
    let texts = encoder.texts().into_iter().next();
    let what = match choice {
        ModelChoice::Linear if table.classes().is_some() => "models of several classes need".to_owned(),
        ModelChoice::Linear if table.queries().is_some() => "goals per query need".to_owned(),
        ModelChoice::Linear if texts.is_some() => {
            format!("column {}, read word by word, needs", quote(texts.unwrap_or_default()))
        }
        ModelChoice::Linear => return Ok(()),
        other => return Err(too_many(other)),
    };
    Err(Failure::input(format!("‹memory›: the rows take more than that, and {what} all of them in memory")))
}

/// What to say of a kind of model that needs all rows in memory, where they are too many.
pub fn too_many(choice: &ModelChoice) -> Failure {
    Failure::input(format!(
        "‹memory›: the rows take more than that, and {choice} models need all of them in memory"
    ))
}

/// Refuses a limit that does not hold what training needs in memory, features aside.
///
/// # Errors
/// With what it takes.
pub fn check_memory(table: &Table, bytes: usize) -> Result<(), Failure> {
    let there = |there: bool, bytes: usize| if there { bytes } else { 0 };
    let row = ROW_BYTES
        + there(table.weights().is_some(), 2 * size_of::<f32>())
        + there(table.groups().is_some(), 2 * size_of::<u32>())
        + there(table.entities().is_some(), 4 * size_of::<u32>())
        + there(table.times().is_some(), 3 * size_of::<f64>())
        + there(table.stakes().is_some(), 4 * size_of::<f64>());
    let needed = table.rows().saturating_mul(row);
    if needed <= bytes {
        return Ok(());
    }
    Err(Failure::input(format!(
        "‹memory›: too little: labels, scores and lists of {} rows take about {} MB, features aside; give that much, or \
         fewer rows",
        table.rows(),
        needed.div_ceil(1_000_000)
    )))
}
