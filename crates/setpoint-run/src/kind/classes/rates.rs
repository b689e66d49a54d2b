//! What decisions among classes come to on labelled rows.

use setpoint::Sample;
use setpoint::class::{Classes, Confusion, decide, shift};
use setpoint::goal::{ClassCondition, ClassObjective, ClassRate, Over, Rate};
use setpoint::message;
use setpoint::metric::interval::{self, Interval};
use setpoint::sample::Entities;
use setpoint_report::{Bounds, ClassDecisions, ClassRecord, Measured as Measure, PriceRecord, UnmetRecord};

use super::{ByShift, LOOKS};
use crate::failure::Failure;

impl ByShift {
    pub(super) fn confusion(&self, sample: &Sample, scores: &[f32]) -> Result<Confusion, Failure> {
        Ok(Confusion::at(&Classes::of(&self.goal, sample)?, scores, &self.shifts)?)
    }

    /// What cross-entropy's largest score comes to, as it is without shifts.
    pub(super) fn plain(
        &self,
        sample: &Sample,
        base: &[f32],
        confidence: Option<f64>,
    ) -> Result<ClassDecisions, Failure> {
        let none = vec![0.0; self.shifts.len()];
        let confusion = Confusion::at(&Classes::of(&self.goal, sample)?, base, &none)?;
        Ok(self.decisions(sample, &confusion, (base, &none), confidence))
    }

    /// The conditions, those on each class by itself.
    pub(crate) fn limits(&self) -> Vec<ClassCondition> {
        let each = |condition: &ClassCondition| -> Vec<ClassCondition> {
            let classes = match condition.rate.over {
                Over::Each => 0..self.goal.classes.len(),
                _ => return vec![*condition],
            };
            let of = |class| ClassRate { over: Over::Class(class), ..condition.rate };
            classes.map(|class| ClassCondition { rate: of(class), ..*condition }).collect()
        };
        self.goal.conditions.iter().flat_map(each).collect()
    }

    pub(super) fn unmet(&self, found: &Confusion) -> Vec<UnmetRecord> {
        let missed = |condition: &ClassCondition| {
            let observed = found.rate(condition.rate).filter(|_| found.missed(condition) > 0.0)?;
            let (rate, condition) = (self.goal.quantity(condition.rate), self.goal.condition(condition));
            Some(UnmetRecord { condition, rate, observed })
        };
        self.limits().iter().filter_map(missed).collect()
    }

    /// Rows that the goal's value rests on.
    pub(crate) fn behind_goal(&self, sample: &Sample) -> u64 {
        match &self.goal.objective {
            ClassObjective::Rate(rate) => behind(sample, rate.over),
            ClassObjective::Cost { .. } => sample.len() as u64,
        }
    }

    /// Decisions of scores at shifts, counted, as rates; with intervals where a confidence is given.
    pub(super) fn decisions(
        &self,
        sample: &Sample,
        found: &Confusion,
        (scores, shifts): (&[f32], &[f64]),
        confidence: Option<f64>,
    ) -> ClassDecisions {
        let count = self.goal.classes.len();
        let together = Together::of(sample, scores, shifts);
        let share = |rate: Rate, class: Option<usize>| -> Option<Bounds> {
            let confidence = confidence?;
            let (interval, method) = match class {
                _ if sample.together().is_some() => {
                    (together.as_ref()?.interval(rate, class, confidence)?, "bootstrap of entities")
                }
                Some(class) => (found.interval(rate, class, confidence).ok()?, "Clopper-Pearson"),
                None => (found.accuracy_interval(confidence).ok()?, "Clopper-Pearson"),
            };
            Some(Bounds { lower: interval.lower, upper: interval.upper, confidence, method })
        };
        let whole = |name: &str, value: Option<f64>, interval: Option<Bounds>| {
            let over = if name == "accuracy" { Over::All } else { Over::Worst };
            Some(Measure { name: name.to_owned(), value: value?, interval, examples: behind(sample, over) })
        };
        let decided = decided_as(scores, shifts);
        let all = ClassRate { rate: Rate::Accuracy, over: Over::All };
        let mean = |rate| found.rate(ClassRate { rate, over: Over::Mean });
        let overall = [
            whole("accuracy", found.rate(all), share(Rate::Accuracy, None)),
            whole("balanced-accuracy", mean(Rate::Recall), None),
            whole("worst(recall)", found.rate(ClassRate { rate: Rate::Recall, over: Over::Worst }), None),
            whole("macro-precision", mean(Rate::Precision), None),
            whole("macro-f1", mean(Rate::FBeta(1.0)), None),
            whole("weighted-precision", found.weighted(Rate::Precision), None),
            whole("weighted-f1", found.weighted(Rate::FBeta(1.0)), None),
        ];
        let rates =
            [Rate::Recall, Rate::Precision, Rate::FBeta(1.0), Rate::FalsePositiveRate, Rate::PositiveRate];
        let by_class = |class: usize| ClassRecord {
            class: self.goal.classes[class].clone(),
            rows: behind(sample, Over::Class(class)),
            rates: rates
                .iter()
                .filter_map(|rate| {
                    let name =
                        if *rate == Rate::PositiveRate { "coverage".to_owned() } else { rate.to_string() };
                    let value = rate.of(&found.counts(class))?;
                    let examples = match rate {
                        Rate::Precision => decided[class],
                        Rate::PositiveRate => sample.len() as u64,
                        Rate::FalsePositiveRate => sample.len() as u64 - behind(sample, Over::Class(class)),
                        _ => behind(sample, Over::Class(class)),
                    };
                    Some(Measure { name, value, interval: share(*rate, Some(class)), examples })
                })
                .collect(),
        };
        ClassDecisions {
            objective: found.objective(&self.goal),
            overall: overall.into_iter().flatten().collect(),
            matrix: (0..count).map(|y| (0..count).map(|class| found.of(y, class)).collect()).collect(),
            by_class: (0..count).map(by_class).collect(),
        }
    }

