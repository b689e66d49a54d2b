//! Claims about examples that come in entities.
//!
//! The entities are the draws, not their examples. With b bad ones among the n examples that an entity
//! has in the claim's slice, and a the share of bad ones that the claim allows, the claim is
//!
//! ```text
//! E[X] <= 0,      X = b - a n,      -a L <= X <= (1 - a) L      where no entity has more than L examples
//! ```
//!
//! whatever the rows of one entity have to do with each other. **Betting** proves it (Waudby-Smith and
//! Ramdas): whoever stakes a fixed share l against X at each entity in turn has the wealth
//!
//! ```text
//! W(l) = product over entities of (1 - l X),      0 <= l <= 1 / ((1 - a) L)
//! ```
//!
//! and if E\[X\] >= 0 its mean is at most 1, so that W >= 1 / delta has a chance of at most delta. The
//! mean of W over stakes fixed in advance has the same property. Halving the largest stake again and again, down to
//! the best one for examples that are all alike within entities, covers what can be of use; a product
//! does not depend on the order of the entities. L is an assumption: the largest entity of the sample.
//!
//! For rates over a fixed slice X falls with the threshold in every entity, so W grows with it, and the
//! limit is found by bisection. The first threshold that breaks the claim is a fixed number, and a
//! limit beyond it means that its own bet was won: a chance of delta, however many thresholds were
//! looked at. For precision and its like the thresholds come in a sequence fixed on other entities.
//!
//! Rows may have been [sampled](super::CertifyOptions::inclusion) with known chances instead of belonging together:
//! a row that had the chance c stands for 1/c rows, and X = (b - a n) / c has the mean that it would have over
//! all rows. What a bet can lose is bounded by the rows that could be bad, those on the wrong side of the threshold
//! whatever their label: it does not matter how many rows the others stand for. The stakes are fixed ones, whatever
//! the number of rows, so that the proof holds at any time: labels may be added until it succeeds.
//!
//! Where entities are too few for any proof, [`Test::Approximate`] gives a limit by the bootstrap-t
//! ([`EntityShare`]) that comes near to its level. It proves nothing.

use super::claim::{Claim, Slice};
use super::cohort::Cohort;
use super::error::CertifyError;
use super::level::Level;
use super::predictive::Passed;
use super::sequence;
use crate::metric::Cuts;
use crate::metric::interval::{EntityCount, EntityShare};
use crate::sample::Entities;

/// How a claim about entities is tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Test {
    /// A proof.
    Betting,
    /// None.
    Approximate,
    /// A proof from rows that were sampled: the sample's weights are one over their chances.
    Sampled,
}

/// Stakes on sampled rows: half of the largest that is possible, half of that, and so on.
const SAMPLED_STAKES: i32 = 8;

/// Entities with bad examples from which draws of them tell something.
const SOME_BAD: usize = 5;
/// One entity in this many fixes the sequence of thresholds where nothing else does.
const CHOOSING: u32 = 3;

/// A claim about the entities of a cohort.
#[derive(Clone, Copy)]
pub(super) struct EntityClaim<'a> {
    pub claim: &'a Claim,
    pub cohort: &'a Cohort<'a>,
    /// Without them, each row is one.
    pub entities: Option<&'a Entities>,
    pub test: Test,
    pub delta: f64,
    /// Thresholds to test that were fixed elsewhere; without them some entities choose, and the others test.
    pub grid: Option<&'a [f32]>,
}

impl<'a> EntityClaim<'a> {
    /// `None` where each example is an entity of its own, and may be counted as such.
    pub fn new(
        claim: &'a Claim,
        cohort: &'a Cohort<'a>,
        delta: f64,
        test: Test,
        grid: Option<&'a [f32]>,
    ) -> Option<Self> {
        let entities = cohort.sample.together();
        let claim = Self { claim, cohort, entities, test, delta, grid };
        let counted =
            test == Test::Sampled || entities.is_some() && claim.largest(&claim.counts(f32::MIN)) > 1.0;
        counted.then_some(claim)
    }

    /// Which draw a row belongs to.
    fn of(&self, row: usize) -> usize {
        self.entities.map_or(row, |entities| entities.of()[row] as usize)
    }

    fn draws(&self) -> usize {
        self.entities.map_or(self.cohort.scores.len(), Entities::len)
    }

    /// The rows that a row stands for.
    fn weight(&self, row: usize) -> f64 {
        if self.test == Test::Sampled { self.cohort.sample.weight(row) } else { 1.0 }
    }

