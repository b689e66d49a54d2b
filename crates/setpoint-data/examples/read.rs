//! Times reading a file: `read FILE LABEL [hash] [encode]` prints seconds and the shape.
//!
//! Used by `bench/read.py`.

use std::path::Path;
use std::time::Instant;

use setpoint_data::{Encoder, ReadOptions, Roles, Table};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [path, label, flags @ ..] = args.as_slice() else {
        return Err("usage: read FILE LABEL [hash] [encode]".into());
    };
    let has = |flag: &str| flags.iter().any(|one| one == flag);
    let options = ReadOptions { hash: has("hash"), ..ReadOptions::default() };
    let roles = Roles { label: Some(label.clone()), ..Roles::default() };
    let start = Instant::now();
    let table = Table::read(Path::new(path), &options, &roles)?;
    let mut columns = table.columns();
    let rows = table.rows();
    if has("encode") {
        let train: Vec<u32> = (0..rows as u32).collect();
        columns = Encoder::fit(&table, &train)?.encode(table)?.features.columns();
    }
    println!("{:.6} {rows} {columns}", start.elapsed().as_secs_f64());
    Ok(())
}
