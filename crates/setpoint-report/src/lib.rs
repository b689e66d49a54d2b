//! One record of a run: plain data, as JSON for programs and as text for people.
//!
//! The record holds numbers, never formatted text, so that both forms say the same.
//!
//! ```
//! use setpoint_report::{ByPart, Table};
//!
//! let recall = ByPart { train: Some(0.71), validation: Some(0.69), calibration: None, test: Some(0.7) };
//! let mut table = Table::new(["split", "recall"]);
//! for (name, value) in recall.iter() {
//!     if let Some(value) = value {
//!         table.row([name.to_owned(), setpoint_report::percent(*value)]);
//!     }
//! }
//! assert_eq!(table.to_string(), "split       recall\ntrain       71.00%\nvalidation  69.00%\ntest        70.00%\n");
//! ```

#![forbid(unsafe_code)]

pub mod chart;

mod band;
mod caution;
mod certificate;
mod classes;
mod decision;
mod evaluate;
mod few;
mod gain;
mod group;
mod html;
mod importance;
mod label;
mod money;
mod monitor;
mod number;
mod part;
pub mod picture;
mod population;
mod queries;
mod recertify;
mod record;
mod table;
mod together;
mod train;
mod unmet;

pub use band::BandRecord;
pub use caution::Circumstances;
pub use certificate::{CertificateRecord, uncertified};
pub use classes::{ClassDecisions, ClassRecord, ClassesRecord, PriceRecord, class_table};
pub use decision::decided_alike;
pub use evaluate::{AtCondition, Bounds, DriftRecord, EvaluateRecord, Measured};
pub use few::{LEAST, Support};
pub use gain::GainRecord;
pub use group::{GroupRecord, group_table};
pub use html::{Chapter, Page, to_html};
pub use importance::{ColumnRecord, ImportanceRecord, WeightRecord};
pub use label::LabelRecord;
pub use money::MoneyRecord;
pub use monitor::{HintPointRecord, HintRecord, MonitorRecord, WatchedPoint, WatchedRecord};
pub use number::{amount, is_money, mean_and_deviation, number, percent, value_by, value_of, widened};
pub use part::ByPart;
pub use population::{ComparedRecord, PopulationRecord};
pub use queries::{BoundRecord, ByK, QueriesRecord, QueryRecord, ResultRecord};
pub use recertify::{MixRecord, RecertifyRecord};
pub use record::{
    CautionRecord, ComparisonRecord, ConditionRecord, NaturalCount, PartRecord, RepeatRecord, ReportRecord,
    RunRecord, StageRecord, StepRecord,
};
pub use table::Table;
pub use together::{LabelsRecord, Together};
pub use train::{
    BaselineRecord, CandidateRecord, Confusion, GroupsRecord, KindRecord, RecipeRecord, Seconds, Shipped,
    TrainRecord,
};
pub use unmet::UnmetRecord;

/// The record as one JSON object, with a line end.
///
/// # Errors
/// If a number is NaN or infinite, which a record never holds.
pub fn to_json(record: &impl serde::Serialize) -> Result<String, serde_json::Error> {
    let mut text = serde_json::to_string_pretty(record)?;
    text.push('\n');
    Ok(text)
}
