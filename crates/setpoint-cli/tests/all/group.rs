//! Goals by group: rates with intervals, and what the file then needs.

use crate::data::shop;
use crate::{directory, setpoint, write};

/// Trains on the shop's table and returns the record and the report.
fn train(home: &std::path::Path, more: &[&str]) -> (serde_json::Value, String) {
    let base = ["train", "shop.csv", "--label", "bought", "--json", "-o", "m"];
    let run = setpoint(home, &[&base[..], more].concat()).trained();
    (run.json(), run.stderr)
}

#[test]
fn rates_by_group_stand_beside_their_intervals() {
    let home = directory();
    write(home.path(), "shop.csv", &shop(3000, 8));
    let split = "train=0.5,validation=0.2,calibration=0.2,test=0.1";
    for (more, part, alike) in [
        (&["--goal", "recall @ fpr(sex)<=10%", "--split", split][..], "test", false),
        // A goal over all rows shows the groups too, where they are named.
        (&["--goal", "recall @ fpr<=10%", "--group", "sex"][..], "calibration", true),
    ] {
        let (record, text) = train(home.path(), more);
        assert_eq!(record["group_rates_from"], part);
        let groups = record["group_rates"].as_array().unwrap();
        assert_eq!(groups.len(), 2);
        assert_eq!(groups[0]["threshold"] == groups[1]["threshold"], alike);
        let rows: u64 = groups.iter().map(|group| group["rows"].as_u64().unwrap()).sum();
        assert_eq!(rows, record["rows"][part].as_u64().unwrap());
        for group in groups {
            for rate in group["rates"].as_array().unwrap() {
                let value = rate["value"].as_f64().unwrap();
                let (low, high) = (&rate["interval"]["lower"], &rate["interval"]["upper"]);
                assert!(low.as_f64().unwrap() <= value && value <= high.as_f64().unwrap(), "{rate}");
                assert_eq!(rate["interval"]["method"], "Clopper-Pearson");
            }
        }
        assert!(text.contains(&format!("on the {part} part, by group, with 95% intervals\nsex")), "{text}");
    }
    let (record, _) = train(home.path(), &["--goal", "recall @ fpr<=10%"]);
    assert_eq!(record["group_rates"], serde_json::json!([]));
    assert!(record["group_rates_from"].is_null());
}

#[test]
fn one_threshold_for_all_needs_no_group_to_decide() {
    let home = directory();
    write(home.path(), "shop.csv", &shop(4000, 9));
    let goal = "accuracy @ gap(recall, sex)<=0.03";
    let (by_group, text) = train(home.path(), &["--goal", goal]);
    assert_eq!(by_group["group_conditions_met_by"], "one threshold per group");
    assert!(text.contains("groups    one threshold per group\n"), "{text}");
    write(home.path(), "less.csv", "age,income,town\n40,30,York\n");
    let run = setpoint(home.path(), &["predict", "m", "less.csv", "-o", "a.csv"]);
    assert_eq!(run.code, Some(2));
    let needed = "no column \"sex\" (the model has a threshold for each of its groups)";
    assert!(run.stderr.contains(needed), "{}", run.stderr);
    let (record, text) = train(home.path(), &["--goal", goal, "--shared-threshold"]);
    let way = "one threshold for all; group conditions met by the model (multipliers)";
    assert_eq!(record["group_conditions_met_by"], way);
    assert!(text.contains(&format!("groups    {way}\n")), "{text}");
    assert_eq!(
        (record["thresholds"].as_array().unwrap().len(), &record["thresholds_from"]),
        (1, &"validation".into())
    );
    assert!(record["groups"].is_null());
    // What the model was made to meet, it meets on validation exactly.
    assert!(record["constraint"]["validation"][0].as_f64().unwrap() <= 0.03, "{record}");
    assert_eq!(record["group_rates"].as_array().unwrap().len(), 2);

    let table = shop(300, 10);
    write(home.path(), "new.csv", &table);
    let without: String = table
        .lines()
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            format!("{},{},{}\n", cells[0], cells[1], cells[2])
        })
        .collect();
    write(home.path(), "without.csv", &without);
    for (file, output) in [("new.csv", "a.csv"), ("without.csv", "b.csv")] {
        setpoint(home.path(), &["predict", "m", file, "-o", output]).ok();
    }
    assert_eq!(crate::read(home.path(), "a.csv"), crate::read(home.path(), "b.csv"));
    let plain = setpoint(home.path(), &["evaluate", "m", "new.csv", "--json", "-q"]).ok().json();
    assert_eq!(plain["groups"], serde_json::json!([]));
    assert!(
        plain["at_condition_refused"].as_str().unwrap().contains("give the group of each row with --group"),
        "{plain}"
    );
    let shown =
        setpoint(home.path(), &["evaluate", "m", "new.csv", "--group", "sex", "--json", "-q"]).ok().json();
    assert_eq!(shown["groups"].as_array().unwrap().len(), 2);
    assert_eq!(shown["at_condition"]["interval"]["method"], "bootstrap by group and label");
}

