//! How much better than cross-entropy a model is: one number, on rows that did not choose the model
//! wherever there are any.

use std::fmt;

use serde::Serialize;

use crate::evaluate::Bounds;
use crate::number::level;

/// Said of a difference whose interval holds zero.
pub(crate) const NOTHING: &str = "not distinguishable from zero";

/// The model's value at the goal's condition less the baseline's.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GainRecord {
    /// The part it was measured on: test, else calibration, else validation.
    pub part: String,
    /// Whether the model was chosen on it, which flatters the model.
    pub chose: bool,
    /// Positive is better.
    pub difference: f64,
    /// From a paired bootstrap; `None` where there are too many rows to solve conditions on groups over and over.
    pub interval: Option<Bounds>,
    /// `better`, `worse`, `not distinguishable from zero`, or `the same` where cross-entropy was kept; `None`
    /// without an interval.
    pub verdict: Option<&'static str>,
}

impl GainRecord {
    /// The record of a difference; `same` where the model is the baseline itself.
    #[must_use]
    pub fn new(part: &str, difference: f64, interval: Option<Bounds>, same: bool) -> Self {
        let verdict = match &interval {
            _ if same => Some("the same"),
            Some(bounds) if bounds.lower > 0.0 => Some("better"),
            Some(bounds) if bounds.upper < 0.0 => Some("worse"),
            Some(_) => Some(NOTHING),
            None => None,
        };
        Self { part: part.to_owned(), chose: part == "validation", difference, interval, verdict }
    }
}

/// `+1.38 points on the test part, 95% interval -0.31 to +3.02: not distinguishable from zero`.
impl fmt::Display for GainRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(" points", |value| format!("{:+.2}", 100.0 * value)))
    }
}

impl GainRecord {
    /// The same of an amount, which is no share: what a row pays more, or costs less.
    pub(crate) fn as_amount(&self, goal: &str) -> String {
        let unit = if goal.starts_with("cost(") { " less" } else { " a row" };
        self.text(unit, |value| format!("{value:+.4}"))
    }

    fn text(&self, unit: &str, shown: impl Fn(f64) -> String) -> String {
        if self.verdict == Some("the same") {
            return "none: nothing trained for the goal beat it on validation, so it was kept".to_owned();
        }
        let mut text = format!("{}{unit} on the {} part", shown(self.difference), self.part);
        if self.chose {
            text.push_str(", which chose the model");
        }
        if let Some(Bounds { lower, upper, confidence, .. }) = &self.interval {
            text += &format!(", {} interval {} to {}", level(*confidence), shown(*lower), shown(*upper));
        }
        self.verdict.map_or(text.clone(), |verdict| format!("{text}: {verdict}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gain_says_where_it_is_from_and_whether_it_is_one() {
        let bounds = |lower, upper| Some(Bounds { lower, upper, confidence: 0.95, method: "bootstrap" });
        for (gain, text) in [
            (
                GainRecord::new("test", 0.0138, bounds(-0.0031, 0.0302), false),
                "+1.38 points on the test part, 95% interval -0.31 to +3.02: not distinguishable from zero",
            ),
            (
                GainRecord::new("validation", 0.02, bounds(0.01, 0.03), false),
                "+2.00 points on the validation part, which chose the model, 95% interval +1.00 to +3.00: better",
            ),
            (
                GainRecord::new("calibration", -0.02, bounds(-0.03, -0.01), false),
                "-2.00 points on the calibration part, 95% interval -3.00 to -1.00: worse",
            ),
            (GainRecord::new("test", 0.01, None, false), "+1.00 points on the test part"),
            (
                GainRecord::new("test", 0.0, bounds(0.0, 0.0), true),
                "none: nothing trained for the goal beat it on validation, so it was kept",
            ),
        ] {
            assert_eq!(gain.to_string(), text);
        }
    }
}
