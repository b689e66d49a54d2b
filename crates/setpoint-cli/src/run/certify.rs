//! `setpoint certify`: a threshold that holds on new data, for any model's scores.
//!
//! Scores come as 64-bit numbers, and the certificate's arithmetic has 32-bit ones. A certificate
//! depends on the order of the scores alone, so each score is replaced by its rank among the
//! different scores, which a 32-bit float holds exactly up to 2^24, and the certified rank is
//! turned back into the score that has it. Nothing is rounded.

use serde_json::{Value, json};
use setpoint::Sample;
use setpoint::certify::{Certificate, CertifyError, CertifyOptions, Method, certify as prove};
use setpoint::goal::{Constraint, Goal, Objective, parse_conditions};
use setpoint_data::{Encoder, Inputs, ReadError, Roles, Table};
use setpoint_report::CertificateRecord;

use super::print;
use super::progress::{Display, line};
use crate::args::CertifyArgs;
use crate::plan::{confidence, positive, read_options};
use setpoint_run::Failure;

/// Different scores whose ranks a 32-bit float tells apart.
const MOST: usize = 1 << 24;

/// Finds and prints the threshold.
pub fn certify(args: &CertifyArgs, quiet: bool) -> Result<(), Failure> {
    let (conditions, objective) = asked(&args.goal)?;
    let confidence = confidence(&args.confidence)?;
    let column = conditions.iter().find_map(Constraint::column);
    if let (Some(given), Some(named)) = (args.group.as_deref(), column)
        && given != named
    {
        return Err(Failure::input(format!(
            "--group {given:?}: the conditions are on groups of {named:?}; leave --group out"
        )));
    }
    if args.shared_threshold && column.is_none() {
        return Err(Failure::input(
            "--shared-threshold: the conditions are not on groups, so there is one threshold anyway; leave it out",
        ));
    }
    let mut display = Display::new(quiet);
    display.show(&format!("reading {}", args.scores.display()));
    let (sample, scores) = read(args, column)?;
    let ranked = Ranked::new(&scores)?;
    let options = CertifyOptions {
        objective,
        shared_threshold: args.shared_threshold,
        ..CertifyOptions::new(confidence)
    };
    let certificate =
        prove(&conditions, &sample, &ranked.ranks, &options).map_err(|error| ranked.say(error))?;
    display.finish();
    let record = record(args, &certificate, &ranked)?;
    if args.json {
        let mut text = serde_json::to_string_pretty(&record)?;
        text.push('\n');
        print(&text)?;
    }
    if !quiet {
        line(&describe(&certificate, &ranked));
    }
    Ok(())
}

/// Conditions alone, or a whole goal whose objective chooses among the thresholds allowed.
fn asked(text: &str) -> Result<(Vec<Constraint>, Option<Objective>), Failure> {
    if text.contains('@') {
        let goal: Goal = text.parse()?;
        let goal = goal.operating();
        return Ok((goal.constraints, Some(goal.objective)));
    }
    Ok((parse_conditions(text)?, None))
}

/// The labels and scores of a file.
fn read(args: &CertifyArgs, column: Option<&str>) -> Result<(Sample, Vec<f64>), Failure> {
    let roles = Roles {
        label: Some(args.label.clone()),
        positive: positive(args.positive.as_ref())?,
        missing: args.read.missing.as_deref().map(setpoint_data::list),
        group: args.group.clone().or_else(|| column.map(str::to_owned)),
        weight: args.weight.clone(),
        // Times are the one role whose numbers are kept with 64 bits, and any number is a time.
        split_time: Some(args.score.clone()),
        ..Roles::default()
    };
    // A model without features: other columns of the file are not looked at.
    let none = Encoder {
        inputs: Inputs::Table(Vec::new()),
        header: true,
        width: 0,
        unused: Vec::new(),
        label: None,
        missing: roles.missing_texts(),
        constant: Vec::new(),
    };
    let table = Table::read_for(&args.scores, &read_options(&args.read)?, &roles, &none).map_err(named)?;
    let (Some(labels), Some(scores)) = (table.labels(), table.times()) else {
        return Err(Failure::input(format!("{}: no labels or no scores", args.scores.display())));
    };
    let mut sample = Sample::new(labels.to_vec())?;
    if let Some(weights) = table.weights() {
        sample = sample.with_weights(weights.to_vec())?;
    }
    if let (Some(groups), Some(_)) = (table.groups(), column) {
        sample = sample.with_groups(&groups.column, groups.names.clone(), groups.of.clone())?;
    }
    Ok((sample, scores.to_vec()))
}

