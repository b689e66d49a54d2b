//! A model certified anew: what changed.

use std::fmt;

use serde::Serialize;
use setpoint::message;

use crate::certificate::{CertificateRecord, uncertified};
use crate::evaluate::said_of_mix;
use crate::number::{level, percent, widened};
use crate::queries::BoundRecord;

/// A model certified anew on labelled rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RecertifyRecord {
    /// The new model file.
    pub artifact: String,
    /// The goal, as goals print.
    pub goal: String,
    /// Labelled rows.
    pub rows: u64,
    /// Positives among them; of two classes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub positives: Option<u64>,
    /// The thresholds so far.
    pub thresholds_before: Vec<f64>,
    /// The new ones.
    pub thresholds: Vec<f64>,
    /// The groups they are for.
    pub groups: Vec<String>,
    /// The classes, where there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<String>,
    /// The shifts so far.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shifts_before: Vec<f64>,
    /// The new ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shifts: Vec<f64>,
    /// What is proved about them.
    pub certificate: Option<CertificateRecord>,
    /// What was proved of a goal per query so far.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound_before: Option<BoundRecord>,
    /// What is proved of it now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound: Option<BoundRecord>,
    /// Why nothing is.
    pub certificate_refused: Option<String>,
    /// The share of positives that is meant, where it is not that of the rows.
    pub mix: Option<MixRecord>,
    /// Conditions that hold at any mix of classes, each class scoring as in these rows.
    pub survives_mix: Vec<String>,
    /// Conditions that hold at this one only.
    pub depends_on_mix: Vec<String>,
    /// What a reader should know besides.
    pub notes: Vec<String>,
}

/// A share of positives, under the assumption of label shift.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MixRecord {
    /// The share.
    pub share: f64,
    /// Lower end of its interval; the share itself where it was given.
    pub lower: f64,
    /// Upper end.
    pub upper: f64,
    /// Whether it was estimated from rows without labels.
    pub estimated: bool,
    /// The share of the labelled rows.
    pub of_rows: f64,
    /// The chance of scores so unlike any mixture of the two classes, were they one.
    pub mixture_p_value: Option<f64>,
    /// The chance of classes that score so unlike those of the calibration rows, were they alike.
    pub classes_p_value: Option<f64>,
    /// Whether a test speaks against label shift, at 1%.
    pub doubtful: bool,
}

impl RecertifyRecord {
    /// Its sentences, in which a front end spells the settings.
    pub fn sentences(&mut self) -> impl Iterator<Item = &mut String> {
        self.notes.iter_mut().chain(&mut self.certificate_refused)
    }
}

impl fmt::Display for MixRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", percent(self.share))?;
        if self.estimated {
            write!(f, " [{}, {}], estimated", percent(self.lower), percent(self.upper))?;
        }
        writeln!(f, ", where these rows have {}", percent(self.of_rows))?;
        let test = |f: &mut fmt::Formatter<'_>, what: &str, p: Option<f64>| match p {
            Some(p) => writeln!(f, "          {what}: p-value {p:.3}"),
            None => Ok(()),
        };
        writeln!(f, "          this rests on label shift: each class scores as in these rows")?;
        test(f, "scores within the classes are those of the calibration rows", self.classes_p_value)?;
        test(f, "scores without labels are a mixture of the classes", self.mixture_p_value)?;
        if self.doubtful {
            writeln!(f, "          label shift is doubtful: have rows of the new mix labelled instead")?;
        }
        Ok(())
    }
}

/// What changed, on a terminal.
impl fmt::Display for RecertifyRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |thresholds: &[f64]| {
            thresholds.iter().map(|one| message::number(*one)).collect::<Vec<_>>().join(", ")
        };
        writeln!(f, "goal      {}", self.goal)?;
        if let (Some(_), _) | (_, Some(_)) = (&self.bound, &self.bound_before) {
            writeln!(f, "rows      {}\n", self.rows)?;
            let said = |bound: &Option<BoundRecord>| {
                bound.as_ref().map_or_else(|| "nothing".to_owned(), ToString::to_string)
            };
            return writeln!(f, "{}\nbefore: {}", said(&self.bound), said(&self.bound_before));
        }
        match self.positives {
            Some(positives) => {
                writeln!(f, "rows      {}, {positives} of them positive", self.rows)?;
                let before = shown(&self.thresholds_before);
                writeln!(f, "threshold {} (before: {before})", shown(&self.thresholds))?;
            }
            None => {
                writeln!(f, "rows      {} of {} classes", self.rows, self.classes.len())?;
                for ((class, now), before) in self.classes.iter().zip(&self.shifts).zip(&self.shifts_before) {
                    let [now, before] = [now, before].map(|shift| message::number(widened(*shift as f32)));
                    writeln!(f, "shift     {now} of {class} (before: {before})")?;
                }
            }
        }
        if let Some(mix) = &self.mix {
            write!(f, "positives {mix}")?;
        }
        match (&self.certificate, &self.certificate_refused) {
            (Some(certificate), _) => writeln!(f, "\n{certificate}")?,
            (None, Some(reason)) => {
                writeln!(f, "\n{}", uncertified(!self.classes.is_empty(), false, reason))?;
            }
            (None, None) => {}
        }
        let at = self.mix.as_ref().map_or_else(
            || "the mix of classes of these rows".to_owned(),
            |mix| format!("a share of positives of {}", level(mix.share)),
        );
        let survives = self.survives_mix.iter().map(|name| (name.as_str(), true));
        let depends = self.depends_on_mix.iter().map(|name| (name.as_str(), false));
        f.write_str(&said_of_mix(survives.chain(depends), &at))
    }
}
