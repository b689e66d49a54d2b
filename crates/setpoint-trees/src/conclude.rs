//! From the boosters of a search to one model for one goal.
//!
//! Rounds and booster are chosen on validation by the goal's own metric: the baseline. What is made of
//! it beyond that is up to the method; `auto`'s steps are in `improve`.

use setpoint::Sample;
use setpoint::goal::AnyGoal;
use setpoint::train::{Gain, MethodChoice, Observer, Silent, TrainError};

use crate::ensemble::Ensemble;
use crate::error::TreesError;
use crate::features::Data;
use crate::rank;
use crate::recipe::{Chosen, ranked};
use crate::session::{Searched, Session};
use crate::settings::Settings;
use crate::store::Store;

/// A booster as the goal chose it.
#[derive(Clone, Debug, PartialEq)]
pub struct BoosterCandidate {
    /// What was grown.
    pub name: String,
    /// The goal's value on validation at the best rounds; `None` where its conditions cannot be met.
    pub validation: Option<f64>,
    /// The best rounds.
    pub rounds: usize,
}

/// Something that was tried on the way to the model.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// What.
    pub name: String,
    /// What it gained on validation rows that it had not used; `None` where that could not be measured.
    pub gain: Option<Gain>,
    /// Whether it was taken.
    pub taken: bool,
}

/// Trained trees and how they came about.
#[derive(Clone, Debug, PartialEq)]
pub struct TreesFit {
    /// The model.
    pub ensemble: Ensemble,
    /// What it is.
    pub winner: String,
    /// The goal's value on validation, before any retraining. With a head, which is fitted there, the
    /// mean over two halves of its value on the half that it was not fitted on.
    pub validation: Option<f64>,
    /// The best single booster for log loss: the baseline.
    pub baseline: Ensemble,
    /// How the baseline was chosen.
    pub baseline_candidate: BoosterCandidate,
    /// Every booster of the search, then ico's.
    pub candidates: Vec<BoosterCandidate>,
    /// The gain over the baseline on validation rows, before any retraining. For `auto` what is compared
    /// is chosen on one half of them and judged on the other, so the best of many is not flattered.
    pub gain: Option<Gain>,
    /// What was tried after the search.
    pub steps: Vec<Step>,
    /// Whether validation rows were used to fit the model: its thresholds must then come from others.
    pub used_validation: bool,
    /// Which boosters of the search, or ico's after them, it is made of.
    pub kept: Vec<usize>,
    /// The scores of the validation rows by boosters that had not seen them: shifts of several classes are found on these.
    /// Before head and retraining; where a condition is on a coverage and boosters were retrained, by such as were
    /// retrained with the other half of validation.
    pub held_out: Vec<f32>,
}

/// Trains trees for a goal, of two classes or of several; the samples of several are
/// [`Sample::of_classes`](setpoint::Sample::of_classes), those of a goal per query
/// [`Sample::of_queries`](setpoint::Sample::of_queries).
///
/// Deterministic: the same arguments give the same bytes, for any number of threads, and after a
/// resume from `store`.
///
/// # Errors
/// If LightGBM is not there or refuses, the goal does not fit or cannot be met, a setting makes no
/// sense, the observer stops the run, or a checkpoint cannot be written.
pub fn fit<'r, G: Clone + Into<AnyGoal>>(
    goal: &G,
    train: Data<'r>,
    validation: Data<'r>,
    settings: &'r Settings,
    observer: &'r mut (dyn Observer + 'r),
    store: Option<&'r mut (dyn Store + 'r)>,
) -> Result<TreesFit, TreesError> {
    let sorted = rank::in_order(&train)?;
    let train = match &sorted {
        Some((rows, sample)) => Data { features: rows.view(), sample, ..train },
        None => train,
    };
    let mut session = Session::new(train, validation, settings, observer, store.map(|store| store as _))?;
    let searched = session.search(std::slice::from_ref(goal))?;
    session.conclude(goal, &searched)
}

/// Makes a model for a goal of boosters that were grown elsewhere, by their looks at the rows of `validation`.
///
/// # Errors
/// If there is none, the goal does not fit or cannot be met, or the method needs more boosters.
pub fn conclude<G: Clone + Into<AnyGoal>>(
    goal: &G,
    searched: &[Searched],
    validation: &Sample,
    settings: &Settings,
) -> Result<TreesFit, TreesError> {
    let columns = searched.first().map_or(1, |first| first.ensemble.columns());
    let mut observer = Silent;
    Session::of_boosters(validation, columns, settings, &mut observer)?.conclude(goal, searched)
}

impl Session<'_> {
    /// Makes a model for one goal of the boosters of a search, by the settings' method.
    ///
    /// # Errors
    /// As [`fit`].
    pub fn conclude<G: Clone + Into<AnyGoal>>(
        &mut self,
        goal: &G,
        searched: &[Searched],
    ) -> Result<TreesFit, TreesError> {
        let purpose = &self.fraction(goal.clone().into());
        let judge = self.referee(purpose);
        let chosen: Vec<Chosen<'_>> =
            searched.iter().map(|searched| Chosen::new(searched, &judge, None)).collect::<Result<_, _>>()?;
        let order = ranked(&chosen);
        let Some(baseline) = order.first() else {
            // Says which condition is missed, and by how much.
            let first = chosen.first().map_or(&[][..], |chosen| chosen.scores);
            return Err(judge.exact(first).err().map_or_else(
                || TreesError::Shape { found: "no booster".into(), expected: "those of a search" },
                Into::into,
            ));
        };
        let mut fit = TreesFit {
            ensemble: baseline.ensemble(),
            winner: baseline.candidate.name.clone(),
            validation: baseline.candidate.validation,
            baseline: baseline.ensemble(),
            baseline_candidate: baseline.candidate.clone(),
            candidates: chosen.iter().map(|chosen| chosen.candidate.clone()).collect(),
            gain: Some(Gain { difference: 0.0, standard_error: Some(0.0) }),
            steps: Vec::new(),
            used_validation: false,
            kept: chosen.iter().position(|chosen| std::ptr::eq(chosen, *baseline)).into_iter().collect(),
            held_out: baseline.scores.to_vec(),
        };
        match (self.settings.method, purpose) {
            (MethodChoice::Ico, AnyGoal::Queries(goal)) => {
                self.add_query_rounds(goal, &judge, baseline.searched.parameters, &mut fit)?;
            }
            (MethodChoice::Ico, AnyGoal::Classes(_)) => {
                let expected = "auto or cross-entropy for trees of several classes";
                return Err(TrainError::Setting { what: "method", found: "ico".into(), expected }.into());
            }
            (MethodChoice::Ico, AnyGoal::Two(goal)) => {
                let ico = self.grow_ico(goal, baseline.searched)?;
                let ico = Chosen::new(&ico, &judge, None)?;
                fit.gain = judge.gain(ico.scores, baseline.scores)?;
                fit.ensemble = ico.ensemble();
                fit.winner.clone_from(&ico.candidate.name);
                fit.validation = ico.candidate.validation;
                fit.kept = vec![fit.candidates.len()];
                fit.candidates.push(ico.candidate);
            }
            (MethodChoice::Auto, _) => self.improve(&judge, searched, &order, &mut fit)?,
            _ => {}
        }
        Ok(fit)
    }
}
