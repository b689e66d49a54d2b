//! Several labels of a table: a model for each, one file, one certificate for all.

use std::path::Path;

use serde_json::Value;

use crate::data::Random;
use crate::{Run, directory, read, setpoint, write};

/// Two labels of two values, the second missing now and then and with a comma in its name, and one of three classes.
fn table(rows: usize, seed: u64) -> String {
    let mut random = Random::new(seed);
    let mut text = "a,b,fraud,\"paid, late\",grade\n".to_owned();
    for _ in 0..rows {
        let (a, b) = (random.normal(), random.normal());
        let fraud = u8::from(1.5 * a + random.normal() > 1.8);
        let late = match random.next() < 0.05 {
            true => "",
            false => ["no", "yes"][usize::from(1.2 * b + 0.4 * a + random.normal() > 1.2)],
        };
        let grade = ["low", "middle", "high"][((a + b + 0.5 * random.normal() + 1.5) as usize).min(2)];
        text += &format!("{a:.4},{b:.4},{fraud},{late},{grade}\n");
    }
    text
}

fn train(home: &Path, more: &[&str]) -> Run {
    let fixed = ["train", "t.csv", "-o", "m.safetensors"];
    setpoint(home, &[&fixed[..], more].concat())
}

const LABELS: [&str; 2] = ["--label", "fraud,\"paid, late\",grade"];
const GOALS: [&str; 4] = ["--goal", "recall @ fpr<=10%", "--goal", "grade: accuracy @ recall(high)>=0.6"];

#[test]
fn labels_are_trained_apart_certified_together_and_kept_in_one_file() {
    let home = directory();
    write(home.path(), "t.csv", &table(5000, 1));
    let both = [&LABELS[..], &GOALS].concat();
    let record = train(home.path(), &[&both[..], &["--json", "--report", "r.html"]].concat()).ok().json();
    let runs = record["runs"].as_array().unwrap();
    let column = |run: &Value| run["label"]["column"].as_str().unwrap().to_owned();
    assert_eq!(runs.iter().map(column).collect::<Vec<_>>(), ["fraud", "paid, late", "grade"]);
    assert_eq!(runs[2]["goal"], "accuracy @ recall(high)>=0.6");
    for (run, label) in runs.iter().zip(["fraud", "paid, late", "grade"]) {
        // No label tells of another: the two features are all there is.
        assert_eq!((&run["columns"], &run["artifact"]), (&2.into(), &"m.safetensors".into()), "{run}");
        // 5% in three shares.
        let confidence = run["certificate"]["confidence"].as_f64().unwrap();
        assert!((confidence - (1.0 - 0.05 / 3.0)).abs() < 1e-12);
        assert!(home.path().join(format!("r.{label}.html")).exists());
    }
    let together = &record["together"];
    assert!((together["confidence"].as_f64().unwrap() - 0.95).abs() < 1e-12, "{together}");
    assert_eq!(together["text"], "the conditions of all 3 labels hold at 95% confidence");
    let rows: Vec<u64> = runs.iter().map(|run| run["rows"]["train"].as_u64().unwrap()).collect();
    assert!(
        rows[1] < rows[0] && rows[0] == rows[2],
        "rows without a label are left out for that label: {rows:?}"
    );

    let bytes = read(home.path(), "m.safetensors");
    let text = train(home.path(), &[&both[..], &["--threads", "1"]].concat()).ok();
    assert_eq!(bytes, read(home.path(), "m.safetensors"), "for any number of threads");
    assert!(text.stdout.contains("\ntogether  the conditions of all 3 labels hold"), "{}", text.stdout);

    write(home.path(), "new.csv", &table(4000, 2));
    let measured = setpoint(home.path(), &["evaluate", "m.safetensors", "new.csv", "--json", "--check"]).ok();
    let measured = measured.json();
    assert_eq!(measured["runs"].as_array().unwrap().len(), 3);
    assert_eq!(measured["runs"][1]["check"]["passed"], true);
    assert_eq!(measured["together"]["labels"].as_array().unwrap().len(), 3);
    let some = ["evaluate", "m.safetensors", "new.csv", "--label", "fraud,grade", "--report", "e.html"];
    let some = setpoint(home.path(), &some).ok().stdout;
    assert!(some.contains("label     fraud") && !some.contains("paid, late"), "{some}");
    assert!(home.path().join("e.grade.html").exists() && !home.path().join("e.paid, late.html").exists());

    // Nothing is told of the labels when rows are decided.
    let features: String = table(4000, 2)
        .lines()
        .map(|line| line.split(',').take(2).collect::<Vec<_>>().join(",") + "\n")
        .collect();
    write(home.path(), "features.csv", &features);
    let decided = setpoint(home.path(), &["predict", "m.safetensors", "features.csv", "--keep", "a"]).ok();
    let heading = "a,score(fraud),probability(fraud),decision(fraud),\"score(paid, late)\",\"probability(paid, late)\",\
                   \"decision(paid, late)\",score(grade: high),score(grade: low),score(grade: middle),\
                   probability(grade: high),probability(grade: low),probability(grade: middle),decision(grade)";
    assert_eq!(decided.stdout.lines().next(), Some(heading));
    assert_eq!(decided.stdout.lines().count(), 4001);
    assert!(decided.stderr.contains("grade: 4000 rows:"), "{}", decided.stderr);
    setpoint(home.path(), &["predict", "m.safetensors", "features.csv", "-o", "d.parquet"]).ok();

    // A label's model is the one that is trained alone at its confidence, without the other labels.
    let alone =
        ["train", "t.csv", "-o", "alone.safetensors", "--label", "fraud", "--drop", "\"paid, late\",grade"];
    let confidence = ["--goal", "recall @ fpr<=10%", "--confidence", "0.98333333333333328"];
    setpoint(home.path(), &[&alone[..], &confidence].concat()).ok();
    let lines = |model: &str, place: usize| -> Vec<String> {
        let decided = setpoint(home.path(), &["predict", model, "features.csv"]).ok().stdout;
        decided.lines().skip(1).map(|line| line.split(',').nth(place).unwrap().to_owned()).collect()
    };
    assert_eq!(lines("m.safetensors", 0), lines("alone.safetensors", 0));
    assert_eq!(lines("m.safetensors", 2), lines("alone.safetensors", 2));
}

