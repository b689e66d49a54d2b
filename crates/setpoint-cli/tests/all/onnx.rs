//! `setpoint export` and `setpoint certify --onnx`: the same decisions in onnxruntime.

use crate::data::shop;
use crate::{directory, read, setpoint, write};

/// Whether onnxruntime can be had; says so where not.
fn has_runtime(test: &str) -> bool {
    let there = setpoint_onnx::library_file().is_some();
    if !there {
        eprintln!("skipped {test}: onnxruntime is not installed, and SETPOINT_ONNXRUNTIME names no file");
    }
    there
}

#[test]
fn an_exported_graph_decides_as_the_model_does() {
    if !has_runtime("export --check") {
        return;
    }
    let home = directory();
    write(home.path(), "shop.csv", &shop(3000, 8));
    write(home.path(), "new.csv", &shop(2000, 9).replace("York", "Ripon"));
    let train = ["train", "shop.csv", "--label", "bought", "--goal", "recall @ fpr(sex)<=10%", "-o", "m"];
    setpoint(home.path(), &train).ok();
    let run = setpoint(home.path(), &["export", "m", "-o", "m.onnx", "--check", "new.csv"]).ok();
    assert_eq!(
        run.stderr,
        "wrote m.onnx\n2000 rows in onnxruntime: every decision the same, every score the same to the last bit\n"
    );
    let once = read(home.path(), "m.onnx");
    setpoint(home.path(), &["export", "m", "-o", "m.onnx", "-q"]).ok();
    assert!(once == read(home.path(), "m.onnx"), "the same model gives the same bytes");
    // A group that nobody knows.
    write(home.path(), "new.csv", &shop(2000, 9).replace(",f,", ",x,"));
    let run = setpoint(home.path(), &["export", "m", "-o", "x.onnx", "--check", "new.csv"]);
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    let run = setpoint(home.path(), &["export", "m", "-o", "m"]);
    assert!(run.stderr.contains("which would be lost"), "{}", run.stderr);
}

#[test]
fn a_check_says_which_decisions_differ_and_ends_with_1() {
    if !has_runtime("export --check with differences") {
        return;
    }
    let home = directory();
    // Setpoint takes 1.50 for the category 1.5; a graph takes categories as training spelled them.
    let member = |text: &str, yes: &str, no: &str| {
        let rows = text.lines().enumerate().map(|(row, line)| {
            let own = if line.ends_with("yes") != (row % 5 == 0) { yes } else { no };
            format!("{},{line}\n", if row == 0 { "member" } else { own })
        });
        rows.collect::<String>()
    };
    write(home.path(), "shop.csv", &member(&shop(3000, 8), "1.5", "2.5"));
    write(home.path(), "new.csv", &member(&shop(500, 9), "1.50", "2.50"));
    let train = ["train", "shop.csv", "--label", "bought", "--goal", "recall @ fpr<=10%", "-o", "m"];
    setpoint(home.path(), &[&train[..], &["--categorical", "member"]].concat()).ok();
    let run = setpoint(home.path(), &["export", "m", "-o", "m.onnx", "--check", "new.csv"]);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    let said = run.stderr.lines().last().unwrap();
    assert!(said.starts_with("error: 500 rows in onnxruntime: ") && said.contains("decisions differ, rows "));
    // The rows are named, and they are the ones.
    setpoint(home.path(), &["predict", "m", "new.csv", "-o", "own.csv"]).ok();
    write(home.path(), "none.csv", &member(&shop(500, 9), "9", "9"));
    setpoint(home.path(), &["predict", "m", "none.csv", "-o", "none-own.csv"]).ok();
    let decisions = |file: &str| -> Vec<bool> {
        let text = String::from_utf8(read(home.path(), file)).unwrap();
        let place = text.lines().next().unwrap().split(',').position(|name| name == "decision").unwrap();
        text.lines().skip(1).map(|line| line.split(',').nth(place) == Some("1")).collect()
    };
    let pairs: Vec<(bool, bool)> = decisions("own.csv").into_iter().zip(decisions("none-own.csv")).collect();
    let rows: Vec<usize> = (0..500).filter(|row| pairs[*row].0 != pairs[*row].1).map(|row| row + 1).collect();
    assert!(
        said.contains(&format!(": {} decisions differ, rows {}, {},", rows.len(), rows[0], rows[1])),
        "{said}"
    );
}

