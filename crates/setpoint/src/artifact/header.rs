//! The header of a safetensors file, read strictly.
//!
//! The crate `safetensors` writes our files; reading is done here, because a file may come from
//! anyone. Its reader keeps the last of two tensors of one name, adds up hostile offsets without
//! checking for overflow (a panic in a debug build), and builds a tree of the whole header before
//! it looks at any of it. Here names are unique, the entries of a tensor are known ones, sums are
//! checked, and nothing grows much beyond the header's own length.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry::{Occupied, Vacant};
use std::fmt;

use serde::Deserialize;
use serde::de::{self, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::error::ArtifactErrorKind;
use super::tensor::{TensorData, count};

/// Most bytes of a header. A tree of JSON values takes up to 20 times its text, hence a third of
/// the 100 MB that safetensors allows.
pub(super) const MAX_HEADER: u64 = 32 << 20;

/// Most tensors of a file.
pub(super) const MAX_TENSORS: usize = 1 << 16;

/// Most dimensions of a tensor.
pub(super) const MAX_RANK: usize = 8;

/// Where safetensors keeps the metadata, beside the tensors.
pub(super) const METADATA: &str = "__metadata__";

/// A header: the text under the metadata keys we know, and the tensors.
#[derive(Debug, Default)]
pub(super) struct Header {
    /// Text by key; keys of other programs are passed over.
    pub(super) metadata: BTreeMap<String, String>,
    entries: BTreeMap<String, Entry>,
}

/// Where a tensor's bytes are.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) name: String,
    /// None yet, of its type.
    pub(super) data: TensorData,
    pub(super) shape: Vec<usize>,
    /// Numbers that it will have; their bytes follow the previous tensor's.
    pub(super) count: usize,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    dtype: String,
    shape: Shape,
    data_offsets: (u64, u64),
}

/// A list of at most [`MAX_RANK`] lengths.
#[derive(Debug)]
struct Shape(Vec<usize>);

impl Header {
    /// Reads a header whose metadata of interest has one of these keys.
    pub(super) fn parse(text: &[u8], keys: &[&'static str]) -> Result<Self, ArtifactErrorKind> {
        let text = std::str::from_utf8(text).map_err(ArtifactErrorKind::header)?;
        let mut parser = serde_json::Deserializer::from_str(text);
        let header = parser.deserialize_map(HeaderVisitor { keys }).map_err(ArtifactErrorKind::header)?;
        parser.end().map_err(ArtifactErrorKind::header)?;
        Ok(header)
    }

    /// The tensors in the order of their bytes, which lie without gap or overlap, and where they end.
    pub(super) fn places(self) -> Result<(Vec<Place>, u64), ArtifactErrorKind> {
        let mut entries: Vec<(String, Entry)> = self.entries.into_iter().collect();
        entries.sort_by_key(|(_, entry)| entry.data_offsets);
        let mut end = 0;
        let mut places = Vec::with_capacity(entries.len());
        for (name, entry) in entries {
            let (from, to) = entry.data_offsets;
            let wrong = |reason: String| Err(ArtifactErrorKind::tensor(&name, reason));
            if from != end || to < from {
                return wrong(format!(
                    "bytes {from} to {to} do not follow byte {end}, where the last one ends"
                ));
            }
            let Some(data) = TensorData::named(&entry.dtype) else {
                return wrong(format!("type {} is none of F32, F64, U64 and U32", entry.dtype));
            };
            let shape = entry.shape.0;
            let count = count(&shape);
            let bytes = count.and_then(|count| count.checked_mul(data.dtype().bitsize() / 8));
            match (count, bytes) {
                (Some(count), Some(bytes)) if u64::try_from(bytes) == Ok(to - from) => {
                    end = to;
                    places.push(Place { name, data, shape, count });
                }
                _ => return wrong(format!("{} {shape:?} does not fit {} bytes", entry.dtype, to - from)),
            }
        }
        Ok((places, end))
    }
}

struct HeaderVisitor<'a> {
    keys: &'a [&'static str],
}

impl<'de> Visitor<'de> for HeaderVisitor<'_> {
    type Value = Header;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of tensors")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Header, A::Error> {
        let mut header = Header::default();
        let mut metadata = None;
        while let Some(name) = map.next_key::<String>()? {
            if name == METADATA {
                if metadata.replace(map.next_value_seed(MetadataVisitor { keys: self.keys })?).is_some() {
                    return Err(de::Error::custom("two entries of metadata"));
                }
            } else if header.entries.len() == MAX_TENSORS {
                return Err(de::Error::custom(format!("more than {MAX_TENSORS} tensors")));
            } else {
                match header.entries.entry(name) {
                    Vacant(place) => place.insert(map.next_value()?),
                    Occupied(place) => {
                        let name = place.key();
                        return Err(de::Error::custom(format!("two tensors of the name \"{name}\"")));
                    }
                };
            }
        }
        header.metadata = metadata.unwrap_or_default();
        Ok(header)
    }
}

struct MetadataVisitor<'a> {
    keys: &'a [&'static str],
}

impl<'de> de::DeserializeSeed<'de> for MetadataVisitor<'_> {
    type Value = BTreeMap<String, String>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for MetadataVisitor<'_> {
    type Value = BTreeMap<String, String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of texts")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut metadata = BTreeMap::new();
        while let Some(key) = map.next_key::<String>()? {
            if !self.keys.contains(&key.as_str()) {
                map.next_value::<IgnoredAny>()?;
            } else if metadata.insert(key, map.next_value()?).is_some() {
                return Err(de::Error::custom("a metadata key occurs twice"));
            }
        }
        Ok(metadata)
    }
}

impl<'de> Deserialize<'de> for Shape {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ShapeVisitor;

        impl<'de> Visitor<'de> for ShapeVisitor {
            type Value = Shape;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of lengths")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Shape, A::Error> {
                let mut shape = Vec::new();
                while let Some(length) = seq.next_element()? {
                    if shape.len() == MAX_RANK {
                        return Err(de::Error::custom(format!("more than {MAX_RANK} dimensions")));
                    }
                    shape.push(length);
                }
                Ok(Shape(shape))
            }
        }

        deserializer.deserialize_seq(ShapeVisitor)
    }
}
