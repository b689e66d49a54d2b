//! Delimited text: what is read, what is refused, and in which words.

use std::fmt::Write;

use setpoint_data::{Dataset, Encoder, ReadOptions, Roles, Table, list};

use super::{all_rows, label, table};

fn error(text: &str, roles: &Roles) -> String {
    table(text, roles).unwrap_err().to_string()
}

fn encode(text: &str, roles: &Roles) -> (Encoder, Dataset) {
    let table = table(text, roles).unwrap();
    let encoder = Encoder::fit(&table, &all_rows(&table)).unwrap();
    let data = encoder.encode(table).unwrap();
    (encoder, data)
}

fn rows(data: &Dataset) -> Vec<Vec<f32>> {
    super::rows(&data.features)
}

#[test]
fn files_without_rows_are_refused() {
    assert_eq!(error("", &label("y")), "t.csv: empty: expected a table with at least one row");
    assert_eq!(error("\n \n", &label("y")), "t.csv: empty: expected a table with at least one row");
    assert_eq!(error("x,y\n", &label("y")), "t.csv: has a header of 2 columns but no rows below it");
}

#[test]
fn scores_keep_their_digits_and_other_columns_are_not_looked_at() {
    let scores = |first: &str| {
        let rows: String = (1..40).map(|row| format!("{},0.5,person {row}\n", row % 2)).collect();
        format!("y,p,name\n0,{first},n/a\n{rows}")
    };
    let roles = Roles { score: Some("p".to_owned()), ..label("y") };
    let read = table(&scores("0.5000000000000001"), &roles).unwrap();
    assert_eq!((read.scores().unwrap()[0], read.columns()), (0.500_000_000_000_000_1, 0));
    assert_eq!(
        error(&scores("2024-01-31"), &roles),
        "t.csv:2: column \"p\": \"2024-01-31\" is not a number; name missing values with ‹missing›"
    );
    let roles = Roles { label: None, ..roles };
    let sparse =
        Table::from_bytes("t.svm", b"1 1:2\n-1 1:3\n".to_vec(), &ReadOptions::default(), &roles, None);
    assert!(sparse.unwrap_err().to_string().contains("‹score› does not apply"));
}

#[test]
fn a_value_that_is_no_number_is_named_with_its_line() {
    let mut text = "age,y\n".to_owned();
    for row in 2..200 {
        let age = if row == 118 { "much".to_owned() } else { row.to_string() };
        writeln!(text, "{age},{}", row % 2).unwrap();
    }
    let message = error(&text, &label("y"));
    assert!(
        message.starts_with(
            "t.csv:118: column \"age\": \"much\" is not a number as the rest are; name those that mean a missing value (‹missing›)"
        ),
        "{message}"
    );
    let roles = Roles { missing: Some(list("much")), ..label("y") };
    assert_eq!(encode(&text, &roles).0.feature_names(), ["age", "age is missing"]);
}

#[test]
fn a_late_surprise_is_found_with_its_line_too() {
    // Far beyond the head and the first block.
    let mut text = "age,town,y\n".to_owned();
    for row in 2..400_000 {
        let age = if row == 300_000 { "much".to_owned() } else { (row % 90).to_string() };
        let town = if row < 200_000 { row % 3 } else { 7 };
        writeln!(text, "{age},{town},{}", row % 2).unwrap();
    }
    let message = error(&text, &label("y"));
    assert!(message.starts_with("t.csv:300000: column \"age\": \"much\" is not a number"), "{message}");
    // A column that turns into texts halfway is read again as categories.
    let mut text = "code,x,y\n".to_owned();
    for row in 2..400_000 {
        let code = if row < 200_000 { "1" } else { "b" };
        writeln!(text, "{code},{row},{}", row % 2).unwrap();
    }
    assert_eq!(encode(&text, &label("y")).0.feature_names(), ["code=1", "code=b", "x"]);
}