    /// Bad examples and all examples of the slice, for each entity that is tested.
    pub fn counts(&self, threshold: f32) -> Vec<EntityCount> {
        let of = |label, predicted| self.claim.of_decision(label, predicted);
        let table = [of(false, false), of(false, true), of(true, false), of(true, true)];
        let mut counts = vec![EntityCount::default(); self.draws()];
        self.cohort.visit_rows(|row, score, label| {
            let (bad, inside) = table[2 * usize::from(label) + usize::from(score >= threshold)];
            let (count, weight) = (&mut counts[self.of(row)], self.weight(row));
            count.counted += if bad { weight } else { 0.0 };
            count.examples += if inside { weight } else { 0.0 };
        });
        if self.claim.is_predictive() && self.grid.is_none() {
            let mut entity = 0..;
            counts.retain(|_| entity.next().is_some_and(|entity: u32| !entity.is_multiple_of(CHOOSING)));
        }
        counts
    }

    /// Most examples that an entity may have in the slice: what the proof assumes.
    pub fn largest(&self, counts: &[EntityCount]) -> f64 {
        if !self.claim.is_predictive() {
            return counts.iter().map(|count| count.examples).fold(0.0, f64::max);
        }
        self.most(|_| true)
    }

    /// Most rows that a draw stands for which could be bad at a threshold: what the proof from sampled rows assumes.
    pub fn at_risk(&self, threshold: f32) -> f64 {
        let risky =
            |predicted| [false, true].map(|label| self.claim.of_decision(label, predicted).0).contains(&true);
        let risky = [risky(false), risky(true)];
        self.most(|score| risky[usize::from(score >= threshold)])
    }

    /// Most rows of a draw whose score is such.
    fn most(&self, such: impl Fn(f32) -> bool) -> f64 {
        let mut rows = vec![0.0; self.draws()];
        self.cohort.visit_rows(|row, score, _| {
            rows[self.of(row)] += if such(score) { self.weight(row) } else { 0.0 }
        });
        rows.into_iter().fold(0.0, f64::max)
    }

    /// The chance of entities as good as these, were the rate at its target: exact as a bound, or nearly so.
    pub fn p_value(&self, counts: &[EntityCount], threshold: f32) -> f64 {
        match self.test {
            Test::Betting => Bets::against(self.claim, self.largest(counts)).p_value(counts, self.delta),
            Test::Sampled => {
                let all = (0..self.cohort.scores.len()).map(|row| self.weight(row));
                let least = all.fold(f64::INFINITY, f64::min);
                Bets::against(self.claim, 1.0).p_value_sampled(counts, least, self.at_risk(threshold))
            }
            Test::Approximate => {
                let replicates = EntityShare::replicates(counts.len(), self.delta);
                let share = EntityShare::new(counts, replicates, 0);
                share.map_or(1.0, |share| share.chance_of_so_low(self.claim.allowed_share()))
            }
        }
    }

    /// Entities with examples.
    pub fn tested(counts: &[EntityCount]) -> u64 {
        counts.iter().filter(|count| count.examples > 0.0).count() as u64
    }

    /// The loosest threshold that is certified, or nearly so, of a claim over a fixed slice.
    pub fn limit(&self, level: &Level) -> Result<f32, CertifyError> {
        let strict = self.claim.wants_strict();
        let mut scores = self.cohort.scores_of(self.claim.slice);
        if scores.is_empty() {
            let missing = if self.claim.slice == Slice::Positives { "positives" } else { "negatives" };
            return Err(self.cohort.without(missing, self.claim.rate.to_string()).into());
        }
        scores.sort_unstable_by(|a, b| if strict { b.total_cmp(a) } else { a.total_cmp(b) });
        scores.dedup();
        let threshold = |place: usize| if strict { scores[place].next_up() } else { scores[place] };
        if !threshold(0).is_finite() {
            return Err(CertifyError::NoFiniteThreshold { score: scores[0] });
        }
        let p_value = |place: usize| self.p_value(&self.counts(threshold(place)), threshold(place));
        let passes = |place: usize| p_value(place) <= self.delta;
        let bracket = match self.test {
            Test::Betting | Test::Sampled => passes(0).then_some((0, scores.len())),
            Test::Approximate => self.start(scores.len(), threshold),
        };
        let Some((mut passed, mut failed)) = bracket else { return Err(self.refuse(threshold(0), level)) };
        while failed - passed > 1 {
            let middle = passed + (failed - passed) / 2;
            if passes(middle) { passed = middle } else { failed = middle }
        }
        Ok(threshold(passed))
    }

