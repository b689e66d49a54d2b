//! Flags that say how a file is read.

use clap::Args;

/// How the file is written. Everything is found out from its content unless said here.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Reading")]
pub struct ReadArgs {
    /// Format: csv, svmlight or parquet; by default told from the content
    #[arg(long, value_name = "FORMAT", value_parser = ["csv", "svmlight", "parquet"])]
    pub format: Option<String>,
    /// Field separator of a text table: comma, tab, semicolon, blanks, or the character
    #[arg(long, value_name = "SEP")]
    pub separator: Option<String>,
    /// Whether the first row names the columns
    #[arg(long, value_name = "yes|no", value_parser = ["yes", "no"])]
    pub header: Option<String>,
    /// Texts that mean a missing value, with commas between [default: NA,N/A,#N/A,<NA>,NaN,NaT,None,null,?]
    #[arg(long, value_name = "TEXTS")]
    pub missing: Option<String>,
}
