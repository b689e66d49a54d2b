//! Whether a certificate still holds, watched for as long as the model runs.
//!
//! A test each night raises false alarms by repetition alone. A [`Monitor`] takes labelled rows in batches of any
//! size and order, late ones too, and keeps for every certified condition and group the evidence that it is broken
//! (`evidence.rs`), with an interval for its rate (`interval.rs`). The chance that it ever raises an alarm while
//! all of them hold is at most alpha, however often one looks; the conditions and groups share it equally.
//!
//! Rows without labels give hints (`hint.rs`): that the share decided positive, or as some class, or the scores are
//! no longer those of the calibration rows. A hint is not a broken certificate, and has a chance of alpha of its own.
//!
//! The state has a fixed size, whatever was seen, and is plain data.
//!
//! ```
//! use setpoint::certify::{CertifyOptions, certify, monitor::Monitor};
//! use setpoint::goal::parse_conditions;
//! use setpoint::sample::Sample;
//!
//! let scores: Vec<f32> = (0..1000).map(|i| i as f32 / 1000.0).collect();
//! let sample = Sample::new(vec![false; 1000])?;
//! let certificate = certify(&parse_conditions("fpr<=5%")?, &sample, &scores, &CertifyOptions::new(0.95))?;
//! let mut monitor = Monitor::new("a digest of the model", Some((&certificate).into()), 0.05)?;
//! monitor.add(&certificate, &sample, &scores)?;
//! assert!(!monitor.alarmed());
//! let later: Vec<f32> = scores.iter().map(|score| score + 0.1).collect();
//! monitor.add(&certificate, &sample, &later)?;
//! assert!(monitor.alarmed());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod certified;
mod evidence;
mod hint;
mod history;
mod interval;
mod sketch;

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;

pub use certified::Certified;
pub use hint::Known;
pub use history::{HintMoment, Moment, Point};
pub use sketch::Sketch;
pub(crate) use sketch::{count, edges};

use serde::{Deserialize, Serialize};

use certified::{Batch, Terms};
use evidence::{Draws, Evidence};
use hint::Shift;
use interval::Sums;

use super::certificate::CertifiedCondition;
use super::claim::Claim;
use super::error::CertifyError;
use crate::metric::interval::Interval;
use crate::sample::Sample;

/// The form of the state that this version writes and reads.
const FORMAT: u32 = 1;
/// By how much more mistakes than allowed a rate is told from its target in what a status says.
const TOLD: f64 = 1.5;
/// The largest capital that is written out.
const MOST: f64 = 1e300;

/// More rows than a watch can have seen.
const MOST_ROWS: u64 = 1 << 53;

/// The state of a watch. Serialise it to keep it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Monitor {
    format: u32,
    /// Which model is watched.
    model: String,
    alpha: f64,
    /// Labelled rows, and those without a label.
    rows: u64,
    unlabelled: u64,
    /// Whether draws are entities or have weights; by the first labelled batch.
    units: Option<bool>,
    conditions: Vec<Watched>,
    /// As the model has them: the share decided positive and the scores, or the shares decided as each class.
    hints: Vec<Shift>,
    history: Vec<Moment>,
    hint_history: Vec<HintMoment>,
}

/// One condition in one group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Watched {
    condition: String,
    group: Option<String>,
    evidence: Evidence,
    sums: Sums,
    /// The largest draw that the bets assume, where draws are not single examples.
    largest: Option<f64>,
    /// The rows at which the alarm was raised.
    alarm: Option<u64>,
}

impl Watched {
    /// Whether a watch can have come to this: of a state that was read.
    fn is_sound(&self) -> bool {
        self.evidence.is_sound()
            && self.sums.is_sound()
            && self.largest.is_none_or(|one| one > 0.0 && one < MOST)
    }
}

/// Where a condition stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Status {
    /// The condition as goals write it.
    pub condition: String,
    /// The group it is watched in.
    pub group: Option<String>,
    /// Which examples the rate is a share of.
    pub noun: &'static str,
    /// What the rate counts, so far, and out of how many.
    pub counted: f64,
    /// Out of how many.
    pub examples: f64,
    /// The rate so far.
    pub rate: Option<f64>,
    /// An interval for it; the intervals of all conditions hold at every look together.
    pub interval: Interval,
    /// What the bets against the condition came to.
    pub evidence: f64,
    /// What they must come to for an alarm.
    pub alarm_at: f64,
    /// After how many rows the alarm was raised, if it was.
    pub alarm: Option<u64>,
    /// The rate that `needed` is about: half as many mistakes again as the condition allows.
    pub told: f64,
    /// Examples still needed to tell that rate, about.
    pub needed: Option<u64>,
    /// Rows that hold so many examples, going by those so far.
    pub needed_rows: Option<u64>,
    /// Whether the condition survives another mix of classes, each class scoring as before.
    pub survives_mix: bool,
}

