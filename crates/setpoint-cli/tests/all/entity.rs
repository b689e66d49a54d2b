//! Rows that belong together: entities are the draws, from the split to the report.

use crate::data::{shop, visits};
use crate::{directory, setpoint, write};

const GOAL: &str = "recall @ fpr<=10%";

#[test]
fn few_entities_ship_an_approximate_limit_that_everything_calls_so() {
    let home = directory();
    write(home.path(), "v.csv", &visits(150, 20, 1));
    let base = ["train", "v.csv", "--label", "y", "--goal", GOAL, "--drop", "p", "-o", "m", "--json"];
    let run = setpoint(home.path(), &[&base[..], &["--split-by", "who", "--report", "r.html"]].concat()).ok();
    let record = run.json();
    assert!(record["certificate"].is_null(), "{record}");
    let refused = record["certificate_refused"].as_str().unwrap();
    assert!(refused.contains("entities (column \"who\", up to "), "{refused}");
    assert!(refused.contains("cannot certify fpr <= 10% at 95% confidence; at least "), "{refused}");
    assert_eq!(record["approximate"]["entities"]["column"], "who");
    assert_eq!(record["approximate"]["threshold"], record["thresholds"][0]);
    assert_eq!(record["approximate"]["conditions"][0]["method"]["name"], "approximate");
    assert!(
        run.stderr.contains("approximate, not certified: meant for 95% confidence on "),
        "{}",
        run.stderr
    );
    let page = std::fs::read_to_string(home.path().join("r.html")).unwrap();
    assert!(page.contains("Not certified: an approximate limit by entity"));
    assert!(!page.contains("Certified: "));

    write(home.path(), "more.csv", &visits(60, 20, 2));
    let run = setpoint(home.path(), &["evaluate", "m", "more.csv", "--json"]).ok();
    let evaluated = run.json();
    assert!(evaluated["certificate"].is_null() && !evaluated["approximate"].is_null());
    assert_eq!(evaluated["at_threshold"][0]["interval"]["method"], "bootstrap of entities");
    assert!(run.stderr.contains("approximate, not certified"), "{}", run.stderr);
    // A file that does not say what belongs together is measured row by row, and that is said.
    write(home.path(), "other.csv", &visits(60, 20, 2).replace("who,x", "whom,x"));
    let run = setpoint(home.path(), &["evaluate", "m", "other.csv", "--json"]).ok();
    assert_eq!(run.json()["at_threshold"][0]["interval"]["method"], "Clopper-Pearson");
    assert!(run.stderr.contains("no column \"who\""), "{}", run.stderr);
    let named = setpoint(home.path(), &["evaluate", "m", "other.csv", "--json", "--split-by", "whom"]).ok();
    let interval = |record: &serde_json::Value| record["at_threshold"][1]["interval"].clone();
    assert_eq!(interval(&named.json()), interval(&evaluated));
}

#[test]
fn many_entities_are_certified_by_bets_and_tested_so() {
    let home = directory();
    write(home.path(), "v.csv", &visits(700, 8, 3));
    let base = ["train", "v.csv", "--label", "y", "--goal", GOAL, "--drop", "p", "-o", "m", "--json", "-q"];
    let by_entity = setpoint(home.path(), &[&base[..], &["--split-by", "who"]].concat()).ok().json();
    let method = &by_entity["certificate"]["conditions"][0]["method"];
    assert_eq!(method["name"], "betting", "{by_entity}");
    assert_eq!((&method["largest"], &by_entity["approximate"]), (&8.into(), &serde_json::Value::Null));
    write(home.path(), "more.csv", &visits(300, 8, 4));
    let run = setpoint(home.path(), &["evaluate", "m", "more.csv", "--check"]).ok();
    assert!(run.stdout.contains(" entities (column \"who\")"), "{}", run.stdout);
    assert!(run.stdout.contains("assuming that none has more than 8 such examples"), "{}", run.stdout);
    // Without the column the bets cannot be made.
    write(home.path(), "other.csv", &visits(300, 8, 4).replace("who,x", "whom,x"));
    let other = setpoint(home.path(), &["evaluate", "m", "other.csv", "--json", "-q"]).ok().json();
    assert!(other["drift_refused"].as_str().unwrap().contains("counts entities (column \"who\")"), "{other}");
}

