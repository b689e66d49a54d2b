//! A model file as an ONNX file: raw columns in; score, probability and decision out.

use prost::Message;
use setpoint_data::{Encoder, Inputs};
use setpoint_run::{Blueprint, Decision, Failure, Opened, Schema, Scorer};

use crate::class;
use crate::decide::{self, COLUMN, Observed, Rule};
use crate::graph::{Builder, ML};
use crate::input::{Columns, matrix};
use crate::network::{self, First};
use crate::proto::{Entry, Model, OperatorSet, element};
use crate::{linear, trees};

/// Versions of the format and of the operators: the format of 2022, and for trees that of 2024, which brought
/// the operator for them.
const VERSIONS: [i64; 3] = [8, 17, 3];
const WITH_TREES: [i64; 3] = [10, 17, 5];

/// The bytes of the ONNX file of a model; the same for the same model and scores.
///
/// Scores of rows that the model has seen, or will see, place the thresholds or shifts of a network (see
/// [`Observed`]); other models need none.
///
/// # Errors
/// If there is no operator for a part of the model: which, and why.
pub fn export(model: &Opened, observed: Option<Observed<'_>>) -> Result<Vec<u8>, Failure> {
    let columns = match &model.schema {
        Schema::Table(Encoder { inputs: Inputs::Table(inputs), .. }) => &inputs[..],
        _ => &[],
    };
    let names = columns.iter().map(|input| input.name.as_str()).chain(model.group_column());
    let mut graph = Builder::keeping_off(names.map(str::to_owned));
    let score = score(&mut graph, model)?;
    let observed = observed.filter(|_| matches!(model.blueprint, Blueprint::Network(_)));
    let has_trees = matches!(model.scorer, Scorer::Trees(_) | Scorer::Both(_));
    let [ir_version, standard, classical] = if has_trees { WITH_TREES } else { VERSIONS };
    let [mut thresholds, mut classes, mut shifts] = [None, None, None];
    if let Decision::Shift(decision) = &model.decision {
        let (names, own) = (&decision.goal.classes, &decision.shifts);
        let placed = observed.map(|observed| class::place(own, observed.scores));
        let probability = decision.probability.as_ref();
        let rule = class::Rule { score: &score, names, shifts: placed.as_ref().unwrap_or(own), probability };
        rule.add(&mut graph);
        classes = Some(serde_json::to_string(names)?);
        shifts = Some(serde_json::to_string(own)?);
    } else if let Decision::Place(_) = &model.decision {
        // The place of a row is among others of its query: whoever has them all puts them in order.
        graph.output(&score, "score", element::FLOAT, &COLUMN);
    } else {
        let (shipped, probability, band) = match &model.decision {
            Decision::Band(decision) => (&decision.shipped, decision.probability, true),
            other => other.threshold().map(|decision| (&decision.shipped, decision.probability, false))?,
        };
        let own = &shipped.thresholds;
        // The two thresholds of a band are compared with every row.
        let placed = observed.map(|observed| match band {
            true => own.iter().flat_map(|one| decide::place(&[*one], observed)).collect(),
            false => decide::place(own, observed),
        });
        let placed = placed.as_ref().unwrap_or(own);
        let wide: Vec<f64> = placed.iter().copied().map(f64::from).collect();
        let rule = Rule {
            score: &score,
            element: element::FLOAT,
            thresholds: &wide,
            lower: placed.get(1).copied().filter(|_| band),
            groups: shipped.groups.as_ref(),
            probability,
            versions: [standard, classical],
        };
        rule.add(&mut graph)?;
        thresholds = Some(serde_json::to_string(own)?);
    }
    let opset = |domain: &str, version| OperatorSet { domain: domain.to_owned(), version };
    let document = &model.document;
    let entries = [
        ("setpoint.goal", Some(document.goal.clone())),
        ("setpoint.model", Some(document.model.clone())),
        ("setpoint.thresholds", thresholds),
        ("setpoint.classes", classes),
        ("setpoint.shifts", shifts),
        ("setpoint.certificate", document.certificate.as_ref().map(ToString::to_string)),
        ("setpoint.approximate", document.approximate.as_ref().map(ToString::to_string)),
        ("setpoint.features", Some(document.features.to_string())),
    ];
    let entries =
        entries.into_iter().filter_map(|(key, value)| Some(Entry { key: key.to_owned(), value: value? }));
    let mut graph = graph.graph;
    document.model.clone_into(&mut graph.name);
    let file = Model {
        ir_version,
        producer_name: "setpoint".to_owned(),
        producer_version: document.setpoint.clone(),
        graph: Some(graph),
        opset_import: vec![opset("", standard), opset(ML, classical)],
        metadata_props: entries.collect(),
    };
    Ok(file.encode_to_vec())
}

