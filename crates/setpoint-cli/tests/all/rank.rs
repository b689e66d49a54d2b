//! Rows that come in queries, from the table to the report.

use std::path::Path;

use serde_json::Value;

use crate::data::Random;
use crate::{Run, directory, read, setpoint, write};

/// Results of queries, graded 0 to 2 by what two columns of five say, in an order of rows that mixes the queries.
fn rows(queries: usize, seed: u64) -> Vec<(usize, u8, [f64; 5])> {
    let mut random = Random::new(seed);
    let mut rows = Vec::new();
    for document in 0..12 {
        for query in 0..queries {
            let x: [f64; 5] = std::array::from_fn(|_| random.normal());
            let relevance = x[0] - 0.7 * x[1] + 0.8 * random.normal() + 0.2 * (document % 3) as f64;
            let grade = if relevance > 1.8 { 2 } else { u8::from(relevance > 0.9) };
            rows.push((query, grade, x));
        }
    }
    rows
}

fn csv(queries: usize, seed: u64) -> String {
    let line = |(query, grade, x): &(usize, u8, [f64; 5])| {
        let x: Vec<String> = x.iter().map(|x| format!("{x:.4}")).collect();
        format!("s{query},{},{grade}\n", x.join(","))
    };
    "session,a,b,c,d,e,grade\n".to_owned() + &rows(queries, seed).iter().map(line).collect::<String>()
}

fn svmlight(queries: usize, seed: u64, with_qid: bool) -> String {
    let mut rows = rows(queries, seed);
    rows.sort_by_key(|(query, ..)| *query);
    let line = |(query, grade, x): &(usize, u8, [f64; 5])| {
        let x: Vec<String> = x.iter().enumerate().map(|(at, x)| format!("{}:{x:.4}", at + 1)).collect();
        let qid = if with_qid { format!("qid:{query} ") } else { String::new() };
        format!("{grade} {qid}{} # document\n", x.join(" "))
    };
    rows.iter().map(line).collect()
}

const GOAL: &str = "ndcg @ k=5 per query";

fn train(home: &Path, data: &str, more: &[&str]) -> Run {
    setpoint(home, &[&["train", data, "--goal", GOAL, "-o", "m.safetensors"][..], more].concat())
}

fn of_table(home: &Path, more: &[&str]) -> Run {
    train(home, "search.csv", &[&["--label", "grade", "--query", "session"][..], more].concat())
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value}"))
}

#[test]
fn a_model_is_trained_for_its_queries_measured_and_put_to_use() {
    let home = directory();
    write(home.path(), "search.csv", &csv(120, 1));
    write(home.path(), "new.csv", &csv(60, 2));
    let record = of_table(home.path(), &["--json", "--threads", "1"]).ok().json();
    let bytes = read(home.path(), "m.safetensors");
    of_table(home.path(), &["-q", "--threads", "2"]).ok();
    assert_eq!(bytes, read(home.path(), "m.safetensors"), "one thread and two");
    assert_eq!(record["goal"], GOAL);
    assert_eq!(record["columns"], 5, "the query is no feature");
    let counts =
        ["train", "validation", "calibration"].map(|part| number(&record["queries"][part]["queries"]));
    assert_eq!(counts.iter().sum::<f64>(), 120.0, "queries stay whole");
    let bound = &record["bound"];
    assert!(number(&bound["lower"]) > 0.3 && number(&bound["lower"]) < number(&bound["mean"]), "{bound}");
    assert!(number(&record["objective"]["calibration"]) > 0.6, "{}", record["objective"]);

    let found =
        setpoint(home.path(), &["evaluate", "m.safetensors", "new.csv", "--json", "--check"]).ok().json();
    assert_eq!(found["queries"]["queries"], 60);
    let names: Vec<&str> = found["queries"]["metrics"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["ndcg @ k=5", "precision @ k=5", "recall @ k=5", "map"]);
    let (value, interval) = (number(&found["at_condition"]["value"]), &found["at_condition"]["interval"]);
    assert!(number(&interval["lower"]) < value && value < number(&interval["upper"]), "{found}");
    assert_eq!(found["drift"][0]["verdict"], "holds");
    let [worst, best] = ["worst", "best"].map(|which| found["queries"][which].as_array().unwrap().clone());
    assert!(number(&worst[0]["value"]) <= number(&best[0]["value"]) && best[0]["results"][0]["place"] == 1);

    // Places are the order of the scores within each query, and the decisions the first five.
    let text = setpoint(home.path(), &["predict", "m.safetensors", "new.csv"]).ok().stdout;
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("session,score,place,decision"));
    let mut by_query = std::collections::BTreeMap::<String, Vec<(f64, usize, u8)>>::new();
    for line in lines {
        let fields: Vec<&str> = line.split(',').collect();
        let row = (fields[1].parse().unwrap(), fields[2].parse().unwrap(), fields[3].parse().unwrap());
        by_query.entry(fields[0].to_owned()).or_default().push(row);
    }
    assert_eq!(by_query.len(), 60);
    for mut rows in by_query.into_values() {
        rows.sort_by_key(|(_, place, _)| *place);
        assert!(
            rows.iter()
                .enumerate()
                .all(|(at, (_, place, first))| *place == at + 1 && *first == u8::from(*place <= 5))
        );
        assert!(rows.windows(2).all(|pair| pair[0].0 >= pair[1].0));
    }
}

