//! Any model's scores in `evaluate` and `report`.

use crate::data::scores;
use crate::{directory, read, setpoint, write};

const SCORES: [&str; 8] = ["--scores", "s.csv", "--label", "y", "--score", "p", "--goal", "recall @ fpr<=1%"];

fn on(home: &std::path::Path, before: &[&str], after: &[&str]) -> crate::Run {
    setpoint(home, &[before, &SCORES[..], after].concat())
}

#[test]
fn scores_have_values_a_page_and_the_threshold_that_certify_finds() {
    let home = directory();
    write(home.path(), "s.csv", &scores(8000, 21));
    let certify =
        ["certify", "s.csv", "--label", "y", "--score", "p", "--goal", "recall @ fpr<=1%", "--json"];
    let certified = setpoint(home.path(), &certify).ok().json();
    let record = on(home.path(), &["evaluate"], &["--json"]).ok().json();
    assert_eq!(record["thresholds"][0], certified["threshold"]);
    assert_eq!(record["certificate"]["conditions"], certified["conditions"]);
    assert_eq!(record["confusion"]["false_positives"], 47.0);
    let run = on(home.path(), &["report"], &["-o", "page.html", "--report-json", "page.json"]).ok();
    assert!(run.stdout.contains("recall at the threshold") && run.stderr.contains("wrote page.html"));
    let page = String::from_utf8(read(home.path(), "page.html")).unwrap();
    assert!(
        page.contains("The promise: </strong>on new rows of the same kind") && page.contains("No promise: ")
    );
    assert!(!page.contains("cross-entropy"), "there is nothing to compare with");
    let json: serde_json::Value = serde_json::from_slice(&read(home.path(), "page.json")).unwrap();
    assert_eq!(json["parts"][0]["evaluation"]["thresholds"], record["thresholds"]);
    assert_eq!(json["cautions"][0]["kind"], "no-test");
    // What chose a threshold cannot test it.
    let run = on(home.path(), &["evaluate"], &["--check"]);
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("chosen on these very rows"), "{}", run.stderr);
}

#[test]
fn a_certificate_or_a_threshold_in_use_is_taken_and_tested() {
    let home = directory();
    write(home.path(), "s.csv", &scores(8000, 21));
    let certify =
        ["certify", "s.csv", "--label", "y", "--score", "p", "--goal", "recall @ fpr<=1%", "--json"];
    let certified = setpoint(home.path(), &certify).ok();
    write(home.path(), "certificate.json", &certified.stdout);
    let known = ["--certificate", "certificate.json", "--check", "--json"];
    write(home.path(), "s.csv", &scores(8000, 22));
    let record = on(home.path(), &["evaluate"], &known).ok().json();
    assert_eq!((&record["drift"][0]["verdict"], &record["check"]["passed"]), (&"holds".into(), &true.into()));
    // One in eight negatives of a population that scores higher.
    let shifted = scores(8000, 23).replace("0,2", "0,3").replace("0,1", "0,3");
    write(home.path(), "s.csv", &shifted);
    let run = on(home.path(), &["evaluate"], &known);
    assert_eq!((run.code, &run.json()["drift"][0]["verdict"]), (Some(1), &"violated".into()));
    let run = on(home.path(), &["evaluate"], &["--threshold", "-0.5", "--json"]).ok();
    assert_eq!(run.json()["thresholds"][0], -0.5);
    assert!(run.json()["unmet"][0]["condition"] == "fpr<=1%", "{}", run.stdout);
    let said = "warning: the threshold is not certified: the threshold was given without a certificate\n";
    assert!(run.stderr.ends_with(said), "{}", run.stderr);
}

#[test]
fn scores_stand_alone_and_flags_that_mean_nothing_are_refused() {
    let home = directory();
    write(home.path(), "s.csv", &scores(400, 21));
    write(home.path(), "no.json", "{}");
    for more in [
        &["model.safetensors", "s.csv"][..],
        &["--unweighted"],
        &["--size", "8"],
        &["--shared-threshold"],
        &["--threshold", "0.5", "--certificate", "no.json"],
        &["--threshold", "inf"],
        &["--certificate", "no.json"],
        &["--certificate", "s.csv"],
    ] {
        let run = on(home.path(), &["evaluate"], more);
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{more:?}");
    }
    for few in [&SCORES[..6], &SCORES[2..], &SCORES[..4]] {
        assert_eq!(setpoint(home.path(), &[&["evaluate"], few].concat()).code, Some(2), "{few:?}");
    }
}