fn score(graph: &mut Builder, model: &Opened) -> Result<String, Failure> {
    let encoder = match &model.schema {
        Schema::Images(schema) => {
            let first = network::image(graph, schema);
            return of_network(graph, model, &first);
        }
        Schema::Table(encoder) => encoder,
    };
    match (&encoder.inputs, &model.scorer, &model.blueprint) {
        (Inputs::Table(inputs), Scorer::Model(combined), Blueprint::Linear { outputs }) => {
            let columns = Columns::new(graph, inputs)?;
            Ok(linear::of_table(graph, &columns, inputs, single(combined.parameters())?, *outputs))
        }
        (Inputs::Sparse { scales, offsets, .. }, Scorer::Model(combined), Blueprint::Linear { outputs }) => {
            let matrix = matrix(graph, scales, offsets);
            Ok(linear::of_matrix(graph, &matrix, single(combined.parameters())?, *outputs))
        }
        (Inputs::Table(inputs), Scorer::Trees(ensemble), Blueprint::Trees { categorical }) => {
            let columns = Columns::new(graph, inputs)?;
            let values = columns.numbers.ok_or_else(|| Failure::input("the trees have no columns"))?;
            trees::score(graph, ensemble, categorical, &values)
        }
        (Inputs::Sparse { scales, offsets, .. }, Scorer::Trees(ensemble), _) => {
            let matrix = matrix(graph, scales, offsets);
            trees::score(graph, ensemble, &[], &matrix)
        }
        (Inputs::Table(inputs), Scorer::Both(both), _) => {
            let [Scorer::Model(combined), Scorer::Trees(ensemble)] = &**both else {
                return Err(Failure::input("an average of other kinds cannot be exported"));
            };
            let columns = Columns::new(graph, inputs)?;
            let own = linear::of_table(graph, &columns, inputs, single(combined.parameters())?, 1);
            let columns = Columns::new(graph, &encoder.beside)?;
            let values = columns.numbers.ok_or_else(|| Failure::input("the trees have no columns"))?;
            let first = encoder.own_columns();
            let coded = encoder.coded_columns().into_iter().filter_map(|column| column.checked_sub(first));
            let coded: Vec<u32> = coded.map(|column| column as u32).collect();
            let beside = trees::score(graph, ensemble, &coded, &values)?;
            Ok(graph.node("Add", &[&own, &beside], Vec::new()))
        }
        (Inputs::Table(inputs), ..) => {
            let columns = Columns::new(graph, inputs)?;
            of_network(graph, model, &First::Table(&columns, inputs))
        }
        (Inputs::Sparse { scales, offsets, .. }, ..) => {
            let first = First::Values(matrix(graph, scales, offsets));
            of_network(graph, model, &first)
        }
    }
}

fn of_network(graph: &mut Builder, model: &Opened, first: &First<'_>) -> Result<String, Failure> {
    match (&model.blueprint, &model.scorer) {
        (Blueprint::Network(architecture), Scorer::Model(combined)) => {
            network::score(graph, architecture, combined, first)
        }
        _ => Err(Failure::input(format!(
            "a {} model over these inputs cannot be exported",
            model.document.model
        ))),
    }
}

fn single(parameters: Option<&[f32]>) -> Result<&[f32], Failure> {
    parameters.ok_or_else(|| Failure::input("a weighted sum of linear models cannot be exported"))
}
