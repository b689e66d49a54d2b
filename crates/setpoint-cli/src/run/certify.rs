//! `setpoint certify`: a threshold that holds on new data, for any model's scores.

use std::path::Path;

use serde_json::json;
use setpoint::artifact::Groups;
use setpoint::goal::QueryGoal;
use setpoint::message::quote;
use setpoint_data::{Roles, Table};
use setpoint_onnx::{Classifier, Decision, Rows};
use setpoint_report::to_json;
use setpoint_run::{Asked, Failure, certify as prove, certify_order as prove_order};

use super::export::write;
use super::progress::{Display, line};
use super::scores::{ScoresFile, check_group};
use super::{print, show};
use crate::args::CertifyArgs;
use crate::plan::{Files, confidence, empty_queries, positive, query_source, read_options};

/// Finds and prints the threshold.
pub fn certify(args: &CertifyArgs, quiet: bool) -> Result<(), Failure> {
    if args.goal.trim_end().ends_with("per query") {
        return certify_queries(args, quiet);
    }
    if args.queries.of.query.is_some() || args.queries.of.query_sizes.is_some() || args.at_least.is_some() {
        return Err(Failure::input("--query and --at-least: are for goals per query; leave them out"));
    }
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

/// Bounds what the order of scores within queries is worth.
fn certify_queries(args: &CertifyArgs, quiet: bool) -> Result<(), Failure> {
    let goal: QueryGoal = args.goal.parse()?;
    let others = [
        ("group", args.group.is_some()),
        ("shared-threshold", args.shared_threshold),
        ("weight", args.weight.is_some()),
        ("split-by", args.split_by.is_some()),
        ("onnx", args.onnx.is_some()),
    ];
    if let Some((flag, _)) = others.into_iter().find(|(_, given)| *given) {
        return Err(Failure::input(format!("--{flag}: does not apply to a goal per query; leave it out")));
    }
    let confidence = confidence(&args.confidence)?;
    let mut display = Display::new(quiet);
    display.show(&format!("reading {}", args.scores.display()));
    let roles = Roles {
        label: Some(args.label.clone()),
        positive: positive(args.positive.as_ref())?,
        queries: Some(query_source(&args.queries.of, None)),
        score: args.score.clone(),
        missing: args.read.missing.as_deref().map(setpoint_data::list),
        ..Roles::default()
    };
    let table = Table::read(&args.scores, &read_options(&args.read)?, &roles)?;
    let queries = table.ranked()?.ok_or_else(|| Failure::input("no grades or no queries"))?;
    let empty = empty_queries(&args.queries).unwrap_or_default();
    let scores = table.scores().unwrap_or_default();
    let bound = prove_order(&goal, &queries, scores, empty, confidence, args.at_least)?;
    display.finish();
    if args.json {
        print(&to_json(&bound)?)?;
    }
    if !quiet {
        show(&format!("{bound}\n"), args.json)?;
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
    Ok((ScoresFile::of(&args.scores, table, scores)?, columns))
}
