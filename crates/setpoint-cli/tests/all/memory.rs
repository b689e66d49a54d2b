//! More rows than memory: the same model from a scratch file, of which nothing stays.

use std::fmt::Write as _;
use std::fs;

use crate::data::{Random, shop, sparse, visits};
use crate::{directory, read, setpoint, write};

/// Visits with a weight and a day.
fn days(rows: usize) -> String {
    let mut random = Random::new(3);
    let mut text = "x,z,w,day,kind,y\n".to_owned();
    for row in 0..rows {
        let positive = random.next() < 0.2;
        let shift = if positive { 1.2 } else { 0.0 };
        let (x, z) = (random.normal() + shift, random.normal() - 0.5 * shift);
        let kind = if row % 40 == 3 { "" } else { ["a", "b", "c"][row % 3] };
        let _ = writeln!(text, "{x:.5},{z:.5},{},{},{kind},{}", 1 + row % 3, row / 7, u8::from(positive));
    }
    text
}

#[test]
fn a_model_from_a_scratch_file_has_the_bytes_of_one_from_memory() {
    let home = directory();
    write(home.path(), "shop.csv", &shop(6000, 7));
    write(home.path(), "more.csv", &shop(900, 8));
    write(home.path(), "visits.csv", &visits(300, 10, 7));
    write(home.path(), "days.csv", &days(9000));
    write(home.path(), "rows.svm", &sparse(12_000, false));
    write(home.path(), "times.svm", &sparse(9000, true));
    fs::create_dir(home.path().join("room")).unwrap();
    // Less than the rows take, and more than is needed beside them.
    let cases: [(&str, &[&str]); 8] = [
        ("400kB", &["shop.csv", "--label", "bought", "--goal", "recall @ fpr<=20%"]),
        (
            "400kB",
            &["shop.csv", "--label", "bought", "--goal", "recall @ fpr(sex)<=30%", "--test", "more.csv"],
        ),
        (
            "200kB",
            &[
                "visits.csv",
                "--label",
                "y",
                "--goal",
                "precision @ recall>=0.5",
                "--split-by",
                "who",
                "--drop",
                "p",
            ],
        ),
        (
            "700kB",
            &[
                "days.csv",
                "--label",
                "y",
                "--goal",
                "recall @ fpr<=10%",
                "--split-time",
                "day",
                "--weight",
                "w",
            ],
        ),
        (
            "700kB",
            &["days.csv", "--label", "y", "--goal", "recall @ fpr<=10%", "--weight", "w", "--drop", "day"],
        ),
        (
            "700kB",
            &["days.csv", "--label", "y", "--goal", "coverage @ precision>=0.4, npv>=0.8", "--drop", "day"],
        ),
        ("400kB", &["rows.svm", "--goal", "recall @ fpr<=20%", "--test", "times.svm"]),
        ("400kB", &["times.svm", "--goal", "recall @ fpr<=20%"]),
    ];
    for (memory, case) in cases {
        let train = |more: &[&str]| setpoint(home.path(), &[&["train"], case, more].concat());
        let plain = train(&["-o", "m"]).trained();
        let disk = train(&["-o", "d", "--memory", memory, "--scratch", "room"]).trained();
        assert!(read(home.path(), "m") == read(home.path(), "d"), "{case:?}");
        let notes = |text: &str| -> Vec<String> {
            text.lines().filter(|line| line.contains("note: ")).map(str::to_owned).collect()
        };
        let told = |text: &str| -> Vec<String> {
            text.lines().filter(|line| !line.starts_with("time ")).map(str::to_owned).collect()
        };
        assert_eq!(
            (notes(&disk.stderr), told(&disk.stdout)),
            (notes(&plain.stderr), told(&plain.stdout)),
            "{case:?}"
        );
        // The file was there, and is gone.
        let refused = train(&["-o", "e", "--memory", memory, "--scratch", "nowhere"]);
        assert_eq!(refused.code, Some(2), "{refused:?}");
        assert!(refused.stderr.contains("the scratch file in nowhere: "), "{refused:?}");
        assert_eq!(fs::read_dir(home.path().join("room")).unwrap().count(), 0);
    }
    // Rows that fit stay in memory, whatever the model.
    let fits = ["train", "shop.csv", "--label", "town", "--goal", "macro-f1", "--memory", "2GB", "-o", "m"];
    setpoint(home.path(), &[&fits[..], &["--scratch", "nowhere"]].concat()).trained();
}

#[test]
fn what_needs_all_rows_in_memory_is_refused_by_name() {
    let home = directory();
    write(home.path(), "shop.csv", &shop(3000, 7));
    write(home.path(), "visits.csv", &visits(300, 10, 7));
    let shop = ["train", "shop.csv", "--label", "bought", "--goal", "recall @ fpr<=20%", "-o", "m"];
    let with = |more: &[&'static str]| [&shop[..], more].concat();
    for (arguments, said) in [
        (with(&["--memory", "150kB", "--model", "mlp"]), "and mlp models need all of them in memory"),
        (
            with(&["--memory", "1kB"]),
            "--memory: too little: labels, scores and lists of 3000 rows take about 1 MB",
        ),
        (with(&["--memory", "2 furlongs"]), "expected a number with kB, MB or GB, such as 2GB"),
        (with(&["--scratch", "."]), "--memory"),
        (with(&["--memory", "150kB", "--batch-size", "64"]), "rows on disk are not learnt from in batches"),
        (
            vec![
                "train", "shop.csv", "--label", "town", "--goal", "macro-f1", "-o", "m", "--memory", "150kB",
            ],
            "models of several classes need all of them in memory",
        ),
        (
            [
                &["train", "visits.csv", "--label", "y", "--query", "who", "--goal", "ndcg @ k=5 per query"]
                    [..],
                &["-o", "m", "--memory", "200kB"],
            ]
            .concat(),
            "goals per query need all of them in memory",
        ),
    ] {
        let run = setpoint(home.path(), &arguments);
        assert_eq!(run.code, Some(2), "{run:?}");
        assert!(run.stderr.contains(said), "{said}: {run:?}");
    }
}
