//! One meaning for a value in every format: a model reads each file as the one it was trained on.

use std::sync::Arc;

use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FloatType, Int32Type, Int64Type,
};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use setpoint_data::{Dataset, Encoder, Encoding, Error, Inputs, ReadOptions, Roles, Table, list};

use super::{all_rows, label, table};

const ROWS: i64 = 60;

type WriteColumn = Box<dyn Fn(&mut parquet::file::writer::SerializedRowGroupWriter<'_, Vec<u8>>)>;

/// A file with one column of each type, as a list of columns written one after the other.
struct Parquet {
    schema: String,
    columns: Vec<WriteColumn>,
}

impl Parquet {
    fn new() -> Self {
        Self { schema: String::new(), columns: Vec::new() }
    }

    fn with<T: DataType>(mut self, kind: &str, values: impl Fn(i64) -> T::T) -> Self {
        self.schema += &format!("required {kind};");
        let values: Vec<T::T> = (0..ROWS).map(values).collect();
        self.columns.push(Box::new(move |group| {
            let mut column = group.next_column().unwrap().unwrap();
            column.typed::<T>().write_batch(&values, None, None).unwrap();
            column.close().unwrap();
        }));
        self
    }

    fn text(self, name: &str, values: impl Fn(i64) -> String) -> Self {
        self.with::<ByteArrayType>(&format!("byte_array {name} (UTF8)"), |row| {
            ByteArray::from(values(row).into_bytes())
        })
    }

    fn bytes(self) -> Vec<u8> {
        let schema = Arc::new(parse_message_type(&format!("message t {{ {} }}", self.schema)).unwrap());
        let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::default()).unwrap();
        let mut group = writer.next_row_group().unwrap();
        self.columns.iter().for_each(|column| column(&mut group));
        group.close().unwrap();
        writer.into_inner().unwrap()
    }
}

fn csv(header: &str, row: impl Fn(i64) -> String) -> Vec<u8> {
    let mut text = format!("{header}\n");
    (0..ROWS).for_each(|at| text += &(row(at) + "\n"));
    text.into_bytes()
}

fn truth(row: i64) -> bool {
    row % 3 == 0
}

fn bought(row: i64) -> bool {
    row % 4 == 0
}

/// Booleans, whole numbers, numbers, texts of numbers, dates and categories, in five files.
fn files() -> Vec<(&'static str, Vec<u8>)> {
    let town = |row: i64| ["York", "Leeds", "Hull"][row as usize % 3].to_owned();
    let date = |row: i64| format!("2024-01-{:02}", 1 + row % 28);
    let python = |truth| if truth { "True" } else { "False" };
    let header = "flag,count,price,day,town,code,bought";
    let code = |row: i64| row % 4;
    vec![
        (
            "lower.csv",
            csv(header, |row| {
                let (flag, price) = (truth(row), row as f64 / 4.0);
                format!("{flag},{row},{price},{},{},{},{}", date(row), town(row), code(row), bought(row))
            }),
        ),
        (
            "pandas.csv",
            csv(header, |row| {
                let (flag, label) = (python(truth(row)), python(bought(row)));
                let price = row as f64 / 4.0;
                let day = date(row);
                format!("{flag},{row}.0,{price:.3},{day}T00:00:00,{},{}.0,{label}", town(row), code(row))
            }),
        ),
        (
            "numbers.csv",
            csv(header, |row| {
                let (flag, label) = (u8::from(truth(row)), u8::from(bought(row)));
                let price = row as f64 / 4.0;
                format!("{flag},{row},{price}, {} ,\" {}\",{},{label}", date(row), town(row), code(row))
            }),
        ),
        (
            "typed.parquet",
            Parquet::new()
                .with::<BoolType>("boolean flag", truth)
                .with::<Int64Type>("int64 count", |row| row)
                .with::<DoubleType>("double price", |row| row as f64 / 4.0)
                .with::<Int32Type>("int32 day (DATE)", |row| 19_723 + (row % 28) as i32)
                .text("town", town)
                .with::<FloatType>("float code", |row| code(row) as f32)
                .with::<BoolType>("boolean bought", bought)
                .bytes(),
        ),
        (
            "texts.parquet",
            Parquet::new()
                .text("flag", |row| python(truth(row)).to_owned())
                .text("count", |row| row.to_string())
                .text("price", |row| (row as f64 / 4.0).to_string())
                .text("day", date)
                .text("town", town)
                .text("code", |row| code(row).to_string())
                .text("bought", |row| python(bought(row)).to_uppercase())
                .bytes(),
        ),
    ]
}