    /// Where an approximate limit is looked for: from the clearest pass, in steps of a tenth, to the
    /// first failure. Of a few bad entities nothing can be drawn, so that the strictest thresholds mostly
    /// fail; without any, the pass is clear and worth little. So the search starts where there are some.
    fn start(&self, places: usize, threshold: impl Fn(usize) -> f32) -> Option<(usize, usize)> {
        let steps = std::iter::successors(Some(0_usize), |place| Some((place + 1).max(place * 11 / 10)));
        let (mut tested, mut drawable) = (Vec::new(), 0);
        for place in steps.take_while(|place| *place < places) {
            let counts = self.counts(threshold(place));
            let (bad, all) = sums(&counts);
            if counts.iter().filter(|count| count.counted > 0.0).count() < SOME_BAD {
                drawable = tested.len() + 1;
            }
            tested.push((place, self.p_value(&counts, threshold(place))));
            // Past the target, chances only rise.
            if bad > self.claim.allowed_share() * all {
                break;
            }
        }
        let clearest = |from: usize| {
            let clearest = (from..tested.len()).min_by(|a, b| tested[*a].1.total_cmp(&tested[*b].1))?;
            (tested[clearest].1 <= self.delta).then_some(clearest)
        };
        let clearest = clearest(drawable).or_else(|| clearest(0))?;
        let steps = tested[clearest..].iter().take_while(|(_, p)| *p <= self.delta).count();
        let failed = tested.get(clearest + steps).map_or(places, |(place, _)| *place);
        Some((tested[clearest + steps - 1].0, failed))
    }

    /// Thresholds at which precision or its like passes, along a sequence fixed in advance or on a third
    /// of the entities.
    pub fn sequence(&self, level: &Level) -> Result<Passed, CertifyError> {
        let mut grid = self.grid.map_or_else(|| self.choose(), |grid| Ok(grid.to_vec()))?;
        let upper = self.claim.slice == Slice::PredictedPositives;
        grid.sort_unstable_by(|a, b| if upper { b.total_cmp(a) } else { a.total_cmp(b) });
        grid.dedup();
        let passes = |threshold: &&f32| self.p_value(&self.counts(**threshold), **threshold) <= self.delta;
        let passed = grid.iter().take_while(passes).count();
        if passed == 0 {
            return Err(self.refuse(grid.first().copied().unwrap_or(f32::MAX), level));
        }
        let tested = grid.len();
        grid.truncate(passed);
        Ok(Passed { thresholds: grid, tested })
    }

    fn choose(&self) -> Result<Vec<f32>, CertifyError> {
        let mut rows = Vec::new();
        self.cohort.visit_rows(|row, _, _| {
            if self.of(row).is_multiple_of(CHOOSING as usize) {
                rows.push(row as u32);
            }
        });
        let cuts = Cuts::of_rows(self.cohort.sample, self.cohort.scores, &rows)?;
        Ok(sequence::along(self.claim, &cuts, self.delta).unwrap_or_default())
    }

    /// Why no threshold passed: too few entities, or too high a rate.
    fn refuse(&self, strictest: f32, level: &Level) -> CertifyError {
        let counts = self.counts(strictest);
        let (entities, largest) = (Self::tested(&counts), self.largest(&counts));
        let (bad, examples) = sums(&counts);
        let none = |bad: f64, examples: f64| {
            let p_value = self.p_value(&counts, strictest);
            let (bad, examples) = (bad.round() as u64, examples.round() as u64);
            let counted = self.claim.bad(bad.min(examples), examples);
            level.none_certified(self.claim, self.cohort, 1, (counted, examples, p_value), self.delta)
        };
        let Some(column) = self.entities.map(Entities::column).filter(|_| self.test != Test::Sampled) else {
            return none(bad, examples);
        };
        let needed = Bets::against(self.claim, largest).needed(&counts, self.delta);
        match needed {
            Some(needed) if needed <= entities && examples > 0.0 => none(bad, examples),
            _ => CertifyError::TooFewEntities {
                group: self.cohort.name().map(Into::into),
                found: entities,
                column: column.into(),
                largest: largest as u64,
                noun: self.claim.noun(),
                condition: self.claim.text().into(),
                confidence: level.confidence,
                shared_by: level.shared_by,
                needed,
            },
        }
    }
}

