use super::*;
use crate::network::cell::{Average, Fitted, Gain};
use crate::network::record::CellRecord;

fn cell(method: Method, seed: u64, test: f64, average: Option<f64>) -> CellRecord {
    let average = average.map(|test| Average { of: 3, validation: 0.5, test });
    let told = Gain { difference: 0.012, standard_error: Some(0.02), kept: false, baseline: test };
    let fitted = Fitted {
        setting: "rate 0.1".to_owned(),
        validation: 0.5,
        test,
        average,
        gain: (method == Method::Auto).then_some(told),
        fits: 4,
        failed: 0,
        epochs: 80.0,
        seconds: 12.5,
        looks: Vec::new(),
    };
    let goal = "recall @ fpr<=1%".to_owned();
    CellRecord { task: "ijcnn1", title: "IJCNN1", seed, goal, method, fitted }
}

fn record() -> Record {
    Record {
        experiment: "networks",
        date: "2026-02-28".to_owned(),
        version: "0.1.0".to_owned(),
        command: "setpoint reproduce networks --output <script>alert(1)</script>".to_owned(),
        threads: 2,
        protocol: "40 epochs".to_owned(),
        seeds: vec![3, 7],
        files: [].into(),
        cells: vec![
            cell(Method::Weighted, 3, 0.40, Some(0.44)),
            cell(Method::Weighted, 7, 0.42, Some(0.46)),
            cell(Method::Ico, 3, 0.43, Some(0.41)),
            cell(Method::Ico, 7, 0.45, Some(0.41)),
            cell(Method::Auto, 3, 0.46, None),
            cell(Method::Auto, 7, 0.46, None),
        ],
    }
}

#[test]
fn the_best_rival_is_taken_at_its_better_use() {
    let rival = rival(&record(), "ijcnn1", "recall @ fpr<=1%").unwrap();
    assert_eq!((rival.method, rival.way), (Method::Weighted, Use::Average));
    // 2 and 0 points ahead: mean 1, standard error 1.
    assert_eq!(rival.to_string(), "+1.00 ± 1.00 (weighted, average)");
}

#[test]
fn tables_hold_both_uses_of_a_rival_and_one_of_setpoint() {
    let text = text(&record());
    let row = "41.00 ± 1.41  45.00 ± 1.41  44.00 ± 1.41  41.00 ± 0.00  46.00 ± 0.00";
    let squeezed = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(squeezed.contains(&row.split_whitespace().collect::<Vec<_>>().join(" ")), "{text}");
    assert!(squeezed.contains("+1.20 ± 2.00 (kept cross-entropy)"), "{text}");
    assert!(squeezed.contains("2 of 2"), "{text}");
}

#[test]
fn what_was_typed_stays_text_on_the_page() {
    let record = record();
    let page = document(&record, &[]).html();
    assert!(page.contains("&lt;script&gt;alert(1)") && !page.contains("<script>alert"));
    assert!(document(&record, &[]).markdown().contains("| IJCNN1 | recall @ fpr<=1% | 41.00 ± 1.41 |"));
}