#[test]
fn ragged_rows_are_refused_with_their_line() {
    let message = error("a,b,y\n1,2,0\n1,2\n", &label("y"));
    assert!(message.starts_with("t.csv:3: 2 fields, expected 3 as in line 1"), "{message}");
    let message = error("a,b,y\n1,2,0\n\n1,2,3,4,5\n", &label("y"));
    assert!(message.starts_with("t.csv:4: 5 fields, expected 3"), "{message}");
    // One separator too many does no harm.
    assert_eq!(table("a,y\n1,0,\n2,1,\n", &label("y")).unwrap().rows(), 2);
}

#[test]
fn quotes_must_close() {
    let message = error("a,y\n\"1\"2,0\n2,1\n", &label("y"));
    assert!(message.starts_with("t.csv:2: field 1: text follows its closing quote"), "{message}");
    let message = error("a,b,y\n1,2,0\n3,\"2,1\n", &label("y"));
    assert!(message.starts_with("t.csv:3: field 2: its opening quote is never closed"), "{message}");
}

#[test]
fn a_wrong_column_gets_a_suggestion() {
    let text = "age,income,bought\n1,2,0\n3,4,1\n";
    assert_eq!(
        error(text, &label("bougth")),
        "t.csv: no column \"bougth\" (‹label›); did you mean \"bought\"?"
    );
    let roles = Roles { drop: list("7"), ..label("bought") };
    assert!(error(text, &roles).starts_with("t.csv: no column \"7\" (‹drop›)"));
}

#[test]
fn columns_with_another_text_in_each_row_are_left_out() {
    let mut text = "id,mail,x,y\n".to_owned();
    for row in 0..50 {
        writeln!(text, "u{row},m{}@x,{row},{}", row.min(48), row % 2).unwrap();
    }
    let (encoder, data) = encode(&text, &label("y"));
    assert_eq!(encoder.feature_names(), ["x"]);
    assert_eq!(data.notes.identifier_columns, ["id", "mail"]);
    let alone = table(&text, &Roles { drop: list("x"), ..label("y") }).unwrap();
    let error = Encoder::fit(&alone, &all_rows(&alone)).unwrap_err().to_string();
    assert!(error.contains("nothing to learn from"), "{error}");
}

#[test]
fn of_too_many_categories_the_less_frequent_are_one() {
    let mut text = "town,y\n".to_owned();
    // 50,000 towns: 20 of them in 100 rows each, 30,000 in two, the others in one.
    for row in 0..2_000 {
        writeln!(text, "large{},{}", row % 20, row % 2).unwrap();
    }
    for row in 0..60_000 {
        writeln!(text, "twice{},{}", row % 30_000, row % 2).unwrap();
    }
    for row in 0..19_980 {
        writeln!(text, "once{row},{}", row % 2).unwrap();
    }
    let (encoder, data) = encode(&text, &label("y"));
    let names = encoder.feature_names();
    assert_eq!((names.len(), names[1000].as_str()), (1001, "town is rare"));
    assert!((0..20).all(|town| names.contains(&format!("town=large{town}"))));
    assert!(data.notes.unseen_categories.is_empty());
    // Rare towns, one that was never seen, and one that has a column.
    let read = |text: &str| {
        let roles = Roles::default();
        Table::from_bytes("t.csv", text.into(), &ReadOptions::default(), &roles, Some(&encoder)).unwrap()
    };
    let found = encoder.encode(read("town\nonce7\nnew\nlarge3\n")).unwrap();
    let written = rows(&found);
    assert_eq!(written[0], written[1]);
    assert!(written[0][1000] > 0.0 && written[2][1000] < 0.0);
    assert!(found.notes.unseen_categories.is_empty());
    let plain = encoder.clone().plain().unwrap();
    let codes = rows(&plain.encode(read("town\nonce7\nnew\n\"\"\n")).unwrap());
    assert_eq!((codes[0][0], codes[1][0], codes[2][0].is_nan()), (1000.0, 1000.0, true));
}

