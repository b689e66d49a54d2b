//! One stage by itself.

use super::*;

/// One stage alone, on the data of [`run`].
fn run_alone(goal: &str, settings: &Settings, start: Option<&[f32]>) -> Result<Candidate, TrainError> {
    let goal: Goal = goal.parse().unwrap();
    let (mut train, train_sample) = part(4000, 0.0);
    let (mut validation, validation_sample) = part(3000, 0.5);
    let train = Part { model: &mut train, sample: &train_sample };
    let validation = Part { model: &mut validation, sample: &validation_sample };
    fit_alone(&goal, train, validation, settings, start, &mut Silent, None)
}

/// The paper's protocol: from zeros by Adagrad, thresholds held, in units of the scores.
fn protocol() -> Settings {
    Settings {
        method: MethodChoice::Ico,
        optimizer: OptimizerChoice::Adagrad,
        learning_rate: 0.1,
        thresholds: Thresholds::Hold,
        bandwidth: Bandwidth::Score(1.0),
        steps: Some(200),
        ..Settings::default()
    }
}

#[test]
fn every_method_alone_learns_from_zeros() {
    for method in
        [MethodChoice::Ico, MethodChoice::CrossEntropy, MethodChoice::Lagrangian, MethodChoice::Pairwise]
    {
        let settings = Settings {
            method,
            positive_weight: PositiveWeight::Fixed(1.0),
            optimizer: OptimizerChoice::Adam,
            ..protocol()
        };
        let goal = "recall @ fpr<=5%";
        let best = run(goal, &Settings::default(), &mut Silent, None).unwrap().validation.unwrap();
        let alone = run_alone(goal, &settings, None).unwrap();
        // Equal scores, which zeros give, reach no recall at all.
        assert!(alone.validation.unwrap() > 0.8 * best, "{method:?}: {:?} of {best}", alone.validation);
        assert_eq!(alone.evaluations, 200);
    }
}

#[test]
fn a_stage_alone_is_the_last_stage_of_a_run_from_its_start() {
    let settings = Settings {
        method: MethodChoice::Ico,
        positive_weight: PositiveWeight::Fixed(3.0),
        ..Settings::default()
    };
    let whole = run("recall @ fpr<=2%", &settings, &mut Silent, None).unwrap();
    let alone = run_alone("recall @ fpr<=2%", &settings, Some(whole.baseline.combined.parameters().unwrap()))
        .unwrap();
    assert_eq!(alone.parameters, whole.combined.parameters().unwrap());
    assert_eq!(Some(&alone), whole.candidates.last());
}

#[test]
fn several_stages_cannot_be_fitted_alone() {
    let auto = Settings::default();
    let weights = Settings { method: MethodChoice::CrossEntropy, ..Settings::default() };
    for settings in [auto, weights] {
        let error = run_alone("f1", &settings, None).unwrap_err().to_string();
        assert!(error.ends_with("auto is several stages"), "{error}");
    }
}
