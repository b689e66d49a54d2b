//! `setpoint certify`: any model's scores.

use crate::data::scores;
use crate::{directory, setpoint, write};

#[test]
fn a_certified_threshold_is_printed_and_holds_on_fresh_scores() {
    let home = directory();
    write(home.path(), "s.csv", &scores(8000, 21));
    let arguments = ["certify", "s.csv", "--label", "y", "--score", "p", "--goal", "fpr<=1%", "--json"];
    let run = setpoint(home.path(), &arguments).ok();
    let record = run.json();
    let threshold = record["threshold"].as_f64().unwrap();
    assert_eq!(record["conditions"][0]["condition"], "fpr<=1%");
    assert_eq!(record["condition"], "fpr<=1%");
    // 6000 negatives, 47 of which may lie above: scipy.stats.binom.cdf(47, 6000, 0.01) = 0.0474.
    assert_eq!(record["conditions"][0]["counted"], 47);
    let negatives = |text: &str| -> (usize, usize) {
        let of: Vec<f64> = text
            .lines()
            .filter_map(|line| line.strip_prefix("0,"))
            .map(|score| score.parse().unwrap())
            .collect();
        (of.iter().filter(|score| **score >= threshold).count(), of.len())
    };
    assert_eq!(negatives(&scores(8000, 21)), (47, 6000));
    let (above, all) = negatives(&scores(80_000, 22));
    assert!(above * 100 <= all, "{above} of {all}");
    assert!(
        run.stderr.starts_with("certified at 95% confidence on 8000 examples\n  fpr<=1%: "),
        "{}",
        run.stderr
    );
}

#[test]
fn too_few_examples_are_refused_with_the_number_needed_and_exit_1() {
    let home = directory();
    write(home.path(), "s.csv", &scores(400, 23));
    let run = setpoint(
        home.path(),
        &["certify", "s.csv", "--label", "y", "--score", "p", "--goal", "fpr<=0.1%", "--json"],
    );
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""));
    assert_eq!(
        run.stderr,
        "error: 300 negatives cannot certify fpr <= 0.1% at 95% confidence; at least 2995 are needed\n"
    );
}

/// The table of `scores`, with a column of weights and one of groups.
fn weighted(weight: impl Fn(usize) -> f32) -> String {
    let mut text = String::new();
    for (row, line) in scores(8000, 25).lines().enumerate() {
        let more = if row == 0 {
            "w,site".to_owned()
        } else {
            format!("{},{}", weight(row), ["n", "s"][row / 4 % 2])
        };
        text += &format!("{line},{more}\n");
    }
    text
}

#[test]
fn weights_are_refused_with_the_reason_unless_they_are_all_equal() {
    let home = directory();
    write(home.path(), "equal.csv", &weighted(|_| 2.0));
    write(home.path(), "differ.csv", &weighted(|row| 1.0 + (row % 2) as f32));
    let certify = |file: &str| {
        let base = ["certify", file, "--label", "y", "--score", "p", "--goal", "fpr<=1%", "--json", "-q"];
        (setpoint(home.path(), &base), setpoint(home.path(), &[&base[..], &["--weight", "w"]].concat()))
    };
    let (plain, equal) = certify("equal.csv");
    assert_eq!(plain.ok().json()["threshold"], equal.ok().json()["threshold"]);
    let (plain, differ) = certify("differ.csv");
    plain.ok();
    assert_eq!(differ.code, Some(2));
    assert!(
        differ.stderr.contains("weights differ") && differ.stderr.contains("counts every example once"),
        "{differ:?}"
    );
}

