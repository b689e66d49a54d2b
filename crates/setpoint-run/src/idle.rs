//! Settings that would have no effect are refused: whoever gives one expects that it does something.

use serde_json::{Map, Value};
use setpoint::goal::{GoalText, Objective};
use setpoint::message::setting;
use setpoint::train::{MethodChoice, OptimizerChoice, Settings};

use crate::choice::ModelChoice;
use crate::failure::Failure;

/// Settings that trees look at.
const OF_TREES: [&str; 5] = ["seed", "rotations", "shared-threshold", "method", "bandwidth"];

/// Refuses what was given, differs from the model's defaults, and would change nothing.
pub(crate) fn refuse_idle(
    goal: &GoalText,
    model: &ModelChoice,
    settings: &Settings,
    given: &Map<String, Value>,
) -> Result<(), Failure> {
    let (own, usual) = (serde_json::to_value(settings)?, serde_json::to_value(model.settings())?);
    for name in given.keys().filter(|name| own[*name] != usual[*name]) {
        if let Some(why) = why_idle(name, goal, model, settings) {
            let value = own[name].as_str().map_or_else(|| own[name].to_string(), str::to_owned);
            return Err(Failure::input(format!(
                "{}: has no effect {why}, or leave it out",
                setting(name, if value == "true" { "" } else { &value })
            )));
        }
    }
    Ok(())
}

/// With what a setting has no effect, and what to give with it; `None` where it has one.
fn why_idle(name: &str, goal: &GoalText, model: &ModelChoice, settings: &Settings) -> Option<String> {
    use MethodChoice::{Auto, CrossEntropy, Ico, Lagrangian, Pairwise};
    let Settings { method, optimizer, shared_threshold, .. } = *settings;
    if let ModelChoice::Trees { .. } = model {
        return (!OF_TREES.contains(&name)).then(|| "with ‹model trees›; give another ‹model›".to_owned());
    }
    let network = model.is_network();
    let batches = network || settings.batch_size.is_some();
    let first_order = !matches!(optimizer, OptimizerChoice::Auto | OptimizerChoice::Lbfgs)
        || method == Lagrangian
        || settings.inequality == setpoint::engine::Inequality::Slack;
    let unless = |methods: &[MethodChoice], remedy: &str| {
        (!methods.contains(&method)).then(|| format!("with ‹method {method}›; give {remedy}"))
    };
    let in_batches =
        || (!batches).then(|| "on the full batch; give ‹batch-size› with a number of rows".to_owned());
    match name {
        "ridge" if batches => Some("on mini-batches; train on the full batch".to_owned()),
        "ridge" => unless(&[Ico, Lagrangian, Pairwise], "‹method ico›"),
        "bandwidth" if method == Auto && network => None,
        "bandwidth" => unless(&[Ico, Pairwise], "‹method ico›"),
        "dual-learning-rate" => unless(&[Lagrangian], "‹method lagrangian›"),
        "learning-rate" => (!batches && !first_order).then(|| "with lbfgs; give ‹optimizer adam›".to_owned()),
        "surrogate" => unless(&[Auto, Ico, Pairwise], "‹method ico›"),
        "thresholds" | "regulariser" | "inequality" if shared_threshold => {
            Some("with ‹shared-threshold›; give one threshold to each group".to_owned())
        }
        "thresholds" | "regulariser" | "inequality" => unless(&[Auto, Ico], "‹method ico›"),
        "bins" if !goal.two().is_some_and(|goal| matches!(goal.objective, Objective::Area(_))) => {
            Some("with a goal that is no area; give one such as roc-auc @ fpr in 0..5%".to_owned())
        }
        "bins" => {
            (method == CrossEntropy).then(|| "with ‹method cross-entropy›; give ‹method ico›".to_owned())
        }
        "pool" | "mix" | "warm-up" | "implicit-scope" | "correct-batches" => {
            in_batches().or_else(|| unless(&[Auto, Ico], "‹method ico›"))
        }
        "epochs" | "batches" | "schedule" | "weight-decay" | "weight-average" => in_batches(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use setpoint_data::SplitPlan;

    use crate::choice::ModelChoice;
    use crate::train::Job;

    #[test]
    fn settings_without_effect_are_refused_with_what_gives_them_one() {
        let job = |given: serde_json::Value, model: ModelChoice, goal: &str| {
            let serde_json::Value::Object(given) = given else { unreachable!() };
            let job = Job::new(goal.parse().unwrap(), model, &given, &SplitPlan::default(), Some(0.95));
            job.map(|_| ()).map_err(|failure| failure.message)
        };
        let goal = "recall @ fpr<=1%";
        let linear = |given| job(given, ModelChoice::Linear, goal);
        assert_eq!(
            linear(json!({"ridge": 0.01})).unwrap_err(),
            "‹ridge 0.01›: has no effect with ‹method auto›; give ‹method ico›, or leave it out"
        );
        assert!(linear(json!({"ridge": 0.01, "method": "ico"})).is_ok());
        // What is the default anyway, or nothing, asks for nothing.
        assert!(linear(json!({"ridge": 0, "mix": null, "learning-rate": "0.05"})).is_ok());
        for (given, why) in [
            (json!({"epochs": 3}), "on the full batch"),
            (json!({"learning-rate": 0.1}), "with lbfgs"),
            (json!({"bins": 7}), "with a goal that is no area"),
            (json!({"dual-learning-rate": 0.1, "method": "ico"}), "with ‹method ico›"),
            (json!({"bandwidth": "0.2sd", "method": "cross-entropy"}), "with ‹method cross-entropy›"),
            (json!({"ridge": 0.1, "method": "ico", "batch-size": 64}), "on mini-batches"),
        ] {
            let error = linear(given.clone()).unwrap_err();
            assert!(error.contains(&format!("has no effect {why}")), "{given}: {error}");
        }
        assert!(linear(json!({"learning-rate": 0.1, "optimizer": "adam"})).is_ok());
        assert!(job(json!({"bins": 7}), ModelChoice::Linear, "pr-auc @ recall in 0.95..1").is_ok());
        let mlp = || ModelChoice::Mlp { hidden: vec![8], dropout: 0.0 };
        assert!(job(json!({"epochs": 3, "mix": 0.2, "bandwidth": "0.1sd"}), mlp(), goal).is_ok());
        let trees = || ModelChoice::Trees { search: Some(2), rounds: None };
        assert!(job(json!({"steps": 3}), trees(), goal).unwrap_err().contains("with ‹model trees›"));
        assert!(job(json!({"seed": 3}), trees(), goal).is_ok());
    }
}