#[test]
fn what_is_for_one_model_asks_for_a_label() {
    let home = directory();
    write(home.path(), "t.csv", &table(4000, 3));
    train(home.path(), &["--label", "fraud,\"paid, late\"", "--goal", "recall @ fpr<=10%", "-q"]).ok();
    for command in [
        &["export", "m.safetensors", "-o", "m.onnx"][..],
        &["monitor", "m.safetensors", "t.csv", "--state", "w"],
        &["recertify", "m.safetensors", "t.csv", "-o", "n.safetensors"],
        &["sample", "m.safetensors", "t.csv", "--labels", "50", "-o", "s.csv"],
    ] {
        let run = setpoint(home.path(), command);
        assert_eq!(run.code, Some(2), "{command:?}");
        let said = "m.safetensors: it holds a model for each of the labels \"fraud\", \"paid, late\"; name one of them (--label)";
        assert!(run.stderr.contains(said), "{}", run.stderr);
        let other = setpoint(home.path(), &[command, &["--label", "late"]].concat());
        assert!(other.stderr.contains("no label \"late\""), "{}", other.stderr);
        setpoint(home.path(), &[command, &["--label", "paid, late"]].concat()).ok();
    }
}

#[test]
fn goals_and_labels_that_do_not_go_together_are_refused() {
    let home = directory();
    write(home.path(), "t.csv", &table(300, 4));
    for (arguments, said) in [
        (&["--label", "fraud,grade"][..], "no goal"),
        (&["--label", "fraud,fraud", "--goal", "f1"], "\"fraud\" is named twice"),
        (&["--label", "fraud,grade", "--goal", "fraud: f1"], "label \"grade\" has no goal"),
        (&["--label", "fraud,grade", "--goal", "late: f1"], "no label \"late\"; the labels are fraud, grade"),
        (&["--label", "fraud,gade", "--goal", "f1"], "no column \"gade\" (--drop); did you mean \"grade\"?"),
        (
            &["--label", "fraud,grade", "--goal", "accuracy", "--classes", "low,high"],
            "--classes: names classes of one",
        ),
        (&["--label", "fraud,grade", "--goal", "recall @ fpr<=1%"], "label \"grade\": "),
    ] {
        let run = train(home.path(), arguments);
        assert_eq!(run.code, Some(2), "{arguments:?}: {}", run.stderr);
        assert!(run.stderr.contains(said), "{arguments:?}: {}", run.stderr);
        assert!(!home.path().join("m.safetensors").exists());
    }
}

#[test]
fn run_files_name_labels_and_goals_and_what_is_typed_wins() {
    let home = directory();
    write(home.path(), "t.csv", &table(3000, 5));
    let file = "data = \"t.csv\"\nlabel = [\"fraud\", \"paid, late\"]\noutput = \"m.safetensors\"\nno-certificate = true\n\
                goal = [\"fraud: recall @ fpr<=5%\", \"paid, late: f1\"]\n";
    write(home.path(), "run.toml", file);
    let goals = |more: &[&str]| {
        let record = setpoint(home.path(), &[&["train", "run.toml", "--json"], more].concat()).ok().json();
        let goals =
            record["runs"].as_array().unwrap().iter().map(|run| run["goal"].as_str().unwrap().to_owned());
        (goals.collect::<Vec<_>>(), record["together"].clone())
    };
    assert_eq!(goals(&[]), (vec!["recall @ fpr<=5%".to_owned(), "f1".to_owned()], Value::Null));
    assert_eq!(goals(&["--goal", "f1"]).0, ["f1", "f1"]);
}
