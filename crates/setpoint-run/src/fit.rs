//! Fitting a model of any kind to the train part, chosen on the validation part.

use std::sync::Arc;
use std::time::Instant;

use setpoint::goal::AnyGoal;
use setpoint::train::{Fit, Observer, Settings, Store, fit as fit_two, fit_classes, fit_queries};
use setpoint_report::{CandidateRecord, RecipeRecord};
use setpoint_trees::{Data, Parameters, TreesFit};

use crate::blueprint::{Blueprint, Held};
use crate::choice::{ModelChoice, searched};
use crate::examples::Loaded;
use crate::failure::Failure;
use crate::kind::goal_of;
use crate::scorer::Scorer;
use crate::train::Job;

/// The share of the time that is left which a search of boosters may take; what it chose is grown again then.
const SEARCHING: f64 = 0.6;

/// Most rounds of a booster that grows elsewhere, by default: none ends early there.
const ROUNDS_ELSEWHERE: usize = 200;

/// Where a run keeps its checkpoints, whatever the kind of model.
pub trait Checkpoints: Store + setpoint_trees::Store {}

impl<T: Store + setpoint_trees::Store> Checkpoints for T {}

/// What training came to, for any kind of model.
pub struct Fitted {
    /// The model.
    pub scorer: Scorer,
    /// What it is: the name of a candidate, or of the candidates averaged.
    pub winner: String,
    /// The goal's value on validation; where the model has seen those rows, before it did.
    pub validation: Option<f64>,
    /// Whether it has.
    pub used_validation: bool,
    /// Cross-entropy beside it.
    pub baseline: Scorer,
    /// What that is.
    pub baseline_name: String,
    /// Its value on validation.
    pub baseline_validation: Option<f64>,
    /// Everything that was fitted, in order.
    pub candidates: Vec<CandidateRecord>,
    /// What was tried with the candidates then.
    pub recipe: Vec<RecipeRecord>,
    /// Whether it is the baseline itself, which nothing beat.
    pub fell_back: bool,
    /// Gradient evaluations over all stages.
    pub evaluations: u64,
    /// Walks over the training rows that answered them, where stages learn from all rows at once.
    pub passes: Option<u64>,
    /// How many rotations of the rows it is the average of.
    pub rotations: usize,
    /// Which stages it is made of.
    pub kept: Vec<usize>,
    /// What the user should know, in sentences.
    pub notes: Vec<String>,
    /// The scores of the validation rows by what had not seen them, where the model has.
    pub held_out: Option<Vec<f32>>,
}

/// Fits a model.
///
/// # Errors
/// If the goal cannot be met, the observer stops the run, or the data does not suit the goal.
pub fn fit<'r>(
    job: &Job,
    loaded: &'r mut Loaded,
    observer: &'r mut (dyn Observer + 'r),
    store: Option<&'r mut (dyn Checkpoints + 'r)>,
) -> Result<Fitted, Failure> {
    let (goal, settings) = (goal_of(job, loaded)?, job.settings(loaded)?);
    let calibrated = loaded.parts.calibration.is_some();
    let (Some(train), Some(validation)) = (&mut loaded.parts.train, &mut loaded.parts.validation) else {
        return Err(Failure::input("training needs a train part and a validation part"));
    };
    if let (Held::Rows(rows), Held::Rows(held_out), Blueprint::Trees { categorical }) =
        (&train.held, &validation.held, &loaded.blueprint)
    {
        let train = Data { features: rows.view(), sample: &train.sample, categorical };
        let validation = Data { features: held_out.view(), sample: &validation.sample, categorical };
        let size = (rows.view().rows(), rows.view().columns());
        // Rows that trained the model cannot choose its threshold; queries have none.
        let retrains = calibrated || matches!(goal, AnyGoal::Queries(_));
        let settings = tree_settings(job, &settings, retrains, size);
        let store = store.map(|store| store as &mut dyn setpoint_trees::Store);
        let rounds = settings.rounds;
        let fit = setpoint_trees::fit(&goal, train, validation, &settings, observer, store)?;
        return Ok(Fitted::of_trees(fit, rounds));
    }
    if let (Held::Elsewhere(rows), Held::Elsewhere(held_out)) = (&train.held, &validation.held) {
        let mut settings = tree_settings(job, &settings, calibrated, (rows.rows(), loaded.columns));
        if !matches!(job.model, ModelChoice::Trees { rounds: Some(_), .. }) {
            settings.rounds = ROUNDS_ELSEWHERE;
        }
        let fit = rows.fit(&goal, (held_out, &validation.sample), &settings, observer)?;
        return Ok(Fitted::of_trees(fit, settings.rounds));
    }
    let (Some(train), Some(held_out)) = (train.part(), validation.part()) else {
        return Err(Failure::input("the parts were made for different kinds of model"));
    };
    let store = store.map(|store| store as &mut dyn Store);
    let fit = match &goal {
        AnyGoal::Two(goal) => fit_two(goal, train, held_out, &settings, observer, store),
        AnyGoal::Classes(goal) => fit_classes(goal, train, held_out, &settings, observer, store),
        AnyGoal::Queries(goal) => fit_queries(goal, train, held_out, &settings, observer, store),
    }?;
    let held_out = fit.first.clone().map(|first| validation.scores(&Scorer::Model(first))).transpose()?;
    let held_out = held_out.map(Arc::unwrap_or_clone);
    Ok(Fitted { held_out, ..Fitted::of_model(fit) })
}

