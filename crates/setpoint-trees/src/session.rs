//! A run under way: rows binned once, boosters grown, watched and kept.

use setpoint::Sample;
use setpoint::goal::{AnyGoal, Goal, QueryGoal};
use setpoint::rank::Queries;
use setpoint::train::selection::as_fraction;
use setpoint::train::{MethodChoice, Observer, TrainError};

use crate::ensemble::Ensemble;
use crate::error::TreesError;
use crate::features::{Data, FeatureView};
use crate::grow::{Growth, Look, dataset, looks};
use crate::ico::{Derivatives, Mixture};
use crate::judge::Promise;
use crate::library::{Dataset, Library};
use crate::parameters::Parameters;
use crate::purpose::Referee;
use crate::rank::{self, QueryRounds};
use crate::settings::Settings;
use crate::side_by_side::{Tell, grow_all};
use crate::store::{Finished, Store};
use crate::watched::{Grown, Watched};

/// Most train rows for boosters to grow side by side: each holds scores and gradients of all rows.
const SIDE_BY_SIDE: usize = 1_000_000;
/// Fewer values than these are not worth sharing out among the threads of a booster.
const FEW_VALUES: usize = 500_000;

/// A booster of a search, with what it says about the validation rows as it grew.
#[derive(Clone, Debug, PartialEq)]
pub struct Searched {
    /// What it was asked for.
    pub parameters: Parameters,
    /// What it is called.
    pub name: String,
    /// All its trees.
    pub ensemble: Ensemble,
    /// The validation rows' scores every few rounds; never empty.
    pub looks: Vec<Look>,
    /// Its seed.
    pub seed: u64,
    /// The goal per query that it was grown for and LightGBM's objective, if it is one of queries.
    pub objective: Option<(QueryGoal, String)>,
    /// What the looks promised each goal that it was watched for, where it was grown in this run.
    pub promises: Vec<(AnyGoal, Vec<Promise>)>,
}

impl Searched {
    /// What its looks promised a goal, if they were asked.
    #[must_use]
    pub fn promised(&self, goal: &AnyGoal) -> Option<&[Promise]> {
        self.promises.iter().find(|(of, _)| of == goal).map(|(_, promises)| promises.as_slice())
    }
}

/// Rows, settings and boosters that several goals may share.
///
/// [`search`](Self::search) grows the boosters once; [`conclude`](Self::conclude) makes a model for
/// one goal of them, and grows what that takes beside.
pub struct Session<'r> {
    pub(crate) train: Data<'r>,
    pub(crate) validation: Data<'r>,
    pub(crate) settings: &'r Settings,
    pub(crate) observer: &'r mut (dyn Observer + 'r),
    pub(crate) shelf: Shelf<'r>,
    train_bins: Option<Dataset<'static>>,
    /// Train and validation rows together.
    pub(crate) all: Option<(Dataset<'static>, Sample)>,
    pub(crate) stage: usize,
    pub(crate) stages: usize,
}

/// A booster to be grown.
struct Wanted {
    name: String,
    /// LightGBM's objective, where it is one of queries.
    objective: Option<String>,
    parameters: Parameters,
    seed: u64,
}

impl Wanted {
    fn key(&self) -> String {
        format!("seed {}: {}", self.seed, self.name)
    }
}

/// What boosters are grown on.
#[derive(Clone, Copy)]
enum Pull<'p> {
    /// LightGBM's own objective.
    Own,
    /// Log loss mixed with the gradient of a goal.
    Mixed(&'p Goal),
    /// The gradient of a goal per query, after trees that gave these scores.
    Queries { goal: &'p QueryGoal, train: &'p [f32], held_out: &'p [f32] },
}

impl<'p> Pull<'p> {
    fn held_out(self) -> Option<&'p [f32]> {
        match self {
            Self::Queries { held_out, .. } => Some(held_out),
            Self::Own | Self::Mixed(_) => None,
        }
    }
}

/// Boosters that are grown, kept by name.
pub(crate) struct Shelf<'r> {
    done: Vec<Finished>,
    store: Option<&'r mut (dyn Store + 'r)>,
}

