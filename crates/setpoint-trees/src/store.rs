//! Checkpoints: the boosters that are done.
//!
//! Every booster is deterministic, so a run that is killed and resumed goes on after the last finished
//! booster and ends in the same bytes.

use std::collections::BTreeMap;

use setpoint::artifact::Tensor;

use crate::ensemble::Ensemble;
use crate::error::TreesError;

/// A booster that is done.
#[derive(Clone, Debug, PartialEq)]
pub struct Finished {
    /// What it was grown for: settings, rows and seed, as far as they differ within a run.
    pub name: String,
    /// Its trees.
    pub ensemble: Ensemble,
}

/// Where checkpoints are kept.
pub trait Store {
    /// The boosters that are done already, of a run with the same data, goal and settings.
    fn load(&mut self) -> Vec<Finished>;

    /// Keeps these boosters, whole or not at all.
    ///
    /// # Errors
    /// With the reason, which ends the run.
    fn save(&mut self, done: &[Finished]) -> Result<(), String>;
}

/// Boosters as the tensors of a checkpoint: booster i's begin with `i.`. The names are kept apart.
#[must_use]
pub fn pack(done: &[Finished]) -> (Vec<String>, BTreeMap<String, Tensor>) {
    let tensors = done.iter().enumerate().flat_map(|(index, finished)| {
        let tensors = finished.ensemble.to_tensors();
        tensors.into_iter().map(move |(name, tensor)| (format!("{index}.{name}"), tensor))
    });
    (done.iter().map(|finished| finished.name.clone()).collect(), tensors.collect())
}

/// The boosters that [`pack`] stored, for rows of `columns` columns.
///
/// # Errors
/// If a tensor is missing or not sound.
pub fn unpack(
    names: &[String],
    tensors: &BTreeMap<String, Tensor>,
    columns: usize,
) -> Result<Vec<Finished>, TreesError> {
    let of = |(index, name): (usize, &String)| {
        let prefix = format!("{index}.");
        let own = tensors.iter().filter_map(|(name, tensor)| {
            name.strip_prefix(&prefix).map(|name| (name.to_owned(), tensor.clone()))
        });
        let ensemble = Ensemble::from_tensors(&own.collect(), columns)?;
        Ok(Finished { name: name.clone(), ensemble })
    };
    names.iter().enumerate().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boosters_come_back_as_they_were() {
        let done: Vec<Finished> = (0..12)
            .map(|index| Finished {
                name: format!("booster {index}"),
                ensemble: Ensemble::constant(3, f64::from(index)),
            })
            .collect();
        let (names, mut tensors) = pack(&done);
        assert_eq!(unpack(&names, &tensors, 3).unwrap(), done);
        tensors.remove("11.trees.bias");
        assert!(unpack(&names, &tensors, 3).is_err());
    }
}
