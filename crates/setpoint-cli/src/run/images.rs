//! Images: read once, then a model for each label.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::json;
use setpoint_data::{ImageOptions, ImageSet, list};
use setpoint_report::to_json;
use setpoint_run::{Examples, Failure, Opened, Schema, hold_images, load_images, split_images};

use super::print;
use super::progress::Display;
use super::train::{files, run, tell};
use crate::interrupt;
use crate::plan::{Files, TrainPlan};

/// Trains a model for each label of the images.
pub fn train(
    plan: &TrainPlan,
    json: bool,
    quiet: bool,
    mut display: Display,
    start: Instant,
) -> Result<(), Failure> {
    let labels = plan.roles.label.as_deref().map(list).unwrap_or_default();
    if labels.is_empty() {
        return Err(Failure::input("which label is to be told? name it with --label"));
    }
    let plans: Vec<TrainPlan> = labels.iter().map(|label| of_label(plan, label, labels.len())).collect();
    plans.iter().fold(Files::default(), files).check()?;
    let set = read(&plan.data, &plan.images, &mut display)?;
    let test = match &plan.test {
        Some(test) => Some(read(test, &plan.images, &mut display)?),
        None => None,
    };
    let mut records = Vec::new();
    for (plan, label) in plans.iter().zip(&labels) {
        let begun = if records.is_empty() { start } else { Instant::now() };
        if labels.len() > 1 {
            display.prefix(format!("{label}: "));
        }
        let named = plan
            .roles
            .group_if_there
            .as_deref()
            .filter(|named| set.label_names().iter().any(|name| name == named));
        let group = plan.roles.group.as_deref().or(named);
        let task = set.task_of(label, &plan.roles.positive, &plan.roles.classes, group)?;
        let parts = split_images(&task, &plan.split, plan.job.settings.seed)?;
        let mut loaded = load_images(&set, &task, &parts, plan.min_group, plan.images.crop, &plan.job.model)?;
        if let (Some(test), Schema::Images(schema)) = (&test, &loaded.schema) {
            let task = test.task_for(&task.label, group)?;
            let held = hold_images(schema, &loaded.blueprint, test, &task.rows)?;
            loaded.parts.test = Some(Examples { held, sample: task.sample(&task.rows)? });
            loaded.test_hash = Some(test.hash());
        }
        // Parts that the data gives, such as people apart, stay apart.
        let mut plan = plan.clone();
        if set.has_parts() {
            plan.job.settings.rotations = plan.job.settings.rotations.or(Some(1));
        }
        records.push(run(&plan, loaded, begun, &mut display)?);
    }
    display.finish();
    if json {
        print(&match &records[..] {
            [only] => to_json(only)?,
            several => to_json(&json!({ "runs": several }))?,
        })?;
    }
    tell(&plans.iter().zip(&records).collect::<Vec<_>>(), json, quiet)
}

/// The plan for one of several labels: its files carry the label's name.
fn of_label(plan: &TrainPlan, label: &str, labels: usize) -> TrainPlan {
    let mut plan = plan.clone();
    plan.roles.label = Some(label.to_owned());
    plan.job.recorded.insert("label".to_owned(), json!(label));
    if labels > 1 {
        plan.output = named_after(&plan.output, label);
        for path in [&mut plan.report.report, &mut plan.report.report_json] {
            *path = path.as_deref().map(|path| named_after(path, label));
        }
        plan.checkpoint = plan.checkpoint.as_ref().map(|checkpoint| checkpoint.join(file_name(label)));
    }
    plan
}

/// `model.safetensors` as `model.label.safetensors`.
fn named_after(path: &Path, label: &str) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let ending = path.extension().map(|ending| format!(".{}", ending.to_string_lossy())).unwrap_or_default();
    path.with_file_name(format!("{stem}.{}{ending}", file_name(label)))
}

/// A label as part of a file's name.
fn file_name(label: &str) -> String {
    label.replace(['/', '\\'], "-")
}

/// Reads images, with a bar; Ctrl-C stops it.
pub fn read(path: &Path, options: &ImageOptions, display: &mut Display) -> Result<ImageSet, Failure> {
    display.show(&format!("reading {}", path.display()));
    let bar = display.bar();
    let progress = |done: usize, total: usize| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
        if interrupt::check().is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let set = ImageSet::read_with(path, options, &progress);
    interrupt::check()?;
    Ok(set?)
}

/// The images of a file, for a model that was trained on others.
pub fn read_for(
    model: &Opened,
    path: &Path,
    options: &ImageOptions,
    display: &mut Display,
) -> Result<ImageSet, Failure> {
    let Schema::Images(schema) = &model.schema else {
        return Err(Failure::input("the model scores rows of a table, not images"));
    };
    let mut options = options.clone();
    let [height, width, channels] = schema.image;
    if height == width && options.size.is_none() {
        options.size = Some(height);
    }
    options.crop = options.crop.or(schema.crop);
    options.channels = options.channels.or(Some(channels).filter(|channels| [1, 3].contains(channels)));
    read(path, &options, display)
}