/// What is bad and out of what, over all draws.
fn sums(counts: &[EntityCount]) -> (f64, f64) {
    counts.iter().fold((0.0, 0.0), |sum, one| (sum.0 + one.counted, sum.1 + one.examples))
}

/// Stakes against what a claim forbids, or against the claim itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bets {
    /// The share of bad examples that the claim allows.
    allowed: f64,
    largest: f64,
    /// -1 to win where examples are good, 1 where they are bad.
    sign: f64,
}

impl Bets {
    /// Bets that are won where the claim holds.
    pub fn against(claim: &Claim, largest: f64) -> Self {
        Self { allowed: claim.allowed_share(), largest, sign: -1.0 }
    }

    /// Bets that are won where it does not.
    pub fn for_violation(claim: &Claim, largest: f64) -> Self {
        Self { sign: 1.0, ..Self::against(claim, largest) }
    }

    /// The stakes, from the largest that cannot ruin to the best for examples all alike within entities.
    fn stakes(&self, entities: u64, delta: f64) -> impl Iterator<Item = f64> + Clone + use<> {
        let loss = if self.sign < 0.0 { 1.0 - self.allowed } else { self.allowed };
        let most = 1.0 / (loss * self.largest);
        let variance = entities as f64 * self.allowed * (1.0 - self.allowed);
        let least = (-2.0 * delta.ln() / variance).sqrt() / self.largest;
        let halvings = (most / least).log2().ceil().clamp(0.0, 50.0) as i32;
        (0..=halvings).map(move |halvings| most * 0.5_f64.powi(halvings))
    }

    /// One over the mean wealth, at most 1: the chance to win so much is at most that.
    pub fn p_value(&self, counts: &[EntityCount], delta: f64) -> f64 {
        let wealth: Vec<f64> =
            self.stakes(EntityClaim::tested(counts), delta).map(|stake| self.wealth(counts, stake)).collect();
        (-log_mean(&wealth)).exp().min(1.0)
    }

    /// The same of draws that stand for `least` rows or more, and of which those that may be lost stand for
    /// `at_risk` or less. Stakes that could ruin are lost from the start.
    fn p_value_sampled(&self, counts: &[EntityCount], least: f64, at_risk: f64) -> f64 {
        let loss = 1.0 - self.allowed;
        let wealth = (1..=SAMPLED_STAKES).map(|halvings| {
            let stake = 0.5_f64.powi(halvings) / (loss * least);
            if stake * loss * at_risk <= 1.0 { self.wealth(counts, stake) } else { f64::NEG_INFINITY }
        });
        (-log_mean(&wealth.collect::<Vec<f64>>())).exp().min(1.0)
    }

    /// The logarithm of what a stake came to.
    fn wealth(&self, counts: &[EntityCount], stake: f64) -> f64 {
        let gain = |count: &EntityCount| self.sign * (count.counted - self.allowed * count.examples);
        counts.iter().map(|count| (stake * gain(count)).max(-1.0).ln_1p()).sum()
    }

    /// How many entities like these would be needed, none with a bad example; `None` beyond 10^15.
    fn needed(&self, counts: &[EntityCount], delta: f64) -> Option<u64> {
        let with: Vec<f64> =
            counts.iter().filter(|count| count.examples > 0.0).map(|count| count.examples).collect();
        let enough = |entities: u64| {
            let growth = |stake: f64| {
                let logs = with.iter().map(|examples| (stake * self.allowed * examples).ln_1p());
                entities as f64 * logs.sum::<f64>() / with.len() as f64
            };
            let wealth: Vec<f64> = self.stakes(entities, delta).map(growth).collect();
            log_mean(&wealth) >= -delta.ln()
        };
        let mut failed = 0_u64;
        let mut passed = 1_u64;
        while !enough(passed) {
            failed = passed;
            passed *= 2;
            if passed > 1_000_000_000_000_000 {
                return None;
            }
        }
        while passed - failed > 1 {
            let middle = failed + (passed - failed) / 2;
            if enough(middle) { passed = middle } else { failed = middle }
        }
        Some(passed)
    }
}

/// The logarithm of the mean of numbers given by their logarithms.
pub(super) fn log_mean(logs: &[f64]) -> f64 {
    let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if most == f64::NEG_INFINITY {
        return most;
    }
    most + (logs.iter().map(|log| (log - most).exp()).sum::<f64>() / logs.len() as f64).ln()
}
