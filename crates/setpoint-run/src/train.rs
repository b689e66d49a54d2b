//! Training on data that is loaded: fit, choose what ships, measure, and make the model file.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use setpoint::Sample;
use setpoint::artifact::ModelFile;
use setpoint::goal::{AnyGoal, ClassObjective, Direction, GoalText};
use setpoint::message::{clip, percent, quote};
use setpoint::rank::Empty;
use setpoint::train::{Bandwidth, MethodChoice, Observer, Settings};
use setpoint_data::{SplitPlan, Telling};
use setpoint_report::{BaselineRecord, ByPart, GainRecord, StageRecord, TrainRecord, value_by};

use crate::choice::ModelChoice;
use crate::examples::{Examples, Loaded};
use crate::failure::Failure;
use crate::fit::{Checkpoints, Fitted, fit};
use crate::history::Recorder;
use crate::idle::refuse_idle;
use crate::kind::{Decision, Kind, Measured, goal_of, kind_of, paired};
use crate::model;
use crate::scorer::Scorer;
use crate::threshold::Scored;

/// Most rows that change places by default: beyond, selection has rows enough.
const ROTATED_ROWS: usize = 100_000;
/// Most training rows that the goal's value is measured on: it says little of new rows, and sorting takes ten times the
/// memory of scores.
const MOST_SORTED: usize = 4_000_000;
/// The bandwidth of networks of several classes, or of queries.
const CLASS_BANDWIDTH: Bandwidth = Bandwidth::Deviations(0.3);

/// What to train for, and how.
#[derive(Clone, Debug)]
pub struct Job {
    /// The goal, which the label's values make one of two classes or of several.
    pub goal: GoalText,
    /// The kind of model.
    pub model: ModelChoice,
    /// How to train.
    pub settings: Settings,
    /// Confidence of the certificate; `None` where none is wanted.
    pub confidence: Option<f64>,
    /// What a query counts in which nothing is relevant, of a goal per query.
    pub empty_queries: Empty,
    /// What is to be proved of new queries; `None`: whatever can be.
    pub at_least: Option<f64>,
    /// How long training may take, about: boosters that are not grown by then are left out.
    pub time: Option<Duration>,
    /// When that is over, of a run that has begun.
    pub until: Option<Instant>,
    /// Everything else that the result depends on besides the data, for the model file.
    pub recorded: Map<String, Value>,
}

impl Job {
    /// A job with the settings that suit the model, and those given in their places, by name.
    ///
    /// # Errors
    /// If a setting makes no sense, or the split has no validation part.
    pub fn new(
        goal: GoalText,
        model: ModelChoice,
        given: &Map<String, Value>,
        split: &SplitPlan,
        confidence: Option<f64>,
    ) -> Result<Self, Failure> {
        model.check()?;
        let settings = model.settings().with(given)?;
        let none = || Failure::input("‹model auto›: no kind of model to choose from");
        let suits = |model: &ModelChoice| refuse_idle(&goal, model, &settings, given);
        let model = match model {
            // A setting that has no effect on one kind asks for the others.
            ModelChoice::Auto { kinds } => {
                let (suited, others): (Vec<_>, Vec<_>) =
                    kinds.into_iter().partition(|kind| suits(kind).is_ok());
                match (&suited[..], &others[..]) {
                    ([], [first, ..]) => return Err(suits(first).err().unwrap_or_else(none)),
                    ([], []) => return Err(none()),
                    ([only], _) => only.clone(),
                    _ => ModelChoice::Auto { kinds: suited },
                }
            }
            other => suits(&other).map(|()| other)?,
        };
        if !split.shares().iter().any(|(name, _)| *name == "validation") {
            return Err(Failure::input(format!(
                "‹split {split}›: no validation part; training chooses between fits on it, so give it a share"
            )));
        }
        let recorded = Map::from_iter([("split".to_owned(), json!(split.to_string()))]);
        let empty_queries = Empty::default();
        Ok(Self {
            goal,
            model,
            settings,
            confidence,
            empty_queries,
            at_least: None,
            time: None,
            until: None,
            recorded,
        })
    }

