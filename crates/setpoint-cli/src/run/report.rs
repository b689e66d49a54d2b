//! Reports as files, written whole or not at all.

use std::io::Write;
use std::path::Path;

use setpoint::artifact::{AtomicFile, write_atomically};
use setpoint_report::{ReportRecord, to_html};
use setpoint_run::{Described, Failure};

use super::evaluate::{Measured, measure};
use super::progress::{Display, line};
use crate::args::{ReportArgs, ReportFlags};

/// `setpoint report`: a model on labelled data, as a page.
pub fn report(args: &ReportArgs, quiet: bool) -> Result<(), Failure> {
    let wanted = ReportFlags { report: Some(args.output.clone()), report_json: args.report_json.clone() };
    check(&wanted, &[&args.measure.model, &args.measure.data])?;
    let mut display = Display::new(quiet);
    let mut measured: Measured = measure(&args.measure, &mut display)?;
    let record = measured.report(&args.measure)?;
    write(&wanted, &record)?;
    display.finish();
    if !quiet {
        line(measured.record.to_string().trim_end());
        say(&wanted);
    }
    Ok(())
}

/// Refuses reports that could not be written, or that would replace what is read, before any work.
pub fn check(wanted: &ReportFlags, read: &[&Path]) -> Result<(), Failure> {
    let files = [("--report", &wanted.report), ("--report-json", &wanted.report_json)];
    for (flag, path) in files.into_iter().filter_map(|(flag, path)| Some((flag, path.as_deref()?))) {
        // Dropped before it is committed: nothing changes.
        AtomicFile::create(path)?;
        let same =
            |other: &&Path| matches!((path.canonicalize(), other.canonicalize()), (Ok(a), Ok(b)) if a == b);
        if let Some(other) = read.iter().copied().find(same) {
            return Err(Failure::input(format!(
                "{flag} {}: that is {}, which is read; write the report elsewhere",
                path.display(),
                other.display()
            )));
        }
    }
    Ok(())
}

/// Whether any report is asked for.
pub fn any(wanted: &ReportFlags) -> bool {
    wanted.report.is_some() || wanted.report_json.is_some()
}

/// Writes what is asked for.
pub fn write(wanted: &ReportFlags, record: &ReportRecord) -> Result<(), Failure> {
    if let Some(path) = &wanted.report {
        let page = to_html(record);
        write_atomically(path, |out: &mut dyn Write| out.write_all(page.as_bytes()))?;
    }
    if let Some(path) = &wanted.report_json {
        let text = serde_json::to_string(record)?;
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
