//! Rows that change places.

use super::*;
use crate::sample::Sample;

#[test]
fn rotations_hold_every_row_out_once_and_average_what_they_fit() {
    let settings = Settings { rotations: Some(4), ..Settings::default() };
    let fit = run("recall @ fpr<=2%", &settings, &mut Silent, None).unwrap();
    assert_eq!((fit.rotations, fit.candidates.len()), (4, 4 * 19));
    assert!(fit.winner.contains("4 rotations") && fit.baseline.name.starts_with("cross-entropy"));
    assert!(fit.candidates[19].name.starts_with("rotation 2: cross-entropy"));
    let alone = run("recall @ fpr<=2%", &Settings::default(), &mut Silent, None).unwrap();
    assert_ne!(fit.combined, alone.combined);
    // Held-out values of the rotations are of the size of the one that is always held out.
    let difference = fit.validation.unwrap() - alone.validation.unwrap();
    assert!(difference.abs() < 0.1, "{difference}");
}

#[test]
fn a_rotation_that_cannot_be_fitted_leaves_the_first() {
    // The validation rows have no third group, so that rotations train without one of their conditions.
    let goal: Goal = "recall @ fpr(g)<=5%".parse().unwrap();
    let (mut train, _) = part(40, 0.0);
    let labels = (0..40).map(|i| i % 8 == 0).collect();
    let groups = (0..40).map(|i| u32::from(i == 1)).collect();
    let names = vec!["a".to_owned(), "b".to_owned()];
    let train_sample = Sample::new(labels).unwrap().with_groups("g", names, groups).unwrap();
    let (mut validation, validation_sample) = part(400, 0.5);
    let mut fitted = |rotations| {
        fit(
            &goal,
            Part { model: &mut train, sample: &train_sample },
            Part { model: &mut validation, sample: &validation_sample },
            &Settings { rotations: Some(rotations), steps: Some(5), ..Settings::default() },
            &mut Silent,
            None,
        )
    };
    let fit = fitted(3).unwrap();
    assert_eq!(fit.rotations, 1);
    assert_eq!(fit, fitted(1).unwrap());
}
