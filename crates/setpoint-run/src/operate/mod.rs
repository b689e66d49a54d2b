//! A model after training: watched, certified anew, and the rows to have labelled for that.

mod monitor;
pub(crate) mod recertify;
mod sample;

pub use monitor::{add, add_unlabelled, begin, monitor_record, resume};
pub use recertify::{Meant, Recertified, recertify};
pub use sample::{Drawn, sample};
