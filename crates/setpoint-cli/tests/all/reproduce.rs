//! `setpoint reproduce`, on real data where they are at hand.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::browser::{chromium, open};
use crate::{Run, directory, read, setpoint};

/// The directory with the data, or a line that says what is skipped.
fn data(test: &str) -> Option<PathBuf> {
    let found = std::env::var_os("SETPOINT_DATA").map(PathBuf::from);
    if found.is_none() {
        eprintln!("skipped: {test}: SETPOINT_DATA is not set");
    }
    found
}

fn reproduce(home: &Path, data: &Path, more: &[&str]) -> Run {
    let data = data.to_str().expect("a UTF-8 path");
    setpoint(home, &[&["reproduce", "uci", "--data", data], more].concat())
}

#[test]
fn the_table_of_one_set_and_what_is_known_of_it_afterwards() {
    let Some(data) = data("reproduce uci on crime") else { return };
    let home = directory();
    let flags =
        ["--sets", "crime", "--trials", "1", "--methods", "cross-entropy,pairwise,ico", "--output", "out"];
    let run = reproduce(home.path(), &data, &[&flags[..], &["--json", "-q"]].concat()).ok();
    let record = run.json();
    let cells = record["cells"].as_array().unwrap();
    let value = |method: &str| &cells.iter().find(|cell| cell["method"] == method).unwrap()["test"];
    for method in ["cross-entropy", "ico"] {
        // Chance is the share of positives, 0.29.
        let value = value(method).as_f64().unwrap();
        assert!((0.3..0.7).contains(&value), "{method}: {value}");
    }
    assert!(value("pairwise").is_null());
    assert!(!record["command"].as_str().unwrap().contains("--data"), "{record}");
    let written: Value = serde_json::from_slice(&read(home.path(), "out/uci.json")).unwrap();
    assert_eq!(written, record);

    let again = reproduce(home.path(), &data, &[&flags[..], &["--threads", "1"]].concat()).ok();
    assert!(again.stderr.contains("3 of 3 cells are known from an earlier run"), "{}", again.stderr);
    assert!(again.stdout.contains("Beside the paper's figures"), "{}", again.stdout);
    let written: Value = serde_json::from_slice(&read(home.path(), "out/uci.json")).unwrap();
    assert_eq!(written["cells"], record["cells"]);

    let page = String::from_utf8(read(home.path(), "out/uci.html")).unwrap();
    assert!(page.contains("Beside the paper's figures</h2>"), "{page}");
    let Some(chromium) = chromium() else { return };
    let page = open(&chromium, &home.path().join("out"), "uci.html");
    assert!(page.dom.contains("Copy the table: "), "the script did not run");
    assert_eq!(page.console, [""; 0]);
    assert_eq!(page.requests, [""; 0]);
}

#[test]
fn trees_stand_beside_lightgbm_and_what_other_tools_came_to() {
    let Some(data) = data("reproduce trees on spambase") else { return };
    if setpoint_trees::Library::get().is_err() {
        eprintln!("skipped: LightGBM is not installed (pip install lightgbm)");
        return;
    }
    let home = directory();
    let goal = "recall @ fpr<=1%";
    let line = format!(
        r#"{{"peer":"Other","version":"1","task":"spambase","seed":0,"goal":"{goal}","single":0.5,"average":0.6}}"#
    );
    std::fs::write(home.path().join("peers.jsonl"), line).unwrap();
    let data = data.to_str().unwrap();
    let flags = ["reproduce", "trees", "--data", data, "--sets", "spambase", "--trials", "1"];
    let few = ["--search", "2", "--rounds", "40", "--output", "out", "--peers", "peers.jsonl"];
    let run = setpoint(home.path(), &[&flags[..], &few, &["--json", "-q"]].concat()).ok();
    let record = run.json();
    let outcomes = record["trials"][0]["outcomes"].as_array().unwrap();
    assert_eq!((record["trials"].as_array().unwrap().len(), outcomes.len()), (1, 4));
    for tool in ["setpoint", "lightgbm", "lightgbm_average"] {
        let value = outcomes[0][tool].as_f64().unwrap();
        assert!((0.6..1.0).contains(&value), "{tool}: {value}");
    }
    let page = String::from_utf8(read(home.path(), "out/trees.md")).unwrap();
    assert!(page.contains("| Other, 3 | Setpoint |") && page.contains("60.00 ± 0.00"), "{page}");
    let again = setpoint(home.path(), &[&flags[..], &few].concat()).ok();
    assert!(again.stderr.contains("1 of 1 cells are known"), "{}", again.stderr);
    std::fs::write(home.path().join("peers.jsonl"), "no JSON").unwrap();
    let refused = setpoint(home.path(), &[&flags[..], &few].concat());
    assert!(refused.code == Some(2) && refused.stderr.contains("line 1"), "{}", refused.stderr);
}

