//! The thresholds that ship: certified where held-out data can prove them, else exact.

use setpoint::certify::{Certificate, CertifyOptions, certify};
use setpoint::goal::{Constraint, Goal, Rate, Relation, safe_side};
use setpoint::metric::interval::{lower_tail, upper_tail};
use setpoint::metric::{Cuts, MetricError};
use setpoint::problem::ProblemOptions;
use setpoint::sample::Groups;
use setpoint::threshold::{ThresholdError, exact};
use setpoint::{Sample, artifact};

use crate::failure::Failure;
use crate::group::POOL;

/// Most thresholds of the sequence on which precision and its like are tested.
const GRID: usize = 100;

/// A part with the model's scores on it.
#[derive(Clone, Copy)]
pub struct Scored<'a> {
    /// Which part.
    pub name: &'static str,
    /// Labels, weights, groups.
    pub sample: &'a Sample,
    /// One score for each.
    pub scores: &'a [f32],
}

/// The thresholds of a model and what is known about them.
#[derive(Clone, Debug, PartialEq)]
pub struct Shipped {
    /// One, or one for each group; finite.
    pub thresholds: Vec<f32>,
    /// The groups.
    pub groups: Option<artifact::Groups>,
    /// The proof.
    pub certificate: Option<Certificate>,
    /// Why there is none.
    pub refused: Option<String>,
    /// The part they were chosen on.
    pub from: &'static str,
}

impl Shipped {
    /// Chooses the thresholds of an operating goal.
    ///
    /// On the calibration part, certified; where that is refused, exact there; without a
    /// calibration part, exact on validation.
    pub fn choose(
        goal: &Goal,
        validation: Scored<'_>,
        calibration: Option<Scored<'_>>,
        confidence: Option<f64>,
    ) -> Result<Self, Failure> {
        let refused = match (calibration, confidence) {
            (Some(part), Some(confidence)) => match prove(goal, false, validation, part, confidence) {
                Ok(certificate) => return Ok(Self::certified(certificate, part.name)),
                Err(error) => Some(error.to_string()),
            },
            (None, Some(_)) => Some("there is no calibration part; give it a share with --split".to_owned()),
            (_, None) => None,
        };
        let part = calibration.unwrap_or(validation);
        let thresholds = solve(goal, false, part)?;
        let groups = part
            .sample
            .groups()
            .filter(|groups| goal.column().is_some() && groups.names().len() == thresholds.len())
            .map(|groups| artifact::Groups {
                column: groups.column().to_owned(),
                names: groups.names().to_vec(),
            });
        Ok(Self { thresholds, groups, certificate: None, refused, from: part.name })
    }

    /// Chooses the one threshold that all groups share.
    ///
    /// On the calibration part where it can be certified there. Else on validation, on which training
    /// made the model meet the conditions on groups: on other rows one threshold cannot mend them.
    pub fn choose_shared(
        goal: &Goal,
        validation: Scored<'_>,
        calibration: Option<Scored<'_>>,
        confidence: Option<f64>,
    ) -> Result<Self, Failure> {
        let refused = match (calibration, confidence) {
            (Some(part), Some(confidence)) => match prove(goal, true, validation, part, confidence) {
                Ok(certificate) => {
                    let certified = Self::certified(certificate, part.name);
                    let thresholds = certified.thresholds[..1].to_vec();
                    return Ok(Self { thresholds, groups: None, ..certified });
                }
                Err(error) => Some(error.to_string()),
            },
            (None, Some(_)) => Some("there is no calibration part; give it a share with --split".to_owned()),
            (_, None) => None,
        };
        let thresholds = solve(goal, true, validation)?;
        Ok(Self { thresholds, groups: None, certificate: None, refused, from: validation.name })
    }

    fn certified(certificate: Certificate, from: &'static str) -> Self {
        let groups = certificate
            .column
            .clone()
            .map(|column| artifact::Groups { column, names: certificate.groups.clone() });
        let thresholds = certificate.thresholds.clone();
        Self { thresholds, groups, certificate: Some(certificate), refused: None, from }
    }

    /// How far each score is above its threshold: positive decisions are those of 0 or more.
    pub fn margins(&self, sample: &Sample, scores: &[f32]) -> Result<Vec<f32>, Failure> {
        let of_row = match &self.groups {
            None => None,
            Some(groups) => {
                let found = sample.groups().filter(|found| found.column() == groups.column);
                let found = found.ok_or_else(|| {
                    Failure::input(format!(
                        "the model has thresholds by {:?} and the data has no such groups; name the column with --group",
                        groups.column
                    ))
                })?;
                Some((self.by_code(found)?, found.codes()))
            }
        };
        Ok(margins(scores, &self.thresholds, of_row.as_ref().map(|(by, codes)| (by.as_slice(), *codes))))
    }

