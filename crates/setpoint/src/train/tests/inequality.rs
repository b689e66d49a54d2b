//! Limits met by slack variables, and conditions on groups met by the model.

use super::*;
use crate::surrogate::Surrogate;

/// The last loss of a run's last stage.
#[derive(Default)]
struct LastLoss(f64);

impl Observer for LastLoss {
    fn observe(&mut self, progress: &Progress) -> ControlFlow<()> {
        self.0 = progress.loss;
        ControlFlow::Continue(())
    }
}

/// Softplus rates, a linear model, one threshold: convex in the parameters (proposition 1), so both
/// routes to an inequality have the same optimum, whether the limit binds there or not.
#[test]
fn slack_variables_reach_the_optimum_of_the_active_set_whether_the_limit_binds_or_not() {
    let optimum = |goal: &str, inequality: Inequality| {
        let settings = Settings {
            method: MethodChoice::Ico,
            positive_weight: PositiveWeight::Fixed(1.0),
            optimizer: OptimizerChoice::Adam,
            learning_rate: 0.02,
            surrogate: Surrogate::Softplus,
            bandwidth: Bandwidth::Deviations(1.0),
            steps: Some(800),
            inequality,
            ..Settings::default()
        };
        let mut last = LastLoss::default();
        run(goal, &settings, &mut last, None).unwrap();
        last.0
    };
    // Softplus rates bound the true ones from above: at 60% the second limit has room to spare.
    for goal in ["fnr @ fpr<=30%", "error @ fpr<=60%"] {
        let (active, slack) = (optimum(goal, Inequality::ActiveSet), optimum(goal, Inequality::Slack));
        assert!((active - slack).abs() < 1e-3, "{goal}: {active} and {slack}");
    }
    // Were the limit met as an equality, the second would end elsewhere.
    let equal = optimum("error @ fpr=60%", Inequality::ActiveSet);
    assert!(equal - optimum("error @ fpr<=60%", Inequality::Slack) > 1e-2, "{equal}");
}

#[test]
fn one_threshold_for_all_groups_meets_their_conditions_through_the_model() {
    let settings = Settings { shared_threshold: true, ..Settings::default() };
    for goal in
        ["accuracy @ gap(recall, g)<=0.02", "f1 @ ratio(positive-rate, g)>=0.9", "recall @ fpr(g)<=5%"]
    {
        let fit = run(goal, &settings, &mut Silent, None).unwrap();
        let goal: Goal = goal.parse().unwrap();
        let (mut model, sample) = part(3000, 0.5);
        let mut scores = vec![0.0; sample.len()];
        crate::model::Model::scores(
            &mut model,
            fit.combined.parameters().unwrap(),
            crate::model::Rows::All,
            &mut scores,
        )
        .unwrap();
        let value = Judge { shared_threshold: true, ..Judge::new(&goal, &sample) }.exact(&scores).unwrap();
        assert_eq!(Some(value), fit.validation, "{goal}");
        assert!(fit.gain.unwrap().difference >= 0.0, "{goal}: {:?}", fit.gain);
    }
}

#[test]
fn what_cannot_be_combined_with_one_threshold_or_slack_is_refused_with_the_reason() {
    let shared = Settings { shared_threshold: true, ..Settings::default() };
    let slack = Settings { inequality: Inequality::Slack, ..Settings::default() };
    let gap = "accuracy @ gap(recall, g)<=0.02";
    for (goal, settings, expected) in [
        ("recall @ fpr<=5%", shared.clone(), "a goal with conditions on groups"),
        (gap, Settings { method: MethodChoice::Pairwise, ..shared.clone() }, "method auto"),
        (gap, Settings { batch_size: Some(64), ..shared.clone() }, "the full batch"),
        (gap, Settings { optimizer: OptimizerChoice::Sgd, ..shared.clone() }, "optimizer lbfgs"),
        (gap, Settings { inequality: Inequality::Slack, ..shared.clone() }, "inequality active-set"),
    ] {
        let error = run(goal, &settings, &mut Silent, None).unwrap_err().to_string();
        assert!(error.starts_with(&format!("‹shared-threshold›: expected {expected}")), "{error}");
    }
    let rate = "recall @ fpr<=5%";
    for (goal, settings, expected) in [
        (gap, slack.clone(), "for a gap"),
        (rate, Settings { optimizer: OptimizerChoice::Lbfgs, ..slack.clone() }, "with optimizer lbfgs"),
        (rate, Settings { thresholds: Thresholds::Track, ..slack.clone() }, "with thresholds"),
        (rate, Settings { batch_size: Some(64), ..slack }, "with mini-batches"),
    ] {
        let error = run(goal, &settings, &mut Silent, None).unwrap_err().to_string();
        assert!(error.starts_with(&format!("‹inequality slack {expected}")), "{error}");
    }
    // Nobody positive, or everybody: with recalls so different no other threshold meets both.
    let error = run("accuracy @ fpr(g)<=1%, recall(g)>=0.99", &shared, &mut Silent, None).unwrap_err();
    assert!(
        matches!(error, TrainError::Threshold(ThresholdError::Infeasible { violation: Some(_), .. })),
        "{error}"
    );
}
