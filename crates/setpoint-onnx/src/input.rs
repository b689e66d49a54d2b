//! A table's columns on their way into the graph: one input for each, and what the encoder makes of it.
//!
//! ```text
//! number      float (rows, 1), NaN where it is missing; double where the model subtracts an offset in 64 bits
//! category    string (rows, 1), empty where it is missing; int64 where all categories are whole numbers and
//!             no training row lacked one
//! ```
//!
//! An operator looks a category up ([`Keys`]). One that training never had is in no list and gets the default,
//! as in Setpoint.

use setpoint::message::quote;
use setpoint_data::{Encoding, Input, Learnt};
use setpoint_run::Failure;

use crate::graph::{Builder, floats, int, ints, strings};
use crate::proto::{Attribute, element};

/// What tells categories apart.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Keys {
    /// Texts.
    Texts(Vec<String>),
    /// Whole numbers.
    Whole(Vec<i64>),
}

impl Keys {
    /// These texts; as whole numbers where that is what all of them are.
    pub(crate) fn new(texts: &[String]) -> Self {
        let whole = |text: &String| text.parse::<i64>().ok().filter(|number| number.to_string() == *text);
        match texts.iter().map(whole).collect() {
            Some(numbers) => Self::Whole(numbers),
            None => Self::Texts(texts.to_vec()),
        }
    }

    pub(crate) fn element(&self) -> i32 {
        match self {
            Self::Texts(_) => element::STRING,
            Self::Whole(_) => element::INT64,
        }
    }

    fn count(&self) -> usize {
        match self {
            Self::Texts(texts) => texts.len(),
            Self::Whole(numbers) => numbers.len(),
        }
    }

    fn setting(&self) -> Attribute {
        match self {
            Self::Texts(texts) => strings("keys_strings", texts.iter().map(String::as_str)),
            Self::Whole(numbers) => ints("keys_int64s", numbers.clone()),
        }
    }

    /// The number of each row's category among `values`, `other` where it is in none.
    pub(crate) fn look_up(&self, graph: &mut Builder, from: &str, values: Vec<f32>, other: f32) -> String {
        let other = crate::graph::float("default_float", other);
        let settings = vec![self.setting(), floats("values_floats", values), other];
        graph.ml("LabelEncoder", &[from], settings)
    }

    /// Which of `places` is that of each row's category, `absent` where it has none.
    pub(crate) fn place(&self, graph: &mut Builder, from: &str, places: Vec<i64>, absent: i64) -> String {
        let settings = vec![self.setting(), ints("values_int64s", places), int("default_int64", absent)];
        graph.ml("LabelEncoder", &[from], settings)
    }
}

/// A categorical column, or the indicator of a number's missing values: a row has one of its places, or none.
pub(crate) enum Field {
    /// By the category.
    Category {
        /// The input.
        input: String,
        /// Its categories.
        keys: Keys,
    },
    /// By whether it is missing: the number.
    Missing(String),
}

impl Field {
    /// What each row's category is worth: so many numbers, 0 for none.
    fn look_up(&self, graph: &mut Builder, values: Vec<f32>, width: usize) -> String {
        match self {
            _ if width > 1 => {
                let values = [vec![0.0; width], values].concat();
                let values = graph.floats(&[values.len() / width, width], &values);
                let places = self.place(graph);
                graph.node("Gather", &[&values, &places], vec![int("axis", 0)])
            }
            Self::Category { input, keys } => keys.look_up(graph, input, values, 0.0),
            Self::Missing(number) => {
                let missing = graph.node("IsNaN", &[number], Vec::new());
                let (value, nothing) = (graph.floats(&[], &values), graph.floats(&[], &[0.0]));
                graph.node("Where", &[&missing, &value, &nothing], Vec::new())
            }
        }
    }

    /// The place of each row's category from 1 on, 0 for none; a list, not a column.
    fn place(&self, graph: &mut Builder) -> String {
        let places = match self {
            Self::Category { input, keys } => {
                keys.place(graph, input, (1..=keys.count() as i64).collect(), 0)
            }
            Self::Missing(number) => {
                let missing = graph.node("IsNaN", &[number], Vec::new());
                graph.cast(&missing, element::INT64)
            }
        };
        let axis = graph.ints(&[1], &[1]);
        graph.node("Squeeze", &[&places, &axis], Vec::new())
    }
}

/// The columns of a table in the graph.
pub(crate) struct Columns {
    /// Standardised numbers side by side, or trees' numbers and places; `None` where there are only categories.
    pub(crate) numbers: Option<String>,
    /// Where each of the numbers is among the encoder's columns.
    pub(crate) places: Vec<usize>,
    /// Categories, in the order of the encoder's layout.
    pub(crate) fields: Vec<Field>,
}

