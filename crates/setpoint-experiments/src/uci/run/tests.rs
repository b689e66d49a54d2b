use super::*;
use crate::uci::made as data;
use crate::watch::Counter;

fn plan(data: &Path, output: &Path, methods: &[Method]) -> Plan {
    Plan {
        data: data.to_owned(),
        output: output.to_owned(),
        seeds: vec![0, 1],
        sets: vec![Set::Spambase],
        tables: vec![Table::PrAuc],
        methods: methods.to_vec(),
        anew: Vec::new(),
        threads: 2,
        command: "setpoint reproduce uci".to_owned(),
    }
}

fn run(plan: &Plan) -> (Vec<(Cell, Outcome)>, u64) {
    let counter = Counter::new(u64::MAX);
    let results = plan.run(&counter).unwrap();
    (results.outcomes, counter.fits())
}

/// Everything but the time it took.
fn timeless(outcomes: Vec<(Cell, Outcome)>) -> Vec<(Cell, Outcome)> {
    let strip = |outcome| match outcome {
        Outcome::Fitted(fitted) => Outcome::Fitted(super::super::cell::Fitted { seconds: 0.0, ..fitted }),
        unable => unable,
    };
    outcomes.into_iter().map(|(cell, outcome)| (cell, strip(outcome))).collect()
}

#[test]
fn a_stopped_run_goes_on_and_comes_to_the_same() {
    let (data, whole, parts) = (data(240), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let methods = [Method::CrossEntropy, Method::Ico];
    let (expected, fits) = run(&plan(data.path(), whole.path(), &methods));
    assert_eq!(fits, 2 * (4 + 9));

    let stopped = Plan { threads: 1, ..plan(data.path(), parts.path(), &methods) };
    let counter = Counter::new(6);
    assert!(matches!(stopped.run(&counter), Err(ExperimentError::Stopped)));
    let (found, rest) = run(&plan(data.path(), parts.path(), &methods));
    // One cell of four models was done; the second had begun and is done again.
    assert_eq!(rest, fits - 4);
    assert_eq!(timeless(found), timeless(expected));
}

#[test]
fn finished_cells_are_run_again_for_other_data_or_when_asked() {
    let (first, output) = (data(240), tempfile::tempdir().unwrap());
    let plan = |data: &tempfile::TempDir| plan(data.path(), output.path(), &[Method::CrossEntropy]);
    assert_eq!(run(&plan(&first)).1, 8);
    assert_eq!(run(&plan(&first)).1, 0);
    assert_eq!(run(&Plan { anew: vec![Method::CrossEntropy], ..plan(&first) }).1, 8);
    assert_eq!(run(&Plan { anew: vec![Method::Ico], ..plan(&first) }).1, 0);
    assert_eq!(run(&plan(&data(250))).1, 8);
}

#[test]
fn what_is_chosen_does_not_depend_on_the_test_rows() {
    let directory = data(240);
    let split = Split::read(Set::Spambase, directory.path(), 0).unwrap();
    let other = Split { test: split.train.clone(), ..split.clone() };
    for method in Method::ALL {
        let cell = Cell { set: Set::Spambase, seed: 0, goal: "fnr @ fpr<=10%".to_owned(), method };
        let [one, two] =
            [&split, &other].map(|split| match cell.run(split, &Counter::new(u64::MAX)).unwrap() {
                Outcome::Fitted(fitted) => fitted,
                Outcome::Unable { unable } => panic!("{unable}"),
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
    let (outcomes, fits) = run(&plan(data.path(), output.path(), &[Method::Pairwise]));
    assert_eq!(fits, 0);
    let unable = |(_, outcome): &(Cell, Outcome)| matches!(outcome, Outcome::Unable { unable } if unable == "its area is not one over fpr");
    assert!(outcomes.iter().all(unable), "{outcomes:?}");
}

#[test]
fn results_are_written_as_json_markdown_and_a_page() {
    let (data, output) = (data(240), tempfile::tempdir().unwrap());
    let plan = plan(data.path(), output.path(), &[Method::CrossEntropy, Method::Pairwise, Method::Setpoint]);
    let counter = Counter::new(u64::MAX);
    let results = plan.run(&counter).unwrap();
    results.save(output.path(), &counter).unwrap();
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
