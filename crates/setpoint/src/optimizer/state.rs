//! What the next step of a run depends on, as named vectors: ready for a checkpoint.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::OptimizerError;
use crate::artifact::{Element, TensorData};

/// Named vectors.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct State {
    /// The vectors, by name.
    pub entries: BTreeMap<String, TensorData>,
}

impl State {
    /// The same with one more vector, or another of that name.
    #[must_use]
    pub fn with(mut self, name: &str, values: impl Into<TensorData>) -> Self {
        self.entries.insert(name.to_owned(), values.into());
        self
    }

    /// The same with one more vector, if there is one.
    #[must_use]
    pub fn with_some(self, name: &str, values: Option<impl Into<TensorData>>) -> Self {
        match values {
            Some(values) => self.with(name, values),
            None => self,
        }
    }

    /// The same with all vectors of another state, whose names then begin with `prefix`.
    #[must_use]
    pub fn with_all(mut self, prefix: &str, other: Self) -> Self {
        let named = |(name, values)| (format!("{prefix}{name}"), values);
        self.entries.extend(other.entries.into_iter().map(named));
        self
    }

    /// The vectors whose names begin with `prefix`, which is taken off.
    #[must_use]
    pub fn all(&self, prefix: &str) -> Self {
        let own = |(name, values): (&String, &TensorData)| {
            name.strip_prefix(prefix).map(|name| (name.to_owned(), values.clone()))
        };
        Self { entries: self.entries.iter().filter_map(own).collect() }
    }

    /// A vector, if there is one of that name.
    ///
    /// # Errors
    /// If it is of another type.
    pub fn find<T: Element>(&self, name: &str) -> Result<Option<&[T]>, OptimizerError> {
        let found = self.entries.get(name).map(|values| T::of(values).ok_or_else(|| damaged(name)));
        found.transpose()
    }

    /// A vector.
    ///
    /// # Errors
    /// If there is none of that name and type.
    pub fn get<T: Element>(&self, name: &str) -> Result<&[T], OptimizerError> {
        self.find(name)?.ok_or_else(|| damaged(name))
    }

    /// A vector of this length.
    ///
    /// # Errors
    /// If there is none of that name, type and length.
    pub fn sized<T: Element>(&self, name: &str, length: usize) -> Result<&[T], OptimizerError> {
        self.get(name).and_then(|values| if values.len() == length { Ok(values) } else { Err(damaged(name)) })
    }

    /// The numbers of a vector of known length.
    ///
    /// # Errors
    /// If there is none of that name, type and length.
    pub fn array<T: Element, const N: usize>(&self, name: &str) -> Result<[T; N], OptimizerError> {
        self.get(name)?.try_into().map_err(|_| damaged(name))
    }
}

/// That an entry cannot be used.
pub(crate) fn damaged(name: &str) -> OptimizerError {
    OptimizerError::State { name: name.to_owned() }
}
