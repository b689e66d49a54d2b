use proptest::prelude::*;

use super::*;

const SHAPES: [(usize, usize); 14] = [
    (1, 1),
    (1, 22),
    (63, 3),
    (64, 3),
    (65, 3),
    (64, 1),
    (65, 123),
    (127, 64),
    (1000, 1),
    (1000, 3),
    (1000, 22),
    (1000, 123),
    (2500, 65),
    (40_000, 5),
];

/// Numbers in [-1, 1), the same in every run.
fn numbers(count: usize, seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

fn thin_out(values: &mut [f32]) {
    for (value, coin) in values.iter_mut().zip(numbers(1 << 20, 99).iter().cycle()) {
        if *coin < 0.6 {
            *value = 0.0;
        }
    }
}

fn to_csr(values: &[f32], columns: usize) -> Sparse {
    let (mut starts, mut indices, mut kept) = (vec![0], vec![], vec![]);
    for row in values.chunks_exact(columns) {
        for (column, value) in row.iter().enumerate().filter(|(_, value)| **value != 0.0) {
            indices.push(column as u32);
            kept.push(*value);
        }
        starts.push(kept.len());
    }
    Sparse::from_csr(starts, indices, kept, columns).unwrap()
}

/// A sum, and the sum of its absolute terms.
type Sums = (f64, f64);

/// Scores and gradient by plain loops in f64.
fn oracle(values: &[f32], parameters: &[f32], v: &[f32]) -> (Vec<Sums>, Vec<Sums>) {
    let columns = parameters.len() - 1;
    let bias = f64::from(parameters[columns]);
    let mut scores = vec![(bias, bias.abs()); v.len()];
    let mut gradient = vec![(0.0, 0.0); columns + 1];
    for (i, row) in values.chunks_exact(columns).enumerate() {
        let slope = f64::from(v[i]);
        for (j, x) in row.iter().chain([&1.0]).enumerate() {
            let x = f64::from(*x);
            if j < columns {
                let term = x * f64::from(parameters[j]);
                scores[i] = (scores[i].0 + term, scores[i].1 + term.abs());
            }
            gradient[j] = (gradient[j].0 + x * slope, gradient[j].1 + (x * slope).abs());
        }
    }
    (scores, gradient)
}

/// Within 1e-5 of the sum of absolute terms: what is left after cancellation has no more digits.
fn assert_close(got: &[f32], expected: &[Sums], what: &str) {
    assert_eq!(got.len(), expected.len());
    for (i, (got, (value, scale))) in got.iter().zip(expected).enumerate() {
        let error = (f64::from(*got) - value).abs();
        assert!(error <= 1e-5 * scale, "{what} {i}: {got} for {value}, scale {scale}");
    }
}

fn run(model: &mut Linear, parameters: &[f32], rows: Rows<'_>, v: &[f32]) -> (Vec<f32>, Vec<f32>) {
    let (mut scores, mut gradient) = (vec![f32::NAN; v.len()], vec![f32::NAN; parameters.len()]);
    model.scores(parameters, rows, &mut scores).unwrap();
    model.backward(parameters, v, &mut gradient).unwrap();
    (scores, gradient)
}

#[test]
fn dense_and_sparse_match_plain_loops() {
    for (rows, columns) in SHAPES {
        let mut values = numbers(rows * columns, 1);
        thin_out(&mut values);
        let (parameters, v) = (numbers(columns + 1, 2), numbers(rows, 3));
        let (scores, gradient) = oracle(&values, &parameters, &v);
        let sparse = to_csr(&values, columns);
        let dense = Dense::from_row_major(values, columns).unwrap();
        for mut model in [Linear::new(dense), Linear::new(sparse)] {
            let got = run(&mut model, &parameters, Rows::All, &v);
            assert_close(&got.0, &scores, &format!("{rows} x {columns}, score"));
            assert_close(&got.1, &gradient, &format!("{rows} x {columns}, gradient"));
        }
    }
}

#[test]
fn a_batch_equals_a_matrix_of_its_rows() {
    let (rows, columns) = (300, 7);
    let mut values = numbers(rows * columns, 4);
    thin_out(&mut values);
    let parameters = numbers(columns + 1, 5);
    let sparse = Linear::new(to_csr(&values, columns));
    let dense = Linear::new(Dense::from_row_major(values.clone(), columns).unwrap());
    for mut model in [dense, sparse] {
        // Growing, shrinking and empty batches through the same workspace; repeats included.
        for size in [1, 130, 64, 0, 65, 200] {
            let batch: Vec<u32> = (0..size).map(|i| (i * 37 + 299) % rows as u32).collect();
            let picked: Vec<f32> =
                batch.iter().flat_map(|i| values[*i as usize * columns..][..columns].to_vec()).collect();
            let v = numbers(size as usize, 6);
            let (scores, gradient) = oracle(&picked, &parameters, &v);
            let got = run(&mut model, &parameters, Rows::At(&batch), &v);
            assert_close(&got.0, &scores, "score");
            assert_close(&got.1, &gradient, "gradient");
        }
    }
}

#[test]
fn the_number_of_threads_does_not_change_a_bit() {
    for (rows, columns) in [(1000, 123), (40_000, 5), (20_000, 16)] {
        let mut values = numbers(rows * columns, 7);
        thin_out(&mut values);
        let (parameters, v) = (numbers(columns + 1, 8), numbers(rows, 9));
        let sparse = Linear::new(to_csr(&values, columns));
        let dense = Linear::new(Dense::from_row_major(values, columns).unwrap());
        let batch: Vec<u32> = (0..rows as u32).rev().collect();
        for model in [dense, sparse] {
            let with = |threads: usize| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let mut model = model.clone();
                pool.install(|| {
                    [Rows::All, Rows::At(&batch)].map(|rows| {
                        let (scores, gradient) = run(&mut model, &parameters, rows, &v);
                        [scores, gradient].concat().iter().map(|x| x.to_bits()).collect::<Vec<_>>()
                    })
                })
            };
            let one = with(1);
            assert_eq!(one, with(2));
            assert_eq!(one, with(3));
        }
    }
}

