//! One thing for each part of the data.

use serde::Serialize;

/// One thing for each part of the data, in the order in which they are used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ByPart<T> {
    /// What the parameters are fitted on.
    pub train: T,
    /// What chooses between fits.
    pub validation: T,
    /// What the threshold is chosen and certified on.
    pub calibration: T,
    /// What nothing is chosen on.
    pub test: T,
}

impl<T> ByPart<T> {
    /// Each part with its name.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &T)> {
        [
            ("train", &self.train),
            ("validation", &self.validation),
            ("calibration", &self.calibration),
            ("test", &self.test),
        ]
        .into_iter()
    }

    /// Each with the same part of another.
    pub fn zip<'a, U>(&'a self, other: &'a ByPart<U>) -> ByPart<(&'a T, &'a U)> {
        ByPart {
            train: (&self.train, &other.train),
            validation: (&self.validation, &other.validation),
            calibration: (&self.calibration, &other.calibration),
            test: (&self.test, &other.test),
        }
    }

    /// The part of a name.
    pub fn get(&self, name: &str) -> Option<&T> {
        self.iter().find(|(part, _)| *part == name).map(|(_, thing)| thing)
    }

    /// The part of a name, to change.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut T> {
        match name {
            "train" => Some(&mut self.train),
            "validation" => Some(&mut self.validation),
            "calibration" => Some(&mut self.calibration),
            "test" => Some(&mut self.test),
            _ => None,
        }
    }

    /// The same parts with something else in each.
    pub fn map<'a, U>(&'a self, mut change: impl FnMut(&'a T) -> U) -> ByPart<U> {
        ByPart {
            train: change(&self.train),
            validation: change(&self.validation),
            calibration: change(&self.calibration),
            test: change(&self.test),
        }
    }

    /// As [`map`](Self::map), ending at the first error.
    ///
    /// # Errors
    /// The first one that `change` returns.
    pub fn try_map<'a, U, E>(
        &'a self,
        mut change: impl FnMut(&'a T) -> Result<U, E>,
    ) -> Result<ByPart<U>, E> {
        Ok(ByPart {
            train: change(&self.train)?,
            validation: change(&self.validation)?,
            calibration: change(&self.calibration)?,
            test: change(&self.test)?,
        })
    }
}

impl<T> ByPart<Option<T>> {
    /// Whether no part has anything.
    pub fn is_none(&self) -> bool {
        self.iter().all(|(_, thing)| thing.is_none())
    }
}
