use super::*;
use crate::Experiment;
use crate::read::made;
use crate::study::collect;
use crate::task::TREES;
use crate::watch::Counter;
use setpoint_trees::{Library, Parameters};

#[test]
fn a_study_is_kept_goes_on_and_does_not_depend_on_threads() {
    if Library::get().is_err() {
        eprintln!("skipped: LightGBM is not there");
        return;
    }
    let (data, one, two) = (made(400), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let spambase = TREES[3];
    let plan = |output: &tempfile::TempDir, threads| StudyPlan {
        threads,
        ..StudyPlan::made(Experiment::Trees, data.path(), output.path(), &[spambase])
    };
    let study = Trees {
        settings: Settings { configurations: Parameters::search(3, 0), rounds: 40, ..Settings::default() },
        anew: false,
        peers: Vec::new(),
    };
    let counter = Counter::new(3);
    assert!(matches!(collect(&plan(&one, 1), &study, &counter), Err(ExperimentError::Stopped)));
    let rest = Counter::new(u64::MAX);
    let resumed = collect(&plan(&one, 1), &study, &rest).unwrap().results;
    let whole = collect(&plan(&two, 2), &study, &Counter::new(u64::MAX)).unwrap().results;
    for goal in GOALS {
        for tool in whole.tools() {
            let values = whole.values(&spambase, goal, tool).unwrap();
            assert_eq!(values.len(), 2);
            assert!(values.iter().all(|value| (0.0..=100.0).contains(value)), "{values:?}");
            assert_eq!(resumed.values(&spambase, goal, tool), Some(values));
        }
    }
    assert_eq!(whole.tools().len(), 3);
    let known = Counter::new(u64::MAX);
    collect(&plan(&one, 2), &study, &known).unwrap();
    assert_eq!(known.fits(), 0);
}