#[test]
fn vectors_of_any_width_give_the_same_bits() {
    let (rows, columns) = (640, 70);
    let mut model = Linear::new(Dense::from_row_major(numbers(rows * columns, 17), columns).unwrap());
    let (parameters, v) = (numbers(columns + 1, 18), numbers(rows, 19));
    let (scores, gradient) = run(&mut model, &parameters, Rows::All, &v);
    let Features::Dense(matrix) = &**model.features() else { unreachable!() };
    let (plain_scores, plain_gradient) = matrix.without_vectors(&parameters, &v);
    assert_eq!(scores, plain_scores);
    assert_eq!(gradient, plain_gradient);
}

#[test]
fn gradient_matches_finite_differences() {
    let (rows, columns) = (90, 6);
    let mut model = Linear::new(Dense::from_row_major(numbers(rows * columns, 10), columns).unwrap());
    let (mut parameters, v) = (numbers(columns + 1, 11), numbers(rows, 12));
    let (_, gradient) = run(&mut model, &parameters, Rows::All, &v);
    for j in 0..=columns {
        let mut value = |step: f32| {
            let kept = parameters[j];
            parameters[j] += step;
            let mut scores = vec![0.0; rows];
            model.scores(&parameters, Rows::All, &mut scores).unwrap();
            parameters[j] = kept;
            scores.iter().zip(&v).map(|(s, v)| f64::from(*s) * f64::from(*v)).sum::<f64>()
        };
        // Exact in infinite precision (scores are linear); scores carry about 1e-7 of rounding,
        // 90 of them over a step of 1 stay below 1e-5.
        let slope = (value(0.5) - value(-0.5)) / 1.0;
        assert!((slope - f64::from(gradient[j])).abs() < 1e-5, "{j}: {slope} {}", gradient[j]);
    }
}

proptest! {
    #[test]
    fn backward_is_the_adjoint_of_scores(rows in 1_usize..400, columns in 1_usize..140, seed in 1_u64..1000) {
        let mut values = numbers(rows * columns, seed);
        thin_out(&mut values);
        let (parameters, v) = (numbers(columns + 1, seed + 1), numbers(rows, seed + 2));
        let sparse = Linear::new(to_csr(&values, columns));
        let dense = Linear::new(Dense::from_row_major(values, columns).unwrap());
        for mut model in [dense, sparse] {
            let (scores, gradient) = run(&mut model, &parameters, Rows::All, &v);
            let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
            // Terms are below 1 and there are rows x (columns + 1) of them, each rounded to 1e-7.
            let slack = 1e-6 * (rows * (columns + 1)) as f64;
            prop_assert!((dot(&scores, &v) - dot(&gradient, &parameters)).abs() < slack);
        }
    }
}

