//! Parquet files, written here and read back.

use std::sync::Arc;

use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FloatType, Int32Type, Int64Type,
};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use setpoint_data::{Encoder, Error, ReadOptions, Roles, Table, list};

use super::{all_rows, label, rows};

const SCHEMA: &str = "message table {
    required float x;
    optional double y;
    required int32 day (DATE);
    optional byte_array town (UTF8);
    required int64 count;
    required boolean bought;
}";

pub fn column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    values: &[T::T],
    levels: Option<&[i16]>,
) {
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<T>().write_batch(values, levels, None).unwrap();
    column.close().unwrap();
}

fn file(groups: usize, rows: i32, x: impl Fn(i32) -> f32) -> Vec<u8> {
    let schema = Arc::new(parse_message_type(SCHEMA).unwrap());
    let properties =
        Arc::new(WriterProperties::builder().set_compression(parquet::basic::Compression::SNAPPY).build());
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, properties).unwrap();
    for _ in 0..groups {
        let mut group = writer.next_row_group().unwrap();
        let present: Vec<i16> = (0..rows).map(|row| i16::from(row % 3 != 0)).collect();
        let some = || (0..rows).filter(|row| row % 3 != 0);
        column::<FloatType>(&mut group, &(0..rows).map(&x).collect::<Vec<_>>(), None);
        column::<DoubleType>(&mut group, &some().map(f64::from).collect::<Vec<_>>(), Some(&present));
        column::<Int32Type>(&mut group, &(0..rows).map(|row| 19_000 + row).collect::<Vec<_>>(), None);
        let towns: Vec<ByteArray> = some().map(|row| ["York", "Leeds"][(row % 2) as usize].into()).collect();
        column::<ByteArrayType>(&mut group, &towns, Some(&present));
        column::<Int64Type>(&mut group, &(0..rows).map(|row| i64::from(row) % 7).collect::<Vec<_>>(), None);
        column::<BoolType>(&mut group, &(0..rows).map(|row| row % 4 == 0).collect::<Vec<_>>(), None);
        group.close().unwrap();
    }
    writer.into_inner().unwrap()
}

pub fn small_file() -> Vec<u8> {
    file(1, 12, |row| row as f32)
}

fn read(bytes: Vec<u8>, roles: &Roles) -> Result<Table, Error> {
    Table::from_bytes("t.parquet", bytes, &ReadOptions::default(), roles, None)
}

#[test]
fn numbers_texts_nulls_and_booleans_are_read() {
    let roles = Roles { split_time: Some("day".into()), ..label("bought") };
    let table = read(file(2, 12, |row| row as f32), &roles).unwrap();
    assert_eq!((table.rows(), table.columns()), (24, 4));
    assert_eq!(table.labels().unwrap()[..5], [true, false, false, false, true]);
    assert_eq!(table.times().unwrap()[1], 19_001.0 * 86_400.0);
    let encoder = Encoder::fit(&table, &all_rows(&table)).unwrap();
    let names = ["x", "y", "y is missing", "town=Leeds", "town=York", "town is missing", "count"];
    assert_eq!(encoder.feature_names(), names);
    let rows = rows(&encoder.encode(table).unwrap().features);
    // Row 0 has no y: filled with the mean, and flagged.
    assert_eq!(rows[0][1], 0.0);
    assert!(rows[0][2] > 1.0 && rows[1][2] < 0.0);
    assert_eq!(rows[0], rows[12]);
}

#[test]
fn a_parquet_file_and_a_csv_file_of_the_same_table_encode_alike() {
    let roles = Roles { drop: list("day"), ..label("bought") };
    let mut text = "x,y,town,count,bought\n".to_owned();
    for row in 0..40_000 {
        let (y, town) =
            if row % 3 == 0 { (String::new(), "") } else { (row.to_string(), ["York", "Leeds"][row % 2]) };
        text += &format!("{},{y},{town},{},{}\n", row as f32 * 0.37, row % 7, row % 4 == 0);
    }
    let csv = super::table(&text, &label("bought")).unwrap();
    let parquet = read(file(1, 40_000, |row| row as f32 * 0.37), &roles).unwrap();
    let encoder = Encoder::fit(&csv, &all_rows(&csv)).unwrap();
    let other = Encoder::fit(&parquet, &all_rows(&parquet)).unwrap();
    assert_eq!(encoder.inputs, other.inputs);
    assert_eq!(encoder.encode(csv).unwrap().features, other.encode(parquet).unwrap().features);
}

#[test]
fn a_model_trained_on_csv_reads_parquet() {
    let text = "town,x,count,bought\n".to_owned() + &"York,1,2,true\nLeeds,2,3,false\n".repeat(10);
    let csv = super::table(&text, &label("bought")).unwrap();
    let encoder = Encoder::fit(&csv, &all_rows(&csv)).unwrap();
    let parquet = Table::from_bytes(
        "t.parquet",
        small_file(),
        &ReadOptions::default(),
        &label("bought"),
        Some(&encoder),
    );
    let parquet = parquet.unwrap();
    assert_eq!(parquet.notes().extra_columns, ["y", "day"]);
    let data = encoder.encode(parquet).unwrap();
    assert_eq!(data.features.columns(), 4);
    assert_eq!(data.notes.unseen_missing, [("town".to_owned(), 4)]);
}

#[test]
fn dates_are_dates_where_dates_are_known_and_infinity_is_no_number() {
    let dated = read(small_file(), &label("bought")).unwrap();
    assert_eq!(dated.notes().read_as, [("day".to_owned(), "dates, with their parts".to_owned())]);
    let text = "day,bought\n".to_owned() + &"17,true\n18,false\n".repeat(10);
    let csv = super::table(&text, &label("bought")).unwrap();
    let encoder = Encoder::fit(&csv, &all_rows(&csv)).unwrap();
    let (options, roles) = (ReadOptions::default(), Roles::default());
    let numbered = Table::from_bytes("t.parquet", small_file(), &options, &roles, Some(&encoder));
    let error = numbered.unwrap_err().to_string();
    assert!(error.starts_with("t.parquet: column \"day\" is of type date"), "{error}");
    let roles = Roles { drop: list("day"), ..label("bought") };
    let infinite = file(1, 12, |row| if row == 4 { f32::INFINITY } else { 0.0 });
    let error = read(infinite, &roles).unwrap_err().to_string();
    assert!(error.starts_with("t.parquet:5: column \"x\": \"inf\" is not a number"), "{error}");
}
