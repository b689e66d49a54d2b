//! Kinds of decisions. What differs between them is here; the pipeline knows no more of a kind than this.
//!
//! | decision | goal | what ships |
//! |---|---|---|
//! | positive / negative | [`Goal`](setpoint::Goal) | thresholds: [`ByThreshold`] |
//! | positive / left to people / negative | [`Goal`](setpoint::Goal) of coverage | two thresholds: [`ByBand`] |
//! | one of several classes | [`ClassGoal`](setpoint::goal::ClassGoal) | a shift for each class: [`ByShift`] |
//! | a place within a query | [`QueryGoal`](setpoint::goal::QueryGoal) | the order of the scores: [`ByPlace`] |
//!
//! A [`Kind`] is a goal tied to a run: it says what scores are worth, and chooses what ships. That is a
//! [`Decision`], which measures, describes and stores itself.

mod band;
mod classes;
mod queries;
mod threshold;

pub use band::ByBand;
pub use classes::ByShift;
pub(crate) use classes::DECIDED;
pub use queries::ByPlace;
pub use threshold::ByThreshold;
pub(crate) use threshold::{PROBABILITY, SKETCH, positive};

use setpoint::Sample;
use setpoint::artifact::ModelFile;
use setpoint::certify::Certificate;
use setpoint::certify::monitor::{Certified, Known};
use setpoint::goal::{AnyGoal, ClassGoal, ClassObjective, Direction, Goal, GoalText};
use setpoint::metric::Rows;
use setpoint::train::selection::as_fraction;
use setpoint_data::{Codes, cost_table};
use setpoint_report::{
    Bounds, ByPart, EvaluateRecord, Measured as Rate, RecertifyRecord, ReportRecord, TrainRecord,
};

use crate::examples::Loaded;
use crate::failure::Failure;
use crate::operate::Meant;
use crate::report::Scene;
use crate::threshold::Scored;
use crate::train::Job;

/// A goal of some kind, tied to a run.
pub(crate) trait Kind {
    /// Which way its value gets better.
    fn direction(&self) -> Direction;

    /// What the baseline is called.
    fn baseline(&self) -> &'static str {
        "cross-entropy"
    }

    /// Refuses parts on which the goal makes no sense.
    fn check(&self, loaded: &Loaded) -> Result<(), Failure>;

    /// The best value that the conditions allow of these scores; `None` where there is none.
    fn value(&self, sample: &Sample, scores: &[f32]) -> Result<Option<f64>, Failure>;

    /// The interval of the difference in value between two vectors of scores, `first` less `second`.
    fn difference(&self, sample: &Sample, first: &[f32], second: &[f32], confidence: f64) -> Option<Bounds>;

    /// Chooses what ships, certified on the calibration part where that can be; with the probabilities that
    /// scores stand for there.
    fn choose(
        &self,
        validation: Scored<'_>,
        calibration: Option<Scored<'_>>,
        confidence: Option<f64>,
        seed: u64,
    ) -> Result<Decision, Failure>;
}

/// The kind of a job's goal, on data that is loaded.
pub(crate) fn kind_of(job: &Job, loaded: &Loaded) -> Result<Box<dyn Kind>, Failure> {
    Ok(match goal_of(job, loaded)? {
        AnyGoal::Two(goal) => Box::new(threshold::Aim {
            goal: as_fraction(&goal, Job::rows_scored(loaded)),
            asked: goal,
            shared_threshold: job.settings.shared_threshold,
        }),
        AnyGoal::Classes(goal) => Box::new(classes::Aim { goal }),
        AnyGoal::Queries(goal) => {
            Box::new(queries::Aim { goal, empty: job.empty_queries, at_least: job.at_least })
        }
    })
}

/// The goal of a job for the labels that were loaded, with the costs that it names.
pub(crate) fn goal_of(job: &Job, loaded: &Loaded) -> Result<AnyGoal, Failure> {
    match loaded.classes() {
        Some(classes) => class_goal(&job.goal, classes).map(AnyGoal::Classes),
        None => Ok(job.goal.of(None)?),
    }
}

