//! Tables: the first byte says what the columns are for and how they are told apart, the others are the file.

use setpoint_data::{Encoder, Format, QuerySource, ReadOptions, Roles, Separator, SplitPlan, Table};

/// What the columns are for, by a number: each role is one that only some files can serve.
fn roles(choice: u8) -> Roles {
    let third = || Some("3".to_owned());
    let roles = Roles { label: Some("1".to_owned()), ..Roles::default() };
    match choice % 11 {
        0 => Roles::default(),
        1 => Roles { label: Some("label".to_owned()), ..roles },
        2 => Roles { weight: third(), ..roles },
        3 => Roles { group: third(), group_is_feature: true, ..roles },
        4 => Roles { split_by: third(), ..roles },
        5 => Roles { split_time: third(), ..roles },
        6 => Roles { score: third(), ..roles },
        7 => Roles { keep: vec!["2".to_owned()], ..roles },
        8 => Roles { categorical: vec!["2-4".to_owned()], text: vec!["5".to_owned()], ..roles },
        9 => Roles { queries: Some(QuerySource::Column("2".to_owned())), ..roles },
        _ => roles,
    }
}

/// Reads a table, splits it, encodes it, and reads it once more as new rows for the encoder.
fn read(bytes: &[u8], options: &ReadOptions, roles: &Roles) {
    let Ok(table) = Table::from_bytes("t", bytes.to_vec(), options, roles, None) else { return };
    let all: Vec<u32> = (0..table.rows() as u32).collect();
    let plan: Result<SplitPlan, _> = "train=0.5,validation=0.5".parse();
    let _ = plan.and_then(|plan| plan.split(&table, 1));
    let Ok(encoder) = Encoder::fit(&table, &all) else { return };
    if let Ok(again) = Table::from_bytes("t", bytes.to_vec(), options, roles, Some(&encoder))
        && let (Ok(data), Ok(again)) = (encoder.encode(table), encoder.encode(again))
    {
        assert_eq!(data.features, again.features);
    }
}

fn read_as(bytes: &[u8], format: Format) {
    let Some((choice, bytes)) = bytes.split_first() else { return };
    let separators =
        [None, Some(Separator::Byte(b',')), Some(Separator::Byte(b'\t')), Some(Separator::Blanks)];
    let separator = separators[usize::from(choice / 11) % 4].filter(|_| format == Format::Delimited);
    let header = [None, Some(true), Some(false)][usize::from(choice / 44) % 3];
    let options = ReadOptions { format: Some(format), separator, header, ..ReadOptions::default() };
    read(bytes, &options, &roles(*choice));
}

/// Rows of fields, compressed or not.
pub fn delimited(bytes: &[u8]) {
    read_as(bytes, Format::Delimited);
}

/// Sparse rows.
pub fn svmlight(bytes: &[u8]) {
    read_as(bytes, Format::SvmLight);
}

/// Columns.
pub fn parquet(bytes: &[u8]) {
    read_as(bytes, Format::Parquet);
}
