//! `setpoint train`: what it writes, and that it is the same every time.

use serde_json::Value;

use crate::data::shop;
use crate::{directory, read, setpoint, write};

const GOAL: &str = "recall @ fpr<=10%";

#[test]
fn training_prints_the_documented_json_and_nothing_else_on_stdout() {
    let home = directory();
    write(home.path(), "shop.csv", &shop(3000, 1));
    let arguments =
        ["train", "shop.csv", "--label", "bought", "--goal", GOAL, "--json", "-o", "m.safetensors"];
    let run = setpoint(home.path(), &[&arguments[..], &["--split", SPLIT]].concat()).ok();
    let record = run.json();
    for (key, kind) in [
        ("goal", "string"),
        ("model", "string"),
        ("method", "string"),
        ("winner", "string"),
        ("seed", "number"),
        ("steps", "number"),
        ("rows", "object"),
        ("thresholds", "array"),
        ("objective", "object"),
        ("constraint", "object"),
        ("certificate", "object"),
        ("certificate_refused", "null"),
        ("baseline", "object"),
        ("gain", "object"),
        ("candidates", "array"),
        ("groups", "null"),
        ("notes", "array"),
        ("data_hash", "string"),
        ("seconds", "object"),
        ("artifact", "string"),
    ] {
        assert_eq!(kind_of(&record[key]), kind, "{key}: {}", record[key]);
    }
    assert_eq!(record["goal"], GOAL);
    assert_eq!(record["rows"]["train"], 1500);
    for split in ["train", "validation", "calibration", "test"] {
        let value = record["objective"][split].as_f64().unwrap();
        assert!((0.3..1.0).contains(&value), "{split} {value}");
        assert_eq!(record["constraint"][split].as_array().unwrap().len(), 1);
        assert!(record["constraint"][split][0].as_f64().unwrap() < 0.2);
        assert!(record["baseline"]["objective"][split].is_number());
    }
    assert_eq!(record["certificate"]["condition"], "fpr<=10%");
    assert_eq!(record["certificate"]["confidence"], 0.95);
    assert_eq!(record["certificate"]["threshold"], record["thresholds"][0]);
    for key in ["load", "train", "total"] {
        assert!(record["seconds"][key].as_f64().unwrap() >= 0.0);
    }
    assert_eq!(record["artifact"], "m.safetensors");
    // The report for people is on stderr.
    assert!(run.stderr.contains("certified at 95% confidence"), "{}", run.stderr);
    let quiet = setpoint(home.path(), &[&arguments[..], &["--split", SPLIT, "--quiet"]].concat()).ok();
    assert_eq!(quiet.stderr, "");
    assert!(quiet.json()["certificate"].is_object());
}

const SPLIT: &str = "train=0.5,validation=0.2,calibration=0.15,test=0.15";

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_with_any_number_of_threads() {
    let home = directory();
    write(home.path(), "shop.csv", &shop(3000, 2));
    let train = |output: &str, more: &[&str]| {
        let arguments = ["train", "shop.csv", "--label", "bought", "--goal", GOAL, "-q", "-o", output];
        setpoint(home.path(), &[&arguments[..], more].concat()).ok();
        read(home.path(), output)
    };
    let one = train("one", &["--threads", "1"]);
    assert_eq!(one, train("two", &["--threads", "2"]));
    assert_ne!(one, train("other", &["--seed", "1"]));
    let batches = ["--method", "ico", "--optimizer", "adam", "--batch-size", "128", "--steps", "40"];
    let batch =
        |output: &str, threads: &str| train(output, &[&batches[..], &["--threads", threads]].concat());
    assert_eq!(batch("three", "1"), batch("four", "2"));
}

#[test]
fn a_run_file_says_what_flags_say_and_flags_win() {
    let home = directory();
    write(home.path(), "shop.csv", &shop(1500, 3));
    write(
        home.path(),
        "run.toml",
        "data = \"shop.csv\"\nlabel = \"bought\"\ngoal = \"f1\"\nseed = 4\nquiet = true\noutput = \"m\"\n\
         drop = [\"sex\", \"town\"]\nmethod = \"cross-entropy\"\npositive-weight = 3\nconfidence = 0.9\n",
    );
    let from_file = setpoint(home.path(), &["train", "run.toml", "--json"]).ok().json();
    assert_eq!((&from_file["goal"], &from_file["seed"]), (&"f1".into(), &4.into()));
    assert_eq!(from_file["columns"], 3, "age, its indicator, and income");
    let flags = [
        "train",
        "shop.csv",
        "--label",
        "bought",
        "--goal",
        "f1",
        "--seed",
        "4",
        "--drop",
        "sex,town",
        "--method",
        "cross-entropy",
        "--positive-weight",
        "3",
        "--confidence",
        "90%",
        "-q",
        "-o",
        "n",
    ];
    setpoint(home.path(), &flags).ok();
    let settings = |name: &str| String::from_utf8_lossy(&read(home.path(), name)).len();
    assert_eq!(settings("m"), settings("n"));
    let won =
        setpoint(home.path(), &["train", "run.toml", "--json", "--seed", "9", "--goal", GOAL]).ok().json();
    assert_eq!((&won["goal"], &won["seed"]), (&GOAL.into(), &9.into()));
    write(home.path(), "bad.toml", "data = \"shop.csv\"\nlable = \"bought\"\n");
    let bad = setpoint(home.path(), &["train", "bad.toml"]);
    assert_eq!((bad.code, bad.stdout.as_str()), (Some(2), ""));
    assert_eq!(bad.stderr, "error: bad.toml: unknown key \"lable\"; did you mean \"label\"?\n");
}

