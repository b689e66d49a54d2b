//! No output is an input, or another output: refused before anything is read.

use std::path::Path;

use crate::data::shop;
use crate::{directory, read, setpoint, write};

/// A directory with data and a model.
fn home() -> tempfile::TempDir {
    let home = directory();
    write(home.path(), "shop.csv", &shop(1000, 33));
    setpoint(home.path(), &TRAIN).ok();
    home
}

const TRAIN: [&str; 9] =
    ["train", "shop.csv", "--label", "bought", "--goal", "recall @ fpr<=10%", "-q", "-o", "m"];

/// Exit 2 with this message, and no file is touched.
#[track_caller]
fn refused(home: &Path, arguments: &[&str], message: &str) {
    let files = || {
        let entries = std::fs::read_dir(home).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<_> = entries.map(|name| name.into_string().unwrap()).collect();
        names.sort();
        names.into_iter().map(|name| (std::fs::read(home.join(&name)).ok(), name)).collect::<Vec<_>>()
    };
    let before = files();
    let run = setpoint(home, arguments);
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{run:?}");
    assert!(run.stderr.contains(message), "{}", run.stderr);
    assert!(before == files(), "{arguments:?} changed something");
}

#[test]
fn what_is_read_is_never_written() {
    let home = home();
    let lost = "the same file as the data, shop.csv, which would be lost; write elsewhere";
    for name in ["hard.csv", "hard.html"] {
        std::fs::hard_link(home.path().join("shop.csv"), home.path().join(name)).unwrap();
    }
    #[cfg(unix)]
    std::os::unix::fs::symlink("shop.csv", home.path().join("soft.csv")).unwrap();
    let names =
        if cfg!(unix) { &["shop.csv", "./shop.csv", "soft.csv", "hard.csv"][..] } else { &["shop.csv"] };
    for name in names {
        refused(home.path(), &["predict", "m", "shop.csv", "-o", name], lost);
        refused(home.path(), &[&TRAIN[..8], &[name]].concat(), lost);
    }
    // The model's place is checked before the model is opened.
    write(home.path(), "out.csv", "no model");
    let message = "-o out.csv: the same file as the model, out.csv";
    refused(home.path(), &["predict", "out.csv", "shop.csv", "-o", "out.csv"], message);
    let (evaluate, report) = (["evaluate", "m", "shop.csv"], ["report", "m", "shop.csv"]);
    refused(home.path(), &[&evaluate[..], &["--report", "m"]].concat(), "the same file as the model, m");
    refused(home.path(), &[&evaluate[..], &["--report-json", "shop.csv"]].concat(), lost);
    #[cfg(unix)]
    refused(home.path(), &[&report[..], &["-o", "hard.html"]].concat(), lost);
    refused(home.path(), &[&report[..], &["-o", "m"]].concat(), "the same file as the model, m");
    let test = ["--test", "out.csv", "--report", "out.csv"];
    refused(home.path(), &[&TRAIN[..], &test].concat(), "the same file as the test data, out.csv");
    let toml = "data = \"shop.csv\"\nlabel = \"bought\"\ngoal = \"f1\"\noutput = \"run.toml\"\n";
    write(home.path(), "run.toml", toml);
    refused(home.path(), &["train", "run.toml"], "-o run.toml: the same file as the run file, run.toml");
}

#[test]
fn every_output_has_a_file_of_its_own() {
    let home = home();
    let own = "give each a file of its own";
    let train = |more: &[&'static str]| [&TRAIN[..7], more].concat();
    for (arguments, message) in [
        (train(&["-o", "r", "--report", "r"]), "--report r: the same file as -o r;"),
        (train(&["-o", "r", "--report", "./r"]), "--report ./r: the same file as -o r;"),
        (train(&["--report", "x", "--report-json", "x"]), "--report-json x: the same file as --report x;"),
        (vec!["evaluate", "m", "shop.csv", "--report", "x", "--report-json", "x"], "--report-json x: "),
        (vec!["report", "m", "shop.csv", "-o", "x", "--report-json", "x"], "--report-json x: "),
        (
            train(&["-o", "c/setpoint-checkpoint.safetensors", "--checkpoint", "c"]),
            "--checkpoint c/setpoint-checkpoint.safetensors: the same file as -o c/setpoint",
        ),
    ] {
        refused(home.path(), &arguments, message);
        refused(home.path(), &arguments, own);
    }
}

#[test]
fn results_of_experiments_replace_nothing_that_they_are_made_from() {
    let home = directory();
    std::fs::create_dir(home.path().join("out")).unwrap();
    write(home.path(), "out/trees.json", "{}");
    let trees = ["reproduce", "trees", "--data", ".", "--output", "out", "--peers", "out/trees.json"];
    refused(
        home.path(),
        &trees,
        "out/trees.json: the same file as the results of other tools, out/trees.json",
    );
    #[cfg(unix)]
    for (flag, name, data) in [
        ("--output", "out/journal.jsonl", "spambase.data"),
        ("--export", "out/spambase-0.safetensors", "spambase.data"),
    ] {
        write(home.path(), data, "1,2,0\n");
        std::os::unix::fs::symlink(home.path().join(data), home.path().join(name)).unwrap();
        let uci = ["reproduce", "uci", "--data", ".", "--sets", "spambase", "--trials", "1", flag, "out"];
        refused(home.path(), &uci, "the same file as the data, ./spambase.data");
    }
}

#[test]
fn images_and_models_for_several_labels_are_told_apart_too() {
    let home = directory();
    std::fs::create_dir(home.path().join("faces")).unwrap();
    write(home.path(), "faces/labels.csv", "file,a/b,a-b\n1.png,0,1\n");
    let train = ["train", "faces", "--model", "cnn", "--goal", "f1", "-o", "m"];
    let labels = [&train[..], &["--label", "a/b,a-b", "--report", "r.html"]].concat();
    refused(home.path(), &labels, "--report r.a-b.html: the same file as --report r.a-b.html;");
    let inside = [&train[..], &["--label", "a-b", "--report-json", "faces/r.json"]].concat();
    refused(home.path(), &inside, "would count among the files of the data, faces");
}

#[test]
fn stdout_and_devices_are_fine() {
    let home = home();
    setpoint(home.path(), &["predict", "m", "shop.csv", "-o", "-", "-q"]).ok();
    #[cfg(unix)]
    {
        let text = String::from_utf8(read(home.path(), "shop.csv")).unwrap();
        write(home.path(), "in.csv", &text);
        let run = setpoint(home.path(), &["predict", "m", "in.csv", "-o", "out.csv", "-q"]).ok();
        assert_eq!(run.stdout, "");
        // Not the same file as anything: what is said is that it cannot be replaced.
        let run =
            setpoint(home.path(), &[&TRAIN[..], &["--test", "/dev/null", "--report", "/dev/null"]].concat());
        assert!(run.stderr.contains("it is not a regular file"), "{}", run.stderr);
    }
}
