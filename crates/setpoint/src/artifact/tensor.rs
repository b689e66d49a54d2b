//! Named arrays of numbers, as they are stored: little-endian, row-major.

use std::borrow::Cow;
use std::collections::BTreeMap;

use safetensors::{Dtype, View};
use serde::{Deserialize, Serialize};

use super::error::ArtifactErrorKind;

/// An array of numbers with its shape.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// Length along each dimension; empty for a single number.
    pub shape: Vec<usize>,
    /// The numbers, the last dimension running fastest.
    pub data: TensorData,
}

/// A type of numbers that tensors hold.
pub trait Element: Copy {
    /// The numbers, if they are of this type.
    fn of(data: &TensorData) -> Option<&[Self]>;

    /// None of this type.
    fn none() -> TensorData;
}

macro_rules! numbers {
    ($($(#[$doc:meta])* $variant:ident($type:ty),)*) => {
        /// The numbers of a [`Tensor`], and of what a run keeps between two steps.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "lowercase")]
        #[non_exhaustive]
        pub enum TensorData {
            $($(#[$doc])* $variant(Vec<$type>),)*
        }

        impl TensorData {
            /// How many numbers there are.
            #[must_use]
            #[allow(clippy::len_without_is_empty, reason = "shapes say how many")]
            pub fn len(&self) -> usize {
                match self {
                    $(Self::$variant(values) => values.len(),)*
                }
            }

            pub(super) fn dtype(&self) -> Dtype {
                match self {
                    $(Self::$variant(_) => Dtype::$variant,)*
                }
            }

            /// An empty vector of the type that safetensors calls this.
            pub(super) fn named(dtype: &str) -> Option<Self> {
                match dtype {
                    $(stringify!($variant) => Some(<$type>::none()),)*
                    _ => None,
                }
            }

            /// Makes room for so many more numbers.
            pub(super) fn reserve(&mut self, count: usize) {
                match self {
                    $(Self::$variant(values) => values.reserve_exact(count),)*
                }
            }

            /// Adds numbers from their bytes, which must be a multiple of the width.
            pub(super) fn extend_from_bytes(&mut self, bytes: &[u8]) {
                match self {
                    $(Self::$variant(values) => {
                        values.extend(bytes.as_chunks().0.iter().map(|&bytes| <$type>::from_le_bytes(bytes)));
                    })*
                }
            }

            fn to_bytes(&self) -> Vec<u8> {
                match self {
                    $(Self::$variant(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),)*
                }
            }
        }

        $(impl Element for $type {
            fn of(data: &TensorData) -> Option<&[Self]> {
                match data {
                    TensorData::$variant(values) => Some(values),
                    _ => None,
                }
            }

            fn none() -> TensorData {
                TensorData::$variant(Vec::new())
            }
        }

        impl From<Vec<$type>> for TensorData {
            fn from(values: Vec<$type>) -> Self {
                Self::$variant(values)
            }
        })*
    };
}

numbers! {
    /// 32-bit floats: weights.
    F32(f32),
    /// 64-bit floats.
    F64(f64),
    /// 64-bit counters.
    U64(u64),
    /// 32-bit indices.
    U32(u32),
}

impl Tensor {
    /// A tensor of one dimension.
    #[must_use]
    pub fn vector(data: TensorData) -> Self {
        Self { shape: vec![data.len()], data }
    }

    /// Type and shape in words, such as `F32 [3, 2]`.
    fn describe(&self) -> String {
        describe(&self.data, &self.shape)
    }

    /// Checks that the shape is that of the data.
    pub(super) fn check_shape(&self, name: &str) -> Result<(), ArtifactErrorKind> {
        if count(&self.shape) == Some(self.data.len()) {
            return Ok(());
        }
        let (shape, got) = (&self.shape, self.data.len());
        Err(ArtifactErrorKind::tensor(name, format!("shape {shape:?} does not fit {got} numbers")))
    }

    /// Checks that no number is NaN or infinite.
    pub(super) fn check_finite(&self, name: &str) -> Result<(), ArtifactErrorKind> {
        let found = match &self.data {
            TensorData::F32(values) => find_not_finite(values.iter().map(|&value| f64::from(value))),
            TensorData::F64(values) => find_not_finite(values.iter().copied()),
            TensorData::U64(_) | TensorData::U32(_) => None,
        };
        match found {
            Some((index, value)) => {
                Err(ArtifactErrorKind::NotFinite { what: format!("tensor \"{name}\""), index, value })
            }
            None => Ok(()),
        }
    }
}

/// A tensor's bytes beside its type and shape, ready for safetensors.
pub(super) struct Encoded<'a> {
    pub(super) dtype: Dtype,
    pub(super) shape: &'a [usize],
    pub(super) bytes: Vec<u8>,
}

impl<'a> From<&'a Tensor> for Encoded<'a> {
    fn from(tensor: &'a Tensor) -> Self {
        Self { dtype: tensor.data.dtype(), shape: &tensor.shape, bytes: tensor.data.to_bytes() }
    }
}

impl View for Encoded<'_> {
    fn dtype(&self) -> Dtype {
        self.dtype
    }

    fn shape(&self) -> &[usize] {
        self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        (&self.bytes).into()
    }

    fn data_len(&self) -> usize {
        self.bytes.len()
    }
}

/// The numbers of the tensor of this name, if it has this type and shape.
pub(super) fn find<'a, T: Element>(
    tensors: &'a BTreeMap<String, Tensor>,
    name: &str,
    shape: &[usize],
) -> Result<&'a [T], ArtifactErrorKind> {
    let Some(tensor) = tensors.get(name) else {
        let present = tensors.keys().cloned().collect();
        return Err(ArtifactErrorKind::Missing { name: name.to_owned(), present });
    };
    match T::of(&tensor.data) {
        Some(values) if tensor.shape == shape => Ok(values),
        _ => Err(ArtifactErrorKind::Mismatch {
            name: name.to_owned(),
            expected: describe(&T::none(), shape),
            found: tensor.describe(),
        }),
    }
}

/// The numbers in a tensor of this shape; none if there are more than can be counted.
pub(super) fn count(shape: &[usize]) -> Option<usize> {
    shape.iter().try_fold(1_usize, |product, &length| product.checked_mul(length))
}

/// The first number that is NaN or infinite, with its position.
pub(super) fn find_not_finite(values: impl Iterator<Item = f64>) -> Option<(usize, f64)> {
    values.enumerate().find(|(_, value)| !value.is_finite())
}

fn describe(data: &TensorData, shape: &[usize]) -> String {
    format!("{} {shape:?}", data.dtype())
}
