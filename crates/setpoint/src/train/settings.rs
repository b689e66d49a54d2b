//! The settings of a run: defined once, for the library, the command line, run files and Python.
//!
//! Each has a name (`batch-size`), a help text, a kind and a default. Front ends list them with
//! [`Setting::all`], gather what they are given by name, and put it over the defaults of a kind of model
//! with [`Settings::with`]. Help and messages write other settings between backticks, and a front end
//! spells them its own way ([`spell`](crate::message::spell)).

use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::TrainError;
use crate::engine::Inequality;
use crate::message::{number, one_of, quote};
use crate::surrogate::Surrogate;

/// What front ends show of a setting.
#[derive(Debug, Serialize)]
pub struct Setting {
    /// Its name.
    pub name: String,
    /// The heading that it is listed under.
    pub heading: &'static str,
    /// What it does, and its default; other settings stand between backticks.
    pub help: String,
    /// What its values are.
    pub kind: Kind,
    /// A stand-in for its value in help texts.
    pub form: &'static str,
    /// The values that there are, where they have names.
    pub choices: Vec<Choice>,
    /// What messages say it may be.
    pub expected: String,
    /// Its default; null where the kind of model or the data decides.
    pub default: Value,
}

impl Setting {
    /// All that a user can give.
    #[must_use]
    pub fn all() -> &'static [Self] {
        &TABLE
    }

    fn new<T: Written + Serialize>(
        name: &str,
        heading: &'static str,
        help: &str,
        default: T,
        otherwise: Option<&str>,
    ) -> Self {
        let choices = T::choices();
        let default = written(default);
        let own = match &default {
            Value::Null | Value::Bool(_) => None,
            Value::String(text) => Some(text.clone()),
            value => Some(number(value.as_f64().unwrap_or_default())),
        };
        let defaults: Vec<&str> = own.as_deref().into_iter().chain(otherwise).collect();
        let help = help.trim_start();
        Self {
            name: name.replace('_', "-"),
            heading,
            help: match &defaults[..] {
                [] => help.to_owned(),
                defaults => format!("{help} [default: {}]", defaults.join("; ")),
            },
            kind: T::KIND,
            form: T::FORM,
            expected: match &choices[..] {
                [] => T::EXPECTED.to_owned(),
                choices => one_of(choices.iter().map(|choice| choice.name.as_str())),
            },
            choices,
            default: if otherwise.is_some() { Value::Null } else { default },
        }
    }

    /// A value as people write it, in the form that the setting is stored in.
    fn read(&self, value: &Value) -> Value {
        match (self.kind, value) {
            (Kind::Whole, Value::String(text)) => text.parse::<u64>().map_or(Value::Null, Value::from),
            (Kind::Number, Value::String(text)) => text.parse::<f64>().map_or(Value::Null, Value::from),
            (Kind::Text, Value::Number(number)) => Value::String(number.to_string()),
            _ => value.clone(),
        }
    }
}

/// What the values of a setting are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// On or off.
    Flag,
    /// Whole numbers.
    Whole,
    /// Numbers.
    Number,
    /// Texts, or numbers without a unit.
    Text,
    /// Names.
    Choice,
}

/// One of the values that a setting can have.
#[derive(Debug, Serialize)]
pub struct Choice {
    /// Its name.
    pub name: String,
    /// What it means.
    pub help: &'static str,
}

/// A type that settings are of.
pub(crate) trait Written {
    const KIND: Kind;
    const FORM: &'static str;
    const EXPECTED: &'static str;

    fn choices() -> Vec<Choice> {
        Vec::new()
    }
}

macro_rules! written {
    ($($type:ty: $kind:ident, $form:literal, $expected:literal;)+) => {
        $(impl Written for $type {
            const KIND: Kind = Kind::$kind;
            const FORM: &'static str = $form;
            const EXPECTED: &'static str = $expected;
        })+
    };
}

written! {
    bool: Flag, "", "true or false";
    usize: Whole, "N", "a whole number";
    u64: Whole, "N", "a whole number";
    f64: Number, "X", "a number";
    PositiveWeight: Text, "X|auto", "a positive number or auto";
    Bandwidth: Text, "X",
        "a positive width such as 0.1sd (standard deviations of the scores), 0.5tail or 0.2 (scores)";
}

