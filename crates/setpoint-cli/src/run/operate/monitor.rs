//! `setpoint monitor`: whether a certificate still holds, from batch to batch.

use std::io::{ErrorKind, Write};

use setpoint::artifact::{ModelFile, write_atomically};
use setpoint::certify::monitor::Monitor;
use setpoint_data::{ReadError, Roles, Table};
use setpoint_report::to_json;
use setpoint_run::{Failure, Opened, add, add_unlabelled, begin, monitor_record, open, resume};

use crate::args::{MonitorArgs, in_flags};
use crate::interrupt;
use crate::plan::{Files, read_options, share};
use crate::run::evaluate::labelled_rows;
use crate::run::predict::scored_rows;
use crate::run::progress::{Display, line};
use crate::run::{print, say_notes, show};

/// The chance of a false alarm where none is given.
const ALPHA: f64 = 0.05;
/// Bytes beyond which a file is no header alone.
const LONGEST_HEADER: u64 = 1 << 20;

/// Adds a batch to a watch.
pub fn monitor(args: &MonitorArgs, quiet: bool) -> Result<(), Failure> {
    Files::default()
        .read("the model", &args.model)
        .read("the data", &args.data)
        .read_any("the label table", args.rows.images.labels.as_ref())
        .write("--state", &args.state)
        .write_any("--report", args.report.as_ref())
        .check()?;
    let (file, model) = open(&args.model, args.rows.label.as_deref())?;
    let mut monitor = state(args, &file, &model)?;
    let mut display = Display::new(quiet);
    let notes = if is_empty(args)? {
        Vec::new()
    } else if args.unlabelled {
        let mut rows = scored_rows(&args.rows.predict(&args.model, &args.data), &model, &mut display)?;
        rows.note_groups(&model);
        add_unlabelled(&mut monitor, &model, &rows.scores, rows.groups.as_ref())?;
        rows.notes
    } else {
        let (mut examples, _, mut notes) =
            labelled_rows(&args.rows.measure(), &args.data, &model, false, None, &mut display)?;
        let scores = examples.scores(&model.scorer)?;
        notes.extend(add(&mut monitor, &model, &examples.sample, &scores)?);
        notes
    };
    interrupt::check()?;
    let mut record = monitor_record(&monitor, &model)?;
    record.artifact = args.model.display().to_string();
    record.notes = notes;
    record.sentences().for_each(|text| *text = in_flags(text));
    let state = serde_json::to_string(&monitor)?;
    write_atomically(&args.state, |out: &mut dyn Write| writeln!(out, "{state}"))?;
    if let Some(path) = &args.report {
        let name = args.model.file_name().unwrap_or(args.model.as_os_str()).to_string_lossy();
        let page = record.to_html(&name, env!("CARGO_PKG_VERSION"));
        write_atomically(path, |out: &mut dyn Write| out.write_all(page.as_bytes()))?;
    }
    display.finish();
    if args.json {
        print(&to_json(&record)?)?;
    }
    if !quiet {
        show(&record.to_string(), args.json)?;
        say_notes(&record.notes);
        args.report.iter().for_each(|path| line(&format!("wrote {}", path.display())));
    }
    record.check().map_err(Failure::no)
}

/// Whether the batch is a header without rows, as of a night on which nothing happened.
fn is_empty(args: &MonitorArgs) -> Result<bool, Failure> {
    // A header is a few lines; what is longer has rows, or is told so by whoever reads it.
    if std::fs::metadata(&args.data).map_or(true, |found| !found.is_file() || found.len() > LONGEST_HEADER) {
        return Ok(false);
    }
    let read = Table::read(&args.data, &read_options(&args.rows.read)?, &Roles::default());
    Ok(matches!(read, Err(setpoint_data::Error::Read(ReadError::HeaderOnly { .. }))))
}

/// The watch so far, or a new one.
fn state(args: &MonitorArgs, file: &ModelFile, model: &Opened) -> Result<Monitor, Failure> {
    let alpha = args.alpha.as_deref().map(|text| share("alpha", text)).transpose()?;
    let name = args.state.display();
    match std::fs::read_to_string(&args.state) {
        Ok(text) => {
            resume(&text, file, model, alpha).map_err(|failure| failure.context(format!("--state {name}")))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => begin(file, model, alpha.unwrap_or(ALPHA)),
        Err(error) => Err(Failure::input(format!("--state {name}: cannot read: {error}"))),
    }
}
