//! Networks, images and trees: trained, resumed, evaluated and put to use from the command line.

use std::path::Path;

use crate::data::{Random, shop};
use crate::{directory, read, setpoint, write};

const SPLIT: &str = "train=0.5,validation=0.2,calibration=0.15,test=0.15";

fn train<'a>(data: &'a str, label: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let goal = "recall @ fpr<=10%";
    let fixed = ["train", data, "--label", label, "--goal", goal, "--split", SPLIT, "-o", "m.safetensors"];
    [&fixed[..], more].concat()
}

/// Trains as asked with one thread and with two: the same bytes, and a model that tells the classes apart.
fn trained_twice(home: &Path, arguments: &[&str]) -> serde_json::Value {
    let record = setpoint(home, &[arguments, &["--json", "--threads", "1"]].concat()).ok().json();
    let first = read(home, "m.safetensors");
    setpoint(home, &[arguments, &["-q", "--threads", "2"]].concat()).ok();
    assert_eq!(first, read(home, "m.safetensors"), "one thread and two");
    assert!(record["objective"]["test"].as_f64().unwrap() > 0.4, "{}", record["objective"]);
    assert!(record["certificate"].is_object(), "{}", record["certificate_refused"]);
    record
}

fn candidates(record: &serde_json::Value) -> Vec<String> {
    let candidates = record["candidates"].as_array().unwrap().iter();
    candidates.map(|candidate| candidate["name"].as_str().unwrap().to_owned()).collect()
}

const SMALL: [&str; 8] = ["--model", "mlp", "--hidden", "16,8", "--epochs", "8", "--batch-size", "128"];

#[test]
fn a_network_is_trained_evaluated_and_put_to_use() {
    let home = directory();
    write(home.path(), "shop.csv", &shop(4000, 5));
    let record = trained_twice(home.path(), &train("shop.csv", "bought", &SMALL));
    assert_eq!(record["model"], "mlp");
    assert_eq!(candidates(&record)[3], "rotation 2: ico, bandwidth 0.5 tail");
    let once = [&SMALL[..], &["--rotations", "1", "--json"]].concat();
    let once = setpoint(home.path(), &train("shop.csv", "bought", &once)).ok().json();
    let expected = "cross-entropy, positive weight 10, start 3";
    assert_eq!((candidates(&once)[2].as_str(), candidates(&once).len()), (expected, 6));
    let evaluated = setpoint(home.path(), &["evaluate", "m.safetensors", "shop.csv", "--json"]).ok().json();
    assert_eq!(evaluated["rows"], 4000);
    let decided = setpoint(home.path(), &["predict", "m.safetensors", "shop.csv"]).ok();
    assert_eq!(decided.stdout.lines().count(), 4001);
    let page = ["report", "m.safetensors", "shop.csv", "-o", "r.html"];
    setpoint(home.path(), &page).ok();
}

#[test]
fn every_method_trains_a_network_on_mini_batches() {
    let home = directory();
    write(home.path(), "shop.csv", &shop(2000, 6));
    let few = ["--model", "mlp", "--hidden", "8", "--epochs", "3", "--batch-size", "128", "-q"];
    for more in [
        &["--method", "cross-entropy"][..],
        &["--method", "lagrangian"],
        &["--method", "pairwise"],
        &["--method", "ico", "--thresholds", "track", "--mix", "0", "--warm-up", "0"],
        &["--method", "ico", "--implicit-scope", "head", "--batches", "stratified"],
        &["--method", "ico", "--warm-up", "0.3", "--dropout", "0.2", "--weight-decay", "0.1"],
    ] {
        setpoint(home.path(), &train("shop.csv", "bought", &[&few[..], more].concat())).ok();
    }
    for (more, problem) in [
        (&["--optimizer", "lbfgs"][..], "adam, adagrad or sgd"),
        (&["--hidden", "0"], "expected a number from 1 to 65536"),
        (&["--warm-up", "2"], "a share in [0, 1]"),
        (&["--model", "cnn"], "not recognised"),
    ] {
        let run = setpoint(home.path(), &train("shop.csv", "bought", &[&few[..], more].concat()));
        assert_eq!(run.code, Some(2), "{more:?}: {}", run.stderr);
        assert!(run.stderr.contains(problem) || problem == "not recognised", "{more:?}: {}", run.stderr);
    }
}

/// Records of two label bytes and a grey image of 8 x 8; round ones have a bright middle.
fn pictures(rows: usize, seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    let mut bytes = Vec::new();
    for row in 0..rows {
        let round = random.next() < 0.25;
        bytes.extend([u8::from(round), (row % 5) as u8]);
        for pixel in 0..64 {
            let middle = (2..6).contains(&(pixel / 8)) && (2..6).contains(&(pixel % 8));
            let bright = if round && middle { 30.0 } else { 0.0 };
            bytes.push((128.0 + bright + 25.0 * random.normal()).clamp(0.0, 255.0) as u8);
        }
    }
    bytes
}

