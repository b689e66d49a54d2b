//! What a training run came to.

use std::fmt;

use serde::Serialize;
use setpoint::message;

use crate::band::BandRecord;
use crate::certificate::{CertificateRecord, uncertified, uncertified_order};
use crate::classes::{ClassDecisions, ClassesRecord, class_table};
use crate::gain::GainRecord;
use crate::group::{GroupRecord, group_table};
use crate::label::LabelRecord;
use crate::money::MoneyRecord;
use crate::number::{is_money, level, number, percent, value_of};
use crate::part::ByPart;
use crate::population::PopulationRecord;
use crate::queries::{self, BoundRecord, QueriesRecord};
use crate::table::Table;
use crate::unmet::{UnmetRecord, listed};

/// Most conditions that the table on a terminal shows; JSON has all.
const MOST_CONDITIONS: usize = 4;

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

/// The report on a terminal.
impl fmt::Display for TrainRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rows, seconds, .. } = self;
        let split_rows: Vec<String> = rows
            .iter()
            .filter(|(_, rows)| **rows > 0)
            .map(|(split, rows)| format!("{rows} {split}"))
            .collect();
        writeln!(f, "goal      {}", self.goal)?;
        writeln!(f, "rows      {} x {} columns", split_rows.join(", "), self.columns)?;
        if let Some(parts) = &self.queries {
            writeln!(f, "queries   {}", queries::counts(parts))?;
        }
        self.tried().iter().try_for_each(|line| writeln!(f, "tried     {line}"))?;
        writeln!(f, "kept      {}", self.winner)?;
        let report = match seconds.report {
            0.0 => String::new(),
            report => format!(", {report:.1} s report"),
        };
        writeln!(
            f,
            "time      {:.1} s ({:.1} s reading, {:.1} s training{report}, {} gradient evaluations)\n",
            seconds.total, seconds.load, seconds.train, self.steps
        )?;
        self.write_table(f)?;
        self.write_gain(f)?;
        self.write_thresholds(f)?;
        if let Some((part, paid)) =
            self.money.iter().filter_map(|(part, one)| Some((part, one.as_ref()?))).last()
        {
            writeln!(f, "money     {paid}, on the {part} part")?;
        }
        if let Some((part, band)) =
            self.band.iter().filter_map(|(part, one)| Some((part, one.as_ref()?))).last()
        {
            write!(f, "\non the {part} part\n{band}")?;
        }
        if let Some(part) = self.group_rates_from.as_ref().filter(|_| !self.group_rates.is_empty()) {
            let bounds = self
                .group_rates
                .iter()
                .flat_map(|group| &group.rates)
                .find_map(|rate| rate.interval.as_ref());
            let with = bounds
                .map_or_else(String::new, |bounds| format!(", with {} intervals", level(bounds.confidence)));
            write!(f, "\non the {part} part, by group{with}\n{}", group_table(&self.group_rates))?;
        }
        if let Some(ClassesRecord { shifts, decided, plain, .. }) = &self.classes
            && let Some((part, decided)) =
                decided.iter().filter_map(|(part, one)| Some((part, one.as_ref()?))).last()
        {
            write!(f, "\non the {part} part, by class")?;
            writeln!(f, "{}", if plain.is_some() { "; plain: cross-entropy's largest score" } else { "" })?;
            write!(f, "{}", class_table(decided, shifts, plain.as_ref()))?;
        }
        Ok(())
    }
}

impl TrainRecord {
    /// Its sentences, in which a front end spells the settings.
    pub fn sentences(&mut self) -> impl Iterator<Item = &mut String> {
        self.notes.iter_mut().chain(&mut self.certificate_refused)
    }

