//! Numbers that are large beside their spread keep it, whatever they come from.

use std::fmt::Write;
use std::sync::Arc;

use parquet::data_type::{BoolType, DoubleType, Int64Type};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use setpoint::features::Features;
use setpoint_data::{Encoder, Inputs, ReadOptions, Roles, Table};

use super::{all_rows, label, parquet::column, rows};

const ROWS: usize = 600;

/// A time in seconds, the same in whole milliseconds, and an ordinary number.
fn numbers(row: usize) -> [f64; 3] {
    let second = (row * 37 % 1009) as f64 / 64.0;
    [1.7e9 + second, ((1.7e9 + second) * 1000.0).trunc(), (row % 7) as f64 / 10.0]
}

/// Mean 0 and deviation 1, in 64 bits throughout.
fn standardised(values: &[f64]) -> Vec<f64> {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let deviation = (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt();
    values.iter().map(|value| (value - mean) / deviation).collect()
}

fn csv() -> Vec<u8> {
    let mut text = "a,b,c,y\n".to_owned();
    for row in 0..ROWS {
        let [a, b, c] = numbers(row);
        writeln!(text, "{a},{b},{c},{}", row % 2).unwrap();
    }
    text.into_bytes()
}

fn parquet() -> Vec<u8> {
    let schema = "message t { required double a; required int64 b; required double c; required boolean y; }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Default::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let of = |at: usize| (0..ROWS).map(|row| numbers(row)[at]).collect::<Vec<f64>>();
    column::<DoubleType>(&mut group, &of(0), None);
    column::<Int64Type>(&mut group, &of(1).iter().map(|value| *value as i64).collect::<Vec<_>>(), None);
    column::<DoubleType>(&mut group, &of(2), None);
    column::<BoolType>(&mut group, &(0..ROWS).map(|row| row % 2 == 1).collect::<Vec<_>>(), None);
    group.close().unwrap();
    writer.into_inner().unwrap()
}

fn read(name: &str, bytes: Vec<u8>, encoder: Option<&Encoder>) -> Table {
    let options = ReadOptions::default();
    // The label of a sparse row stands first.
    let roles = if name.ends_with(".txt") { Roles::default() } else { label("y") };
    match encoder {
        None => Table::from_bytes(name, bytes, &options, &roles, None).unwrap(),
        Some(encoder) => Table::from_bytes(name, bytes, &options, &roles, Some(encoder)).unwrap(),
    }
}

/// As a model file keeps it.
fn stored(encoder: &Encoder) -> Encoder {
    serde_json::from_str(&serde_json::to_string(encoder).unwrap()).unwrap()
}

fn columns(features: &Features) -> Vec<Vec<f32>> {
    let rows = rows(features);
    (0..features.columns()).map(|at| rows.iter().map(|row| row[at]).collect()).collect()
}

#[test]
fn time_stamps_keep_their_spread_from_file_to_matrix_and_in_predictions() {
    for (name, bytes) in [("t.csv", csv()), ("t.parquet", parquet())] {
        let table = read(name, bytes.clone(), None);
        let encoder = Encoder::fit(&table, &all_rows(&table)).unwrap();
        assert!(encoder.constant.is_empty(), "{name}");
        let features = encoder.encode(table).unwrap().features;
        for (at, column) in columns(&features).iter().enumerate() {
            let values: Vec<f64> = (0..ROWS).map(|row| numbers(row)[at]).collect();
            for (found, expected) in column.iter().zip(standardised(&values)) {
                // Some roundings of numbers up to 2, each by 2^-24 of them.
                assert!((f64::from(*found) - expected).abs() < 1e-6, "{name} {at}: {found} {expected}");
            }
        }
        let stored = stored(&encoder);
        let again = stored.encode(read(name, bytes.clone(), Some(&stored))).unwrap();
        assert_eq!(again.features, features, "{name}");

        // Trees: the differences are what they were.
        let plain = encoder.plain().unwrap();
        let features = plain.encode(read(name, bytes, Some(&plain))).unwrap().features;
        let first = &columns(&features)[0];
        for row in 1..ROWS {
            let difference = numbers(row)[0] - numbers(0)[0];
            assert_eq!(f64::from(first[row]) - f64::from(first[0]), difference, "{name}");
        }
    }
}

#[test]
fn ordinary_columns_are_read_and_stored_as_ever() {
    let table = read("t.csv", csv(), None);
    let encoder = Encoder::fit(&table, &all_rows(&table)).unwrap();
    let Inputs::Table(inputs) = &encoder.inputs else { panic!("a table") };
    assert_eq!(inputs.iter().map(|input| input.offset != 0.0).collect::<Vec<_>>(), [true, true, false]);
    assert!(!serde_json::to_string(&inputs[2]).unwrap().contains("offset"));
}

#[test]
fn an_offset_that_the_head_does_not_tell_is_found_in_the_end() {
    // The head of the file, of 1 MB, spreads widely; the many rows after it do not.
    let mut text = "x,y\n".to_owned();
    for row in 0..400_000u32 {
        let x = if row < 80_000 { f64::from(row % 1000) * 2e5 } else { 1e8 + f64::from(row % 999) / 4.0 };
        writeln!(text, "{x:.2},{}", row % 2).unwrap();
    }
    let table = read("t.csv", text.into_bytes(), None);
    let rows: Vec<u32> = (80_000..400_000).collect();
    let encoder = Encoder::fit(&table, &rows).unwrap();
    let features = encoder.encode(table).unwrap().features;
    let found = &columns(&features)[0][80_000..];
    assert!((f64::from(found[996]) - f64::from(found[995]) - 0.25 / 72.1).abs() < 1e-4);
}

#[test]
fn a_column_is_noted_as_constant_only_if_it_is() {
    let text = |step: f64| {
        let rows =
            (0..90).map(|row| format!("{},{},{}\n", 1e8 + 0.5 + step * f64::from(row % 3), row % 5, row % 2));
        ["t,x,y\n".to_owned()].into_iter().chain(rows).collect::<String>()
    };
    for (step, constant) in [(0.25, vec![]), (0.0, vec!["t".to_owned()])] {
        let table = read("t.csv", text(step).into_bytes(), None);
        assert_eq!(Encoder::fit(&table, &all_rows(&table)).unwrap().constant, constant);
    }
}

#[test]
fn a_number_that_means_missing_is_told_from_its_neighbours() {
    let mut text = "x,y\n".to_owned();
    (0..60).for_each(|row| writeln!(text, "{},{}", 100_000_000 + row % 5, row % 2).unwrap());
    let roles = Roles { missing: Some(vec!["100000001".to_owned()]), ..label("y") };
    let table = super::table(&text, &roles).unwrap();
    let encoder = Encoder::fit(&table, &all_rows(&table)).unwrap();
    let found = columns(&encoder.encode(table).unwrap().features);
    assert_eq!((found[0][1], found[0][2] < found[0][3]), (0.0, true));
    assert!(found[0][0] < found[0][2] && found[1][1] > 0.0 && found[1][0] < 0.0);
}

#[test]
fn sparse_columns_keep_their_spread_too() {
    let mut text = String::new();
    for row in 0..ROWS {
        let [a, _, c] = numbers(row);
        // One row in ten has no time.
        let time = if row % 10 == 3 { String::new() } else { format!("2:{a} ") };
        writeln!(text, "{} {time}5:{}", row % 2, c + 0.1).unwrap();
    }
    let table = read("t.txt", text.clone().into_bytes(), None);
    let encoder = Encoder::fit(&table, &all_rows(&table)).unwrap();
    let features = encoder.encode(table).unwrap().features;
    assert_eq!((encoder.feature_names(), features.columns()), (vec!["2".to_owned(), "5".to_owned()], 2));
    let plain = stored(&encoder.plain().unwrap());
    let again = plain.encode(read("t.txt", text.into_bytes(), Some(&plain))).unwrap();
    let time = &columns(&again.features)[0];
    assert_eq!(f64::from(time[1]) - f64::from(time[0]), numbers(1)[0] - numbers(0)[0]);
    assert!(time[3] < -1.6e9, "{}", time[3]);
}

#[test]
fn one_large_index_asks_for_one_column() {
    let mut text: String = (0..99).map(|row| format!("{} 1:{row} 3:1\n", row % 2)).collect();
    text += "1 1:4 100000000:2\n0 4294967295:1\n";
    let table = read("t.txt", text.into_bytes(), None);
    assert_eq!(table.columns(), 4);
    let encoder = stored(&Encoder::fit(&table, &all_rows(&table)).unwrap());
    assert_eq!(encoder.feature_names(), ["1", "3", "100000000", "4294967295"]);
    let more = "1 1:1 2:1 100000000:1\n0 3:1 99999999:1\n".to_owned();
    let data = encoder.encode(read("m.txt", more.into_bytes(), Some(&encoder))).unwrap();
    assert_eq!(data.notes.unknown_entries, 2);
    let sparse = data.features.entries().unwrap();
    assert_eq!((&sparse.indices[..], sparse.columns), (&[0, 2, 1][..], 4));
}

#[test]
fn a_model_of_sparse_rows_without_gaps_is_stored_as_ever_and_opens() {
    let text: String = (0..50).map(|row| format!("{} 1:{} 2:0.5 3:1\n", row % 2, row + 1)).collect();
    let table = read("t.txt", text.into_bytes(), None);
    let encoder = Encoder::fit(&table, &all_rows(&table)).unwrap();
    let json = serde_json::to_value(&encoder).unwrap();
    let sparse = json["inputs"]["sparse"].as_object().unwrap();
    assert_eq!(sparse.keys().collect::<Vec<_>>(), ["base", "scales"]);
    assert_eq!(serde_json::from_value::<Encoder>(json).unwrap(), encoder);
}

#[test]
fn empty_lines_and_many_columns_ask_for_no_more_than_there_is() {
    let names = |what: &str| (0..20_000).map(|at| format!("{what}{at}")).collect::<Vec<_>>().join(",");
    let row = |what: &str| vec![what; 19_999].join(",");
    let text = format!("{}\n{},1\n{},0\n{}", names("c"), row("1"), row("2"), "\n".repeat(1 << 20));
    assert_eq!(super::table(&text, &label("c19999")).unwrap().columns(), 19_999);
    let texts: String = (0..30).map(|at| format!("{},{}\n", row(["a", "b"][at % 2]), at % 2)).collect();
    assert_eq!(
        super::table(&format!("{}\n{texts}", names("c")), &label("c19999")).unwrap().columns(),
        19_999
    );
}
