//! The messages of ONNX that are in use, by the field numbers of `onnx.proto`.
//!
//! Declared by hand: no compiler of protocol buffers is needed. What is written is a [`Model`]. Of a file that is
//! read, an [`Outline`] says what goes in and comes out, and how values are called: weights are not copied, fields
//! that are not here are skipped. A file of another's is never written anew, only added to (see `certify`).

use std::collections::HashSet;

use prost::{Message, Oneof};

/// Types of the elements of a tensor.
pub mod element {
    /// 32-bit numbers.
    pub const FLOAT: i32 = 1;
    /// Bytes.
    pub const UINT8: i32 = 2;
    /// Whole numbers.
    pub const INT64: i32 = 7;
    /// Texts.
    pub const STRING: i32 = 8;
    /// 64-bit numbers.
    pub const DOUBLE: i32 = 11;
}

/// A file.
#[derive(Clone, PartialEq, Message)]
pub struct Model {
    /// The version of the format.
    #[prost(int64, tag = "1")]
    pub ir_version: i64,
    /// The program that wrote it.
    #[prost(string, tag = "2")]
    pub producer_name: String,
    /// Its version.
    #[prost(string, tag = "3")]
    pub producer_version: String,
    /// The graph.
    #[prost(message, optional, tag = "7")]
    pub graph: Option<Graph>,
    /// Which versions of which operators it needs.
    #[prost(message, repeated, tag = "8")]
    pub opset_import: Vec<OperatorSet>,
    /// What else there is to know.
    #[prost(message, repeated, tag = "14")]
    pub metadata_props: Vec<Entry>,
}

/// What is read of a file.
#[derive(Clone, PartialEq, Message)]
pub struct Outline {
    /// The graph.
    #[prost(message, optional, tag = "7")]
    pub graph: Option<GraphOutline>,
    /// Which versions of which operators it needs.
    #[prost(message, repeated, tag = "8")]
    pub opset_import: Vec<OperatorSet>,
    /// What else there is to know.
    #[prost(message, repeated, tag = "14")]
    pub metadata_props: Vec<Entry>,
}

/// What is read of a graph.
#[derive(Clone, PartialEq, Message)]
pub struct GraphOutline {
    /// The operators.
    #[prost(message, repeated, tag = "1")]
    pub node: Vec<NodeOutline>,
    /// The constants.
    #[prost(message, repeated, tag = "5")]
    pub initializer: Vec<TensorOutline>,
    /// What goes in.
    #[prost(message, repeated, tag = "11")]
    pub input: Vec<Value>,
    /// What comes out.
    #[prost(message, repeated, tag = "12")]
    pub output: Vec<Value>,
}

/// What is read of an operator.
#[derive(Clone, PartialEq, Message)]
pub struct NodeOutline {
    /// What it takes.
    #[prost(string, repeated, tag = "1")]
    pub input: Vec<String>,
    /// What it gives.
    #[prost(string, repeated, tag = "2")]
    pub output: Vec<String>,
    /// Which operator.
    #[prost(string, tag = "4")]
    pub op_type: String,
}

/// What is read of a constant.
#[derive(Clone, PartialEq, Message)]
pub struct TensorOutline {
    /// Its name.
    #[prost(string, tag = "8")]
    pub name: String,
}

impl GraphOutline {
    /// The inputs that are no constants; files of old list those as well.
    pub fn inputs(&self) -> Vec<&Value> {
        let constants: HashSet<&str> = self.initializer.iter().map(|one| one.name.as_str()).collect();
        self.input.iter().filter(|input| !constants.contains(input.name.as_str())).collect()
    }
}

/// A set of operators; the standard one has no name.
#[derive(Clone, PartialEq, Message)]
pub struct OperatorSet {
    /// Its name.
    #[prost(string, tag = "1")]
    pub domain: String,
    /// Its version.
    #[prost(int64, tag = "2")]
    pub version: i64,
}

/// A key and its value.
#[derive(Clone, PartialEq, Message)]
pub struct Entry {
    /// The key.
    #[prost(string, tag = "1")]
    pub key: String,
    /// The value.
    #[prost(string, tag = "2")]
    pub value: String,
}

/// Operators and what flows between them.
#[derive(Clone, PartialEq, Message)]
pub struct Graph {
    /// The operators, each after those it takes from.
    #[prost(message, repeated, tag = "1")]
    pub node: Vec<Node>,
    /// Its name.
    #[prost(string, tag = "2")]
    pub name: String,
    /// Constants.
    #[prost(message, repeated, tag = "5")]
    pub initializer: Vec<Tensor>,
    /// What goes in.
    #[prost(message, repeated, tag = "11")]
    pub input: Vec<Value>,
    /// What comes out.
    #[prost(message, repeated, tag = "12")]
    pub output: Vec<Value>,
}

