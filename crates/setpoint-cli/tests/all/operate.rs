//! A model after training: watched, certified anew, and the rows to have labelled.

use std::path::Path;

use crate::data::shop;
use crate::{Run, directory, read, setpoint, write};

const STATE: [&str; 2] = ["--state", "watch.json"];

fn train(home: &Path, goal: &str, more: &[&str]) {
    write(home, "shop.csv", &shop(6000, 1));
    let run = setpoint(
        home,
        &[&["train", "shop.csv", "--label", "bought", "--goal", goal, "-o", "m.safetensors"], more].concat(),
    );
    run.trained();
}

fn monitor(home: &Path, data: &str, more: &[&str]) -> Run {
    setpoint(home, &[&["monitor", "m.safetensors", data], &STATE[..], more].concat())
}

/// Rows of which many negatives look like positives.
fn drifted(rows: usize, seed: u64) -> String {
    let text = shop(rows, seed);
    let mut lines = text.lines();
    let mut changed = lines.next().unwrap().to_owned() + "\n";
    for (row, line) in lines.enumerate() {
        let mut fields: Vec<String> = line.split(',').map(str::to_owned).collect();
        if row % 4 == 0 && fields[4] == "no" {
            (fields[0], fields[1]) = ("70.0".to_owned(), "55.00".to_owned());
        }
        changed += &(fields.join(",") + "\n");
    }
    changed
}

