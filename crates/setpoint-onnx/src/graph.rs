//! A graph that grows operator by operator; values go by name.

use std::collections::{HashMap, HashSet};

use crate::proto::{Attribute, Graph, Node, Tensor, Value, element};

/// The operators of classical models.
pub(crate) const ML: &str = "ai.onnx.ml";
/// Types of settings.
const FLOAT: i32 = 1;
const INT: i32 = 2;
const STRING: i32 = 3;
const TENSOR: i32 = 4;
const FLOATS: i32 = 6;
const INTS: i32 = 7;
const STRINGS: i32 = 8;

/// A graph in the making.
#[derive(Default)]
pub(crate) struct Builder {
    pub(crate) graph: Graph,
    /// Names that are taken.
    taken: HashSet<String>,
    /// The inputs and the types of their elements, 0 of what is no tensor.
    inputs: HashMap<String, i32>,
    /// Whether constants are nodes: old files must list others among their inputs.
    inline: bool,
}

impl Builder {
    /// A graph that keeps off these names, which inputs are to have.
    pub(crate) fn keeping_off(names: impl IntoIterator<Item = String>) -> Self {
        Self { taken: names.into_iter().collect(), ..Self::default() }
    }

    /// A graph to be added to another one, with these names and inputs.
    pub(crate) fn beside(taken: HashSet<String>, inputs: &[&Value]) -> Self {
        let element = |input: &Value| input.as_tensor().map_or(0, |(element, _)| element);
        let inputs = inputs.iter().map(|input| (input.name.clone(), element(input))).collect();
        Self { taken, inputs, inline: true, ..Self::default() }
    }

    /// An input, if it is not there yet.
    pub(crate) fn input(&mut self, name: &str, element: i32, sizes: &[Option<usize>]) -> String {
        if self.inputs.insert(name.to_owned(), element).is_none() {
            self.taken.insert(name.to_owned());
            self.graph.input.push(Value::tensor(name, element, sizes));
        }
        name.to_owned()
    }

    /// The type of an input's elements; `None` if there is no such input.
    pub(crate) fn element_of(&self, input: &str) -> Option<i32> {
        self.inputs.get(input).copied()
    }

    /// A name that nothing has: this one, or with `setpoint.` before it.
    pub(crate) fn name(&mut self, name: &str) -> String {
        let mut free = name.to_owned();
        while !self.taken.insert(free.clone()) {
            free = format!("setpoint.{free}");
        }
        free
    }

    /// Adds an operator; returns the name of what it gives.
    pub(crate) fn node(&mut self, op: &str, inputs: &[&str], settings: Vec<Attribute>) -> String {
        self.add("", op, inputs, settings)
    }

    /// The same of the classical models.
    pub(crate) fn ml(&mut self, op: &str, inputs: &[&str], settings: Vec<Attribute>) -> String {
        self.add(ML, op, inputs, settings)
    }

    fn add(&mut self, domain: &str, op: &str, inputs: &[&str], attribute: Vec<Attribute>) -> String {
        let output = self.name(&format!("/{op}_{}", self.graph.node.len()));
        self.graph.node.push(Node {
            input: inputs.iter().map(|input| (*input).to_owned()).collect(),
            output: vec![output.clone()],
            op_type: op.to_owned(),
            attribute,
            domain: domain.to_owned(),
        });
        output
    }

    /// Gives a value out under a name of its own, as [`Builder::name`] finds it; returns that, which is what the
    /// value is called from then on.
    pub(crate) fn output(
        &mut self,
        value: &str,
        name: &str,
        element: i32,
        sizes: &[Option<usize>],
    ) -> String {
        let name = self.name(name);
        self.graph.output.push(Value::tensor(&name, element, sizes));
        let mut value = value.to_owned();
        if self.graph.node.iter().all(|node| node.output[0] != value) {
            value = self.node("Identity", &[&value], Vec::new());
        }
        let named = self.graph.node.iter_mut().flat_map(|node| node.input.iter_mut().chain(&mut node.output));
        named.filter(|one| **one == value).for_each(|one| one.clone_from(&name));
        name
    }

