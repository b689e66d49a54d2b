//! Tables as people have them: names by the thousand, dates as they are written, a column that knows too much,
//! categories that nobody has seen.

use std::fmt::Write as _;

use crate::{directory, read, setpoint, write};

/// A number below `below` for a row, as good as drawn.
fn drawn(row: usize, below: usize) -> usize {
    (((row as u32 + 1).wrapping_mul(2_654_435_761) >> 8) as usize) % below
}

#[test]
fn fifty_thousand_names_are_pooled_or_left_out() {
    let home = directory();
    // 50,000 different clients, most in one row; and a name in each row that no other has.
    let mut text = "client,name,x,y\n".to_owned();
    for row in 0..80_000 {
        let client = if row < 50_000 { row } else { drawn(row, 900) };
        let x = drawn(row, 1000);
        writeln!(text, "c{client},n{row},{x},{}", u8::from(x > 700 || client < 30)).unwrap();
    }
    write(home.path(), "t.csv", &text);
    let goal = ["--goal", "recall @ fpr<=5%", "--method", "cross-entropy", "-o", "m"];
    let run =
        setpoint(home.path(), &[&["train", "t.csv", "--label", "y", "--json"], &goal[..]].concat()).trained();
    let notes = run.json()["notes"].to_string();
    assert!(notes.contains("left out, with another value in (nearly) each training row: name"), "{notes}");
    // Those in two training rows or more, one for the others, and the number.
    let columns = run.json()["columns"].as_u64().unwrap();
    assert!((800..=1002).contains(&columns), "{columns}");
    write(home.path(), "p.csv", "client,name,x\nnobody,n0,500\nc49999,n1,500\n");
    setpoint(home.path(), &["predict", "m", "p.csv", "-o", "out.csv"]).ok();
    let out = String::from_utf8(read(home.path(), "out.csv")).unwrap();
    let scores: Vec<&str> = out.lines().skip(1).map(|line| line.split(',').next().unwrap()).collect();
    assert_eq!(scores[0], scores[1], "a client in one row and one that nobody knows are both rare");
}

