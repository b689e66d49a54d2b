//! Whole files in, data sets out.

mod form;
mod hostile;
mod image;
mod number;
mod parquet;
mod piece;
mod query;
mod real;
mod table;

use setpoint::features::Features;
use setpoint_data::{Error, ReadOptions, Roles, Table};

/// A table from text.
fn table(text: &str, roles: &Roles) -> Result<Table, Error> {
    Table::from_bytes("t.csv", text.as_bytes().to_vec(), &ReadOptions::default(), roles, None)
}

/// Roles with a label.
fn label(column: &str) -> Roles {
    Roles { label: Some(column.to_owned()), ..Roles::default() }
}

/// Every row of a table.
fn all_rows(table: &Table) -> Vec<u32> {
    (0..table.rows() as u32).collect()
}

/// The rows as a model sees them.
fn rows(features: &Features) -> Vec<Vec<f32>> {
    let values = features.clone().into_row_major();
    values.chunks(features.columns()).map(<[f32]>::to_vec).collect()
}