#[test]
fn images_are_told_apart_by_a_convolutional_network() {
    let home = directory();
    std::fs::write(home.path().join("p.bin"), pictures(3000, 9)).unwrap();
    let record = ["--record", "round,fifth:8x8x1"];
    let few = ["--model", "cnn", "--cnn", "small", "--epochs", "4", "--batch-size", "128", "--positive", "1"];
    let arguments = train("p.bin", "round", &[&record[..], &few].concat());
    let trained = trained_twice(home.path(), &arguments);
    assert_eq!((&trained["model"], &trained["columns"]), (&"cnn".into(), &64.into()));
    let measured = ["evaluate", "m.safetensors", "p.bin", "--json", record[0], record[1]];
    assert_eq!(setpoint(home.path(), &measured).ok().json()["rows"], 3000);
    let decided = setpoint(home.path(), &["predict", "m.safetensors", "p.bin", record[0], record[1]]).ok();
    assert_eq!(decided.stdout.lines().count(), 3001);
    // The same images as files of their own, without labels: the same decisions, with the files' names.
    std::fs::create_dir(home.path().join("photos")).unwrap();
    for (row, record) in pictures(3000, 9).chunks_exact(66).take(4).enumerate() {
        let photo = image::GrayImage::from_raw(8, 8, record[2..].to_vec()).unwrap();
        photo.save(home.path().join(format!("photos/{row}, round.png"))).unwrap();
    }
    let named = setpoint(home.path(), &["predict", "m.safetensors", "photos", "--cache", "none"]).ok();
    let expected = decided.stdout.lines().skip(1).take(4).enumerate();
    let expected: Vec<String> =
        expected.map(|(row, decided)| format!("\"{row}, round.png\",{decided}")).collect();
    assert_eq!(named.stdout.lines().next(), Some("file,score,probability,decision"));
    assert_eq!(named.stdout.lines().skip(1).collect::<Vec<_>>(), expected);
    let parquet = ["predict", "m.safetensors", "photos", "--cache", "none", "-o", "photos.parquet"];
    setpoint(home.path(), &parquet).ok();
    // Several labels at once: a model for each, in one file.
    let both = train("p.bin", "round,fifth", &[&record[..], &few, &["--json", "--epochs", "1"]].concat());
    let runs = setpoint(home.path(), &both).ok().json();
    assert_eq!(runs["runs"].as_array().unwrap().len(), 2);
    let decided = setpoint(home.path(), &["predict", "m.safetensors", "p.bin", record[0], record[1]]).ok();
    assert!(decided.stdout.starts_with("score(round),probability(round),decision(round),score(fifth),"));
    // A table is no image, and a model for images takes none.
    write(home.path(), "shop.csv", &shop(300, 1));
    let run = setpoint(home.path(), &["predict", "m.safetensors", "shop.csv"]);
    assert_eq!(run.code, Some(2), "{}", run.stderr);
}

#[test]
fn trees_are_grown_owned_and_scored_without_lightgbm() {
    let home = directory();
    write(home.path(), "shop.csv", &shop(4000, 7));
    let few = ["--model", "trees", "--search", "3", "--rounds", "40"];
    let arguments = train("shop.csv", "bought", &few);
    let absent = crate::command(home.path(), &arguments).env("SETPOINT_LIGHTGBM", "nowhere.so").output();
    let absent: crate::Run = absent.unwrap().into();
    assert_eq!(absent.code, Some(2));
    assert!(absent.stderr.contains("pip install lightgbm"), "{}", absent.stderr);
    if setpoint_trees::Library::get().is_err() {
        eprintln!("skipped: LightGBM is not installed (pip install lightgbm)");
        return;
    }
    let record = trained_twice(home.path(), &arguments);
    assert_eq!(record["model"], "trees");
    assert!(!record["recipe"].as_array().unwrap().is_empty());
    // Two rounds are not enough, and the record says so.
    let short =
        train("shop.csv", "bought", &["--model", "trees", "--search", "1", "--rounds", "2", "--json"]);
    let notes = setpoint(home.path(), &short).ok().json()["notes"].to_string();
    assert!(notes.contains("still improving after 2 rounds: --rounds 6"), "{notes}");
    setpoint(home.path(), &arguments).ok();
    let score = |library: Option<&str>| {
        let mut run = crate::command(home.path(), &["predict", "m.safetensors", "shop.csv"]);
        if let Some(library) = library {
            run.env("SETPOINT_LIGHTGBM", library);
        }
        let run: crate::Run = run.output().unwrap().into();
        run.ok().stdout
    };
    assert_eq!(score(Some("nowhere.so")), score(None));
    setpoint(home.path(), &train("shop.csv", "bought", &[&few[..], &["--method", "ico", "-q"]].concat()))
        .ok();
    let page = ["report", "m.safetensors", "shop.csv", "-o", "r.html"];
    setpoint(home.path(), &page).ok();
}