/// What rows without labels hint at.
#[derive(Clone, Debug, PartialEq)]
pub struct HintStatus {
    /// Rows without a label so far.
    pub rows: u64,
    /// Which of the shares differs most.
    pub place: usize,
    /// What it is among the calibration rows.
    pub expected: f64,
    /// The same of these rows.
    pub observed: Option<f64>,
    /// What the bets came to, and what they must come to.
    pub evidence: f64,
    /// What they must come to for a hint.
    pub alarm_at: f64,
    /// After how many rows it was given, if it was.
    pub alarm: Option<u64>,
}

impl Monitor {
    /// Begins to watch the conditions of a certificate; without one, rows without labels alone.
    ///
    /// # Errors
    /// If alpha is not in (0, 1), or the certificate cannot be read.
    pub fn new(model: &str, certificate: Option<Certified<'_>>, alpha: f64) -> Result<Self, CertifyError> {
        if !(alpha > 0.0 && alpha < 1.0) {
            return Err(CertifyError::Confidence { value: 1.0 - alpha });
        }
        if let Some(certified) = certificate {
            certified.terms()?;
        }
        let fresh = |certified: &CertifiedCondition| Watched {
            condition: certified.condition.clone(),
            group: certified.group.clone(),
            evidence: Evidence::default(),
            sums: Sums::default(),
            largest: None,
            alarm: None,
        };
        let conditions =
            certificate.iter().flat_map(|one| &one.certificate().conditions).map(fresh).collect();
        Ok(Self {
            format: FORMAT,
            model: model.to_owned(),
            alpha,
            rows: 0,
            unlabelled: 0,
            units: None,
            conditions,
            hints: Vec::new(),
            history: Vec::new(),
            hint_history: Vec::new(),
        })
    }

    /// Whether a state that was read is of this version and of this model and certificate.
    #[must_use]
    pub fn fits(&self, model: &str, certificate: Option<Certified<'_>>) -> bool {
        let own = self.conditions.iter().map(|watched| (&watched.condition, &watched.group));
        let conditions = certificate.iter().flat_map(|certified| &certified.certificate().conditions);
        self.format == FORMAT
            && self.model == model
            && self.alpha > 0.0
            && self.alpha < 1.0
            && own.eq(conditions.map(|certified| (&certified.condition, &certified.group)))
            && self.rows.max(self.unlabelled) <= MOST_ROWS
            && self.conditions.iter().all(Watched::is_sound)
            && self.hints.iter().all(Shift::is_sound)
            && self.history.iter().all(|moment| moment.points.len() == self.conditions.len())
    }

    /// The model that is watched, as it was called at the start.
    #[must_use]
    pub fn model(&self) -> &str {
        &self.model
    }

    /// The chance of a false alarm, ever.
    #[must_use]
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// Labelled rows so far, and rows without a label.
    #[must_use]
    pub fn rows(&self) -> (u64, u64) {
        (self.rows, self.unlabelled)
    }

    /// Whether an alarm was raised. It stays so: the chance of a false one is that of ever raising it.
    #[must_use]
    pub fn alarmed(&self) -> bool {
        self.conditions.iter().any(|watched| watched.alarm.is_some())
    }

    /// Whether rows without labels gave a hint.
    #[must_use]
    pub fn hinted(&self) -> bool {
        self.hints.iter().any(|hint| hint.alarm.is_some())
    }

    /// The batches of labelled rows so far, joined where there were many.
    #[must_use]
    pub fn history(&self) -> &[Moment] {
        &self.history
    }

    /// The batches without labels.
    #[must_use]
    pub fn hint_history(&self) -> &[HintMoment] {
        &self.hint_history
    }

    /// Each condition's share of alpha.
    fn level(&self) -> f64 {
        self.alpha / self.conditions.len().max(1) as f64
    }