    /// The same, to end after so many seconds, about; what comes of it then depends on the machine.
    ///
    /// # Errors
    /// If that is no time.
    pub fn within(mut self, seconds: f64) -> Result<Self, Failure> {
        let time = Duration::try_from_secs_f64(seconds).ok();
        self.time = time.filter(|time| !time.is_zero() && Instant::now().checked_add(*time).is_some());
        if self.time.is_none() {
            return Err(Failure::input(format!("‹time {seconds}›: expected more than 0 seconds")));
        }
        self.recorded.insert("time".to_owned(), json!(seconds));
        Ok(self)
    }

    /// Rows that `k=` will be asked of: those of the test part, or else of validation.
    pub fn rows_scored(loaded: &Loaded) -> u64 {
        let rows = |part: &Option<Examples>| part.as_ref().map_or(0, |part| part.sample.len() as u64);
        match rows(&loaded.parts.test) {
            0 => rows(&loaded.parts.validation),
            test => test,
        }
    }

    /// The settings, with what the data decides: the rows of `k=`, and the rotations (three for `auto` on
    /// at most 100,000 rows with a calibration part beside or of queries, else none).
    pub(crate) fn settings(&self, loaded: &Loaded) -> Result<Settings, Failure> {
        let (rows_scored, rotations) = (Some(Self::rows_scored(loaded)), self.rotations(loaded)?);
        let mut bandwidth = self.settings.bandwidth;
        // Scores of several classes or queries have no tail; this is what networks of them do best with.
        let no_tail = loaded.classes().is_some() || self.goal.queries().is_some();
        if no_tail && bandwidth == self.model.settings().bandwidth {
            bandwidth = match bandwidth {
                Bandwidth::Tail(_) => CLASS_BANDWIDTH,
                other => other,
            };
        }
        Ok(Settings { rows_scored, rotations, bandwidth, ..self.settings.clone() })
    }

    /// Which way the goal's value gets better, on the labels that were loaded.
    ///
    /// # Errors
    /// If the goal is not of these labels.
    pub fn direction(&self, loaded: &Loaded) -> Result<Direction, Failure> {
        Ok(goal_of(self, loaded)?.direction())
    }

    fn rotations(&self, loaded: &Loaded) -> Result<Option<usize>, Failure> {
        // Of queries nothing is chosen after training, and whole ones change places.
        let queries = self.goal.queries().is_some();
        let calibrated = queries || loaded.parts.calibration.is_some();
        match self.settings.rotations {
            Some(rotations) if rotations > 1 && !calibrated => Err(Failure::input(format!(
                "{rotations} rotations train on the validation rows too, and thresholds need rows that were not \
                 trained on: give the split a calibration part"
            ))),
            // Trees do not rotate: 1 keeps them from training on the validation rows in the end.
            given if given.is_some() || matches!(self.model, ModelChoice::Trees { .. }) => Ok(given),
            _ => {
                let rows = |part: &Option<Examples>| part.as_ref().map_or(0, |part| part.sample.len());
                let rows = rows(&loaded.parts.train) + rows(&loaded.parts.validation);
                let whole = self.settings.batch_size.is_none() || self.model.is_network();
                // An average need not meet the conditions on groups that each of its members meets.
                let auto = self.settings.method == MethodChoice::Auto && !self.settings.shared_threshold;
                Ok(Some(if auto && whole && calibrated && rows <= ROTATED_ROWS { 3 } else { 1 }))
            }
        }
    }

