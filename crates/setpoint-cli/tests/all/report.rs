//! The report: its numbers, its texts, and the page in a real browser.

use std::path::Path;

use serde_json::Value;

use crate::browser::{chromium, open};
use crate::data::shop;
use crate::{directory, read, setpoint, write};

/// A column that would like to be a script.
const HOSTILE: &str = "<script>alert(1)</script>";
/// A file that would like to be bold.
const FILE: &str = "<b>shop.csv";
/// A group that would like to be an image, and to leave its mark.
const IMAGE: &str = "<img src=x onerror=document.title='owned'>";

fn text(home: &Path, name: &str) -> String {
    String::from_utf8(read(home, name)).expect("a report is UTF-8")
}

/// The shop's table with its group column and one of its groups renamed, and a model trained on it.
fn hostile(home: &Path) {
    let table = shop(3000, 4).replacen("sex", HOSTILE, 1).replace(",m,", &format!(",{IMAGE},"));
    write(home, FILE, &table);
    let goal = "recall @ fpr<=10%";
    let train = ["train", FILE, "--label", "bought", "--goal", goal, "--group", HOSTILE, "-o", "m"];
    let report = ["--report", "train.html", "--report-json", "train.json"];
    setpoint(home, &[&train[..], &report].concat()).ok();
}

/// Every number in a JSON value.
fn numbers(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Number(number) => found.push(number.to_string()),
        Value::Array(values) => values.iter().for_each(|value| numbers(value, found)),
        // What a figure rests on decides whether it is shown, and is not shown itself.
        Value::Object(fields) => {
            let shown = fields.iter().filter(|(key, _)| *key != "examples");
            shown.for_each(|(_, value)| numbers(value, found));
        }
        _ => {}
    }
}

#[test]
fn the_page_and_the_record_have_the_numbers_of_evaluate() {
    let home = directory();
    hostile(home.path());
    let evaluate = ["evaluate", "m", FILE, "--group", HOSTILE, "--json"];
    let report = ["--report", "r.html", "--report-json", "r.json"];
    let run = setpoint(home.path(), &[&evaluate[..], &report].concat()).ok();
    let record: Value = serde_json::from_str(&text(home.path(), "r.json")).unwrap();
    assert_eq!(record["parts"][0]["evaluation"], run.json());

    let page = text(home.path(), "r.html");
    let evaluation = run.json();
    let mut expected = Vec::new();
    for key in ["at_condition", "at_threshold", "ranking", "thresholds", "confusion", "rows", "positives"] {
        numbers(&evaluation[key], &mut expected);
    }
    for group in evaluation["groups"].as_array().unwrap() {
        ["rates", "rows", "threshold"].iter().for_each(|key| numbers(&group[*key], &mut expected));
    }
    assert!(expected.len() > 50, "{expected:?}");
    for number in &expected {
        // The confidence of an interval is words on the page; everything else is there to the digit.
        let there = page.contains(&format!("<data value=\"{number}\">"));
        assert!(there || number == "0.95" && page.contains("95% interval"), "{number}");
    }
    assert_eq!(evaluation["label"], serde_json::json!({"column": "bought", "positive": "yes"}));
    assert_eq!(record["parts"][0]["evaluation"]["label"], evaluation["label"]);
    assert!(page.contains("of them positive (bought is &quot;yes&quot;)"));
    // `setpoint report` writes the same page, but for the command that made it.
    setpoint(home.path(), &["report", "m", FILE, "--group", HOSTILE, "-o", "again.html"]).ok();
    let without_command = |page: &str| {
        let (start, rest) = page.split_once("<pre class=\"command\"").unwrap();
        format!("{start}{}", rest.split_once("</pre>").unwrap().1)
    };
    assert_eq!(without_command(&text(home.path(), "again.html")), without_command(&page));
}

