//! What goes wrong, and what is said then.

use std::path::Path;

use crate::data::shop;
use crate::{Run, directory, read, setpoint, write};

fn train(home: &Path, more: &[&str]) -> Run {
    let base = ["train", "shop.csv", "--label", "bought", "--goal", "recall @ fpr<=10%", "-q", "-o", "m"];
    setpoint(home, &[&base[..], more].concat())
}

/// Exit 2, nothing on stdout, and this on stderr.
#[track_caller]
fn refused(run: &Run, message: &str) {
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{run:?}");
    assert_eq!(run.stderr, format!("error: {message}\n"));
}

#[test]
fn files_and_columns_that_are_not_there() {
    let home = directory();
    let run = train(home.path(), &[]);
    refused(&run, "shop.csv: cannot open: No such file or directory (os error 2)");
    write(home.path(), "shop.csv", &shop(300, 31));
    let run = train(home.path(), &["--label", "bougth"]);
    refused(&run, "shop.csv: no column \"bougth\" (--label); did you mean \"bought\"?");
    let run = train(home.path(), &["--weight", "town"]);
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("column \"town\""), "{}", run.stderr);
    let run = setpoint(home.path(), &["train", "shop.csv", "--goal", "f1"]);
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("--label"), "{}", run.stderr);
    let run = setpoint(home.path(), &["train", "shop.csv", "--label", "bought"]);
    refused(&run, "no goal: give one, such as --goal \"recall @ fpr<=1%\"");
    assert!(!home.path().join("m").exists());
}

#[test]
fn goals_that_do_not_parse_are_shown_with_a_caret() {
    let home = directory();
    write(home.path(), "shop.csv", &shop(300, 31));
    let run = train(home.path(), &["--goal", "recal @ fpr<=1%"]);
    refused(
        &run,
        "goal \"recal @ fpr<=1%\": unknown rate \"recal\"; did you mean recall?\n  recal @ fpr<=1%\n  ^^^^^",
    );
}

#[test]
fn tables_that_cannot_be_learnt_from() {
    let home = directory();
    let infinite = shop(300, 30).replacen("\nNA,", "\ninf,", 1);
    let broken: [(&str, &[&str]); 6] = [
        ("", &["shop.csv: empty"]),
        ("age,bought\n", &["no rows"]),
        ("age,bought\n1,yes\n2,yes\n3,yes\n", &["\"bought\""]),
        ("age,bought\n1,yes\n2,no,3\n4,no\n", &["shop.csv:3"]),
        ("age,bought\n1,a\n2,b\n3,c\n", &["--positive"]),
        (&infinite, &["shop.csv:", "\"age\"", "inf"]),
    ];
    for (text, expected) in broken {
        write(home.path(), "shop.csv", text);
        let run = train(home.path(), &[]);
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{text:?}: {run:?}");
        for part in expected {
            assert!(run.stderr.contains(part), "{text:?}: {}", run.stderr);
        }
        assert_eq!(run.stderr.matches("error:").count(), 1, "{}", run.stderr);
    }
}

#[test]
fn settings_that_make_no_sense() {
    let home = directory();
    write(home.path(), "shop.csv", &shop(600, 32));
    for (flags, message) in [
        (
            &["--confidence", "95"][..],
            "--confidence 95: expected a probability between 0 and 1, such as 95% or 0.95",
        ),
        (&["--positive-weight", "x"], "--positive-weight \"x\": expected a positive number or auto"),
        (&["--steps", "0"], "--steps 0: expected at least 1"),
        (
            &["--separator", "ab"],
            "--separator \"ab\": expected comma, tab, semicolon, blanks or one character",
        ),
        (
            &["--split", "train=0.8,calibration=0.2"],
            "--split train=0.8,calibration=0.2: no validation part; training chooses between fits on it, so give it a share",
        ),
        (
            &["--group", "town", "--goal", "recall @ fpr(sex)<=5%"],
            "--group \"town\": the goal's conditions are on groups of \"sex\"; leave --group out",
        ),
    ] {
        refused(&train(home.path(), flags), message);
    }
    let run = train(home.path(), &["--batch-size", "10", "--optimizer", "lbfgs"]);
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("lbfgs with mini-batches"), "{}", run.stderr);
    let run = train(home.path(), &["--method", "lagrangian", "--optimizer", "lbfgs"]);
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("lagrangian"), "{}", run.stderr);
    let pairwise = ["--method", "pairwise", "--goal", "pr-auc @ recall in 0.9..1"];
    let run = train(home.path(), &pairwise);
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("the pairwise method cannot train for"), "{}", run.stderr);
    let run = train(home.path(), &["--resume"]);
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("--checkpoint"), "{}", run.stderr);
}