    fn constant(&mut self, data_type: i32, dims: &[usize], raw_data: Vec<u8>) -> String {
        if self.inline {
            let t = Some(tensor(data_type, dims, raw_data));
            let value = Attribute { name: "value".to_owned(), kind: TENSOR, t, ..Attribute::default() };
            return self.node("Constant", &[], vec![value]);
        }
        let name = self.name(&format!("/constant_{}", self.graph.initializer.len()));
        self.graph.initializer.push(Tensor { name: name.clone(), ..tensor(data_type, dims, raw_data) });
        name
    }

    /// 32-bit numbers.
    pub(crate) fn floats(&mut self, dims: &[usize], values: &[f32]) -> String {
        self.constant(element::FLOAT, dims, values.iter().flat_map(|value| value.to_le_bytes()).collect())
    }

    /// 64-bit numbers.
    pub(crate) fn doubles(&mut self, dims: &[usize], values: &[f64]) -> String {
        self.constant(element::DOUBLE, dims, bytes(values))
    }

    /// Whole numbers.
    pub(crate) fn ints(&mut self, dims: &[usize], values: &[i64]) -> String {
        self.constant(element::INT64, dims, values.iter().flat_map(|value| value.to_le_bytes()).collect())
    }

    /// The same as numbers of another type.
    pub(crate) fn cast(&mut self, value: &str, to: i32) -> String {
        self.node("Cast", &[value], vec![int("to", i64::from(to))])
    }

    /// A score in 64 bits: what it was rounded from, where it was.
    pub(crate) fn wide(&mut self, score: &str) -> String {
        let from = self.graph.node.iter().find(|node| node.output[0] == score && node.op_type == "Cast");
        match from {
            Some(node) => node.input[0].clone(),
            None => self.cast(score, element::DOUBLE),
        }
    }

    /// Several values side by side; one as it is.
    pub(crate) fn concat(&mut self, values: &[String]) -> String {
        match values {
            [only] => only.clone(),
            _ => {
                let values: Vec<&str> = values.iter().map(String::as_str).collect();
                self.node("Concat", &values, vec![int("axis", 1)])
            }
        }
    }
}

fn tensor(data_type: i32, dims: &[usize], raw_data: Vec<u8>) -> Tensor {
    let dims = dims.iter().map(|size| *size as i64).collect();
    Tensor { dims, data_type, name: String::new(), raw_data }
}

fn bytes(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// A setting.
pub(crate) fn float(name: &str, value: f32) -> Attribute {
    Attribute { name: name.to_owned(), kind: FLOAT, f: Some(value), ..Attribute::default() }
}

/// A setting.
pub(crate) fn int(name: &str, value: i64) -> Attribute {
    Attribute { name: name.to_owned(), kind: INT, i: Some(value), ..Attribute::default() }
}

/// A setting.
pub(crate) fn string(name: &str, value: &str) -> Attribute {
    let s = Some(value.as_bytes().to_vec());
    Attribute { name: name.to_owned(), kind: STRING, s, ..Attribute::default() }
}

/// A setting.
pub(crate) fn floats(name: &str, floats: Vec<f32>) -> Attribute {
    Attribute { name: name.to_owned(), kind: FLOATS, floats, ..Attribute::default() }
}

/// A setting.
pub(crate) fn ints(name: &str, ints: Vec<i64>) -> Attribute {
    Attribute { name: name.to_owned(), kind: INTS, ints, ..Attribute::default() }
}

/// A setting.
pub(crate) fn strings<'a>(name: &str, texts: impl IntoIterator<Item = &'a str>) -> Attribute {
    let strings = texts.into_iter().map(|text| text.as_bytes().to_vec()).collect();
    Attribute { name: name.to_owned(), kind: STRINGS, strings, ..Attribute::default() }
}

/// A setting that is a list of 64-bit numbers.
pub(crate) fn doubles(name: &str, values: &[f64]) -> Attribute {
    let t = Some(tensor(element::DOUBLE, &[values.len()], bytes(values)));
    Attribute { name: name.to_owned(), kind: TENSOR, t, ..Attribute::default() }
}

/// A setting that is a list of bytes.
pub(crate) fn octets(name: &str, values: Vec<u8>) -> Attribute {
    let t = Some(tensor(element::UINT8, &[values.len()], values));
    Attribute { name: name.to_owned(), kind: TENSOR, t, ..Attribute::default() }
}
