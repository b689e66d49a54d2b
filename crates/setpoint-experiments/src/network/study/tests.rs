use std::path::Path;

use serde_json::Value;

use super::*;
use crate::Experiment;
use crate::network::protocol::{Budget, Cnn, Training};
use crate::study::{collect, run as save};
use crate::task::{IMAGES, NETWORKS, Source};
use crate::watch::Counter;

/// A number in 0..1 that looks random.
fn noise(at: usize) -> f64 {
    ((at as f64 * 12.9898).sin() * 43_758.547).fract().abs()
}

/// A directory with small files that have the shape of IJCNN1 and of UTKFace.
fn data(rows: usize) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let (mut text, mut images) = (String::new(), Vec::new());
    for row in 0..rows {
        let positive = row % 4 == 0;
        let shift = if positive { 0.3 } else { 0.0 };
        text += if positive { "1" } else { "-1" };
        (1..=22).for_each(|column| text += &format!(" {column}:{:.3}", noise(row * 22 + column) + shift));
        text += "\n";
        images.extend([if positive { 70 } else { 20 }, 0, 4 * u8::from(positive)]);
        images.extend((0..3072).map(|pixel| (200.0 * noise(row * 3072 + pixel) + 3.0 * shift) as u8));
    }
    std::fs::write(directory.path().join("ijcnn1.gz"), text).unwrap();
    std::fs::write(directory.path().join("utkface32.bin.gz"), images).unwrap();
    directory
}

fn task(name: &str) -> Task {
    NETWORKS.into_iter().find(|task| task.name == name).unwrap()
}

fn study(data: &Path, output: &Path, tasks: &[&str], methods: &[Method]) -> (StudyPlan, Networks) {
    let training = Training { epochs: 3, batch: 32, learning_rate: 0.01 };
    let tasks: Vec<Task> = tasks.iter().map(|name| task(name)).collect();
    let study = Networks {
        protocol: Protocol { images: training, tables: training, ..Protocol::networks(Budget::Quick) },
        goals: vec!["recall @ fpr<=10%".to_owned(), "recall @ fpr<=20%".to_owned()],
        methods: methods.to_vec(),
        anew: Vec::new(),
    };
    (StudyPlan::made(Experiment::Networks, data, output, &tasks), study)
}

fn run((plan, study): &(StudyPlan, Networks)) -> (Vec<Entry<Cell, Fitted>>, u64) {
    let counter = Counter::new(u64::MAX);
    let record = collect(plan, study, &counter).unwrap();
    (record.results.cells.cells, counter.fits())
}

fn problem((plan, study): &(StudyPlan, Networks), task: usize, seed: u64) -> Problem {
    let sources = Sources::read(plan, &Counter::new(1)).unwrap();
    sources.problem(&plan.tasks[task], &study.protocol, seed).unwrap()
}

/// Everything but the time it took.
fn timeless(cells: Vec<Entry<Cell, Fitted>>) -> Vec<Fitted> {
    let strip = |Entry { outcome: mut fitted, .. }: Entry<Cell, Fitted>| {
        fitted.seconds = 0.0;
        fitted.looks.iter_mut().for_each(|look| look.seconds = 0.0);
        fitted
    };
    cells.into_iter().map(strip).collect()
}