    /// Adds a batch of labelled rows with the model's scores; returns what to know of them.
    ///
    /// # Errors
    /// If the rows do not fit the certificate, as [`drift`](super::drift), or some batches have weights or entities
    /// and others not. Nothing is added then.
    pub fn add<'a>(
        &mut self,
        certified: impl Into<Certified<'a>>,
        sample: &'a Sample,
        scores: &'a [f32],
    ) -> Result<Vec<String>, CertifyError> {
        let all: Certified<'a> = certified.into();
        let (certificate, terms, batch) = (all.certificate(), all.terms()?, all.batch(sample, scores)?);
        let weighted = sample.weights().is_some_and(|weights| weights.iter().any(|one| *one != weights[0]));
        // Entities that this batch happens to have one row of each are entities all the same.
        let units = weighted || sample.entities().is_some() && certificate.entities.is_some();
        if self.units.is_some_and(|before| before != units) {
            return Err(CertifyError::OtherDraws { before: !units });
        }
        let (level, rows) = (self.level(), self.rows + sample.len() as u64);
        let goal = -level.ln();
        let mut changed = self.conditions.clone();
        let (mut points, mut clipped) = (Vec::with_capacity(changed.len()), 0);
        for ((watched, certified), terms) in changed.iter_mut().zip(&certificate.conditions).zip(&terms) {
            let claim = &terms.claim;
            let counted = if units {
                let mut found = of_units(&batch, certified, terms, sample, weighted);
                let known = match certified.method.largest() {
                    Some(largest) if !weighted => Some(largest as f64),
                    _ => found.iter().map(|unit| unit.1).reduce(f64::max).filter(|largest| *largest > 0.0),
                };
                watched.largest = watched.largest.or(known);
                let (sums, larger) = watched.add_units(claim, &mut found, goal);
                clipped += larger;
                sums
            } else {
                let (mut bad, mut examples) = (0, 0);
                batch.visit(certified, terms, |_, label, decision| {
                    let (is_bad, inside) = claim.of_decision(label, decision);
                    bad += u64::from(is_bad);
                    examples += u64::from(inside);
                });
                watched.add_examples(claim, bad, examples, goal)
            };
            let log = watched.evidence.log(claim.allowed_share());
            if watched.alarm.is_none() && log >= goal {
                watched.alarm = Some(rows);
            }
            let Interval { lower, upper, .. } = watched.interval(level);
            points.push(Point { counted: counted.0, examples: counted.1, log_evidence: log, lower, upper });
        }
        (self.units, self.rows, self.conditions) = (Some(units), rows, changed);
        history::push(&mut self.history, Moment { rows, points });
        let clipped = (clipped > 0).then(|| {
            format!(
                "{clipped} draws are larger than the bets assume (the largest of the certificate, or of the first \
                 batch): they count as if they were that large"
            )
        });
        Ok(clipped.into_iter().collect())
    }

    /// Adds rows without labels: how many there are of each share that is known of the calibration rows.
    ///
    /// # Errors
    /// If the shares are not those of this watch.
    pub fn add_unlabelled(
        &mut self,
        known: &[Known],
        seen: &[Vec<u64>],
        rows: u64,
    ) -> Result<(), CertifyError> {
        let mut hints = self.hints.clone();
        hints.resize(known.len(), Shift::default());
        let mut log_evidence = Vec::with_capacity(known.len());
        for ((hint, known), seen) in hints.iter_mut().zip(known).zip(seen) {
            hint.add(known, seen, rows, self.alpha)?;
            log_evidence.push(hint.furthest(known, self.alpha)?.log);
        }
        (self.hints, self.unlabelled) = (hints, self.unlabelled + rows);
        let decided = seen.first().cloned().unwrap_or_default();
        history::push(
            &mut self.hint_history,
            HintMoment { rows: self.unlabelled, batch: rows, decided, log_evidence },
        );
        Ok(())
    }

    /// Where each condition stands.
    ///
    /// # Errors
    /// If the certificate is not that of this watch.
    pub fn status<'a>(&self, certified: impl Into<Certified<'a>>) -> Result<Vec<Status>, CertifyError> {
        let level = self.level();
        let of = |(watched, terms): (&Watched, Terms)| {
            let claim = terms.claim;
            let allowed = claim.allowed_share();
            let told = if TOLD * allowed < 1.0 { TOLD * allowed } else { 0.5 * (1.0 + allowed) };
            let needed = watched.evidence.needed(allowed, told, -level.ln());
            let needed = needed.map(|draws| (draws as f64 * watched.largest.unwrap_or(1.0)).ceil() as u64);
            let share = watched.sums.examples / self.rows.max(1) as f64;
            Status {
                condition: watched.condition.clone(),
                group: watched.group.clone(),
                noun: terms.noun,
                counted: watched.sums.counted,
                examples: watched.sums.examples,
                rate: watched.sums.rate(),
                interval: watched.interval(level),
                evidence: capital(watched.evidence.log(allowed)),
                alarm_at: 1.0 / level,
                alarm: watched.alarm,
                told: if claim.bad(1, 1) == 1 { told } else { 1.0 - told },
                needed,
                needed_rows: needed
                    .filter(|_| share > 0.0)
                    .map(|needed| (needed as f64 / share).ceil() as u64),
                survives_mix: terms.survives_mix,
            }
        };
        Ok(self.conditions.iter().zip(certified.into().terms()?).map(of).collect())
    }

    /// What rows without labels hint at.
    ///
    /// # Errors
    /// If the sketch is not that of this watch.
    pub fn hints(&self, known: &[Known]) -> Result<Vec<HintStatus>, CertifyError> {
        let none = Shift::default();
        let status = |(place, known): (usize, &Known)| {
            let hint = self.hints.get(place).unwrap_or(&none);
            let furthest = hint.furthest(known, self.alpha)?;
            Ok(HintStatus {
                rows: hint.rows(),
                place: furthest.place,
                expected: furthest.expected,
                observed: furthest.observed,
                evidence: capital(furthest.log),
                alarm_at: hint::goal(self.alpha).exp(),
                alarm: hint.alarm,
            })
        };
        known.iter().enumerate().map(status).collect()
    }
}