#[test]
fn every_kind_of_goal_trains_and_ships_a_threshold() {
    let home = directory();
    write(home.path(), "shop.csv", &shop(3000, 5));
    for (goal, certified) in [
        ("pr-auc @ recall in 0.8..1", true),
        ("roc-auc @ fpr in 0..10%", true),
        ("roc-auc", false),
        ("pr-auc", false),
        ("fnr @ fpr=5%", true),
        ("precision @ k=100", false),
        ("precision @ top=5%", false),
        ("recall @ precision>=0.5", true),
        ("f1", false),
        ("error @ positive-rate<=10%", true),
        ("recall @ fpr(sex)<=10%", true),
        ("accuracy @ gap(positive-rate, sex)<=0.05", false),
    ] {
        let arguments = ["train", "shop.csv", "--label", "bought", "--goal", goal, "--json", "-q", "-o", "m"];
        let record = setpoint(home.path(), &arguments).ok().json();
        assert_eq!(record["certificate"].is_object(), certified, "{goal}: {}", record["certificate_refused"]);
        assert_eq!(record["certificate_refused"].is_string(), !certified, "{goal}");
        let thresholds = record["thresholds"].as_array().unwrap().len();
        assert_eq!(thresholds, if goal.contains("sex") { 2 } else { 1 }, "{goal}");
        assert!(record["objective"]["validation"].is_number(), "{goal}");
    }
}

#[test]
fn the_knobs_of_the_paper_all_work() {
    let home = directory();
    write(home.path(), "shop.csv", &shop(1500, 6));
    let knobs: [&[&str]; 7] = [
        &["--optimizer", "adagrad", "--thresholds", "track", "--correct-every", "5"],
        &["--optimizer", "sgd", "--learning-rate", "0.1", "--thresholds", "exact", "--patience", "10"],
        &["--optimizer", "adam", "--batch-size", "200", "--pool", "3", "--mix", "0.5"],
        &["--optimizer", "adam", "--batch-size", "200", "--thresholds", "track", "--correct-batches", "2"],
        &["--surrogate", "softplus", "--sharpness", "2", "--regulariser", "0.01"],
        &["--bandwidth", "0.5tail", "--ridge", "0.001", "--inequality", "slack"],
        &["--positive-weight", "10", "--bandwidth", "0.2sd", "--no-certificate"],
    ];
    for knobs in knobs {
        let arguments = [
            "train", "shop.csv", "--label", "bought", "--goal", GOAL, "--json", "-q", "-o", "m", "--method",
            "ico", "--steps", "20",
        ];
        let record = setpoint(home.path(), &[&arguments[..], knobs].concat()).ok().json();
        let value = record["objective"]["validation"].as_f64().unwrap();
        assert!(value > 0.2, "{knobs:?}: {value}");
    }
}

#[test]
fn weights_entities_times_and_small_groups_are_taken_in() {
    let home = directory();
    let mut text = String::new();
    for (row, line) in shop(2000, 7).lines().enumerate() {
        let more = if row == 0 {
            "weight,who,when,site".to_owned()
        } else {
            let site = if row % 25 == 0 { "tiny" } else { ["north", "south"][row % 2] };
            format!("{},p{},2024-01-{:02},{site}", 1 + row % 3, row / 3, 1 + row * 27 / 2000)
        };
        text += &format!("{line},{more}\n");
    }
    write(home.path(), "shop.csv", &text);
    let train = |more: &[&str]| {
        let base = ["train", "shop.csv", "--label", "bought", "--json", "-q", "-o", "m"];
        setpoint(home.path(), &[&base[..], more].concat()).ok().json()
    };
    let weighted = train(&["--goal", GOAL, "--weight", "weight", "--drop", "who,when,site"]);
    assert!(weighted["certificate_refused"].as_str().unwrap().starts_with("weights differ"), "{weighted}");
    let evaluated = setpoint(home.path(), &["evaluate", "m", "shop.csv", "--json", "-q"]).ok().json();
    assert_eq!(evaluated["at_threshold"][0]["interval"]["method"], "stratified bootstrap");
    train(&["--goal", GOAL, "--split-by", "who", "--drop", "weight,when,site"]);
    train(&["--goal", GOAL, "--split-time", "when", "--drop", "weight,who,site"]);
    let goal = "recall @ fpr(site)<=20%";
    let pooled =
        train(&["--goal", goal, "--min-group", "100", "--drop", "weight,who,when", "--no-certificate"]);
    assert_eq!(pooled["groups"]["names"], serde_json::json!(["north", "south", "(other)"]));
    let evaluated = setpoint(home.path(), &["evaluate", "m", "shop.csv", "--json", "-q"]).ok().json();
    assert_eq!(evaluated["groups"].as_array().unwrap().len(), 3);
}

#[test]
fn the_demo_prints_its_table() {
    let home = directory();
    let run = setpoint(home.path(), &["demo", "--quiet"]).ok();
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert!(lines[0].starts_with("UCI Letter Recognition: the letter U against the rest"), "{}", run.stdout);
    let trees = setpoint_trees::Library::get().ok().map(|_| "Setpoint, boosted trees  ");
    for name in ["cross-entropy  ", "cross-entropy, weighted  ", "Setpoint  "].into_iter().chain(trees) {
        let line = lines.iter().find(|line| line.starts_with(name)).expect(name);
        assert_eq!(line.matches('±').count(), 3, "{line}");
    }
    assert_eq!(run.stderr, "");
}