#[test]
fn an_exported_graph_is_certified_like_anyones() {
    if !has_runtime("certify --onnx") {
        return;
    }
    let home = directory();
    write(home.path(), "shop.csv", &shop(3000, 8));
    write(home.path(), "held.csv", &shop(4000, 10));
    setpoint(
        home.path(),
        &["train", "shop.csv", "--label", "bought", "--goal", "recall @ fpr<=10%", "-o", "m"],
    )
    .ok();
    setpoint(home.path(), &["export", "m", "-o", "m.onnx"]).ok();
    let onnx =
        ["certify", "held.csv", "--onnx", "m.onnx", "--label", "bought", "--json", "--goal", "fpr<=20%"];
    // It has a score and a probability: the latter is taken unless told.
    for (more, rate) in [(&[][..], "probability"), (&["--score", "score"][..], "score")] {
        let run = setpoint(home.path(), &[&onnx[..], &["-o", "c.onnx"], more].concat()).ok();
        let threshold = run.json()["threshold"].as_f64().unwrap();
        // Scores of the model itself, certified as those of any file.
        setpoint(home.path(), &["predict", "m", "held.csv", "-o", "p.csv"]).ok();
        let scores = String::from_utf8(read(home.path(), "p.csv")).unwrap();
        let labels = String::from_utf8(read(home.path(), "held.csv")).unwrap();
        let rows = labels.lines().zip(scores.lines());
        let joined: String = rows.map(|(row, score)| format!("{row},{score}\n")).collect();
        write(home.path(), "j.csv", &joined);
        let plain =
            ["certify", "j.csv", "--label", "bought", "--score", "score", "--json", "--goal", "fpr<=20%"];
        let own = setpoint(home.path(), &plain).ok().json();
        if rate == "score" {
            // Predictions are written with the digits of 32 bits.
            assert_eq!(own["threshold"].as_f64().unwrap() as f32, threshold as f32);
        }
        // The probability never falls in the score: as many false alarms.
        assert_eq!(own["conditions"][0]["counted"], run.json()["conditions"][0]["counted"]);
        assert!(read(home.path(), "c.onnx").starts_with(&read(home.path(), "m.onnx")));
        // The model's own decision is still there, and the new one is told apart.
        assert!(run.stderr.ends_with("wrote c.onnx: the decision is its output \"setpoint.decision\"\n"));
    }
    let run = setpoint(home.path(), &[&onnx[..], &["-o", "c.onnx", "--score", "nothing"]].concat());
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("no output \"nothing\" of numbers (--score)"), "{}", run.stderr);
    write(home.path(), "held.csv", &shop(4000, 10).replace("income", "earnings"));
    let run = setpoint(home.path(), &[&onnx[..], &["-o", "c.onnx"]].concat());
    assert!(run.stderr.contains("takes a column \"income\", which the data has not"), "{}", run.stderr);
}

#[test]
fn several_classes_are_exported_and_checked_and_not_certified() {
    if !has_runtime("export of several classes") {
        return;
    }
    let home = directory();
    write(home.path(), "shop.csv", &shop(3000, 8));
    setpoint(home.path(), &["train", "shop.csv", "--label", "town", "--goal", "macro-f1", "-o", "m"]).ok();
    let run = setpoint(home.path(), &["export", "m", "-o", "m.onnx", "--check", "shop.csv"]).ok();
    assert_eq!(
        run.stderr,
        "wrote m.onnx\n3000 rows in onnxruntime: every decision the same, every score the same to the last bit\n"
    );
    let certify = ["certify", "shop.csv", "--onnx", "m.onnx", "--label", "town", "--positive", "York"];
    let run = setpoint(home.path(), &[&certify[..], &["--goal", "fpr<=20%", "-o", "c.onnx"]].concat());
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("has the sizes [3000, 3] for 3000 rows"), "{}", run.stderr);
    assert!(!home.path().join("c.onnx").exists());
}

#[test]
fn what_is_asked_for_together_must_fit_together() {
    let home = directory();
    write(home.path(), "s.csv", &shop(50, 1));
    write(home.path(), "no.onnx", "this is text");
    let base = ["certify", "s.csv", "--label", "bought", "--goal", "fpr<=20%"];
    for (more, said) in [
        (&["--onnx", "no.onnx"][..], "--output"),
        (&["--score", "p", "-o", "x.onnx"][..], "--onnx"),
        (&["--onnx", "no.onnx", "-o", "no.onnx"][..], "which would be lost"),
        (&["--onnx", "no.onnx", "-o", "x.onnx"][..], "no.onnx: not an ONNX file"),
    ] {
        let run = setpoint(home.path(), &[&base[..], more].concat());
        assert_eq!(run.code, Some(2), "{more:?}");
        assert!(run.stderr.contains(said), "{more:?}: {}", run.stderr);
    }
}
