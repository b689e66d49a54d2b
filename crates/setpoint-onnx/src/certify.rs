//! Anyone's ONNX classifier: its scores, and the same file with a certified decision at its end.
//!
//! The file is not written anew, which could lose what this crate knows nothing of. Two messages one after the
//! other are one message with the fields of both, so the new nodes, outputs and metadata are put behind the
//! bytes as they are.

use std::collections::HashSet;

use prost::Message;
use setpoint::artifact::Groups;
use setpoint::message::{list, quote};
use setpoint_run::Failure;

use crate::check::BATCH;
use crate::graph::{Builder, ML, int, strings};
use crate::input::Keys;
use crate::proto::{Entry, Graph, Model, OperatorSet, Value, element};
use crate::rows::{Rows, inputs};
use crate::runtime::{Given, Session};

/// The first version of the standard operators that compares as it is needed here, and of the classical ones
/// that look texts up by keys and values; before, by classes alone.
const STANDARD: i64 = 7;
const CLASSICAL: i64 = 2;

/// A classifier, and which of its values is the score.
#[derive(Debug)]
pub struct Classifier {
    bytes: Vec<u8>,
    model: Model,
    /// The value that holds the scores, and the type of its elements.
    value: String,
    element: i32,
}

/// Thresholds for its scores, and what goes with them.
pub struct Decision<'a> {
    /// One, or one for each group.
    pub thresholds: &'a [f64],
    /// The groups.
    pub groups: Option<&'a Groups>,
    /// How many columns the scores have: of two, the second is that of the positive class.
    pub columns: usize,
    /// What to keep in the metadata.
    pub metadata: &'a [(&'a str, String)],
}

impl Classifier {
    /// Reads an ONNX file; `output` is what gives the scores, and need not be named where there is no doubt.
    ///
    /// # Errors
    /// If it is none, its operators are too old, or no output is a score.
    pub fn new(bytes: Vec<u8>, output: Option<&str>) -> Result<Self, Failure> {
        let model = Model::decode(&bytes[..]).ok().filter(|model| model.graph.is_some());
        let model = model.ok_or_else(|| Failure::input("not an ONNX file: no graph can be read from it"))?;
        let standard = model.opset_import.iter().find(|set| matches!(&set.domain[..], "" | "ai.onnx"));
        if let Some(found) = standard.filter(|set| set.version < STANDARD) {
            return Err(Failure::input(format!(
                "the model uses version {} of ONNX's operators, and a decision needs {STANDARD} or later: convert it \
                 with a higher target_opset",
                found.version
            )));
        }
        let graph = model.graph.clone().unwrap_or_default();
        let (value, element) = score(&graph, output)?;
        Ok(Self { bytes, model, value, element })
    }

    /// The value that holds the scores.
    #[must_use]
    pub fn value(&self) -> &str {
        &self.value
    }

    /// The inputs that are texts.
    #[must_use]
    pub fn texts(&self) -> Vec<String> {
        let is_text =
            |input: &&Value| input.as_tensor().is_some_and(|(element, _)| element == element::STRING);
        inputs(&self.model).into_iter().filter(is_text).map(|input| input.name.clone()).collect()
    }

    /// The names of its inputs.
    #[must_use]
    pub fn inputs(&self) -> Vec<String> {
        inputs(&self.model).into_iter().map(|input| input.name.clone()).collect()
    }

    /// The file with the scores among its outputs.
    #[must_use]
    pub fn exposed(&self) -> Vec<u8> {
        let known = self.model.graph.iter().flat_map(|graph| &graph.output).any(|one| one.name == self.value);
        let mut graph = Graph::default();
        if !known {
            graph.output.push(Value::tensor(&self.value, self.element, &[None, Some(2)]));
        }
        [&self.bytes[..], &Model { graph: Some(graph), ..Model::default() }.encode_to_vec()].concat()
    }

