//! Labels of several classes, from the table to the report.

use std::path::Path;

use serde_json::Value;

use crate::data::Random;
use crate::{Run, directory, read, setpoint, write};

/// Rows of four classes, one of them rare and one with a blank in its name, each about a point of its own.
fn table(rows: usize, seed: u64) -> String {
    let mut random = Random::new(seed);
    let mut text = "a,b,kind,item\n".to_owned();
    for row in 0..rows {
        let class = match row % 20 {
            0 => 3,
            rest => rest % 3,
        };
        let (x, y) = [(1.0, 0.0), (-0.6, 0.9), (-0.6, -0.9), (0.9, 0.9)][class];
        let (a, b) = (x + 0.6 * random.normal(), y + 0.6 * random.normal());
        let item = ["bag", "coat", "T shirt", "hat"][class];
        text += &format!("{a:.4},{b:.4},{},{item}\n", ["p", "q"][(row / 7) % 2]);
    }
    text
}

const SPLIT: [&str; 2] = ["--split", "train=0.4,validation=0.2,calibration=0.2,test=0.2"];

fn train(home: &Path, goal: &str, more: &[&str]) -> Run {
    let fixed = ["train", "shop.csv", "--label", "item", "--goal", goal, "-o", "m.safetensors"];
    setpoint(home, &[&fixed[..], &SPLIT, more].concat())
}

fn rate<'a>(record: &'a Value, class: usize, name: &str) -> &'a Value {
    let rates = record["by_class"][class]["rates"].as_array().unwrap();
    rates.iter().find(|rate| rate["name"] == name).unwrap_or_else(|| panic!("{name}: {record}"))
}

#[test]
fn a_model_of_several_classes_is_trained_evaluated_and_put_to_use() {
    let home = directory();
    write(home.path(), "shop.csv", &table(4000, 1));
    let goal = "accuracy @ recall(\"T shirt\")>=0.9";
    let record = train(home.path(), goal, &["--json", "--threads", "1"]).ok().json();
    let bytes = read(home.path(), "m.safetensors");
    train(home.path(), goal, &["-q", "--threads", "2"]).ok();
    assert_eq!(bytes, read(home.path(), "m.safetensors"), "one thread and two");
    assert_eq!(record["goal"], goal);
    assert_eq!(record["label"]["classes"], serde_json::json!(["T shirt", "bag", "coat", "hat"]));
    assert_eq!(record["classes"]["shifts"].as_array().unwrap().len(), 4);
    assert!(record.get("thresholds").is_none() && record.get("shipped").is_none(), "{record}");
    assert_eq!(record["certificate"]["condition"], "recall(\"T shirt\")>=0.9");
    assert!(record["objective"]["test"].as_f64().unwrap() > 0.6, "{}", record["objective"]);
    let decided = &record["classes"]["decided"]["test"];
    assert!(rate(decided, 0, "recall")["value"].as_f64().unwrap() > 0.85, "{decided}");

    let evaluated = setpoint(home.path(), &["evaluate", "m.safetensors", "shop.csv", "--json"]).ok().json();
    assert_eq!(evaluated["rows"], 4000);
    assert!(evaluated.get("positives").is_none() && evaluated.get("confusion").is_none());
    let matrix = evaluated["classes"]["decided"]["matrix"].as_array().unwrap();
    let rows = matrix.iter().flat_map(|row| row.as_array().unwrap()).map(|cell| cell.as_f64().unwrap());
    assert!((rows.sum::<f64>() - 4000.0).abs() < 1e-9);
    let recall = rate(&evaluated["classes"]["decided"], 0, "recall");
    let (value, lower) = (recall["value"].as_f64().unwrap(), recall["interval"]["lower"].as_f64().unwrap());
    assert!(lower < value && value < 1.0, "{recall}");
    assert_eq!(evaluated["drift"][0]["condition"], "recall(\"T shirt\")>=0.9");
    let text = setpoint(home.path(), &["evaluate", "m.safetensors", "shop.csv"]).ok().stdout;
    assert!(text.contains("rows      4000 of 4 classes") && text.contains("as T shirt"), "{text}");

    // Decisions by name are those counted.
    let predicted =
        setpoint(home.path(), &["predict", "m.safetensors", "shop.csv", "--keep", "item"]).ok().stdout;
    let mut lines = predicted.lines();
    let names = ["T shirt", "bag", "coat", "hat"];
    let header = lines.next().unwrap();
    assert!(header.starts_with("item,score(T shirt),score(bag),"), "{header}");
    assert!(header.ends_with("probability(hat),decision"), "{header}");
    let mut right = 0.0;
    for line in lines {
        let fields: Vec<&str> = line.split(',').collect();
        assert!(names.contains(&fields[9]), "{line}");
        right += f64::from(u8::from(fields[0] == fields[9]));
        let sum: f64 = fields[5..9].iter().map(|p| p.parse::<f64>().unwrap()).sum();
        assert!((sum - 1.0).abs() < 1e-4, "{line}");
    }
    let accuracy = evaluated["at_threshold"][0]["value"].as_f64().unwrap();
    assert!((right / 4000.0 - accuracy).abs() < 1e-12, "{right} {accuracy}");
    setpoint(home.path(), &["predict", "m.safetensors", "shop.csv", "-o", "out.parquet"]).ok();
}

