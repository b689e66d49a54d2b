use super::*;
use crate::trees::record::Tool;
use crate::uci::{Set, made};
use crate::watch::Counter;
use setpoint_trees::{Library, Parameters};

#[test]
fn a_study_is_kept_goes_on_and_does_not_depend_on_threads() {
    if Library::get().is_err() {
        eprintln!("skipped: LightGBM is not there");
        return;
    }
    let (data, one, two) = (made(400), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let plan = |output: &tempfile::TempDir, threads| Plan {
        data: data.path().to_owned(),
        output: output.path().to_owned(),
        seeds: vec![0, 1],
        tasks: vec![Task::Uci(Set::Spambase)],
        settings: Settings { configurations: Parameters::search(3, 0), rounds: 40, ..Settings::default() },
        anew: false,
        peers: Vec::new(),
        threads,
        command: "setpoint reproduce trees".to_owned(),
    };
    let counter = Counter::new(3);
    assert!(matches!(plan(&one, 1).run(&counter), Err(ExperimentError::Stopped)));
    let rest = Counter::new(u64::MAX);
    let resumed = plan(&one, 1).run(&rest).unwrap();
    let whole = plan(&two, 2).run(&Counter::new(u64::MAX)).unwrap();
    for goal in GOALS {
        for tool in whole.tools() {
            let values = whole.values(Task::Uci(Set::Spambase), goal, &tool).unwrap();
            assert_eq!(values.len(), 2);
            assert!(values.iter().all(|value| (0.0..=100.0).contains(value)), "{values:?}");
            assert_eq!(resumed.values(Task::Uci(Set::Spambase), goal, &tool), Some(values));
        }
    }
    assert!(whole.tools().contains(&Tool::LightGbmAverage));
    let known = Counter::new(u64::MAX);
    plan(&one, 2).run(&known).unwrap();
    assert_eq!(known.fits(), 0);
}