    /// Everything that the model depends on, as the model file and checkpoints keep it.
    ///
    /// # Errors
    /// If the settings do not suit the data.
    pub fn recorded(&self, loaded: &Loaded) -> Result<Map<String, Value>, Failure> {
        let mut recorded = self.recorded.clone();
        recorded.insert("confidence".to_owned(), json!(self.confidence));
        for own in [serde_json::to_value(&self.model)?, serde_json::to_value(self.settings(loaded)?)?] {
            if let Value::Object(own) = own {
                recorded.extend(own);
            }
        }
        let goal = goal_of(self, loaded)?;
        recorded.insert("goal".to_owned(), json!(goal.to_string()));
        if let AnyGoal::Classes(goal) = &goal {
            // What the goal names is no group column then.
            recorded.insert("group".to_owned(), Value::Null);
            if let ClassObjective::Cost { table, .. } = &goal.objective {
                recorded.insert("costs".to_owned(), json!(table));
            }
        }
        if let AnyGoal::Queries(_) = &goal {
            recorded.insert("empty-queries".to_owned(), json!(self.empty_queries.name()));
            recorded.insert("at-least".to_owned(), json!(self.at_least));
        }
        recorded.insert("data".to_owned(), json!(loaded.hash));
        recorded.insert("test".to_owned(), json!(loaded.test_hash));
        if !loaded.pooled.is_empty() {
            recorded.insert(model::POOLED.to_owned(), json!(loaded.pooled));
        }
        Ok(recorded)
    }
}

/// The confidence of the certificate of each of several labels with these goals, so that all of them hold together
/// with the confidence asked for: each may fail with its share of the chance that one of them does.
#[must_use]
pub fn confidence_of_each(together: f64, goals: &[GoalText]) -> f64 {
    let shares = goals.iter().filter(|goal| goal.has_conditions()).count().max(1);
    1.0 - (1.0 - together) / shares as f64
}

/// A trained model and all that is known of it.
pub struct Trained {
    /// The model, its candidates and the baseline.
    pub fitted: Fitted,
    /// What ships: thresholds, or shifts.
    pub decision: Decision,
    /// The scores of each part.
    pub scores: ByPart<Option<Vec<f32>>>,
    /// The record; the seconds and the artifact's name are for the caller to add.
    pub record: TrainRecord,
    /// The model file, ready to be saved.
    pub file: ModelFile,
    /// What the stages came to, step by step; of a run that was resumed, since then.
    pub history: Vec<StageRecord>,
}

/// Trains on the loaded parts, chooses the thresholds and measures.
///
/// # Errors
/// As [`fit`], or if no threshold meets the goal's conditions.
pub fn train<'r>(
    job: &Job,
    loaded: &mut Loaded,
    observer: &'r mut (dyn Observer + 'r),
    store: Option<&'r mut (dyn Checkpoints + 'r)>,
) -> Result<Trained, Failure> {
    kind_of(job, loaded)?.check(loaded)?;
    if let AnyGoal::Two(goal) = goal_of(job, loaded)? {
        loaded.pay(&goal)?;
    }
    let mut recorder = Recorder::new(observer);
    let fitted = fit(job, loaded, &mut recorder, store.map(|store| store as &mut dyn Checkpoints))?;
    let history = recorder.finish(&fitted.kept, fitted.rotations);
    ship(job, loaded, fitted, history)
}

/// What ships with a model that was fitted: chooses the thresholds and measures.
pub(crate) fn ship(
    job: &Job,
    loaded: &mut Loaded,
    fitted: Fitted,
    history: Vec<StageRecord>,
) -> Result<Trained, Failure> {
    let kind = kind_of(job, loaded)?;
    let mut scores = score(&mut loaded.parts, &fitted.scorer)?;
    // Shifts of several classes are found on scores that trees gave before they saw the rows.
    if let (Some(held_out), Scorer::Trees(_), Some(_)) = (&fitted.held_out, &fitted.scorer, loaded.classes())
    {
        scores.validation = Some(held_out.clone());
    }
    let decision = choose_by(&*kind, job, &loaded.parts, &scores)?;
    let record = measured(job, &*kind, loaded, &fitted, &scores, &decision)?;
    let file = model::file(job, loaded, &fitted, &decision, &record)?;
    Ok(Trained { fitted, decision, scores, record, file, history })
}

