//! Settings by the names that people write: on the command line, in run files, in Python.

use std::str::FromStr;

use super::{
    Bandwidth, BatchOrder, MethodChoice, OptimizerChoice, PositiveWeight, Schedule, Scope, Thresholds,
    TrainError,
};
use crate::engine::Inequality;
use crate::surrogate::Surrogate;

/// The value that a name stands for.
fn named<T: Copy>(
    what: &'static str,
    found: &str,
    names: &[(&str, T)],
    expected: &'static str,
) -> Result<T, TrainError> {
    let value = names.iter().find(|(name, _)| *name == found).map(|(_, value)| *value);
    value.ok_or_else(|| TrainError::Setting { what, found: format!("{found:?}"), expected })
}

impl FromStr for MethodChoice {
    type Err = TrainError;

    fn from_str(text: &str) -> Result<Self, TrainError> {
        let names = [
            ("auto", Self::Auto),
            ("ico", Self::Ico),
            ("cross-entropy", Self::CrossEntropy),
            ("lagrangian", Self::Lagrangian),
            ("pairwise", Self::Pairwise),
        ];
        named("method", text, &names, "auto, ico, cross-entropy, lagrangian or pairwise")
    }
}

impl FromStr for OptimizerChoice {
    type Err = TrainError;

    fn from_str(text: &str) -> Result<Self, TrainError> {
        let names = [
            ("auto", Self::Auto),
            ("lbfgs", Self::Lbfgs),
            ("adam", Self::Adam),
            ("adagrad", Self::Adagrad),
            ("sgd", Self::Sgd),
        ];
        named("optimizer", text, &names, "auto, lbfgs, adam, adagrad or sgd")
    }
}

impl FromStr for Thresholds {
    type Err = TrainError;

    fn from_str(text: &str) -> Result<Self, TrainError> {
        let names =
            [("smooth", Self::Smooth), ("exact", Self::Exact), ("track", Self::Track), ("hold", Self::Hold)];
        named("thresholds", text, &names, "smooth, exact, track or hold")
    }
}

impl FromStr for BatchOrder {
    type Err = TrainError;

    fn from_str(text: &str) -> Result<Self, TrainError> {
        let names = [("shuffled", Self::Shuffled), ("stratified", Self::Stratified)];
        named("batches", text, &names, "shuffled or stratified")
    }
}

impl FromStr for Schedule {
    type Err = TrainError;

    fn from_str(text: &str) -> Result<Self, TrainError> {
        let names = [("constant", Self::Constant), ("cosine", Self::Cosine)];
        named("schedule", text, &names, "constant or cosine")
    }
}

impl FromStr for Scope {
    type Err = TrainError;

    fn from_str(text: &str) -> Result<Self, TrainError> {
        let names = [("all", Self::All), ("head", Self::Head)];
        named("implicit scope", text, &names, "all or head")
    }
}

impl FromStr for Surrogate {
    type Err = TrainError;

    fn from_str(text: &str) -> Result<Self, TrainError> {
        let names = [("sigmoid", Self::Sigmoid), ("softplus", Self::Softplus)];
        named("surrogate", text, &names, "sigmoid or softplus")
    }
}

impl FromStr for Inequality {
    type Err = TrainError;

    fn from_str(text: &str) -> Result<Self, TrainError> {
        let names = [("active-set", Self::ActiveSet), ("slack", Self::Slack)];
        named("inequality", text, &names, "active-set or slack")
    }
}

impl FromStr for PositiveWeight {
    type Err = TrainError;

    fn from_str(text: &str) -> Result<Self, TrainError> {
        if text == "auto" {
            return Ok(Self::Auto);
        }
        let expected = "a positive number or auto";
        let setting =
            || TrainError::Setting { what: "positive weight", found: format!("{text:?}"), expected };
        let weight = text.parse::<f64>().ok().filter(|weight| *weight > 0.0 && weight.is_finite());
        weight.map(Self::Fixed).ok_or_else(setting)
    }
}

/// `0.1sd`, `0.5tail`, `0.2`.
impl FromStr for Bandwidth {
    type Err = TrainError;

    fn from_str(text: &str) -> Result<Self, TrainError> {
        let trimmed = text.trim();
        let (digits, unit): (&str, fn(f64) -> Self) = if let Some(digits) = trimmed.strip_suffix("sd") {
            (digits, Self::Deviations)
        } else if let Some(digits) = trimmed.strip_suffix("tail") {
            (digits, Self::Tail)
        } else {
            (trimmed, Self::Score)
        };
        match digits.trim().parse::<f64>() {
            Ok(value) if value.is_finite() && value > 0.0 => Ok(unit(value)),
            _ => Err(TrainError::Setting {
                what: "bandwidth",
                found: format!("{text:?}"),
                expected: "a positive width such as 0.1sd (standard deviations of the scores), 0.5tail or 0.2 (scores)",
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_others_refused_with_the_choice() {
        assert_eq!("cross-entropy".parse(), Ok(MethodChoice::CrossEntropy));
        assert_eq!("lbfgs".parse(), Ok(OptimizerChoice::Lbfgs));
        assert_eq!("track".parse(), Ok(Thresholds::Track));
        assert_eq!("softplus".parse(), Ok(Surrogate::Softplus));
        assert_eq!("slack".parse(), Ok(Inequality::Slack));
        let error = "magic".parse::<MethodChoice>().unwrap_err().to_string();
        assert_eq!(error, "method \"magic\": expected auto, ico, cross-entropy, lagrangian or pairwise");
    }

    #[test]
    fn bandwidths_have_units() {
        assert_eq!("0.1sd".parse(), Ok(Bandwidth::Deviations(0.1)));
        assert_eq!("0.5 tail".parse(), Ok(Bandwidth::Tail(0.5)));
        assert_eq!("2".parse(), Ok(Bandwidth::Score(2.0)));
        for bad in ["", "sd", "-1sd", "0", "1em", "inf"] {
            assert!(bad.parse::<Bandwidth>().is_err(), "{bad}");
        }
    }

    #[test]
    fn positive_weights_are_numbers_or_auto() {
        assert_eq!("auto".parse(), Ok(PositiveWeight::Auto));
        assert_eq!("30".parse(), Ok(PositiveWeight::Fixed(30.0)));
        for bad in ["", "0", "-1", "nan", "inf", "heavy"] {
            assert!(bad.parse::<PositiveWeight>().is_err(), "{bad}");
        }
    }
}