/// The goal that a text is for a label with these classes, with the costs that it names.
///
/// # Errors
/// If it is none, or the file of costs cannot be read.
pub fn class_goal(text: &GoalText, classes: &[String]) -> Result<ClassGoal, Failure> {
    let AnyGoal::Classes(goal) = text.of(Some(classes))? else {
        return Err(Failure::input(format!("{text} is no goal of several classes")));
    };
    let ClassObjective::Cost { file, .. } = &goal.objective else { return Ok(goal) };
    let costs = cost_table(file.as_ref(), classes).map_err(Failure::input)?;
    goal.with_costs(costs).map_err(Failure::input)
}

/// What a model decides by, and the goal that it was chosen for.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// One score against thresholds: positive or negative.
    Threshold(ByThreshold),
    /// One score against two thresholds: positive, negative, or left to people.
    Band(ByBand),
    /// The largest of score minus shift: one of several classes.
    Shift(ByShift),
    /// The order of the scores: a place within its query.
    Place(ByPlace),
}

/// What is made of scores.
#[derive(Clone, Debug, PartialEq)]
pub struct Predicted {
    /// Scores, each with its name and a value for each row.
    pub scores: Vec<(String, Vec<f32>)>,
    /// Probabilities, in the same way; none in files of earlier versions.
    pub probabilities: Vec<(String, Vec<f32>)>,
    /// The decisions.
    pub decisions: Decisions,
    /// What to know of the rows.
    pub notes: Vec<String>,
}

/// A decision for each row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decisions {
    /// True for positive.
    Positive(Vec<bool>),
    /// The same, but for rows that are left undecided.
    Some(Vec<Option<bool>>),
    /// A class.
    Class {
        /// The classes.
        names: Vec<String>,
        /// For each row an index into them.
        of: Vec<u32>,
    },
    /// A place within the query.
    Place {
        /// From 1.
        places: Vec<u32>,
        /// True for the first ones, as many as the goal looks at; `None` where it looks at all.
        first: Option<Vec<bool>>,
    },
}

/// What a decision does once it is chosen.
pub(crate) trait Rule {
    /// The part that it was chosen on.
    fn from(&self) -> &'static str;

    /// Whether measuring it takes cross-entropy's scores too.
    fn compares(&self) -> bool {
        false
    }

    /// What held-out rows prove of it.
    fn certificate(&self) -> Option<&Certificate>;

    /// Completes the record of a training run: what ships and what it comes to on each part.
    fn describe(&self, run: &Measured<'_>, record: &mut TrainRecord) -> Result<(), Failure>;

    /// Puts itself into a model file, in the place of what was there.
    fn store(&self, file: &mut ModelFile) -> Result<(), Failure>;

    /// Numbers of a training run that travel with the model, for a part.
    fn metrics(&self, record: &TrainRecord, part: &str) -> Vec<(String, f64)>;

    /// Brings labelled rows of another file to what was trained on; with what to know of them.
    fn as_trained(
        &self,
        pooled: Option<&[&str]>,
        sample: &Sample,
    ) -> Result<(Sample, Option<String>), Failure>;

    /// Measures scores and the decisions on them, as far as it can without all rows in memory; with those of cross-entropy beside, where they are known.
    fn measure(
        &self,
        text: &str,
        rows: &dyn Rows,
        base: Option<&[f32]>,
        confidence: f64,
    ) -> Result<EvaluateRecord, Failure>;

    /// Decides rows; `groups` are theirs where thresholds are by group, or their queries.
    fn predict(
        &self,
        scores: &[f32],
        groups: Option<&Codes>,
        pooled: Option<&[&str]>,
    ) -> Result<Predicted, Failure>;

    /// Completes a report: the goal in words, pictures, the comparison with cross-entropy, cautions.
    fn show(&self, scene: &Scene<'_>, record: &mut ReportRecord) -> Result<(), Failure>;

    /// Rates of the decisions on some rows, for comparisons.
    fn rates(&self, sample: &Sample, scores: &[f32], confidence: f64) -> Result<Vec<Rate>, Failure>;

    /// What labelled rows are watched for.
    fn certified(&self) -> Option<Certified<'_>>;

    /// What rows without labels are held against; none in files of earlier versions, or where rows come in entities.
    fn known(&self) -> Option<Vec<Known>>;

    /// The same of new rows; `groups` are theirs where thresholds are by group.
    fn seen(&self, scores: &[f32], groups: Option<&Codes>) -> Result<Vec<Vec<u64>>, Failure>;

    /// What one of those shares is, and the score it is about.
    fn hint(&self, known: usize, place: usize) -> (String, Option<f32>);

    /// What ships from labelled rows on, certified on them, and what changed.
    fn recertify(
        &self,
        sample: &Sample,
        scores: &[f32],
        meant: &Meant,
        confidence: f64,
    ) -> Result<(Decision, RecertifyRecord), Failure>;
}

/// The scores of a training run's parts.
pub(crate) struct Measured<'a> {
    pub(crate) job: &'a Job,
    pub(crate) loaded: &'a Loaded,
    pub(crate) samples: ByPart<Option<&'a Sample>>,
    pub(crate) scores: &'a ByPart<Option<Vec<f32>>>,
    /// Those of cross-entropy.
    pub(crate) base: &'a ByPart<Option<Vec<f32>>>,
    pub(crate) used_validation: bool,
}

impl Measured<'_> {
    /// Each part's sample beside scores of it.
    pub(crate) fn pair<'s>(
        &'s self,
        scores: &'s ByPart<Option<Vec<f32>>>,
    ) -> ByPart<Option<(&'s Sample, &'s [f32])>> {
        paired(&self.samples, scores)
    }
}

