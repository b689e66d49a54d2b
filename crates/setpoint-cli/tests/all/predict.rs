//! `setpoint evaluate` and `setpoint predict`.

use std::path::Path;

use crate::data::shop;
use crate::{directory, read, setpoint, write};

/// A trained model and more rows in a directory.
fn trained(home: &Path, goal: &str) {
    write(home, "shop.csv", &shop(3000, 11));
    write(home, "more.csv", &shop(2000, 12));
    setpoint(home, &["train", "shop.csv", "--label", "bought", "--goal", goal, "-q", "-o", "m"]).ok();
}

#[test]
fn evaluation_tells_the_condition_from_the_threshold_with_intervals() {
    let home = directory();
    trained(home.path(), "recall @ fpr<=10%");
    let run = setpoint(home.path(), &["evaluate", "m", "more.csv", "--json"]).ok();
    let record = run.json();
    assert_eq!(record["rows"], 2000);
    let at = &record["at_condition"];
    let (low, high) = (at["interval"]["lower"].as_f64().unwrap(), at["interval"]["upper"].as_f64().unwrap());
    assert!(low <= at["value"].as_f64().unwrap() && at["value"].as_f64().unwrap() <= high);
    assert_eq!(at["interval"]["method"], "stratified bootstrap");
    let names: Vec<&str> =
        record["at_threshold"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["recall", "fpr", "precision", "positive-rate", "accuracy", "balanced-accuracy", "f1"]);
    assert_eq!(record["at_threshold"][1]["interval"]["method"], "Clopper-Pearson");
    assert_eq!(record["ranking"][0]["interval"]["method"], "DeLong");
    let counts = &record["confusion"];
    let total: f64 = ["true_positives", "false_negatives", "false_positives", "true_negatives"]
        .iter()
        .map(|key| counts[*key].as_f64().unwrap())
        .sum();
    assert_eq!(total, 2000.0);
    assert_eq!(record["drift"][0]["condition"], "fpr<=10%");
    assert!(run.stderr.contains("at the threshold"), "{}", run.stderr);
    // The same as predictions, counted by hand.
    setpoint(home.path(), &["predict", "m", "more.csv", "-o", "out.csv", "-q"]).ok();
    let out = String::from_utf8(read(home.path(), "out.csv")).unwrap();
    let labels = shop(2000, 12);
    let hits =
        out.lines().zip(labels.lines()).filter(|(o, l)| o.ends_with(",1") && l.ends_with("yes")).count();
    assert_eq!(hits as f64, counts["true_positives"].as_f64().unwrap());
}

#[test]
fn drift_is_found_and_check_makes_it_an_exit_code() {
    let home = directory();
    trained(home.path(), "recall @ fpr<=10%");
    // Everybody earns more than before: false alarms abound.
    let mut richer = String::new();
    for (row, line) in shop(2000, 13).lines().enumerate() {
        let mut fields: Vec<String> = line.split(',').map(str::to_owned).collect();
        if row > 0 {
            fields[1] = format!("{}", fields[1].parse::<f64>().unwrap() + 20.0);
        }
        richer += &format!("{}\n", fields.join(","));
    }
    write(home.path(), "richer.csv", &richer);
    let run = setpoint(home.path(), &["evaluate", "m", "richer.csv", "--json", "-q"]).ok();
    assert_eq!(run.json()["drift"][0]["verdict"], "violated");
    let run = setpoint(home.path(), &["evaluate", "m", "richer.csv", "--check", "-q"]);
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.starts_with("error: fpr<=10%"), "{}", run.stderr);
    setpoint(home.path(), &["evaluate", "m", "more.csv", "--check", "-q"]).ok();
}

#[test]
fn unlabelled_and_reordered_columns_predict_alike_in_every_format() {
    let home = directory();
    trained(home.path(), "recall @ fpr<=10%");
    let mut bare = String::new();
    for line in shop(2000, 12).lines() {
        let fields: Vec<&str> = line.split(',').collect();
        bare += &format!("{},{},{},{}\n", fields[3], fields[2], fields[0], fields[1]);
    }
    write(home.path(), "bare.csv", &bare);
    let run = setpoint(home.path(), &["predict", "m", "bare.csv"]).ok();
    setpoint(home.path(), &["predict", "m", "more.csv", "-o", "out.csv", "-q"]).ok();
    assert_eq!(run.stdout.as_bytes(), read(home.path(), "out.csv"));
    assert!(run.stdout.starts_with("score,probability,decision\n"));
    assert_eq!(run.stdout.lines().count(), 2001);
    assert!(run.stderr.starts_with("2000 rows, "), "{}", run.stderr);
    // Parquet holds the same numbers: certify reads both.
    setpoint(home.path(), &["predict", "m", "more.csv", "-o", "out.parquet", "-q"]).ok();
    let certify = |file: &str| {
        let arguments =
            ["certify", file, "--label", "decision", "--score", "score", "--goal", "fpr<=1%", "--json", "-q"];
        setpoint(home.path(), &arguments).ok().json()["threshold"].as_f64().unwrap() as f32
    };
    assert_eq!(certify("out.parquet"), certify("out.csv"));
}

