//! Files in; a checked matrix or images, labels and splits out.
//!
//! ```text
//! file ──Table::read──▶ Table ──split──▶ Parts ──Encoder::fit(train rows)──▶ Encoder ──encode──▶ Dataset
//! ```
//!
//! ```
//! use setpoint_data::{Encoder, ReadOptions, Roles, SplitPlan, Table};
//!
//! # fn main() -> Result<(), setpoint_data::Error> {
//! let text = "age,town,bought\n".to_owned() + &"31,Leeds,no\n52,York,yes\n47,?,no\n39,York,yes\n".repeat(5);
//! let roles = Roles { label: Some("bought".into()), ..Roles::default() };
//! let table = Table::from_bytes("sales.csv", text.into_bytes(), &ReadOptions::default(), &roles, None)?;
//!
//! let plan: SplitPlan = "train=0.6,validation=0.4".parse()?;
//! let parts = plan.split(&table, 7)?;
//! let encoder = Encoder::fit(&table, parts.rows("train"))?;
//! assert_eq!(encoder.feature_names(), ["age", "town=Leeds", "town=York", "town is missing"]);
//! let data = encoder.encode(table)?;
//! assert_eq!((data.features.rows(), data.features.columns()), (20, 4));
//! # Ok(())
//! # }
//! ```

mod assemble;
mod caution;
mod chunk;
mod class;
mod cost;
mod dataset;
mod encode;
mod form;
mod identifier;
mod image;
mod label;
mod layout;
mod matrix;
mod meaning;
mod memory;
mod offset;
mod query;
mod read;
mod role;
mod sparse;
mod split;
mod table;
mod tally;
mod time;

pub use caution::Telling;
pub use class::{ClassOptions, ClassRule, OTHER_CLASSES, Several};
pub use cost::{CostError, cost_table};
pub use dataset::{Codes, Dataset, select_sample};
pub use encode::{
    Category, EncodeError, Encoder, Encoding, Input, Inputs, LabelSchema, Learnt, Notes, OutOfFold,
    RawColumn, RawValues, Statistics, Term, Unit, Words, layout,
};
pub use form::{Form, same_value};
pub use identifier::Identifier;
pub use image::{
    ChannelStatistics, ImageError, ImageLayout, ImageOptions, ImageSet, ImageShape, ImageTask, Progress,
    RecordLayout, belongs_to_folder, default_cache, recognise_images,
};
pub use label::{Comparison, LabelError, LabelRule, Positive};
pub use layout::ColumnKind;
pub use memory::{About, Numbers, Values};
pub use offset::narrow;
pub use query::QuerySource;
pub use read::{Format, ReadError, ReadOptions, Separator, Spill, hash};
pub use role::{DEFAULT_MISSING, RoleError, Roles, list};
pub use split::{PARTS, Parts, Places, SplitError, SplitPlan, later_half, mix, shuffle};
pub use table::Table;
pub use time::{DatePart, time_key, time_text};

/// Anything that can go wrong between a file and a data set.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The columns' roles.
    #[error(transparent)]
    Role(#[from] RoleError),
    /// The label.
    #[error(transparent)]
    Label(#[from] LabelError),
    /// Encoding.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// Splitting.
    #[error(transparent)]
    Split(#[from] SplitError),
    /// Images.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// Features that no model takes.
    #[error(transparent)]
    Model(#[from] setpoint::model::ModelError),
    /// Queries and grades.
    #[error(transparent)]
    Rank(#[from] setpoint::rank::RankError),
    /// Labels, weights and groups.
    #[error(transparent)]
    Sample(#[from] setpoint::sample::SampleError),
}