/// Each part's sample beside scores of it.
pub(crate) fn paired<'s>(
    samples: &'s ByPart<Option<&'s Sample>>,
    scores: &'s ByPart<Option<Vec<f32>>>,
) -> ByPart<Option<(&'s Sample, &'s [f32])>> {
    samples.zip(scores).map(|(sample, scores)| Some(((**sample)?, scores.as_deref()?)))
}

impl Decision {
    /// The only place that tells the kinds apart.
    pub(crate) fn rule(&self) -> &dyn Rule {
        match self {
            Self::Threshold(decision) => decision,
            Self::Band(decision) => decision,
            Self::Shift(decision) => decision,
            Self::Place(decision) => decision,
        }
    }

    /// The goal that it was chosen for, of any rows.
    pub(crate) fn kind(&self) -> Box<dyn Kind> {
        let aim = |goal: &Goal, shared_threshold: bool| threshold::Aim {
            asked: goal.clone(),
            goal: goal.clone(),
            shared_threshold,
        };
        match self {
            Self::Threshold(decision) => Box::new(aim(&decision.goal, decision.shared_threshold)),
            Self::Band(decision) => Box::new(aim(&decision.goal, false)),
            Self::Shift(decision) => Box::new(classes::Aim { goal: decision.goal.clone() }),
            Self::Place(ByPlace { goal, empty, .. }) => {
                Box::new(queries::Aim { goal: *goal, empty: *empty, at_least: None })
            }
        }
    }

    /// The thresholds of one score.
    ///
    /// # Errors
    /// If something else decides.
    pub fn threshold(&self) -> Result<&ByThreshold, Failure> {
        match self {
            Self::Threshold(decision) => Ok(decision),
            Self::Band(_) => Err(Failure::input(
                "the model leaves rows between two thresholds undecided: this is for models of one threshold",
            )),
            Self::Shift(_) => Err(Failure::input(
                "the model decides among several classes: this is for models of one score and a threshold",
            )),
            Self::Place(_) => Err(Failure::input(
                "the model puts the rows of each query in order: this is for models of one score and a threshold",
            )),
        }
    }

    /// What held-out rows prove of it.
    #[must_use]
    pub fn certificate(&self) -> Option<&Certificate> {
        self.rule().certificate()
    }

    /// How many scores a row has.
    #[must_use]
    pub fn outputs(&self) -> usize {
        match self {
            Self::Threshold(_) | Self::Band(_) | Self::Place(_) => 1,
            Self::Shift(decision) => decision.goal.classes.len(),
        }
    }
}