#[test]
fn a_goal_that_cannot_be_met_is_the_answer_no() {
    let home = directory();
    let mut text = "x,y\n".to_owned();
    for row in 0..600 {
        text += &format!("{},{}\n", row % 7, u8::from(row % 10 == 0));
    }
    write(home.path(), "noise.csv", &text);
    let run = setpoint(
        home.path(),
        &[
            "train",
            "noise.csv",
            "--label",
            "y",
            "--goal",
            "recall @ precision>=0.99",
            "-q",
            "-o",
            "m",
            "--json",
        ],
    );
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{run:?}");
    assert_eq!(run.stderr.matches("recall @ precision>=0.99").count(), 1, "{}", run.stderr);
    assert!(!home.path().join("m").exists());
}

#[test]
fn model_files_that_are_not_whole() {
    let home = directory();
    write(home.path(), "shop.csv", &shop(1000, 33));
    train(home.path(), &[]).ok();
    let bytes = read(home.path(), "m");
    for (name, content) in [
        ("empty", Vec::new()),
        ("cut", bytes[..bytes.len() / 2].to_vec()),
        (
            "flipped",
            bytes.iter().enumerate().map(|(i, b)| if i == bytes.len() - 3 { b ^ 1 } else { *b }).collect(),
        ),
        ("text", b"age,income\n1,2\n".to_vec()),
    ] {
        std::fs::write(home.path().join(name), content).unwrap();
        let run = setpoint(home.path(), &["predict", name, "shop.csv", "-q"]);
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{name}: {run:?}");
        assert!(run.stderr.contains(name), "{name}: {}", run.stderr);
    }
}

#[test]
fn a_column_that_the_model_needs_must_be_there() {
    let home = directory();
    write(home.path(), "shop.csv", &shop(1000, 33));
    train(home.path(), &[]).ok();
    write(home.path(), "less.csv", "age,town,sex\n1,York,f\n");
    let run = setpoint(home.path(), &["predict", "m", "less.csv"]);
    refused(
        &run,
        "less.csv: the model needs column \"income\", which is not there; its 3 columns are \"age\", \"town\", \"sex\"",
    );
    write(home.path(), "words.csv", "age,income,town,sex\n1,much,York,f\n");
    let run = setpoint(home.path(), &["predict", "m", "words.csv"]);
    assert_eq!(run.code, Some(2));
    assert!(
        run.stderr.starts_with("error: words.csv:2: column \"income\": \"much\" is not a number"),
        "{run:?}"
    );
    let run = setpoint(home.path(), &["evaluate", "m", "less.csv"]);
    assert_eq!(run.code, Some(2));
}

#[test]
fn outputs_that_cannot_be_written_are_refused_before_any_work() {
    let home = directory();
    write(home.path(), "shop.csv", &shop(1000, 34));
    let run = train(home.path(), &["-o", "nowhere/m"]);
    refused(&run, "cannot write nowhere/m: there is no directory nowhere");
    std::fs::create_dir(home.path().join("folder")).unwrap();
    let run = train(home.path(), &["-o", "folder"]);
    refused(&run, "cannot write folder: it is a directory; give the name of a file in it");
    let run = train(home.path(), &["-o", "shop.csv"]);
    refused(&run, "-o shop.csv: the same file as the data, shop.csv, which would be lost; write elsewhere");
    assert_eq!(read(home.path(), "shop.csv"), shop(1000, 34).into_bytes());
    train(home.path(), &[]).ok();
    let run = setpoint(home.path(), &["predict", "m", "shop.csv", "--abstain", "review"]);
    refused(&run, "--abstain: the model leaves no rows undecided; leave it out");
    let run = setpoint(home.path(), &["predict", "m", "shop.csv", "-o", "out.xls"]);
    refused(&run, "-o out.xls: expected a name that ends in .csv or .parquet, or - for stdout");
}

#[test]
fn help_has_examples_and_completions_are_scripts() {
    let home = directory();
    for command in ["train", "evaluate", "predict", "certify", "completions"] {
        let run = setpoint(home.path(), &[command, "--help"]).ok();
        assert!(run.stdout.contains(&format!("setpoint {command} ")), "{command}");
        assert!(run.stdout.contains("Examples:"), "{command}");
    }
    for shell in ["bash", "zsh", "fish"] {
        assert!(setpoint(home.path(), &["completions", shell]).ok().stdout.contains("setpoint"));
    }
    setpoint(home.path(), &["manual", "man/man1"]).ok();
    let page = String::from_utf8(read(home.path(), "man/man1/setpoint-train.1")).unwrap();
    assert!(page.contains(".TH") && page.contains("\\-\\-goal"), "{page}");
    assert_eq!(
        setpoint(home.path(), &["--version"]).ok().stdout,
        concat!("setpoint ", env!("CARGO_PKG_VERSION"), "\n")
    );
    let run = setpoint(home.path(), &["trian"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""));
}