#[test]
fn what_a_run_says_is_about_queries() {
    let home = directory();
    write(home.path(), "search.csv", &csv(80, 3));
    let run = of_table(home.path(), &["--report", "page.html", "--at-least", "0.99"]).ok();
    for said in ["queries   ", "precision @ k=5", "order     by score, within each session", "not certified"]
    {
        assert!(run.stdout.contains(said), "{said}: {}", run.stdout);
    }
    assert!(run.stderr.contains("nothing is certified about new queries: "), "{}", run.stderr);
    assert!(!run.stdout.contains("threshold") && !run.stderr.contains("threshold"), "{run:?}");
    let page = String::from_utf8(read(home.path(), "page.html")).unwrap();
    for said in ["by the number of results", "Queries by value", "The worst queries", "Results of s"] {
        assert!(page.contains(said), "{said}");
    }
    let text = setpoint(home.path(), &["evaluate", "m.safetensors", "search.csv"]).ok().stdout;
    assert!(text.contains("rows      960 in 80 queries"), "{text}");
    assert!(text.contains("bootstrap of queries") && text.contains("worst"), "{text}");
}

#[test]
fn queries_come_as_qid_or_as_sizes_beside() {
    let home = directory();
    write(home.path(), "with.txt", &svmlight(60, 4, true));
    write(home.path(), "rank.train", &svmlight(60, 4, false));
    let sizes = "12\n".repeat(60);
    write(home.path(), "rank.train.query", &sizes);
    train(home.path(), "with.txt", &["-q", "--test", "with.txt"]).ok();
    let text = setpoint(home.path(), &["predict", "m.safetensors", "with.txt"]).ok().stdout;
    assert!(text.starts_with("qid,score,place,decision\n0,"), "{}", &text[..60]);
    let with = setpoint(home.path(), &["evaluate", "m.safetensors", "with.txt", "--json"]).ok().json();
    let sized = ["--query-sizes", "rank.train.query"];
    let record =
        train(home.path(), "rank.train", &[&sized[..], &["--json", "--test", "rank.train"]].concat());
    assert_eq!(record.ok().json()["queries"]["test"]["queries"], 60);
    let other =
        setpoint(home.path(), &[&["evaluate", "m.safetensors", "rank.train", "--json"][..], &sized].concat());
    assert_eq!(with["at_condition"]["value"], other.ok().json()["at_condition"]["value"]);
    let lacking = setpoint(home.path(), &["evaluate", "m.safetensors", "rank.train"]);
    assert_eq!(lacking.code, Some(2));
    assert!(lacking.stderr.contains("--query-sizes"), "{}", lacking.stderr);
}

