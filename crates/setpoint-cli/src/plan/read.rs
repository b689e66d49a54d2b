//! Flags that several commands share.

use std::path::{Path, PathBuf};

use setpoint::message::{clip, quote};
use setpoint_data::{Format, Positive, ReadOptions, Separator, Spill};

use crate::args::ReadArgs;
use setpoint_run::Failure;

/// How a file is read, with its digest.
pub fn read_options(args: &ReadArgs) -> Result<ReadOptions, Failure> {
    let separator = match &args.separator {
        None => None,
        Some(text) => Some(Separator::parse(text).ok_or_else(|| {
            Failure::input(format!(
                "--separator {}: expected comma, tab, semicolon, blanks or one character",
                quote(text)
            ))
        })?),
    };
    let format = args.format.as_deref().map(|format| match format {
        "svmlight" => Format::SvmLight,
        "parquet" => Format::Parquet,
        _ => Format::Delimited,
    });
    let header = args.header.as_deref().map(|header| header == "yes");
    Ok(ReadOptions { format, separator, header, hash: true, spill: None })
}

/// Where rows go that are too many for this much memory: to a folder, or beside the data.
pub fn spill(bytes: usize, scratch: Option<&PathBuf>, data: &Path) -> Spill {
    let beside = data.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Spill { bytes, directory: scratch.cloned().unwrap_or_else(|| beside.to_owned()) }
}

/// Which labels are positive.
pub fn positive(text: Option<&String>) -> Result<Positive, Failure> {
    Ok(text.map_or(Ok(Positive::Auto), |text| text.parse())?)
}

/// A probability as people write it: `95%`, `0.95`.
pub fn confidence(text: &str) -> Result<f64, Failure> {
    probability("confidence", "95% or 0.95", text)
}

/// A share or chance of some setting: `2%`, `0.02`.
pub fn share(setting: &str, text: &str) -> Result<f64, Failure> {
    probability(setting, "5% or 0.05", text)
}

fn probability(setting: &str, such_as: &str, text: &str) -> Result<f64, Failure> {
    let trimmed = text.trim();
    let (digits, unit) = trimmed.strip_suffix('%').map_or((trimmed, 1.0), |digits| (digits.trim(), 100.0));
    match digits.parse::<f64>().map(|value| value / unit) {
        Ok(value) if value > 0.0 && value < 1.0 => Ok(value),
        _ => Err(Failure::input(format!(
            "--{setting} {}: expected a probability between 0 and 1, such as {such_as}",
            clip(text)
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn confidences_are_fractions_or_percentages() {
        assert_eq!(confidence("95%"), Ok(0.95));
        assert_eq!(confidence("0.99"), Ok(0.99));
        for bad in ["95", "0", "1", "x", "-5%", "100%", "nan"] {
            assert!(confidence(bad).is_err(), "{bad}");
        }
    }
}