#[test]
fn every_kind_of_goal_of_classes_is_trained_for() {
    let home = directory();
    write(home.path(), "shop.csv", &table(2400, 2));
    write(
        home.path(),
        "costs.csv",
        "true,hat,bag,coat,T shirt\nbag,1,0,1,1\ncoat,1,1,0,1\nT shirt,1,1,1,0\nhat,0,9,9,9\n",
    );
    for (goal, certified) in [
        ("accuracy @ coverage(each)=prior", false),
        ("accuracy @ coverage(hat)<=3%", true),
        ("balanced-accuracy", false),
        ("macro-f1", false),
        ("worst(recall)", false),
        ("recall(coat) @ precision(coat)>=0.7", true),
        ("accuracy @ recall(bag)>=0.5, recall(coat)>=0.5, recall(\"T shirt\")>=0.5", true),
        ("cost(costs.csv)", false),
    ] {
        let run = train(home.path(), goal, &["--json", "--rotations", "1", "--steps", "60"]).trained();
        let record = run.json();
        assert_eq!(record["certificate"].is_object(), certified, "{goal}: {}", record["certificate_refused"]);
        assert_eq!(run.stderr.contains("warning: the shifts are not certified: "), !certified, "{run:?}");
        assert!(record["objective"]["test"].is_number(), "{goal}");
        let again =
            setpoint(home.path(), &["evaluate", "m.safetensors", "shop.csv", "--json", "-q"]).ok().json();
        assert_eq!(again["goal"], goal);
    }
    // The last of them: what the decisions cost, in figures, text and page.
    let of = |more: &[&str]| {
        setpoint(
            home.path(),
            &[&["evaluate", "m.safetensors", "shop.csv", "--importance", "0"], more].concat(),
        )
        .ok()
    };
    let cost = of(&["--json", "-q"]).json()["classes"]["decided"]["objective"].as_f64().unwrap();
    let run = of(&["--report", "r.html"]);
    let line = run.stdout.lines().find(|line| line.starts_with("cost(costs.csv) as shipped")).unwrap();
    assert_eq!(line.split_whitespace().last().unwrap(), format!("{cost:.4}"));
    assert!(run.stdout.contains("\naccuracy as shipped"), "{run:?}");
    let page = String::from_utf8(read(home.path(), "r.html")).unwrap();
    assert!(page.contains("<dt>cost(costs.csv) a row</dt>"));
}

#[test]
fn networks_tell_several_classes_apart() {
    let home = directory();
    write(home.path(), "shop.csv", &table(2400, 3));
    let small = ["--model", "mlp", "--hidden", "16", "--epochs", "6", "--batch-size", "128"];
    let run = |threads: &str| {
        let more = [&small[..], &["--json", "--threads", threads]].concat();
        let record = train(home.path(), "balanced-accuracy", &more).trained().json();
        (record, read(home.path(), "m.safetensors"))
    };
    let (record, bytes) = run("1");
    assert_eq!(bytes, run("2").1, "one thread and two");
    assert!(record["objective"]["test"].as_f64().unwrap() > 0.5, "{}", record["objective"]);
    setpoint(home.path(), &["predict", "m.safetensors", "shop.csv", "-o", "out.csv"]).ok();
}