/// Errors about the column read as a time, in terms of scores.
fn named(error: setpoint_data::Error) -> Failure {
    match error {
        setpoint_data::Error::Read(ReadError::NotATime { file, line, column, value }) => Failure::input(
            format!("{file}:{line}: column {column:?}: score {value:?} is not a finite number"),
        ),
        setpoint_data::Error::Read(ReadError::MissingRole { file, row, column, .. }) => Failure::input(
            format!("{file}: row {row}: column {column:?}: the score is missing; fill it or remove the row"),
        ),
        other => {
            let failure = Failure::from(other);
            Failure { message: failure.message.replace("(--split-time)", "(--score)"), ..failure }
        }
    }
}

/// Scores as ranks.
struct Ranked {
    /// The different scores, ascending.
    distinct: Vec<f64>,
    /// For each example the rank of its score, from 0.
    ranks: Vec<f32>,
}

impl Ranked {
    fn new(scores: &[f64]) -> Result<Self, Failure> {
        // Adding zero makes -0.0 and 0.0 the same score.
        let mut distinct: Vec<f64> = scores.iter().map(|score| score + 0.0).collect();
        distinct.sort_unstable_by(f64::total_cmp);
        distinct.dedup();
        if distinct.len() > MOST {
            return Err(Failure::input(format!(
                "{} different scores; at most {MOST} can be told apart: round them, or take a random part of the rows",
                distinct.len()
            )));
        }
        let rank = |score: &f64| distinct.partition_point(|other| *other < *score + 0.0) as f32;
        let ranks = scores.iter().map(rank).collect();
        Ok(Self { distinct, ranks })
    }

    /// A refusal with ranks turned back into scores.
    fn say(&self, error: CertifyError) -> CertifyError {
        match error {
            CertifyError::Contradiction { group, strict, at_least, loose, at_most } => {
                let (at_least, at_most) = (self.score(at_least) as f32, self.score(at_most) as f32);
                CertifyError::Contradiction { group, strict, at_least, loose, at_most }
            }
            other => other,
        }
    }

    /// The score that makes the decisions of a threshold on ranks.
    ///
    /// The smallest score at or above it: on the sample the same decisions. Above all scores it is
    /// the next number after the largest.
    fn score(&self, threshold: f32) -> f64 {
        let place = threshold.ceil().max(0.0) as usize;
        match self.distinct.get(place) {
            Some(score) => *score,
            None => self.distinct.last().copied().unwrap_or_default().next_up(),
        }
    }
}

/// The certificate as JSON, with ranks turned back into scores.
fn record(args: &CertifyArgs, certificate: &Certificate, ranked: &Ranked) -> Result<Value, Failure> {
    let mut value = serde_json::to_value(certificate)?;
    let thresholds: Vec<f64> = certificate.thresholds.iter().map(|one| ranked.score(*one)).collect();
    value["goal"] = json!(args.goal);
    value["condition"] = json!(CertificateRecord::new(certificate.clone()).condition);
    value["scores"] = json!(args.scores.display().to_string());
    let one = certificate.threshold(None).map(|threshold| ranked.score(threshold));
    value["threshold"] = one.map_or(Value::Null, |threshold| json!(threshold));
    value["thresholds"] = json!(thresholds);
    for (place, certified) in certificate.conditions.iter().enumerate() {
        if let Method::OrderStatistic { limit, .. } = certified.method {
            value["conditions"][place]["method"]["limit"] = json!(ranked.score(limit));
        }
    }
    Ok(value)
}

fn describe(certificate: &Certificate, ranked: &Ranked) -> String {
    let mut text = format!(
        "certified at {}% confidence on {} examples",
        100.0 * certificate.confidence,
        certificate.examples
    );
    if certificate.conditions.len() > 1 {
        text += &format!(", shared by {} conditions", certificate.conditions.len());
    }
    for condition in &certificate.conditions {
        let threshold = certificate.threshold(condition.group.as_deref()).map(|one| ranked.score(one));
        text += &format!("\n  {condition} at threshold {}", threshold.unwrap_or(f64::NAN));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_tell_scores_apart_that_single_precision_cannot() {
        let scores = [0.1, 0.1 + 1e-12, 0.3, 0.1];
        let ranked = Ranked::new(&scores).unwrap();
        assert_eq!(ranked.ranks, [0.0, 1.0, 2.0, 0.0]);
        for (threshold, decisions) in [(0.0, 4), (0.5, 2), (1.0, 2), (1.5, 1), (2.0, 1), (2.1, 0)] {
            let by_rank = ranked.ranks.iter().filter(|rank| **rank >= threshold).count();
            let by_score = scores.iter().filter(|score| **score >= ranked.score(threshold)).count();
            assert_eq!((by_rank, by_score), (decisions, decisions), "{threshold}");
        }
    }
}
