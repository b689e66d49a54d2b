//! The settings of a run: defined once, for the library, the command line, run files and Python.
//!
//! Each has a name (`batch-size`), a help text, a kind and a default. Front ends list them with
//! [`Setting::all`], gather what they are given by name, and put it over the defaults of a kind of model
//! with [`Settings::with`]. Help texts and messages name settings in angle quotes, for a front end to
//! spell ([`spell`](crate::message::spell)).

use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::TrainError;
use crate::engine::Inequality;
use crate::message::{number, quote};
use crate::surrogate::Surrogate;

mod value;

use value::{COUNT, MEMORY, NOT_NEGATIVE, POSITIVE, ROTATIONS, SHARE, check_range};
pub use value::{NamedValue, Setting, SettingKind};
pub(crate) use value::{Written, choices, written};

choices! {
    /// How to train.
    MethodChoice {
        /// Cross-entropy over a few weights, ico from there, the best averaged
        Auto,
        /// Ico alone, from a cross-entropy start
        Ico,
        /// The baseline alone
        CrossEntropy,
        /// The proxy-Lagrangian of TensorFlow Constrained Optimization
        Lagrangian,
        /// Pairs of positives and the highest negatives, for goals on fpr
        Pairwise,
    }
    /// The rule that moves the parameters.
    OptimizerChoice {
        /// lbfgs on the full batch; adam on mini-batches and for lagrangian
        Auto,
        /// Quasi-Newton on the full batch
        Lbfgs,
        /// Adam
        Adam,
        /// Adagrad
        Adagrad,
        /// Gradient descent
        Sgd,
    }
    /// Where ico's thresholds come from with first-order optimizers.
    Thresholds {
        /// The smooth conditions, solved at every step
        Smooth,
        /// The unrelaxed conditions, solved at every step
        Exact,
        /// Tracked to first order, corrected now and then (the paper's algorithm 1)
        Track,
        /// Held until corrected now and then (as the paper does for areas)
        Hold,
    }
    /// How the learning rate goes over a stage of mini-batches.
    Schedule {
        /// The same throughout
        Constant,
        /// Half a cosine down to 0
        Cosine,
    }
    /// How rows are dealt into mini-batches.
    BatchOrder {
        /// At random
        Shuffled,
        /// At random, with the same share of positives in each
        Stratified,
    }
    /// What thresholds are a function of when they are differentiated.
    Scope {
        /// All parameters
        All,
        /// The last layer's: the layers before it learn with the thresholds held
        Head,
    }
}

impl Thresholds {
    /// Whether they stay as they are within a step, and corrections set them.
    pub(super) fn corrected(self) -> bool {
        matches!(self, Self::Track | Self::Hold)
    }
}

/// How much the positives count in cross-entropy: `30`, `auto`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum PositiveWeight {
    /// This many times.
    Fixed(f64),
    /// The best of a small grid by validation.
    Auto,
}

/// The width of the surrogate's switch, 1 / sharpness: `0.1sd`, `0.5tail`, `0.2`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Bandwidth {
    /// In standard deviations of the scores.
    Deviations(f64),
    /// In units of the tail of the scores that the goal's conditions look at.
    Tail(f64),
    /// In units of the scores themselves: the paper's 1 / τ.
    Score(f64),
}

impl FromStr for PositiveWeight {
    type Err = TrainError;

    fn from_str(text: &str) -> Result<Self, TrainError> {
        match text {
            "auto" => Ok(Self::Auto),
            _ => positive(text).map(Self::Fixed).ok_or_else(|| refused::<Self>("positive-weight", text)),
        }
    }
}

impl FromStr for Bandwidth {
    type Err = TrainError;

    fn from_str(text: &str) -> Result<Self, TrainError> {
        let width = |unit: &str| positive(text.trim().strip_suffix(unit)?);
        let found = (width("sd").map(Self::Deviations))
            .or_else(|| width("tail").map(Self::Tail))
            .or_else(|| width("").map(Self::Score));
        found.ok_or_else(|| refused::<Self>("bandwidth", text))
    }
}

impl FromStr for Surrogate {
    type Err = TrainError;

    fn from_str(text: &str) -> Result<Self, TrainError> {
        let given = Map::from_iter([("surrogate".to_owned(), text.into())]);
        Ok(Settings::default().with(&given)?.surrogate)
    }
}

fn positive(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|value: &f64| value.is_finite() && *value > 0.0)
}

fn refused<T: Written>(what: &'static str, text: &str) -> TrainError {
    TrainError::Setting { what, found: quote(text), expected: T::EXPECTED }
}

impl fmt::Display for PositiveWeight {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(weight) => out.write_str(&number(*weight)),
            Self::Auto => out.write_str("auto"),
        }
    }
}

impl fmt::Display for Bandwidth {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deviations(width) => write!(out, "{}sd", number(*width)),
            Self::Tail(width) => write!(out, "{}tail", number(*width)),
            Self::Score(width) => out.write_str(&number(*width)),
        }
    }
}