#[test]
fn trees_tell_several_classes_apart() {
    if std::env::var_os("SETPOINT_LIGHTGBM").is_none() {
        eprintln!("skipped: SETPOINT_LIGHTGBM is not set");
        return;
    }
    let home = directory();
    write(home.path(), "shop.csv", &table(2000, 8));
    let few = ["--model", "trees", "--search", "2", "--rounds", "20", "--json"];
    let record = train(home.path(), "accuracy @ recall(coat)>=0.6", &few).trained().json();
    assert!(record["objective"]["test"].as_f64().unwrap() > 0.6, "{}", record["objective"]);
    let evaluated =
        setpoint(home.path(), &["evaluate", "m.safetensors", "shop.csv", "--json", "-q"]).ok().json();
    let accuracy = evaluated["at_threshold"][0]["value"].as_f64().unwrap();
    let predicted =
        setpoint(home.path(), &["predict", "m.safetensors", "shop.csv", "--keep", "item"]).ok().stdout;
    let right =
        predicted.lines().skip(1).filter(|line| line.split(',').next() == line.split(',').next_back());
    assert!((right.count() as f64 / 2000.0 - accuracy).abs() < 1e-12);
}

#[test]
fn classes_are_chosen_and_pooled_as_asked() {
    let home = directory();
    write(home.path(), "shop.csv", &table(1200, 4));
    let quick = ["--json", "--rotations", "1", "--steps", "20"];
    let run =
        train(home.path(), "macro-f1", &[&quick[..], &["--classes", "coat,bag,T shirt"]].concat()).trained();
    assert_eq!(run.json()["classes"]["names"], serde_json::json!(["coat", "bag", "T shirt"]));
    assert!(run.stderr.contains("60 rows of other classes were left out"), "{}", run.stderr);
    // A file with other classes is measured on those that the model knows.
    let evaluated =
        setpoint(home.path(), &["evaluate", "m.safetensors", "shop.csv", "--json", "-q"]).ok().json();
    assert_eq!(evaluated["rows"], 1140);
    // So is one that lacks some of them, which is said.
    let few: String = table(1200, 9)
        .lines()
        .filter(|line| !line.ends_with("coat"))
        .map(|line| format!("{line}\n"))
        .collect();
    write(home.path(), "few.csv", &few);
    let run = setpoint(home.path(), &["evaluate", "m.safetensors", "few.csv"]).ok();
    assert!(run.stderr.contains("there are no rows of class coat: "), "{run:?}");
    let tested = [&quick[..], &["--classes", "coat,bag,T shirt", "--test", "few.csv"]].concat();
    let fixed = ["train", "shop.csv", "--label", "item", "--goal", "macro-f1", "-o", "m.safetensors"];
    let run = setpoint(home.path(), &[&fixed[..], &tested].concat()).ok();
    assert!(run.stderr.contains("the test part has no rows of class coat: "), "{run:?}");
    let pooled = [&quick[..], &["--min-class", "400"]].concat();
    let record = train(home.path(), "macro-f1", &pooled).trained().json();
    let names = record["classes"]["names"].as_array().unwrap();
    assert_eq!(names[..], ["coat", "(other)"]);
    let resumed = [&quick[..], &["--checkpoint", "ck"]].concat();
    train(home.path(), "macro-f1", &resumed).trained();
}

