//! Any model's scores, from a file: thresholds for them, and what they come to.

use std::path::Path;

use setpoint::message::quote;
use setpoint::{Goal, Sample};
use setpoint_data::{Roles, Table};
use setpoint_report::{EvaluateRecord, ReportRecord};
use setpoint_run::{Chosen, Described, Failure, ScoredRows, evaluate_scores, report_scores};

use crate::args::{MeasureArgs, ReadArgs, in_flags};
use crate::plan::{confidence, positive, read_options};

/// Labelled rows with scores.
pub struct ScoresFile {
    pub sample: Sample,
    pub scores: Vec<f64>,
    hash: Option<String>,
}

impl ScoresFile {
    /// Reads the columns that the roles name.
    pub fn read(path: &Path, read: &ReadArgs, roles: Roles) -> Result<Self, Failure> {
        let missing = read.missing.as_deref().map(setpoint_data::list);
        let mut table = Table::read(path, &read_options(read)?, &Roles { missing, ..roles })?;
        let scores = table.take_scores();
        Self::of(path, table, scores)
    }

    /// The rows of a table with these scores.
    pub fn of(path: &Path, table: Table, scores: Vec<f64>) -> Result<Self, Failure> {
        let hash = table.hash().map(str::to_owned);
        let sample = table.into_sample()?.filter(|sample| sample.len() == scores.len());
        let none = || Failure::input(format!("{}: no labels or no scores", path.display()));
        Ok(Self { sample: sample.ok_or_else(none)?, scores, hash })
    }
}

/// Refuses a group column that the conditions do not name.
pub fn check_group(given: Option<&str>, named: Option<&str>) -> Result<(), Failure> {
    match (given, named) {
        (Some(given), Some(named)) if given != named => Err(Failure::input(format!(
            "--group {}: the conditions are on groups of {}; leave --group out",
            quote(given),
            quote(named)
        ))),
        _ => Ok(()),
    }
}

/// Scores, the thresholds that decide them, and how those came to be.
pub struct Judged {
    goal: Goal,
    file: ScoresFile,
    chosen: Chosen,
    chosen_here: bool,
}

impl Judged {
    /// Reads the scores, and chooses thresholds on them unless some are given.
    pub fn new(args: &MeasureArgs, path: &Path) -> Result<Self, Failure> {
        let given = &args.of_scores;
        let text = given.goal.as_deref().unwrap_or_default();
        if text.trim_end().ends_with("per query") {
            return Err(Failure::input(format!(
                "--goal {}: scores in queries have no threshold to be measured at; `setpoint certify --query` bounds what \
                 their order is worth",
                quote(text)
            )));
        }
        let goal: Goal = text.parse()?;
        check_group(args.group.as_deref(), goal.column())?;
        if given.shared_threshold && goal.column().is_none() {
            return Err(Failure::input(
                "--shared-threshold: the goal has no conditions on groups, so there is one threshold anyway; \
                 leave it out",
            ));
        }
        let known = match (given.threshold, &given.certificate) {
            (Some(threshold), _) => Some(Chosen::fixed(threshold)?),
            (None, Some(path)) => {
                let name = path.display();
                let text = std::fs::read_to_string(path)
                    .map_err(|error| Failure::input(format!("{name}: cannot read: {error}")))?;
                let value = serde_json::from_str(&text)
                    .map_err(|error| Failure::input(format!("{name}: not JSON: {error}")))?;
                Some(Chosen::certified(&value).map_err(|failure| failure.context(name))?)
            }
            (None, None) => None,
        };
        let column = known.as_ref().and_then(|chosen| {
            let own = chosen.groups.as_ref().map(|groups| groups.column.clone());
            own.or_else(|| chosen.certificate.as_ref()?.full.column.clone())
        });
        let roles = Roles {
            label: args.label.clone(),
            positive: positive(args.positive.as_ref())?,
            group: args.group.clone().or_else(|| goal.column().map(str::to_owned)).or(column),
            weight: args.weight.clone(),
            money: goal.money().cloned(),
            split_by: args.split_by.clone(),
            score: given.score.clone(),
            ..Roles::default()
        };
        let file = ScoresFile::read(path, &args.read, roles)?;
        let chosen_here = known.is_none();
        let chosen = match known {
            Some(chosen) => chosen,
            None => {
                let confidence = Some(confidence(&args.confidence)?);
                Chosen::on(&goal, given.shared_threshold, &file.sample, &file.scores, confidence)?
            }
        };
        Ok(Self { goal, file, chosen, chosen_here })
    }

    fn rows(&self) -> ScoredRows<'_> {
        let ScoresFile { sample, scores, .. } = &self.file;
        ScoredRows { goal: &self.goal, sample, scores, chosen: &self.chosen, chosen_here: self.chosen_here }
    }

    /// What the scores come to.
    pub fn measure(&self, path: &Path, confidence: f64) -> Result<EvaluateRecord, Failure> {
        let mut record = evaluate_scores(&self.rows(), confidence)?;
        record.artifact = path.display().to_string();
        record.data_hash.clone_from(&self.file.hash);
        record.sentences().for_each(|text| *text = in_flags(text));
        Ok(record)
    }

    /// All that a report shows.
    pub fn report(&self, record: &EvaluateRecord, described: &Described) -> Result<ReportRecord, Failure> {
        report_scores(&self.rows(), record, described)
    }
}
