use serde_json::Value;

use super::*;
use crate::read::made as data;
use crate::study::{collect, run as save};
use crate::task::UCI;
use crate::watch::Counter;

fn study(data: &Path, output: &Path, methods: &[Method]) -> (StudyPlan, Uci) {
    let plan = StudyPlan::made(Experiment::Uci, data, output, &[UCI[3]]);
    (plan, Uci { tables: vec![Table::PrAuc], methods: methods.to_vec(), anew: Vec::new() })
}

fn run((plan, study): &(StudyPlan, Uci)) -> (Vec<Entry<Cell, Outcome>>, u64) {
    let counter = Counter::new(u64::MAX);
    let record = collect(plan, study, &counter).unwrap();
    (record.results.cells, counter.fits())
}

#[test]
fn finished_cells_are_run_again_for_other_data_or_when_asked() {
    let (first, output) = (data(240), tempfile::tempdir().unwrap());
    let anew = |data: &tempfile::TempDir, anew: &[Method]| {
        let (plan, study) = study(data.path(), output.path(), &[Method::CrossEntropy]);
        run(&(plan, Uci { anew: anew.to_vec(), ..study })).1
    };
    assert_eq!(anew(&first, &[]), 8);
    assert_eq!(anew(&first, &[]), 0);
    assert_eq!(anew(&first, &[Method::CrossEntropy]), 8);
    assert_eq!(anew(&first, &[Method::Ico]), 0);
    assert_eq!(anew(&data(250), &[]), 8);
}

#[test]
fn what_is_chosen_does_not_depend_on_the_test_rows() {
    let directory = data(240);
    let split = split(directory.path(), &UCI[3], 0).unwrap();
    let other = Problem { test: split.train.clone(), ..split.clone() };
    for method in Experiment::Uci.methods().iter().copied() {
        let goal = "fnr @ fpr<=10%".to_owned();
        let cell = Cell { experiment: Experiment::Uci, task: UCI[3], seed: 0, goal, method };
        let [one, two] = [&split, &other].map(|split| {
            let outcome = cell::run(&cell, split, &Counter::new(u64::MAX)).unwrap();
            outcome.fitted().unwrap().clone()
        });
        assert_eq!(
            (&one.setting, one.validation, &one.parameters),
            (&two.setting, two.validation, &two.parameters)
        );
        assert_ne!(one.test, two.test, "{method:?}");
    }
}

#[test]
fn a_method_without_a_loss_for_the_goal_says_so_and_fits_nothing() {
    let (data, output) = (data(120), tempfile::tempdir().unwrap());
    let (outcomes, fits) = run(&study(data.path(), output.path(), &[Method::Pairwise]));
    assert_eq!(fits, 0);
    let unable = |entry: &Entry<Cell, Outcome>| matches!(&entry.outcome, Outcome::Unable { unable } if unable == "its area is not one over fpr");
    assert!(outcomes.iter().all(unable), "{outcomes:?}");
}

#[test]
fn results_are_written_as_json_markdown_and_a_page() {
    let (data, output) = (data(240), tempfile::tempdir().unwrap());
    let methods = [Method::CrossEntropy, Method::Pairwise, Method::Setpoint];
    let (plan, study) = study(data.path(), output.path(), &methods);
    save(&plan, &study, &Counter::new(u64::MAX)).unwrap();
    let read = |name: &str| std::fs::read_to_string(output.path().join(name)).unwrap();
    let record: Value = serde_json::from_str(&read("uci.json")).unwrap();
    let cells = record["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 6);
    assert!(cells.iter().all(|cell| cell["test"].is_f64() != cell["unable"].is_string()));
    assert!(cells.iter().all(|cell| cell["parameters"].is_null()));
    assert_eq!(record["files"]["spambase"][0]["sha256"].as_str().map(str::len), Some(64));
    let page = read("uci.md");
    assert!(page.contains("| Spambase |") && page.contains(" n/a "), "{page}");
    let page = read("uci.html");
    assert!(page.contains(">Spambase</th>") && page.contains("<td>n/a</td>"), "{page}");
}