    fn by_code(&self, found: &Groups) -> Result<Vec<f32>, Failure> {
        found.names().iter().map(|name| self.of_group(found.column(), name)).collect()
    }

    /// The threshold of a group.
    pub fn of_group(&self, column: &str, name: &str) -> Result<f32, Failure> {
        let Some(groups) = &self.groups else { return Ok(self.thresholds[0]) };
        let place = |name: &str| groups.names.iter().position(|other| other == name);
        match place(name).or_else(|| place(POOL)) {
            Some(place) => Ok(self.thresholds[place]),
            None => Err(Failure::input(format!(
                "group {name:?} of column {column:?}: the model has no threshold for it; it knows {}",
                groups.names.join(", ")
            ))),
        }
    }
}

/// Scores less their thresholds, which compare with 0 as the scores with the thresholds.
pub fn margins(scores: &[f32], thresholds: &[f32], of_row: Option<(&[f32], &[u32])>) -> Vec<f32> {
    // Subnormal differences are exact, so `s - t >= 0` is `s >= t`; only overflow needs care.
    let margin = |score: f32, threshold: f32| (score - threshold).clamp(f32::MIN, f32::MAX);
    match of_row {
        None => scores.iter().map(|score| margin(*score, thresholds[0])).collect(),
        Some((by_code, codes)) => {
            scores.iter().zip(codes).map(|(score, code)| margin(*score, by_code[*code as usize])).collect()
        }
    }
}

fn prove(
    goal: &Goal,
    shared_threshold: bool,
    validation: Scored<'_>,
    calibration: Scored<'_>,
    confidence: f64,
) -> Result<Certificate, setpoint::certify::CertifyError> {
    let delta = (1.0 - confidence) / goal.constraints.len().max(1) as f64;
    let options = CertifyOptions {
        objective: Some(goal.objective.clone()),
        grid: grid(goal, validation, delta).unwrap_or_default(),
        shared_threshold,
        ..CertifyOptions::new(confidence)
    };
    certify(&goal.constraints, calibration.sample, calibration.scores, &options)
}

fn solve(goal: &Goal, shared_threshold: bool, part: Scored<'_>) -> Result<Vec<f32>, Failure> {
    let options = ProblemOptions { shared_threshold, ..ProblemOptions::default() };
    let found = exact::solve(goal, part.sample, part.scores, &options);
    let found = found.map_err(|error: ThresholdError| {
        Failure::from(error).context(format!("{goal} on the {} part", part.name))
    })?;
    Ok(found.thresholds.iter().map(|threshold| threshold.clamp(f32::MIN, f32::MAX)).collect())
}

/// Thresholds, from validation scores, on which to test a condition on precision or its like.
///
/// A fixed sequence ends at its first failure, so it starts where validation passes the test most
/// clearly, and goes on towards looser thresholds as far as validation meets the target at all.
/// `None` where no condition needs one: then, and with groups, the certificate has its own grid.
fn grid(goal: &Goal, validation: Scored<'_>, delta: f64) -> Result<Option<Vec<f32>>, MetricError> {
    let mut tested = goal.constraints.iter().filter_map(predictive);
    let Some((rate, side, target)) = tested.next() else { return Ok(None) };
    if tested.next().is_some() || goal.column().is_some() || validation.sample.weights().is_some() {
        return Ok(None);
    }
    let upper = matches!(rate, Rate::Precision | Rate::FalseDiscoveryRate);
    let cuts = Cuts::new(validation.sample, validation.scores)?;
    // Cut i predicts the i highest distinct scores positive: strict to loose for precision, the
    // other way round for npv.
    let mut order: Vec<usize> = (1..cuts.len()).collect();
    if !upper {
        order.reverse();
    }
    let (examples, good) = shares(&cuts, upper);
    let p_value = |cut: usize| match side {
        Relation::AtMost => lower_tail(examples[cut], examples[cut] - good[cut], target),
        _ => upper_tail(examples[cut], good[cut], target),
    };
    let meets = |cut: usize| {
        let (good, all) = (good[cut] as f64, examples[cut] as f64);
        all > 0.0
            && if side == Relation::AtMost { (all - good) / all <= target } else { good / all >= target }
    };
    let known: Vec<usize> = order.iter().copied().filter(|cut| examples[*cut] > 0).collect();
    // A thousand places are looked at, evenly by rank.
    let step = known.len().div_ceil(1000).max(1);
    let Some(start) = (0..known.len())
        .step_by(step)
        .min_by(|a, b| p_value(known[*a]).total_cmp(&p_value(known[*b])).then(a.cmp(b)))
    else {
        return Ok(None);
    };
    if p_value(known[start]) > delta.sqrt() {
        return Ok(None);
    }
    let end = (start..known.len()).rev().find(|place| meets(known[*place])).unwrap_or(start);
    let step = (end - start).div_ceil(GRID).max(1);
    let grid = (start..=end).step_by(step).map(|place| cuts.threshold(known[place]));
    Ok(Some(grid.filter(|threshold| threshold.is_finite()).collect()))
}

