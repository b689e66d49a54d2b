//! Flags on queries, for goals per query.

use std::path::PathBuf;

use clap::Args;

/// Which rows are results of the same query.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Queries")]
pub struct QueryArgs {
    /// Column that says which query a row is a result of; SVMLight files have their qid
    #[arg(long, value_name = "COL")]
    pub query: Option<String>,
    /// File with the number of rows of each query, one a line, as LightGBM has it beside its data
    #[arg(long, value_name = "FILE", conflicts_with = "query")]
    pub query_sizes: Option<PathBuf>,
}

/// The same where they are measured.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Queries")]
pub struct MeasuredQueryArgs {
    /// Which they are.
    #[command(flatten)]
    pub of: QueryArgs,
    /// What a query counts in which nothing is relevant: 0, 1, or skip to leave it out [default: skip]
    #[arg(long, value_name = "0|1|skip", value_parser = ["0", "1", "skip"])]
    pub empty_queries: Option<String>,
}
