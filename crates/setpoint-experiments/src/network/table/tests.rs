use super::*;
use crate::network::{Average, ClaimedGain};
use crate::task::NETWORKS;
use crate::{Cell, Entry, Record};

fn cell(method: Method, seed: u64, test: f64, average: Option<f64>) -> Entry<Cell, Fitted> {
    let average = average.map(|test| Average { of: 3, validation: 0.5, test });
    let told = ClaimedGain { difference: 0.012, standard_error: Some(0.02), kept: false, baseline: test };
    let outcome = Fitted {
        setting: "rate 0.1".to_owned(),
        validation: 0.5,
        test,
        average,
        gain: (method == Method::Setpoint).then_some(told),
        fits: 4,
        failed: 0,
        epochs: 80.0,
        seconds: 12.5,
        looks: Vec::new(),
    };
    let goal = "recall @ fpr<=1%".to_owned();
    Entry { cell: Cell { experiment: Experiment::Networks, task: NETWORKS[0], seed, goal, method }, outcome }
}

fn record() -> Record<Compared> {
    let cells = vec![
        cell(Method::Weighted, 3, 0.40, Some(0.44)),
        cell(Method::Weighted, 7, 0.42, Some(0.46)),
        cell(Method::Ico, 3, 0.43, Some(0.41)),
        cell(Method::Ico, 7, 0.45, Some(0.41)),
        cell(Method::Setpoint, 3, 0.46, None),
        cell(Method::Setpoint, 7, 0.46, None),
    ];
    let (study, protocol) = (Experiment::Networks, "40 epochs".to_owned());
    Record::made(study, Compared { study, protocol, cells: Cells { cells } })
}

#[test]
fn the_best_rival_is_taken_at_its_better_use() {
    let results = record().results;
    let comparison = comparison(&results, Table::Recall, vec!["recall @ fpr<=1%".to_owned()]);
    let gain = comparison.gain(&NETWORKS[0], "recall @ fpr<=1%").unwrap();
    // 2 and 0 points ahead: mean 1, standard error 1.
    assert_eq!(gain.rival, "weighted, average");
    assert!((gain.difference - 1.0).abs() < 1e-9 && (gain.error - 1.0).abs() < 1e-9, "{gain:?}");
}

#[test]
fn tables_hold_both_uses_of_a_rival_and_one_of_setpoint() {
    let text = record().text();
    let row = "41.00 ± 1.41  45.00 ± 1.41  44.00 ± 1.41  41.00 ± 0.00  46.00 ± 0.00";
    let squeezed = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(squeezed.contains(&row.split_whitespace().collect::<Vec<_>>().join(" ")), "{text}");
    assert!(squeezed.contains("+1.20 ± 2.00 (kept cross-entropy)"), "{text}");
    assert!(squeezed.contains("2 of 2"), "{text}");
    assert!(record().markdown(&[]).contains("| IJCNN1 | recall @ fpr<=1% | 41.00 ± 1.41 |"));
}