#[test]
fn a_stopped_run_goes_on_and_comes_to_the_same_on_tables_and_images() {
    let (data, whole, parts) = (data(160), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let of = |output: &Path| {
        let methods = [Method::Weighted, Method::Lagrangian, Method::Once];
        study(data.path(), output, &["ijcnn1", "utkface-age60"], &methods)
    };
    let (expected, fits) = run(&of(whole.path()));
    // For each task and seed: four shared fits and Setpoint for two goals, and four for each goal.
    assert_eq!(fits, 4 * (6 + 2 * 4));
    let (mut plan, mut study) = of(parts.path());
    plan.threads = 1;
    assert!(matches!(collect(&plan, &study, &Counter::new(8)), Err(ExperimentError::Stopped)));
    let (found, rest) = run(&of(parts.path()));
    // The shared cells of the first task and seed were done; the next had begun and is done again.
    assert_eq!(rest, fits - 6);
    assert_eq!(timeless(found), timeless(expected));
    assert_eq!(run(&of(parts.path())).1, 0);
    study.anew = vec![Method::Lagrangian];
    assert_eq!(run(&(plan, study)).1, 4 * 2 * 4);
}

#[test]
fn every_method_has_the_same_epochs() {
    let (data, output) = (data(200), tempfile::tempdir().unwrap());
    let methods = [&Method::RIVALS[..], &[Method::Once, Method::Setpoint]].concat();
    let (cells, _) = run(&study(data.path(), output.path(), &["ijcnn1"], &methods));
    assert_eq!(cells.len(), 2 * 2 * 6);
    assert!(cells.iter().all(|cell| cell.outcome.epochs == 12.0), "{cells:?}");
}

#[test]
fn setpoint_from_shared_fits_is_what_a_run_of_its_own_comes_to() {
    let (data, output) = (data(200), tempfile::tempdir().unwrap());
    let study = study(data.path(), output.path(), &["ijcnn1"], &[Method::Once]);
    for Entry { cell, outcome } in run(&study).0 {
        let problem = problem(&study, 0, cell.seed);
        let settings = study.1.protocol.auto(Source::Ijcnn1, cell.seed);
        let goal = parse(&cell.goal);
        let fitted = problem.fit(&goal, &settings, &Counter::new(u64::MAX), None).unwrap();
        assert_eq!((fitted.winner, fitted.validation), (outcome.setting, Some(outcome.validation)));
        assert_eq!(problem.test.value(&goal, &fitted.combined).unwrap(), outcome.test);
    }
}

#[test]
fn what_is_chosen_does_not_depend_on_the_test_rows() {
    let (data, output) = (data(200), tempfile::tempdir().unwrap());
    let study = study(data.path(), output.path(), &["utkface-race4"], &[]);
    let problem = problem(&study, 0, 0);
    let other = Problem { test: problem.train.clone(), ..problem.clone() };
    for method in [Method::Pairwise, Method::Ico, Method::Mixed] {
        let cell = &Cell::each(Experiment::Networks, study.0.tasks[0], &study.1.goals[0], &[method], &[0])[0];
        let [one, two] = [&problem, &other]
            .map(|problem| cell::run(cell, problem, &study.1.protocol, &Counter::new(u64::MAX)).unwrap());
        assert_eq!((one.setting, one.validation), (two.setting, two.validation));
        assert_ne!(one.test, two.test, "{method:?}");
    }
}

#[test]
fn labels_are_flipped_to_learn_from_and_to_choose_by_but_not_to_test() {
    let (data, output) = (data(400), tempfile::tempdir().unwrap());
    let study = study(data.path(), output.path(), &["ijcnn1", "ijcnn1-flipped"], &[]);
    let [right, wrong] = [0, 1].map(|task| problem(&study, task, 3));
    let apart = |one: &[bool], other: &[bool]| {
        one.iter().zip(other).filter(|(a, b)| a != b).count() as f64 / one.len() as f64
    };
    let share = apart(right.train.sample.labels(), wrong.train.sample.labels());
    // Three deviations of a tenth of 200 and of 100 labels.
    assert!((share - 0.1).abs() < 0.064, "{share}");
    let share = apart(right.validation.sample.labels(), wrong.validation.sample.labels());
    assert!((share - 0.1).abs() < 0.09, "{share}");
    assert_eq!(right.test.sample.labels(), wrong.test.sample.labels());
}

#[test]
fn a_budget_draws_as_many_rows_as_it_says() {
    let (data, output) = (data(400), tempfile::tempdir().unwrap());
    let mut study = study(data.path(), output.path(), &["utkface-age60"], &[]);
    study.1.protocol.rows = Some(100);
    let rows = |seed| {
        let problem = problem(&study, 0, seed);
        let parts = [problem.train, problem.validation, problem.test];
        parts.map(|part| part.sample.labels().to_vec())
    };
    assert_eq!(rows(0).map(|labels| labels.len()), [100, 50, 50]);
    assert_eq!(rows(0), rows(0));
    assert_ne!(rows(0), rows(1));
}

#[test]
fn results_are_written_as_json_markdown_a_page_and_pictures() {
    let (data, output) = (data(160), tempfile::tempdir().unwrap());
    let (mut plan, mut study) =
        study(data.path(), output.path(), &["utkface-age60"], Experiment::Images.methods());
    plan.experiment = Experiment::Images;
    study.protocol =
        Protocol { images: study.protocol.images, ..Protocol::images(Budget::Quick, Cnn::Small) };
    study.goals = vec!["fnr @ fpr<=10%".to_owned(), "roc-auc @ fpr in 0..20%".to_owned()];
    plan.seeds = vec![5];
    let record = save(&plan, &study, &Counter::new(u64::MAX)).unwrap();
    let read = |name: &str| std::fs::read_to_string(output.path().join(name)).unwrap();
    let json: Value = serde_json::from_str(&read("images.json")).unwrap();
    let cells = json["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 2 * study.methods.len());
    assert!(cells.iter().all(|cell| cell["test"].is_f64() && cell["method"].is_string()));
    let curves = |cell: &&Value| cell["looks"].as_array().is_some_and(|looks| looks.len() == 3);
    // Both runs of Setpoint are made of several fits.
    assert_eq!(cells.iter().filter(curves).count(), 2 * (study.methods.len() - 2));
    assert!(read("images.md").contains("| UTKFace, age>=60 | fnr @ fpr<=10% |"));
    assert!(read("images.html").contains("Roc-auc over fpr in 0..b, McClish"));
    for kind in ["fnr", "roc-auc"] {
        assert!(read(&format!("progress-utkface-age60-{kind}-seconds.svg")).starts_with("<svg"));
    }
    assert!(record.text().contains("Setpoint over its own average of cross-entropy"));
}

#[test]
fn the_layout_of_celeba_is_read_with_its_partition() {
    let (data, output) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let folder = data.path().join("celeba");
    std::fs::create_dir_all(folder.join("img_align_celeba")).unwrap();
    let (mut attributes, mut partition) = ("36\nSmiling Wavy_Hair\n".to_owned(), String::new());
    for at in 0..36u8 {
        let face = image::RgbImage::from_pixel(178, 218, image::Rgb([7 * at, 200, 90]));
        face.save(folder.join(format!("img_align_celeba/{at:06}.png"))).unwrap();
        let sign = |yes: bool| if yes { "1" } else { "-1" };
        attributes += &format!("{at:06}.png {} {}\n", sign(at % 2 == 0), sign(at % 3 == 0));
        partition += &format!("{at:06}.png {}\n", at / 12);
    }
    std::fs::write(folder.join("list_attr_celeba.txt"), attributes).unwrap();
    std::fs::write(folder.join("list_eval_partition.txt"), partition).unwrap();
    let mut study = study(data.path(), output.path(), &[], &[Method::CrossEntropy]);
    study.0.tasks = IMAGES.into_iter().filter(|task| task.name == "celeba-smiling").collect();
    study.0.seeds = vec![0];
    assert!(study.0.tasks[0].source.is_in(data.path()) && !Source::BigEarthNet.is_in(data.path()));
    let problem = problem(&study, 0, 0);
    let labels = |part: &crate::HeldRows| part.sample.labels().to_vec();
    let expected: Vec<bool> = (0..12).map(|at| at % 2 == 0).collect();
    assert_eq!([labels(&problem.train), labels(&problem.test)], [expected.clone(), expected]);
    assert_eq!(run(&study).0.len(), 2);
}
