//! Texts and graphs: goals, run files, ONNX files.

use setpoint::goal::{ClassGoal, Goal, GoalText, QueryGoal, parse_conditions};
use setpoint_onnx::{Classifier, Decision};

/// A goal in each of its languages; what is understood prints as what is understood again, and as the same.
///
/// # Panics
/// If it does not.
pub fn goal(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(goal) = text.parse::<Goal>() {
        assert_eq!(goal.to_string().parse::<Goal>().as_ref(), Ok(&goal), "{text}");
    }
    if let Ok(goal) = text.parse::<QueryGoal>() {
        assert_eq!(goal.to_string().parse::<QueryGoal>().as_ref(), Ok(&goal), "{text}");
    }
    let classes = ["a", "b", "shirt"].map(str::to_owned);
    if let Ok(goal) = ClassGoal::parse(text, &classes) {
        assert_eq!(ClassGoal::parse(&goal.to_string(), &classes).as_ref(), Ok(&goal), "{text}");
    }
    // What is said of a mistake is made of the text too.
    let _ = text.parse::<GoalText>().map_err(|error| error.to_string());
    let _ = parse_conditions(text).map_err(|error| error.to_string());
}

/// A run file, up to where its run would begin.
pub fn run_file(bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = setpoint_cli::check_run_file(text);
    }
}

/// Anyone's ONNX file, up to where onnxruntime would be asked.
pub fn onnx(bytes: &[u8]) {
    let Ok(classifier) = Classifier::new(bytes.to_vec(), None) else { return };
    let _ = (classifier.inputs(), classifier.texts(), classifier.exposed());
    for columns in [1, 2] {
        let metadata = [("goal", "f1".to_owned())];
        let decision = Decision { thresholds: &[0.5], groups: None, columns, metadata: &metadata };
        if let Ok((decided, _)) = classifier.decided(&decision) {
            assert!(Classifier::new(decided, Some(classifier.value())).is_ok());
        }
    }
}
