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
        "error: s.csv:3: column \"p\": score \"abc\" is not a finite number\n"
    );
    let unknown = certify(&["--score", "q", "--goal", "fpr<=1%"]);
    assert!(unknown.contains("no column \"q\" (--score)"), "{unknown}");
    write(home.path(), "s.csv", "y,p\n1,0.5\n0,\n");
    let missing = certify(&["--score", "p", "--goal", "fpr<=1%"]);
    assert!(missing.contains("the score is missing"), "{missing}");
    write(home.path(), "s.csv", "y,p\n1,0.5\n0,0.2\n");
    let gap = certify(&["--score", "p", "--goal", "accuracy @ gap(recall, y)<=0.1"]);
    assert!(gap.contains("cannot be certified: it compares groups"), "{gap}");
}
