//! What messages say: short, about the right thing, and with what helps.

use crate::data::{scores, shop};
use crate::{Run, directory, read, setpoint, write};

/// The error of a run, which must be short.
#[track_caller]
fn short(run: &Run) -> &str {
    assert!(run.code == Some(1) || run.code == Some(2), "{run:?}");
    assert!(
        run.stderr.len() < 1000 && run.stdout.is_empty(),
        "{} bytes: {:.300}",
        run.stderr.len(),
        run.stderr
    );
    &run.stderr
}

#[test]
fn fields_of_megabytes_are_not_repeated_whole() {
    let home = directory();
    let huge = "x".repeat(20_000_000);
    write(home.path(), "s.csv", &format!("y,p\n1,0.5\n0,{huge}\n"));
    let certify = |more: &[&str]| {
        let base = ["certify", "s.csv", "--label", "y", "--score", "p", "--goal", "fpr<=1%"];
        setpoint(home.path(), &[&base[..], more].concat())
    };
    let run = certify(&[]);
    assert!(short(&run).contains("s.csv:3: column \"p\": \"xxxxx"), "{}", run.stderr);
    write(home.path(), "s.csv", &format!("y,p\n1,0.5\n{huge},0.2\n0,0.1\n"));
    short(&certify(&[]));
    let rows: String = (0..50).map(|row| format!("{},{row}\n", row % 2)).collect();
    write(home.path(), "s.csv", &format!("y,p\n{rows}0,{huge}\n"));
    let train = ["train", "s.csv", "--label", "y", "--goal", "f1", "-q"];
    short(&setpoint(home.path(), &train));
    write(home.path(), "s.csv", &format!("y,{huge}\n{rows}"));
    let run = setpoint(home.path(), &[&train[..], &["--drop", "zebra"]].concat());
    assert!(short(&run).contains("its 2 columns are \"y\", \"xxx"), "{}", run.stderr);
    let goal = format!("recall @ fpr({})<=1%", &huge[..100_000]);
    short(&setpoint(home.path(), &["train", "s.csv", "--label", "y", "--goal", &goal, "-q"]));
}

#[test]
fn numbers_are_repeated_in_a_few_digits() {
    let home = directory();
    write(home.path(), "s.csv", "y,p,w\n1,0.5,1\n0,0.2,1e300\n");
    let certify = |more: &[&str]| {
        let base = ["certify", "s.csv", "--label", "y", "--score", "p"];
        setpoint(home.path(), &[&base[..], more].concat())
    };
    let run = certify(&["--goal", "fpr<=1%", "--weight", "w"]);
    assert_eq!(short(&run), "error: s.csv: row 2: column \"w\": weight 1e300 is not a positive number\n");
    let train = ["train", "s.csv", "--label", "y", "--positive", ">1e300", "--goal", "f1", "-q"];
    let run = setpoint(home.path(), &train);
    assert!(short(&run).contains("--positive \">1e300\""), "{}", run.stderr);
    let run = certify(&["--goal", "fpr<=1e300"]);
    assert!(short(&run).contains("target fpr 1e300"), "{}", run.stderr);
}

#[test]
fn a_missing_weight_is_not_a_missing_score() {
    let home = directory();
    let certify = |weight: &str| {
        let base = ["certify", "s.csv", "--label", "y", "--score", "p", "--goal", "fpr<=1%"];
        setpoint(home.path(), &[&base[..], &["--weight", weight]].concat()).stderr
    };
    write(home.path(), "s.csv", "y,p,w\n1,0.5,1\n0,0.2,\n");
    let weight = "error: s.csv: row 2: column \"w\": the weight is missing; fill it or remove the row\n";
    assert_eq!(certify("w"), weight);
    write(home.path(), "s.csv", "y,p,w\n1,0.5,1\n0,,1\n");
    assert_eq!(certify("w"), weight.replace("\"w\": the weight", "\"p\": the score"));
    assert!(
        certify("p").contains("column \"p\" cannot be both another role and the score"),
        "{}",
        certify("p")
    );
}

#[test]
fn certificates_that_no_data_gives_are_refused_in_words() {
    let home = directory();
    write(home.path(), "s.csv", &scores(400, 23));
    let certify = |more: &[&str]| {
        let base = ["certify", "s.csv", "--label", "y", "--score", "p"];
        setpoint(home.path(), &[&base[..], more].concat())
    };
    assert_eq!(
        short(&certify(&["--goal", "fpr<=1e-300"])),
        "error: 300 negatives cannot certify fpr <= 1e-300 at 95% confidence, nor does any number that could be \
         had; relax the condition or lower the confidence\n"
    );
    for (goal, confidence) in [
        ("fpr<=1%", "0.9999999999999999"),
        ("fpr<=1%, recall>=0.99", "99.99999999999999%"),
        ("fpr<=1%", "0.999999999"),
    ] {
        let run = certify(&["--goal", goal, "--confidence", confidence]);
        let text = short(&run);
        assert!(text.contains("at 99.999999") && !text.contains("100"), "{text}");
    }
    // Where there is a certificate, the same digits.
    let run = certify(&["--goal", "fpr<=50%", "--confidence", "0.999999999"]).ok();
    assert!(run.stdout.starts_with("certified at 99.9999999% confidence on 400 examples"), "{}", run.stdout);
}

#[test]
fn columns_that_only_name_rows_are_left_out_and_said_so() {
    let home = directory();
    let mut text = "y,x,a,b\n".to_owned();
    for row in 0..60 {
        text += &format!("{},{},a-{row},b-{row}\n", row % 2, row % 7);
    }
    write(home.path(), "t.csv", &text);
    let run = setpoint(home.path(), &["train", "t.csv", "--label", "y", "--goal", "f1"]).ok();
    let said = "left out, with another value in (nearly) each training row: a, b";
    assert!(run.stderr.contains(said), "{}", run.stderr);
}