/// Types that serde reads and writes as texts.
macro_rules! texts {
    ($($type:ident),+) => {
        $(impl From<$type> for String {
            fn from(value: $type) -> Self {
                value.to_string()
            }
        }

        impl TryFrom<String> for $type {
            type Error = TrainError;

            fn try_from(text: String) -> Result<Self, TrainError> {
                text.parse()
            }
        })+
    };
}

texts!(PositiveWeight, Bandwidth);

/// The struct, its defaults, ranges and table, from one list: `name: type = default, "otherwise" => RANGE;`.
macro_rules! settings {
    ($($heading:literal {
        $($(#[doc = $help:literal])+ $name:ident: $type:ty = $default:expr
            $(, $otherwise:literal)? $(=> $range:ident)?;)+
    })+) => {
        /// Settings of a run.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
        pub struct Settings {
            $($($(#[doc = $help])+ pub $name: $type,)+)+
        }

        impl Default for Settings {
            fn default() -> Self {
                Self { $($($name: $default,)+)+ }
            }
        }

        impl Settings {
            /// Refuses numbers that make no sense whatever the other settings are.
            pub(super) fn check_ranges(&self) -> Result<(), TrainError> {
                $($($(check_range(stringify!($name), self.$name.number(), $range)?;)?)+)+
                Ok(())
            }
        }

        static TABLE: LazyLock<Vec<Setting>> = LazyLock::new(|| {
            let all = [$($(Setting::new::<$type>(
                stringify!($name),
                $heading,
                concat!($($help),+),
                $default,
                None$(.or(Some($otherwise)))?,
            ),)+)+];
            all.into_iter().filter(|setting| !setting.heading.is_empty()).collect()
        });
    };
}

settings! {
    "Splits" {
        /// Seed of the split and of mini-batches
        seed: u64 = 0;
        /// How often train and validation rows change places, the fits averaged; 1: never
        rotations: Option<usize> = None, "3 for auto with a calibration share or queries, on at most 100,000 rows that are not split by time, else 1" => ROTATIONS;
    }
    "Threshold" {
        /// One threshold for all groups: predict needs no group, and the model itself must meet the
        /// conditions on groups
        shared_threshold: bool = false;
    }
    "Training" {
        /// How to train
        method: MethodChoice = MethodChoice::Auto;
        /// Weight of the positives in cross-entropy: a number, or auto to choose on validation
        positive_weight: PositiveWeight = PositiveWeight::Auto => POSITIVE;
        /// The optimizer
        optimizer: OptimizerChoice = OptimizerChoice::Auto;
        /// Step size of adam, adagrad and sgd
        learning_rate: f64 = 0.05, "mlp and small cnn: 0.005, cnn: 0.001" => POSITIVE;
        // Under fpr<=1% multipliers settle at 12 to 16 on Letter and IJCNN1: within 200 steps at 0.5,
        // 1,500 and more at 0.05; at 3 they circle.
        /// Step size of the multipliers, with ‹method lagrangian›
        dual_learning_rate: f64 = 0.5 => POSITIVE;
        /// Rows per step
        batch_size: Option<usize> = None, "all; mlp: 256, cnn: 512, small 128" => COUNT;
        /// Passes over the rows in mini-batches
        epochs: u64 = 20 => COUNT;
        /// How rows are dealt into mini-batches
        batches: BatchOrder = BatchOrder::Shuffled;
        /// How the learning rate goes over mini-batches
        schedule: Schedule = Schedule::Constant;
        /// Pull of the weights towards zero on mini-batches, in proportion to the learning rate
        weight_decay: f64 = 0.0 => NOT_NEGATIVE;
        /// Memory of the average of the parameters that mini-batches end in; 0: none
        weight_average: f64 = 0.0, "networks: 0.99" => MEMORY;
        /// Most gradient evaluations of each stage
        steps: Option<u64> = None, "30 of lbfgs, 500 of the others on the full batch" => COUNT;
        /// Steps without a better validation value before a stage ends
        patience: Option<u64> = None;
        /// Where thresholds come from in training with adam, adagrad and sgd
        thresholds: Thresholds = Thresholds::Smooth;
        /// Steps between exact corrections of tracked thresholds (the paper's N), and between looks at
        /// the validation split
        correct_every: u64 = 10 => COUNT;
        /// Mini-batches that a correction is made from (the paper's k)
        correct_batches: usize = 10 => COUNT;
        /// Mini-batches whose scores thresholds are solved on
        pool: usize = 20 => COUNT;
        /// Share of the cross-entropy gradient mixed in on mini-batches
        mix: f64 = 0.0, "networks: 0.5" => SHARE;
        /// Ico on mini-batches from a fresh start, with cross-entropy alone for this share of the steps; by
        /// default it goes on from the best cross-entropy fit
        warm_up: Option<f64> = None => SHARE;
        /// What thresholds are a function of on mini-batches: all parameters, or the last layer's
        implicit_scope: Scope = Scope::All;
        /// The smooth stand-in for decisions
        surrogate: Surrogate = Surrogate::Sigmoid;
        /// Width of the surrogate with ‹method ico›: 0.1sd (of the scores), 0.5tail, or 0.2 (scores)
        bandwidth: Bandwidth = Bandwidth::Deviations(0.1), "networks: 0.5tail" => POSITIVE;
        /// Scale-free ridge ρ |w|² / sd(s)², with ‹method ico›
        ridge: f64 = 0.0 => NOT_NEGATIVE;
        /// The paper's penalty on the squared slope of the constraint
        regulariser: f64 = 0.0 => NOT_NEGATIVE;
        /// How limits are met
        inequality: Inequality = Inequality::ActiveSet;
        /// Thresholds that stand for an area
        bins: Option<usize> = None => COUNT;
    }
    "" {
        /// Rows of the data that `k=` will be asked of; by default those of validation.
        rows_scored: Option<u64> = None;
    }
}

impl Settings {
    /// These settings with those given in their places, by name, each alone in its range. Numbers may be
    /// written as texts; null leaves a setting as it is.
    ///
    /// # Errors
    /// If there is no such setting, or a value is not one that it can have.
    pub fn with(&self, given: &Map<String, Value>) -> Result<Self, TrainError> {
        let mut settings = self.clone();
        for (name, value) in given.iter().filter(|(_, value)| !value.is_null()) {
            let unknown = || TrainError::UnknownSetting { name: name.clone() };
            let setting = Setting::named(name).ok_or_else(unknown)?;
            let mut all = written(&settings);
            all[name] = setting.read(value);
            settings = serde_json::from_value(all).map_err(|_| TrainError::Setting {
                what: &setting.name,
                found: value.as_str().map_or_else(|| value.to_string(), quote),
                expected: &setting.expected,
            })?;
        }
        settings.check_ranges()?;
        Ok(settings)
    }

    /// How often train and validation rows change places; 1: never.
    pub(super) fn rotations(&self) -> usize {
        self.rotations.unwrap_or(1)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn with(given: Value) -> Result<Settings, String> {
        let given: Map<String, Value> = serde_json::from_value(given).unwrap();
        Settings::default().with(&given).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_given_takes_the_place_of_the_default_and_null_does_not() {
        let found = with(json!({
            "method": "cross-entropy", "batch-size": "64", "mix": 0.25, "positive-weight": 30,
            "bandwidth": "0.5 tail", "inequality": "slack", "epochs": null,
        }));
        let expected = Settings {
            method: MethodChoice::CrossEntropy,
            batch_size: Some(64),
            mix: 0.25,
            positive_weight: PositiveWeight::Fixed(30.0),
            bandwidth: Bandwidth::Tail(0.5),
            inequality: Inequality::Slack,
            ..Settings::default()
        };
        assert_eq!(found, Ok(expected.clone()));
        let recorded = written(&expected);
        assert_eq!(recorded["inequality"], "slack");
        assert_eq!(recorded["bandwidth"], "0.5tail");
        assert_eq!(serde_json::from_value::<Settings>(recorded).unwrap(), expected);
    }

    #[test]
    fn what_a_setting_cannot_be_is_refused_by_its_name() {
        for (given, message) in [
            (
                json!({"method": "magic"}),
                "‹method \"magic\"›: expected one of auto, ico, cross-entropy, lagrangian, pairwise",
            ),
            (
                json!({"positive-weight": "heavy"}),
                "‹positive-weight \"heavy\"›: expected a positive number or auto",
            ),
            (json!({"batch-size": -3}), "‹batch-size -3›: expected a whole number"),
            (json!({"warm-up": "nan"}), "‹warm-up \"nan\"›: expected a number"),
            (json!({"steps": "many"}), "‹steps \"many\"›: expected a whole number"),
            (json!({"shared-threshold": 1}), "‹shared-threshold 1›: expected true or false"),
            (json!({"batch-size": 0}), "‹batch-size 0›: expected at least 1"),
            (json!({"rotations": 2}), "‹rotations 2›: expected 1 for none, or from 3 to 1000"),
            (json!({"rows-scored": 3}), "there is no setting \"rows-scored\""),
        ] {
            assert_eq!(with(given), Err(message.to_owned()));
        }
        for bad in ["", "sd", "-1sd", "0", "1em", "inf"] {
            assert!(bad.parse::<Bandwidth>().is_err(), "{bad}");
        }
        for bad in ["", "0", "-1", "nan", "inf"] {
            assert!(bad.parse::<PositiveWeight>().is_err(), "{bad}");
        }
    }

    #[test]
    fn every_setting_takes_its_own_default_and_its_choices() {
        let recorded = written(Settings::default());
        assert_eq!(recorded.as_object().unwrap().len(), Setting::all().len() + 1);
        for setting in Setting::all() {
            let own = [recorded[&setting.name].clone(), setting.default.clone()];
            let named = setting.choices.iter().map(|choice| json!(choice.name));
            for value in own.into_iter().chain(named) {
                let found = with(json!({ &setting.name: value.clone() })).unwrap();
                assert!(value.is_null() || written(found)[&setting.name] == value, "{}", setting.name);
            }
            assert!(!setting.help.is_empty() && !setting.expected.is_empty(), "{}", setting.name);
        }
    }
}