fn tree_settings(
    job: &Job,
    settings: &Settings,
    retrains: bool,
    (rows, columns): (usize, usize),
) -> setpoint_trees::Settings {
    let default = setpoint_trees::Settings::default();
    let (search, rounds) = match job.model {
        ModelChoice::Trees { search, rounds } => (search, rounds),
        _ => (None, None),
    };
    let search = search.unwrap_or_else(|| searched(rows, columns));
    setpoint_trees::Settings {
        method: settings.method,
        configurations: Parameters::search(search, settings.seed),
        rounds: rounds.unwrap_or(default.rounds),
        retrain: retrains && job.settings.rotations != Some(1),
        bandwidth: settings.bandwidth,
        shared_threshold: settings.shared_threshold,
        rows_scored: settings.rows_scored,
        seed: settings.seed,
        until: job.until.map(|until| {
            let now = Instant::now();
            now + until.saturating_duration_since(now).mul_f64(SEARCHING)
        }),
        ..default
    }
}

impl Fitted {
    fn of_model(fit: Fit) -> Self {
        Self {
            scorer: Scorer::Model(fit.combined),
            winner: fit.winner,
            validation: fit.validation,
            used_validation: fit.rotations > 1,
            baseline: Scorer::Model(fit.baseline.combined),
            baseline_name: fit.baseline.name,
            baseline_validation: fit.baseline.validation,
            candidates: fit
                .candidates
                .into_iter()
                .map(|candidate| CandidateRecord {
                    name: candidate.name,
                    validation: candidate.validation,
                    step: candidate.step,
                    evaluations: candidate.evaluations,
                })
                .collect(),
            recipe: Vec::new(),
            fell_back: fit.fell_back,
            evaluations: fit.evaluations,
            passes: (fit.passes > 0).then_some(fit.passes),
            rotations: fit.rotations,
            kept: fit.kept,
            notes: Vec::new(),
            held_out: None,
        }
    }

    /// `most` is how many rounds a booster had at the most.
    fn of_trees(fit: TreesFit, most: usize) -> Self {
        let more = format!(
            "the best booster was still improving after {most} rounds: ‹rounds {}› may do better",
            3 * most
        );
        let notes = if fit.baseline_candidate.rounds >= most { vec![more] } else { Vec::new() };
        let candidates: Vec<CandidateRecord> = fit
            .candidates
            .into_iter()
            .map(|candidate| CandidateRecord {
                name: candidate.name,
                validation: candidate.validation,
                step: candidate.rounds as u64,
                evaluations: candidate.rounds as u64,
            })
            .collect();
        let recipe = fit.steps.into_iter().map(|step| RecipeRecord {
            name: step.name,
            gain: step.gain.map(|gain| gain.difference),
            standard_error: step.gain.and_then(|gain| gain.standard_error),
            taken: step.taken,
        });
        Self {
            scorer: Scorer::Trees(fit.ensemble),
            winner: fit.winner,
            validation: fit.validation,
            used_validation: fit.used_validation,
            baseline: Scorer::Trees(fit.baseline),
            baseline_name: fit.baseline_candidate.name,
            baseline_validation: fit.baseline_candidate.validation,
            evaluations: candidates.iter().map(|candidate| candidate.evaluations).sum(),
            passes: None,
            candidates,
            recipe: recipe.collect(),
            fell_back: false,
            rotations: 1,
            kept: fit.kept,
            notes,
            held_out: fit.used_validation.then_some(fit.held_out),
        }
    }
}
