use super::*;
use crate::model::{Linear, Model, Rows};

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

fn to_csr(values: &[f32], columns: usize) -> Features {
    let (mut starts, mut indices, mut kept) = (vec![0], vec![], vec![]);
    for row in values.chunks_exact(columns) {
        for (column, value) in row.iter().enumerate().filter(|(_, value)| **value != 0.0) {
            indices.push(column as u32);
            kept.push(*value);
        }
        starts.push(kept.len());
    }
    Features::from_csr(Sparse { columns, starts, indices, values: kept }).unwrap()
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

/// Numbers and fields of so many categories in turn, some rows without any, then columns of entries; and the same
/// written out.
fn mixed(rows: usize, categories: &[usize], entries: usize, seed: u64) -> (Features, Vec<f32>) {
    let mut layout = Layout::default();
    let (mut places, mut scalings) = (Vec::new(), Vec::new());
    let drawn = numbers(rows * categories.len(), seed);
    for (field, count) in categories.iter().enumerate() {
        layout.add_number();
        let scaling = |category: usize| {
            let share = 1.0 / (category + 2) as f32;
            Scaling { mean: share, scale: (share * (1.0 - share)).sqrt() }
        };
        scalings.push((0..*count).map(scaling).collect::<Vec<_>>());
        layout.add_categories(scalings[field].clone());
        let of = |row: usize| (drawn[row * categories.len() + field].powi(2) * (count + 1) as f32) as u32;
        places.push((0..rows).map(of).map(|place| place.min(*count as u32)).collect::<Vec<_>>());
    }
    layout.add_entries(entries);
    let columns = layout.columns();
    let mut thin = numbers(rows * entries, seed + 2);
    thin_out(&mut thin);
    let values = numbers(rows * categories.len(), seed + 1);
    let mut written = Vec::with_capacity(rows * columns);
    for row in 0..rows {
        for (field, scalings) in scalings.iter().enumerate() {
            written.push(values[row * categories.len() + field]);
            let one = |category: usize| f32::from(u8::from(category + 1 == places[field][row] as usize));
            written.extend(scalings.iter().enumerate().map(|(category, s)| s.apply(one(category))));
        }
        written.extend_from_slice(&thin[row * entries..][..entries]);
    }
    let mut features = Features::zeros(layout.into(), rows);
    // In pieces, as a table comes in chunks.
    for rows in [0..rows / 3, rows / 3..rows] {
        let start = rows.start;
        features.fill(
            rows,
            |column, rows, into| {
                let value = |row: usize| values[(start + row) * categories.len() + column];
                into.iter_mut().zip(rows).for_each(|(into, row)| *into = value(row));
            },
            |field, rows, into| into.copy_from_slice(&places[field][start + rows.start..start + rows.end]),
        );
    }
    if entries > 0 {
        let sparse = to_csr(&thin, entries).into_entries().unwrap();
        let first = (columns - entries) as u32;
        let indices = sparse.indices.iter().map(|index| first + index).collect();
        features = features.with_entries(Sparse { columns, indices, ..sparse }).unwrap();
    }
    (features, written)
}

/// Features of every kind, each beside its values row by row.
fn cases() -> Vec<(Features, Vec<f32>)> {
    let mut cases = Vec::new();
    for (rows, columns) in
        [(1, 1), (1, 22), (63, 3), (64, 1), (65, 123), (127, 64), (1000, 22), (2500, 65), (40_000, 5)]
    {
        let mut values = numbers(rows * columns, 1);
        thin_out(&mut values);
        cases.push((to_csr(&values, columns), values.clone()));
        cases.push((Features::from_row_major(values.clone(), columns).unwrap(), values));
    }
    // One category, 300 and 70,000 of them; fields that share codes, and fields that cannot.
    let categories: [(usize, &[usize]); 6] = [
        (1, &[1]),
        (200, &[1, 2]),
        (40_000, &[2, 2, 2, 4, 4, 7, 9, 20, 30, 31, 3, 300]),
        (9000, &[5, 1500, 3]),
        (300, &[1023, 1024, 1]),
        (200, &[70_000, 2]),
    ];
    cases.extend(categories.map(|(rows, categories)| mixed(rows, categories, 0, 20)));
    cases.extend([(1, 1), (9000, 40)].map(|(rows, entries)| mixed(rows, &[3, 1500], entries, 30)));
    cases
}

#[test]
fn shuffled_columns_are_those_of_other_rows_and_the_rest_stay() {
    // Three fields that share codes, one alone, and entries: number, categories, number, categories, .., entries.
    let (rows, categories, entries) = (300, [2, 3, 1500], 40);
    let (features, values) = mixed(rows, &categories, entries, 7);
    let columns = features.columns();
    let order: Vec<u32> = (0..rows as u32).map(|row| (row * 7 + 5) % rows as u32).collect();
    let mut ranges = Vec::new();
    let mut first = 0;
    for count in categories {
        ranges.extend([first..first + 1, first + 1..first + 1 + count]);
        first += 1 + count;
    }
    ranges.extend([first..first + entries, first + 3..first + 5]);
    for own in ranges {
        let shuffled = features.shuffled(&own, &order).unwrap();
        for (row, other) in order.iter().enumerate() {
            let mut expected = values[row * columns..][..columns].to_vec();
            expected[own.clone()].copy_from_slice(&values[*other as usize * columns..][own.clone()]);
            let mut found = vec![0.0; columns];
            shuffled.write_row(row, &mut found);
            assert_eq!(found, expected, "{own:?}, row {row}");
        }
    }
    assert!(features.shuffled(&(0..1), &order[1..]).is_err());
    assert!(features.shuffled(&(0..1), &vec![rows as u32; rows]).is_err());
}

#[test]
fn columns_that_are_split_off_are_the_last_ones() {
    let rows = 200;
    let mut layout = Layout::default();
    layout.add_number();
    layout.add_categories(vec![Scaling { mean: 0.25, scale: 0.5 }; 3]);
    layout.add_entries(2);
    layout.add_number();
    layout.add_number();
    let values = numbers(3 * rows, 5);
    let mut whole = Features::zeros(layout.into(), rows);
    whole.fill(
        0..rows,
        |column, rows, into| into.copy_from_slice(&values[column * 200..][rows]),
        |_, rows, into| into.iter_mut().zip(rows).for_each(|(into, row)| *into = row as u32 % 4),
    );
    let one =
        Sparse { columns: 8, starts: (0..=rows).collect(), indices: vec![5; rows], values: vec![2.0; rows] };
    let whole = whole.with_entries(one).unwrap();
    let row_of = |features: &Features, row: usize| {
        let mut into = vec![f32::NAN; features.columns()];
        features.write_row(row, &mut into);
        into
    };
    let expected: Vec<Vec<f32>> = (0..rows).map(|row| row_of(&whole, row)).collect();
    let (own, rest) = whole.split_off(6);
    assert_eq!((own.columns(), rest.columns(), rest.rows()), (6, 2, rows));
    for (row, expected) in expected.iter().enumerate() {
        assert_eq!([row_of(&own, row), row_of(&rest, row)].concat(), *expected, "row {row}");
    }
}

#[test]
fn every_kind_matches_plain_loops_as_a_whole_and_in_batches() {
    for (features, values) in cases() {
        let (rows, columns) = (features.rows(), features.columns());
        let what = format!("{rows} x {columns}");
        let parameters = numbers(columns + 1, 2);
        let mut model = Linear::new(features);
        let mut check = |asked: Rows<'_>, values: &[f32]| {
            let v = numbers(values.len() / columns, 3);
            let (scores, gradient) = oracle(values, &parameters, &v);
            let got = run(&mut model, &parameters, asked, &v);
            assert_close(&got.0, &scores, &format!("{what}, score"));
            assert_close(&got.1, &gradient, &format!("{what}, gradient"));
        };
        check(Rows::All, &values);
        // Growing, shrinking and empty batches through the same workspace; repeats included.
        for size in [1, 130, 64, 0, 65, 200] {
            let batch: Vec<u32> = (0..size).map(|i| (i * 37 + 299) % rows as u32).collect();
            let picked: Vec<f32> =
                batch.iter().flat_map(|i| &values[*i as usize * columns..][..columns]).copied().collect();
            check(Rows::At(&batch), &picked);
        }
    }
}

