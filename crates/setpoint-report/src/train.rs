//! What a training run came to.

mod text;

pub(crate) use text::Column;

use serde::Serialize;

use crate::band::BandRecord;
use crate::certificate::{CertificateRecord, uncertified};
use crate::classes::{ClassDecisions, ClassesRecord};
use crate::few::Support;
use crate::gain::GainRecord;
use crate::group::GroupRecord;
use crate::label::LabelRecord;
use crate::money::MoneyRecord;
use crate::part::ByPart;
use crate::population::PopulationRecord;
use crate::queries::{BoundRecord, QueriesRecord};
use crate::unmet::{UnmetRecord, listed};

/// Everything a training run says about itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TrainRecord {
    /// The goal, as goals print.
    pub goal: String,
    /// The goal that the shipped thresholds answer.
    pub operating: String,
    /// What counts as positive.
    pub label: Option<LabelRecord>,
    /// The kind of model.
    pub model: String,
    /// The method asked for.
    pub method: String,
    /// Which fit, or average of fits, was kept.
    pub winner: String,
    /// How often train and validation rows changed places; the result is the average.
    pub rotations: u64,
    /// The seed.
    pub seed: u64,
    /// Gradient evaluations over all stages.
    pub steps: u64,
    /// Walks over the training rows that answered them, where stages learn from all rows at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passes: Option<u64>,
    /// Examples in each part.
    pub rows: ByPart<u64>,
    /// Columns of the encoded matrix.
    pub columns: u64,
    /// The shipped thresholds: one, or one for each group; none where the largest score decides.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub thresholds: Vec<f32>,
    /// The classes that the largest of score minus shift decides among.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub classes: Option<ClassesRecord<ByPart<Option<ClassDecisions>>>>,
    /// What the order within queries comes to on each part, of a goal per query.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queries: Option<ByPart<Option<QueriesRecord>>>,
    /// The part on which the thresholds or shifts were chosen.
    pub thresholds_from: String,
    /// The groups with a threshold each.
    pub groups: Option<GroupsRecord>,
    /// Whether conditions on groups are met by thresholds or by the model; `None` where the goal has
    /// no such conditions.
    pub group_conditions_met_by: Option<String>,
    /// The goal's value at its own condition on each part; with rotations, on validation the mean over
    /// the rows that each held out.
    pub objective: ByPart<Option<f64>>,
    /// The rates of the conditions at the shipped thresholds, on each part.
    pub constraint: ByPart<Option<Vec<Option<f64>>>>,
    /// The names of those rates.
    pub constraint_names: Vec<String>,
    /// Examples that each of them rests on, on each part.
    pub constraint_examples: ByPart<Vec<u64>>,
    /// Examples that the goal's value rests on: the fewer of both classes, the smallest class, or the queries.
    pub examples: ByPart<u64>,
    /// Rates within each group at the shipped thresholds, on the part named next; empty without groups.
    pub group_rates: Vec<GroupRecord>,
    /// The part they were measured on: the last one that was held out.
    pub group_rates_from: Option<String>,
    /// The conditions that are not met there, on each part.
    pub unmet: ByPart<Vec<UnmetRecord>>,
    /// What users get at the shipped thresholds, on each part.
    #[serde(skip_serializing_if = "ByPart::is_none")]
    pub shipped: ByPart<Option<Shipped>>,
    /// Who goes where, of decisions that leave rows undecided.
    #[serde(skip_serializing_if = "ByPart::is_none")]
    pub band: ByPart<Option<BandRecord>>,
    /// What they pay there, of a goal in money.
    #[serde(skip_serializing_if = "ByPart::is_none")]
    pub money: ByPart<Option<MoneyRecord>>,
    /// What the calibration part proves.
    pub certificate: Option<CertificateRecord>,
    /// What it proves of a goal per query.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound: Option<BoundRecord>,
    /// What it makes likely, where it proves nothing.
    pub approximate: Option<CertificateRecord>,
    /// Why it proves nothing, where it does not.
    pub certificate_refused: Option<String>,
    /// Whether the parts of a split by time are of one population, as the certificate assumes; `None`
    /// for other splits, or without a certificate.
    pub population: Option<PopulationRecord>,
    /// That most calibration rows repeat others, where they do: a certificate counts each as a draw.
    pub copies: Option<String>,
    /// Cross-entropy, beside.
    pub baseline: BaselineRecord,
    /// The gain over it.
    pub gain: Option<GainRecord>,
    /// The kinds of model that were tried, where there were several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<KindRecord>,
    /// Every fit that was tried.
    pub candidates: Vec<CandidateRecord>,
    /// What was tried with them then.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub recipe: Vec<RecipeRecord>,
    /// Whether the model has seen the validation rows; its value there is then from before.
    pub used_validation: bool,
    /// SHA-256 of the data file.
    pub data_hash: Option<String>,
    /// What a reader should know besides.
    pub notes: Vec<String>,
    /// Where the time went.
    pub seconds: Seconds,
    /// The model file.
    pub artifact: String,
}