/// The predicted examples of each cut, and how many of them are right.
fn shares(cuts: &Cuts, upper: bool) -> (Vec<u64>, Vec<u64>) {
    let (positives, negatives) = (cuts.positives(), cuts.negatives());
    (0..cuts.len())
        .map(|cut| {
            let (tp, fp) = (cuts.true_positives()[cut], cuts.false_positives()[cut]);
            if upper {
                ((tp + fp) as u64, tp as u64)
            } else {
                ((positives - tp + negatives - fp) as u64, (negatives - fp) as u64)
            }
        })
        .unzip()
}

/// The condition's rate, side and target, if it is a share of predicted examples.
fn predictive(constraint: &Constraint) -> Option<(Rate, Relation, f64)> {
    let Constraint::Rate { rate, relation, target } = constraint else { return None };
    let side = if *relation == Relation::Equal { safe_side(*rate) } else { *relation };
    matches!(
        rate,
        Rate::Precision | Rate::FalseDiscoveryRate | Rate::NegativePredictiveValue | Rate::FalseOmissionRate
    )
    .then_some((*rate, side, *target))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scores in 0..1; the chance of a positive grows with the score.
    fn scored(rows: usize, salt: u64) -> (Sample, Vec<f32>) {
        let mut state = salt;
        let mut random = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as f32 / (1u64 << 31) as f32
        };
        let scores: Vec<f32> = (0..rows).map(|_| random()).collect();
        let labels = scores.iter().map(|score| random() < score * score).collect();
        (Sample::new(labels).unwrap(), scores)
    }

    #[test]
    fn the_grid_starts_where_validation_passes_and_finds_a_certificate() {
        let goal: Goal = "recall @ precision>=0.8".parse().unwrap();
        let (sample, scores) = scored(4000, 1);
        let validation = Scored { name: "validation", sample: &sample, scores: &scores };
        let grid = grid(&goal, validation, 0.05).unwrap().unwrap();
        assert!(grid.len() > 10 && grid.len() <= GRID + 1, "{}", grid.len());
        let (sample, scores) = scored(4000, 2);
        let calibration = Scored { name: "calibration", sample: &sample, scores: &scores };
        let shipped = Shipped::choose(&goal, validation, Some(calibration), Some(0.95)).unwrap();
        assert!(shipped.certificate.is_some(), "{:?}", shipped.refused);
        // Precision above s is the mean of x^2 over s..1: at least 0.8 from about s = 0.78 on.
        assert!(shipped.thresholds[0] > 0.76 && shipped.thresholds[0] < 0.9, "{:?}", shipped.thresholds);
    }

    #[test]
    fn a_refused_certificate_leaves_the_exact_threshold_and_the_reason() {
        let goal: Goal = "recall @ fpr<=0.1%".parse().unwrap();
        let (sample, scores) = scored(300, 3);
        let part = Scored { name: "calibration", sample: &sample, scores: &scores };
        let shipped = Shipped::choose(&goal, part, Some(part), Some(0.95)).unwrap();
        assert!(shipped.certificate.is_none());
        assert!(shipped.refused.unwrap().contains("at least 2995 are needed"));
        assert!(shipped.thresholds[0].is_finite());
    }

    #[test]
    fn margins_decide_as_thresholds_do() {
        let tiny = f32::from_bits(1);
        for (score, threshold) in
            [(1.0, 1.0), (tiny, 0.0), (0.0, tiny), (f32::MAX, f32::MIN), (f32::MIN, f32::MAX), (-0.0, 0.0)]
        {
            let margin = margins(&[score], &[threshold], None)[0];
            assert!(margin.is_finite());
            assert_eq!(margin >= 0.0, score >= threshold, "{score} {threshold}");
        }
    }
}