#[test]
fn splits_for_other_tools_hold_all_rows() {
    let Some(data) = data("reproduce uci --export") else { return };
    let home = directory();
    reproduce(home.path(), &data, &["--sets", "spambase", "--seeds", "3", "--export", "splits", "-q"]).ok();
    let file = read(home.path(), "splits/spambase-3.safetensors");
    let (size, rest) = file.split_at(8);
    let size = u64::from_le_bytes(size.try_into().unwrap()) as usize;
    let header: Value = serde_json::from_slice(&rest[..size]).unwrap();
    let rows = |part: &str| header[format!("{part}.x")]["shape"][0].as_u64().unwrap();
    assert_eq!(rows("train") + rows("validation") + rows("test"), 4601);
    assert_eq!(header["train.x"]["shape"][1], 57);
    let labels = header["test.y"]["data_offsets"].as_array().unwrap();
    let [from, to] = [0, 1].map(|end| size + labels[end].as_u64().unwrap() as usize);
    let ones = rest[from..to].chunks(4).filter(|bytes| bytes == &1.0f32.to_le_bytes()).count();
    // 1,813 of 4,601 are positive, and every part has its share.
    assert!(ones.abs_diff(453) <= 1, "{ones} of {}", rows("test"));
}

#[test]
fn mistakes_are_refused_by_name() {
    let home = directory();
    for (flags, message) in [
        (&["--sets", "mnist"][..], "unknown data set \"mnist\"; expected some of letter, ijcnn1"),
        (&["--methods", "svm"], "unknown method \"svm\"; expected some of cross-entropy, weighted"),
        (&["--goals", "f1"], "unknown table \"f1\"; expected some of pr-auc, fnr, roc-auc, range, or all"),
        (&["--seeds", "4-0"], "not a range"),
        (&["--sets", "spambase"], "spambase.data"),
    ] {
        let run = reproduce(home.path(), home.path(), flags);
        assert_eq!(run.code, Some(2), "{flags:?}");
        assert!(run.stderr.contains(message), "{}", run.stderr);
    }
    for (flags, message) in [
        (&["images"][..], "has none of the image sets; expected utkface32.bin.gz"),
        (&["images", "--sets", "mnist"], "unknown data set \"mnist\"; expected some of utkface-age60"),
        (&["images", "--goals", "f1"], "unknown table \"f1\"; expected some of fnr, roc-auc, or all"),
        (&["images", "--sets", "utkface"], "utkface32.bin.gz"),
        (&["images", "--cnn", "paper"], "expected --budget full, or --cnn small"),
        (&["networks", "--sets", "adult"], "a9a"),
        (&["trees", "--sets", "mnist"], "unknown data set \"mnist\"; expected some of letter, ijcnn1, adult"),
        (&["trees", "--sets", "kdd-r2l"], "kddcup.data_10_percent.gz"),
        (&["trees", "--peers", "nowhere.jsonl"], "nowhere.jsonl"),
        (&["networks", "--methods", "svm"], "unknown method \"svm\"; expected some of cross-entropy"),
    ] {
        let run = setpoint(home.path(), &[&["reproduce"], flags, &["--data", "."]].concat());
        assert_eq!(run.code, Some(2), "{flags:?}");
        assert!(run.stderr.contains(message), "{}", run.stderr);
    }
}