/// The scores of every part.
///
/// # Errors
/// If the rows are not those of the model.
pub fn score(
    parts: &mut ByPart<Option<Examples>>,
    scorer: &Scorer,
) -> Result<ByPart<Option<Vec<f32>>>, Failure> {
    let of = |part: &mut Option<Examples>| {
        let scores = part.as_mut().map(|part| part.scores(scorer)).transpose()?;
        Ok::<_, Failure>(scores.map(Arc::unwrap_or_clone))
    };
    Ok(ByPart {
        train: of(&mut parts.train)?,
        validation: of(&mut parts.validation)?,
        calibration: of(&mut parts.calibration)?,
        test: of(&mut parts.test)?,
    })
}

/// Chooses what scores ship with: those of the job's model, or of a rival's beside it.
///
/// # Errors
/// If nothing meets the goal's conditions there.
pub fn choose(job: &Job, loaded: &Loaded, scores: &ByPart<Option<Vec<f32>>>) -> Result<Decision, Failure> {
    choose_by(&*kind_of(job, loaded)?, job, &loaded.parts, scores)
}

pub(crate) fn choose_by(
    kind: &dyn Kind,
    job: &Job,
    parts: &ByPart<Option<Examples>>,
    scores: &ByPart<Option<Vec<f32>>>,
) -> Result<Decision, Failure> {
    let (validation, calibration) = held_out(parts, scores)?;
    kind.choose(validation, calibration, job.confidence, job.settings.seed)
}

/// The parts that thresholds can be chosen on.
fn held_out<'a>(
    parts: &'a ByPart<Option<Examples>>,
    scores: &'a ByPart<Option<Vec<f32>>>,
) -> Result<(Scored<'a>, Option<Scored<'a>>), Failure> {
    fn scored<'a>(
        name: &'static str,
        part: &'a Option<Examples>,
        scores: &'a Option<Vec<f32>>,
    ) -> Option<Scored<'a>> {
        Some(Scored { name, sample: &part.as_ref()?.sample, scores: scores.as_ref()? })
    }
    let validation = scored("validation", &parts.validation, &scores.validation)
        .ok_or_else(|| Failure::input("there is no validation part"))?;
    Ok((validation, scored("calibration", &parts.calibration, &scores.calibration)))
}

/// What to say of columns that nearly give the label away.
fn told(kind: &dyn Kind, goal: &str, loaded: &Loaded) -> Result<Vec<String>, Failure> {
    let said = |(sample, telling): &(Sample, Telling)| {
        let by_itself = match kind.value(sample, &telling.scores)? {
            Some(value) => format!("reaches {}", value_by(goal, value)),
            None => {
                format!("puts {} of the pairs of a positive and a negative in order", percent(telling.area))
            }
        };
        let column = &telling.column;
        let named = if column.contains(',') { quote(column) } else { clip(column) };
        Ok(format!(
            "column {} by itself {by_itself} on training rows: does it know the label? If it is not known when the \
             model decides, leave it out with ‹drop {named}›",
            quote(column)
        ))
    };
    loaded.telling.iter().map(said).collect()
}

