//! Files read some rows at a time.

use std::fmt::Write;

use setpoint_data::{Encoder, ReadOptions, Table};

use super::{all_rows, label, table};

#[test]
fn a_file_in_pieces_is_the_file() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("t.csv");
    // Some megabytes, so that they are read in several blocks; a category comes up in the last one only.
    let mut text = "age,city,y\n".to_owned();
    for row in 0..120_000 {
        let city = if row < 110_000 { ["Ulm", "Bonn"][row % 2] } else { "Oslo" };
        writeln!(text, "{}.{:06},{city}{},{}", row % 90, row, "-".repeat(40), row % 3 / 2).unwrap();
    }
    std::fs::write(&path, &text).unwrap();
    let train = text.lines().take(1000).collect::<Vec<_>>().join("\n");
    let train = table(&train, &label("y")).unwrap();
    let encoder = Encoder::fit(&train, &all_rows(&train)).unwrap();
    let roles = label("y");
    let options = ReadOptions::default();
    let whole = encoder.encode(Table::read_for(&path, &options, &roles, &encoder).unwrap()).unwrap();
    let (mut pieces, mut features, mut labels) = (0, Vec::new(), Vec::new());
    let mut notes: Option<setpoint_data::Notes> = None;
    let mut take = |table: Table| {
        pieces += 1;
        labels.extend_from_slice(table.labels().unwrap());
        let data = encoder.encode(table).unwrap();
        features.extend(data.features.into_row_major());
        match &mut notes {
            None => notes = Some(data.notes),
            Some(notes) => notes.merge(data.notes),
        }
        true
    };
    Table::read_pieces(&path, &options, &roles, &encoder, 1, &mut take).unwrap();
    assert!(pieces > 1, "{pieces}");
    assert_eq!(labels, whole.sample.as_ref().unwrap().labels());
    assert_eq!(notes.unwrap(), whole.notes);
    assert_eq!(features, whole.features.into_row_major());
    // Whoever has seen enough says so.
    let mut seen = 0;
    Table::read_pieces(&path, &options, &roles, &encoder, 1, &mut |_| {
        seen += 1;
        false
    })
    .unwrap();
    assert_eq!(seen, 1);
}