#[test]
fn names_from_outside_are_text_on_the_page() {
    let home = directory();
    hostile(home.path());
    let page = text(home.path(), "train.html");
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    assert!(page.contains("&lt;b&gt;shop.csv"));
    for markup in ["<script>alert", "<img", "<b>"] {
        assert!(!page.contains(markup), "a name became {markup}");
    }
    assert!(page.contains("default-src 'none'") && !page.contains("unsafe"));
    // The name of SVG is an address too, and never asked for.
    let rest = page.replace("&lt;img src=x", "").replace("http://www.w3.org/2000/svg", "");
    for outside in ["http://", "https://", "src=", "@import", "url("] {
        assert!(!rest.contains(outside), "{outside}");
    }
    let Some(chromium) = chromium() else { return };
    let page = open(&chromium, home.path(), "train.html");
    assert!(page.dom.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    assert!(!page.dom.contains("<title>owned") && !page.dom.contains("<img"));
    assert_eq!(page.console, [""; 0]);
    assert_eq!(page.requests, [""; 0]);
}

#[test]
fn the_report_of_the_demo_opens_without_errors_or_requests() {
    let home = directory();
    // The page is of the linear model.
    let run = crate::command(home.path(), &["demo"]).env("SETPOINT_LIGHTGBM", "nowhere.so").output();
    let run = crate::Run::from(run.unwrap()).ok();
    assert!(run.stdout.contains("open setpoint-report.html"), "{}", run.stdout);
    let page = text(home.path(), "setpoint-report.html");
    assert!(page.len() < 2_000_000, "{}", page.len());
    for words in ["The most recall at a false positive rate of at most 1%", "Certified: ", "over 20 splits"] {
        assert!(page.contains(words), "{words}");
    }
    let Some(chromium) = chromium() else { return };
    let page = open(&chromium, home.path(), "setpoint-report.html");
    assert_eq!(page.console, [""; 0]);
    assert_eq!(page.requests, [""; 0]);
    // The script ran: the slider is there and says what ships.
    assert!(page.dom.contains("aria-valuetext=\"threshold 1."), "the slider has no value");
    assert!(page.dom.contains("<div class=\"slider\">") && page.dom.contains("<small> ships</small>"));
    assert!(page.dom.contains("Copy the table: "));
}

/// What the page says after the slider went to its start, and after a pointer went over a picture's end.
const DRIVER: &str = "<script>
  const slider = document.getElementById('threshold');
  const output = document.querySelector('output');
  slider.value = 0;
  slider.dispatchEvent(new Event('input'));
  const said = output.textContent;
  const picture = document.querySelector('.readable svg');
  const box = picture.getBoundingClientRect();
  picture.dispatchEvent(new PointerEvent('pointermove', { clientX: box.right, clientY: box.top + 50 }));
  document.title = said + '|' + output.textContent + '|' + slider.value;
</script></body>";

#[test]
fn another_threshold_is_read_off_by_slider_and_pointer_and_foreign_scripts_do_not_run() {
    let Some(chromium) = chromium() else { return };
    let home = directory();
    hostile(home.path());
    let page = text(home.path(), "train.html");
    let driven = page.replace("</body>", DRIVER);
    // The policy keeps the driver from running, as it would any script that found its way in.
    write(home.path(), "guarded.html", &driven);
    let guarded = open(&chromium, home.path(), "guarded.html");
    assert!(guarded.dom.contains("<title>recall @ fpr&lt;=10%"));
    assert!(
        guarded.console.iter().any(|line| line.contains("Content Security Policy")),
        "{:?}",
        guarded.console
    );

    write(home.path(), "driven.html", &driven.replace("Content-Security-Policy", "no-policy"));
    let dom = open(&chromium, home.path(), "driven.html").dom;
    let title = dom.split_once("<title>").unwrap().1.split_once("</title>").unwrap().0;
    let said: Vec<&str> = title.split('|').collect();
    let data = page.split_once("id=\"sweep\">").unwrap().1.split_once("</script>").unwrap().0;
    let sweep: Value = serde_json::from_str(data).unwrap();
    let thresholds = sweep["thresholds"].as_array().unwrap();
    let recall = &sweep["rates"][0]["values"];
    for (said, place) in [(said[0], 0), (said[1], thresholds.len() - 1)] {
        let rate = format!("recall {:.2}%", 100.0 * recall[place].as_f64().unwrap());
        assert!(said.starts_with(&format!("threshold {}", thresholds[place])), "{said}");
        assert!(said.contains(&rate), "{said}: {rate}");
    }
    assert_eq!(said[2], (thresholds.len() - 1).to_string());
}

/// The tests above mean something only if errors and requests would be seen.
#[test]
fn the_browser_tells_errors_and_requests() {
    let Some(chromium) = chromium() else { return };
    let home = directory();
    let bad = "<!DOCTYPE html><html><title>t</title><img src=\"http://127.0.0.1:9/x.png\">\
               <script>document.title = 'owned'; undefined_thing();</script></html>";
    write(home.path(), "bad.html", bad);
    let page = open(&chromium, home.path(), "bad.html");
    assert!(page.dom.contains("<title>owned"));
    assert!(page.console.iter().any(|line| line.contains("undefined_thing")), "{:?}", page.console);
    assert!(page.requests.iter().any(|url| url.contains("127.0.0.1:9")), "{:?}", page.requests);
}

#[test]
fn reports_of_every_kind_of_goal_can_be_written() {
    let home = directory();
    write(home.path(), "shop.csv", &shop(2000, 5));
    let split = "train=0.5,validation=0.2,calibration=0.2,test=0.1";
    for (goal, words) in [
        ("pr-auc @ recall in 0.8..1", "Thresholds that stand for the area"),
        ("precision @ top=10%", "the highest 10% of the scores"),
        ("recall @ fpr(sex)<=10%", "thresholds, one for each group"),
        ("accuracy @ gap(recall, sex)<=0.1", "Not certified"),
        ("f1", "Not certified"),
        ("fnr @ fpr<=10%, precision>=0.3", "positives caught</strong> of every 1,000 positives"),
    ] {
        let train = ["train", "shop.csv", "--label", "bought", "--goal", goal, "-o", "m", "--split", split];
        setpoint(home.path(), &[&train[..], &["--report", "r.html", "--report-json", "r.json"]].concat())
            .trained();
        let page = text(home.path(), "r.html");
        assert!(page.contains(words), "{goal}: {words}");
        assert!(!page.contains("NaN") && !page.contains(">inf"), "{goal}");
        let record: Value = serde_json::from_str(&text(home.path(), "r.json")).unwrap();
        assert_eq!(record["shown"], "test", "{goal}");
        assert_eq!(record["parts"].as_array().unwrap().len(), 4, "{goal}");
    }
}

#[test]
fn a_violated_certificate_is_said_first() {
    let home = directory();
    write(home.path(), "shop.csv", &shop(3000, 7));
    let goal = "recall @ fpr<=10%";
    setpoint(home.path(), &["train", "shop.csv", "--label", "bought", "--goal", goal, "-o", "m"]).ok();
    // Everybody is ten years older, and so more like those who bought.
    let older = |line: &str| match line.split_once(',') {
        Some((age, rest)) if age.parse::<f64>().is_ok() => {
            format!("{},{rest}", age.parse::<f64>().unwrap() + 10.0)
        }
        _ => line.to_owned(),
    };
    let drifted: Vec<String> = shop(3000, 8).lines().map(older).collect();
    write(home.path(), "later.csv", &drifted.join("\n"));
    setpoint(home.path(), &["report", "m", "later.csv", "-o", "r.html", "--report-json", "r.json"]).ok();
    let record: Value = serde_json::from_str(&text(home.path(), "r.json")).unwrap();
    assert_eq!(record["cautions"][0]["kind"], "drift");
    let page = text(home.path(), "r.html");
    assert!(page.contains("violated on these: the data has changed") && !page.contains("badge good"));
    assert!(record["comparison"]["baseline"]["value"].as_f64().is_some(), "the file holds the baseline");
}

#[test]
fn reports_that_cannot_be_written_are_refused_before_training() {
    let home = directory();
    write(home.path(), "shop.csv", &shop(300, 6));
    let train = ["train", "shop.csv", "--label", "bought", "--goal", "f1", "-o", "m"];
    for (flags, message) in [
        (["--report", "none/r.html"], "there is no directory none"),
        (
            ["--report", "shop.csv"],
            "the same file as the data, shop.csv, which would be lost; write elsewhere",
        ),
        (["--report-json", "."], "it is a directory"),
    ] {
        let run = setpoint(home.path(), &[&train[..], &flags].concat());
        assert_eq!(run.code, Some(2), "{}", run.stderr);
        assert!(run.stderr.contains(message), "{}", run.stderr);
        assert!(!home.path().join("m").exists(), "nothing was trained");
    }
}