/// Measures every part and gathers the record.
fn measured(
    job: &Job,
    kind: &dyn Kind,
    loaded: &mut Loaded,
    fitted: &Fitted,
    scores: &ByPart<Option<Vec<f32>>>,
    decision: &Decision,
) -> Result<TrainRecord, Failure> {
    let each = |loaded: &Loaded, scores: &ByPart<Option<Vec<f32>>>, held_out| {
        let samples = samples_of(loaded);
        let mut pairs = paired(&samples, scores);
        let few = pairs.train.and_then(|(sample, scores)| thinned(sample, scores));
        if let Some((sample, scores)) = &few {
            pairs.train = Some((sample, scores));
        }
        let mut values = pairs.try_map(|pair| match pair {
            Some((sample, scores)) => kind.value(sample, scores),
            None => Ok::<_, Failure>(None),
        })?;
        // The model may have seen the validation rows; what it was chosen by was held out.
        if fitted.used_validation {
            values.validation = held_out;
        }
        Ok::<_, Failure>(values)
    };
    let objective = each(loaded, scores, fitted.validation)?;
    let mut base = score(&mut loaded.parts, &fitted.baseline)?;
    let base_objective = each(loaded, &base, fitted.baseline_validation)?;
    // Nothing more is asked of these, which are the most.
    base.train = None;
    let loaded = &*loaded;
    let (samples, base) = (samples_of(loaded), &base);
    let run = Measured { job, loaded, samples, scores, base, used_validation: fitted.used_validation };
    let goal = goal_of(job, loaded)?.to_string();
    let mut record = TrainRecord {
        notes: told(kind, &goal, loaded)?
            .into_iter()
            .chain(loaded.notes.clone())
            .chain(fitted.notes.clone())
            .collect(),
        goal,
        label: loaded.schema.label_record(),
        model: job.model.name().to_owned(),
        method: job.settings.method.to_string(),
        winner: fitted.winner.clone(),
        rotations: fitted.rotations as u64,
        seed: job.settings.seed,
        steps: fitted.evaluations,
        passes: fitted.passes,
        rows: run.samples.map(|sample| sample.map_or(0, |sample| sample.len() as u64)),
        columns: loaded.columns as u64,
        thresholds_from: decision.rule().from().to_owned(),
        gain: gain(kind, fitted, &run, [&objective, &base_objective]),
        objective,
        copies: loaded.copies.clone(),
        baseline: BaselineRecord {
            method: kind.baseline().to_owned(),
            name: fitted.baseline_name.clone(),
            objective: base_objective,
        },
        candidates: fitted.candidates.clone(),
        recipe: fitted.recipe.clone(),
        used_validation: fitted.used_validation,
        data_hash: loaded.hash.clone(),
        ..TrainRecord::default()
    };
    decision.rule().describe(&run, &mut record)?;
    Ok(record)
}

fn samples_of(loaded: &Loaded) -> ByPart<Option<&Sample>> {
    loaded.parts.map(|part| part.as_ref().map(|part| &part.sample))
}

/// Every so many rows, where there are too many training rows to sort.
fn thinned(sample: &Sample, scores: &[f32]) -> Option<(Sample, Vec<f32>)> {
    if sample.len() <= MOST_SORTED || sample.queries().is_some() {
        return None;
    }
    let rows: Vec<u32> = (0..sample.len() as u32).step_by(sample.len().div_ceil(MOST_SORTED)).collect();
    Some((sample.select(&rows), rows.iter().map(|row| scores[*row as usize]).collect()))
}

/// The gain over the baseline, on the last part that has one: the later the part, the less it chose.
fn gain(
    kind: &dyn Kind,
    fitted: &Fitted,
    run: &Measured<'_>,
    [values, base_values]: [&ByPart<Option<f64>>; 2],
) -> Option<GainRecord> {
    let value = |part: &str| Some((values.get(part).copied()??, base_values.get(part).copied()??));
    let parts = ["test", "calibration", "validation"];
    let (part, (own, other)) = parts.iter().find_map(|part| Some((*part, value(part)?)))?;
    let (sample, scores) = (*run.pair(run.scores).get(part)?)?;
    let base = run.base.get(part)?.as_deref()?;
    let (difference, first, second) = match kind.direction() {
        Direction::Down => (other - own, base, scores),
        _ => (own - other, scores, base),
    };
    let interval = kind.difference(sample, first, second, run.job.confidence.unwrap_or(0.95));
    let same = difference == 0.0 && (fitted.fell_back || fitted.winner == fitted.baseline_name);
    Some(GainRecord::new(part, difference, interval, same))
}
