//! Training on rows that are elsewhere, in shards: what a shard does with its rows, and what the driver makes of it.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::time::Instant;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use setpoint::Sample;
use setpoint::artifact::{Tensor, TensorData};
use setpoint::examples::{Answer, Reach, Remote, Request, Share};
use setpoint::features::Features;
use setpoint::goal::AnyGoal;
use setpoint::model::Linear;
use setpoint::train::{Observer, Progress, StageKind, TrainError};
use setpoint_data::{
    Codes, Encoder, Inputs, LabelSchema, PARTS, Parts, Places, Statistics, Table, later_half, layout,
    select_sample,
};
use setpoint_report::ByPart;
use setpoint_trees::{Ensemble, Look, Rows, Searched, Settings, TreesFit, conclude, looks};

use crate::blueprint::{Blueprint, Held};
use crate::examples::{Examples, Loaded};
use crate::failure::Failure;
use crate::schema::Schema;

/// The driver takes at most so many rows to itself, and so many bytes.
const MOST: usize = 1 << 20;
const MOST_BYTES: f64 = 256e6;

/// What every shard is told.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Setup {
    /// How rows become numbers.
    pub encoder: Encoder,
    /// Which part each belongs to.
    pub places: Places,
    /// Whether trees are grown on them, and not a linear model.
    pub trees: bool,
    /// Of a goal in money, whether more is better.
    pub profit: Option<bool>,
}

impl Setup {
    /// What shards are told of this encoding; trees take it without scales and indicator columns.
    ///
    /// # Errors
    /// If trees have nothing to learn from.
    pub fn new(encoder: Encoder, places: Places, trees: bool, profit: Option<bool>) -> Result<Self, Failure> {
        Ok(Self { encoder: if trees { encoder.plain()? } else { encoder }, places, trees, profit })
    }
}

/// The rows of a shard that are of one part.
enum Kept {
    Linear(Box<Share>),
    Trees(Box<(Rows, Sample)>),
}

/// What is asked of the rows of a part.
#[derive(Serialize, Deserialize)]
enum Asked<'a> {
    /// Sums over them.
    Sums(Cow<'a, Request>),
    /// One of so many of them.
    Fewer(usize),
    /// Their scores by trees, after every so many rounds.
    Looks { trees: BTreeMap<String, TensorData>, every: usize },
}

/// The rows of a shard, encoded, which answer questions.
pub struct ShardRows {
    /// In the order of [`PARTS`]; none where a part has no rows here.
    parts: Vec<Option<Kept>>,
}

impl ShardRows {
    /// The rows of a table with labels that was made for the encoder; `number` is which shard it is. Groups have the names
    /// of all shards, whether there are rows of them here or not.
    ///
    /// # Errors
    /// If they are not what the encoder takes.
    pub fn new(
        table: Table,
        setup: &Setup,
        number: u64,
        groups: Option<Codes>,
        times: Option<&[f64]>,
    ) -> Result<Self, Failure> {
        if table.rows() == 0 {
            return Ok(Self { parts: PARTS.map(|_| None).into() });
        }
        let parts = setup.places.parts(number, table.rows(), table.entities(), times);
        let data = setup.encoder.encode_parts(table, &PARTS.map(|name| parts.rows(name)))?;
        let mut sample = data.sample.ok_or_else(|| Failure::input("the data has no labels"))?;
        if let Some(Codes { column, names, of }) = groups {
            sample = sample.with_some_groups(&column, names, of)?;
        }
        let share = |(features, name): (Features, &str)| {
            let rows = parts.rows(name);
            if rows.is_empty() {
                return Ok(None);
            }
            if setup.trees {
                return Ok(Some(Kept::Trees(Box::new((features.into(), sample.select(rows))))));
            }
            features.check()?;
            Ok(Some(Kept::Linear(Box::new(Share::new(Linear::new(features), sample.select(rows))))))
        };
        let parts: Result<_, Failure> = data.features.into_iter().zip(PARTS).map(share).collect();
        Ok(Self { parts: parts? })
    }