#[test]
fn rows_come_back_as_they_were() {
    let (rows, columns) = (131, 5);
    let values = numbers(rows * columns, 13);
    let sparse = to_csr(&values, columns);
    let dense = Dense::from_row_major(values.clone(), columns).unwrap();
    for (i, row) in values.chunks_exact(columns).enumerate() {
        assert_eq!(dense.row(i).collect::<Vec<_>>(), row);
        assert_eq!(sparse.row(i).map(|(_, value)| value).collect::<Vec<_>>(), row);
    }
}

#[test]
fn rearranging_takes_no_second_copy() {
    let values = numbers(1000 * 7, 14);
    let place = values.as_ptr();
    let dense = Dense::from_row_major(values, 7).unwrap();
    assert!(dense.is_at(place));
}

#[test]
fn repeated_columns_of_a_sparse_row_add_up() {
    let sparse = Sparse::from_csr(vec![0, 3, 3], vec![1, 0, 1], vec![1.0, 2.0, 3.0], 2).unwrap();
    let (scores, gradient) = run(&mut Linear::new(sparse), &[10.0, 1.0, 0.5], Rows::All, &[1.0, 1.0]);
    assert_eq!(scores, [24.5, 0.5]);
    assert_eq!(gradient, [2.0, 4.0, 2.0]);
}

#[test]
fn bad_dense_features_are_refused() {
    let refuse = |values: Vec<f32>, columns| Dense::from_row_major(values, columns).unwrap_err();
    assert_eq!(refuse(vec![], 3), ModelError::Empty { rows: 0, columns: 3 });
    assert_eq!(refuse(vec![], 0), ModelError::Empty { rows: 0, columns: 0 });
    assert_eq!(refuse(vec![1.0; 7], 3), ModelError::Ragged { values: 7, columns: 3 });
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let mut values = vec![f32::MAX; 200 * 100];
        values[150 * 100 + 3] = bad;
        values[19_999] = f32::NAN;
        assert!(matches!(refuse(values, 100), ModelError::Feature { row: 150, column: 3, .. }));
    }
}

#[test]
fn bad_sparse_features_are_refused() {
    let refuse = |starts: &[usize], indices: &[u32], values: &[f32]| {
        Sparse::from_csr(starts.to_vec(), indices.to_vec(), values.to_vec(), 2).unwrap_err()
    };
    assert_eq!(refuse(&[], &[], &[]), ModelError::Empty { rows: 0, columns: 2 });
    assert_eq!(refuse(&[0], &[], &[]), ModelError::Empty { rows: 0, columns: 2 });
    assert!(matches!(refuse(&[1, 1], &[0], &[1.0]), ModelError::RowStart { entry: 0, .. }));
    assert!(matches!(refuse(&[0, 2, 1], &[0; 2], &[1.0; 2]), ModelError::RowStart { entry: 2, .. }));
    assert!(matches!(refuse(&[0, 5, 2], &[0; 2], &[1.0; 2]), ModelError::RowStart { entry: 1, .. }));
    assert!(matches!(refuse(&[0, 1], &[0; 2], &[1.0; 2]), ModelError::RowStart { entry: 1, .. }));
    assert!(matches!(refuse(&[0, 1], &[0; 2], &[1.0]), ModelError::Length { .. }));
    assert_eq!(refuse(&[0, 0, 1], &[2], &[1.0]), ModelError::Column { row: 1, column: 2, columns: 2 });
    assert!(matches!(refuse(&[0, 0, 1], &[1], &[f32::NAN]), ModelError::Feature { row: 1, column: 1, .. }));
}

#[test]
fn bad_calls_are_refused() {
    let mut model = Linear::new(Dense::from_row_major(numbers(6, 15), 2).unwrap());
    let parameters = [0.0; 3];
    let mut gradient = [0.0; 3];
    assert_eq!(model.backward(&parameters, &[0.0; 3], &mut gradient), Err(ModelError::NoForward));
    assert!(model.scores(&[0.0; 2], Rows::All, &mut [0.0; 3]).is_err());
    assert!(model.scores(&parameters, Rows::All, &mut [0.0; 2]).is_err());
    assert_eq!(
        model.scores(&parameters, Rows::At(&[0, 3]), &mut [0.0; 2]),
        Err(ModelError::Row { row: 3, rows: 3 })
    );
    model.scores(&parameters, Rows::At(&[0, 2]), &mut [0.0; 2]).unwrap();
    assert!(model.backward(&parameters, &[0.0; 3], &mut gradient).is_err());
    assert!(model.backward(&parameters, &[0.0; 2], &mut gradient[..2]).is_err());
    assert!(model.backward(&parameters, &[0.0; 2], &mut gradient).is_ok());
}