/// Who buys depends on two numbers together, which no linear model of them tells.
fn checkered(rows: usize) -> String {
    let mut random = Random::new(11);
    let mut text = "a,b,bought\n".to_owned();
    for _ in 0..rows {
        let (a, b) = (random.next() * 4.0, random.next() * 4.0);
        let bought = (a as usize + b as usize).is_multiple_of(2) && random.next() < 0.9;
        text += &format!("{a:.4},{b:.4},{}\n", u8::from(bought));
    }
    text
}

#[test]
fn the_better_kind_is_kept_and_both_are_told_of() {
    let home = directory();
    write(home.path(), "board.csv", &checkered(2000));
    write(home.path(), "shop.csv", &shop(2000, 5));
    let auto = ["--model", "auto", "--search", "2", "--rounds", "60", "--json"];
    let kinds = |record: &serde_json::Value| -> Vec<(String, bool)> {
        let kinds = record["kinds"].as_array().unwrap().iter();
        kinds.map(|kind| (kind["model"].as_str().unwrap().to_owned(), kind["kept"] == true)).collect()
    };
    let trees = setpoint_trees::Library::get().is_ok();
    let run = setpoint(home.path(), &train("board.csv", "bought", &auto)).trained();
    let board = run.json();
    if trees {
        let tried = [("linear", false), ("trees", true), ("average", false)];
        assert_eq!(kinds(&board), tried.map(|(kind, kept)| (kind.to_owned(), kept)));
        let kind = &board["kinds"][1];
        assert!(kind["gain"].as_f64() > kind["standard_error"].as_f64(), "{kind}");
        // The file is that of the kind by itself.
        let chosen = read(home.path(), "m.safetensors");
        let alone = ["--model", "trees", "--search", "2", "--rounds", "60", "-q"];
        setpoint(home.path(), &train("board.csv", "bought", &alone)).trained();
        assert_eq!(chosen, read(home.path(), "m.safetensors"));
    } else {
        eprintln!("LightGBM is not installed: only the linear model is tested");
        assert!(board["notes"].to_string().contains("pip install lightgbm"), "{run:?}");
    }
    assert_eq!(board["model"], if trees { "trees" } else { "linear" });
    // Where trees are clearly worse, the simpler kind stays; where the two are level, their average ships.
    if trees {
        let clearly = ["--model", "auto", "--search", "1", "--rounds", "1", "--json"];
        for (flags, kept) in [(&clearly[..], "linear"), (&auto[..], "average")] {
            let shop = setpoint(home.path(), &train("shop.csv", "bought", flags)).ok().json();
            let told = kinds(&shop).into_iter().filter(|(_, kept)| *kept).map(|(kind, _)| kind);
            assert_eq!((&shop["model"], told.collect::<Vec<_>>()), (&kept.into(), vec![kept.to_owned()]));
        }
    }
    // A setting of one kind leaves the other out.
    let of_linear = ["--model", "auto", "--ridge", "0.1", "--method", "ico", "--json"];
    let shop = setpoint(home.path(), &train("shop.csv", "bought", &of_linear)).ok().json();
    assert!(shop["model"] == "linear" && shop["kinds"].is_null(), "{}", shop["kinds"]);
    let none = setpoint(home.path(), &train("shop.csv", "bought", &["--model", "auto", "--ridge", "0.1"]));
    assert!(none.stderr.contains("--ridge 0.1: has no effect"), "{}", none.stderr);
}

#[test]
fn a_time_ends_the_search_and_what_there_is_ships() {
    let home = directory();
    write(home.path(), "board.csv", &checkered(2000));
    for time in ["0s", "soon", "-1m", "1e400h"] {
        let run = setpoint(home.path(), &train("board.csv", "bought", &["--model", "auto", "--time", time]));
        assert_eq!(run.code, Some(2), "{run:?}");
    }
    let run = setpoint(home.path(), &train("board.csv", "bought", &["--model", "linear", "--time", "1m"]));
    assert!(run.stderr.contains("--time: has no effect without --model trees"), "{}", run.stderr);
    let short = ["--model", "auto", "--time", "0.001s", "--json"];
    let record = setpoint(home.path(), &train("board.csv", "bought", &short)).trained().json();
    if setpoint_trees::Library::get().is_ok() {
        assert_eq!(record["kinds"][1]["failed"], "not tried, the time was up");
        let short = ["--model", "trees", "--time", "0.01s", "--json"];
        let record = setpoint(home.path(), &train("board.csv", "bought", &short)).trained().json();
        // Each configuration ends at its next look.
        let short = |one: &serde_json::Value| one["step"].as_u64() <= Some(60);
        assert!(record["candidates"].as_array().unwrap().iter().all(short), "{}", record["candidates"]);
    }
}
