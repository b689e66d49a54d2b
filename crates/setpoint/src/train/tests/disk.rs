//! Rows in a scratch file.

use super::*;
use crate::features::Stored;
use crate::model::StoredLinear;

fn stored(model: &Linear) -> StoredLinear {
    let mut stored = Stored::create(model.features().layout().clone(), &std::env::temp_dir()).unwrap();
    stored.push(model.features()).unwrap();
    StoredLinear::new(stored.finish().unwrap())
}

#[test]
fn a_fit_on_disk_is_the_fit_in_memory_to_the_last_bit() {
    let goal: Goal = "recall @ fpr<=5%".parse().unwrap();
    let auto = Settings { rotations: Some(1), ..Settings::default() };
    let ico = Settings { method: MethodChoice::Ico, ..auto.clone() };
    // A few rows that change places; all scores at once; several walks; fewer rows first.
    for (rows, settings) in [
        (5_000, Settings { rotations: Some(3), ..auto.clone() }),
        (6_000, Settings { method: MethodChoice::Lagrangian, steps: Some(20), ..auto.clone() }),
        (40_000, auto),
        (200_000, ico),
    ] {
        let ((mut train, sample), (mut validation, held_out)) = (part(rows, 0.0), part(5_000, 0.5));
        let (mut train_stored, mut validation_stored) = (stored(&train), stored(&validation));
        let run = |train: &mut dyn Model, validation: &mut dyn Model| {
            let (train, validation) =
                (Part { model: train, sample: &sample }, Part { model: validation, sample: &held_out });
            fit(&goal, train, validation, &settings, &mut Silent, None).unwrap()
        };
        let expected = run(&mut train, &mut validation);
        assert_eq!(run(&mut train_stored, &mut validation_stored), expected, "{rows} rows");
    }
}
