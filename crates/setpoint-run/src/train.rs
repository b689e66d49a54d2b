//! Training on data that is loaded: fit, choose the thresholds, measure, and make the model file.

use serde_json::{Map, Value, json};
use setpoint::Sample;
use setpoint::artifact::ModelFile;
use setpoint::certify::monitor::Sketch;
use setpoint::goal::{Constraint, Direction, Goal, Top};
use setpoint::train::selection::as_fraction;
use setpoint::train::{Judge, MethodChoice, Observer, Settings};
use setpoint_data::SplitPlan;
use setpoint_report::{
    BaselineRecord, ByPart, CertificateRecord, GainRecord, GroupRecord, GroupsRecord, Seconds, StageRecord,
    TrainRecord, decided_alike,
};

use crate::choice::ModelChoice;
use crate::examples::{Examples, Loaded};
use crate::failure::Failure;
use crate::fit::{Checkpoints, Fitted, fit};
use crate::group::check_sizes;
use crate::history::Recorder;
use crate::idle::refuse_idle;
use crate::interval::{Measurer, SHARES};
use crate::probability::Probability;
use crate::scorer::Scorer;
use crate::threshold::{Scored, Shipped};
use crate::{measure, model, population};

/// Most rows that change places by default: beyond, selection has rows enough.
const ROTATED_ROWS: usize = 100_000;

/// What to train for, and how.
#[derive(Clone, Debug)]
pub struct Job {
    /// The goal.
    pub goal: Goal,
    /// The kind of model.
    pub model: ModelChoice,
    /// How to train.
    pub settings: Settings,
    /// Confidence of the certificate; `None` where none is wanted.
    pub confidence: Option<f64>,
    /// Everything else that the result depends on besides the data, for the model file.
    pub recorded: Map<String, Value>,
}