fn read(name: &str, bytes: &[u8], roles: &Roles, encoder: Option<&Encoder>) -> Result<Table, Error> {
    let (bytes, options) = (bytes.to_vec(), ReadOptions::default());
    match encoder {
        None => Table::from_bytes(name, bytes, &options, roles, None),
        Some(encoder) => Table::from_bytes(name, bytes, &options, roles, Some(encoder)),
    }
}

fn dense(data: &Dataset) -> Vec<f32> {
    data.features.clone().into_row_major()
}

#[test]
fn a_model_trained_on_any_format_reads_all_others_alike() {
    for categorical in ["", "code", "code,flag,day"] {
        let roles = Roles { categorical: list(categorical), ..label("bought") };
        let mut names = Vec::new();
        for (trained, bytes) in files() {
            let train = read(trained, &bytes, &roles, None).unwrap();
            let labels = train.labels().unwrap().to_vec();
            let encoder = Encoder::fit(&train, &all_rows(&train)).unwrap();
            let json = serde_json::to_string(&encoder).unwrap();
            let encoder: Encoder = serde_json::from_str(&json).unwrap();
            let expected = encoder.encode(train).unwrap();
            for (other, bytes) in files() {
                let table = read(other, &bytes, &label("bought"), Some(&encoder)).unwrap();
                assert_eq!(table.labels().unwrap(), labels, "{trained} {other}");
                let data = encoder.encode(table).unwrap();
                assert_eq!(dense(&data), dense(&expected), "{trained} {other} {categorical}");
                assert!(data.notes.unseen_categories.is_empty(), "{trained} {other}");
            }
            names.push(encoder.feature_names());
        }
        if categorical.is_empty() {
            assert!(names.iter().all(|other| *other == names[0]), "{names:?}");
            assert_eq!(names[0][..4], ["flag", "count", "price", "day"]);
        }
    }
}

#[test]
fn groups_are_named_alike_in_every_format() {
    for (column, expected) in [("flag", &["false", "true"][..]), ("code", &["0", "1", "2", "3"])] {
        let roles =
            Roles { group: Some(column.to_owned()), split_by: Some("town".into()), ..label("bought") };
        for (name, bytes) in files().into_iter().filter(|(name, _)| *name != "numbers.csv") {
            let table = read(name, &bytes, &roles, None).unwrap();
            assert_eq!(table.groups().unwrap().names, expected, "{name}");
        }
    }
}

#[test]
fn a_label_rule_holds_for_booleans_of_every_format() {
    for positive in ["true", "1", "True", ">0.5", "!=false"] {
        let roles = Roles { positive: positive.parse().unwrap(), ..label("bought") };
        for (name, bytes) in files() {
            let table = read(name, &bytes, &roles, None).unwrap();
            let expected: Vec<bool> = (0..ROWS).map(bought).collect();
            assert_eq!(table.labels().unwrap(), expected, "{name} {positive}");
        }
    }
}

#[test]
fn model_files_with_booleans_as_categories_still_read_them() {
    // As CSV files with `True` were encoded before booleans were numbers.
    let scaling = r#"{"mean":0.5,"scale":0.5}"#;
    let categories: Vec<String> =
        ["False", "True"].iter().map(|v| format!(r#"{{"value":"{v}","scaling":{scaling}}}"#)).collect();
    let json = format!(
        r#"{{"inputs":{{"table":[{{"name":"flag","encoding":{{"category":{{"values":[{}],"missing":null}}}}}}]}},
        "header":true,"width":7,"unused":[],"label":null,"missing":["NA","NaN","null","?"],"constant":[]}}"#,
        categories.join(",")
    );
    let encoder: Encoder = serde_json::from_str(&json).unwrap();
    let expected: Vec<f32> =
        (0..ROWS).flat_map(|row| if truth(row) { [-1.0, 1.0] } else { [1.0, -1.0] }).collect();
    for (name, bytes) in files() {
        let data = encoder.encode(read(name, &bytes, &Roles::default(), Some(&encoder)).unwrap()).unwrap();
        assert_eq!(dense(&data), expected, "{name}");
    }
}

