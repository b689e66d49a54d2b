//! `setpoint certify`: a threshold that holds on new data, for any model's scores.

use std::path::Path;

use serde_json::json;
use setpoint::artifact::Groups;
use setpoint::message::quote;
use setpoint_data::{Roles, Table};
use setpoint_onnx::{Classifier, Decision, Rows};
use setpoint_run::{Asked, Failure, certify as prove};

use super::export::write;
use super::progress::{Display, line};
use super::scores::{ScoresFile, check_group};
use super::{print, show};
use crate::args::CertifyArgs;
use crate::plan::{Files, confidence, positive, read_options};

/// Finds and prints the threshold.
pub fn certify(args: &CertifyArgs, quiet: bool) -> Result<(), Failure> {
    let (shared_threshold, approximate) = (args.shared_threshold, args.approximate);
    let asked = Asked { shared_threshold, approximate, ..Asked::new(&args.goal)? };
    let confidence = confidence(&args.confidence)?;
    let column = asked.column();
    check_group(args.group.as_deref(), column)?;
    if let (Some(given), None) = (&args.group, column) {
        return Err(Failure::input(format!(
            "--group {}: the conditions are not on groups; write them so, as in fpr({given})<=1%, or leave it out",
            quote(given)
        )));
    }
    if args.shared_threshold && column.is_none() {
        return Err(Failure::input(
            "--shared-threshold: the conditions are not on groups, so there is one threshold anyway; leave it out",
        ));
    }
    let mut display = Display::new(quiet);
    display.show(&format!("reading {}", args.scores.display()));
    let model = args.onnx.as_deref().map(|file| classifier(args, file)).transpose()?;
    let (ScoresFile { sample, scores, .. }, columns) = read(args, column, model.as_ref())?;
    let certified = prove(&asked, &sample, &scores, confidence)?;
    let mut wrote = None;
    if let (Some(model), Some(output)) = (&model, &args.output) {
        let groups = column
            .filter(|_| !asked.shared_threshold)
            .map(|column| Groups { column: column.to_owned(), names: certified.by_rank.groups.clone() });
        let metadata =
            [("setpoint.goal", args.goal.clone()), ("setpoint.certificate", certified.record.to_string())];
        let (thresholds, groups) = (&certified.thresholds[..], groups.as_ref());
        let decision = Decision { thresholds, groups, columns, metadata: &metadata };
        let (bytes, name) = model.decided(&decision)?;
        write(output, &bytes)?;
        wrote = Some(format!("wrote {}: the decision is its output {}", output.display(), quote(&name)));
    }
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
        show(&format!("{}\n", certified.text), args.json)?;
        certified.caution.iter().for_each(|caution| line(&format!("caution: {caution}")));
        wrote.iter().for_each(|wrote| line(wrote));
    }
    Ok(())
}

/// The ONNX classifier of a file.
fn classifier(args: &CertifyArgs, file: &Path) -> Result<Classifier, Failure> {
    Files::default()
        .read("the data", &args.scores)
        .read("the model", file)
        .write_any("-o", args.output.as_ref())
        .check()?;
    let failed = |failure: Failure| failure.context(file.display());
    let bytes = std::fs::read(file).map_err(|error| failed(error.into()))?;
    Classifier::new(bytes, args.score.as_deref()).map_err(failed)
}

/// The labels and scores of a file, and in how many columns a classifier gave these.
fn read(
    args: &CertifyArgs,
    column: Option<&str>,
    model: Option<&Classifier>,
) -> Result<(ScoresFile, usize), Failure> {
    let roles = Roles {
        label: Some(args.label.clone()),
        positive: positive(args.positive.as_ref())?,
        group: column.map(str::to_owned),
        weight: args.weight.clone(),
        split_by: args.split_by.clone(),
        ..Roles::default()
    };
    let Some(model) = model else {
        let roles = Roles { score: args.score.clone(), ..roles };
        return Ok((ScoresFile::read(&args.scores, &args.read, roles)?, 1));
    };
    let roles = Roles {
        missing: args.read.missing.as_deref().map(setpoint_data::list),
        drop: args.drop.as_deref().map(setpoint_data::list).unwrap_or_default(),
        group_is_feature: column.is_some_and(|column| model.inputs().iter().any(|input| input == column)),
        categorical: model.texts(),
        ..roles
    };
    let table = Table::read(&args.scores, &read_options(&args.read)?, &roles)?;
    let (scores, columns) = model.scores(&Rows::of_table(&table))?;
    Ok((ScoresFile::of(&args.scores, &table, scores)?, columns))
}