    /// Answers a message of the driver's.
    ///
    /// # Errors
    /// If the message is damaged, or a question cannot be answered.
    pub fn answer(&mut self, message: &[u8]) -> Result<Vec<u8>, Failure> {
        let (part, asked): (usize, Asked<'_>) = postcard::from_bytes(message).map_err(damaged)?;
        let answered = match (asked, self.parts.get_mut(part)) {
            (Asked::Sums(request), Some(Some(Kept::Linear(share)))) => {
                postcard::to_extend(&share.answer(request.into_owned())?, Vec::new())
            }
            (Asked::Sums(request), _) => {
                postcard::to_extend(&vec![Answer::default(); request.questions.len()], Vec::new())
            }
            (Asked::Fewer(share), Some(Some(Kept::Linear(rows)))) => {
                postcard::to_extend(&Some(rows.fewer(share)?), Vec::new())
            }
            (Asked::Fewer(_), _) => postcard::to_extend(&None::<Features>, Vec::new()),
            (Asked::Looks { trees, every }, Some(Some(Kept::Trees(kept)))) => {
                let rows = &kept.0;
                let tensors = trees.into_iter().map(|(name, data)| (name, Tensor::vector(data))).collect();
                let ensemble = Ensemble::from_tensors(&tensors, rows.view().columns())?;
                let looks = looks(&ensemble, &rows.view(), every.max(1), None)?;
                postcard::to_extend(&looks.iter().map(|look| &look.scores).collect::<Vec<_>>(), Vec::new())
            }
            (Asked::Looks { .. }, _) => postcard::to_extend(&Vec::<Vec<f32>>::new(), Vec::new()),
        };
        answered.map_err(damaged)
    }

    /// The training rows as trees are grown on them, row after row, and what is known of them; `None` where there are
    /// none here.
    #[must_use]
    pub fn training(&self) -> Option<(&[f32], &Sample)> {
        match self.parts.first() {
            Some(Some(Kept::Trees(kept))) => Some((kept.0.view().values()?, &kept.1)),
            _ => None,
        }
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
        self.send(&Asked::Sums(Cow::Borrowed(request)))
    }

    fn fewer(&mut self, share: usize) -> Result<Vec<Option<Features>>, String> {
        self.send(&Asked::Fewer(share))
    }
}

impl Part {
    /// What each shard answers, in their order.
    fn send<T: DeserializeOwned>(&self, asked: &Asked<'_>) -> Result<Vec<T>, String> {
        let message =
            postcard::to_extend(&(self.part, asked), Vec::new()).map_err(|error| error.to_string())?;
        let answers = (self.ask.borrow_mut())(&message)?;
        let read = |bytes: &Vec<u8>| postcard::from_bytes(bytes).map_err(|error| error.to_string());
        answers.iter().map(read).collect()
    }
}

/// Grows a booster on the training rows of all shards, by parameters as LightGBM takes them and for so many rounds; the
/// text that LightGBM saves it as.
pub type Grow = Box<dyn FnMut(&str, usize) -> Result<String, String>>;

/// Rows elsewhere that trees are for.
pub struct TreeRows {
    part: Part,
    grow: Rc<RefCell<Grow>>,
    rows: usize,
    columns: usize,
}

impl TreeRows {
    /// How many.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Their scores after all rounds.
    ///
    /// # Errors
    /// If a shard cannot be asked.
    pub fn scores(&self, ensemble: &Ensemble) -> Result<Vec<f32>, Failure> {
        Ok(self.looks(ensemble, ensemble.rounds())?.pop().map(|look| look.scores).unwrap_or_default())
    }

    fn looks(&self, ensemble: &Ensemble, every: usize) -> Result<Vec<Look>, Failure> {
        let trees = ensemble.to_tensors().into_iter().map(|(name, tensor)| (name, tensor.data)).collect();
        let shards: Vec<Vec<Vec<f32>>> = self.part.send(&Asked::Looks { trees, every }).map_err(elsewhere)?;
        let (mut looks, mut rounds) = (Vec::new(), 0);
        while rounds < ensemble.rounds() {
            rounds = (rounds + every).min(ensemble.rounds());
            let of_shard = |shard: &Vec<Vec<f32>>| shard.get(looks.len()).cloned().unwrap_or_default();
            let scores: Vec<f32> = shards.iter().flat_map(of_shard).collect();
            if scores.len() != self.rows {
                return Err(elsewhere(format!("{} scores for {} rows", scores.len(), self.rows)));
            }
            looks.push(Look { rounds, scores });
        }
        Ok(looks)
    }