/// A file with a column of these texts, over and over, among numbers.
fn odd(texts: &[&str], share: usize) -> String {
    let mut text = "x,y\n".to_owned();
    for row in 0..1400 {
        let value =
            if row % 100 < share { texts[row % texts.len()].to_owned() } else { format!("{}", row % 400) };
        text += &format!("\"{value}\",{}\n", row % 2);
    }
    text
}

#[test]
fn texts_that_mean_missing_do_not_make_categories() {
    let (encoder, data) = {
        let table = table(&odd(&["N/A", "n/a", "None", "", "#N/A", "<NA>"], 14), &label("y")).unwrap();
        let encoder = Encoder::fit(&table, &all_rows(&table)).unwrap();
        let data = encoder.encode(table).unwrap();
        (encoder, data)
    };
    assert_eq!(encoder.feature_names(), ["x", "x is missing"]);
    assert!(data.notes.read_as.is_empty());
    // A label may be called None.
    let mut roles = label("y");
    roles.positive = "fraud".parse().unwrap();
    let labels = table("x,y\n1,None\n2,fraud\n3,None\n", &roles).unwrap();
    assert_eq!(labels.labels().unwrap(), [false, true, false]);
}

#[test]
fn a_column_that_is_mostly_numbers_is_refused_with_its_texts() {
    for (texts, named) in [
        (&["-inf"][..], "\"-inf\" is not a number"),
        (&["1e39"], "\"1e39\" is not a number"),
        (&["0x10"], "\"0x10\" is not a number"),
        (&["1,5", "1.5"], "\"1,5\" is not a number"),
        (&["12%"], "\"12%\" is not a number"),
        (&["12%", "$5"], "\"12%\", \"$5\" are not numbers"),
        (&["much", "more", "most", "all", "any"], "\"most\", \"all\", \"any\" are not numbers"),
        (&["31/12/2024"], "\"31/12/2024\" is not a number"),
        (&["2024-12-31"], "\"2024-12-31\" is not a number"),
        (&["True"], "\"True\" is not a number"),
    ] {
        let message = table(&odd(texts, 14), &label("y")).unwrap_err().to_string();
        assert!(message.starts_with("t.csv:2: column \"x\": "), "{message}");
        assert!(message.contains(named) || texts.len() > 2, "{message}");
        assert!(
            message.contains("as the rest are; name those that mean a missing value (‹missing›)"),
            "{message}"
        );
        let forced = Roles { categorical: list("x"), ..label("y") };
        assert!(table(&odd(texts, 14), &forced).is_ok(), "{texts:?}");
    }
    let long = "no number, but a story of some length, told in one field".repeat(1000);
    let message = table(&odd(&[&long], 14), &label("y")).unwrap_err().to_string();
    assert!(message.len() < 300, "{message}");
}

