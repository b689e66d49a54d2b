//! Goals in money, and rows that are left to people.

use serde_json::Value;

use crate::data::shop;
use crate::{directory, read, setpoint, write};

/// Shop rows with an amount for each: the last column but the label.
fn paid(rows: usize, seed: u64) -> String {
    let amount = |row: usize| 5 + (row * 7) % 40;
    let line = |(row, line): (usize, &str)| match row {
        0 => format!("amount,{line}\n"),
        _ => format!("{},{line}\n", amount(row)),
    };
    shop(rows, seed).lines().enumerate().map(line).collect()
}

fn rate(record: &Value, name: &str) -> f64 {
    let rates = record["at_threshold"].as_array().unwrap();
    rates.iter().find(|one| one["name"] == name).unwrap()["value"].as_f64().unwrap()
}

#[test]
fn profit_is_trained_for_bounded_and_told_in_the_users_units() {
    let home = directory();
    write(home.path(), "shop.csv", &paid(4000, 11));
    write(home.path(), "more.csv", &paid(2000, 12));
    let goal = "profit(tp=amount, fp=-5)";
    let train = ["train", "shop.csv", "--label", "bought", "--goal", goal, "--drop", "amount", "-o", "m"];
    let run = setpoint(home.path(), &[&train[..], &["--json"]].concat()).ok();
    let record = run.json();
    assert_eq!(record["goal"], goal);
    let names: Vec<&str> =
        record["candidates"].as_array().unwrap().iter().filter_map(|one| one["name"].as_str()).collect();
    assert!(names.contains(&"cross-entropy, weighed by amounts"), "{names:?}");
    let money = &record["money"]["calibration"];
    let (total, rows) = (money["total"].as_f64().unwrap(), money["rows"].as_f64().unwrap());
    assert!((total / rows - money["per_row"].as_f64().unwrap()).abs() < 1e-9);
    // Deciding nobody pays nothing, and the model is worth more than that and than deciding everybody.
    assert_eq!(money["nobody"], 0.0);
    assert!(money["per_row"].as_f64().unwrap() > money["everybody"].as_f64().unwrap().max(0.0));
    let amount = &record["certificate"]["amount"];
    assert_eq!((&amount["quantity"], &amount["assumed"]), (&Value::from("profit"), &Value::Null));
    assert!(amount["bound"].as_f64().unwrap() < amount["observed"].as_f64().unwrap());
    assert!(
        run.stderr.contains(" a row (observed ") && run.stderr.contains("money     profit "),
        "{}",
        run.stderr
    );

    // The same sum by hand from predictions, which need no amounts.
    let record = setpoint(home.path(), &["evaluate", "m", "more.csv", "--json"]).ok().json();
    setpoint(home.path(), &["predict", "m", "more.csv", "-o", "out.csv", "-q"]).ok();
    let out = String::from_utf8(read(home.path(), "out.csv")).unwrap();
    let paid: f64 = out
        .lines()
        .zip(paid(2000, 12).lines())
        .skip(1)
        .filter(|(decided, _)| decided.ends_with(",1"))
        .map(|(_, row)| match row.ends_with("yes") {
            true => row.split(',').next().unwrap().parse::<f64>().unwrap(),
            false => -5.0,
        })
        .sum();
    assert!((paid - record["money"]["total"].as_f64().unwrap()).abs() < 1e-6);
    let shop = setpoint(home.path(), &["evaluate", "m", "shop2.csv"]);
    assert_eq!(shop.code, Some(2));
}

#[test]
fn amounts_may_be_constants_under_conditions_and_must_be_there() {
    let home = directory();
    write(home.path(), "shop.csv", &shop(3000, 11));
    let train = |goal: &str| {
        setpoint(
            home.path(),
            &["train", "shop.csv", "--label", "bought", "--goal", goal, "--json", "-o", "m"],
        )
    };
    let record = train("cost(fp=1, fn=4) @ positive-rate<=30%").trained().json();
    assert!(record["constraint"]["validation"][0].as_f64().unwrap() <= 0.4, "{record}");
    let refused = train("profit(tp=worth, fp=-5)");
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("no column \"worth\" (--goal)"), "{}", refused.stderr);
}

