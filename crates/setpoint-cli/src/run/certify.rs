//! `setpoint certify`: a threshold that holds on new data, for any model's scores.

use serde_json::json;
use setpoint::Sample;
use setpoint::message::quote;
use setpoint_data::{Encoder, Inputs, ReadError, RoleError, Roles, Table};
use setpoint_run::{Asked, Failure, certify as prove};

use super::print;
use super::progress::{Display, line};
use crate::args::CertifyArgs;
use crate::plan::{confidence, positive, read_options};

/// Finds and prints the threshold.
pub fn certify(args: &CertifyArgs, quiet: bool) -> Result<(), Failure> {
    let (shared_threshold, approximate) = (args.shared_threshold, args.approximate);
    let asked = Asked { shared_threshold, approximate, ..Asked::new(&args.goal)? };
    let confidence = confidence(&args.confidence)?;
    let column = asked.column();
    if let (Some(given), Some(named)) = (args.group.as_deref(), column)
        && given != named
    {
        return Err(Failure::input(format!(
            "--group {}: the conditions are on groups of {}; leave --group out",
            quote(given),
            quote(named)
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
    let certified = prove(&asked, &sample, &scores, confidence)?;
    display.finish();
    let mut record = certified.record;
    record["goal"] = json!(args.goal);
    record["scores"] = json!(args.scores.display().to_string());
    if args.json {
        let mut text = serde_json::to_string_pretty(&record)?;
        text.push('\n');
        print(&text)?;
    }
    if !quiet {
        line(&certified.text);
        certified.caution.iter().for_each(|caution| line(&format!("caution: {caution}")));
    }
    Ok(())
}

/// The labels and scores of a file.
fn read(args: &CertifyArgs, column: Option<&str>) -> Result<(Sample, Vec<f64>), Failure> {
    let roles = Roles {
        label: Some(args.label.clone()),
        positive: positive(args.positive.as_ref())?,
        missing: args.read.missing.as_deref().map(setpoint_data::list),
        group: args.group.clone().or_else(|| column.map(str::to_owned)),
        weight: args.weight.clone(),
        split_by: args.split_by.clone(),
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
    if let Some(entities) = table.entities() {
        sample = sample.with_entities(&entities.column, &entities.of)?;
    }
    Ok((sample, scores.to_vec()))
}

/// Errors about the column read as a time, in terms of scores.
fn named(mut error: setpoint_data::Error) -> Failure {
    match &mut error {
        setpoint_data::Error::Read(ReadError::NotATime { file, line, column, value }) => {
            let (column, value) = (quote(column), quote(value));
            return Failure::input(format!(
                "{file}:{line}: column {column}: score {value} is not a finite number"
            ));
        }
        setpoint_data::Error::Read(ReadError::MissingRole { role, .. }) if *role == "time" => *role = "score",
        setpoint_data::Error::Role(RoleError::TwoRoles { second, .. }) if *second == "the time" => {
            *second = "the score";
        }
        _ => {}
    }
    let failure = Failure::from(error);
    Failure { message: failure.message.replace("(‹split-time›)", "(‹score›)"), ..failure }
}
