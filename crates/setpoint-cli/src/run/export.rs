//! `setpoint export`: a model file as an ONNX file, checked row by row if asked.

use std::path::Path;

use setpoint::artifact::write_atomically;
use setpoint_data::{ImageOptions, ImageSet, Roles, Table};
use setpoint_onnx::{Checked, Decided, Rows, check, export as graph};
use setpoint_run::{Failure, Opened, Schema, hold_images, open};

use super::images;
use super::progress::{Display, line};
use crate::args::ExportArgs;
use crate::plan::{Files, image_options, read_options};

/// Writes the graph.
pub fn export(args: &ExportArgs, quiet: bool) -> Result<(), Failure> {
    Files::default()
        .read("the model", &args.model)
        .read_any("the data", args.check.as_ref())
        .read_any("the label table", args.images.labels.as_ref())
        .write("-o", &args.output)
        .check()?;
    let (_, model) = open(&args.model, args.label.as_deref())?;
    let mut display = Display::new(quiet);
    let (bytes, checked) = match &args.check {
        None => (graph(&model, None)?, None),
        Some(data) => {
            display.show(&format!("reading {}", data.display()));
            let (bytes, checked) = match &model.schema {
                Schema::Table(_) => of_table(args, &model, data)?,
                Schema::Images(_) => of_images(args, &model, data, &mut display)?,
            };
            (bytes, Some(checked))
        }
    };
    // Also where a decision differs: to look at.
    write(&args.output, &bytes)?;
    display.finish();
    if !quiet {
        line(&format!("wrote {}", args.output.display()));
    }
    match checked {
        Some(checked) if !checked.different.is_empty() => return Err(Failure::no(checked)),
        Some(checked) if !quiet => line(&checked.to_string()),
        _ => {}
    }
    Ok(())
}

fn of_table(args: &ExportArgs, model: &Opened, data: &Path) -> Result<(Vec<u8>, Checked), Failure> {
    let encoder = model.schema.encoder()?;
    let roles = Roles {
        group: model.group_column().map(str::to_owned),
        missing: args.read.missing.as_deref().map(setpoint_data::list),
        ..Roles::default()
    };
    let table = Table::read_for(data, &read_options(&args.read)?, &roles, encoder)?;
    let (rows, groups) = (Rows::of_table(&table), table.groups().cloned());
    let scores = model.scores(encoder.encode(table)?.features)?;
    compare(model, &Decided::new(model, scores, groups.as_ref())?, &rows)
}

fn of_images(
    args: &ExportArgs,
    model: &Opened,
    data: &Path,
    display: &mut Display,
) -> Result<(Vec<u8>, Checked), Failure> {
    let Schema::Images(schema) = &model.schema else {
        return Err(Failure::input("the model scores rows of a table, not images"));
    };
    let options = ImageOptions { unlabelled: true, ..image_options(&args.images)? };
    let set: ImageSet = images::read_for(model, data, &options, display)?;
    let all: Vec<u32> = (0..set.rows() as u32).collect();
    let scores = model.scorer.scores(&mut hold_images(schema, &model.blueprint, &set, &all)?)?;
    let decided = Decided::new(model, scores, None)?;
    compare(model, &decided, &Rows::of_images(schema.image, set.pixels()))
}

fn compare(model: &Opened, decided: &Decided, rows: &Rows<'_>) -> Result<(Vec<u8>, Checked), Failure> {
    let bytes = graph(model, Some(decided.observed()))?;
    let checked = check(&bytes, rows, decided)?;
    Ok((bytes, checked))
}

/// Writes a file: whole, or not at all.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    Ok(write_atomically(path, |out| out.write_all(bytes))?)
}