    /// The score of each row, and how many columns they were in.
    ///
    /// # Errors
    /// If onnxruntime is not there or refuses a row, or there are more than two classes.
    pub fn scores(&self, rows: &Rows<'_>) -> Result<(Vec<f64>, usize), Failure> {
        let session = Session::new(&self.exposed())?;
        let (mut scores, mut columns) = (Vec::with_capacity(rows.count()), 1);
        for start in (0..rows.count()).step_by(BATCH) {
            let range = start..rows.count().min(start + BATCH);
            let count = range.len();
            let given = session.run(&rows.feed(&self.model, range)?, &[&self.value])?;
            for given in &given {
                columns = self.columns(given, count)?;
                scores.extend(given.values.iter().skip(columns - 1).step_by(columns));
            }
        }
        Ok((scores, columns))
    }

    fn columns(&self, given: &Given, rows: usize) -> Result<usize, Failure> {
        match given.sizes[..] {
            [found] | [found, 1] if found == rows as i64 => Ok(1),
            [found, 2] if found == rows as i64 => Ok(2),
            _ => Err(Failure::input(format!(
                "{} has the sizes {:?} for {rows} rows: a score is one number for each, or two for two classes",
                quote(&self.value),
                given.sizes
            ))),
        }
    }

    /// The file with the decision as its last node: `score`, of one column, and `decision` are outputs too.
    ///
    /// # Errors
    /// If the group column is an input of another type.
    pub fn decided(&self, decision: &Decision<'_>) -> Result<Vec<u8>, Failure> {
        let mut graph = Builder::beside(self.names());
        let mut score = self.value.clone();
        if decision.columns == 2 {
            let second = graph.ints(&[1], &[1]);
            score = graph.node("Gather", &[&score, &second], vec![int("axis", 1)]);
        }
        let column = graph.ints(&[2], &[-1, 1]);
        let score = graph.node("Reshape", &[&score, &column], Vec::new());
        // `>` the number below a threshold is `>=` the threshold, in versions too old for that.
        let list = |graph: &mut Builder, dims: &[usize], thresholds: &[f64]| match self.element {
            element::FLOAT => {
                graph.floats(dims, &thresholds.iter().map(|one| below(*one)).collect::<Vec<_>>())
            }
            _ => graph.doubles(dims, &thresholds.iter().map(|one| one.next_down()).collect::<Vec<_>>()),
        };
        let below = match decision.groups {
            None => list(&mut graph, &[], &decision.thresholds[..1]),
            Some(groups) => {
                let known = inputs(&self.model).into_iter().find(|input| input.name == groups.column);
                let found = known.and_then(Value::as_tensor).map(|(element, _)| element);
                let old =
                    self.model.opset_import.iter().any(|set| set.domain == ML && set.version < CLASSICAL);
                let found = found.or(old.then_some(element::STRING).filter(|_| known.is_none()));
                let keys = Keys::like(found, &groups.names);
                let fits = |found| found == keys.element() && (!old || found == element::STRING);
                if !found.is_none_or(fits) {
                    return Err(Failure::input(format!(
                        "column {} is an input of the model already, of a type that tells no groups",
                        quote(&groups.column)
                    )));
                }
                if known.is_none() {
                    graph.graph.input.push(Value::tensor(&groups.column, keys.element(), &[None, Some(1)]));
                }
                let unknown = groups.names.len() as i64;
                let places = if old {
                    let classes = strings("classes_strings", groups.names.iter().map(String::as_str));
                    graph.ml("LabelEncoder", &[&groups.column], vec![classes, int("default_int64", unknown)])
                } else {
                    keys.place(&mut graph, &groups.column, 0, unknown)
                };
                let list = list(&mut graph, &[decision.thresholds.len()], decision.thresholds);
                graph.node("Gather", &[&list, &places], vec![int("axis", 0)])
            }
        };
        let above = graph.node("Greater", &[&score, &below], Vec::new());
        let decided = graph.cast(&above, element::INT64);
        graph.output(&score, "score", self.element, &[None, Some(1)]);
        graph.output(&decided, "decision", element::INT64, &[None, Some(1)]);
        let has_ml = self.model.opset_import.iter().any(|set| set.domain == ML);
        let needs_ml = decision.groups.is_some() && !has_ml;
        let metadata = decision.metadata.iter();
        let behind = Model {
            graph: Some(graph.graph),
            opset_import: Vec::from_iter(
                needs_ml.then(|| OperatorSet { domain: ML.to_owned(), version: CLASSICAL }),
            ),
            metadata_props: metadata
                .map(|(key, value)| Entry { key: (*key).to_owned(), value: value.clone() })
                .collect(),
            ..Model::default()
        };
        Ok([&self.bytes[..], &behind.encode_to_vec()].concat())
    }