#[test]
fn texts_are_read_word_by_word_beside_other_columns() {
    let words = ["good", "bad", "warm", "cold", "large", "small", "red"];
    let mut text = "age,review,y\n".to_owned();
    for row in 0..210 {
        let (one, two) = (words[row % 7], words[row / 7 % 7]);
        writeln!(text, "{row},\"it was {one}, {two}; number {row}\",{}", row % 2).unwrap();
    }
    let (encoder, data) = encode(&text, &label("y"));
    assert_eq!(encoder.texts(), ["review"]);
    let names = encoder.feature_names();
    assert!(names.contains(&"review: warm".to_owned()) && names.contains(&"review: it was".to_owned()));
    let written = rows(&data);
    let place = |name: &str| names.iter().position(|other| other == name).unwrap();
    assert!(written[0][place("review: good")] > 0.0 && written[0][place("review: warm")] == 0.0);
    assert!(written[0][place("age")] < 0.0);
    // Stored and read again, and for words that were never seen.
    let stored: Encoder = serde_json::from_str(&serde_json::to_string(&encoder).unwrap()).unwrap();
    let read = |text: &str| {
        let roles = Roles::default();
        Table::from_bytes("t.csv", text.into(), &ReadOptions::default(), &roles, Some(&stored)).unwrap()
    };
    let found = rows(&stored.encode(read("age,review\n0,it was good\n0,entirely unheard\n0,\n")).unwrap());
    assert!(found[0][place("review: it was")] > 0.0);
    assert_eq!(found[1], found[2]);
    assert_eq!(encoder.plain().unwrap().feature_names(), ["age"]);
    let alone = Roles { drop: list("age"), ..label("y") };
    let alone = encode(&text, &alone).0.plain().unwrap_err().to_string();
    assert!(alone.contains("all texts (review)"), "{alone}");
    // What looks like a category may be said to be one of texts.
    let told = Roles { text: list("colour"), ..label("y") };
    let (encoder, _) = encode("colour,y\ndark red,0\ndark red,1\nlight red,0\n", &told);
    assert_eq!(encoder.feature_names(), ["colour: dark", "colour: dark red", "colour: red"]);
}

#[test]
fn the_matrix_is_standardised_on_the_training_rows_only() {
    let text = "x,y\n1,0\n3,1\n100,0\n-50,1\n";
    let table = table(text, &label("y")).unwrap();
    let encoder = Encoder::fit(&table, &[0, 1]).unwrap();
    // Mean 2, standard deviation 1.
    let data = encoder.encode(table).unwrap();
    assert_eq!(rows(&data), [[-1.0], [1.0], [98.0], [-52.0]]);
}

#[test]
fn missing_numbers_are_filled_and_flagged_and_constants_left_out() {
    let (encoder, data) = encode("x,c,y\n1,5,0\n?,5,1\n3,5,0\n,5,1\n", &label("y"));
    assert_eq!(encoder.feature_names(), ["x", "x is missing"]);
    assert_eq!(data.notes.constant_columns, ["c"]);
    let r2 = 2.0_f32.sqrt();
    for (row, expected) in rows(&data).iter().zip([[-r2, -1.0], [0.0, 1.0], [r2, -1.0], [0.0, 1.0]]) {
        assert!((row[0] - expected[0]).abs() < 1e-6 && (row[1] - expected[1]).abs() < 1e-6, "{row:?}");
    }
}

#[test]
fn an_unseen_category_is_no_category_and_is_counted() {
    let (encoder, _) = encode("town,y\nYork,0\nLeeds,1\nYork,1\nLeeds,0\n", &label("y"));
    let json = serde_json::to_string(&encoder).unwrap();
    let encoder: Encoder = serde_json::from_str(&json).unwrap();
    let bytes = b"extra,town\n1,York\n2,Hull\n3,\n".to_vec();
    let other = Table::from_bytes("p.csv", bytes, &ReadOptions::default(), &Roles::default(), Some(&encoder))
        .unwrap();
    let data = encoder.encode(other).unwrap();
    assert_eq!(rows(&data), [[-1.0, 1.0], [-1.0, -1.0], [-1.0, -1.0]]);
    assert_eq!(data.notes.unseen_categories, [("town".to_owned(), 1)]);
    assert_eq!(data.notes.unseen_missing, [("town".to_owned(), 1)]);
    assert_eq!(data.notes.extra_columns, ["extra"]);
    assert!(data.sample.is_none());
}

