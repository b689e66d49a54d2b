//! Checkpoints: the boosters that are done.
//!
//! Every booster is deterministic, so a run that is killed and resumed goes on after the last finished
//! booster and ends in the same bytes.

use setpoint::artifact::Tensor;
use setpoint::optimizer::State;

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

/// Boosters as the state of a checkpoint: booster i's begin with `i.`. The names are kept apart.
#[must_use]
pub fn pack(done: &[Finished]) -> (Vec<String>, State) {
    let state = done.iter().enumerate().fold(State::default(), |state, (index, finished)| {
        let tensors = finished.ensemble.to_tensors().into_iter();
        let own = State { entries: tensors.map(|(name, tensor)| (name, tensor.data)).collect() };
        state.with_all(&format!("{index}."), own)
    });
    (done.iter().map(|finished| finished.name.clone()).collect(), state)
}

/// The boosters that [`pack`] stored, for rows of `columns` columns.
///
/// # Errors
/// If a tensor is missing or not sound.
pub fn unpack(names: &[String], state: &State, columns: usize) -> Result<Vec<Finished>, TreesError> {
    let of = |(index, name): (usize, &String)| {
        let own = state.all(&format!("{index}.")).entries.into_iter();
        let tensors = own.map(|(name, values)| (name, Tensor::vector(values))).collect();
        let ensemble = Ensemble::from_tensors(&tensors, columns)?;
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
                ensemble: Ensemble::constant(3, &[f64::from(index)]),
            })
            .collect();
        let (names, mut state) = pack(&done);
        assert_eq!(unpack(&names, &state, 3).unwrap(), done);
        state.entries.remove("11.trees.bias");
        assert!(unpack(&names, &state, 3).is_err());
    }
}