#[test]
fn what_does_not_fit_the_classes_is_said() {
    let home = directory();
    write(home.path(), "shop.csv", &table(400, 5));
    write(home.path(), "short.csv", "true,bag\nbag,0\n");
    let alike = "true,hat,bag,coat,T shirt\nbag,1,1,1,1\ncoat,0,0,0,0\nT shirt,1,1,1,1\nhat,2,2,2,2\n";
    write(home.path(), "alike.csv", alike);
    for (goal, more, said) in [
        ("recall @ fpr<=1%", &[][..], "holds 4 different values"),
        (
            "accuracy @ recall(shirt)>=0.9",
            &[],
            "unknown class \"shirt\"; the classes are T shirt, bag, coat, hat",
        ),
        ("macro-f1", &["--positive", "hat"], "macro-f1"),
        ("macro-f1", &["--classes", "hat,cap"], "has no class \"cap\"; the classes are "),
        (
            "macro-f1",
            &["--classes", "hat", "--positive", "hat"],
            "--classes: with --positive the label has two classes",
        ),
        ("recall @ fpr<=1%", &["--min-class", "9"], "--min-class: the goal is of two classes"),
        ("macro-f1", &["--method", "lagrangian"], "several classes"),
        ("macro-f1", &["--group", "kind"], "--group: groups are for labels of two classes"),
        (
            "accuracy",
            &["--group", "kind", "--min-group", "90"],
            "--group: groups are for labels of two classes",
        ),
        ("cost(none.csv)", &[], "none.csv"),
        (
            "cost(short.csv)",
            &[],
            "short.csv: expected one row for each of the classes T shirt, bag, coat, hat, found bag",
        ),
        ("cost(alike.csv)", &[], "alike.csv: whatever the true class, every decision costs the same"),
        ("accuracy @ recall(3)>=1.5", &[], "target recall(3) 1.5 is outside (0, 1)"),
        ("macro-f1 @ recal(hat)>=0.9", &[], "unknown rate \"recal\""),
    ] {
        let run = train(home.path(), goal, more);
        assert_eq!(run.code, Some(2), "{goal} {more:?}: {}", run.stderr);
        assert!(run.stderr.contains(said), "{goal} {more:?}: {}", run.stderr);
    }
    let run = train(home.path(), "accuracy @ recall(each)>=0.99", &["--rotations", "1", "--steps", "5"]);
    assert!(
        run.code == Some(1) && run.stderr.contains("no shifts meet recall(each)>=0.99"),
        "{}",
        run.stderr
    );
    let few = table(60, 6);
    write(home.path(), "shop.csv", &few);
    let run = train(home.path(), "macro-f1", &[]);
    assert!(run.code == Some(2) && run.stderr.contains("would hold no rows of class hat"), "{}", run.stderr);
}

#[test]
fn the_report_shows_the_matrix_before_and_after_and_what_conditions_cost() {
    let home = directory();
    let text = table(2000, 7).replace("T shirt", "<b>shirt");
    write(home.path(), "shop.csv", &text);
    let goal = "accuracy @ recall(hat)>=0.8";
    let report = ["--rotations", "1", "--report", "r.html", "--report-json", "r.json", "-q"];
    train(home.path(), goal, &report).trained();
    let record: Value = serde_json::from_slice(&read(home.path(), "r.json")).unwrap();
    let shown = record["parts"].as_array().unwrap().iter().find(|part| part["name"] == "test").unwrap();
    let prices = shown["evaluation"]["classes"]["prices"].as_array().unwrap();
    assert_eq!(prices[0]["condition"], "recall(hat)>=0.8");
    assert!(prices[0]["price"].as_f64().unwrap() > -0.02, "{prices:?}");
    assert!(shown["evaluation"]["classes"]["plain"]["matrix"].is_array());
    let page = String::from_utf8(read(home.path(), "r.html")).unwrap();
    for part in [
        "class=\"chart matrix\"",
        "&lt;b&gt;shirt",
        "before",
        "What each condition costs",
        "shifts, one for each class",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("<b>shirt") && !page.contains("score ≥"));
    setpoint(home.path(), &["report", "m.safetensors", "shop.csv", "-o", "again.html", "-q"]).ok();
}

/// The sets of several classes, where they are at hand.
#[test]
fn real_sets_are_trained_for_goals_of_their_classes() {
    let Some(data) = std::env::var_os("SETPOINT_DATA").map(std::path::PathBuf::from) else {
        eprintln!("skipped: SETPOINT_DATA is not set");
        return;
    };
    let home = directory();
    for (file, flags, goal, least) in [
        ("sat.trn", &["--label", "37"][..], "accuracy @ recall(4)>=0.7", 0.7),
        ("pendigits.tra", &["--label", "17"], "recall(9) @ precision(9)>=0.9", 0.9),
        ("letter-recognition.data", &["--label", "1"], "worst(recall)", 0.5),
    ] {
        let file = data.join(file).to_str().unwrap().to_owned();
        let run = |threads: &str, output: &str| {
            let fixed = ["train", &file, "--goal", goal, "--json", "-q", "--threads", threads, "-o", output];
            setpoint(home.path(), &[&fixed[..], flags, &SPLIT, &["--rotations", "1"]].concat())
                .trained()
                .json()
        };
        let record = run("2", "two");
        let value = record["objective"]["test"].as_f64().unwrap();
        assert!(value > least, "{file}: {value}");
        if goal.starts_with("accuracy") {
            run("1", "one");
            assert_eq!(read(home.path(), "one"), read(home.path(), "two"), "{file}");
        }
    }
}