#[test]
fn unseen_values_fall_back_as_documented_and_are_counted() {
    let home = directory();
    trained(home.path(), "recall @ fpr<=10%");
    write(home.path(), "odd.csv", "town,age,income,sex,hobby\nParis,NA,30,f,golf\nYork,40,NA,x,golf\n");
    let run = setpoint(home.path(), &["predict", "m", "odd.csv"]).ok();
    assert_eq!(run.stdout.lines().count(), 3);
    assert_eq!(
        run.stderr,
        "note: odd.csv: columns that the model does not know were ignored: hobby\n\
         note: odd.csv: column \"town\": 1 value that the training rows did not have counts as no category\n\
         note: odd.csv: column \"sex\": 1 value that the training rows did not have counts as no category\n\
         note: odd.csv: column \"income\": 1 missing value where the training rows had none: the model knows nothing of them\n\
         2 rows, 0 of them positive\n"
    );
}

#[test]
fn groups_have_thresholds_of_their_own() {
    let home = directory();
    trained(home.path(), "recall @ fpr(sex)<=10%");
    let record = setpoint(home.path(), &["evaluate", "m", "more.csv", "--json", "-q"]).ok().json();
    let groups = record["groups"].as_array().unwrap();
    assert_eq!(groups.len(), 2);
    assert_ne!(groups[0]["threshold"], groups[1]["threshold"]);
    assert_eq!(record["drift"].as_array().unwrap().len(), 2);
    write(home.path(), "odd.csv", "town,age,income,sex\nYork,30,30,x\n");
    let run = setpoint(home.path(), &["predict", "m", "odd.csv", "-q"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""));
    assert_eq!(
        run.stderr,
        "error: group \"x\" of column \"sex\": the model has no threshold for it; it knows f, m\n"
    );
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let home = directory();
    trained(home.path(), "f1");
    let mut child = crate::command(home.path(), &["predict", "m", "more.csv", "-q"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn columns_to_join_on_are_kept_as_they_are_written() {
    let home = directory();
    trained(home.path(), "recall @ fpr<=10%");
    let rows = "town,customer,age,income,sex,note\nYork,007,40,30.50,f,\"a, b\"\nHull,8,NA,31,m,\n";
    write(home.path(), "new.csv", rows);
    let keep = |columns: &str| setpoint(home.path(), &["predict", "m", "new.csv", "-q", "--keep", columns]);
    let plain = setpoint(home.path(), &["predict", "m", "new.csv", "-q"]).ok().stdout;
    let decided: Vec<&str> = plain.lines().collect();
    let some = keep("customer,note,3").ok().stdout;
    let expected = [("customer,note,age", 0), ("007,\"a, b\",40", 1), ("8,,NA", 2)];
    assert_eq!(some, expected.map(|(kept, row)| format!("{kept},{}\n", decided[row])).concat());
    let all = keep("all").ok().stdout;
    let expected = rows.lines().zip(&decided).map(|(row, decided)| format!("{row},{decided}\n"));
    assert_eq!(all, expected.collect::<String>());
    let probability: f64 = decided[1].split(',').nth(1).unwrap().parse().unwrap();
    assert!(decided[0] == "score,probability,decision" && probability > 0.0 && probability < 1.0, "{plain}");
    let run = keep("client");
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("no column \"client\" (--keep)"), "{}", run.stderr);
    write(home.path(), "new.csv", "town,customer,age,income,sex,score\nYork,7,40,30,f,1\n");
    assert!(keep("score").stderr.contains("called as one that predict writes"));
    // Whole numbers stay numbers in Parquet, which reads back as the CSV does.
    write(home.path(), "new.csv", &rows.replace("007", "7"));
    setpoint(home.path(), &["predict", "m", "new.csv", "-q", "--keep", "all", "-o", "out.parquet"]).ok();
    let again = setpoint(home.path(), &["predict", "m", "out.parquet", "-q", "--keep", "customer,note"]).ok();
    let expected = [("customer,note", 0), ("7,\"a, b\"", 1), ("8,", 2)];
    assert_eq!(again.stdout, expected.map(|(kept, row)| format!("{kept},{}\n", decided[row])).concat());
}
