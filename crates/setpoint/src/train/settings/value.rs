//! What is known of each setting, and of the types that settings are of.

use serde::Serialize;
use serde_json::Value;

use super::{Bandwidth, PositiveWeight, TABLE};
use crate::message::number;
use crate::train::TrainError;

/// What front ends show of a setting.
#[derive(Debug, Serialize)]
pub struct Setting {
    /// Its name.
    pub name: String,
    /// The heading that it is listed under.
    pub heading: &'static str,
    /// What it does, and its default; other settings stand in angle quotes.
    pub help: String,
    /// What its values are.
    pub kind: SettingKind,
    /// The values that there are, where they have names.
    pub choices: Vec<NamedValue>,
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

    pub(super) fn named(name: &str) -> Option<&'static Self> {
        TABLE.iter().find(|setting| setting.name == name)
    }

    pub(super) fn new<T: Written + Serialize>(
        name: &str,
        heading: &'static str,
        help: &str,
        default: T,
        otherwise: Option<&str>,
    ) -> Self {
        let choices = T::choices();
        let default = written(default);
        let own = default.as_str().map_or_else(|| default.to_string(), str::to_owned);
        let own = Some(own.trim_end_matches(".0")).filter(|_| !(default.is_null() || default.is_boolean()));
        let defaults: Vec<&str> = own.into_iter().chain(otherwise).collect();
        let names: Vec<&str> = choices.iter().map(|choice| choice.name.as_str()).collect();
        Self {
            name: name.replace('_', "-"),
            heading,
            help: match &defaults[..] {
                [] => help.trim_start().to_owned(),
                defaults => format!("{} [default: {}]", help.trim_start(), defaults.join("; ")),
            },
            kind: T::KIND,
            expected: if names.is_empty() {
                T::EXPECTED.into()
            } else {
                format!("one of {}", names.join(", "))
            },
            choices,
            default: if otherwise.is_some() { Value::Null } else { default },
        }
    }

    /// A value as people write it, in the form that the setting is stored in, if it has one.
    pub(super) fn read(&self, value: &Value) -> Value {
        let stored = match (self.kind, value) {
            (SettingKind::Whole, Value::String(text)) => text.parse::<u64>().ok().map(Value::from),
            (SettingKind::Number, Value::String(text)) => text.parse::<f64>().ok().map(Value::from),
            (SettingKind::Text, Value::Number(number)) => Some(number.to_string().into()),
            _ => None,
        };
        // Not a number is null, which would stand for no value.
        stored.filter(|stored| !stored.is_null()).unwrap_or_else(|| value.clone())
    }
}

/// What the values of a setting are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SettingKind {
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
pub struct NamedValue {
    /// Its name.
    pub name: String,
    /// What it means.
    pub help: &'static str,
}

/// A type that settings are of.
pub(crate) trait Written {
    const KIND: SettingKind;
    const EXPECTED: &'static str = "";

    fn choices() -> Vec<NamedValue> {
        Vec::new()
    }

    /// The number that a range is about.
    fn number(&self) -> Option<f64> {
        None
    }
}

macro_rules! written {
    ($($type:ty: $kind:ident, $expected:literal, $number:expr;)+) => {
        $(impl Written for $type {
            const KIND: SettingKind = SettingKind::$kind;
            const EXPECTED: &'static str = $expected;

            fn number(&self) -> Option<f64> {
                let number: fn(Self) -> Option<f64> = $number;
                number(*self)
            }
        })+
    };
}

written! {
    bool: Flag, "true or false", |_| None;
    usize: Whole, "a whole number", |count| Some(count as f64);
    u64: Whole, "a whole number", |count| Some(count as f64);
    f64: Number, "a number", Some;
    PositiveWeight: Text, "a positive number or auto", |weight| match weight {
        Self::Fixed(weight) => Some(weight),
        Self::Auto => None,
    };
    Bandwidth: Text,
        "a positive width such as 0.1sd (standard deviations of the scores), 0.5tail or 0.2 (scores)",
        |(Self::Deviations(width) | Self::Tail(width) | Self::Score(width))| Some(width);
}

impl<T: Written> Written for Option<T> {
    const KIND: SettingKind = T::KIND;
    const EXPECTED: &'static str = T::EXPECTED;

    fn number(&self) -> Option<f64> {
        self.as_ref()?.number()
    }
}

/// Which numbers make sense, and how messages say it.
pub(super) type Range = (fn(f64) -> bool, &'static str);

pub(super) const COUNT: Range = (|value| value >= 1.0, "at least 1");
pub(super) const POSITIVE: Range = (|value| value > 0.0, "a positive number");
pub(super) const NOT_NEGATIVE: Range = (|value| value >= 0.0, "a number of 0 or more");
pub(super) const SHARE: Range = (|value| (0.0..=1.0).contains(&value), "a share in [0, 1]");
pub(super) const MEMORY: Range = (|value| (0.0..1.0).contains(&value), "a memory in [0, 1)");
pub(super) const ROTATIONS: Range =
    (|value| value == 1.0 || (3.0..=1000.0).contains(&value), "1 for none, or from 3 to 1000");

pub(crate) fn written(value: impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

/// Enums of choices with their help, which are written by their names; the first is the default.
macro_rules! choices {
    ($($(#[doc = $about:literal])+ $name:ident { $($(#[doc = $help:literal])+ $variant:ident,)+ })+) => {
        $($(#[doc = $about])+
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
            const KIND: $crate::train::SettingKind = $crate::train::SettingKind::Choice;

            fn choices() -> Vec<$crate::train::NamedValue> {
                let choice = |variant: Self, help: &'static str| {
                    $crate::train::NamedValue { name: variant.to_string(), help: help.trim_start() }
                };
                vec![$(choice(Self::$variant, concat!($($help),+))),+]
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.write_str($crate::train::settings::written(self).as_str().unwrap_or_default())
            }
        })+
    };
}
pub(crate) use choices;

pub(super) fn check_range(
    name: &str,
    value: Option<f64>,
    (within, expected): Range,
) -> Result<(), TrainError> {
    match (value, Setting::named(&name.replace('_', "-"))) {
        (Some(value), Some(setting)) if !(value.is_finite() && within(value)) => {
            Err(TrainError::Setting { what: &setting.name, found: number(value), expected })
        }
        _ => Ok(()),
    }
}
