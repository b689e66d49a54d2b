//! Reports as files, written whole or not at all.

use std::io::Write;
use std::path::Path;

use setpoint::artifact::write_atomically;
use setpoint_report::{ReportRecord, to_html};
use setpoint_run::{Described, Failure};

use super::evaluate::{Measured, measure};
use super::progress::{Display, line};
use crate::args::{ReportArgs, ReportFlags, in_flags};
use crate::plan::Files;

/// `setpoint report`: a model on labelled data, as a page.
pub fn report(args: &ReportArgs, quiet: bool) -> Result<(), Failure> {
    let wanted = ReportFlags { report: Some(args.output.clone()), report_json: args.report_json.clone() };
    let files = args.measure.files().write("-o", &args.output);
    files.write_any("--report-json", args.report_json.as_ref()).check()?;
    let mut display = Display::new(quiet);
    let mut measured: Measured = measure(&args.measure, &mut display)?;
    let record = measured.report(&args.measure)?;
    write(&wanted, record)?;
    display.finish();
    if !quiet {
        line(measured.record.to_string().trim_end());
        say(&wanted);
    }
    Ok(())
}

/// Adds the reports to what is written.
pub fn files(files: Files, wanted: &ReportFlags) -> Files {
    files
        .write_any("--report", wanted.report.as_ref())
        .write_any("--report-json", wanted.report_json.as_ref())
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
    let typed = std::env::args_os().skip(1).map(|argument| quoted(&argument.to_string_lossy()));
    ["setpoint".to_owned()].into_iter().chain(typed).collect::<Vec<_>>().join(" ")
}

fn quoted(argument: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./=:,@%+".contains(letter);
    if !argument.is_empty() && argument.chars().all(plain) {
        return argument.to_owned();
    }
    format!("'{}'", argument.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_quoted_as_a_shell_needs_it() {
        for (argument, text) in [
            ("train.csv", "train.csv"),
            ("recall @ fpr<=1%", "'recall @ fpr<=1%'"),
            ("it's", "'it'\\''s'"),
            ("", "''"),
            ("$(rm)", "'$(rm)'"),
        ] {
            assert_eq!(quoted(argument), text);
        }
    }
}