    /// Grows the boosters of a search where the rows are, and makes a model of them by their looks at the rows that are
    /// held out.
    ///
    /// # Errors
    /// If LightGBM refuses, the goal cannot be met, or the observer stops the run.
    pub(crate) fn fit(
        &self,
        goal: &AnyGoal,
        (held_out, sample): (&Self, &Sample),
        settings: &Settings,
        observer: &mut dyn Observer,
    ) -> Result<TreesFit, Failure> {
        let (rounds, stages) = (settings.rounds, settings.configurations.len());
        let mut searched: Vec<Searched> = Vec::new();
        for (stage_index, parameters) in settings.configurations.iter().enumerate() {
            if !searched.is_empty() && settings.until.is_some_and(|until| Instant::now() >= until) {
                break;
            }
            let (seed, name) =
                (settings.seed.wrapping_add(stage_index as u64), format!("cross-entropy, {parameters}"));
            let text =
                (self.grow.borrow_mut())(&parameters.of_log_loss(seed, 1), rounds).map_err(elsewhere)?;
            let ensemble = Ensemble::from_text(&text, self.columns)?;
            let looks = held_out.looks(&ensemble, settings.look_every)?;
            let progress = Progress {
                kind: StageKind::Boosting,
                stage: name.clone(),
                stage_index,
                stages,
                step: rounds as u64,
                steps: rounds as u64,
                loss: f64::NAN,
                validation: None,
                detail: None,
            };
            if observer.observe(&progress) == ControlFlow::Break(()) {
                return Err(TrainError::Stopped.into());
            }
            let (parameters, promises) = (*parameters, Vec::new());
            searched.push(Searched { parameters, name, ensemble, looks, seed, objective: None, promises });
        }
        Ok(conclude(goal, &searched, sample, settings)?)
    }
}

fn elsewhere(message: String) -> Failure {
    TrainError::Elsewhere { message }.into()
}

/// What the driver knows of all rows, shard by shard.
pub struct Gathered {
    /// Rows of each shard.
    pub sizes: Vec<usize>,
    /// True for positives.
    pub labels: Vec<bool>,
    /// Weights.
    pub weights: Option<Vec<f32>>,
    /// What each row pays, decided negative and positive.
    pub pays: Option<Vec<[f64; 2]>>,
    /// The groups that conditions are on.
    pub groups: Option<Codes>,
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
pub fn load_shards(gathered: Gathered, setup: Setup, ask: Ask, grow: Grow) -> Result<Loaded, Failure> {
    let Setup { encoder, places, trees, profit } = setup;
    let parts = gathered.parts(&places)?;
    let mut whole = Sample::new(gathered.labels)?;
    if let Some(weights) = gathered.weights {
        whole = whole.with_weights(weights)?;
    }
    if let (Some(profit), Some(pays)) = (profit, gathered.pays) {
        whole = whole.with_stakes(profit, pays)?;
    }
    if let Some(Codes { column, names, of }) = gathered.groups {
        whole = whole.with_groups(&column, names, of)?;
    }
    if let Some(entities) = &gathered.entities {
        whole = whole.with_entities(&entities.column, &entities.of)?;
    }
    let later = gathered.times.as_ref().map(|times| {
        let rows = parts.rows("calibration").iter();
        later_half(&rows.map(|row| times[*row as usize]).collect::<Vec<_>>())
    });
    let (ask, grow, columns) = (Rc::new(RefCell::new(ask)), Rc::new(RefCell::new(grow)), encoder.columns());
    let (mut split, room) = (ByPart::default(), room(&encoder));
    for (part, name) in PARTS.into_iter().enumerate().filter(|(_, name)| !parts.rows(name).is_empty()) {
        let sample = select_sample(&whole, parts.rows(name))?;
        let (reach, rows) = (Part { ask: Rc::clone(&ask), part }, sample.len());
        let held = match trees {
            true => Held::Elsewhere(TreeRows { part: reach, grow: Rc::clone(&grow), rows, columns }),
            false => {
                let sizes = sizes_in(&gathered.sizes, parts.rows(name));
                Held::Model(Box::new(Remote::new(Box::new(reach), sizes, columns + 1, room)))
            }
        };
        if let Some(place) = split.get_mut(name) {
            *place = Some(Examples { held, sample });
        }
    }
    let blueprint = if trees { Blueprint::trees(&encoder) } else { Blueprint::Linear { outputs: 1 } };
    Ok(Loaded {
        schema: Schema::Table(encoder),
        blueprint,
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

/// How many rows a driver takes to itself, to come close on.
fn room(encoder: &Encoder) -> usize {
    let bytes = match &encoder.inputs {
        Inputs::Table(inputs) => layout(inputs).bytes(MOST),
        Inputs::Sparse { .. } => None,
    };
    bytes.map_or(MOST, |bytes| MOST.min((MOST as f64 * MOST_BYTES / bytes as f64) as usize)).max(1)
}

/// How many of some rows, which ascend, each shard of such sizes has.
fn sizes_in(sizes: &[usize], rows: &[u32]) -> Vec<usize> {
    let (mut end, mut before) = (0, 0);
    let own = sizes.iter().map(|size| {
        end += size;
        let upto = rows.partition_point(|row| (*row as usize) < end);
        upto - std::mem::replace(&mut before, upto)
    });
    own.collect()
}
