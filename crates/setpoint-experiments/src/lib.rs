//! The paper's tables on real data, with the rivals beside.
//!
//! One folder for each kind of study: [`uci`] is the paper's section 4.3, with its own figures kept as
//! data next to the code that regenerates them; [`network`] is its image experiments, and a comparison of
//! networks at equal compute; [`trees`] is a comparison of boosted trees. What they share is a [`Study`]:
//! cells, a journal of what is done, a record, tables and a page.

#![forbid(unsafe_code)]

mod centred;
mod date;
mod error;
mod export;
mod goals;
mod journal;
mod method;
pub mod network;
mod picture;
mod pool;
mod problem;
mod read;
mod record;
mod source;
mod split;
mod statistic;
mod study;
mod table;
mod task;
pub mod trees;
mod trial;
pub mod uci;
mod watch;

pub use error::ExperimentError;
pub use goals::Table;
pub use journal::{JOURNAL, Journal};
pub use method::Method;
pub use picture::Picture;
pub use problem::{Held, Part, Problem};
pub use record::{Cell, Cells, Entry, FileRecord, Record, Results};
pub use source::Sources;
pub use study::{Experiment, Plan, Study, run};
pub use table::Grid;
pub use task::{Source, Task};
pub use trial::{Choice, Look};
pub use watch::Watch;