#[test]
fn prediction_refuses_missing_columns_and_bad_numbers() {
    let (encoder, _) = encode("age,x,y\n1,5,0\n2,6,1\n", &label("y"));
    let predict = |text: &str| {
        Table::from_bytes(
            "p.csv",
            text.as_bytes().to_vec(),
            &ReadOptions::default(),
            &Roles::default(),
            Some(&encoder),
        )
        .unwrap_err()
        .to_string()
    };
    assert!(predict("x\n1\n").starts_with("p.csv: the model needs column \"age\", which is not there"));
    assert_eq!(
        predict("x,age\n1,2\n1,old\n"),
        "p.csv:3: column \"age\": \"old\" is not a number; name missing values with ‹missing›"
    );
    assert!(predict("1 1:2\n").contains("is an SVMLight file, but the model was trained on a table"));
}

#[test]
fn without_a_header_columns_go_by_position() {
    let (encoder, _) = encode("0,1,5\n1,2,6\n0,3,8\n", &label("1"));
    assert_eq!(encoder.feature_names(), ["2", "3"]);
    let predict = |text: &str| {
        Table::from_bytes(
            "p.csv",
            text.as_bytes().to_vec(),
            &ReadOptions::default(),
            &Roles::default(),
            Some(&encoder),
        )
        .map(|table| rows(&encoder.encode(table).unwrap()))
    };
    // With the label, and without.
    assert_eq!(predict("0,1,5\n").unwrap(), predict("1,5\n").unwrap());
    assert!(predict("1\n").unwrap_err().to_string().contains("columns are matched by position"));
}

#[test]
fn weights_groups_and_entities_are_taken_from_their_columns() {
    let roles = Roles {
        weight: Some("w".into()),
        group: Some("sex".into()),
        split_by: Some("patient".into()),
        ..label("y")
    };
    let text = "y,w,sex,patient,x\n0,1,m,p1,1\n1,2.5,f,p1,2\n0,1,,p2,3\n,1,x,p2,3\n";
    let (_, data) = encode(text, &roles);
    let sample = data.sample.unwrap();
    assert_eq!(sample.weights(), Some(&[1.0, 2.5, 1.0][..]));
    assert_eq!(sample.groups().unwrap().names(), ["(missing)", "f", "m"]);
    assert_eq!(sample.groups().unwrap().codes(), [2, 1, 0]);
    assert_eq!(sample.entities().unwrap().of(), [0, 0, 1]);
    assert_eq!(data.notes.unlabelled, 1);
    let message = error("y,w,x\n0,1,1\n1,-2,2\n", &Roles { weight: Some("w".into()), ..label("y") });
    assert_eq!(message, "t.csv: row 2: column \"w\": weight -2 is not a positive number");
}

#[test]
fn numbers_can_mark_missing_values() {
    let roles = Roles { missing: Some(list("-999")), ..label("y") };
    let (encoder, _) = encode("x,y\n1,0\n-999,1\n3,0\n-999.0,1\n", &roles);
    assert_eq!(encoder.feature_names(), ["x", "x is missing"]);
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let mut text = "a,b,c,y\n".to_owned();
    for row in 0..200_000 {
        writeln!(text, "{},{},k{},{}", row as f32 * 0.1, row % 977, row % 13, row % 2).unwrap();
    }
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| encode(&text, &label("y")))
    };
    let ((one, first), (two, second)) = (run(1), run(3));
    assert_eq!(one, two);
    assert_eq!(first.features, second.features);
}

#[test]
fn sparse_files_split_by_query_and_may_have_stand_in_labels() {
    let text: String = (0..40).map(|row| format!("{} qid:{} 1:{row} 3:0.5\n", row % 2, row / 4)).collect();
    let by_query = Roles { split_by: Some("qid".into()), ..Roles::default() };
    let queries = table(&text, &by_query).unwrap();
    let parts = setpoint_data::SplitPlan::default().split(&queries, 0).unwrap();
    assert!(parts.iter().all(|(_, rows)| rows.len() % 4 == 0));
    let encoder = Encoder::fit(&queries, parts.rows("train")).unwrap();
    let predict = |roles: &Roles| {
        let bytes = b"9 1:2\n9 3:1\n".to_vec();
        Table::from_bytes("p.txt", bytes, &ReadOptions::default(), roles, Some(&encoder))
    };
    assert!(predict(&Roles::default()).unwrap().labels().is_none());
    assert!(predict(&label("label")).unwrap_err().to_string().contains("holds \"9\""));
    let error = error("1 1:1\n0 1:2\n", &by_query);
    assert_eq!(error, "t.csv: ‹split-by qid› does not apply to this SVMLight file: this one has no qid");
}