/// Groups with a threshold each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GroupsRecord {
    /// The column.
    pub column: String,
    /// The groups, in the order of the thresholds.
    pub names: Vec<String>,
}

/// What users get at the shipped thresholds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Shipped {
    /// The objective of the operating goal.
    pub objective: Option<f64>,
    /// Its recall.
    pub recall: Option<f64>,
    /// Its false-positive rate.
    pub fpr: Option<f64>,
    /// Its precision.
    pub precision: Option<f64>,
    /// The decisions, counted.
    pub confusion: Confusion,
    /// How many examples the rates rest on.
    pub support: Support,
}

/// Decisions, by weight where there are weights.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Confusion {
    /// Positives predicted positive.
    pub true_positives: f64,
    /// Positives predicted negative.
    pub false_negatives: f64,
    /// Negatives predicted positive.
    pub false_positives: f64,
    /// Negatives predicted negative.
    pub true_negatives: f64,
}

/// Cross-entropy with the positive weight that validation prefers.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BaselineRecord {
    /// `cross-entropy`.
    pub method: String,
    /// Which fit it is.
    pub name: String,
    /// The goal's value at its own condition on each part.
    pub objective: ByPart<Option<f64>>,
}

/// Something that was tried with the fits, on the way to the model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RecipeRecord {
    /// What.
    pub name: String,
    /// What it gained on validation, which chose it, where that could be measured.
    pub gain: Option<f64>,
    /// The standard error of that.
    pub standard_error: Option<f64>,
    /// Whether it was taken.
    pub taken: bool,
}

/// A kind of model that was tried.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct KindRecord {
    /// Which.
    pub model: String,
    /// The goal's value on validation.
    pub validation: Option<f64>,
    /// How much better it was there than the best of the simpler kinds, by scores of what had not seen the rows.
    pub gain: Option<f64>,
    /// The standard error of that.
    pub standard_error: Option<f64>,
    /// Whether it is the one that ships.
    pub kept: bool,
    /// Why there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// Reading and training.
    pub seconds: f64,
}

/// One fit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CandidateRecord {
    /// What was fitted.
    pub name: String,
    /// The goal's value on validation.
    pub validation: Option<f64>,
    /// The step that made its parameters.
    pub step: u64,
    /// Its gradient evaluations.
    pub evaluations: u64,
}

/// Where the time went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Seconds {
    /// Reading, splitting and encoding.
    pub load: f64,
    /// Training.
    pub train: f64,
    /// Writing reports.
    pub report: f64,
    /// Everything.
    pub total: f64,
}

impl TrainRecord {
    /// Its sentences, in which a front end spells the settings.
    pub fn sentences(&mut self) -> impl Iterator<Item = &mut String> {
        self.notes.iter_mut().chain(&mut self.certificate_refused)
    }

    /// That the model ships without the certificate that was asked for, and why.
    #[must_use]
    pub fn uncertified(&self) -> Option<String> {
        let reason = self.certificate_refused.as_deref()?;
        Some(uncertified(self.classes.is_some(), self.queries.is_some(), reason))
    }

    /// Which conditions the model does not meet on the last part held out, where nothing is certified.
    #[must_use]
    pub fn not_met(&self) -> Option<String> {
        let (part, _) = self.rows.iter().filter(|(_, rows)| **rows > 0).last()?;
        let unmet = self.unmet.get(part).filter(|unmet| self.certificate.is_none() && !unmet.is_empty())?;
        Some(format!("on the {part} part: {}", listed(unmet)))
    }

    /// The same as a sentence of its own.
    #[must_use]
    pub fn goal_not_met(&self) -> Option<String> {
        Some(format!("{}: not met {}; nothing is certified", self.goal, self.not_met()?))
    }

    /// What a reader of the certificate should know of the rows it is from.
    #[must_use]
    pub fn certificate_caution(&self) -> Option<String> {
        let population = self.population.as_ref().and_then(|population| population.caution.clone());
        let cautions: Vec<String> = population.into_iter().chain(self.copies.clone()).collect();
        (self.certificate.is_some() && !cautions.is_empty()).then(|| cautions.join("; "))
    }
}
