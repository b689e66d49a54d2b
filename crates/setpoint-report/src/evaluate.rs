//! What a model comes to on labelled data.

use std::fmt;

use serde::Serialize;
use setpoint::message;

use crate::band::BandRecord;
use crate::certificate::{CertificateRecord, uncertified};
use crate::classes::{ClassDecisions, ClassesRecord, Matrix, class_table};
use crate::decision::decided_alike;
use crate::few::{alone, dashes};
use crate::group::{GroupRecord, group_table};
use crate::importance::{ImportanceRecord, ON_TERMINAL};
use crate::label::LabelRecord;
use crate::money::MoneyRecord;
use crate::number::{is_money, level, number, percent, value_of};
use crate::queries::{BoundRecord, QueriesRecord};
use crate::table::Table;
use crate::train::Confusion;
use crate::unmet::{UnmetRecord, listed};

/// A model on labelled data: at its goal's condition, and at the thresholds it ships.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct EvaluateRecord {
    /// The model file.
    pub artifact: String,
    /// The goal, as goals print.
    pub goal: String,
    /// The goal that the shipped thresholds answer.
    pub operating: String,
    /// What counts as positive, where the model says it.
    pub label: Option<LabelRecord>,
    /// Examples.
    pub rows: u64,
    /// Positives among them; none where there are several classes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub positives: Option<u64>,
    /// The goal's value where its condition holds exactly on this data.
    pub at_condition: Option<AtCondition>,
    /// Why it has none, where it has none.
    pub at_condition_refused: Option<String>,
    /// Rates at the shipped thresholds.
    pub at_threshold: Vec<Measured>,
    /// The conditions of the goal that are not met there.
    pub unmet: Vec<UnmetRecord>,
    /// The shipped thresholds: one, or one for each group; none where the largest score decides.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub thresholds: Vec<f64>,
    /// The decisions, counted; none where there are several classes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confusion: Option<Confusion>,
    /// The decisions among several classes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub classes: Option<ClassesRecord<ClassDecisions>>,
    /// What the order within queries comes to, of a goal per query.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queries: Option<QueriesRecord>,
    /// Who goes where, of decisions that leave rows undecided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub band: Option<BandRecord>,
    /// What they pay, of a goal in money.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub money: Option<MoneyRecord>,
    /// Areas that need no threshold.
    pub ranking: Vec<Measured>,
    /// The same within each group.
    pub groups: Vec<GroupRecord>,
    /// Which columns the value at the condition is owed to, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub importance: Option<ImportanceRecord>,
    /// What travels with the model.
    pub certificate: Option<CertificateRecord>,
    /// What travels with a model for a goal per query.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound: Option<BoundRecord>,
    /// What takes its place where nothing was proved.
    pub approximate: Option<CertificateRecord>,
    /// Why nothing was proved, where that is known.
    pub certificate_refused: Option<String>,
    /// Whether it still holds here.
    pub drift: Vec<DriftRecord>,
    /// Why that was not tested, where there is a certificate and no test.
    pub drift_refused: Option<String>,
    /// SHA-256 of the data file.
    pub data_hash: Option<String>,
    /// What a reader should know besides.
    pub notes: Vec<String>,
}

/// The goal's value at its own condition.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AtCondition {
    /// The value.
    pub value: f64,
    /// Its interval, where there is one.
    pub interval: Option<Bounds>,
    /// Examples that it rests on, such as the fewer of both classes.
    pub examples: u64,
}

/// A metric with its interval.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// Its name in the goal language.
    pub name: String,
    /// Its value.
    pub value: f64,
    /// Its interval, where there is one.
    pub interval: Option<Bounds>,
    /// Examples that it is a share or a mean of: rows, or queries.
    pub examples: u64,
}

/// A confidence interval.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bounds {
    /// Lower end.
    pub lower: f64,
    /// Upper end.
    pub upper: f64,
    /// Its confidence.
    pub confidence: f64,
    /// How it was made.
    pub method: &'static str,
}

/// The test of one certified condition.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DriftRecord {
    /// The condition.
    pub condition: String,
    /// The group it is tested in.
    pub group: Option<String>,
    /// `holds`, `inconclusive` or `violated`.
    pub verdict: &'static str,
    /// The observed rate.
    pub observed: Option<f64>,
    /// Examples it is a share of.
    pub examples: u64,
    /// The chance of a rate this bad, were the true one at its target.
    pub p_value: f64,
    /// The p-value at which the condition counts as violated.
    pub level: f64,
    /// Whether the condition survives another mix of classes, each class scoring as before.
    pub survives_mix: bool,
    /// All that in words.
    pub text: String,
}