#[test]
fn one_threshold_for_all_is_certified_in_every_group() {
    let home = directory();
    write(home.path(), "shop.csv", &shop(4000, 11));
    let (record, _) = train(home.path(), &["--goal", "recall @ fpr(sex)<=10%", "--shared-threshold"]);
    assert_eq!(record["thresholds_from"], "calibration");
    assert_eq!(record["certificate"]["conditions"].as_array().unwrap().len(), 2);
    assert_eq!(record["certificate"]["threshold"], record["thresholds"][0]);
    write(home.path(), "new.csv", &shop(2000, 12));
    let evaluated =
        setpoint(home.path(), &["evaluate", "m", "new.csv", "--group", "sex", "--json", "-q"]).ok().json();
    let verdicts: Vec<&str> =
        evaluated["drift"].as_array().unwrap().iter().map(|one| one["verdict"].as_str().unwrap()).collect();
    assert_eq!(verdicts, ["holds", "holds"]);
}

#[test]
fn what_one_threshold_cannot_do_is_said_with_the_right_exit_code() {
    let home = directory();
    write(home.path(), "shop.csv", &shop(1500, 13));
    let base = ["train", "shop.csv", "--label", "bought", "--shared-threshold", "-q", "-o", "m", "--goal"];
    let run = setpoint(home.path(), &[&base[..], &["recall @ fpr<=5%"]].concat());
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("without one there is one threshold anyway"), "{}", run.stderr);
    let run = setpoint(home.path(), &[&base[..], &["accuracy @ fpr(sex)<=1%, recall(sex)>=0.99"]].concat());
    assert_eq!(run.code, Some(1));
    assert!(
        run.stderr.contains("no thresholds meet condition") && run.stderr.contains("miss its target by"),
        "{}",
        run.stderr
    );
    assert!(!home.path().join("m").exists());
}

#[test]
fn groups_too_small_for_a_condition_are_named_and_can_be_pooled() {
    let home = directory();
    // Every 60th row is of a third sex: 25 rows, about 5 of them in the calibration part.
    let text: String = shop(1500, 14)
        .lines()
        .enumerate()
        .map(|(row, line)| match row % 60 {
            7 => format!("{}\n", line.replace(",f,", ",x,").replace(",m,", ",x,")),
            _ => format!("{line}\n"),
        })
        .collect();
    write(home.path(), "shop.csv", &text);
    let goal =
        ["train", "shop.csv", "--label", "bought", "--goal", "recall @ fpr(sex)<=20%", "-q", "-o", "m"];
    let run = setpoint(home.path(), &goal);
    assert_eq!(run.code, Some(2));
    assert!(
        run.stderr.contains("groups of column \"sex\" with fewer than 10 rows in a part: \"x\" ("),
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains("--min-group"), "{}", run.stderr);
    // The pool of one small group is as small.
    let run = setpoint(home.path(), &[&goal[..], &["--min-group", "50"]].concat());
    assert_eq!(run.code, Some(2));
    assert!(
        run.stderr.contains("rows in a part: \"(other)\" (") && run.stderr.contains("a higher --min-group"),
        "{}",
        run.stderr
    );
    assert!(!home.path().join("m").exists());
    let run = setpoint(home.path(), &[&goal[..], &["--min-group", "700"]].concat()).ok();
    assert_eq!(run.stderr, "");
}

