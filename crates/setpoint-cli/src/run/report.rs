//! Reports as files, written whole or not at all.

use std::io::Write;
use std::path::Path;

use setpoint::artifact::write_atomically;
use setpoint_report::{ReportRecord, to_html};
use setpoint_run::{Described, Failure};

use super::evaluate::{measure_all, tell_all};
use super::progress::{Display, line};
use crate::args::{ReportArgs, ReportFlags, in_flags, quoted};
use crate::plan::Files;

/// `setpoint report`: a model on labelled data, as a page.
pub fn report(args: &ReportArgs, quiet: bool) -> Result<(), Failure> {
    let (report, report_json) = (Some(args.output.clone()), args.report_json.clone());
    let wanted = ReportFlags { report, report_json, volume: args.volume };
    let mut display = Display::new(quiet);
    let measured = measure_all(&args.measure, &wanted, "-o", &mut display)?;
    display.finish();
    if !quiet {
        tell_all(&measured, false)?;
    }
    Ok(())
}

/// Adds the reports to what is written; `flag` names the page.
pub fn files(files: Files, wanted: &ReportFlags, flag: &'static str) -> Files {
    files.write_any(flag, wanted.report.as_ref()).write_any("--report-json", wanted.report_json.as_ref())
}

/// Whether any report is asked for.
pub fn any(wanted: &ReportFlags) -> bool {
    wanted.report.is_some() || wanted.report_json.is_some()
}

/// Writes what is asked for.
pub fn write(wanted: &ReportFlags, mut record: ReportRecord) -> Result<(), Failure> {
    record.sentences().for_each(|text| *text = in_flags(text));
    if let Some(path) = &wanted.report {
        let page = to_html(&record);
        write_atomically(path, |out: &mut dyn Write| out.write_all(page.as_bytes()))?;
    }
    if let Some(path) = &wanted.report_json {
        let text = serde_json::to_string(&record)?;
        write_atomically(path, |out: &mut dyn Write| writeln!(out, "{text}"))?;
    }
    Ok(())
}

/// Says what was written.
pub fn say(wanted: &ReportFlags) {
    for path in [&wanted.report, &wanted.report_json].into_iter().flatten() {
        line(&format!("wrote {}", path.display()));
    }
}

/// What a report of this command on this data says about itself.
pub fn described(data: &Path, confidence: f64) -> Described {
    let name = data.file_name().unwrap_or(data.as_os_str());
    Described { title: name.to_string_lossy().into_owned(), command: Some(command_line()), confidence }
}

/// The command as it was typed, quoted for a shell.
pub fn command_line() -> String {
    let typed = crate::typed().map(|argument| quoted(&argument));
    ["setpoint".to_owned()].into_iter().chain(typed).collect::<Vec<_>>().join(" ")
}
