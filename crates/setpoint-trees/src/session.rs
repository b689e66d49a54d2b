//! A run under way: rows binned once, boosters grown, watched and kept.

use std::ops::ControlFlow;

use setpoint::Sample;
use setpoint::goal::Goal;
use setpoint::train::selection::as_fraction;
use setpoint::train::{Observer, Progress, TrainError};

use crate::ensemble::Ensemble;
use crate::error::TreesError;
use crate::features::{Data, Stacked};
use crate::grow::{Look, Plan, Round, dataset, grow, looks};
use crate::ico::Mixture;
use crate::judge::{Judge, Promise};
use crate::library::{Dataset, Library};
use crate::parameters::Parameters;
use crate::settings::Settings;
use crate::store::{Finished, Store};

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
}

/// Rows, settings and boosters that several goals may share.
///
/// [`search`](Self::search) grows the boosters once; [`conclude`](Self::conclude) makes a model for
/// one goal of them, and grows what that takes beside.
pub struct Session<'r> {
    pub(crate) train: Data<'r>,
    pub(crate) validation: Data<'r>,
    pub(crate) settings: &'r Settings,
    observer: &'r mut (dyn Observer + 'r),
    store: Option<&'r mut (dyn Store + 'r)>,
    done: Vec<Finished>,
    train_bins: Option<Dataset<'static>>,
    all: Option<(Dataset<'static>, Sample)>,
    stage: usize,
    stages: usize,
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
            store,
            done,
            train_bins: None,
            all: None,
            stage: 0,
            stages: settings.configurations.len(),
        })
    }

    /// Grows a booster for log loss from each configuration.
    ///
    /// A booster ends early where no goal's value on validation has risen for a while; which rounds to
    /// take is decided for each goal afterwards.
    ///
    /// # Errors
    /// If LightGBM is not there or refuses, a goal does not fit the validation rows, the observer stops
    /// the run, or a checkpoint cannot be written.
    pub fn search(&mut self, goals: &[Goal]) -> Result<Vec<Searched>, TreesError> {
        let goals: Vec<Goal> = goals.iter().map(|goal| self.fraction(goal)).collect();
        let mut searched = Vec::new();
        for (index, parameters) in self.settings.configurations.iter().enumerate() {
            let seed = self.settings.seed.wrapping_add(index as u64);
            let name = format!("cross-entropy, {parameters}");
            let (ensemble, looks) = self.grow_watched(&name, &goals, *parameters, seed, None)?;
            searched.push(Searched { parameters: *parameters, name, ensemble, looks, seed });
        }
        Ok(searched)
    }

    /// Grows a booster with the settings of another on log loss mixed with the goal's own gradient.
    ///
    /// # Errors
    /// As [`search`](Self::search), and if the goal has no gradient on the train rows.
    pub fn grow_ico(&mut self, goal: &Goal, like: &Searched) -> Result<Searched, TreesError> {
        let goal = &self.fraction(goal);
        let Searched { parameters, seed, .. } = *like;
        let name = format!("ico, {parameters}");
        self.stages += 1;
        let mut mixture =
            Mixture::new(goal, self.train.sample, parameters.positive_weight, self.settings.bandwidth)?;
        let goals = [goal.clone()];
        let (ensemble, looks) = self.grow_watched(&name, &goals, parameters, seed, Some(&mut mixture))?;
        Ok(Searched { parameters, name, ensemble, looks, seed })
    }

    /// A booster grown on the train rows and watched on validation.
    fn grow_watched(
        &mut self,
        name: &str,
        goals: &[Goal],
        parameters: Parameters,
        seed: u64,
        mixture: Option<&mut Mixture<'_>>,
    ) -> Result<(Ensemble, Vec<Look>), TreesError> {
        let look_every = self.settings.look_every;
        let key = format!("seed {seed}: {name}");
        if let Some(done) = self.find(&key) {
            let looks = looks(&done, &self.validation.features, look_every)?;
            self.stage += 1;
            return Ok((done, looks));
        }
        if self.train_bins.is_none() {
            self.train_bins = Some(dataset(Library::get()?, &self.train, self.settings.threads())?);
        }
        let Some(bins) = &self.train_bins else { unreachable!("set just above") };
        let plan = self.plan(parameters, self.settings.rounds, seed);
        let judges: Vec<Judge<'_>> = goals.iter().map(|goal| self.judge(goal)).collect();
        let mut best: Vec<Option<(Promise, usize)>> = vec![None; goals.len()];
        let (stage, stages, patience) = (self.stage, self.stages, self.settings.patience);
        let observer = &mut *self.observer;
        let mut after = |round: &Round<'_>| {
            let mut validation = None;
            for (judge, best) in judges.iter().zip(&mut best) {
                let Some(look) = round.look else { break };
                validation = validation.or(judge.value(&look.scores)?);
                let promise = judge.promise(&look.scores)?;
                if best.is_none_or(|(best, _)| promise.order(&best).is_lt()) {
                    *best = Some((promise, round.rounds));
                }
            }
            let progress = report(name, (stage, stages), (round.rounds, plan.rounds), round.loss, validation);
            if observer.observe(&progress).is_break() {
                return Err(TrainError::Stopped.into());
            }
            let last = best.iter().flatten().map(|(_, rounds)| *rounds).max().unwrap_or(round.rounds);
            let stale = round.look.is_some() && round.rounds - last >= patience;
            Ok(if stale { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        };
        let columns = self.train.features.columns();
        let (ensemble, looks) = grow(
            bins,
            self.train.sample,
            Some(&self.validation.features),
            columns,
            &plan,
            mixture,
            &mut after,
        )?;
        self.finish(&key, &ensemble)?;
        Ok((ensemble, looks))
    }

    /// Grows a booster with the settings of another on the train rows and all of validation's, or only
    /// these of validation's, with a name for them.
    ///
    /// `rounds` are those that suit the train rows; more rows bear some more.
    ///
    /// # Errors
    /// As [`search`](Self::search).
    pub fn retrain(
        &mut self,
        like: &Searched,
        rounds: usize,
        rows: Option<(&str, &[u32])>,
    ) -> Result<Ensemble, TreesError> {
        let label = rows.map_or("train and validation rows", |(label, _)| label);
        let name = format!("{}, on {label}", like.name);
        let train = self.train.sample.len();
        let added = rows.map_or(self.validation.sample.len(), |(_, rows)| rows.len());
        let rounds = more_rounds(rounds, train, train + added);
        // A booster's first trees do not depend on those that follow.
        let key = format!("seed {}: {name}", like.seed);
        if let Some(done) = self.find(&key).filter(|done| done.trees() >= rounds) {
            self.stage += 1;
            return Ok(done.first(rounds));
        }
        let part;
        let (bins, sample) = match rows {
            Some((_, rows)) => {
                part = self.stack(rows)?;
                (&part.0, &part.1)
            }
            None => {
                if self.all.is_none() {
                    let rows: Vec<u32> = (0..self.validation.sample.len() as u32).collect();
                    self.all = Some(self.stack(&rows)?);
                }
                let Some(all) = &self.all else { unreachable!("set just above") };
                (&all.0, &all.1)
            }
        };
        let plan = self.plan(like.parameters, rounds, like.seed);
        let (stage, stages) = (self.stage, self.stages.max(self.stage + 1));
        let observer = &mut *self.observer;
        let mut after = |round: &Round<'_>| {
            let progress = report(&name, (stage, stages), (round.rounds, rounds), round.loss, None);
            if observer.observe(&progress).is_break() {
                return Err(TrainError::Stopped.into());
            }
            Ok(ControlFlow::Continue(()))
        };
        let columns = self.train.features.columns();
        let (ensemble, _) = grow(bins, sample, None, columns, &plan, None, &mut after)?;
        self.finish(&key, &ensemble)?;
        Ok(ensemble)
    }

    /// The train rows and these of validation's, binned together.
    fn stack(&self, rows: &[u32]) -> Result<(Dataset<'static>, Sample), TreesError> {
        let stacked = Stacked::new(&self.train.features, &self.validation.features, rows)?;
        let sample = join(self.train.sample, &self.validation.sample.select(rows))?;
        let data = Data { features: stacked.view(), sample: &sample, categorical: self.train.categorical };
        let bins = dataset(Library::get()?, &data, self.settings.threads())?;
        Ok((bins, sample))
    }

    /// Says how many boosters are still to come.
    pub(crate) fn expect(&mut self, boosters: usize) {
        self.stages = self.stage + boosters;
    }

    /// The goal as it is judged: `k=` as a fraction.
    pub(crate) fn fraction(&self, goal: &Goal) -> Goal {
        as_fraction(goal, self.settings.rows_scored.unwrap_or(self.validation.sample.len() as u64))
    }

    pub(crate) fn judge<'g>(&self, goal: &'g Goal) -> Judge<'g>
    where
        'r: 'g,
    {
        let Settings { shared_threshold, seed, .. } = *self.settings;
        Judge { goal, shared_threshold, sample: self.validation.sample, seed }
    }

    fn plan(&self, parameters: Parameters, rounds: usize, seed: u64) -> Plan {
        Plan {
            parameters,
            rounds,
            look_every: self.settings.look_every,
            seed,
            threads: self.settings.threads(),
        }
    }

    fn find(&self, name: &str) -> Option<Ensemble> {
        self.done.iter().find(|done| done.name == name).map(|done| done.ensemble.clone())
    }

    fn finish(&mut self, name: &str, ensemble: &Ensemble) -> Result<(), TreesError> {
        self.stage += 1;
        self.done.retain(|done| done.name != name);
        self.done.push(Finished { name: name.to_owned(), ensemble: ensemble.clone() });
        let Some(store) = &mut self.store else { return Ok(()) };
        Ok(store.save(&self.done).map_err(|message| TrainError::Checkpoint { message })?)
    }
}

fn report(
    name: &str,
    (stage_index, stages): (usize, usize),
    (step, steps): (usize, usize),
    loss: f64,
    validation: Option<f64>,
) -> Progress {
    let stage = name.to_owned();
    Progress {
        stage,
        stage_index,
        stages,
        step: step as u64,
        steps: steps as u64,
        loss,
        validation,
        detail: None,
    }
}

/// Rounds for more rows: they grow with the cube root; see `docs/decisions.md`.
fn more_rounds(rounds: usize, rows: usize, more: usize) -> usize {
    (rounds as f64 * (more as f64 / rows as f64).cbrt()).round() as usize
}

/// Labels and weights of one sample after the other's. Groups play no part in growing trees.
fn join(first: &Sample, second: &Sample) -> Result<Sample, TrainError> {
    let labels = first.labels().iter().chain(second.labels()).copied().collect();
    let joined = Sample::new(labels)?;
    if first.weights().is_none() && second.weights().is_none() {
        return Ok(joined);
    }
    let weights =
        [first, second].into_iter().flat_map(|sample| (0..sample.len()).map(|row| sample.weight(row) as f32));
    Ok(joined.with_weights(weights.collect())?)
}