    /// That the threshold ships without the certificate that was asked for, and why.
    #[must_use]
    pub fn uncertified(&self) -> Option<String> {
        let reason = self.certificate_refused.as_deref()?;
        Some(if self.queries.is_some() { uncertified_order(reason) } else { uncertified(reason) })
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

    /// Parts as rows: the value at the condition for both methods, and what the threshold gives.
    fn write_table(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = self.columns_at_threshold();
        let mut heading = vec![String::new(), self.goal.clone(), self.baseline.method.clone()];
        let at = match (&self.classes, &self.queries) {
            (Some(_), _) => "as shipped: ",
            (None, Some(_)) => "",
            (None, None) => "at threshold: ",
        };
        let first = |place: usize| if place == 0 { at } else { "" };
        heading.extend(
            columns
                .iter()
                .enumerate()
                .map(|(place, (name, _))| format!("{}{}", first(place), message::clip(name))),
        );
        let mut table = Table::with_heading(heading);
        let values = self.objective.iter().zip(self.baseline.objective.iter());
        for (place, ((split, value), (_, base))) in values.enumerate() {
            let at_threshold: Vec<Option<f64>> = columns.iter().map(|(_, values)| values[place]).collect();
            if at_threshold.iter().any(Option::is_some) {
                let value_of = |value: Option<f64>, objective: bool| match value {
                    Some(paid) if objective && is_money(&self.goal) => number(paid),
                    value => value_of(value),
                };
                let start = [split.to_owned(), value_of(*value, true), value_of(*base, true)];
                let at_threshold = at_threshold.into_iter().enumerate();
                table.row(start.into_iter().chain(at_threshold.map(|(at, value)| value_of(value, at == 0))));
            }
        }
        write!(f, "{table}")
    }

    /// The rates at the threshold that a reader wants first: the objective, the conditions, then
    /// recall, fpr and precision, or those over all classes. Each with its values by split.
    fn columns_at_threshold(&self) -> Vec<(String, Vec<Option<f64>>)> {
        let shipped = |value: fn(&Shipped) -> Option<f64>| -> Vec<Option<f64>> {
            self.shipped.iter().map(|(_, shipped)| shipped.as_ref().and_then(value)).collect()
        };
        if let Some(parts) = &self.queries {
            return queries::columns(parts);
        }
        let objective = self.operating.split(" @").next().unwrap_or_default().to_owned();
        let mut columns = vec![(objective, shipped(|shipped| shipped.objective))];
        for (place, name) in self.constraint_names.iter().enumerate().take(MOST_CONDITIONS) {
            let rates = self.constraint.iter().map(|(_, rates)| *rates.as_ref()?.get(place)?);
            columns.push((name.clone(), rates.collect()));
        }
        if let Some(classes) = &self.classes {
            let decided = |value: &dyn Fn(&ClassDecisions) -> Option<f64>| -> Vec<Option<f64>> {
                classes.decided.iter().map(|(_, decided)| decided.as_ref().and_then(value)).collect()
            };
            columns[0].1 = decided(&|decided| decided.objective);
            for name in ["accuracy", "balanced-accuracy", "macro-f1"] {
                columns.push((name.to_owned(), decided(&|decided| decided.overall(name))));
            }
        } else {
            columns.push(("recall".to_owned(), shipped(|shipped| shipped.recall)));
            columns.push(("fpr".to_owned(), shipped(|shipped| shipped.fpr)));
            columns.push(("precision".to_owned(), shipped(|shipped| shipped.precision)));
        }
        let mut seen = Vec::new();
        columns.retain(|(name, _)| {
            !seen.contains(name) && {
                seen.push(name.clone());
                true
            }
        });
        columns
    }

    /// What the kinds of model that were tried came to, a line for each.
    pub(crate) fn tried(&self) -> Vec<String> {
        let amount = |value: f64| match is_money(&self.goal) {
            true => number(value),
            false => value_of(Some(value)),
        };
        let line = |kind: &KindRecord| {
            let value = match (&kind.failed, kind.validation) {
                (Some(why), _) => why.clone(),
                (None, Some(value)) => format!("{} on validation", amount(value)),
                (None, None) => "misses the conditions on validation".to_owned(),
            };
            let error = kind.standard_error.map_or_else(String::new, |error| format!(" ± {}", amount(error)));
            let gain = kind.gain.map_or_else(String::new, |gain| {
                format!(" ({}{}{error})", if gain < 0.0 { "" } else { "+" }, amount(gain))
            });
            format!("{}: {value}{gain}{}", kind.model, if kind.kept { ", kept" } else { "" })
        };
        self.kinds.iter().map(line).collect()
    }

    fn write_gain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\nbaseline  {}", self.baseline.name)?;
        match &self.gain {
            Some(gain) if is_money(&self.goal) => writeln!(f, "gain      {}", gain.as_amount(&self.goal))?,
            Some(gain) => writeln!(f, "gain      {gain}")?,
            None => {}
        }
        for step in &self.recipe {
            writeln!(f, "step      {}: {}", step.name, if step.taken { "taken" } else { "left" })?;
        }
        Ok(())
    }

