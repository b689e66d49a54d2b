//! One run: a table in; a model with its thresholds, certificate and record out.
//!
//! ```text
//! Table ─▶ split, encode ─▶ fit ─▶ thresholds, certificate ─▶ record, model file
//!          examples         core   threshold                  measure, model
//! ```
//!
//! This is what every front end runs: the command line, Python, the experiments. It names no
//! files of the user's, prints nothing, and reports progress to the caller's observer.

#![forbid(unsafe_code)]

mod auto;
mod average;
mod blueprint;
mod certify;
mod choice;
mod class_scene;
mod evaluate;
mod examples;
mod failure;
mod fit;
mod foreign;
mod group;
mod history;
mod idle;
mod image;
mod importance;
mod interval;
mod kind;
pub mod measure;
mod memory;
mod model;
mod more;
mod operate;
mod population;
mod probability;
mod repeat;
mod report;
mod scene;
mod schema;
mod scorer;
mod shards;
mod threshold;
mod train;

pub use auto::{Contender, train_best};
pub use blueprint::{Blueprint, Held};
pub use certify::{Asked, Certified, certify, certify_order};
pub use choice::{CnnSize, ModelChoice};
pub use evaluate::{COLUMNS, evaluate};
pub use examples::{Examples, Loaded, load, notes};
pub use failure::{Failure, FailureKind};
pub use fit::{Checkpoints, Fitted, fit};
pub use foreign::{Chosen, ScoredRows, evaluate_scores, report_scores};
pub use group::{POOL, spell_as};
pub use image::{hold_images, load_images, split_images};
pub use kind::{ByBand, ByPlace, ByShift, ByThreshold, Decision, Decisions, Predicted, class_goal};
pub use memory::{check_memory, too_many};
pub use model::{Opened, open, open_all, opened};
pub use more::{PIECE, Reading, load_more, load_scored};
pub use operate::{
    Drawn, Meant, Recertified, add, add_unlabelled, begin, monitor_record, recertify, resume, sample,
};
pub use probability::Probability;
pub use report::{Described, check_volume, report_model, report_training};
pub use schema::{ImageSchema, Schema};
pub use scorer::Scorer;
pub use shards::{Ask, Gathered, Grow, Setup, ShardRows, TreeRows, load_shards, merged};
pub use threshold::{Scored, Shipped, margins};
pub use train::{Job, Trained, choose, confidence_of_each, score, train};