#[test]
fn a_watch_is_quiet_until_a_condition_breaks_and_says_so_from_then_on() {
    let home = directory();
    let home = home.path();
    train(home, "recall @ fpr<=10%", &["--drop", "sex"]);
    for night in 0..5 {
        write(home, "night.csv", &shop(800, 100 + night));
        let run = monitor(home, "night.csv", &[]).ok();
        assert!(run.stdout.contains("standing  quiet; a false alarm, ever: at most 5.00%"), "{run:?}");
        assert!(run.stdout.contains("mix       fpr<=10%: survives another mix of classes"), "{run:?}");
    }
    // A night on which nothing happened.
    write(home, "none.csv", "age,income,town,sex,bought\n");
    let none = monitor(home, "none.csv", &["--json", "-q"]).ok().json();
    assert_eq!(none["rows"].as_u64(), Some(4000));
    let quiet = monitor(home, "night.csv", &["--json", "-q"]).ok().json();
    assert_eq!((quiet["alarm"].as_bool(), quiet["rows"].as_u64()), (Some(false), Some(4800)));
    let condition = &quiet["conditions"][0];
    assert!(condition["needed_rows"].as_u64().unwrap() > condition["needed"].as_u64().unwrap());
    assert_eq!(condition["history"].as_array().unwrap().len(), 6);
    write(home, "night.csv", &drifted(2000, 7));
    let run = monitor(home, "night.csv", &["--report", "watch.html"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(
        run.stderr.contains("error: fpr<=10% is broken: the alarm was raised after 6800 rows"),
        "{run:?}"
    );
    let page = String::from_utf8(read(home, "watch.html")).unwrap();
    assert!(page.contains("A certified condition is broken.") && page.contains("fpr&lt;=10%: evidence"));
    write(home, "night.csv", &shop(800, 200));
    assert_eq!(monitor(home, "night.csv", &["-q"]).code, Some(1));
}

#[test]
fn rows_without_labels_give_hints_and_no_alarm() {
    let home = directory();
    let home = home.path();
    train(home, "recall @ fpr<=10%", &["--drop", "sex"]);
    let unlabelled = |text: String| -> String {
        text.lines().map(|line| line.rsplit_once(',').unwrap().0.to_owned() + "\n").collect()
    };
    write(home, "new.csv", &unlabelled(shop(2000, 5)));
    let quiet = monitor(home, "new.csv", &["--unlabelled", "--json", "-q"]).ok().json();
    assert_eq!((quiet["hint"].as_bool(), quiet["unlabelled"].as_u64()), (Some(false), Some(2000)));
    write(home, "new.csv", &unlabelled(drifted(2000, 6)));
    let run = monitor(home, "new.csv", &["--unlabelled", "--report", "hint.html"]).ok();
    assert!(
        run.stdout.contains("hint      the share decided positive changed, told after 4000 rows"),
        "{run:?}"
    );
    assert!(
        String::from_utf8(read(home, "hint.html")).unwrap().contains("A hint is not a broken certificate")
    );
}

#[test]
fn states_are_refused_for_other_models_and_other_promises_and_kept_whole() {
    let home = directory();
    let home = home.path();
    train(home, "recall @ fpr<=10%", &["--drop", "sex"]);
    write(home, "night.csv", &shop(500, 3));
    monitor(home, "night.csv", &["--alpha", "10%"]).ok();
    let before = read(home, "watch.json");
    let refused = |run: &Run, said: &str| {
        assert!(run.code == Some(2) && run.stderr.contains(said), "{run:?}");
        assert_eq!(read(home, "watch.json"), before);
    };
    refused(&monitor(home, "night.csv", &["--alpha", "5%"]), "--alpha 0.05: the watch began with 0.1");
    write(home, "less.csv", "age,income\n1,2\n");
    refused(&monitor(home, "less.csv", &[]), "less.csv");
    setpoint(home, &["recertify", "m.safetensors", "night.csv", "-o", "n.safetensors"]).ok();
    let other = setpoint(home, &[&["monitor", "n.safetensors", "night.csv"], &STATE[..]].concat());
    refused(&other, "--state watch.json: the state is of another model");
    let same = setpoint(home, &["monitor", "m.safetensors", "night.csv", "--state", "night.csv"]);
    assert!(same.stderr.contains("the same file as the data"), "{same:?}");
    write(home, "bad.json", "{}");
    let bad = setpoint(home, &["monitor", "m.safetensors", "night.csv", "--state", "bad.json"]);
    assert!(bad.code == Some(2) && bad.stderr.contains("not the state of a watch, or damaged"), "{bad:?}");
}

#[test]
fn groups_are_watched_and_certified_anew_by_name() {
    let home = directory();
    let home = home.path();
    train(home, "recall @ fpr(sex)<=20%", &["--group", "sex"]);
    write(home, "night.csv", &shop(1500, 3));
    let status = monitor(home, "night.csv", &["--json", "-q"]).ok().json();
    let groups: Vec<&str> =
        status["conditions"].as_array().unwrap().iter().map(|one| one["group"].as_str().unwrap()).collect();
    assert_eq!((groups, status["conditions"][0]["alarm_at"].as_f64()), (vec!["f", "m"], Some(40.0)));
    let run =
        setpoint(home, &["recertify", "m.safetensors", "night.csv", "-o", "n.safetensors", "--json", "-q"]);
    assert_eq!(run.ok().json()["thresholds"].as_array().unwrap().len(), 2);
    let women: String = shop(1500, 4)
        .lines()
        .filter(|line| line.contains("sex") || line.contains(",f,"))
        .map(|l| l.to_owned() + "\n")
        .collect();
    write(home, "women.csv", &women);
    monitor(home, "women.csv", &[]).ok();
    let run = setpoint(home, &["recertify", "m.safetensors", "women.csv", "-o", "x.safetensors"]);
    assert!(run.code == Some(2) && run.stderr.contains("none of group m of column"), "{run:?}");
    assert!(!home.join("x.safetensors").exists());
}

#[test]
fn a_certificate_anew_keeps_the_old_one_and_the_model() {
    let home = directory();
    let home = home.path();
    train(home, "recall @ fpr<=10%", &["--drop", "sex"]);
    write(home, "june.csv", &shop(3000, 9));
    let run = setpoint(home, &["recertify", "m.safetensors", "june.csv", "-o", "n.safetensors"]).ok();
    assert!(
        run.stdout.contains("(before: ")
            && run.stdout.contains("certified at 95% confidence on 3000 examples")
    );
    let scores = |model: &str| {
        let run = setpoint(home, &["predict", model, "june.csv"]).ok();
        run.stdout.lines().map(|line| line.split(',').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(scores("m.safetensors"), scores("n.safetensors"));
    setpoint(home, &["evaluate", "n.safetensors", "june.csv"]).ok();
    let bytes = read(home, "n.safetensors");
    let text = String::from_utf8_lossy(&bytes);
    assert!(text.contains("earlier-certificates") && text.contains("recertified-on"));
    write(home, "few.csv", &shop(30, 9));
    let few = setpoint(home, &["recertify", "m.safetensors", "few.csv", "-o", "x.safetensors"]);
    assert!(few.code == Some(1) && few.stderr.contains("cannot certify fpr <= 10%"), "{few:?}");
}

#[test]
fn sampled_rows_certify_with_their_chances() {
    let home = directory();
    let home = home.path();
    train(home, "recall @ fpr<=5%", &["--drop", "sex"]);
    write(home, "pool.csv", &shop(20_000, 11));
    let run =
        setpoint(home, &["sample", "m.safetensors", "pool.csv", "--labels", "1500", "-o", "rows.csv"]).ok();
    assert!(run.stderr.contains("of 20000 rows"), "{run:?}");
    let rows = String::from_utf8(read(home, "rows.csv")).unwrap();
    assert!(rows.starts_with("age,income,town,sex,bought,row,score,inclusion\n"), "{}", &rows[..100]);
    assert!((1300..1700).contains(&rows.lines().count()), "{}", rows.lines().count());
    let again =
        setpoint(home, &["sample", "m.safetensors", "pool.csv", "--labels", "1500", "-o", "again.csv"]);
    again.ok();
    assert_eq!(read(home, "rows.csv"), read(home, "again.csv"));
    let run = setpoint(
        home,
        &["recertify", "m.safetensors", "rows.csv", "--inclusion", "inclusion", "-o", "n.safetensors"],
    )
    .ok();
    assert!(run.stdout.contains("by bets on sampled rows, assuming that none"), "{run:?}");
    // Its rows are not draws of what is scored, so that the file has no sketch of them.
    let run = setpoint(home, &["monitor", "n.safetensors", "pool.csv", "--unlabelled", "--state", "s.json"]);
    assert!(run.code == Some(2) && run.stderr.contains("holds no sketch"), "{run:?}");
    let run = setpoint(
        home,
        &["recertify", "m.safetensors", "rows.csv", "--inclusion", "score", "-o", "x.safetensors"],
    );
    assert_eq!(run.code, Some(2), "{run:?}");
}

#[test]
fn another_share_of_positives_moves_what_depends_on_it() {
    let home = directory();
    let home = home.path();
    train(home, "recall @ precision>=0.6", &["--drop", "sex"]);
    write(home, "june.csv", &shop(6000, 21));
    let recertified = |more: &[&str]| {
        let run = setpoint(
            home,
            &[&["recertify", "m.safetensors", "june.csv", "-o", "n.safetensors", "--json"], more].concat(),
        )
        .ok();
        assert!(run.stderr.contains("mix       precision>=0.6: holds at "), "{run:?}");
        run.json()
    };
    let threshold = |record: &serde_json::Value| record["thresholds"][0].as_f64().unwrap();
    let plain = recertified(&[]);
    let rare = recertified(&["--prevalence", "8%"]);
    assert!(threshold(&rare) > threshold(&plain), "{rare} {plain}");
    assert_eq!(rare["mix"]["share"].as_f64(), Some(0.08));
    assert!(rare["mix"]["classes_p_value"].as_f64().unwrap() > 0.001);
    // Every second positive left out: 1 in 11 instead of 1 in 6.
    let mut positives = 0;
    let kept = shop(6000, 22)
        .lines()
        .filter(|line| {
            positives += usize::from(line.ends_with(",yes"));
            !line.ends_with(",yes") || positives % 2 == 0
        })
        .map(|line| line.rsplit_once(',').unwrap().0.to_owned() + "\n")
        .collect::<String>();
    write(home, "abroad.csv", &kept);
    let abroad = recertified(&["--unlabelled", "abroad.csv"]);
    let mix = &abroad["mix"];
    assert!(mix["lower"].as_f64().unwrap() < 0.0909 && mix["upper"].as_f64().unwrap() > 0.0909, "{mix}");
    assert!(mix["estimated"].as_bool().unwrap() && !mix["doubtful"].as_bool().unwrap(), "{mix}");
    assert!(threshold(&abroad) > threshold(&plain));
    let run = setpoint(
        home,
        &["recertify", "m.safetensors", "june.csv", "-o", "x.safetensors", "--prevalence", "2"],
    );
    assert!(run.code == Some(2) && run.stderr.contains("--prevalence 2: expected a probability"), "{run:?}");
}

#[test]
fn rows_left_to_people_are_watched_and_certified_anew() {
    let home = directory();
    let home = home.path();
    train(home, "coverage @ precision>=0.6, npv>=0.9", &[]);
    for night in 0..3 {
        write(home, "night.csv", &shop(800, 100 + night));
        let run = monitor(home, "night.csv", &[]).ok();
        assert!(run.stdout.contains("predicted negatives"), "{run:?}");
    }
    let quiet = monitor(home, "night.csv", &["--unlabelled", "--json", "-q"]).ok().json();
    assert_eq!((quiet["rows"].as_u64(), quiet["unlabelled"].as_u64()), (Some(2400), Some(800)));
    assert_eq!(quiet["hints"][0]["what"], "share left to people");
    // The rates are those of `evaluate` on the same rows.
    let one =
        setpoint(home, &["monitor", "m.safetensors", "night.csv", "--state", "one.json", "--json"]).ok();
    let band = setpoint(home, &["evaluate", "m.safetensors", "night.csv", "--json"]).ok().json();
    for (place, rate) in ["precision", "npv"].into_iter().enumerate() {
        let watched = one.json()["conditions"][place]["rate"].as_f64().unwrap();
        assert!((watched - band["band"][rate].as_f64().unwrap()).abs() < 1e-12, "{rate}");
    }
    write(home, "night.csv", &drifted(3000, 7));
    let run = monitor(home, "night.csv", &[]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.stderr.contains("precision>=0.6 is broken"), "{run:?}");
    let anew = ["recertify", "m.safetensors", "night.csv", "-o", "n.safetensors"];
    let record = setpoint(home, &[&anew[..], &["--json"]].concat()).ok().json();
    let thresholds = record["thresholds"].as_array().unwrap();
    assert!(thresholds.len() == 2 && thresholds[0].as_f64() > record["thresholds_before"][0].as_f64());
    assert_eq!(record["certificate"]["conditions"].as_array().unwrap().len(), 2);
    write(home, "new.csv", &drifted(3000, 8));
    let check = ["evaluate", "n.safetensors", "new.csv", "--check", "--json"];
    let record = setpoint(home, &check).ok().json();
    assert!(record["band"]["precision"].as_f64().unwrap() >= 0.6, "{record}");
    setpoint(home, &["monitor", "n.safetensors", "new.csv", "--state", "n.json"]).ok();
    let refused = setpoint(home, &[&anew[..], &["--prevalence", "10%"]].concat());
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("one threshold alone: have rows of that share labelled"), "{refused:?}");
}

#[test]
fn what_is_no_share_of_rows_is_not_watched_and_says_so() {
    let home = directory();
    let home = home.path();
    train(home, "recall @ balanced-accuracy>=0.6", &[]);
    write(home, "night.csv", &shop(500, 3));
    let refused = monitor(home, "night.csv", &[]);
    assert_eq!(refused.code, Some(2));
    assert!(
        refused.stderr.contains("balanced-accuracy>=0.6 is no share of rows")
            && refused.stderr.contains("--check"),
        "{refused:?}"
    );
}