#[test]
fn a_model_of_several_classes_is_watched_and_certified_anew() {
    let home = directory();
    let home = home.path();
    write(home, "shop.csv", &table(4000, 1));
    train(home, "accuracy @ recall(coat)>=0.8, precision(bag)>=0.7", &["-q"]).ok();
    let monitor = |data: &str, more: &[&str]| {
        setpoint(home, &[&["monitor", "m.safetensors", data, "--state", "watch.json"], more].concat())
    };
    for night in 0..4 {
        write(home, "night.csv", &table(800, 20 + night));
        let run = monitor("night.csv", &[]).ok();
        assert!(run.stdout.contains("standing  quiet"), "{run:?}");
        assert!(run.stdout.contains("recall(coat)>=0.8: survives another mix of classes"), "{run:?}");
        assert!(run.stdout.contains("precision(bag)>=0.7: holds at the mix of classes"), "{run:?}");
    }
    let only = |text: &str, keep: &dyn Fn(&str) -> bool| -> String {
        text.lines()
            .enumerate()
            .filter(|(at, line)| *at == 0 || keep(line))
            .map(|(_, line)| line.to_owned() + "\n")
            .collect()
    };
    // One class alone says nothing of the recall of another.
    write(home, "bags.csv", &only(&table(800, 30), &|line| line.ends_with(",bag")));
    let status = monitor("bags.csv", &["--json", "-q"]).ok().json();
    assert_eq!(status["rows"].as_u64(), Some(3440));
    assert_eq!(status["conditions"][0]["of"], "rows of the class");
    let unlabelled = |text: &str| -> String {
        text.lines().map(|line| line.rsplit_once(',').unwrap().0.to_owned() + "\n").collect()
    };
    write(home, "new.csv", &unlabelled(&table(1000, 31)));
    assert_eq!(monitor("new.csv", &["--unlabelled", "--json", "-q"]).ok().json()["hint"], false);
    write(home, "new.csv", &unlabelled(&only(&table(2000, 32), &|line| !line.ends_with(",bag"))));
    let run = monitor("new.csv", &["--unlabelled", "--report", "watch.html"]).ok();
    assert!(run.stdout.contains("hint      the share decided as bag changed"), "{run:?}");
    let page = String::from_utf8(read(home, "watch.html")).unwrap();
    assert!(page.contains("Share decided as bag") && page.contains("recall(coat)&gt;=0.8: evidence"));
    // Coats that are called something else now.
    let renamed = table(1500, 33).replace(",bag\n", ",coat\n");
    write(home, "night.csv", &renamed);
    let run = monitor("night.csv", &[]);
    assert!(run.code == Some(1) && run.stderr.contains("recall(coat)>=0.8 is broken"), "{run:?}");

    write(home, "june.csv", &table(5000, 34));
    let anew = |data: &str, more: &[&str]| {
        setpoint(home, &[&["recertify", "m.safetensors", data, "-o", "n.safetensors"], more].concat())
    };
    let run = anew("june.csv", &[]).ok();
    assert!(
        run.stdout.contains("rows      5000 of 4 classes") && run.stdout.contains(" of coat (before: "),
        "{run:?}"
    );
    // Two thirds of the rows are the proof.
    assert!(run.stdout.contains("certified at 95% confidence on 3334 examples"), "{run:?}");
    let bytes = read(home, "n.safetensors");
    anew("june.csv", &["-q"]).ok();
    assert_eq!(bytes, read(home, "n.safetensors"));
    let evaluated = setpoint(home, &["evaluate", "n.safetensors", "june.csv", "--json", "-q"]).ok().json();
    assert_eq!(evaluated["drift"][0]["survives_mix"], true);
    let text = String::from_utf8_lossy(&bytes);
    assert!(text.contains("earlier-certificates") && text.contains("sketch-decided"));
    let run = setpoint(home, &["monitor", "n.safetensors", "june.csv", "--state", "watch.json"]);
    assert!(run.code == Some(2) && run.stderr.contains("of another model"), "{run:?}");
    write(home, "few.csv", &table(60, 35));
    assert_eq!(anew("few.csv", &[]).code, Some(1));
    let run = anew("june.csv", &["--prevalence", "3%"]);
    assert!(
        run.code == Some(2) && run.stderr.contains("leave --inclusion, --prevalence and --unlabelled out"),
        "{run:?}"
    );
    let run = setpoint(home, &["sample", "m.safetensors", "new.csv", "--labels", "9", "-o", "rows.csv"]);
    assert!(run.code == Some(2) && run.stderr.contains("have rows labelled as they come"), "{run:?}");
}
