//! Several labels: which there are, the goal of each, and what its files are called.

use std::path::{Path, PathBuf};

use setpoint::goal::GoalText;
use setpoint::message::{list as shown, quote};
use setpoint_data::list;
use setpoint_run::Failure;

use crate::args::ReportFlags;

/// The labels that are named, with commas between; one with a comma in its name stands in double quotes.
pub fn labels(text: &str) -> Result<Vec<String>, Failure> {
    // A single name is taken as it is, whatever is in it.
    let found = if text.contains(',') { list(text) } else { vec![text.to_owned()] };
    match found.iter().enumerate().find(|(place, label)| found[..*place].contains(label)) {
        Some((_, twice)) => Err(Failure::input(format!("--label: {} is named twice", quote(twice)))),
        None => Ok(found),
    }
}

/// Names with commas between, as [`labels`] reads them.
pub fn joined(names: impl IntoIterator<Item = String>) -> String {
    let quoted = |name: String| if name.contains(',') { format!("\"{name}\"") } else { name };
    names.into_iter().map(quoted).collect::<Vec<_>>().join(",")
}

/// The goal of each label: `label: goal` is of one, a goal alone of all that have none of their own.
pub fn goals(given: &[String], labels: &[String]) -> Result<Vec<GoalText>, Failure> {
    let (mut own, mut of_all): (Vec<Option<&str>>, Option<&str>) = (vec![None; labels.len()], None);
    // As of any flag, the last one that is given counts.
    for text in given {
        match of_label(text, labels)? {
            Some((label, goal)) => own[label] = Some(goal),
            None => of_all = Some(text),
        }
    }
    let goal = |(label, own): (&String, Option<&str>)| match own.or(of_all) {
        Some(text) => Ok(text.parse()?),
        None => Err(Failure::input(format!(
            "label {} has no goal; give one, such as --goal {}, or one for all labels",
            quote(label),
            quote(&format!("{label}: recall @ fpr<=1%"))
        ))),
    };
    labels.iter().zip(own).map(goal).collect()
}

/// The label that a goal starts with, and the rest of it.
fn of_label<'t>(text: &'t str, labels: &[String]) -> Result<Option<(usize, &'t str)>, Failure> {
    let named = |label: &String| {
        let quoted = format!("{label:?}");
        let rest =
            [label.as_str(), &quoted].into_iter().find_map(|name| text.trim_start().strip_prefix(name));
        rest?.trim_start().strip_prefix(':')
    };
    // Of labels that start alike, the longest.
    let found = labels.iter().enumerate().filter_map(|(place, label)| Some((place, named(label)?)));
    if let Some(found) = found.max_by_key(|(place, _)| labels[*place].len()) {
        return Ok(Some(found));
    }
    match text.split_once(':') {
        // No goal has a colon but in the name of a group or class.
        Some((name, _)) if !name.contains(['@', '(']) => Err(Failure::input(format!(
            "--goal {}: no label {}; the labels are {}",
            quote(text),
            quote(name.trim()),
            shown(labels)
        ))),
        _ => Ok(None),
    }
}

/// `model.safetensors` as `model.label.safetensors`.
fn named_after(path: &Path, label: &str) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let ending = path.extension().map(|ending| format!(".{}", ending.to_string_lossy())).unwrap_or_default();
    path.with_file_name(format!("{stem}.{}{ending}", file_name(label)))
}

/// Reports of a label, named after it.
pub fn reports_of(wanted: &ReportFlags, label: Option<&str>) -> ReportFlags {
    let named = |path: &Option<PathBuf>| match (path, label) {
        (Some(path), Some(label)) => Some(named_after(path, label)),
        (path, _) => path.clone(),
    };
    ReportFlags { report: named(&wanted.report), report_json: named(&wanted.report_json), ..wanted.clone() }
}

/// A label as part of a file's name.
pub fn file_name(label: &str) -> String {
    label.replace(['/', '\\'], "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn labels_are_split_at_commas_outside_of_quotes() {
        assert_eq!(labels("fraud").unwrap(), ["fraud"]);
        assert_eq!(labels("a \"b").unwrap(), ["a \"b"]);
        assert_eq!(labels("fraud, charge back").unwrap(), ["fraud", "charge back"]);
        assert_eq!(labels("\"last, first\"").unwrap(), ["last, first"]);
        assert_eq!(labels(&joined(texts(&["a", "b,c"]))).unwrap(), ["a", "b,c"]);
        assert!(labels("a,b,a").unwrap_err().message.contains("\"a\" is named twice"));
    }

    #[test]
    fn goals_are_of_one_label_or_of_all() {
        let names = texts(&["fraud", "charge back"]);
        let found = |given: &[&str]| {
            let goals = goals(&texts(given), &names).map_err(|failure| failure.message)?;
            Ok::<_, String>(goals.iter().map(ToString::to_string).collect::<Vec<_>>())
        };
        let (one, other) = ("recall @ fpr<=1%", "precision @ recall>=0.9");
        assert_eq!(found(&[one]).unwrap(), [one, one]);
        let each = ["fraud: recall @ fpr<=1%", "\"charge back\" : precision @ recall>=0.9"];
        assert_eq!(found(&each).unwrap(), [one, other]);
        assert_eq!(found(&["charge back: precision @ recall>=0.9", one]).unwrap(), [one, other]);
        assert_eq!(found(&[other, one]).unwrap(), [one, one], "the last counts");
        for (given, said) in [
            (&[each[0]][..], "label \"charge back\" has no goal"),
            (&["late: f1"][..], "no label \"late\"; the labels are fraud, charge back"),
            (&["fraud: recal"][..], "unknown rate \"recal\""),
        ] {
            let error = found(given).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
    }
}