    /// Every name that its graph uses.
    fn names(&self) -> HashSet<String> {
        let Some(graph) = &self.model.graph else { return HashSet::new() };
        let values = graph.input.iter().chain(&graph.output).map(|value| value.name.clone());
        let constants = graph.initializer.iter().map(|constant| constant.name.clone());
        values.chain(constants).chain(graph.node.iter().flat_map(|node| node.output.clone())).collect()
    }
}

/// The largest 32-bit number below a threshold.
fn below(threshold: f64) -> f32 {
    let nearest = threshold as f32;
    if f64::from(nearest) >= threshold { nearest.next_down() } else { nearest }
}

/// The value that holds the scores, and the type of its elements.
fn score(graph: &Graph, output: Option<&str>) -> Result<(String, i32), Failure> {
    // Probabilities by class, as maps: the numbers are what goes into the node that makes these.
    let unmapped = |name: &str| {
        let node = graph.node.iter().find(|node| node.output.iter().any(|output| output == name))?;
        (node.op_type == "ZipMap").then(|| node.input.first().cloned()).flatten()
    };
    let numbers = |value: &Value| {
        if let Some(from) = unmapped(&value.name) {
            return Some((value.name.clone(), (from, element::FLOAT)));
        }
        let (found, _) = value.as_tensor()?;
        let is_number = matches!(found, element::FLOAT | element::DOUBLE);
        is_number.then(|| (value.name.clone(), (value.name.clone(), found)))
    };
    let found: Vec<(String, (String, i32))> = graph.output.iter().filter_map(numbers).collect();
    let names = || list(&graph.output.iter().map(|output| output.name.clone()).collect::<Vec<_>>());
    if let Some(output) = output {
        return found.into_iter().find(|(name, _)| name == output).map(|(_, value)| value).ok_or_else(|| {
            Failure::input(format!(
                "the model has no output {} of numbers (‹score›); it has {}",
                quote(output),
                names()
            ))
        });
    }
    let probable: Vec<_> = found.iter().filter(|(name, _)| name.contains("prob")).collect();
    match (&found[..], &probable[..]) {
        ([(_, only)], _) | (_, [(_, only)]) => Ok(only.clone()),
        _ => Err(Failure::input(format!(
            "which output of the model is the score? it has {}: name it with ‹score›",
            names()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_below_a_threshold_decides_as_the_threshold() {
        for threshold in [0.1, 0.5, 0.1f64.next_up(), f64::from(0.1f32), -3.7, 1e-40, 0.0] {
            let limit = below(threshold);
            for score in [limit, limit.next_up(), limit.next_down(), threshold as f32] {
                assert_eq!(score > limit, f64::from(score) >= threshold, "{score} {threshold}");
            }
        }
    }

    #[test]
    fn what_is_no_model_is_refused() {
        for bytes in [&b"not a model at all"[..], b"", &[0x08, 0x07]] {
            let error = Classifier::new(bytes.to_vec(), None).unwrap_err().to_string();
            assert!(error.starts_with("not an ONNX file"), "{error}");
        }
    }
}
