//! `setpoint report`, and the flags by which other commands write one too.

use std::path::PathBuf;

use clap::Args;

use super::MeasureArgs;

pub const EXAMPLES: &str = "\
The report is one HTML file: no network, nothing to install, light and dark, prints well.

Examples:
  setpoint report fraud.safetensors january.csv -o january.html
  setpoint report --scores january.csv --label y --score p --goal \"recall @ fpr<=1%\" -o january.html
  setpoint train cards.csv --label fraud --goal \"recall @ fpr<=1%\" --report fraud.html
  setpoint evaluate fraud.safetensors january.csv --report january.html --report-json january.json";

/// Measure a model on labelled data and write a report to look at.
#[derive(Args, Clone, Debug)]
pub struct ReportArgs {
    /// What is measured.
    #[command(flatten)]
    pub measure: MeasureArgs,
    /// Where to write the report
    #[arg(long, short, value_name = "FILE", default_value = "report.html")]
    pub output: PathBuf,
    /// Write the same as JSON to this file
    #[arg(long, value_name = "FILE")]
    pub report_json: Option<PathBuf>,
    /// Rows a day to count by, of a model that leaves some to people [default: 1000]
    #[arg(long, value_name = "ROWS", allow_negative_numbers = true)]
    pub volume: Option<f64>,
}

/// Reports beside a command's own output.
#[derive(Args, Clone, Debug, Default)]
pub struct ReportFlags {
    /// Write a report to look at, one HTML file
    #[arg(long, value_name = "FILE", help_heading = "Report")]
    pub report: Option<PathBuf>,
    /// Write all that the report shows as JSON
    #[arg(long, value_name = "FILE", help_heading = "Report")]
    pub report_json: Option<PathBuf>,
    /// Rows a day to count by, where the goal leaves some to people [default: 1000]
    #[arg(long, value_name = "ROWS", help_heading = "Report", allow_negative_numbers = true)]
    pub volume: Option<f64>,
}