#[test]
fn rows_come_back_as_they_were_however_they_are_moved() {
    for (features, values) in cases() {
        let columns = features.columns();
        assert!(features.clone().into_row_major() == values);
        let chosen: Vec<u32> = (0..130).map(|i| (i * 37 + 11) % features.rows() as u32).collect();
        let selected = features.select(&chosen).unwrap();
        let expected: Vec<f32> =
            chosen.iter().flat_map(|i| &values[*i as usize * columns..][..columns]).copied().collect();
        assert!(selected.clone().into_row_major() == expected);
        let mut joined = features.select(&chosen[..70]).unwrap();
        joined.append(&features.select(&chosen[70..]).unwrap()).unwrap();
        assert_eq!(joined, selected);
        assert!(joined.append(&Features::from_row_major(vec![1.0; 9], 9).unwrap()).is_none());
        let hash = |row: usize| {
            let mut hasher = std::hash::DefaultHasher::new();
            selected.hash_row(row, &mut hasher);
            hasher.finish()
        };
        for (row, values) in expected.chunks(columns).enumerate().skip(1) {
            assert_eq!(hash(row) == hash(0), *values == expected[..columns], "{row}");
        }
    }
}

#[test]
fn the_number_of_threads_does_not_change_a_bit() {
    for (features, _) in cases().into_iter().filter(|(features, _)| features.rows() >= 1000) {
        let rows = features.rows();
        let (parameters, v) = (numbers(features.columns() + 1, 8), numbers(rows, 9));
        let batch: Vec<u32> = (0..rows as u32).rev().collect();
        let model = Linear::new(features);
        let with = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut model = model.clone();
            pool.install(|| [Rows::All, Rows::At(&batch)].map(|rows| run(&mut model, &parameters, rows, &v)))
        };
        let one = with(1);
        assert!(one == with(2) && one == with(3));
    }
}