#[test]
fn scores_of_any_model_are_certified_by_entity() {
    let home = directory();
    write(home.path(), "few.csv", &visits(30, 20, 5));
    write(home.path(), "many.csv", &visits(400, 8, 6));
    let certify = |file: &str, more: &[&str]| {
        let base = ["certify", file, "--label", "y", "--score", "p", "--goal", "fpr<=10%", "--json"];
        setpoint(home.path(), &[&base[..], more].concat())
    };
    let refused = certify("few.csv", &["--split-by", "who"]);
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""));
    assert!(refused.stderr.starts_with("error: 30 entities (column \"who\", up to "), "{}", refused.stderr);
    let near = certify("few.csv", &["--split-by", "who", "--approximate"]).ok();
    assert!(near.stderr.starts_with("approximate, not certified: "), "{}", near.stderr);
    let proved = certify("many.csv", &["--split-by", "who"]).ok().json();
    let by_row = certify("many.csv", &[]).ok().json();
    let threshold = |record: &serde_json::Value| record["threshold"].as_f64().unwrap();
    // What is proved of alike rows costs something: the threshold is stricter.
    assert!(threshold(&proved) > threshold(&by_row), "{proved} {by_row}");
    assert_eq!(proved["entities"]["count"], 400);
}

#[test]
fn rows_repeated_many_times_over_get_a_caution() {
    let home = directory();
    let (head, rows) = ("y,p", visits(20, 10, 7));
    let rows: Vec<&str> = rows.lines().skip(1).map(|line| line.splitn(4, ',').nth(3).unwrap()).collect();
    write(home.path(), "copies.csv", &format!("{head}\n{}\n", vec![rows.join("\n"); 10].join("\n")));
    let certify = ["certify", "copies.csv", "--label", "y", "--score", "p", "--goal", "fpr<=10%", "--json"];
    let run = setpoint(home.path(), &certify).ok();
    let caution = "2000 rows have 200 different scores";
    assert!(run.json()["caution"].as_str().unwrap().starts_with(caution), "{}", run.stdout);
    assert!(run.stderr.contains(caution), "{}", run.stderr);
    let rows = shop(400, 8);
    let (head, rows) = rows.split_once('\n').unwrap();
    write(home.path(), "shop.csv", &format!("{head}\n{}", rows.repeat(10)));
    let run =
        setpoint(home.path(), &["train", "shop.csv", "--label", "bought", "--goal", GOAL, "-o", "m"]).ok();
    assert!(run.stdout.contains("caution: of 800 calibration rows only "), "{}", run.stdout);
}

#[test]
fn decisions_along_a_frontier_are_proved_by_bets_on_entities() {
    let home = directory();
    write(home.path(), "v.csv", &visits(900, 8, 3));
    write(home.path(), "more.csv", &visits(900, 8, 4));
    let goal = "error @ coverage>=0.5";
    let base = ["train", "v.csv", "--label", "y", "--goal", goal, "--drop", "p", "-o", "m", "--json", "-q"];
    let record = setpoint(home.path(), &[&base[..], &["--split-by", "who"]].concat()).ok().json();
    let method = &record["certificate"]["conditions"][0]["method"];
    assert_eq!((&method["name"], &method["largest"]), (&"frontier".into(), &8.into()), "{record}");
    assert_eq!(record["certificate"]["entities"]["column"], "who");
    let run = setpoint(home.path(), &["evaluate", "m", "more.csv", "--check"]).ok();
    assert!(run.stdout.contains("assuming that none has more than 8 such examples"), "{}", run.stdout);
    setpoint(home.path(), &["monitor", "m", "more.csv", "--state", "w.json"]).ok();
    let anew = setpoint(home.path(), &["recertify", "m", "more.csv", "-o", "n", "--json"]).ok().json();
    assert_eq!(anew["certificate"]["conditions"][0]["method"]["largest"], 8);
    // Rows that do not say what belongs together test and watch nothing.
    write(home.path(), "other.csv", &visits(60, 8, 2).replace("who,x", "whom,x"));
    let refused = setpoint(home.path(), &["monitor", "m", "other.csv", "--state", "w.json"]);
    assert!(refused.code == Some(2) && refused.stderr.contains("\"who\""), "{}", refused.stderr);
}
