//! What a run says at its end: where, in which words, and with which exit code.

use crate::data::{scores, shop};
use crate::{Run, directory, read, setpoint, write};

const TRAIN: [&str; 6] = ["train", "shop.csv", "--label", "bought", "--drop", "sex"];

fn train(home: &std::path::Path, more: &[&str]) -> Run {
    setpoint(home, &[&TRAIN[..], more].concat())
}

#[test]
fn results_are_on_stdout_and_notes_on_stderr() {
    let home = directory();
    write(home.path(), "shop.csv", &shop(2000, 1));
    write(home.path(), "s.csv", &scores(8000, 21));
    let run = train(home.path(), &["--goal", "recall @ fpr<=10%"]).ok();
    assert!(
        run.stdout.starts_with("goal      recall @ fpr<=10%\n") && run.stdout.contains("certified at 95%")
    );
    assert_eq!(run.stderr, "wrote model.safetensors\n");
    for (command, said) in [
        (&["evaluate", "model.safetensors", "shop.csv"][..], "recall at the threshold"),
        (&["report", "model.safetensors", "shop.csv"], "recall at the threshold"),
        (&["certify", "s.csv", "--label", "y", "--score", "p", "--goal", "fpr<=1%"], "certified at 95%"),
    ] {
        let run = setpoint(home.path(), command).ok();
        assert!(run.stdout.contains(said) && !run.stderr.contains(said), "{run:?}");
        let quiet = setpoint(home.path(), &[command, &["-q"]].concat()).ok();
        assert_eq!((quiet.stdout.as_str(), quiet.stderr.as_str()), ("", ""));
    }
}

#[test]
fn a_threshold_without_its_certificate_is_warned_of_in_the_last_line() {
    let home = directory();
    write(home.path(), "shop.csv", &shop(1000, 1));
    let run = train(home.path(), &["--goal", "recall @ fpr<=0.1%", "--json"]).ok();
    let reason = run.json()["certificate_refused"].as_str().unwrap().to_owned();
    assert!(reason.contains("at least 2995 are needed"), "{reason}");
    let last = format!("warning: the threshold is not certified: {reason}");
    assert_eq!(run.stderr.lines().last(), Some(last.as_str()));
    // Nobody is warned of what they asked for.
    let run = train(home.path(), &["--goal", "recall @ fpr<=5%", "--no-certificate"]).ok();
    assert!(
        run.stdout.contains("not certified (no certificate was asked for): chosen on the calibration part")
    );
    assert!(!run.stderr.contains("warning"), "{}", run.stderr);
}

#[test]
fn a_goal_that_is_not_met_on_held_out_rows_is_said_everywhere_and_ends_with_1() {
    let home = directory();
    write(home.path(), "shop.csv", &shop(1200, 2));
    let split = "train=0.4,validation=0.2,calibration=0.2,test=0.2";
    let mut met = [0, 0];
    for seed in ["0", "1", "2", "3", "4", "5"] {
        let arguments = ["--goal", "recall @ fpr<=5%", "--no-certificate", "--split", split, "--seed", seed];
        let more = ["--method", "cross-entropy", "--json", "--report-json", "page.json"];
        let run = train(home.path(), &[&arguments[..], &more].concat());
        let record = run.json();
        let fpr = record["shipped"]["test"]["fpr"].as_f64().unwrap();
        let page: serde_json::Value = serde_json::from_slice(&read(home.path(), "page.json")).unwrap();
        let cautioned = page["cautions"].as_array().unwrap().iter().any(|one| one["kind"] == "goal-not-met");
        let unmet = &record["unmet"]["test"];
        assert_eq!((run.code == Some(1), cautioned), (fpr > 0.05, fpr > 0.05), "seed {seed}: {fpr}");
        met[usize::from(fpr <= 0.05)] += 1;
        if fpr > 0.05 {
            assert_eq!((&unmet[0]["condition"], &unmet[0]["observed"]), (&"fpr<=5%".into(), &fpr.into()));
            let said = format!("on the test part: fpr is {:.2}%, asked for was fpr<=5%", 100.0 * fpr);
            assert!(run.stderr.contains(&format!("not met   {said}\n")), "{}", run.stderr);
            let last = format!("error: recall @ fpr<=5%: not met {said}; nothing is certified");
            assert!(run.stderr.lines().last().unwrap().starts_with(&last), "{}", run.stderr);
        }
    }
    assert!(
        met[0] > 0 && met[1] > 0,
        "an exact threshold holds on other rows about every second time: {met:?}"
    );
}