#[test]
fn rows_between_two_thresholds_are_left_to_people() {
    let home = directory();
    write(home.path(), "shop.csv", &shop(6000, 11));
    write(home.path(), "more.csv", &shop(3000, 12));
    let goal = "coverage @ precision>=0.7, npv>=0.95";
    let run = setpoint(
        home.path(),
        &[
            "train", "shop.csv", "--label", "bought", "--goal", goal, "--json", "-o", "m", "--report",
            "r.html", "--volume", "25000",
        ],
    )
    .trained();
    let record = run.json();
    let thresholds = record["thresholds"].as_array().unwrap();
    assert_eq!(thresholds.len(), 2);
    assert!(thresholds[0].as_f64() >= thresholds[1].as_f64());
    assert!(run.stderr.contains("left to people"), "{}", run.stderr);
    let page = String::from_utf8(read(home.path(), "r.html")).unwrap();
    assert!(page.contains("left to people") && page.contains("of 25,000 a day"));
    assert!(run.stderr.contains("of 25,000 a day"), "{}", run.stderr);
    for (volume, said) in [(&[][..], "of 1,000 a day"), (&["--volume", "400"], "of 400 a day")] {
        let run =
            setpoint(home.path(), &[&["report", "m", "more.csv", "-o", "s.html"], volume].concat()).ok();
        let page = String::from_utf8(read(home.path(), "s.html")).unwrap();
        assert!(page.contains(said) && run.stdout.contains(said), "{}", run.stdout);
    }
    let refused = setpoint(home.path(), &["evaluate", "m", "more.csv", "--volume", "-3"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("--volume -3: expected a number of rows a day"), "{}", refused.stderr);
    let other = ["train", "shop.csv", "--label", "bought", "--goal", "f1", "-o", "o", "--volume", "9"];
    let refused = setpoint(home.path(), &other);
    assert!(refused.stderr.contains("--volume: is for goals of coverage"), "{}", refused.stderr);

    let record = setpoint(home.path(), &["evaluate", "m", "more.csv", "--json"]).ok().json();
    let band = &record["band"];
    let of = |name: &str| band[name].as_f64().unwrap();
    assert_eq!(of("positive") + of("undecided") + of("negative"), 3000.0);
    assert!((rate(&record, "coverage") - (of("positive") + of("negative")) / 3000.0).abs() < 1e-12);
    setpoint(home.path(), &["predict", "m", "more.csv", "-o", "out.csv", "-q"]).ok();
    let out = String::from_utf8(read(home.path(), "out.csv")).unwrap();
    let count = |end: &str| out.lines().skip(1).filter(|line| line.ends_with(end)).count() as f64;
    assert_eq!((count(",1"), count(",0"), count(",")), (of("positive"), of("negative"), of("undecided")));
    setpoint(home.path(), &["predict", "m", "more.csv", "-o", "out.csv", "-q", "--abstain", "review"]).ok();
    let out = String::from_utf8(read(home.path(), "out.csv")).unwrap();
    assert_eq!(out.lines().filter(|line| line.ends_with(",review")).count() as f64, of("undecided"));
    setpoint(home.path(), &["predict", "m", "more.csv", "-o", "out.parquet", "-q"]).ok();
    if setpoint_onnx::library_file().is_some() {
        let run = setpoint(home.path(), &["export", "m", "-o", "m.onnx", "--check", "more.csv"]).ok();
        assert!(
            run.stderr.contains("every decision the same, every score the same to the last bit"),
            "{run:?}"
        );
    } else {
        eprintln!("skipped: export --check without onnxruntime");
    }
}

#[test]
fn accuracy_and_gaps_are_certified_along_the_frontier() {
    let home = directory();
    write(home.path(), "shop.csv", &shop(8000, 11));
    let goal = "recall @ accuracy>=0.8";
    let run = setpoint(
        home.path(),
        &["train", "shop.csv", "--label", "bought", "--goal", goal, "--json", "-o", "m"],
    );
    let record = run.ok().json();
    let method = &record["certificate"]["conditions"][0]["method"];
    assert_eq!((&method["name"], &method["proof"]), (&Value::from("frontier"), &Value::from("tests")));
    let drift = setpoint(home.path(), &["evaluate", "m", "shop.csv", "--json"]).ok().json();
    assert_eq!(drift["drift"][0]["condition"], "accuracy>=0.8");
}