impl Job {
    /// A job with the settings that suit the model, and those given in their places, by name.
    ///
    /// # Errors
    /// If a setting makes no sense, or the split has no validation part.
    pub fn new(
        goal: Goal,
        model: ModelChoice,
        given: &Map<String, Value>,
        split: &SplitPlan,
        confidence: Option<f64>,
    ) -> Result<Self, Failure> {
        model.check()?;
        let settings = model.settings().with(given)?;
        refuse_idle(&goal, &model, &settings, given)?;
        if !split.shares().iter().any(|(name, _)| *name == "validation") {
            return Err(Failure::input(format!(
                "‹split {split}›: no validation part; training chooses between fits on it, so give it a share"
            )));
        }
        let recorded = Map::from_iter([("split".to_owned(), json!(split.to_string()))]);
        Ok(Self { goal, model, settings, confidence, recorded })
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
    /// at most 100,000 rows with a calibration part beside, else none).
    pub(crate) fn settings(&self, loaded: &Loaded) -> Result<Settings, Failure> {
        let (rows_scored, rotations) = (Some(Self::rows_scored(loaded)), self.rotations(loaded)?);
        Ok(Settings { rows_scored, rotations, ..self.settings.clone() })
    }

    fn rotations(&self, loaded: &Loaded) -> Result<Option<usize>, Failure> {
        let calibrated = loaded.parts.calibration.is_some();
        match self.settings.rotations {
            Some(rotations) if rotations > 1 && !calibrated => Err(Failure::input(format!(
                "{rotations} rotations train on the validation rows too, and thresholds need rows that were not \
                 trained on: give the split a calibration part"
            ))),
            // Trees do not rotate: 1 keeps them from training on the validation rows in the end.
            given if given.is_some() || matches!(self.model, ModelChoice::Trees { .. }) => Ok(given),
            // Rows that belong together must not change places.
            None if loaded.parts.train.as_ref().is_some_and(|part| part.sample.entities().is_some()) => {
                Ok(Some(1))
            }
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

    /// How conditions on groups are met, where the goal has any.
    fn group_conditions_met_by(&self) -> Option<String> {
        self.goal.column()?;
        let way = match (self.settings.shared_threshold, self.settings.method) {
            (false, _) => "one threshold per group",
            (true, MethodChoice::CrossEntropy) => "one threshold for all, as far as one can meet them",
            (true, _) => "one threshold for all; group conditions met by the model (multipliers)",
        };
        Some(way.to_owned())
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
        recorded.insert("goal".to_owned(), json!(self.goal.to_string()));
        recorded.insert("data".to_owned(), json!(loaded.hash));
        recorded.insert("test".to_owned(), json!(loaded.test_hash));
        if !loaded.pooled.is_empty() {
            recorded.insert(model::POOLED.to_owned(), json!(loaded.pooled));
        }
        Ok(recorded)
    }
}

/// A trained model and all that is known of it.
pub struct Trained {
    /// The model, its candidates and the baseline.
    pub fitted: Fitted,
    /// The thresholds that ship.
    pub shipped: Shipped,
    /// The scores of each part.
    pub scores: ByPart<Option<Vec<f32>>>,
    /// The record; the seconds and the artifact's name are for the caller to add.
    pub record: TrainRecord,
    /// The model file, ready to be saved.
    pub file: ModelFile,
    /// What the stages came to, step by step; of a run that was resumed, since then.
    pub history: Vec<StageRecord>,
}

/// Refuses a `k=` that takes every row it is asked of.
fn check_top(goal: &Goal, loaded: &Loaded) -> Result<(), Failure> {
    let rows = Job::rows_scored(loaded);
    let part = if loaded.parts.test.is_some() { "test" } else { "validation" };
    for constraint in &goal.constraints {
        if let Constraint::Top(Top::Count { k, of: None }) = constraint
            && *k >= rows
        {
            return Err(Failure::input(format!(
                "k={k} takes every row of the {part} part, which has {rows}: whatever the model, precision there is \
                 the share of positives; ask for fewer, or say how many rows will be scored, as in k={k} of {}",
                k.saturating_mul(10)
            )));
        }
    }
    Ok(())
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
    check_sizes(&job.goal, &loaded.parts)?;
    check_top(&job.goal, loaded)?;
    let rows_scored = Job::rows_scored(loaded);
    let mut recorder = Recorder::new(observer);
    let fitted = fit(job, loaded, &mut recorder, store.map(|store| store as &mut dyn Checkpoints))?;
    let history = recorder.finish(&fitted.kept, fitted.rotations);
    let goal = as_fraction(&job.goal, rows_scored);
    let scores = score(&mut loaded.parts, &fitted.scorer)?;
    let shipped = choose(job, &goal.operating(), &loaded.parts, &scores)?;
    let record = measured(job, &goal, loaded, &fitted, &scores, &shipped)?;
    let probability = probability(&loaded.parts, &scores)?;
    let sketch = sketch(&loaded.parts, &scores, &shipped)?;
    let file = model::file(job, loaded, &fitted, &shipped, probability, sketch.as_ref(), &record)?;
    Ok(Trained { fitted, shipped, scores, record, file, history })
}

/// The scores of every part.
///
/// # Errors
/// If the rows are not those of the model.
pub fn score(
    parts: &mut ByPart<Option<Examples>>,
    scorer: &Scorer,
) -> Result<ByPart<Option<Vec<f32>>>, Failure> {
    let of = |part: &mut Option<Examples>| part.as_mut().map(|part| part.scores(scorer)).transpose();
    Ok(ByPart {
        train: of(&mut parts.train)?,
        validation: of(&mut parts.validation)?,
        calibration: of(&mut parts.calibration)?,
        test: of(&mut parts.test)?,
    })
}

/// Chooses the thresholds that scores ship with: those of the job's model, or of a rival's beside it.
///
/// # Errors
/// If no threshold meets the goal's conditions there.
pub fn choose(
    job: &Job,
    operating: &Goal,
    parts: &ByPart<Option<Examples>>,
    scores: &ByPart<Option<Vec<f32>>>,
) -> Result<Shipped, Failure> {
    let (validation, calibration) = held_out(parts, scores)?;
    let choose = if job.settings.shared_threshold { Shipped::choose_shared } else { Shipped::choose };
    choose(operating, validation, calibration, job.confidence)
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

/// The probabilities that scores stand for, by the calibration part, or without one by validation.
fn probability(
    parts: &ByPart<Option<Examples>>,
    scores: &ByPart<Option<Vec<f32>>>,
) -> Result<Probability, Failure> {
    let pairs = [(&parts.calibration, &scores.calibration), (&parts.validation, &scores.validation)];
    let found = pairs.into_iter().find_map(|(part, scores)| Some((part.as_ref()?, scores.as_ref()?)));
    let (part, scores) = found.ok_or_else(|| Failure::input("there is no validation part"))?;
    Ok(Probability::fit(&part.sample, scores))
}

/// The scores of the calibration part in few numbers; none without one, or where its rows come in entities.
fn sketch(
    parts: &ByPart<Option<Examples>>,
    scores: &ByPart<Option<Vec<f32>>>,
    shipped: &Shipped,
) -> Result<Option<Sketch>, Failure> {
    let (Some(part), Some(scores)) = (&parts.calibration, &scores.calibration) else { return Ok(None) };
    let margins = shipped.margins(&part.sample, scores)?;
    Ok(Sketch::of(&part.sample, scores, positive(&margins)))
}

/// Rows that are decided positive.
pub(crate) fn positive(margins: &[f32]) -> u64 {
    margins.iter().filter(|margin| **margin >= 0.0).count() as u64
}

/// Measures every part and gathers the record.
fn measured(
    job: &Job,
    goal: &Goal,
    loaded: &mut Loaded,
    fitted: &Fitted,
    scores: &ByPart<Option<Vec<f32>>>,
    shipped: &Shipped,
) -> Result<TrainRecord, Failure> {
    let operating = &goal.operating();
    let names = loaded.parts.train.as_ref().and_then(|part| part.sample.groups());
    let names =
        names.filter(|_| operating.column().is_some()).map_or(Vec::new(), |groups| groups.names().to_vec());
    let names = shipped.groups.as_ref().map_or(names, |groups| groups.names.clone());
    let base = score(&mut loaded.parts, &fitted.baseline)?;
    let samples = loaded.parts.map(|part| part.as_ref().map(|part| &part.sample));
    let shared_threshold = job.settings.shared_threshold;
    let each = |scores: &ByPart<Option<Vec<f32>>>, held_out| -> Result<ByPart<Option<f64>>, Failure> {
        let mut values = pair(&samples, scores).try_map(|pair| match pair {
            Some((sample, scores)) => {
                Ok(Judge { shared_threshold, ..Judge::new(goal, sample) }.value(scores)?)
            }
            None => Ok::<_, Failure>(None),
        })?;
        // The model may have seen the validation rows; what it was chosen by was held out.
        if fitted.used_validation {
            values.validation = held_out;
        }
        Ok(values)
    };
    let margins = pair(&samples, scores).try_map(|pair| match pair {
        Some((sample, scores)) => shipped.margins(sample, scores).map(Some),
        None => Ok(None),
    })?;
    let decided = pair(&samples, &margins);
    let (group_rates, group_rates_from) = group_rates(job, &decided, shipped)?;
    let at_threshold = decided.try_map(|pair| match pair {
        Some((sample, margins)) => measure::shipped(operating, sample, margins).map(Some),
        None => Ok::<_, Failure>(None),
    })?;
    let unmet = decided.try_map(|pair| match pair {
        Some((sample, margins)) => measure::unmet(operating, &names, sample, margins),
        None => Ok::<_, Failure>(Vec::new()),
    })?;
    let (objective, base_objective) =
        (each(scores, fitted.validation)?, each(&base, fitted.baseline_validation)?);
    let gain = gain(job, goal, fitted, &pair(&samples, scores), &base, [&objective, &base_objective]);
    let alike = alike(shipped, &at_threshold, &group_rates, group_rates_from.as_deref());
    Ok(TrainRecord {
        goal: job.goal.to_string(),
        operating: operating.to_string(),
        label: loaded.schema.label_record(),
        model: job.model.name().to_owned(),
        method: job.settings.method.to_string(),
        winner: fitted.winner.clone(),
        rotations: fitted.rotations as u64,
        seed: job.settings.seed,
        steps: fitted.evaluations,
        rows: samples.map(|sample| sample.map_or(0, |sample| sample.len() as u64)),
        columns: loaded.columns as u64,
        thresholds: shipped.thresholds.clone(),
        thresholds_from: shipped.from.to_owned(),
        groups: shipped
            .groups
            .as_ref()
            .map(|groups| GroupsRecord { column: groups.column.clone(), names: groups.names.clone() }),
        group_conditions_met_by: job.group_conditions_met_by(),
        objective,
        constraint: decided.try_map(|pair| match pair {
            Some((sample, margins)) => measure::conditions(operating, &names, sample, margins).map(Some),
            None => Ok::<_, Failure>(None),
        })?,
        constraint_names: measure::condition_names(operating, &names),
        group_rates,
        group_rates_from,
        unmet,
        shipped: at_threshold,
        certificate: shipped.certificate.clone().map(CertificateRecord::new),
        approximate: shipped.approximate.clone().map(CertificateRecord::new),
        certificate_refused: shipped.refused.clone(),
        population: shipped
            .certificate
            .as_ref()
            .and_then(|_| population::compare(operating, loaded, scores, fitted.used_validation)),
        copies: loaded.copies.clone(),
        baseline: BaselineRecord {
            method: "cross-entropy".to_owned(),
            name: fitted.baseline_name.clone(),
            objective: base_objective,
        },
        gain,
        candidates: fitted.candidates.clone(),
        recipe: fitted.recipe.clone(),
        used_validation: fitted.used_validation,
        data_hash: loaded.hash.clone(),
        notes: loaded.notes.iter().chain(&fitted.notes).chain(&alike).cloned().collect(),
        seconds: Seconds::default(),
        artifact: String::new(),
    })
}

/// The gain over the baseline, on the last part that has one: the later the part, the less it chose.
fn gain(
    job: &Job,
    goal: &Goal,
    fitted: &Fitted,
    ours: &ByPart<Option<(&Sample, &[f32])>>,
    base: &ByPart<Option<Vec<f32>>>,
    [values, base_values]: [&ByPart<Option<f64>>; 2],
) -> Option<GainRecord> {
    let value = |part: &str| Some((values.get(part).copied()??, base_values.get(part).copied()??));
    let parts = ["test", "calibration", "validation"];
    let (part, (own, other)) = parts.iter().find_map(|part| Some((*part, value(part)?)))?;
    let measurer = Measurer { confidence: job.confidence.unwrap_or(0.95) };
    let (sample, scores) = (*ours.get(part)?)?;
    let base = base.get(part)?.as_deref()?;
    let down = goal.objective.direction() == Direction::Down;
    let (difference, first, second) =
        if down { (other - own, base, scores) } else { (own - other, scores, base) };
    let interval = measurer.difference(goal, job.settings.shared_threshold, sample, first, second);
    let same = difference == 0.0 && (fitted.fell_back || fitted.winner == fitted.baseline_name);
    Some(GainRecord::new(part, difference, interval, same))
}

/// What to say where the thresholds decide all rows alike, of the part they were chosen on, or of a group.
fn alike(
    shipped: &Shipped,
    at_threshold: &ByPart<Option<setpoint_report::Shipped>>,
    groups: &[GroupRecord],
    groups_from: Option<&str>,
) -> Vec<String> {
    let rows = |part: &str| format!("the {part} rows");
    let whole = at_threshold.get(shipped.from).and_then(Option::as_ref).map(|shipped| shipped.confusion);
    let Some(whole) = whole else { return Vec::new() };
    match decided_alike(&rows(shipped.from), &whole, &[]) {
        none if none.is_empty() && shipped.groups.is_some() => groups_from
            .and_then(|part| Some((part, at_threshold.get(part)?.as_ref()?.confusion)))
            .map_or(none, |(part, whole)| decided_alike(&rows(part), &whole, groups)),
        found => found,
    }
}

/// The rates within each group on the last held-out part that there is, and the name of that part.
fn group_rates(
    job: &Job,
    decided: &ByPart<Option<(&Sample, &[f32])>>,
    shipped: &Shipped,
) -> Result<(Vec<GroupRecord>, Option<String>), Failure> {
    let grouped = |(name, pair): (&'static str, &Option<(_, _)>)| {
        let (sample, margins): (&Sample, &[f32]) = (*pair)?;
        sample.groups().map(|_| (name, sample, margins))
    };
    let Some((name, sample, margins)) = decided.iter().filter_map(grouped).last() else {
        return Ok((Vec::new(), None));
    };
    let measurer = Measurer { confidence: job.confidence.unwrap_or(0.95) };
    Ok((measurer.groups(shipped, sample, margins, &SHARES)?, Some(name.to_owned())))
}

/// Each part's sample beside its scores.
fn pair<'a>(
    samples: &ByPart<Option<&'a Sample>>,
    scores: &'a ByPart<Option<Vec<f32>>>,
) -> ByPart<Option<(&'a Sample, &'a [f32])>> {
    let of =
        |sample: &Option<&'a Sample>, scores: &'a Option<Vec<f32>>| Some(((*sample)?, scores.as_deref()?));
    ByPart {
        train: of(&samples.train, &scores.train),
        validation: of(&samples.validation, &scores.validation),
        calibration: of(&samples.calibration, &scores.calibration),
        test: of(&samples.test, &scores.test),
    }
}