#[test]
fn trees_read_means_of_many_names_and_scores_of_texts() {
    if setpoint_trees::Library::get().is_err() {
        eprintln!("skipped: LightGBM is not installed (pip install lightgbm)");
        return;
    }
    let home = directory();
    // 2,000 clients, a quarter of whom are bad, and a number that matters the other way round for them.
    let mut text = "client,remark,x,y\n".to_owned();
    for row in 0..20_000 {
        let (client, x) = (drawn(row, 2000), drawn(row + 5, 100));
        let positive = (client % 4 == 0) == (x > 50) && drawn(row + 9, 10) > 0;
        let word = if drawn(row + 3, 4) > 0 && positive { "late again" } else { "all in order" };
        writeln!(text, "c{client},{word} on visit {row},{x},{}", u8::from(positive)).unwrap();
    }
    write(home.path(), "t.csv", &text);
    let train =
        ["train", "t.csv", "--label", "y", "--goal", "recall @ fpr<=5%", "--model", "trees", "--search", "1"];
    let fast = ["--rounds", "40", "-o", "m", "--json"];
    let run = setpoint(home.path(), &[&train[..], &fast].concat()).trained();
    assert_eq!(run.json()["columns"], 3);
    let notes = run.json()["notes"].to_string();
    assert!(notes.contains("read as texts, word by word, of which trees get a linear score"), "{notes}");
    assert!(run.json()["objective"]["calibration"].as_f64().unwrap() > 0.6, "{}", run.json()["objective"]);
    let asked =
        "client,remark,x\nnobody,late again,80\nnobody else,late again,80\nc4,all in order,80\n,,80\n";
    write(home.path(), "p.csv", asked);
    let predict = |model: &str| {
        setpoint(home.path(), &["predict", model, "p.csv", "-o", "out.csv"]).ok();
        let out = String::from_utf8(read(home.path(), "out.csv")).unwrap();
        out.lines().skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    let lines = predict("m");
    assert_eq!(lines[0], lines[1], "clients that nobody knows are alike");
    let refused = setpoint(home.path(), &["export", "m", "-o", "m.onnx"]);
    assert!(refused.stderr.contains("column \"remark\" holds texts, word by word"), "{}", refused.stderr);
    // Means go into the graph.
    let alone = ["--drop", "remark"];
    setpoint(home.path(), &[&train[..], &alone, &fast].concat()).trained();
    assert_eq!(predict("m").len(), 4);
    setpoint(home.path(), &["export", "m", "-o", "m.onnx"]).ok();
    if setpoint_onnx::library_file().is_some() {
        setpoint(home.path(), &["export", "m", "-o", "m.onnx", "--check", "t.csv"]).ok();
    }
}

#[test]
fn dates_in_three_formats_are_parts_in_the_model_and_in_predict() {
    let home = directory();
    let mut text = "iso,german,american,x,y\n".to_owned();
    for row in 0..3000 {
        let (day, month, year) = (1 + drawn(row, 28), 1 + drawn(row + 7, 12), 2019 + drawn(row + 3, 5));
        let hour = drawn(row + 11, 24);
        // The month of one and the hour of the other, of which neither is the time itself.
        let label = u8::from(month == 12 || (hour == 3 && drawn(row, 3) > 0));
        let half = if hour < 12 { "AM" } else { "PM" };
        let clock = if hour.is_multiple_of(12) { 12 } else { hour % 12 };
        writeln!(
            text,
            "{year}-{:02}-{day:02},{day:02}.{month:02}.{year},{}/{day}/{year} {clock}:30 {half},{},{label}",
            1 + drawn(row + 20, 12),
            1 + drawn(row + 30, 12),
            drawn(row, 50)
        )
        .unwrap();
    }
    write(home.path(), "t.csv", &text);
    let train =
        ["train", "t.csv", "--label", "y", "--goal", "recall @ fpr<=2%", "-o", "m", "--report", "r.html"];
    let run = setpoint(home.path(), &train).trained();
    for said in [
        "column \"iso\" was read as dates, with their parts\n",
        "column \"german\" was read as dates, with their parts, the day before the month (31/12/2024)",
        "column \"american\" was read as dates, with their parts, the month before the day (12/31/2024)",
    ] {
        assert!(run.stderr.contains(said), "{}", run.stderr);
    }
    let evaluated = setpoint(home.path(), &["evaluate", "m", "t.csv", "--json"]).ok().json();
    assert!(evaluated["at_condition"]["value"].as_f64().unwrap() > 0.9, "{}", evaluated["at_condition"]);
    let columns = evaluated["importance"]["columns"].as_array().unwrap();
    let named = |at: usize| columns[at]["column"].as_str().unwrap();
    assert_eq!([named(0), named(1)], ["german", "american"]);
    assert_eq!(columns[0]["weights"][0]["of"], "month 12");
    assert_eq!(columns[1]["weights"][0]["of"], "hour 03");
    let page = String::from_utf8(read(home.path(), "r.html")).unwrap();
    assert!(page.contains("What the model uses") && page.contains("month 12 +"));
    // Another format that can be read, a date that cannot, and one that is missing.
    write(
        home.path(),
        "p.csv",
        "iso,german,american,x\n2021-05-05,24.12.2021,12/24/2021 3:30 AM,5\n5 May 2021,24 Dec 2021,2021-12-24T03:30:00,5\n\
         2021-05-05,someday,5/5/2021 1:00 PM,5\n2021-05-05,,5/5/2021 1:00 PM,5\n",
    );
    let run = setpoint(home.path(), &["predict", "m", "p.csv", "-o", "out.csv"]).ok();
    let said = "column \"german\": 2 missing values where the training rows had none";
    assert!(run.stderr.contains(said), "{}", run.stderr);
    let out = String::from_utf8(read(home.path(), "out.csv")).unwrap();
    let lines: Vec<&str> = out.lines().skip(1).collect();
    assert_eq!(lines[2], lines[3], "what cannot be read is missing");
    assert!(lines[0].ends_with('1') && lines[2].ends_with('0'), "{out}");
    let refused = setpoint(home.path(), &["export", "m", "-o", "m.onnx"]);
    assert_eq!(refused.code, Some(2));
    assert!(
        refused.stderr.contains("holds dates, whose parts cannot be exported to ONNX"),
        "{}",
        refused.stderr
    );
}

#[test]
fn a_column_that_gives_the_label_away_and_rows_that_are_there_twice_are_named() {
    let home = directory();
    let mut text = "closed,number,when,x,y\n".to_owned();
    for row in 0..4000 {
        // Every row of the second half is one of the first.
        let of = row % 2000;
        let label = drawn(of, 5) == 0;
        let closed = if label { 2 } else { drawn(of, 2) };
        writeln!(text, "{closed},{of},{},{},{}", row % 2000, drawn(of + 9, 100), u8::from(label)).unwrap();
    }
    write(home.path(), "t.csv", &text);
    let goal = ["--goal", "recall @ fpr<=5%", "--method", "cross-entropy", "-o", "m"];
    let run = setpoint(home.path(), &[&["train", "t.csv", "--label", "y"], &goal[..]].concat()).trained();
    assert!(run.stderr.contains("column \"closed\" by itself reaches"), "{}", run.stderr);
    assert!(run.stderr.contains("rows that are held out are the same, label included"), "{}", run.stderr);
    let by_time = ["train", "t.csv", "--label", "y", "--split-time", "when"];
    let run = setpoint(home.path(), &[&by_time[..], &goal].concat()).trained();
    let said = "column \"number\" goes with the time that the split goes by";
    assert!(run.stderr.contains(said) && run.stderr.contains("--drop number"), "{}", run.stderr);
}

#[test]
fn categories_that_are_all_new_are_counted_and_decided_all_the_same() {
    let home = directory();
    let mut text = "town,x,y\n".to_owned();
    for row in 0..2000 {
        let (town, x) = (drawn(row, 9), drawn(row + 5, 100));
        writeln!(text, "t{town},{x},{}", u8::from(x + 5 * town > 100)).unwrap();
    }
    write(home.path(), "t.csv", &text);
    let train = ["train", "t.csv", "--label", "y", "--goal", "recall @ fpr<=5%", "-o", "m"];
    setpoint(home.path(), &train).trained();
    write(home.path(), "p.csv", "town,x\nRome,99\nOslo,99\nBonn,0\n");
    let run = setpoint(home.path(), &["predict", "m", "p.csv", "-o", "out.csv"]).ok();
    let said = "column \"town\": 3 values that the training rows did not have count as no category";
    assert!(run.stderr.contains(said), "{}", run.stderr);
    let out = String::from_utf8(read(home.path(), "out.csv")).unwrap();
    let lines: Vec<&str> = out.lines().skip(1).collect();
    assert!(lines.len() == 3 && lines[0] == lines[1] && lines[0] != lines[2], "{out}");
}

#[test]
fn an_average_of_both_kinds_is_kept_where_it_gains() {
    if setpoint_trees::Library::get().is_err() {
        eprintln!("skipped: LightGBM is not installed (pip install lightgbm)");
        return;
    }
    let home = directory();
    // Twenty columns that add up, and two of which only both together say anything; a category that does, too.
    let names: Vec<String> = (0..20).map(|column| format!("c{column}")).collect();
    let mut text = format!("{},a,b,kind,y\n", names.join(","));
    for row in 0..6000 {
        // A product of draws: multiples alone lie on planes.
        let value = |column: usize| {
            let (a, b) = (drawn(row * 64 + column, 9973), drawn(row * 64 + column + 7, 9967));
            (a * b % 1009) as f64 / 504.5 - 1.0
        };
        let (a, b) = (value(21), value(22));
        let kind = drawn(row + 17, 3);
        let sum: f64 = (0..20).map(value).sum();
        let score = 0.6 * sum + 4.0 * f64::from(u8::from((a > 0.0) == (b > 0.0))) + kind as f64;
        names.iter().enumerate().for_each(|(column, _)| write!(text, "{},", value(column)).unwrap());
        let blank = if row % 50 == 0 { String::new() } else { a.to_string() };
        writeln!(text, "{blank},{b},k{kind},{}", u8::from(score + 3.0 * value(23) > 5.0)).unwrap();
    }
    write(home.path(), "t.csv", &text);
    let train = ["train", "t.csv", "--label", "y", "--goal", "recall @ fpr<=10%", "-o", "m"];
    let (auto, small) = (["--model", "auto"], ["--search", "1", "--rounds", "30"]);
    let run = setpoint(home.path(), &[&train[..], &auto, &small, &["--json"]].concat()).trained().json();
    assert_eq!(run["model"], "average", "{}", run["kinds"]);
    let kept: Vec<bool> = run["kinds"].as_array().unwrap().iter().map(|one| one["kept"] == true).collect();
    assert_eq!(kept, [false, false, true]);
    let alone = |kind: &str, flags: &[&str]| {
        let run = setpoint(home.path(), &[&train[..], flags, &["--json", "--model", kind]].concat());
        run.trained().json()["objective"]["calibration"].as_f64().unwrap()
    };
    let best = alone("linear", &[]).max(alone("trees", &small));
    assert!(run["objective"]["calibration"].as_f64().unwrap() > best, "{} {best}", run["objective"]);
    // What ships is one file, which scores, measures and explains as any other.
    setpoint(home.path(), &[&train[..], &auto, &small].concat()).trained();
    let evaluated = setpoint(home.path(), &["evaluate", "m", "t.csv", "--json"]).ok().json();
    let columns = evaluated["importance"]["columns"].as_array().unwrap();
    let named: Vec<&str> = columns.iter().map(|one| one["column"].as_str().unwrap()).collect();
    assert!(named[..3].contains(&"a") && named[..3].contains(&"b"), "{named:?}");
    setpoint(home.path(), &["predict", "m", "t.csv", "-o", "out.csv"]).ok();
    let out = String::from_utf8(read(home.path(), "out.csv")).unwrap();
    assert_eq!(out.lines().count(), 6001);
    setpoint(home.path(), &["export", "m", "-o", "m.onnx"]).ok();
    if setpoint_onnx::library_file().is_some() {
        setpoint(home.path(), &["export", "m", "-o", "m.onnx", "--check", "t.csv"]).ok();
    }
    // A file whose trees have lost their columns is none.
    let mut damaged = read(home.path(), "m");
    let at = damaged.windows(6).position(|bytes| bytes == b"beside").unwrap();
    damaged[at..at + 6].copy_from_slice(b"besidx");
    std::fs::write(home.path().join("d"), damaged).unwrap();
    let refused = setpoint(home.path(), &["predict", "d", "t.csv", "-o", "out.csv"]);
    assert!(refused.stderr.contains("d:"), "{}", refused.stderr);
}