#[test]
fn groups_that_training_never_saw_are_named_wherever_they_are_decided() {
    let home = directory();
    // Three sexes, of which two are pooled; then a fourth.
    let renamed = |text: &str, every: usize, name: &str| -> String {
        let line = |(row, line): (usize, &str)| match row % every {
            1 => format!(
                "{}\n",
                [",f,", ",m,", ",x,"]
                    .iter()
                    .fold(line.to_owned(), |line, sex| line.replace(sex, &format!(",{name},")))
            ),
            _ => format!("{line}\n"),
        };
        text.lines().enumerate().map(line).collect()
    };
    let table = renamed(&shop(3000, 15), 10, "x");
    write(home.path(), "shop.csv", &table);
    write(home.path(), "new.csv", &renamed(&table, 100, "q"));
    let goal = ["--goal", "recall @ fpr(sex)<=20%", "--min-group", "1300"];
    let (record, text) = train(home.path(), &[&goal[..], &["--test", "new.csv"]].concat());
    assert_eq!(record["groups"]["names"], serde_json::json!(["m", "(other)"]));
    let said = "groups that training never saw count as \"(other)\" and are decided by a threshold chosen \
                without them: \"q\" (30 rows)";
    assert!(
        text.contains("note: small groups of column \"sex\" are pooled into \"(other)\": \"f\" ("),
        "{text}"
    );
    assert!(text.contains(said), "{text}");
    let run = setpoint(home.path(), &["predict", "m", "new.csv", "-o", "a.csv"]).ok();
    assert!(run.stderr.contains(said), "{}", run.stderr);
    let run = setpoint(home.path(), &["evaluate", "m", "new.csv", "--json"]).ok();
    assert!(run.json()["notes"].to_string().contains("\\\"q\\\" (30 rows)"), "{}", run.stdout);
    assert!(run.stderr.contains(said), "{}", run.stderr);
    // Those that training pooled are no news.
    for command in [&["predict", "m", "shop.csv", "-o", "a.csv"][..], &["evaluate", "m", "shop.csv"]] {
        let run = setpoint(home.path(), command).ok();
        assert!(!run.stderr.contains("never saw"), "{}", run.stderr);
    }
}

#[test]
fn the_report_shows_the_baseline_at_one_threshold_where_the_model_has_one() {
    let home = directory();
    write(home.path(), "shop.csv", &shop(4000, 16));
    let split = "train=0.4,validation=0.2,calibration=0.2,test=0.2";
    let goal = ["--goal", "recall @ fpr(sex)<=10%", "--split", split, "--method", "cross-entropy"];
    for more in [&["--shared-threshold"][..], &[]] {
        train(home.path(), &[&goal[..], more, &["--report-json", "r.json"]].concat());
        let report: serde_json::Value = serde_json::from_slice(&crate::read(home.path(), "r.json")).unwrap();
        // The model is the baseline: so must its rates be, at thresholds chosen in the same way.
        let shown = report["parts"].as_array().unwrap().last().unwrap();
        let ours = shown["evaluation"]["at_threshold"].as_array().unwrap();
        let theirs = report["comparison"]["baseline_ships"].as_array().unwrap();
        assert!(!theirs.is_empty());
        for rate in theirs {
            let same = ours.iter().find(|one| one["name"] == rate["name"]).unwrap();
            assert_eq!(same["value"], rate["value"], "{more:?} {rate}");
        }
    }
}