impl Shelf<'_> {
    pub(crate) fn find(&self, name: &str) -> Option<Ensemble> {
        self.done.iter().find(|done| done.name == name).map(|done| done.ensemble.clone())
    }

    pub(crate) fn put(&mut self, name: &str, ensemble: &Ensemble) -> Result<(), TreesError> {
        self.done.retain(|done| done.name != name);
        self.done.push(Finished { name: name.to_owned(), ensemble: ensemble.clone() });
        let Some(store) = &mut self.store else { return Ok(()) };
        Ok(store.save(&self.done).map_err(|message| TrainError::Checkpoint { message })?)
    }
}

impl<'r> Session<'r> {
    /// A run over these rows; goes on from what the store holds.
    ///
    /// # Errors
    /// If a setting makes no sense, or rows, labels and columns do not fit together.
    pub fn new(
        train: Data<'r>,
        validation: Data<'r>,
        settings: &'r Settings,
        observer: &'r mut (dyn Observer + 'r),
        mut store: Option<&'r mut (dyn Store + 'r)>,
    ) -> Result<Self, TreesError> {
        settings.check()?;
        train.check()?;
        validation.check()?;
        if train.features.columns() != validation.features.columns() {
            return Err(TreesError::Shape {
                found: format!(
                    "{} columns to train on, {} to validate on",
                    train.features.columns(),
                    validation.features.columns()
                ),
                expected: "the same number in every split",
            });
        }
        let done = store.as_mut().map(|store| store.load()).unwrap_or_default();
        Ok(Self {
            train,
            validation,
            settings,
            observer,
            shelf: Shelf { done, store },
            train_bins: None,
            all: None,
            stage: 0,
            stages: settings.configurations.len(),
        })
    }

    /// Boosters alone, that were grown elsewhere and looked at the rows of this sample: all that can be made of them
    /// without growing more.
    pub(crate) fn of_boosters(
        validation: &'r Sample,
        columns: usize,
        settings: &'r Settings,
        observer: &'r mut (dyn Observer + 'r),
    ) -> Result<Self, TreesError> {
        settings.check()?;
        if settings.method == MethodChoice::Ico || settings.retrain {
            let expected = "auto or cross-entropy for trees that were grown elsewhere, without retraining";
            let found = settings.method.to_string();
            return Err(TrainError::Setting { what: "method", found, expected }.into());
        }
        let none = Data { features: FeatureView::none(columns), sample: validation, categorical: &[] };
        let shelf = Shelf { done: Vec::new(), store: None };
        Ok(Self {
            train: none,
            validation: none,
            settings,
            observer,
            shelf,
            train_bins: None,
            all: None,
            stage: 0,
            stages: 0,
        })
    }

    /// Grows a booster for log loss from each configuration, or for LightGBM's objectives of queries.
    ///
    /// A booster ends early where no goal's value on validation has risen for a while; which rounds to
    /// take is decided for each goal afterwards.
    ///
    /// # Errors
    /// If LightGBM is not there or refuses, a goal does not fit the validation rows, the observer stops
    /// the run, or a checkpoint cannot be written.
    pub fn search<G: Clone + Into<AnyGoal>>(&mut self, goals: &[G]) -> Result<Vec<Searched>, TreesError> {
        let goals: Vec<AnyGoal> = goals.iter().map(|goal| self.fraction(goal.clone().into())).collect();
        let outputs = goals.first().map_or(1, AnyGoal::outputs);
        if goals.iter().any(|goal| goal.outputs() != outputs) {
            let found = "goals of different numbers of classes".to_owned();
            return Err(TreesError::Shape { found, expected: "goals that one search can serve" });
        }
        let money = goals.iter().any(|goal| matches!(goal, AnyGoal::Two(goal) if goal.money().is_some()));
        let configurations = self.settings.configurations.iter().enumerate();
        let wanted: Vec<Wanted> = configurations
            .map(|(index, parameters)| {
                let mut parameters = *parameters;
                // Rows count alike in one half of the boosters, and by what hangs on them in the other.
                if money && index % 2 == 1 {
                    (parameters.staked, parameters.positive_weight) = (true, 1.0);
                }
                let of_queries =
                    self.queries(&goals).map(|(goal, queries)| rank::objective(index, goal, queries));
                if outputs > 1 || of_queries.is_some() {
                    // Of several classes none is the positive one, and in queries nothing is decided by rows alone.
                    parameters.positive_weight = 1.0;
                }
                let seed = self.settings.seed.wrapping_add(index as u64);
                let (kind, objective) =
                    of_queries.map_or(("cross-entropy", None), |(kind, text)| (kind, Some(text)));
                Wanted { name: format!("{kind}, {parameters}"), objective, parameters, seed }
            })
            .collect();
        self.grow_watched(wanted, &goals, Pull::Own)
    }

    /// Grows a booster with the settings of another on log loss mixed with the goal's own gradient.
    ///
    /// # Errors
    /// As [`search`](Self::search), and if the goal has no gradient on the train rows.
    pub fn grow_ico(&mut self, goal: &Goal, like: &Searched) -> Result<Searched, TreesError> {
        let Searched { parameters, seed, .. } = *like;
        self.stages += 1;
        let wanted = Wanted { name: format!("ico, {parameters}"), objective: None, parameters, seed };
        let purpose = self.fraction(goal.clone().into());
        let grown = self.grow_watched(vec![wanted], std::slice::from_ref(&purpose), Pull::Mixed(goal))?;
        grown.into_iter().next().ok_or_else(|| TrainError::Stopped.into())
    }

    /// Grows trees on the gradient of a goal per query, after others that gave these scores of train and validation rows.
    pub(crate) fn grow_after(
        &mut self,
        goal: &QueryGoal,
        name: &str,
        parameters: Parameters,
        (train, held_out): (&[f32], &[f32]),
    ) -> Result<Searched, TreesError> {
        self.stages += 1;
        let wanted = Wanted { name: name.to_owned(), objective: None, parameters, seed: self.settings.seed };
        let purpose = AnyGoal::Queries(*goal);
        let pull = Pull::Queries { goal, train, held_out };
        let grown = self.grow_watched(vec![wanted], std::slice::from_ref(&purpose), pull)?;
        grown.into_iter().next().ok_or_else(|| TrainError::Stopped.into())
    }

    /// The goal per query that a search is for, and the queries of the train rows.
    fn queries<'g>(&self, goals: &'g [AnyGoal]) -> Option<(&'g QueryGoal, &'r Queries)> {
        match (goals.first()?, self.train.sample.queries()) {
            (AnyGoal::Queries(goal), Some(queries)) => Some((goal, queries)),
            _ => None,
        }
    }

    /// Boosters grown on the train rows and watched on validation, for log loss or mixed with the
    /// gradient of `ico`; those that are known already are taken as they are.
    fn grow_watched(
        &mut self,
        wanted: Vec<Wanted>,
        goals: &[AnyGoal],
        pull: Pull<'_>,
    ) -> Result<Vec<Searched>, TreesError> {
        let (look_every, rounds) = (self.settings.look_every, self.settings.rounds);
        let mut grown: Vec<Option<Grown>> = Vec::new();
        for wanted in &wanted {
            grown.push(match self.shelf.find(&wanted.key()) {
                Some(known) => {
                    let looks = looks(&known, &self.validation.features, look_every, pull.held_out())?;
                    Some((known, looks, Vec::new()))
                }
                None => None,
            });
        }
        let open: Vec<usize> = (0..wanted.len()).filter(|index| grown[*index].is_none()).collect();
        self.stage += wanted.len() - open.len();
        let outputs = goals.first().map_or(1, AnyGoal::outputs);
        if !open.is_empty() && self.train_bins.is_none() {
            let (queries, threads) = (self.queries(goals).map(|(goal, _)| goal), self.settings.threads());
            self.train_bins = Some(dataset(Library::get()?, &self.train, outputs, queries, threads)?);
        }
        let judges: Vec<Referee<'_>> = goals.iter().map(|goal| self.referee(goal)).collect();
        let (workers, threads) = self.share_threads(open.len());
        let goal = self.queries(goals).map(|(goal, _)| goal);
        let Self { train, validation, settings, observer, shelf, train_bins, stage, stages, .. } = self;
        let (first, stages, bins) = (*stage, *stages, train_bins.as_ref());
        let grow_one = |at: usize, tell: Tell<'_>| {
            let Some(bins) = bins else { unreachable!("set where anything is open") };
            let Wanted { name, objective, parameters, seed } = &wanted[open[at]];
            let watched = Watched {
                name,
                stage: (first + at, stages),
                judges: &judges,
                patience: settings.patience,
                until: settings.until,
            };
            let objective = goal.zip(objective.as_deref());
            let growth = Growth {
                parameters: *parameters,
                outputs,
                objective,
                rounds,
                look_every,
                seed: *seed,
                threads,
            };
            let mut mixture: Option<Box<dyn Derivatives>> = match pull {
                Pull::Own if parameters.staked => Some(Box::new(Mixture::of_stakes(train.sample)?)),
                Pull::Own => None,
                Pull::Mixed(goal) => Some(Box::new(Mixture::new(
                    goal,
                    train.sample,
                    parameters.positive_weight,
                    settings.bandwidth,
                )?)),
                Pull::Queries { goal, train: base, held_out } => Some(Box::new(QueryRounds::new(
                    goal,
                    train.sample,
                    (base, held_out),
                    settings.bandwidth,
                )?)),
            };
            let rows = (bins, train.sample, train.features.columns());
            let mixture = mixture.as_mut().map(|mixture| &mut **mixture as &mut dyn Derivatives);
            watched.grow(rows, Some(&validation.features), &growth, mixture, tell)
        };
        let fresh = grow_all(
            open.len(),
            (workers, threads),
            &grow_one,
            &mut |progress| observer.observe(progress),
            &mut |at, (ensemble, ..)| {
                *stage += 1;
                shelf.put(&wanted[open[at]].key(), ensemble)
            },
        )?;
        for (index, booster) in open.iter().zip(fresh) {
            grown[*index] = Some(booster);
        }
        let searched = wanted.into_iter().zip(grown).filter_map(|(wanted, grown)| {
            let Wanted { name, parameters, seed, objective } = wanted;
            let (ensemble, looks, promises) = grown?;
            let of_goal = |(at, goal): (usize, &AnyGoal)| {
                (goal.clone(), promises.iter().skip(at).step_by(goals.len()).copied().collect())
            };
            let known = !promises.is_empty();
            let promises = goals.iter().enumerate().filter(|_| known).map(of_goal).collect();
            let objective = goal.copied().zip(objective);
            Some(Searched { parameters, name, ensemble, looks, seed, objective, promises })
        });
        Ok(searched.collect())
    }

    /// How many of these boosters to grow at a time, and threads for each.
    pub(crate) fn share_threads(&self, boosters: usize) -> (usize, usize) {
        let rows = self.train.sample.len();
        let threads = self.settings.threads();
        let workers = if rows <= SIDE_BY_SIDE { threads.min(boosters).max(1) } else { 1 };
        let few = rows * self.train.features.columns() < FEW_VALUES;
        (workers, if few { 1 } else { threads / workers })
    }

    /// Says how many boosters are still to come.
    pub(crate) fn expect(&mut self, boosters: usize) {
        self.stages = self.stage + boosters;
    }

    /// The goal as it is judged: `k=` as a fraction.
    pub(crate) fn fraction(&self, goal: AnyGoal) -> AnyGoal {
        let rows = self.settings.rows_scored.unwrap_or(self.validation.sample.len() as u64);
        match goal {
            AnyGoal::Two(goal) => AnyGoal::Two(as_fraction(&goal, rows)),
            goal @ (AnyGoal::Classes(_) | AnyGoal::Queries(_)) => goal,
        }
    }

    pub(crate) fn referee<'g>(&self, purpose: &'g AnyGoal) -> Referee<'g>
    where
        'r: 'g,
    {
        let Settings { shared_threshold, seed, .. } = *self.settings;
        Referee { purpose, shared_threshold, sample: self.validation.sample, seed }
    }
}