    /// What each condition costs on these rows: the goal's value without it, less its value.
    pub(crate) fn prices(&self, sample: &Sample, scores: &[f32], value: f64) -> Vec<PriceRecord> {
        let price = |at: usize| {
            let mut without = self.goal.clone();
            let condition = without.conditions.remove(at);
            // Where nothing else holds a rate of one class, the goal has no value.
            without.check().ok()?;
            let best = shift::best(&without, sample, scores, LOOKS).ok()?;
            Some(PriceRecord { condition: self.goal.condition(&condition), price: best.value - value })
        };
        (0..self.goal.conditions.len()).filter_map(price).collect()
    }
}

/// What to say of classes that some rows have none of.
pub(super) fn lacking(names: &[String], sample: &Sample, part: &str) -> Option<String> {
    let absent = |class: &usize| behind(sample, Over::Class(*class)) == 0;
    let absent: Vec<String> = (0..names.len()).filter(absent).map(|class| names[class].clone()).collect();
    (!absent.is_empty()).then(|| {
        format!(
            "{part} no rows of class {}: recalls over all classes are missing, precision and f1 over all count as 0 \
             there where rows are decided so",
            message::list(&absent)
        )
    })
}

/// Rows that a rate over some classes rests on: the fewest of a class that has any, where each of them counts alike.
pub(super) fn behind(sample: &Sample, over: Over) -> u64 {
    let Some(groups) = sample.groups() else { return 0 };
    let rows = |class: usize| groups.rows(class).len() as u64;
    match over {
        Over::All => sample.len() as u64,
        Over::Class(class) => rows(class),
        _ => (0..groups.names().len()).map(rows).filter(|rows| *rows > 0).min().unwrap_or(0),
    }
}

/// How many rows are decided as each class.
fn decided_as(scores: &[f32], shifts: &[f64]) -> Vec<u64> {
    let mut counts = vec![0; shifts.len()];
    scores.chunks_exact(shifts.len()).for_each(|scores| counts[decide(scores, shifts)] += 1);
    counts
}

/// Decisions on rows that come in entities, which are no independent draws.
struct Together<'a> {
    entities: &'a Entities,
    codes: &'a [u32],
    decided: Vec<u32>,
}

impl<'a> Together<'a> {
    fn of(sample: &'a Sample, scores: &[f32], shifts: &[f64]) -> Option<Self> {
        let (entities, codes) = (sample.together()?, sample.groups()?.codes());
        // Weighted shares have no interval of entities.
        if sample.weights().is_some() {
            return None;
        }
        let decided = scores.chunks_exact(shifts.len()).map(|scores| decide(scores, shifts) as u32);
        Some(Self { entities, codes, decided: decided.collect() })
    }

    /// The interval of a rate of a class against all others, or of the share that is right.
    fn interval(&self, rate: Rate, class: Option<usize>, confidence: f64) -> Option<Interval> {
        let rows = || self.codes.iter().zip(&self.decided);
        // What is right is the recall of rows that are all positive.
        let (rate, labels, margins): (Rate, Vec<bool>, Vec<bool>) = match class {
            Some(class) => (
                rate,
                self.codes.iter().map(|code| *code as usize == class).collect(),
                self.decided.iter().map(|code| *code as usize == class).collect(),
            ),
            None => (Rate::Recall, vec![true; self.codes.len()], rows().map(|(y, one)| y == one).collect()),
        };
        let margins: Vec<f32> = margins.iter().map(|yes| if *yes { 1.0 } else { -1.0 }).collect();
        let sample =
            Sample::new(labels).ok()?.with_entities(self.entities.column(), self.entities.of()).ok()?;
        interval::of_rate(rate, &sample, &margins, 0.0, confidence).ok()
    }
}