impl Columns {
    /// Puts the columns into the graph, numbers standardised and filled.
    ///
    /// # Errors
    /// If a column is of texts, or has categories that are rare: the graph has nothing that takes those apart.
    pub(crate) fn new(graph: &mut Builder, inputs: &[Input]) -> Result<Self, Failure> {
        let (mut numbers, mut places, mut fields) = (Vec::new(), Vec::new(), Vec::new());
        let (mut means, mut scales) = (Vec::new(), Vec::new());
        let mut at = 0;
        for input in inputs {
            if input.part.is_some() {
                return Err(Failure::input(format!(
                    "column {} holds dates, whose parts cannot be exported to ONNX; train without it (‹drop›), or with \
                     numbers made of it",
                    quote(&input.name)
                )));
            }
            match &input.encoding {
                Encoding::Number { scaling, missing } => {
                    let number = number(graph, input);
                    if missing.is_some() {
                        fields.push(Field::Missing(number.clone()));
                    }
                    numbers.push(number);
                    means.push(scaling.mean);
                    scales.push(scaling.scale);
                    places.push(at);
                }
                Encoding::Category { values, missing, rare: None } => {
                    let mut texts: Vec<String> = values.iter().map(|value| value.value.clone()).collect();
                    texts.extend(missing.map(|_| String::new()));
                    let keys = Keys::new(&texts);
                    let input = graph.input(&input.name, keys.element(), &[None, Some(1)]);
                    fields.push(Field::Category { input, keys });
                }
                Encoding::Plain => {
                    numbers.push(number(graph, input));
                    places.push(at);
                }
                // From 1 on, so that what is missing or was never seen can be a number: 0, in no node's set.
                Encoding::Code { values, rare: false } => {
                    // Whole numbers cannot say that one is missing.
                    let keys = if input.complete { Keys::new(values) } else { Keys::Texts(values.clone()) };
                    let codes = (1..=values.len()).map(|place| place as f32).collect();
                    let from = graph.input(&input.name, keys.element(), &[None, Some(1)]);
                    numbers.push(keys.look_up(graph, &from, codes, 0.0));
                    places.push(at);
                }
                Encoding::Learnt(Learnt::Means { values, means, other }) => {
                    let (mut texts, mut means) = (values.clone(), means.clone());
                    if !(input.complete && matches!(Keys::new(values), Keys::Whole(_))) {
                        texts.push(String::new());
                        means.push(f32::NAN);
                    }
                    let keys = Keys::new(&texts);
                    let from = graph.input(&input.name, keys.element(), &[None, Some(1)]);
                    numbers.push(keys.look_up(graph, &from, means, *other));
                    places.push(at);
                }
                Encoding::Text(_)
                | Encoding::Category { .. }
                | Encoding::Code { .. }
                | Encoding::Learnt(_) => {
                    let what = match input.encoding {
                        Encoding::Text(_) | Encoding::Learnt(Learnt::Score { .. }) => "texts, word by word",
                        _ => "more than 1,000 categories, of which rare ones count as one",
                    };
                    return Err(Failure::input(format!(
                        "column {} holds {what}: that cannot be exported to ONNX; train without it (‹drop›)",
                        quote(&input.name)
                    )));
                }
            }
            at += input.width();
        }
        let numbers = (!numbers.is_empty()).then(|| graph.concat(&numbers));
        let numbers = match numbers {
            Some(raw) if !means.is_empty() => {
                let count = means.len();
                let (mean, scale) = (graph.floats(&[1, count], &means), graph.floats(&[1, count], &scales));
                let centred = graph.node("Sub", &[&raw, &mean], Vec::new());
                let scaled = graph.node("Div", &[&centred, &scale], Vec::new());
                let missing = graph.node("IsNaN", &[&raw], Vec::new());
                let fill = graph.floats(&[], &[0.0]);
                Some(graph.node("Where", &[&missing, &fill, &scaled], Vec::new()))
            }
            as_they_are => as_they_are,
        };
        Ok(Self { numbers, places, fields })
    }

    /// What each field's categories are worth by the weights of the encoder's columns, a list for each score.
    pub(crate) fn look_up(&self, graph: &mut Builder, inputs: &[Input], weights: &[&[f32]]) -> Vec<String> {
        let mut at = 0;
        let (mut fields, mut looked) = (self.fields.iter(), Vec::new());
        for input in inputs {
            let scalings = input.scalings();
            let first = at + input.width() - scalings.len();
            at += input.width();
            let Some(field) = (!scalings.is_empty()).then(|| fields.next()).flatten() else { continue };
            let places = scalings.iter().zip(first..);
            let worth =
                places.flat_map(|(scaling, at)| weights.iter().map(move |own| own[at] / scaling.scale));
            looked.push(field.look_up(graph, worth.collect(), weights.len()));
        }
        looked
    }
}

/// The input of a number, less its offset.
fn number(graph: &mut Builder, input: &Input) -> String {
    if input.offset == 0.0 {
        return graph.input(&input.name, element::FLOAT, &[None, Some(1)]);
    }
    let wide = graph.input(&input.name, element::DOUBLE, &[None, Some(1)]);
    let offset = graph.doubles(&[], &[input.offset]);
    let less = graph.node("Sub", &[&wide, &offset], Vec::new());
    graph.cast(&less, element::FLOAT)
}

/// What the matrix of an SVMLight model is called.
pub(crate) const MATRIX: &str = "features";

/// The matrix of an SVMLight model, less offsets and scaled.
pub(crate) fn matrix(graph: &mut Builder, scales: &[f32], offsets: &[(u32, f64)]) -> String {
    let width = scales.len();
    let sizes = [None, Some(width)];
    let raw = if offsets.is_empty() {
        graph.input(MATRIX, element::FLOAT, &sizes)
    } else {
        let mut all = vec![0.0; width];
        offsets.iter().for_each(|(column, offset)| all[*column as usize] = *offset);
        let wide = graph.input(MATRIX, element::DOUBLE, &sizes);
        let offsets = graph.doubles(&[1, width], &all);
        let less = graph.node("Sub", &[&wide, &offsets], Vec::new());
        graph.cast(&less, element::FLOAT)
    };
    if scales.iter().all(|scale| *scale == 1.0) {
        return raw;
    }
    let scales = graph.floats(&[1, width], scales);
    graph.node("Div", &[&raw, &scales], Vec::new())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn categories_are_whole_numbers_only_where_all_are_written_so() {
        assert_eq!(Keys::new(&texts(&["-3", "0", "12"])), Keys::Whole(vec![-3, 0, 12]));
        for other in [&["1", "x"][..], &["01"], &["1.0"], &["1", ""], &["99999999999999999999"]] {
            assert_eq!(Keys::new(&texts(other)), Keys::Texts(texts(other)));
        }
    }
}