#[test]
fn the_gain_is_one_number_from_rows_that_did_not_choose() {
    let home = directory();
    write(home.path(), "shop.csv", &shop(3000, 3));
    for (split, part) in [
        ("train=0.4,validation=0.2,calibration=0.2,test=0.2", "test"),
        ("train=0.6,validation=0.2,calibration=0.2", "calibration"),
        ("train=0.7,validation=0.3", "validation"),
    ] {
        let arguments =
            ["--goal", "recall @ fpr<=10%", "--split", split, "--json", "--report-json", "page.json"];
        let run = train(home.path(), &arguments);
        let gain = run.json()["gain"].clone();
        assert_eq!(
            (gain["part"].as_str(), gain["chose"].as_bool()),
            (Some(part), Some(part == "validation"))
        );
        let (difference, interval) = (gain["difference"].as_f64().unwrap(), &gain["interval"]);
        let page: serde_json::Value = serde_json::from_slice(&read(home.path(), "page.json")).unwrap();
        assert_eq!(page["training"]["gain"], gain);
        assert_eq!(page["comparison"]["interval"], *interval);
        // The same two values subtracted.
        assert!((page["comparison"]["gain"].as_f64().unwrap() - difference).abs() < 1e-12, "{split}");
        let holds_zero = interval["lower"].as_f64() <= Some(0.0) && interval["upper"].as_f64() >= Some(0.0);
        assert_eq!(gain["verdict"] == "not distinguishable from zero", holds_zero, "{gain}");
        let text = format!("gain      {:+.2} points on the {part} part", 100.0 * difference);
        assert!(run.stderr.contains(&text), "{}", run.stderr);
    }
}

#[test]
fn the_gain_under_conditions_on_groups_has_its_interval_too() {
    let home = directory();
    write(home.path(), "shop.csv", &shop(2000, 3));
    let goal = ["--goal", "recall @ fpr(sex)<=10%", "--json", "--report-json", "page.json"];
    let run = setpoint(home.path(), &[&["train", "shop.csv", "--label", "bought"][..], &goal].concat()).ok();
    let gain = run.json()["gain"].clone();
    let of = |end: &str| gain["interval"][end].as_f64().unwrap();
    assert!(of("lower") < of("upper") && gain["verdict"].is_string(), "{gain}");
    let page: serde_json::Value = serde_json::from_slice(&read(home.path(), "page.json")).unwrap();
    assert_eq!(page["comparison"]["interval"], gain["interval"]);
}

#[test]
fn the_time_includes_the_report() {
    let home = directory();
    write(home.path(), "shop.csv", &shop(2000, 1));
    let run = train(home.path(), &["--goal", "recall @ fpr<=10%", "--report", "page.html", "--json"]).ok();
    let seconds = &run.json()["seconds"];
    let of = |name: &str| seconds[name].as_f64().unwrap();
    assert!(of("report") > 0.0 && of("total") >= of("load") + of("train") + of("report"), "{seconds}");
    assert!(run.stderr.contains(" s report, "), "{}", run.stderr);
}

#[test]
fn settings_and_flags_without_effect_are_refused() {
    let home = directory();
    write(home.path(), "shop.csv", &shop(300, 1));
    for (more, message) in [
        (
            &["--ridge", "0.01"][..],
            "--ridge 0.01: has no effect with --method auto; give --method ico, or leave it out",
        ),
        (&["--hidden", "8"], "--hidden: has no effect without --model mlp; give that too, or leave it out"),
        (&["--rounds", "8"], "--rounds: has no effect without --model trees; give that too, or leave it out"),
        (
            &["--min-group", "8"],
            "--min-group: has no effect without groups; name their column with --group, or leave it out",
        ),
        (
            &["--size", "8"],
            "flags on images have no effect without --model cnn; give that too, or leave them out",
        ),
    ] {
        let run = train(home.path(), &[&["--goal", "recall @ fpr<=10%"], more].concat());
        assert_eq!((run.code, run.stderr), (Some(2), format!("error: {message}\n")));
    }
}

#[test]
fn row_numbers_are_noted_with_a_flag_that_pastes_and_goals_in_words_with_the_goal_meant() {
    let home = directory();
    let mut text = String::new();
    for (row, line) in shop(1000, 1).lines().enumerate() {
        let first = if row == 0 { "Unnamed: 0".to_owned() } else { row.to_string() };
        text += &format!("{first},{line}\n");
    }
    write(home.path(), "shop.csv", &text);
    let run = train(home.path(), &["--goal", "recall @ fpr<=20%"]).ok();
    let note = "note: column \"Unnamed: 0\" looks like row numbers: if it is, leave it out with --drop 'Unnamed: 0'\n";
    assert!(run.stderr.contains(note), "{}", run.stderr);
    let run = train(home.path(), &["--goal", "recall at fpr < 5%"]);
    assert_eq!(run.code, Some(2));
    let meant = "; did you mean \"recall @ fpr<=5%\"?\n";
    assert!(run.stderr.contains(meant), "{}", run.stderr);
    let certify =
        ["certify", "shop.csv", "--label", "bought", "--score", "age", "--goal", "recall at fpr < 5%"];
    assert!(setpoint(home.path(), &certify).stderr.contains(meant));
}

#[test]
fn help_names_the_glossary() {
    let home = directory();
    assert!(setpoint(home.path(), &["--help"]).ok().stdout.contains("docs/glossary.md"));
}