impl Watched {
    /// Adds examples that are draws; returns what the rate counts, and out of how many.
    fn add_examples(&mut self, claim: &Claim, bad: u64, examples: u64, goal: f64) -> (f64, f64) {
        self.evidence.add(claim.allowed_share(), Draws::Examples { bad, examples }, goal);
        let counted = if claim.bad(1, 1) == 1 { bad } else { examples - bad };
        self.sums.add_examples(counted, examples);
        (counted as f64, examples as f64)
    }

    /// Adds entities, or examples with weights, and makes those smaller that are larger than assumed; returns what
    /// the rate counts, out of how many, and how many draws that are.
    fn add_units(&mut self, claim: &Claim, units: &mut [(f64, f64)], goal: f64) -> ((f64, f64), usize) {
        let Some(largest) = self.largest else { return ((0.0, 0.0), 0) };
        let (mut clipped, mut sums) = (0, (0.0, 0.0));
        for unit in &mut *units {
            if unit.1 > largest {
                *unit = (unit.0 * largest / unit.1, largest);
                clipped += 1;
            }
            let counted = if claim.bad(1, 1) == 1 { unit.0 } else { unit.1 - unit.0 };
            self.sums.add(counted, unit.1);
            sums = (sums.0 + counted, sums.1 + unit.1);
        }
        self.evidence.add(claim.allowed_share(), Draws::Units { units, largest }, goal);
        (sums, clipped)
    }

    fn interval(&self, level: f64) -> Interval {
        match self.largest {
            Some(_) => self.sums.of_units(level),
            None => self.sums.of_examples(level),
        }
    }
}

/// What is bad and out of what, for each entity, or for each row with its weight.
fn of_units(
    batch: &Batch<'_>,
    certified: &CertifiedCondition,
    terms: &Terms,
    sample: &Sample,
    weighted: bool,
) -> Vec<(f64, f64)> {
    let entities = sample.entities();
    let mut units = vec![(0.0, 0.0); entities.map_or(sample.len(), crate::sample::Entities::len)];
    batch.visit(certified, terms, |row, label, decision| {
        let (bad, inside) = terms.claim.of_decision(label, decision);
        let weight = if weighted { sample.weight(row) } else { 1.0 };
        let unit = &mut units[entities.map_or(row, |entities| entities.of()[row] as usize)];
        unit.0 += if bad { weight } else { 0.0 };
        unit.1 += if inside { weight } else { 0.0 };
    });
    units.retain(|unit| unit.1 > 0.0);
    units
}

/// A capital from its logarithm, finite.
fn capital(log: f64) -> f64 {
    log.exp().min(MOST)
}