impl<T: Written> Written for Option<T> {
    const KIND: Kind = T::KIND;
    const FORM: &'static str = T::FORM;
    const EXPECTED: &'static str = T::EXPECTED;
}

pub(crate) fn written(value: impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

/// An enum of choices with their help, which are written by their names; the first is the default.
macro_rules! choices {
    ($(#[doc = $about:literal])+ $name:ident { $($(#[doc = $help:literal])+ $variant:ident,)+ }) => {
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum $name {
            $($(#[doc = $help])+ $variant,)+
        }

        impl Default for $name {
            fn default() -> Self {
                [$(Self::$variant),+][0]
            }
        }

        impl $crate::train::settings::Written for $name {
            const KIND: $crate::train::settings::Kind = $crate::train::settings::Kind::Choice;
            const FORM: &'static str = "NAME";
            const EXPECTED: &'static str = "";

            fn choices() -> Vec<$crate::train::settings::Choice> {
                let choice = |variant: Self, help: &'static str| $crate::train::settings::Choice {
                    name: variant.to_string(),
                    help: help.trim_start(),
                };
                vec![$(choice(Self::$variant, concat!($($help),+))),+]
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.write_str($crate::train::settings::written(self).as_str().unwrap_or_default())
            }
        }
    };
}
pub(crate) use choices;

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
}

choices! {
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
}

choices! {
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
}

impl Thresholds {
    /// Whether they stay as they are within a step, and corrections set them.
    pub(super) fn corrected(self) -> bool {
        matches!(self, Self::Track | Self::Hold)
    }
}

choices! {
    /// How the learning rate goes over a stage of mini-batches.
    Schedule {
        /// The same throughout
        Constant,
        /// Half a cosine down to 0
        Cosine,
    }
}

choices! {
    /// How rows are dealt into mini-batches.
    BatchOrder {
        /// At random
        Shuffled,
        /// At random, with the same share of positives in each
        Stratified,
    }
}

choices! {
    /// What thresholds are a function of when they are differentiated.
    Scope {
        /// All parameters
        All,
        /// The last layer's: the layers before it learn with the thresholds held
        Head,
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
        let (digits, unit): (&str, fn(f64) -> Self) = if let Some(digits) = text.trim().strip_suffix("sd") {
            (digits, Self::Deviations)
        } else if let Some(digits) = text.trim().strip_suffix("tail") {
            (digits, Self::Tail)
        } else {
            (text, Self::Score)
        };
        positive(digits).map(unit).ok_or_else(|| refused::<Self>("bandwidth", text))
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
        let (Self::Deviations(width) | Self::Tail(width) | Self::Score(width)) = self;
        let unit = match self {
            Self::Deviations(_) => "sd",
            Self::Tail(_) => "tail",
            Self::Score(_) => "",
        };
        write!(out, "{}{unit}", number(*width))
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

/// The struct, its defaults and the table, from one list: `name: type = default, "and otherwise";`.
macro_rules! settings {
    ($($heading:literal {
        $($(#[doc = $help:literal])+ $name:ident: $type:ty = $default:expr $(, $otherwise:literal)?;)+
    })+ hidden { $($(#[doc = $note:literal])+ $hidden:ident: $hidden_type:ty = $hidden_default:expr;)+ }) => {
        /// Settings of a run.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
        pub struct Settings {
            $($($(#[doc = $help])+ pub $name: $type,)+)+
            $($(#[doc = $note])+ pub $hidden: $hidden_type,)+
        }

        impl Default for Settings {
            fn default() -> Self {
                Self { $($($name: $default,)+)+ $($hidden: $hidden_default,)+ }
            }
        }

        static TABLE: LazyLock<Vec<Setting>> = LazyLock::new(|| vec![
            $($(Setting::new::<$type>(
                stringify!($name),
                $heading,
                concat!($($help),+),
                $default,
                None$(.or(Some($otherwise)))?,
            ),)+)+
        ]);
    };
}

settings! {
    "Splits" {
        /// Seed of the split and of mini-batches
        seed: u64 = 0;
        /// How often train and validation rows change places, the fits averaged; 1: never
        rotations: Option<usize> = None, "3 for auto with a calibration share, on at most 100,000 rows that may be split at random, else 1";
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
        positive_weight: PositiveWeight = PositiveWeight::Auto;
        /// The optimizer
        optimizer: OptimizerChoice = OptimizerChoice::Auto;
        /// Step size of adam, adagrad and sgd
        learning_rate: f64 = 0.05, "mlp and small cnn: 0.005, cnn: 0.001";
        // Under fpr<=1% multipliers settle at 12 to 16 on Letter and IJCNN1: within 200 steps at 0.5,
        // 1,500 and more at 0.05; at 3 they circle.
        /// Step size of the multipliers, with `method lagrangian`
        dual_learning_rate: f64 = 0.5;
        /// Rows per step
        batch_size: Option<usize> = None, "all; mlp: 256, cnn: 512, small 128";
        /// Passes over the rows in mini-batches
        epochs: u64 = 20;
        /// How rows are dealt into mini-batches
        batches: BatchOrder = BatchOrder::Shuffled;
        /// How the learning rate goes over mini-batches
        schedule: Schedule = Schedule::Constant;
        /// Pull of the weights towards zero on mini-batches, in proportion to the learning rate
        weight_decay: f64 = 0.0;
        /// Memory of the average of the parameters that mini-batches end in; 0: none
        weight_average: f64 = 0.0, "networks: 0.99";
        /// Most gradient evaluations of each stage
        steps: Option<u64> = None, "30 of lbfgs, 500 of the others on the full batch";
        /// Steps without a better validation value before a stage ends
        patience: Option<u64> = None;
        /// Where thresholds come from in training with adam, adagrad and sgd
        thresholds: Thresholds = Thresholds::Smooth;
        /// Steps between exact corrections of tracked thresholds (the paper's N), and between looks at
        /// the validation split
        correct_every: u64 = 10;
        /// Mini-batches that a correction is made from (the paper's k)
        correct_batches: usize = 10;
        /// Mini-batches whose scores thresholds are solved on
        pool: usize = 20;
        /// Share of the cross-entropy gradient mixed in on mini-batches
        mix: f64 = 0.0, "networks: 0.5";
        /// Ico on mini-batches from a fresh start, with cross-entropy alone for this share of the steps; by
        /// default it goes on from the best cross-entropy fit
        warm_up: Option<f64> = None;
        /// What thresholds are a function of on mini-batches: all parameters, or the last layer's
        implicit_scope: Scope = Scope::All;
        /// The smooth stand-in for decisions
        surrogate: Surrogate = Surrogate::Sigmoid;
        /// Width of the surrogate with `method ico`: 0.1sd (of the scores), 0.5tail, or 0.2 (scores)
        bandwidth: Bandwidth = Bandwidth::Deviations(0.1), "networks: 0.5tail";
        /// Scale-free ridge ρ |w|² / sd(s)², with `method ico`
        ridge: f64 = 0.0;
        /// The paper's penalty on the squared slope of the constraint
        regulariser: f64 = 0.0;
        /// How limits are met
        inequality: Inequality = Inequality::ActiveSet;
        /// Thresholds that stand for an area
        bins: Option<usize> = None;
    }
    hidden {
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
            let setting = Setting::all().iter().find(|setting| setting.name == *name);
            let setting = setting.ok_or_else(|| TrainError::UnknownSetting { name: name.clone() })?;
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
                "`method \"magic\"`: expected auto, ico, cross-entropy, lagrangian or pairwise",
            ),
            (
                json!({"positive-weight": "heavy"}),
                "`positive-weight \"heavy\"`: expected a positive number or auto",
            ),
            (json!({"batch-size": -3}), "`batch-size -3`: expected a whole number"),
            (json!({"mix": "nan"}), "`mix \"nan\"`: expected a number"),
            (json!({"shared-threshold": 1}), "`shared-threshold 1`: expected true or false"),
            (json!({"pool": 0}), "`pool 0`: expected at least 1"),
            (json!({"rotations": 2}), "`rotations 2`: expected 1 for none, or from 3 to 1000"),
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
