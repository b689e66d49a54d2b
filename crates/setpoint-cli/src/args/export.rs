//! `setpoint export`

use std::path::PathBuf;

use clap::Args;

use super::{ImageArgs, ReadArgs};

pub const EXAMPLES: &str = "\
Writes one ONNX file that takes the raw columns, one input for each by its name, and gives score, probability
and decision, so that any runtime decides as Setpoint does. With --check, every row of DATA goes through
onnxruntime (the one that `pip install onnxruntime` brings, or SETPOINT_ONNXRUNTIME names); a decision that differs
ends with exit code 1. For networks, whose scores differ in their last digits, DATA also says where a threshold
keeps its distance from the scores around it.

Examples:
  setpoint export fraud.safetensors -o fraud.onnx
  setpoint export fraud.safetensors -o fraud.onnx --check calibration.csv
  setpoint export faces.safetensors -o faces.onnx --check photos/";

/// Write an ONNX file with the decision inside.
#[derive(Args, Clone, Debug)]
pub struct ExportArgs {
    /// The model file
    pub model: PathBuf,
    /// Which model, of a file of several labels
    #[arg(long, value_name = "COL")]
    pub label: Option<String>,
    /// The ONNX file to write
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,
    /// Rows to run through onnxruntime and to compare the decisions on
    #[arg(long, value_name = "DATA")]
    pub check: Option<PathBuf>,
    /// How the file is read.
    #[command(flatten)]
    pub read: ReadArgs,
    /// How images are read.
    #[command(flatten)]
    pub images: ImageArgs,
}