#[test]
fn what_a_query_without_anything_relevant_counts_is_the_users_choice() {
    let home = directory();
    let text = csv(40, 5);
    let empty: String = (0..4).map(|row| format!("empty,{row},0,0,0,0,0\n")).collect();
    write(home.path(), "search.csv", &text);
    write(home.path(), "new.csv", &(text + &empty));
    of_table(home.path(), &["-q"]).ok();
    let value = |counts: &str| {
        let run = setpoint(
            home.path(),
            &["evaluate", "m.safetensors", "new.csv", "--json", "--empty-queries", counts],
        );
        let record = run.ok().json();
        assert_eq!(record["queries"]["empty"], 1);
        number(&record["at_condition"]["value"])
    };
    let [skip, zero, one] = ["skip", "0", "1"].map(value);
    assert!((zero - skip * 40.0 / 41.0).abs() < 1e-12 && (one - (skip * 40.0 + 1.0) / 41.0).abs() < 1e-12);
}

#[test]
fn a_bound_is_had_for_scores_of_any_model_and_refused_with_the_queries_it_takes() {
    let home = directory();
    write(home.path(), "scores.csv", &csv(100, 6));
    let certify = |more: &[&str]| {
        let fixed = [
            "certify",
            "scores.csv",
            "--label",
            "grade",
            "--score",
            "a",
            "--query",
            "session",
            "--goal",
            GOAL,
        ];
        setpoint(home.path(), &[&fixed[..], more].concat())
    };
    let record = certify(&["--json"]).ok().json();
    // A query or two of a hundred have nothing relevant.
    assert!((95.0..=100.0).contains(&number(&record["draws"])), "{record}");
    let (lower, mean) = (number(&record["lower"]), number(&record["mean"]));
    assert!(0.5 < lower && lower < mean, "{record}");
    let refused = certify(&["--at-least", &format!("{:.3}", mean - 0.01)]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("needed") && refused.stderr.contains("queries"), "{}", refused.stderr);
}

#[test]
fn what_makes_no_sense_of_queries_is_refused() {
    let home = directory();
    write(home.path(), "search.csv", &csv(40, 7));
    for (more, said) in [
        (&["--label", "grade"][..], "name their column with --query"),
        (&["--label", "grade", "--query", "sesion"], "did you mean \"session\"?"),
        (&["--label", "a", "--query", "session"], "grades are numbers from 0 on"),
        (&["--label", "grade", "--query", "session", "--split-by", "session"], "queries stay whole"),
        (&["--label", "grade", "--query", "session", "--weight", "a"], "every query counts the same"),
        (&["--label", "grade", "--query", "session", "--goal", "fpr<=1% per query"], "per query"),
        (
            &["--label", "grade", "--query", "session", "--positive", "1", "--goal", "recall @ fpr<=1%"],
            "has no effect",
        ),
    ] {
        let run = train(home.path(), "search.csv", more);
        assert_eq!(run.code, Some(2), "{more:?}: {run:?}");
        assert!(run.stderr.contains(said), "{more:?}: {}", run.stderr);
    }
    of_table(home.path(), &["-q"]).ok();
    for (arguments, said) in [
        (
            &["monitor", "m.safetensors", "search.csv", "--state", "s.json"][..],
            "puts the rows of each query in order",
        ),
        (
            &["sample", "m.safetensors", "search.csv", "--labels", "10", "-o", "l.csv"],
            "puts the rows of each query in order",
        ),
    ] {
        let run = setpoint(home.path(), arguments);
        assert_eq!(run.code, Some(2), "{run:?}");
        assert!(run.stderr.contains(said), "{}", run.stderr);
    }
    let again = ["recertify", "m.safetensors", "search.csv", "-o", "n.safetensors"];
    assert!(setpoint(home.path(), &again).ok().stdout.contains("before: certified"));
    setpoint(home.path(), &["export", "m.safetensors", "-o", "m.onnx"]).ok();
}