#[test]
fn numbers_that_are_written_in_one_way_throughout_are_read_so_ever_after() {
    for (write, read_as) in [
        (
            &(|n: i64| if n > 9 { format!("\"{},{:03}\"", n / 10, n % 10 * 100) } else { n.to_string() })
                as &dyn Fn(i64) -> String,
            "numbers with a decimal point (1,000.5)",
        ),
        (&|n| format!("\"{},{}\"", n / 10, n % 10), "numbers with a decimal comma (1.000,5)"),
        (&|n| format!("${n}.50"), "amounts in $ with a decimal point (1,000.5)"),
        (&|n| format!("\"{n},5 €\""), "amounts in € with a decimal comma (1.000,5)"),
        (&|n| format!("{n}%"), "per cent, 12% as 0.12, with a decimal point (1,000.5)"),
    ] {
        let text = csv("x,y", |row| {
            if row % 9 == 4 { format!("NA,{}", row % 2) } else { format!("{},{}", write(row), row % 2) }
        });
        let train = read("t.csv", &text, &label("y"), None).unwrap();
        assert_eq!(train.notes().read_as, [("x".to_owned(), read_as.to_owned())]);
        let encoder = Encoder::fit(&train, &all_rows(&train)).unwrap();
        assert_eq!(encoder.feature_names(), ["x", "x is missing"], "{read_as}");
        let expected = encoder.encode(train).unwrap();
        let encoder: Encoder = serde_json::from_str(&serde_json::to_string(&encoder).unwrap()).unwrap();
        let again = encoder.encode(read("t.csv", &text, &Roles::default(), Some(&encoder)).unwrap()).unwrap();
        assert_eq!(dense(&again), dense(&expected), "{read_as}");
        let message = read("p.csv", b"x\nmuch\n", &Roles::default(), Some(&encoder)).unwrap_err().to_string();
        assert!(message.starts_with("p.csv:2: column \"x\": \"much\" is not a"), "{message}");
    }
}

#[test]
fn a_form_that_later_rows_do_not_have_is_found_out() {
    // Beyond the rows that are looked at first: what starts as one thing ends as another.
    let file = |first: &dyn Fn(usize) -> String, later: &dyn Fn(usize) -> String| {
        let mut text = "x,y\n".to_owned();
        for row in 0..300_000 {
            let value = if row < 200_000 { first(row) } else { later(row) };
            text += &format!("\"{value}\",{}\n", row % 2);
        }
        table(&text, &label("y")).map(|table| {
            let encoder = Encoder::fit(&table, &all_rows(&table)).unwrap();
            let Inputs::Table(inputs) = encoder.inputs else { panic!("table") };
            (matches!(inputs[0].encoding, Encoding::Number { .. }), inputs[0].form.is_some())
        })
    };
    let plain = |row: usize| (row % 500).to_string();
    assert_eq!(file(&plain, &|row| format!("1,{:03}", row % 500)).unwrap(), (true, true));
    assert_eq!(
        file(&|row| format!("{}.234", row % 500 + 1), &|row| format!("1.{:03},5", row % 500)).unwrap(),
        (true, true)
    );
    assert_eq!(file(&|row| (row % 2 == 0).to_string(), &|row| (row % 2).to_string()).unwrap(), (true, false));
    assert_eq!(
        file(&|row| (row % 2 == 0).to_string(), &|row| format!("t{}", row % 5)).unwrap(),
        (false, false)
    );
    let message = file(&|row| format!("{}%", row % 500), &plain).unwrap_err().to_string();
    assert!(
        message.starts_with("t.csv:2: column \"x\": \"0%\", \"1%\", \"2%\" are not numbers"),
        "{message}"
    );
}

#[test]
fn categories_with_numbers_among_them_stay_categories() {
    let text = csv("doors,code,y", |row| {
        format!(
            "{},{},{}",
            ["2", "3", "4", "5more"][row as usize % 4],
            if row % 3 == 0 { row.to_string() } else { format!("A{}", row % 7) },
            row % 2
        )
    });
    let train = read("t.csv", &text, &label("y"), None).unwrap();
    let encoder = Encoder::fit(&train, &all_rows(&train)).unwrap();
    assert_eq!(encoder.feature_names()[..4], ["doors=2", "doors=3", "doors=4", "doors=5more"]);
}

