//! The data sets of the paper, where they are at hand.

use std::path::PathBuf;

use crate::{directory, read, setpoint};

const GOALS: [&str; 5] = [
    "pr-auc @ recall in 0.95..1",
    "recall @ fpr<=1%",
    "fnr @ fpr=5%",
    "precision @ k=100",
    "roc-auc @ fpr in 0..5%",
];

/// The directory with the data, or a line that says what is skipped.
fn data(test: &str) -> Option<PathBuf> {
    let found = std::env::var_os("SETPOINT_DATA").map(PathBuf::from);
    if found.is_none() {
        eprintln!("skipped: {test}: SETPOINT_DATA is not set");
    }
    found
}

/// Trains for every goal with one and with two threads, and evaluates and predicts with the last.
fn every_goal(name: &str, flags: &[&str], test: Option<&str>) {
    let Some(data) = data(name) else { return };
    let home = directory();
    let path = |file: &str| data.join(file).to_str().expect("a UTF-8 path").to_owned();
    let (train, test) = (path(name), test.map(path));
    let mut arguments = vec!["train", &train, "-q", "--json"];
    arguments.extend(flags);
    match &test {
        Some(test) => arguments.extend(["--test", test]),
        None => arguments.extend(["--split", "train=0.5,validation=0.2,calibration=0.1,test=0.2"]),
    }
    for goal in GOALS {
        let run = |threads: &str, output: &str| {
            let more = ["--goal", goal, "--threads", threads, "-o", output];
            setpoint(home.path(), &[&arguments[..], &more].concat()).trained().json()
        };
        let record = run("1", "one");
        run("2", "two");
        assert_eq!(read(home.path(), "one"), read(home.path(), "two"), "{name} {goal}");
        let value = record["objective"]["test"].as_f64().unwrap_or_else(|| panic!("{name} {goal}: {record}"));
        assert!((0.0..=1.0).contains(&value), "{name} {goal}: {value}");
        assert!(record["certificate"].is_object() != record["certificate_refused"].is_string());
    }
    let rows = test.as_ref().unwrap_or(&train);
    let evaluated = setpoint(home.path(), &["evaluate", "one", rows, "--json", "-q"]).ok().json();
    assert!(evaluated["at_condition"]["interval"]["lower"].is_number(), "{evaluated}");
    setpoint(home.path(), &["predict", "one", rows, "-q", "-o", "out.csv"]).ok();
    let lines = read(home.path(), "out.csv").iter().filter(|byte| **byte == b'\n').count();
    assert_eq!(lines as u64, 1 + evaluated["rows"].as_u64().unwrap());
}

#[test]
fn letter() {
    every_goal("letter-recognition.data", &["--label", "1", "--positive", "U"], None);
}

#[test]
fn ijcnn1() {
    every_goal("ijcnn1.gz", &[], None);
}

#[test]
fn adult() {
    every_goal("adult.data", &["--label", "15", "--positive", ">50K"], Some("adult.test"));
}

#[test]
fn spambase() {
    every_goal("spambase.data", &["--label", "58"], None);
}

#[test]
fn communities() {
    let flags = ["--label", "128", "--positive", ">0.28", "--drop", "1-5", "--missing", "?"];
    every_goal("communities.data", &flags, None);
}

#[test]
fn a9a() {
    every_goal("a9a", &[], Some("a9a.t"));
}

#[test]
fn a_gap_between_groups_that_held_out_rows_do_not_keep_is_said_where_the_answer_is() {
    let Some(data) = data("compas-scores-two-years.csv") else { return };
    let home = directory();
    let file = data.join("compas-scores-two-years.csv");
    let flags = ["--label", "two_year_recid", "--drop", "1-5,7,9,12,16-22,24-52", "--min-group", "500"];
    let more =
        ["--shared-threshold", "--goal", "accuracy @ gap(fpr, race)<=0.05", "--report-json", "page.json"];
    let run = setpoint(home.path(), &[&["train", file.to_str().unwrap()][..], &flags, &more].concat());
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    // 10.91% at the time of writing.
    let not_met = "on the calibration part: gap(fpr, race) is ";
    assert!(run.stdout.contains(&format!("not met   {not_met}")), "{}", run.stdout);
    assert!(run.stderr.contains(&format!("not met {not_met}")), "{}", run.stderr);
    let page: serde_json::Value = serde_json::from_slice(&read(home.path(), "page.json")).unwrap();
    assert_eq!(page["cautions"][0]["kind"], "goal-not-met");
    assert_eq!(page["training"]["unmet"]["calibration"][0]["condition"], "gap(fpr, race)<=0.05");
}

#[test]
fn ohsumed_is_ranked_for_every_goal_per_query() {
    let Some(data) = data("OHSUMED-Fold1") else { return };
    let home = directory();
    let path = |file: &str| data.join("OHSUMED-Fold1").join(file).to_str().expect("a UTF-8 path").to_owned();
    let (train, test) = (path("trainingset.txt.gz"), path("testset.txt.gz"));
    // A random order is worth 0.13, 0.17, 0.10 and 0.20 on the test queries.
    for (goal, least) in [
        ("ndcg @ k=10 per query", 0.25),
        ("precision @ k=10 per query", 0.3),
        ("recall @ top=10% per query", 0.15),
        ("map per query", 0.27),
    ] {
        let run = |threads: &str, output: &str| {
            let flags = ["--goal", goal, "--test", &test, "--threads", threads, "-o", output, "--json", "-q"];
            setpoint(home.path(), &[&["train", &train][..], &flags].concat()).ok().json()
        };
        let record = run("1", "one");
        run("2", "two");
        assert_eq!(read(home.path(), "one"), read(home.path(), "two"), "{goal}");
        let value = record["objective"]["test"].as_f64().unwrap_or_else(|| panic!("{goal}: {record}"));
        assert!(value > least, "{goal}: {value}");
        assert!(record["bound"]["lower"].as_f64().unwrap() > 0.05, "{}", record["bound"]);
        setpoint(home.path(), &["evaluate", "one", &test, "-q", "--check"]).ok();
    }
}