impl EvaluateRecord {
    /// Its sentences, in which a front end spells the settings.
    pub fn sentences(&mut self) -> impl Iterator<Item = &mut String> {
        let refused =
            [&mut self.at_condition_refused, &mut self.drift_refused, &mut self.certificate_refused];
        self.notes.iter_mut().chain(refused.into_iter().flatten())
    }

    /// Which conditions are not met here, where no certificate speaks of them.
    #[must_use]
    pub fn not_met(&self) -> Option<String> {
        (self.certificate.is_none() && !self.unmet.is_empty()).then(|| listed(&self.unmet))
    }

    /// That the model was shipped without the certificate that was asked for, and why.
    #[must_use]
    pub fn uncertified(&self) -> Option<String> {
        let reason = self.certificate_refused.as_deref()?;
        Some(uncertified(self.classes.is_some(), self.queries.is_some(), reason))
    }

    /// What the decisions among several classes cost a row, of a goal that is a cost, by its name there.
    pub(crate) fn cost_of_classes(&self) -> Option<(&str, Option<f64>)> {
        let classes = self.classes.as_ref().filter(|_| is_money(&self.goal))?;
        let name = self.operating.split(" @").next().unwrap_or_default();
        Some((name, alone(classes.decided.objective, self.rows)))
    }

    /// What to say where the thresholds decide all rows alike.
    #[must_use]
    pub fn decided_alike(&self) -> Vec<String> {
        let own = if self.thresholds.len() > 1 { &self.groups[..] } else { &[] };
        self.confusion.map_or_else(Vec::new, |confusion| decided_alike("these rows", &confusion, own))
    }

    /// Whether every certified condition was tested here and none is violated; if not, why not.
    ///
    /// # Errors
    /// The reason, in words.
    pub fn check(&self) -> Result<(), String> {
        if let Some(violated) = self.drift.iter().find(|drift| drift.verdict == "violated") {
            return Err(violated.text.clone());
        }
        let certified = self.certificate.is_some() || self.bound.is_some();
        let reason = match (certified, &self.drift_refused) {
            (false, _) => return Err("nothing was tested: the model has no certificate".to_owned()),
            (true, Some(reason)) => reason,
            (true, None) => match self.drift.iter().find(|drift| drift.observed.is_none()) {
                Some(untested) => &untested.text,
                None => return Ok(()),
            },
        };
        Err(format!("the certificate was not tested: {reason}"))
    }
}

impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}, {}]", percent(self.lower), percent(self.upper))
    }
}

/// Which conditions survive another mix of classes, a line for those that do and one for those that do not.
pub(crate) fn said_of_mix<'a>(conditions: impl Iterator<Item = (&'a str, bool)>, at: &str) -> String {
    let mut named: [Vec<&str>; 2] = Default::default();
    for (condition, survives) in conditions {
        let names = &mut named[usize::from(!survives)];
        if !names.contains(&condition) {
            names.push(condition);
        }
    }
    let line = |names: &[&str], said: &str| match names {
        [] => String::new(),
        names => format!("mix       {}: {said}\n", names.join(", ")),
    };
    line(&named[0], "survives another mix of classes") + &line(&named[1], &format!("holds at {at} only"))
}

fn measured(table: &mut Table, name: &str, told: Option<f64>, interval: Option<&Bounds>) {
    let bounds = interval.map_or_else(String::new, ToString::to_string);
    let method = interval.map_or_else(String::new, |bounds| bounds.method.to_owned());
    table.row([name.to_owned(), value_of(told), bounds, method]);
}

