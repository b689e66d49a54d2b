//! `setpoint evaluate --check`: what was not tested has not passed.

use std::path::Path;

use crate::data::shop;
use crate::{Run, directory, setpoint, write};

fn train(home: &Path, more: &[&str]) {
    let base = ["train", "shop.csv", "--label", "bought", "--goal", "recall @ fpr<=10%", "-q", "-o", "m"];
    setpoint(home, &[&base[..], more].concat()).ok();
}

/// Exit 1, with the reason on stderr and in JSON.
#[track_caller]
fn untested(run: &Run, reason: &str) {
    assert_eq!(run.code, Some(1), "{run:?}");
    assert_eq!(run.stderr, format!("error: {reason}\n"));
    let check = &run.json()["check"];
    assert_eq!((&check["passed"], &check["reason"]), (&false.into(), &reason.into()));
}

/// The rows of `shop` with these labels, and another column.
fn rows(keep: impl Fn(&str) -> bool, more: impl Fn(usize) -> String) -> String {
    let all = shop(2000, 12);
    let kept = all.lines().enumerate().filter(|(row, line)| *row == 0 || keep(line));
    kept.map(|(row, line)| format!("{line}{}\n", more(row))).collect()
}

#[test]
fn what_was_tested_and_holds_passes() {
    let home = directory();
    write(home.path(), "shop.csv", &shop(3000, 11));
    write(home.path(), "more.csv", &shop(2000, 12));
    write(home.path(), "negatives.csv", &rows(|line| line.ends_with("no"), |_| String::new()));
    train(home.path(), &[]);
    // A condition on negatives needs no positives.
    for data in ["more.csv", "negatives.csv"] {
        let run = setpoint(home.path(), &["evaluate", "m", data, "--check", "--json", "-q"]).ok();
        let check = &run.json()["check"];
        assert_eq!((&check["passed"], &check["reason"]), (&true.into(), &serde_json::Value::Null));
    }
    let run = setpoint(home.path(), &["evaluate", "m", "more.csv", "--json", "-q"]).ok();
    assert!(run.json().get("check").is_none());
}

#[test]
fn a_check_of_nothing_is_the_answer_no() {
    let home = directory();
    write(home.path(), "shop.csv", &shop(3000, 11));
    write(home.path(), "more.csv", &shop(2000, 12));
    let check = |data: &str, more: &[&str]| {
        let base = ["evaluate", "m", data, "--check", "--json", "-q"];
        setpoint(home.path(), &[&base[..], more].concat())
    };
    train(home.path(), &["--no-certificate"]);
    untested(&check("more.csv", &[]), "nothing was tested: the model has no certificate");
    train(home.path(), &[]);
    write(home.path(), "positives.csv", &rows(|line| line.ends_with("yes"), |_| String::new()));
    untested(
        &check("positives.csv", &[]),
        "the certificate was not tested: fpr<=10% is inconclusive: the data holds no negatives",
    );
    let weight = |row: usize| if row == 0 { ",w".to_owned() } else { format!(",{}", 1 + row % 2) };
    write(home.path(), "weighted.csv", &rows(|_| true, weight));
    untested(
        &check("weighted.csv", &["--weight", "w"]),
        "the certificate was not tested: weights differ (2 for example 0, 1 for example 1): an exact certificate \
         counts every example once; certify on an unweighted sample of the population meant",
    );
}

#[test]
fn groups_that_share_a_threshold_are_read_where_they_are_there() {
    let home = directory();
    write(home.path(), "shop.csv", &shop(3000, 11));
    write(home.path(), "more.csv", &shop(2000, 12));
    train(home.path(), &["--goal", "recall @ fpr(sex)<=10%", "--shared-threshold"]);
    let check = |data: &str| setpoint(home.path(), &["evaluate", "m", data, "--check", "--json", "-q"]);
    let record = check("more.csv").ok().json();
    assert_eq!(record["drift"].as_array().unwrap().len(), 2);
    let without = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        [fields[0], fields[1], fields[2], fields[4]].join(",") + "\n"
    };
    write(home.path(), "less.csv", &shop(2000, 12).lines().map(without).collect::<String>());
    untested(
        &check("less.csv"),
        "the certificate was not tested: the conditions are on groups of column \"sex\" and the sample has no \
         groups; give the group of each row with --group",
    );
}
