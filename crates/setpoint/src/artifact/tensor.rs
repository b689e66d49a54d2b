//! Named arrays of numbers, as they are stored: little-endian, row-major.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use safetensors::{Dtype, View};

use super::error::ArtifactErrorKind;

/// An array of numbers with its shape.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// Length along each dimension; empty for a single number.
    pub shape: Vec<usize>,
    /// The numbers, the last dimension running fastest.
    pub data: TensorData,
}

/// The numbers of a [`Tensor`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum TensorData {
    /// 32-bit floats: weights.
    F32(Vec<f32>),
    /// 64-bit floats.
    F64(Vec<f64>),
    /// 64-bit counters.
    U64(Vec<u64>),
    /// 32-bit indices.
    U32(Vec<u32>),
}

/// The types of numbers that a file may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    F32,
    F64,
    U64,
    U32,
}

impl Kind {
    pub(super) const ALL: [Self; 4] = [Self::F32, Self::F64, Self::U64, Self::U32];

    /// The name that safetensors has for it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::F32 => "F32",
            Self::F64 => "F64",
            Self::U64 => "U64",
            Self::U32 => "U32",
        }
    }

    /// Bytes of one number.
    pub(super) fn width(self) -> usize {
        match self {
            Self::F32 | Self::U32 => 4,
            Self::F64 | Self::U64 => 8,
        }
    }

    fn dtype(self) -> Dtype {
        match self {
            Self::F32 => Dtype::F32,
            Self::F64 => Dtype::F64,
            Self::U64 => Dtype::U64,
            Self::U32 => Dtype::U32,
        }
    }
}

impl Tensor {
    /// A tensor of one dimension.
    #[must_use]
    pub fn vector(data: TensorData) -> Self {
        Self { shape: vec![data.len()], data }
    }

    /// Type and shape in words, such as `F32 [3, 2]`.
    fn describe(&self) -> String {
        describe(self.data.kind(), &self.shape)
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

impl TensorData {
    /// How many numbers there are.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::F32(values) => values.len(),
            Self::F64(values) => values.len(),
            Self::U64(values) => values.len(),
            Self::U32(values) => values.len(),
        }
    }

    /// Whether there are no numbers.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn kind(&self) -> Kind {
        match self {
            Self::F32(_) => Kind::F32,
            Self::F64(_) => Kind::F64,
            Self::U64(_) => Kind::U64,
            Self::U32(_) => Kind::U32,
        }
    }

    /// An empty vector of a type, with room for so many numbers.
    pub(super) fn with_capacity(kind: Kind, count: usize) -> Self {
        match kind {
            Kind::F32 => Self::F32(Vec::with_capacity(count)),
            Kind::F64 => Self::F64(Vec::with_capacity(count)),
            Kind::U64 => Self::U64(Vec::with_capacity(count)),
            Kind::U32 => Self::U32(Vec::with_capacity(count)),
        }
    }

    /// Adds numbers from their bytes, which must be a multiple of the width.
    pub(super) fn extend_from_bytes(&mut self, bytes: &[u8]) {
        match self {
            Self::F32(values) => values.extend(bytes.as_chunks().0.iter().map(|&b| f32::from_le_bytes(b))),
            Self::F64(values) => values.extend(bytes.as_chunks().0.iter().map(|&b| f64::from_le_bytes(b))),
            Self::U64(values) => values.extend(bytes.as_chunks().0.iter().map(|&b| u64::from_le_bytes(b))),
            Self::U32(values) => values.extend(bytes.as_chunks().0.iter().map(|&b| u32::from_le_bytes(b))),
        }
    }

    fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::F32(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
            Self::F64(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
            Self::U64(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
            Self::U32(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        }
    }
}

/// A tensor's bytes beside its type and shape, ready for safetensors.
pub(super) struct Encoded<'a> {
    pub(super) kind: Kind,
    pub(super) shape: &'a [usize],
    pub(super) bytes: Vec<u8>,
}

impl<'a> From<&'a Tensor> for Encoded<'a> {
    fn from(tensor: &'a Tensor) -> Self {
        Self { kind: tensor.data.kind(), shape: &tensor.shape, bytes: tensor.data.to_bytes() }
    }
}

impl View for Encoded<'_> {
    fn dtype(&self) -> Dtype {
        self.kind.dtype()
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

/// A type of numbers that tensors hold.
pub(super) trait Element: Sized {
    const KIND: Kind;

    fn of(data: &TensorData) -> Option<&[Self]>;
}

macro_rules! element {
    ($type:ty, $variant:ident) => {
        impl Element for $type {
            const KIND: Kind = Kind::$variant;

            fn of(data: &TensorData) -> Option<&[Self]> {
                match data {
                    TensorData::$variant(values) => Some(values),
                    _ => None,
                }
            }
        }
    };
}

element!(f32, F32);
element!(f64, F64);
element!(u64, U64);
element!(u32, U32);

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
            expected: describe(T::KIND, shape),
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

fn describe(kind: Kind, shape: &[usize]) -> String {
    format!("{kind} {shape:?}")
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