    fn write_thresholds(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parts) = &self.queries {
            return queries::write_bound(f, parts, self.bound.as_ref(), self.certificate_refused.is_some());
        }
        match &self.groups {
            None if self.classes.is_some() => {
                writeln!(f, "shifts    for {}, chosen on the {} part", self.operating, self.thresholds_from)?;
            }
            None => {
                let thresholds: Vec<String> =
                    self.thresholds.iter().map(|one| message::number(*one)).collect();
                let name = if self.band.is_none() { "threshold" } else { "between  " };
                writeln!(f, "{name} {} for {}", thresholds.join(", "), self.operating)?;
            }
            Some(groups) => {
                writeln!(f, "thresholds by {} for {}", message::clip(&groups.column), self.operating)?;
                for (name, threshold) in groups.names.iter().zip(&self.thresholds) {
                    writeln!(f, "  {}: {}", message::clip(name), message::number(*threshold))?;
                }
            }
        }
        if let Some(way) = &self.group_conditions_met_by {
            writeln!(f, "groups    {way}")?;
        }
        match (&self.certificate, &self.certificate_refused) {
            (Some(certificate), _) => {
                let text = certificate.to_string().replace("\n  ", "\n          ");
                writeln!(f, "          {text}")?;
                match self.certificate_caution() {
                    Some(caution) => writeln!(f, "          caution: {caution}"),
                    None => Ok(()),
                }
            }
            (None, reason) => {
                match &self.approximate {
                    Some(limits) => {
                        let text = limits.to_string().replace("\n  ", "\n          ");
                        writeln!(f, "          {text}")?;
                    }
                    None => {
                        let asked = if reason.is_some() { "" } else { " (no certificate was asked for)" };
                        let from = &self.thresholds_from;
                        let met = self.unmet.get(from).is_none_or(Vec::is_empty);
                        let holds = if met { ", where it holds exactly" } else { "" };
                        let holds = if self.constraint_names.is_empty() && self.classes.is_some() {
                            ""
                        } else {
                            holds
                        };
                        writeln!(f, "          not certified{asked}: chosen on the {from} part{holds}")?;
                    }
                }
                self.not_met().map_or(Ok(()), |text| writeln!(f, "not met   {text}"))
            }
        }
    }
}

impl fmt::Display for Shipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rates = [("recall", self.recall), ("fpr", self.fpr), ("precision", self.precision)];
        let known = rates.iter().filter_map(|(name, value)| Some(format!("{name} {}", percent((*value)?))));
        write!(f, "{}", known.collect::<Vec<_>>().join(", "))
    }
}

impl fmt::Display for Confusion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new(["", "predicted positive", "predicted negative"]);
        let whole = |value: f64| if value.fract() == 0.0 { format!("{value:.0}") } else { number(value) };
        table.row(["positive".to_owned(), whole(self.true_positives), whole(self.false_negatives)]);
        table.row(["negative".to_owned(), whole(self.false_positives), whole(self.true_negatives)]);
        write!(f, "{table}")
    }
}
