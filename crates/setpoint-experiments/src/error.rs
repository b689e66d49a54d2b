//! Why an experiment ended early.

use std::path::PathBuf;

use setpoint::artifact::WriteError;
use setpoint::train::TrainError;
use setpoint_trees::TreesError;
use thiserror::Error;

/// Why an experiment ended early.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ExperimentError {
    /// A data file is not there or cannot be read.
    #[error("{}: {error}; --data (or SETPOINT_DATA) names the directory with the public data sets", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// The data could not be made into splits.
    #[error(transparent)]
    Data(#[from] setpoint_data::Error),
    /// A model could not be trained.
    #[error("{what}: {error}")]
    Train {
        /// Which cell of the table.
        what: String,
        /// Why.
        error: Box<TrainError>,
    },
    /// The classes of a file are not those that its goals name.
    #[error("{what}: {reason}; is the data file the public one, as it is?")]
    Goal {
        /// Which cell of the table.
        what: String,
        /// What is wrong.
        reason: String,
    },
    /// Trees could not be grown.
    #[error("{what}: {error}")]
    Trees {
        /// Which cell of the table.
        what: String,
        /// Why.
        error: Box<TreesError>,
    },
    /// A line of another tool's results.
    #[error("{}: line {line}: {error}; expected the results of bench/peers/trees.py", path.display())]
    Peer {
        /// The file.
        path: PathBuf,
        /// Which line, from 1.
        line: usize,
        /// What is wrong with it.
        error: serde_json::Error,
    },
    /// A result could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// A directory could not be made, or the journal of finished work not be kept.
    #[error("{what} {}: {error}", path.display())]
    Output {
        /// What of it.
        what: &'static str,
        /// The directory, or the file.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// No threads.
    #[error("cannot start a thread: {message}")]
    Threads {
        /// Why.
        message: String,
    },
    /// The caller asked to stop.
    #[error("stopped; what is done is kept, and the same command goes on from there")]
    Stopped,
}
