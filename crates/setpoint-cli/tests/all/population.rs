//! Splits by time: whether the certificate's rows can be of one population.

use serde_json::Value;

use crate::data::Random;
use crate::{directory, setpoint, write};

/// `when,month,x,y`: ten rows a day; with `trend`, positives grow ever more frequent.
fn months(rows: usize, seed: u64, trend: bool) -> String {
    let mut random = Random::new(seed);
    let mut text = "when,month,x,y\n".to_owned();
    for row in 0..rows {
        let day = row / 10;
        let passed = if trend { row as f64 / rows as f64 } else { 0.5 };
        let positive = random.next() < 0.05 + 0.5 * passed;
        let x = random.normal() + if positive { 1.5 } else { 0.0 };
        let date = format!("{}-{:02}-{:02}", 2020 + day / 336, 1 + day / 28 % 12, 1 + day % 28);
        text += &format!("{date},{},{x:.4},{}\n", day / 28, u8::from(positive));
    }
    text
}

fn train(home: &std::path::Path, more: &[&str]) -> (Value, String) {
    let base = ["train", "rows.csv", "--label", "y", "--json", "-o", "m"];
    let run = setpoint(home, &[&base[..], more].concat()).ok();
    (run.json(), run.stderr)
}

#[test]
fn scores_that_drift_between_the_parts_put_a_caution_beside_the_certificate() {
    let home = directory();
    write(home.path(), "rows.csv", &months(6000, 1, true));
    let fpr = ["--goal", "recall @ fpr<=10%", "--split-time", "when"];
    let (record, text) = train(home.path(), &[&fpr[..], &["--report-json", "r.json"]].concat());
    assert!(record["certificate"].is_object(), "{record}");
    let caution = record["population"]["caution"].as_str().unwrap();
    assert!(
        caution.contains("scores of negatives differ between validation and calibration (by up to "),
        "{caution}"
    );
    let at = text.find("certified at 95% confidence").unwrap();
    assert!(text[at..].contains(&format!("\n          caution: {caution}\n")), "{text}");
    let report: Value = serde_json::from_slice(&crate::read(home.path(), "r.json")).unwrap();
    let kinds: Vec<&Value> = report["cautions"].as_array().unwrap().iter().map(|one| &one["kind"]).collect();
    assert!(kinds.contains(&&"population".into()), "{kinds:?}");
    // It travels with the certificate.
    let run = setpoint(home.path(), &["evaluate", "m", "rows.csv", "--json", "--report-json", "e.json"]).ok();
    assert!(run.json()["notes"][0].as_str().unwrap().ends_with(caution), "{}", run.stdout);
    assert!(String::from_utf8(crate::read(home.path(), "e.json")).unwrap().contains("\"population\""));

    // Without the month each class scores as before; how many are positive matters to precision alone.
    let (record, text) = train(home.path(), &[&fpr[..], &["--drop", "month"]].concat());
    assert!(record["certificate"].is_object() && record["population"]["caution"].is_null(), "{record}");
    assert!(!text.contains("caution"), "{text}");
    let precision = ["--goal", "recall @ precision>=0.6", "--split-time", "when", "--drop", "month"];
    let (record, _) = train(home.path(), &precision);
    assert!(record["certificate"].is_object(), "{record}");
    let caution = record["population"]["caution"].as_str().unwrap();
    assert!(
        caution.contains("share of positives differs between") && !caution.contains("scores of"),
        "{caution}"
    );

    // A random split is of one population by its making.
    let (record, _) = train(home.path(), &fpr[..2]);
    assert!(record["certificate"].is_object() && record["population"].is_null(), "{record}");
}

#[test]
fn margins_of_classes_are_compared_as_scores_are() {
    let home = directory();
    let of_three = |(row, line): (usize, &str)| match line.rsplit_once(',') {
        Some((rest, "1")) => format!("{rest},ill\n"),
        Some((rest, "0")) => format!("{rest},{}\n", ["well", "tired"][row % 2]),
        _ => format!("{line}\n"),
    };
    write(
        home.path(),
        "rows.csv",
        &months(6000, 1, true).lines().enumerate().map(of_three).collect::<String>(),
    );
    let by_time = ["--split-time", "when", "--goal"];
    let (record, _) = train(home.path(), &[&by_time[..], &["accuracy @ recall(ill)>=0.6"]].concat());
    assert!(record["certificate"].is_object(), "{record}");
    let caution = record["population"]["caution"].as_str().unwrap();
    assert!(
        caution.contains("margins of rows other than \"ill\" differ between validation and"),
        "{caution}"
    );
    // Without the month each class scores as before; how many there are matters to precision alone.
    let without = |goal: &str| {
        let (record, _) = train(home.path(), &[&by_time[..], &[goal, "--drop", "month"]].concat());
        assert!(record["certificate"].is_object(), "{record}");
        record["population"]["caution"].clone()
    };
    assert_eq!(without("accuracy @ recall(ill)>=0.6"), Value::Null);
    let caution = without("recall(ill) @ precision(ill)>=0.6");
    assert!(caution.as_str().unwrap().contains("share of \"ill\" differs between"), "{caution}");
}

/// Rows of one population raise no alarm: 10 runs at a level of 1%.
#[test]
fn parts_of_one_population_get_no_caution() {
    let home = directory();
    for seed in 0..5 {
        write(home.path(), "rows.csv", &months(4000, 10 + seed, false));
        let split = [
            "--split-time",
            "when",
            "--drop",
            "month",
            "--split",
            "train=0.4,validation=0.2,calibration=0.2,test=0.2",
        ];
        for goal in ["recall @ fpr<=10%", "recall @ precision>=0.6"] {
            let (record, _) = train(home.path(), &[&split[..], &["--goal", goal]].concat());
            let population = &record["population"];
            assert!(population["caution"].is_null(), "{population}");
            let share = goal.contains("precision");
            assert_eq!(population["comparisons"].as_array().unwrap().len(), if share { 9 } else { 6 });
        }
    }
}

#[test]
fn a_test_file_is_other_data_and_drift_within_the_calibration_part_is_seen() {
    let home = directory();
    // Stable up to 90% of the rows; then, half way through calibration, scores jump.
    let text: String = months(5000, 20, false)
        .lines()
        .enumerate()
        .map(|(row, line)| {
            let cells: Vec<&str> = line.split(',').collect();
            match cells[2].parse::<f64>() {
                Ok(x) if row > 4500 => format!("{},{},{:.4},{}\n", cells[0], cells[1], x + 0.7, cells[3]),
                _ => format!("{line}\n"),
            }
        })
        .collect();
    write(home.path(), "rows.csv", &text);
    write(home.path(), "other.csv", &months(500, 21, true));
    let more =
        ["--goal", "recall @ fpr<=10%", "--split-time", "when", "--drop", "month", "--test", "other.csv"];
    let (record, _) = train(home.path(), &more);
    let caution = record["population"]["caution"].as_str().unwrap();
    assert!(caution.contains("between the earlier half and the later half of calibration"), "{caution}");
    let comparisons = record["population"]["comparisons"].as_array().unwrap();
    assert!(comparisons.iter().all(|one| one["second"] != "test"), "{comparisons:?}");
}
