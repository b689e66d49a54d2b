//! The paper's tables on real data, with the rivals beside.
//!
//! One folder for each kind of study: [`uci`] is the paper's section 4.3, with its own figures kept as
//! data next to the code that regenerates them; [`network`] is its image experiments, and a comparison of
//! networks at equal compute; [`trees`] is a comparison of boosted trees; [`classes`] is several classes. What they share is a [`Study`]:
//! cells, a journal of what is done, a record, tables and a page.

#![forbid(unsafe_code)]

mod centred;
pub mod classes;
mod error;
mod export;
mod goals;
mod journal;
mod method;
pub mod network;
mod picture;
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
mod worker;

pub use error::ExperimentError;
pub use goals::Table;
pub use journal::JOURNAL;
pub use method::Method;
pub use record::{Record, Results};
pub use study::{Experiment, Study, StudyPlan, run};
pub use task::{Source, Task};
pub use watch::Watch;

use journal::Journal;
use picture::Picture;
use problem::{HeldRows, Problem};
use record::{Cell, Cells, Entry, FileRecord};
use source::Sources;
use table::Grid;
use trial::{Choice, Look};