#[test]
fn vectors_of_any_width_give_the_same_bits() {
    let (rows, columns) = (640, 70);
    let mut model = Linear::new(Features::from_row_major(numbers(rows * columns, 17), columns).unwrap());
    let (parameters, v) = (numbers(columns + 1, 18), numbers(rows, 19));
    let (scores, gradient) = run(&mut model, &parameters, Rows::All, &v);
    let (plain_scores, plain_gradient) = model.features().numbers.without_vectors(&parameters, &v);
    assert_eq!(scores, plain_scores);
    assert_eq!(gradient, plain_gradient);
}

#[test]
fn repeated_columns_of_a_sparse_row_add_up() {
    let sparse =
        Sparse { columns: 2, starts: vec![0, 3, 3], indices: vec![1, 0, 1], values: vec![1.0, 2.0, 3.0] };
    let sparse = Features::from_csr(sparse).unwrap();
    let (scores, gradient) = run(&mut Linear::new(sparse), &[10.0, 1.0, 0.5], Rows::All, &[1.0, 1.0]);
    assert_eq!(scores, [24.5, 0.5]);
    assert_eq!(gradient, [2.0, 4.0, 2.0]);
}

#[test]
fn bad_dense_features_are_refused() {
    let refuse = |values: Vec<f32>, columns| Features::from_row_major(values, columns).unwrap_err();
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
        let (starts, indices, values) = (starts.to_vec(), indices.to_vec(), values.to_vec());
        Features::from_csr(Sparse { columns: 2, starts, indices, values }).unwrap_err()
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
    let mut model = Linear::new(Features::from_row_major(numbers(6, 15), 2).unwrap());
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

#[test]
fn many_rows_are_counted_before_they_are_asked_for() {
    let mut layout = Layout::default();
    layout.add_number();
    layout.add_categories(vec![Scaling { mean: 0.5, scale: 0.5 }; 3]);
    layout.add_categories(vec![Scaling { mean: 0.5, scale: 0.5 }; 2000]);
    assert_eq!((layout.columns(), layout.bytes(1000)), (2004, Some(1064 * 10)));
    assert_eq!(layout.bytes(usize::MAX / 2), None);
}