/// The report on a terminal.
impl fmt::Display for EvaluateRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "goal      {}", self.goal)?;
        match (self.positives, &self.classes) {
            (Some(positives), _) => {
                writeln!(f, "rows      {}, {positives} of them positive", self.rows)?;
                let thresholds: Vec<String> =
                    self.thresholds.iter().map(|one| message::number(*one)).collect();
                writeln!(f, "threshold {}\n", thresholds.join(", "))?;
            }
            (None, Some(classes)) => {
                writeln!(f, "rows      {} of {} classes\n", self.rows, classes.names.len())?;
            }
            (None, None) => match &self.queries {
                Some(queries) => writeln!(f, "rows      {} in {}\n", self.rows, queries.counted())?,
                None => writeln!(f, "rows      {}\n", self.rows)?,
            },
        }
        let known = self.at_threshold.iter().chain(&self.ranking);
        let confidence = known.filter_map(|one| one.interval.as_ref()).next();
        let shown = confidence.map_or_else(String::new, |bounds| level(bounds.confidence));
        let mut table = Table::new(["", "value", &format!("{shown} interval"), "method"]);
        match (&self.at_condition, &self.at_condition_refused) {
            (Some(at), _) if is_money(&self.goal) => {
                let (bounds, method) = at.interval.as_ref().map_or_else(Default::default, |bounds| {
                    (
                        format!("[{}, {}]", number(bounds.lower), number(bounds.upper)),
                        bounds.method.to_owned(),
                    )
                });
                table.row([
                    self.goal.clone(),
                    at.told().map_or_else(|| "-".to_owned(), number),
                    bounds,
                    method,
                ]);
            }
            (Some(at), _) => measured(&mut table, &self.goal, at.told(), at.interval.as_ref()),
            (None, Some(reason)) => writeln!(f, "{}: no value here: {reason}\n", self.goal)?,
            (None, None) => {}
        }
        for one in &self.ranking {
            measured(&mut table, &one.name, one.told(), one.interval.as_ref());
        }
        if let Some((name, cost)) = self.cost_of_classes() {
            let told = cost.map_or_else(|| "-".to_owned(), number);
            table.row([format!("{name} as shipped"), told, String::new(), String::new()]);
        }
        for one in &self.at_threshold {
            let at = if self.classes.is_some() { "as shipped" } else { "at the threshold" };
            measured(&mut table, &format!("{} {at}", one.name), one.told(), one.interval.as_ref());
        }
        writeln!(f, "{table}")?;
        let goal = self.at_condition.iter().map(AtCondition::told);
        let rates = self.ranking.iter().chain(&self.at_threshold).map(Measured::told);
        if goal.chain(rates).any(|told| told.is_none()) {
            writeln!(f, "{}\n", dashes())?;
        }
        if let Some(paid) = &self.money {
            writeln!(f, "money     {paid}\n")?;
        }
        if let Some(confusion) = &self.confusion {
            write!(f, "{confusion}")?;
        }
        if let Some(band) = &self.band {
            write!(f, "\n{band}")?;
        }
        if let Some(ClassesRecord { shifts, decided, .. }) = &self.classes {
            write!(f, "{}\n{}", Matrix(decided), class_table(decided, shifts, None))?;
        }
        if let Some(queries) = &self.queries {
            if let Some(one) = queries.gains.first() {
                let shown = |value: f64| format!("{:+.2}", 100.0 * value);
                write!(f, "gain      {} {} points over the baseline", one.name, shown(one.value))?;
                if let Some(Bounds { lower, upper, confidence, .. }) = &one.interval {
                    write!(f, ", {} interval {} to {}", level(*confidence), shown(*lower), shown(*upper))?;
                }
                writeln!(f)?;
            }
            if let Some(table) = queries.extremes() {
                write!(f, "{}{table}", if queries.gains.is_empty() { "" } else { "\n" })?;
            }
        }
        if !self.groups.is_empty() {
            write!(f, "\n{}", group_table(&self.groups))?;
        }
        if let Some(importance) = &self.importance {
            write!(f, "\n{}\n{}", importance.caption(), importance.table(ON_TERMINAL))?;
        }
        if let Some(bound) = &self.bound {
            writeln!(f, "\n{bound}")?;
        }
        if let Some(certificate) = self.certificate.as_ref().or(self.approximate.as_ref()) {
            writeln!(f, "\n{certificate}")?;
        }
        for drift in &self.drift {
            writeln!(f, "here      {}", drift.text)?;
        }
        if let Some(reason) = &self.drift_refused {
            writeln!(f, "here      the certificate was not tested: {reason}")?;
        }
        // Queries bring their own mix.
        if self.queries.is_none() {
            let each = self.drift.iter().map(|drift| (drift.condition.as_str(), drift.survives_mix));
            f.write_str(&said_of_mix(each, "the mix of classes it was certified at"))?;
        }
        self.not_met().map_or(Ok(()), |unmet| writeln!(f, "not met   {unmet}"))
    }
}