#[test]
fn sparse_numbers_are_divided_by_their_root_mean_square() {
    let values = |text: &str, train: &[u32]| {
        let text = table(text, &Roles::default()).unwrap();
        let encoder = Encoder::fit(&text, train).unwrap();
        encoder.encode(text).unwrap().features.into_entries().unwrap().values
    };
    let text = format!("{}1 2:1\n", "1 1:3 2:1\n0 1:-4\n".repeat(4));
    // Column 1: sqrt((9 + 16) / 2); column 2: sqrt(1 / 2).
    let (a, b) = (12.5_f32.sqrt(), 0.5_f32.sqrt());
    let narrow = values(&text, &[0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!([&narrow[..3], &narrow[12..]].concat(), [3.0 / a, 1.0 / b, -4.0 / a, 1.0 / b]);
    // Of few rows, all three entries together: sqrt((9 + 1 + 16) / 3).
    let all = (26.0_f64 / 3.0).sqrt() as f32;
    assert_eq!(values("1 1:3 2:1\n0 1:-4\n1 2:1\n", &[0, 1]), [3.0 / all, 1.0 / all, -4.0 / all, 1.0 / all]);
}

#[test]
fn trees_get_numbers_as_they_are_categories_by_place_and_nan_for_what_is_missing() {
    let text = "age,town,y\n30,rome,1\n,oslo,0\n50,,1\n20,rome,0\n";
    let train = table(text, &label("y")).unwrap();
    let encoder = Encoder::fit(&train, &all_rows(&train)).unwrap().plain().unwrap();
    assert_eq!(encoder.feature_names(), ["age", "town"]);
    assert_eq!(encoder.coded_columns(), [1]);
    encoder.check().unwrap();
    let data = encoder.encode(train).unwrap();
    let shown: Vec<String> = rows(&data).iter().map(|row| format!("{row:?}")).collect();
    assert_eq!(shown, ["[30.0, 1.0]", "[NaN, 0.0]", "[50.0, NaN]", "[20.0, 1.0]"]);

    let unseen = table("age,town,y\n1,bern,1\n2,oslo,0\n", &label("y")).unwrap();
    let data = encoder.encode(unseen).unwrap();
    assert_eq!(format!("{:?}", rows(&data)), "[[1.0, NaN], [2.0, 0.0]]");
    assert_eq!(data.notes.unseen_categories, [("town".to_owned(), 1)]);
}

#[test]
fn missing_values_that_trees_did_not_learn_from_are_noted() {
    let train = table("age,town,y\n30,rome,1\n25,oslo,0\n,oslo,0\n", &label("y")).unwrap();
    let fitted = Encoder::fit(&train, &all_rows(&train)).unwrap().plain().unwrap();
    // As a model file keeps it.
    let encoder: Encoder = serde_json::from_str(&serde_json::to_string(&fitted).unwrap()).unwrap();
    assert_eq!(encoder, fitted);
    let encode = |encoder: &Encoder| {
        let bytes = b"age,town,y\n,,1\n2,,0\n".to_vec();
        let table =
            Table::from_bytes("t.csv", bytes, &ReadOptions::default(), &label("y"), Some(encoder)).unwrap();
        encoder.encode(table).unwrap()
    };
    let data = encode(&encoder);
    assert_eq!(data.notes.unseen_missing, [("town".to_owned(), 2)]);
    // Files from before do not say whether there were any.
    let before = serde_json::to_string(&fitted).unwrap().replace(",\"complete\":true", "");
    let data = encode(&serde_json::from_str(&before).unwrap());
    assert_eq!(data.notes.unseen_missing, []);
}

/// Rows of categories that each come with their share of positives, some of a single row, and a text that tells the label.
fn learnable(rows: usize) -> String {
    let mut text = "age,town,review,y\n".to_owned();
    for row in 0..rows {
        let town = if row % 10 == 9 { format!("once{row}") } else { format!("t{}", row % 1100) };
        let positive = (row % 1100 < 300) ^ (row % 11 == 0);
        let word = if positive ^ (row % 13 == 0) { "dreadful" } else { "lovely" };
        writeln!(text, "{},{town},it was {word} on day {row},{}", row % 7, u8::from(positive)).unwrap();
    }
    text
}

#[test]
fn trees_read_means_and_scores_that_the_row_itself_has_no_part_in() {
    let text = learnable(6000);
    let whole = table(&text, &label("y")).unwrap();
    let all = all_rows(&whole);
    let (encoder, out_of_fold) = Encoder::fit(&whole, &all).unwrap().for_trees(&whole, &all).unwrap();
    assert_eq!(encoder.feature_names(), ["age", "town", "review"]);
    assert!(encoder.coded_columns().is_empty());
    let by_all = encoder.encode(whole).unwrap();
    let mut train = by_all.features.clone();
    out_of_fold.put(&mut train);
    let (train, by_all_rows) = (super::rows(&train), super::rows(&by_all.features));
    // Positives have higher numbers, but less so than where their own labels have a part.
    let sample = by_all.sample.as_ref().unwrap();
    let mean = |rows: &[Vec<f32>], column: usize, label: bool| {
        let rows = rows.iter().zip(sample.labels()).filter(|(_, own)| **own == label);
        let values: Vec<f32> = rows.map(|(row, _)| row[column]).collect();
        values.iter().sum::<f32>() / values.len() as f32
    };
    for column in [1, 2] {
        let gap = |rows: &[Vec<f32>]| mean(rows, column, true) - mean(rows, column, false);
        assert!(gap(&train) > 0.0 && gap(&train) < gap(&by_all_rows), "{column}");
    }
    // A label turned, with folds by entity: the row's own numbers stay to the last bit, those of others do not.
    let numbers = |flipped: usize| {
        let lines = text.lines().enumerate().map(|(at, line)| match (at, line.split_at(line.len() - 1)) {
            (0, _) => format!("who,{line}\n"),
            (at, (rest, label)) if at == flipped => {
                format!("e{at},{rest}{}\n", if label == "1" { 0 } else { 1 })
            }
            (at, _) => format!("e{at},{line}\n"),
        });
        let roles = Roles { split_by: Some("who".into()), ..label("y") };
        let whole = table(&lines.collect::<String>(), &roles).unwrap();
        let (encoder, held_out) = Encoder::fit(&whole, &all).unwrap().for_trees(&whole, &all).unwrap();
        let mut data = encoder.encode(whole).unwrap();
        held_out.put(&mut data.features);
        rows(&data)
    };
    let (before, after) = (numbers(0), numbers(12));
    assert_eq!(before[11], after[11]);
    let moved = |column: usize| before.iter().zip(&after).any(|(one, other)| one[column] != other[column]);
    assert!(moved(1) && moved(2));
    // Stored and read again; what was never seen has the mean of categories of one row; missing is missing.
    let stored: Encoder = serde_json::from_str(&serde_json::to_string(&encoder).unwrap()).unwrap();
    assert_eq!(stored, encoder);
    let new = "age,town,review\n1,t1,lovely\n1,nowhere,dreadful\n1,once9,dreadful\n1,,\n";
    let new =
        Table::from_bytes("n.csv", new.into(), &ReadOptions::default(), &Roles::default(), Some(&stored));
    let new = stored.encode(new.unwrap()).unwrap();
    let found = rows(&new);
    assert_eq!(found[1], found[2]);
    assert!(found[0][2] < found[1][2]);
    assert!(found[3][1].is_nan() && found[3][2].is_nan());
    assert_eq!(new.notes.unseen_missing, [("town".to_owned(), 1), ("review".to_owned(), 1)]);
}