/// An operator.
#[derive(Clone, PartialEq, Message)]
pub struct Node {
    /// What it takes.
    #[prost(string, repeated, tag = "1")]
    pub input: Vec<String>,
    /// What it gives.
    #[prost(string, repeated, tag = "2")]
    pub output: Vec<String>,
    /// Which operator.
    #[prost(string, tag = "4")]
    pub op_type: String,
    /// Its settings.
    #[prost(message, repeated, tag = "5")]
    pub attribute: Vec<Attribute>,
    /// The set it is of.
    #[prost(string, tag = "7")]
    pub domain: String,
}

/// A setting of an operator: one field besides name and type.
#[derive(Clone, PartialEq, Message)]
pub struct Attribute {
    /// Its name.
    #[prost(string, tag = "1")]
    pub name: String,
    /// A number.
    #[prost(float, optional, tag = "2")]
    pub f: Option<f32>,
    /// A whole number.
    #[prost(int64, optional, tag = "3")]
    pub i: Option<i64>,
    /// A text.
    #[prost(bytes = "vec", optional, tag = "4")]
    pub s: Option<Vec<u8>>,
    /// A tensor.
    #[prost(message, optional, tag = "5")]
    pub t: Option<Tensor>,
    /// Numbers.
    #[prost(float, repeated, tag = "7")]
    pub floats: Vec<f32>,
    /// Whole numbers.
    #[prost(int64, repeated, tag = "8")]
    pub ints: Vec<i64>,
    /// Texts.
    #[prost(bytes = "vec", repeated, tag = "9")]
    pub strings: Vec<Vec<u8>>,
    /// Which of them it is.
    #[prost(int32, tag = "20")]
    pub kind: i32,
}

/// A constant.
#[derive(Clone, PartialEq, Message)]
pub struct Tensor {
    /// Its sizes.
    #[prost(int64, repeated, tag = "1")]
    pub dims: Vec<i64>,
    /// The type of its elements.
    #[prost(int32, tag = "2")]
    pub data_type: i32,
    /// Its name.
    #[prost(string, tag = "8")]
    pub name: String,
    /// Its elements, the smallest byte of each first.
    #[prost(bytes = "vec", tag = "9")]
    pub raw_data: Vec<u8>,
}

/// An input or output.
#[derive(Clone, PartialEq, Message)]
pub struct Value {
    /// Its name.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Its type.
    #[prost(message, optional, tag = "2")]
    pub kind: Option<Kind>,
}

/// The type of an input or output; `None` inside where it is no tensor.
#[derive(Clone, PartialEq, Message)]
pub struct Kind {
    /// A tensor.
    #[prost(message, optional, tag = "1")]
    pub tensor: Option<TensorKind>,
}

/// The type of a tensor.
#[derive(Clone, PartialEq, Message)]
pub struct TensorKind {
    /// The type of its elements.
    #[prost(int32, tag = "1")]
    pub element: i32,
    /// Its sizes, where they are known.
    #[prost(message, optional, tag = "2")]
    pub shape: Option<Shape>,
}

/// Sizes.
#[derive(Clone, PartialEq, Message)]
pub struct Shape {
    /// One for each direction.
    #[prost(message, repeated, tag = "1")]
    pub dim: Vec<Dimension>,
}

/// A size.
#[derive(Clone, PartialEq, Message)]
pub struct Dimension {
    /// It, where it is known.
    #[prost(oneof = "Size", tags = "1, 2")]
    pub size: Option<Size>,
}

/// A size by number or by name.
#[derive(Clone, PartialEq, Oneof)]
pub enum Size {
    /// By number.
    #[prost(int64, tag = "1")]
    Fixed(i64),
    /// By name.
    #[prost(string, tag = "2")]
    Named(String),
}

impl Value {
    /// A tensor; a size of `None` is that of the rows.
    pub fn tensor(name: &str, element: i32, sizes: &[Option<usize>]) -> Self {
        let size = |size: &Option<usize>| Dimension {
            size: Some(size.map_or(Size::Named("rows".to_owned()), |size| Size::Fixed(size as i64))),
        };
        let shape = Some(Shape { dim: sizes.iter().map(size).collect() });
        Self { name: name.to_owned(), kind: Some(Kind { tensor: Some(TensorKind { element, shape }) }) }
    }

    /// The type of its elements and its sizes, as far as they are known; `None` if it is no tensor.
    pub fn as_tensor(&self) -> Option<(i32, Option<Vec<Option<i64>>>)> {
        let tensor = self.kind.as_ref()?.tensor.as_ref()?;
        let size = |dimension: &Dimension| match dimension.size {
            Some(Size::Fixed(size)) => Some(size),
            _ => None,
        };
        Some((tensor.element, tensor.shape.as_ref().map(|shape| shape.dim.iter().map(size).collect())))
    }
}