#[test]
fn a_number_that_no_column_has_is_told_which_there_are() {
    let home = directory();
    write(home.path(), "shop.csv", &shop(300, 31));
    for (label, flag) in [("0", "--label"), ("6", "--label"), ("-1", "--label"), ("4-9", "--drop")] {
        let base = ["train", "shop.csv", "--label", "bought", "--goal", "f1", "-q"];
        let given = format!("{flag}={label}");
        let run = setpoint(home.path(), &[&base[..], &[given.as_str()]].concat());
        assert_eq!(
            short(&run),
            format!("error: shop.csv: no column \"{label}\" ({flag}); columns are numbered from 1 to 5\n")
        );
    }
}

#[test]
fn other_separators_are_suggested() {
    let home = directory();
    for (sign, named) in [("|", "\"|\""), ("^", "\"^\""), (":", "\":\"")] {
        write(home.path(), "t.txt", &shop(300, 31).replace(',', sign));
        for label in ["bought", "1", "5"] {
            let base = ["train", "t.txt", "--goal", "f1", "-q", "--label", label];
            let run = setpoint(home.path(), &base);
            assert!(short(&run).ends_with(&format!("try --separator {named}\n")), "{label}: {}", run.stderr);
        }
        let read =
            ["train", "t.txt", "--goal", "f1", "-q", "--label", "bought", "--separator", sign, "-o", "m"];
        setpoint(home.path(), &read).ok();
        let run = setpoint(home.path(), &["predict", "m", "t.txt"]);
        assert!(short(&run).ends_with(&format!("try --separator {named}\n")), "{}", run.stderr);
    }
    // A separator that was given and is not the file's.
    write(home.path(), "t.txt", &shop(300, 31));
    let given = ["train", "t.txt", "--goal", "f1", "-q", "--label", "bought", "--separator", "semicolon"];
    assert!(short(&setpoint(home.path(), &given)).ends_with("try --separator comma\n"));
    // Fields that hold what was taken for the separator.
    let decimal = shop(300, 31).replace(',', "|").replace('.', ",");
    write(home.path(), "t.txt", &decimal);
    let run = setpoint(home.path(), &["train", "t.txt", "--goal", "f1", "-q", "--label", "bought"]);
    assert!(short(&run).contains("--separator \"|\""), "{}", run.stderr);
    // A file of one column suggests nothing.
    write(home.path(), "t.txt", "x\n1\n2\n3\n");
    let run = setpoint(home.path(), &["train", "t.txt", "--goal", "f1", "-q", "--label", "y"]);
    assert_eq!(short(&run), "error: t.txt: no column \"y\" (--label); did you mean \"x\"?\n");
}

#[test]
fn a_model_that_decides_nobody_positive_says_so() {
    let home = directory();
    // Ten of the hundred scores of the calibration part's negatives are as high as any positive's.
    let mut text = "x,y\n".to_owned();
    for row in 0..4000 {
        let positive = row % 10 == 0;
        text += &format!("{},{}\n", if positive { 5 } else { row % 6 }, u8::from(positive));
    }
    write(home.path(), "t.csv", &text);
    let train = ["train", "t.csv", "--label", "y", "--goal", "recall @ fpr<=1%", "-o", "m", "--json"];
    let report = ["--report", "r.html", "--report-json", "r.json"];
    let run = setpoint(home.path(), &[&train[..], &report].concat()).ok();
    let note = "none of the calibration rows is decided positive: the threshold lies above all their scores";
    assert!(run.json()["notes"].as_array().unwrap().contains(&note.into()), "{}", run.stdout);
    assert!(run.stderr.contains(&format!("note: {note}\n")), "{}", run.stderr);
    let page: serde_json::Value = serde_json::from_slice(&read(home.path(), "r.json")).unwrap();
    let alike = |cautions: &serde_json::Value| {
        cautions.as_array().unwrap().iter().any(|caution| caution["kind"] == "decided-alike")
    };
    assert!(alike(&page["cautions"]), "{}", page["cautions"]);
    let page = String::from_utf8(read(home.path(), "r.html")).unwrap();
    assert!(page.contains("None of these rows is decided positive"));
    let evaluate = ["evaluate", "m", "t.csv", "--json"];
    let run = setpoint(home.path(), &evaluate).ok();
    let note = "none of these rows is decided positive: the threshold lies above all their scores";
    assert!(run.json()["notes"].as_array().unwrap().contains(&note.into()), "{}", run.stdout);
    // A model that decides some is not talked about.
    write(home.path(), "shop.csv", &shop(3000, 11));
    let shop = ["train", "shop.csv", "--label", "bought", "--goal", "recall @ fpr<=10%", "-o", "m", "--json"];
    assert!(!setpoint(home.path(), &shop).ok().stderr.contains("decided positive"));
}

#[test]
fn a_k_that_takes_every_row_is_refused() {
    let home = directory();
    write(home.path(), "shop.csv", &shop(1000, 33));
    let train = |goal: &str| {
        setpoint(home.path(), &["train", "shop.csv", "--label", "bought", "--goal", goal, "-q", "-o", "m"])
    };
    for k in [200, 500] {
        assert_eq!(
            short(&train(&format!("precision @ k={k}"))),
            format!(
                "error: k={k} takes every row of the validation part, which has 200: whatever the model, precision \
                 there is the share of positives; ask for fewer, or say how many rows will be scored, as in k={k} \
                 of {}0\n",
                k
            )
        );
    }
    train("precision @ k=199").ok();
    train("precision @ k=500 of 5000").ok();
}
