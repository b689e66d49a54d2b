//! Flags on queries, checked.

use std::path::{Path, PathBuf};

use setpoint::goal::GoalText;
use setpoint::rank::Empty;
use setpoint_data::QuerySource;
use setpoint_run::Failure;

use crate::args::{MeasuredQueryArgs, QueryArgs};

/// Where queries are written; `column` is where a model's were, if they came in one.
pub fn query_source(args: &QueryArgs, column: Option<&str>) -> QuerySource {
    match (&args.query, &args.query_sizes, column) {
        (Some(column), ..) => QuerySource::Column(column.clone()),
        (None, Some(sizes), _) => QuerySource::Sizes(sizes.clone()),
        (None, None, Some(column)) => QuerySource::Column(column.to_owned()),
        (None, None, None) => QuerySource::Own,
    }
}

/// The same of a test file: sizes of its queries are beside it, in a file called as it is with `.query` behind.
pub fn test_source(source: Option<&QuerySource>, test: &Path) -> Option<QuerySource> {
    let mut beside = test.as_os_str().to_owned();
    beside.push(".query");
    Some(match source? {
        QuerySource::Sizes(_) => QuerySource::Sizes(PathBuf::from(beside)),
        source => source.clone(),
    })
}

/// What a query counts in which nothing is relevant, where it was said.
pub fn empty_queries(args: &MeasuredQueryArgs) -> Option<Empty> {
    Some(match args.empty_queries.as_deref()? {
        "0" => Empty::Zero,
        "1" => Empty::One,
        _ => Empty::Skip,
    })
}

/// Refuses flags on queries where the goal is of none, and others where it is.
pub fn check_queries(
    args: &MeasuredQueryArgs,
    goal: &GoalText,
    others: &[(&'static str, bool, &'static str)],
) -> Result<(), Failure> {
    let own = [
        ("query", args.of.query.is_some()),
        ("query-sizes", args.of.query_sizes.is_some()),
        ("empty-queries", args.empty_queries.is_some()),
    ];
    let given = own.into_iter().find(|(_, given)| *given);
    match (given, goal.queries()) {
        (Some((flag, _)), None) => Err(Failure::input(format!(
            "--{flag}: has no effect on a goal that is not per query; give one such as \"ndcg @ k=10 per query\", or \
             leave it out"
        ))),
        (_, Some(_)) => match others.iter().find(|(_, given, _)| *given) {
            Some((flag, _, why)) => Err(Failure::input(format!("--{flag}: {why}; leave it out"))),
            None => Ok(()),
        },
        _ => Ok(()),
    }
}
