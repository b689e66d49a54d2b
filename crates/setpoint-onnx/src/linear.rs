//! The linear model, bit for bit.
//!
//! Setpoint multiplies and adds in 32 bits, in a fixed order, and never fuses the two; so does the graph. A
//! matrix product may add up in any order, a running sum (`CumSum`) in one only:
//!
//! ```text
//! s = ((b + x1 w1) + x2 w2) + ..         the last of the running sums over [1 b, x1 w1, x2 w2, ..]
//! s = s + ((v1 + v2) + ..)               what categories are worth, looked up, in the order of the packs
//! ```
//!
//! Rows of SVMLight files are added up in 64 bits and rounded once: there any order gives the same 32 bits, but
//! for one row in some hundred million.

use setpoint_data::Input;

use crate::graph::{Builder, int};
use crate::input::Columns;
use crate::proto::element;

/// The scores of a table's rows: one, or one for each class.
pub(crate) fn of_table(
    graph: &mut Builder,
    columns: &Columns,
    inputs: &[Input],
    parameters: &[f32],
    outputs: usize,
) -> String {
    let layout = setpoint_data::layout(inputs);
    let width = layout.columns();
    let (weights, biases) = parameters.split_at(outputs * width);
    let weights: Vec<&[f32]> = (0..outputs).map(|output| &weights[output * width..][..width]).collect();
    let biases: Vec<f32> =
        weights.iter().zip(biases).map(|(weights, bias)| layout.bias(weights, *bias)).collect();
    let mut score = match &columns.numbers {
        Some(numbers) => {
            let count = columns.places.len() + 1;
            let own = weights.iter().zip(&biases).flat_map(|(weights, bias)| {
                std::iter::once(*bias).chain(columns.places.iter().map(|place| weights[*place]))
            });
            let own = graph.floats(&[outputs, count], &own.collect::<Vec<f32>>());
            // A one before the numbers, whose weight is the bias; then a row of terms for each score.
            let (before, one) = (graph.ints(&[4], &[0, 1, 0, 0]), graph.floats(&[], &[1.0]));
            let terms = graph.node("Pad", &[numbers, &before, &one], Vec::new());
            let axis = graph.ints(&[1], &[1]);
            let terms = graph.node("Unsqueeze", &[&terms, &axis], Vec::new());
            let products = graph.node("Mul", &[&terms, &own], Vec::new());
            let (axis, last) = (graph.ints(&[], &[2]), graph.ints(&[], &[-1]));
            let sums = graph.node("CumSum", &[&products, &axis], Vec::new());
            graph.node("Gather", &[&sums, &last], vec![int("axis", 2)])
        }
        None => graph.floats(&[1, outputs], &biases),
    };
    let looked = columns.look_up(graph, inputs, &weights);
    let add = |graph: &mut Builder, terms: Vec<String>| {
        terms.into_iter().reduce(|sum, term| graph.node("Add", &[&sum, &term], Vec::new()))
    };
    for packs in layout.sums() {
        let mut terms = Vec::new();
        for fields in packs {
            terms.extend(add(graph, fields.iter().map(|field| looked[*field].clone()).collect()));
        }
        if let Some(sum) = add(graph, terms) {
            score = graph.node("Add", &[&score, &sum], Vec::new());
        }
    }
    score
}

/// The scores of sparse rows.
pub(crate) fn of_matrix(graph: &mut Builder, matrix: &str, parameters: &[f32], outputs: usize) -> String {
    let wide: Vec<f64> = parameters.iter().copied().map(f64::from).collect();
    let (weights, biases) = wide.split_at(wide.len() - outputs);
    let width = weights.len() / outputs;
    let by_column = (0..weights.len()).map(|at| weights[at % outputs * width + at / outputs]);
    let matrix = graph.cast(matrix, element::DOUBLE);
    let weights = graph.doubles(&[width, outputs], &by_column.collect::<Vec<f64>>());
    let biases = graph.doubles(&[1, outputs], biases);
    let products = graph.node("MatMul", &[&matrix, &weights], Vec::new());
    let sum = graph.node("Add", &[&products, &biases], Vec::new());
    graph.cast(&sum, element::FLOAT)
}
