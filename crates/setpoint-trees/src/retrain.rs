//! Boosters grown again with the validation rows added, or some of them.

use setpoint::Sample;
use setpoint::rank::Queries;
use setpoint::train::TrainError;

use crate::ensemble::Ensemble;
use crate::error::TreesError;
use crate::features::{Data, Rows};
use crate::grow::{Growth, dataset};
use crate::ico::{Derivatives, Mixture};
use crate::library::{Dataset, Library};
use crate::session::{Searched, Session};
use crate::side_by_side::{Tell, grow_all};
use crate::watched::Watched;

/// A booster to be grown again.
#[derive(Clone, Copy, Debug)]
pub struct Retraining<'s> {
    /// With these settings.
    pub like: &'s Searched,
    /// For as many rounds.
    pub rounds: usize,
    /// The validation rows to add, with a name for them; all where none are named.
    pub rows: Option<(&'s str, &'s [u32])>,
}

impl Retraining<'_> {
    fn name(&self) -> String {
        let label = self.rows.map_or("train and validation rows", |(label, _)| label);
        format!("{}, on {label}", self.like.name)
    }

    fn key(&self) -> String {
        format!("seed {}: {}", self.like.seed, self.name())
    }
}

impl Session<'_> {
    /// Grows boosters with the settings of others on the train rows and some of validation's.
    ///
    /// # Errors
    /// As [`search`](Self::search).
    pub fn retrain(&mut self, wanted: &[Retraining<'_>]) -> Result<Vec<Ensemble>, TreesError> {
        // A booster's first trees do not depend on those that follow.
        let known = |wanted: &Retraining<'_>| {
            let known = self.shelf.find(&wanted.key()).filter(|known| known.rounds() >= wanted.rounds)?;
            Some(known.first(wanted.rounds))
        };
        let mut grown: Vec<Option<Ensemble>> = wanted.iter().map(known).collect();
        let open: Vec<usize> = (0..wanted.len()).filter(|index| grown[*index].is_none()).collect();
        // One that is wanted a second time, with more rounds, is there for several goals: the next may want still more.
        let most = |index: &usize| match self.shelf.find(&wanted[*index].key()) {
            Some(_) => self.more_rounds(self.settings.rounds, self.validation.sample.len()),
            None => wanted[*index].rounds,
        };
        let most: Vec<usize> = open.iter().map(most).collect();
        self.stage += wanted.len() - open.len();
        let (workers, threads) = self.share_threads(open.len());
        if self.all.is_none() && open.iter().any(|index| wanted[*index].rows.is_none()) {
            let rows: Vec<u32> = match self.validation.sample.queries() {
                Some(queries) => (0..queries.len()).flat_map(|query| queries.rows(query)).copied().collect(),
                None => (0..self.validation.sample.len() as u32).collect(),
            };
            let like = wanted[open[0]].like;
            self.all = Some(stack(&self.train, &self.validation, &rows, like, self.settings.threads())?);
        }
        let Self { train, validation, settings, observer, shelf, all, stage, stages, .. } = self;
        let (first, stages, all) = (*stage, (*stages).max(*stage + open.len()), all.as_ref());
        let grow_one = |at: usize, tell: Tell<'_>| {
            let Retraining { like, rows, .. } = wanted[open[at]];
            let part;
            let (bins, sample) = match (rows, all) {
                (Some((_, rows)), _) => {
                    part = stack(train, validation, rows, like, threads)?;
                    &part
                }
                (None, Some(all)) => all,
                (None, None) => unreachable!("set where all rows are wanted"),
            };
            let name = wanted[open[at]].name();
            let watched = Watched {
                name: &name,
                stage: (first + at, stages),
                judges: &[],
                patience: settings.patience,
                until: None,
            };
            let growth = Growth {
                parameters: like.parameters,
                outputs: like.ensemble.outputs(),
                objective: like.objective.as_ref().map(|(goal, text)| (goal, text.as_str())),
                rounds: most[at],
                look_every: settings.look_every,
                seed: like.seed,
                threads,
            };
            let rows = (bins, sample, train.features.columns());
            let mut mixture = like.parameters.staked.then(|| Mixture::of_stakes(sample)).transpose()?;
            let mixture = mixture.as_mut().map(|mixture| mixture as &mut dyn Derivatives);
            Ok(watched.grow(rows, None, &growth, mixture, tell)?.0)
        };
        let fresh = grow_all(
            open.len(),
            (workers, threads),
            &grow_one,
            &mut |progress| observer.observe(progress),
            &mut |at, ensemble| {
                *stage += 1;
                shelf.put(&wanted[open[at]].key(), ensemble)
            },
        )?;
        for (index, booster) in open.into_iter().zip(fresh) {
            grown[index] = Some(booster.first(wanted[index].rounds));
        }
        Ok(grown.into_iter().flatten().collect())
    }

    /// The rounds that suit the train rows and so many of validation's, where these suit the train rows alone: they
    /// grow with the cube root of the rows; see `docs/decisions.md`.
    pub(crate) fn more_rounds(&self, rounds: usize, added: usize) -> usize {
        let train = self.train.sample.len();
        let more = (train + added) as f64 / train as f64;
        (rounds as f64 * more.cbrt()).round() as usize
    }
}

/// The train rows and these of validation's, binned together for boosters like this one.
fn stack(
    train: &Data<'_>,
    validation: &Data<'_>,
    rows: &[u32],
    like: &Searched,
    threads: usize,
) -> Result<(Dataset<'static>, Sample), TreesError> {
    let (outputs, goal) = (like.ensemble.outputs(), like.objective.as_ref().map(|(goal, _)| goal));
    let stacked = Rows::stacked(Some(&train.features), &validation.features, rows)?;
    let sample = join(train.sample, &validation.sample.select(rows), outputs)?;
    let data = Data { features: stacked.view(), sample: &sample, categorical: train.categorical };
    let bins = dataset(Library::get()?, &data, outputs, goal, threads)?;
    Ok((bins, sample))
}

/// Labels and weights of one sample after the other's. Groups play no part in growing trees, unless they are
/// the classes.
fn join(first: &Sample, second: &Sample, outputs: usize) -> Result<Sample, TrainError> {
    if let (Some(queries), Some(others)) = (first.queries(), second.queries()) {
        return Ok(Sample::of_queries(Queries::join(&[queries, others]))?);
    }
    let joined = match (first.groups(), second.groups()) {
        (Some(classes), Some(others)) if outputs > 1 => {
            let codes = classes.codes().iter().chain(others.codes()).copied().collect();
            Sample::of_classes(classes.column(), classes.names().to_vec(), codes)?
        }
        _ => Sample::new(first.labels().iter().chain(second.labels()).copied().collect())?,
    };
    let joined = match (first.stakes(), second.stakes()) {
        (Some(stakes), Some(more)) => {
            let pays = stakes.pays().iter().chain(more.pays()).copied().collect();
            joined.with_stakes(stakes.profit(), pays)?
        }
        _ => joined,
    };
    if first.weights().is_none() && second.weights().is_none() {
        return Ok(joined);
    }
    let weights =
        [first, second].into_iter().flat_map(|sample| (0..sample.len()).map(|row| sample.weight(row) as f32));
    Ok(joined.with_weights(weights.collect())?)
}
