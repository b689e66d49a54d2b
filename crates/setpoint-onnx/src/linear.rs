//! The linear model, bit for bit.
//!
//! Setpoint multiplies and adds in 32 bits, in a fixed order, and never fuses the two; so does the graph. A
//! matrix product may add up in any order, a running sum (`CumSum`) in one only:
//!
//! ```text
//! s = ((b + x1 w1) + x2 w2) + ..         the last of the running sums over [b, x1 w1, x2 w2, ..]
//! s = s + ((v1 + v2) + ..)               what categories are worth, looked up, in the order of the packs
//! ```
//!
//! Rows of SVMLight files are added up in 64 bits and rounded once: there any order gives the same 32 bits, but
//! for one row in some hundred million.

use setpoint::features::Layout;
use setpoint_data::Input;

use crate::graph::Builder;
use crate::input::Columns;
use crate::proto::element;

/// The score of a table's rows.
pub(crate) fn of_table(
    graph: &mut Builder,
    columns: &Columns,
    inputs: &[Input],
    parameters: &[f32],
) -> String {
    let layout = setpoint_data::layout(inputs);
    let (weights, bias) = parameters.split_at(layout.columns());
    let bias = layout.bias(weights, bias[0]);
    let mut score = match &columns.numbers {
        Some(numbers) => {
            let own: Vec<f32> = columns.places.iter().map(|place| weights[*place]).collect();
            let own = graph.floats(&[1, own.len()], &own);
            let products = graph.node("Mul", &[numbers, &own], Vec::new());
            let (before, bias) = (graph.ints(&[4], &[0, 1, 0, 0]), graph.floats(&[], &[bias]));
            let terms = graph.node("Pad", &[&products, &before, &bias], Vec::new());
            let axis = graph.ints(&[], &[1]);
            let sums = graph.node("CumSum", &[&terms, &axis], Vec::new());
            let last = graph.ints(&[1], &[-1]);
            graph.node("Gather", &[&sums, &last], vec![crate::graph::int("axis", 1)])
        }
        None => graph.floats(&[1, 1], &[bias]),
    };
    for sum in worth(graph, columns, &layout, inputs, weights) {
        score = graph.node("Add", &[&score, &sum], Vec::new());
    }
    score
}

/// What the categories of each row are worth, in the sums that Setpoint makes of them.
fn worth(
    graph: &mut Builder,
    columns: &Columns,
    layout: &Layout,
    inputs: &[Input],
    weights: &[f32],
) -> Vec<String> {
    let mut at = 0;
    let mut values = Vec::new();
    for input in inputs {
        let scalings = input.scalings();
        let first = at + input.width() - scalings.len();
        at += input.width();
        if !scalings.is_empty() {
            let own = weights[first..].iter().zip(&scalings);
            values.push(own.map(|(weight, scaling)| weight / scaling.scale).collect::<Vec<f32>>());
        }
    }
    let mut looked: Vec<String> = Vec::new();
    for (field, values) in columns.fields.iter().zip(values) {
        looked.push(field.look_up(graph, values));
    }
    let add = |graph: &mut Builder, terms: Vec<String>| {
        terms.into_iter().reduce(|sum, term| graph.node("Add", &[&sum, &term], Vec::new()))
    };
    let mut sums = Vec::new();
    for packs in layout.sums() {
        let mut terms = Vec::new();
        for fields in packs {
            terms.extend(add(graph, fields.iter().map(|field| looked[*field].clone()).collect()));
        }
        sums.extend(add(graph, terms));
    }
    sums
}

/// The score of sparse rows.
pub(crate) fn of_matrix(graph: &mut Builder, matrix: &str, parameters: &[f32]) -> String {
    let wide: Vec<f64> = parameters.iter().copied().map(f64::from).collect();
    let (weights, bias) = wide.split_at(wide.len() - 1);
    let matrix = graph.cast(matrix, element::DOUBLE);
    let (weights, bias) = (graph.doubles(&[weights.len(), 1], weights), graph.doubles(&[1, 1], bias));
    let products = graph.node("MatMul", &[&matrix, &weights], Vec::new());
    let sum = graph.node("Add", &[&products, &bias], Vec::new());
    graph.cast(&sum, element::FLOAT)
}
