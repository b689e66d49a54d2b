//! Flags by which any model's scores take the place of a model file.

use std::path::PathBuf;

use clap::Args;

/// Any model's scores, in place of a model file and data.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Any model's scores")]
pub struct ScoresArgs {
    /// A table with labels and scores (--label, --score), in place of MODEL and DATA
    #[arg(long, value_name = "FILE", requires_all = ["label", "score", "goal"],
          conflicts_with_all = ["model", "data", "unweighted", "ImageArgs"])]
    pub scores: Option<PathBuf>,
    /// The score column, by name or number from 1; higher means more positive
    #[arg(long, value_name = "COL", requires = "scores")]
    pub score: Option<String>,
    /// What the scores are for: "recall @ fpr<=1%"
    #[arg(long, requires = "scores")]
    pub goal: Option<String>,
    /// The threshold in use; by default one is chosen on these rows, certified where that can be done
    #[arg(long, value_name = "X", requires = "scores", allow_negative_numbers = true)]
    pub threshold: Option<f64>,
    /// The certificate of the threshold in use, as `certify --json` prints it: it is tested on these rows
    #[arg(long, value_name = "FILE", requires = "scores", conflicts_with = "threshold")]
    pub certificate: Option<PathBuf>,
    /// One threshold for all groups, where one is chosen
    #[arg(long, requires = "scores", conflicts_with_all = ["threshold", "certificate"])]
    pub shared_threshold: bool,
}