#[test]
fn every_rate_is_certified_overall_by_group_and_several_at_once() {
    let home = directory();
    write(home.path(), "s.csv", &weighted(|_| 1.0));
    for (goal, conditions) in [
        ("fpr<=5%", 1),
        ("tnr>=0.95", 1),
        ("recall>=0.8", 1),
        ("fnr<=20%", 1),
        ("positive-rate<=25%", 1),
        ("precision>=0.8", 1),
        ("fpr(site)<=5%", 2),
        ("recall(site)>=0.8", 2),
        ("precision(site)>=0.8", 2),
        ("recall>=0.5, fpr<=10%, precision>=0.6", 3),
        ("recall(site)>=0.6, fpr(site)<=10%", 4),
    ] {
        let arguments = ["certify", "s.csv", "--label", "y", "--score", "p", "--goal", goal, "--json"];
        let run = setpoint(home.path(), &arguments).ok();
        let record = run.json();
        let certified = record["conditions"].as_array().unwrap();
        assert_eq!(certified.len(), conditions, "{goal}");
        let each = 1.0 - 0.05 / conditions as f64;
        assert!((record["confidence_each"].as_f64().unwrap() - each).abs() < 1e-9, "{goal}");
        assert_eq!(record["threshold"].is_null(), goal.contains("site"), "{goal}");
        for one in certified {
            let (observed, target) = (one["observed"].as_f64().unwrap(), one["target"].as_f64().unwrap());
            let at_most = one["condition"].as_str().unwrap().contains("<=");
            // Strictly inside: what holds on new data with confidence has room to spare here.
            assert!(if at_most { observed < target } else { observed > target }, "{one}");
        }
        assert_eq!(run.stderr.lines().count(), 1 + conditions, "{}", run.stderr);
    }
    // A refusal speaks of scores, not of ranks: these lie between -6 and 8.
    let goal = ["certify", "s.csv", "--label", "y", "--score", "p", "--goal", "recall>=0.99, fpr<=1%"];
    let run = setpoint(home.path(), &goal);
    assert_eq!(run.code, Some(1));
    let number = |after: &str| -> f64 {
        let text = run.stderr.split(after).nth(1).and_then(|rest| rest.split([',', ';']).next());
        text.unwrap_or_default().parse().unwrap_or_else(|error| panic!("{error}: {}", run.stderr))
    };
    let (at_least, at_most) = (number("of at least "), number("one of at most "));
    assert!(at_most < at_least && at_most > -6.0 && at_least < 8.0, "{}", run.stderr);
    let shared = ["--goal", "fpr(site)<=5%, recall>=0.5", "--shared-threshold", "--json", "-q"];
    let base = ["certify", "s.csv", "--label", "y", "--score", "p"];
    let record = setpoint(home.path(), &[&base[..], &shared].concat()).ok().json();
    assert!(record["threshold"].is_number() && record["thresholds"][0] == record["thresholds"][1]);
    let run = setpoint(home.path(), &[&base[..], &["--goal", "fpr<=5%", "--shared-threshold"]].concat());
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("leave it out"), "{}", run.stderr);
}

#[test]
fn a_goal_chooses_among_certified_thresholds() {
    let home = directory();
    write(home.path(), "s.csv", &scores(8000, 24));
    let threshold = |goal: &str| {
        let arguments = ["certify", "s.csv", "--label", "1", "--score", "2", "--goal", goal, "--json", "-q"];
        setpoint(home.path(), &arguments).ok().json()["threshold"].as_f64().unwrap()
    };
    assert!(threshold("precision @ recall>=0.8") <= threshold("recall @ fpr<=10%"));
    assert!(threshold("precision>=0.8") > threshold("recall>=0.9"));
}

#[test]
fn scores_that_differ_beyond_single_precision_are_told_apart() {
    let home = directory();
    let mut text = "y,p\n".to_owned();
    for row in 0..400 {
        text += &format!("{},{:.15}\n", u8::from(row >= 300), 0.5 + f64::from(row) * 1e-13);
    }
    write(home.path(), "s.csv", &text);
    let arguments = ["certify", "s.csv", "--label", "y", "--score", "p", "--goal", "fpr<=1%", "--json", "-q"];
    let threshold = setpoint(home.path(), &arguments).ok().json()["threshold"].as_f64().unwrap();
    assert!(threshold > 0.5 + 299.0 * 1e-13 && threshold <= 0.5 + 300.5 * 1e-13, "{threshold:.17}");
}

#[test]
fn bad_scores_are_named() {
    let home = directory();
    write(home.path(), "s.csv", "y,p\n1,0.5\n0,abc\n");
    let certify = |more: &[&str]| {
        let base = ["certify", "s.csv", "--label", "y"];
        let run = setpoint(home.path(), &[&base[..], more].concat());
        assert_eq!(run.code, Some(2), "{run:?}");
        run.stderr
    };
    assert_eq!(
        certify(&["--score", "p", "--goal", "fpr<=1%"]),
        "error: s.csv:3: column \"p\": \"abc\" is not a number; name missing values with --missing\n"
    );
    let unknown = certify(&["--score", "q", "--goal", "fpr<=1%"]);
    assert!(unknown.contains("no column \"q\" (--score)"), "{unknown}");
    let twice = certify(&["--score", "y", "--goal", "fpr<=1%"]);
    assert!(twice.contains("column \"y\" cannot be both another role and the score"), "{twice}");
    write(home.path(), "s.csv", "y,p\n1,0.5\n0,\n");
    let missing = certify(&["--score", "p", "--goal", "fpr<=1%"]);
    assert!(missing.contains("the score is missing"), "{missing}");
    write(home.path(), "s.csv", "y,p\n1,0.5\n0,0.2\n");
    let top = certify(&["--score", "p", "--goal", "precision @ k=1"]);
    assert!(top.contains("cannot be certified: it counts off the highest scores"), "{top}");
}
