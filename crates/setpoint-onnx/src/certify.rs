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
use crate::decide::Rule;
use crate::graph::{Builder, ML, int};
use crate::proto::{Entry, Graph, GraphOutline, Model, OperatorSet, Outline, Value, element};
use crate::rows::Rows;
use crate::runtime::{Given, Session};

/// The first version of the standard operators that has what is needed here, constants of whole numbers last.
const STANDARD: i64 = 9;
/// Versions that are asked for where the model has none of its own.
const NEW: [i64; 2] = [STANDARD, 2];

/// A classifier, and which of its values is the score.
#[derive(Debug)]
pub struct Classifier {
    bytes: Vec<u8>,
    graph: GraphOutline,
    /// Versions of the standard and the classical operators, where it has any.
    versions: [Option<i64>; 2],
    /// The keys of its metadata.
    keys: HashSet<String>,
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
        let Ok(Outline { graph: Some(graph), opset_import, metadata_props }) = Outline::decode(&bytes[..])
        else {
            return Err(Failure::input("not an ONNX file: no graph can be read from it"));
        };
        let version = |names: &[&str]| {
            let set = opset_import.iter().find(|set| names.contains(&set.domain.as_str()));
            set.map(|set| set.version)
        };
        let versions = [version(&["", "ai.onnx"]), version(&[ML])];
        if let Some(found) = versions[0].filter(|version| *version < STANDARD) {
            return Err(Failure::input(format!(
                "the model uses version {found} of ONNX's operators, and a decision needs {STANDARD} or later: \
                 convert it with a higher target_opset",
            )));
        }
        let (value, element) = score(&graph, output)?;
        let keys = metadata_props.into_iter().map(|entry| entry.key).collect();
        Ok(Self { bytes, graph, versions, keys, value, element })
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
        self.graph.inputs().into_iter().filter(is_text).map(|input| input.name.clone()).collect()
    }

    /// The names of its inputs.
    #[must_use]
    pub fn inputs(&self) -> Vec<String> {
        self.graph.inputs().into_iter().map(|input| input.name.clone()).collect()
    }

    /// The file with the scores among its outputs.
    #[must_use]
    pub fn exposed(&self) -> Vec<u8> {
        let known = self.graph.output.iter().any(|one| one.name == self.value);
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
        let inputs = self.graph.inputs();
        let (mut scores, mut columns) = (Vec::with_capacity(rows.count()), 1);
        for start in (0..rows.count()).step_by(BATCH) {
            let range = start..rows.count().min(start + BATCH);
            let count = range.len();
            let given = session.run(&rows.feed(&inputs, range)?, &[&self.value])?;
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
                "{} has the sizes {:?} for {rows} rows: a threshold is for one number of each row, or two of two \
                 classes; decisions among more cannot be certified for a classifier of another's",
                quote(&self.value),
                given.sizes
            ))),
        }
    }

    /// The file with the decision as its last node, and what the decision is called: `score`, of one column, and
    /// `decision` are outputs too, with `setpoint.` before them where the model uses these names.
    ///
    /// # Errors
    /// If the group column is an input of another type, or another value.
    pub fn decided(&self, decision: &Decision<'_>) -> Result<(Vec<u8>, String), Failure> {
        let (names, inputs) = (self.names(), self.graph.inputs());
        if let Some(groups) = decision.groups
            && names.contains(&groups.column)
            && inputs.iter().all(|input| input.name != groups.column)
        {
            return Err(Failure::input(format!(
                "column {} cannot be an input of the model, which has another value of this name",
                quote(&groups.column)
            )));
        }
        let mut graph = Builder::beside(names, &inputs);
        let mut score = self.value.clone();
        if decision.columns == 2 {
            let second = graph.ints(&[1], &[1]);
            score = graph.node("Gather", &[&score, &second], vec![int("axis", 1)]);
        }
        let column = graph.ints(&[2], &[-1, 1]);
        let score = graph.node("Reshape", &[&score, &column], Vec::new());
        let [standard, classical] = [0, 1].map(|set| self.versions[set].unwrap_or(NEW[set]));
        let Decision { thresholds, groups, .. } = *decision;
        let (element, versions) = (self.element, [standard, classical]);
        let rule =
            Rule { score: &score, element, thresholds, lower: None, groups, probability: None, versions };
        let name = rule.add(&mut graph)?;
        let needed = [("", true), (ML, groups.is_some())].into_iter().enumerate();
        let missing = needed.filter(|(set, (_, needed))| *needed && self.versions[*set].is_none());
        let entry = |(key, value): &(&str, String)| {
            let mut key = (*key).to_owned();
            while self.keys.contains(&key) {
                key.insert_str(0, "setpoint.");
            }
            Entry { key, value: value.clone() }
        };
        let behind = Model {
            graph: Some(graph.graph),
            opset_import: missing
                .map(|(set, (domain, _))| OperatorSet { domain: domain.to_owned(), version: NEW[set] })
                .collect(),
            metadata_props: decision.metadata.iter().map(entry).collect(),
            ..Model::default()
        };
        Ok(([&self.bytes[..], &behind.encode_to_vec()].concat(), name))
    }

    /// Every name that its graph uses.
    fn names(&self) -> HashSet<String> {
        let GraphOutline { node, initializer, input, output } = &self.graph;
        let values = input.iter().chain(output).map(|value| &value.name);
        let constants = initializer.iter().map(|constant| &constant.name);
        values.chain(constants).chain(node.iter().flat_map(|node| &node.output)).cloned().collect()
    }
}

/// The value that holds the scores, and the type of its elements.
fn score(graph: &GraphOutline, output: Option<&str>) -> Result<(String, i32), Failure> {
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
        ([], _) => {
            let found = if graph.output.is_empty() { "none at all".to_owned() } else { names() };
            Err(Failure::input(format!(
                "the model has no output of 32-bit or 64-bit numbers that could be the score; it has {found}"
            )))
        }
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
    fn what_has_no_score_is_refused() {
        let named = |element| Value::tensor("label", element, &[None]);
        for (output, said) in [
            (vec![], "it has none at all"),
            (vec![named(element::INT64)], "it has label"),
            (
                vec![named(element::FLOAT), Value::tensor("b", element::FLOAT, &[None])],
                "name it with ‹score›",
            ),
        ] {
            let graph = Some(Graph { output, ..Graph::default() });
            let bytes = Model { graph, ..Model::default() }.encode_to_vec();
            let error = Classifier::new(bytes, None).unwrap_err().message;
            assert!(error.contains(said), "{error}");
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