#[test]
fn dates_in_any_format_become_the_same_parts_ever_after() {
    let days = |row: i64| (1 + row % 28, 1 + row / 3 % 6, 2020 + row % 3);
    let hour = |row: i64| row * 7 % 24;
    let clock = |row: i64| match hour(row) {
        0 => "12:00 AM".to_owned(),
        hour @ 1..12 => format!("{hour}:00 AM"),
        12 => "12:00 PM".to_owned(),
        hour => format!("{}:00 PM", hour - 12),
    };
    let month = ["Jan", "February", "Mar", "Apr", "May", "Jun"];
    let iso = |row: i64| {
        let (day, month, year) = days(row);
        format!("{year}-{month:02}-{day:02}T{:02}:00:00", hour(row))
    };
    let formats: [(&dyn Fn(i64) -> String, &str); 5] = [
        (&iso, "dates, with their parts"),
        (
            &|row| {
                let (day, month, year) = days(row);
                format!("{day}/{month}/{year} {}:00", hour(row))
            },
            "dates, with their parts, the day before the month (31/12/2024)",
        ),
        (
            &|row| {
                let (day, month, year) = days(row);
                format!("{month}/{day}/{year} {}", clock(row))
            },
            "dates, with their parts, the month before the day (12/31/2024)",
        ),
        (
            &|row| {
                let (day, at, year) = days(row);
                format!("{day} {} {year} {}:00", month[at as usize - 1], hour(row))
            },
            "dates, with their parts, the day before the month (31/12/2024)",
        ),
        (
            // All in one column.
            &|row| {
                let (day, month, year) = days(row);
                if row % 2 == 0 {
                    iso(row)
                } else {
                    format!("{day:02}.{month:02}.{year} {:02}:00", hour(row))
                }
            },
            "dates, with their parts, the day before the month (31/12/2024)",
        ),
    ];
    let mut before: Option<(Encoder, Vec<f32>)> = None;
    for (write, read_as) in formats {
        let text =
            csv(
                "x,y",
                |row| if row == 4 { "NA,0".to_owned() } else { format!("{},{}", write(row), row % 2) },
            );
        let train = read("t.csv", &text, &label("y"), None).unwrap();
        assert_eq!(train.notes().read_as, [("x".to_owned(), read_as.to_owned())]);
        let encoder = Encoder::fit(&train, &all_rows(&train)).unwrap();
        let names = encoder.feature_names();
        assert_eq!(names[..3], ["x", "x is missing", "x (month)=01"], "{names:?}");
        assert!(names.contains(&"x (weekday)=7 Sun".to_owned()) && names.contains(&"x (hour)=23".to_owned()));
        assert_eq!(names.len(), 2 + 6 + 7 + 24);
        let plain = encoder.clone().plain().unwrap();
        assert_eq!(plain.feature_names(), ["x", "x (month)", "x (weekday)", "x (hour)"]);
        let encoded = dense(&encoder.encode(train).unwrap());
        let written = serde_json::to_string(&encoder).unwrap();
        let again: Encoder = serde_json::from_str(&written).unwrap();
        again.check().unwrap();
        let for_model = |text: &[u8]| read("p.csv", text, &Roles::default(), Some(&again)).unwrap();
        assert_eq!(dense(&again.encode(for_model(&text)).unwrap()), encoded, "{read_as}");
        // Trees get the parts as numbers in order.
        let as_trees = dense(&plain.encode(for_model(&text)).unwrap());
        let (_, month, _) = days(7);
        assert_eq!(as_trees[7 * 4 + 1..][..3], [(month - 1) as f32, as_trees[7 * 4 + 2], hour(7) as f32]);
        assert!(as_trees[4 * 4..][..4].iter().all(|value| value.is_nan()));
        // What cannot be read is missing.
        let odd = for_model(b"x\nmuch\n\n2021-13-45\nNA\n");
        let odd = dense(&again.encode(odd).unwrap());
        assert_eq!(odd[..names.len()], odd[2 * names.len()..]);
        match &before {
            None => before = Some((encoder, encoded)),
            Some((first, expected)) => {
                assert_eq!(&encoded, expected, "{read_as}");
                assert_eq!(first.feature_names(), encoder.feature_names());
            }
        }
    }
    // A model from before there were parts reads dates as it did.
    let (mut old, encoded) = before.unwrap();
    let width = old.columns();
    let Inputs::Table(inputs) = &mut old.inputs else { panic!("table") };
    inputs.truncate(1);
    let old: Encoder = serde_json::from_value(serde_json::to_value(&old).unwrap()).unwrap();
    let text = csv("x", iso);
    let found = old.encode(read("p.csv", &text, &Roles::default(), Some(&old)).unwrap()).unwrap();
    for (row, found) in dense(&found).chunks(2).enumerate().filter(|(row, _)| *row != 4) {
        assert_eq!(found, &encoded[row * width..][..2]);
    }
}
