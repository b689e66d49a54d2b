//! Training on rows that are elsewhere, in shards: what a shard does with its rows, and what the driver makes of it.

use std::cell::RefCell;
use std::rc::Rc;

use serde::{Deserialize, Serialize};
use setpoint::Sample;
use setpoint::examples::{Answer, Reach, Remote, Request, Share};
use setpoint::model::Linear;
use setpoint_data::{
    Codes, Encoder, LabelSchema, PARTS, Parts, Places, Statistics, Table, later_half, select_sample,
};
use setpoint_report::ByPart;

use crate::blueprint::{Blueprint, Held};
use crate::examples::{Examples, Loaded};
use crate::failure::Failure;
use crate::schema::Schema;

/// What every shard is told.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Setup {
    /// How rows become numbers.
    pub encoder: Encoder,
    /// Which part each belongs to.
    pub places: Places,
}

/// The rows of a shard, encoded, which answer questions.
pub struct ShardRows {
    /// In the order of [`PARTS`]; none where a part has no rows here.
    parts: Vec<Option<Share>>,
}

impl ShardRows {
    /// The rows of a table with labels that was made for the encoder; `number` is which shard it is.
    ///
    /// # Errors
    /// If they are not what the encoder takes.
    pub fn new(table: Table, setup: &Setup, number: u64, times: Option<&[f64]>) -> Result<Self, Failure> {
        if table.rows() == 0 {
            return Ok(Self { parts: PARTS.map(|_| None).into() });
        }
        let parts = setup.places.parts(number, table.rows(), table.entities(), times);
        let data = setup.encoder.encode_parts(table, &PARTS.map(|name| parts.rows(name)))?;
        let sample = data.sample.ok_or_else(|| Failure::input("the data has no labels"))?;
        let share = |(features, name): (setpoint::features::Features, &str)| {
            let rows = parts.rows(name);
            if rows.is_empty() {
                return Ok(None);
            }
            features.check()?;
            Ok(Some(Share::new(Box::new(Linear::new(features)), sample.select(rows))))
        };
        let parts: Result<_, Failure> = data.features.into_iter().zip(PARTS).map(share).collect();
        Ok(Self { parts: parts? })
    }

    /// Answers a message of the driver's.
    ///
    /// # Errors
    /// If the message is damaged, or a question cannot be answered.
    pub fn answer(&mut self, message: &[u8]) -> Result<Vec<u8>, Failure> {
        let (part, request): (usize, Request) = postcard::from_bytes(message).map_err(damaged)?;
        let answers = match self.parts.get_mut(part) {
            Some(Some(share)) => share.answer(request)?,
            _ => vec![Answer::default(); request.questions.len()],
        };
        postcard::to_extend(&answers, Vec::new()).map_err(damaged)
    }
}

#[allow(clippy::needless_pass_by_value, reason = "as map_err hands it over")]
fn damaged(error: postcard::Error) -> Failure {
    Failure::input(format!("a message between driver and shard is damaged: {error}"))
}

/// Hands a message to every shard; what they answer, in their order.
pub type Ask = Box<dyn FnMut(&[u8]) -> Result<Vec<Vec<u8>>, String>>;

struct Part {
    ask: Rc<RefCell<Ask>>,
    part: usize,
}

impl Reach for Part {
    fn ask(&mut self, request: &Request) -> Result<Vec<Vec<Answer>>, String> {
        let message =
            postcard::to_extend(&(self.part, request), Vec::new()).map_err(|error| error.to_string())?;
        let answers = (self.ask.borrow_mut())(&message)?;
        let read = |bytes: &Vec<u8>| postcard::from_bytes(bytes).map_err(|error| error.to_string());
        answers.iter().map(read).collect()
    }
}

/// What the driver knows of all rows, shard by shard.
pub struct Gathered {
    /// Rows of each shard.
    pub sizes: Vec<usize>,
    /// True for positives.
    pub labels: Vec<bool>,
    /// Weights.
    pub weights: Option<Vec<f32>>,
    /// Which rows belong together.
    pub entities: Option<Codes>,
    /// Of a split by time.
    pub times: Option<Vec<f64>>,
}

impl Gathered {
    /// The rows of each part.
    ///
    /// # Errors
    /// If a part lacks rows, positives or negatives.
    pub fn parts(&self, places: &Places) -> Result<Parts, Failure> {
        let (entities, times) = (self.entities.as_ref(), self.times.as_deref());
        Ok(places.all(&self.sizes, &self.labels, entities, times)?)
    }
}

/// The encoding that is learnt from all shards.
///
/// # Errors
/// If shards differ in their columns, with the number of one that does, or nothing varies.
pub fn merged(statistics: Vec<Statistics>, label: LabelSchema) -> Result<Encoder, Failure> {
    let mut merged: Option<Statistics> = None;
    for (number, next) in statistics.into_iter().enumerate() {
        match &mut merged {
            None => merged = Some(next),
            Some(merged) => merged.merge(next).map_err(|column| {
                Failure::input(format!(
                    "partition {number}: column {column:?} is not there, or of another kind than in the partitions \
                     before"
                ))
            })?,
        }
    }
    Ok(merged.unwrap_or_default().encoder("the data", label)?)
}

/// Data whose features stay in shards, as if it were here.
///
/// # Errors
/// If a part lacks rows, positives or negatives.
pub fn load_shards(gathered: Gathered, setup: Setup, ask: Ask) -> Result<Loaded, Failure> {
    let Setup { encoder, places } = setup;
    let parts = gathered.parts(&places)?;
    let mut whole = Sample::new(gathered.labels)?;
    if let Some(weights) = gathered.weights {
        whole = whole.with_weights(weights)?;
    }
    if let Some(entities) = &gathered.entities {
        whole = whole.with_entities(&entities.column, &entities.of)?;
    }
    let later = gathered.times.as_ref().map(|times| {
        let rows = parts.rows("calibration").iter();
        later_half(&rows.map(|row| times[*row as usize]).collect::<Vec<_>>())
    });
    let (ask, columns) = (Rc::new(RefCell::new(ask)), encoder.columns());
    let mut split = ByPart::default();
    for (part, name) in PARTS.into_iter().enumerate().filter(|(_, name)| !parts.rows(name).is_empty()) {
        let sample = select_sample(&whole, parts.rows(name))?;
        let reach = Box::new(Part { ask: Rc::clone(&ask), part });
        let held = Held::Model(Box::new(Remote::new(reach, sample.len(), columns + 1)));
        if let Some(place) = split.get_mut(name) {
            *place = Some(Examples { held, sample });
        }
    }
    Ok(Loaded {
        schema: Schema::Table(encoder),
        blueprint: Blueprint::Linear { outputs: 1 },
        parts: split,
        columns,
        hash: None,
        test_hash: None,
        later,
        copies: None,
        rows: ByPart::default(),
        pooled: Vec::new(),
        telling: Vec::new(),
        notes: Vec::new(),
    })
}
