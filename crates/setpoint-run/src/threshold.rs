//! The thresholds that ship: certified where held-out data can prove them, else exact.

use std::borrow::Cow;

use setpoint::certify::{
    Certificate, CertifyError, CertifyOptions, FrontierOptions, certify, certify_along, frontier,
    needs_frontier, sequence,
};
use setpoint::goal::Goal;
use setpoint::message::{list, quote};
use setpoint::metric::{About, MetricError, Rows};
use setpoint::problem::ProblemOptions;
use setpoint::sample::Groups;
use setpoint::threshold::{ThresholdError, exact};
use setpoint::{Sample, artifact};

use crate::failure::Failure;
use crate::group::{POOL, known_as};

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
    /// What takes its place where rows come in too few entities for a proof: limits that hold about
    /// as often as was asked for.
    pub approximate: Option<Certificate>,
    /// Why there is no proof.
    pub refused: Option<String>,
    /// The part they were chosen on.
    pub from: &'static str,
}

impl Shipped {
    /// Chooses the thresholds of an operating goal.
    ///
    /// On the calibration part, certified; where that is refused, approximate there if its rows come in
    /// entities, else exact there; without a calibration part, exact on validation.
    pub fn choose(
        goal: &Goal,
        validation: Scored<'_>,
        calibration: Option<Scored<'_>>,
        confidence: Option<f64>,
    ) -> Result<Self, Failure> {
        let refused = match Self::held_out(goal, false, validation, calibration, confidence) {
            Ok(shipped) => return Ok(shipped),
            Err(reason) => reason,
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
        Ok(Self { thresholds, groups, certificate: None, approximate: None, refused, from: part.name })
    }

    /// Chooses the one threshold that all groups share.
    ///
    /// On the calibration part where it can be certified there, or nearly so. Else on validation, on which
    /// training made the model meet the conditions on groups: on other rows one threshold cannot mend them.
    pub fn choose_shared(
        goal: &Goal,
        validation: Scored<'_>,
        calibration: Option<Scored<'_>>,
        confidence: Option<f64>,
    ) -> Result<Self, Failure> {
        match Self::held_out(goal, true, validation, calibration, confidence) {
            Ok(shipped) => {
                let thresholds = shipped.thresholds[..1].to_vec();
                Ok(Self { thresholds, groups: None, ..shipped })
            }
            Err(refused) => {
                let (thresholds, from) = (solve(goal, true, validation)?, validation.name);
                Ok(Self { thresholds, groups: None, certificate: None, approximate: None, refused, from })
            }
        }
    }

    /// Thresholds that held-out rows prove, or make likely where they come in too few entities; or why
    /// there are none, where some were asked for.
    fn held_out(
        goal: &Goal,
        shared_threshold: bool,
        validation: Scored<'_>,
        calibration: Option<Scored<'_>>,
        confidence: Option<f64>,
    ) -> Result<Self, Option<String>> {
        let confidence = confidence.ok_or(None)?;
        let part = calibration
            .ok_or_else(|| Some("there is no calibration part; give it a share with ‹split›".to_owned()))?;
        let prove = |approximate| prove(goal, shared_threshold, validation, part, confidence, approximate);
        let error = match prove(false) {
            Ok(certificate) => {
                return Ok(Self {
                    certificate: Some(certificate.clone()),
                    ..Self::of(certificate, part.name)
                });
            }
            Err(error) => error.to_string(),
        };
        match prove(true) {
            Ok(limits) if limits.is_approximate() => Ok(Self {
                approximate: Some(limits.clone()),
                refused: Some(error),
                ..Self::of(limits, part.name)
            }),
            _ => Err(Some(error)),
        }
    }

    /// The thresholds of a certificate, without it.
    pub(crate) fn of(certificate: Certificate, from: &'static str) -> Self {
        let Certificate { column, groups: names, thresholds, .. } = certificate;
        let groups = column.map(|column| artifact::Groups { column, names });
        Self { thresholds, groups, certificate: None, approximate: None, refused: None, from }
    }

    /// How far each score is above its threshold: positive decisions are those of 0 or more.
    pub fn margins(&self, sample: &Sample, scores: &[f32]) -> Result<Vec<f32>, Failure> {
        Ok(self.over(&(sample, scores))?.of(sample, scores))
    }

    /// The same of rows wherever they are.
    pub fn over<'a>(&'a self, rows: &'a dyn Rows) -> Result<Margins<'a>, Failure> {
        let by_code = self.groups.as_ref().map(|groups| {
            let found = rows.about().groups.filter(|(column, _)| *column == groups.column);
            let (column, names) = found.ok_or_else(|| self.no_groups(&groups.column))?;
            names.iter().map(|name| self.of_group(column, name)).collect::<Result<_, _>>()
        });
        Ok(Margins { rows, thresholds: &self.thresholds, by_code: by_code.transpose()? })
    }

    fn no_groups(&self, column: &str) -> Failure {
        Failure::input(format!(
            "the model has thresholds by {column:?} and the data has no such groups; give the group of each row with ‹group›"
        ))
    }

    /// The threshold of a group.
    pub fn of_group(&self, column: &str, name: &str) -> Result<f32, Failure> {
        Ok(self.thresholds[self.place_of(column, name)?])
    }

    /// Which of the thresholds is that of a group.
    pub fn place_of(&self, column: &str, name: &str) -> Result<usize, Failure> {
        let Some(groups) = &self.groups else { return Ok(0) };
        let place = |name: &str| {
            let known = known_as(name, &groups.names)?;
            groups.names.iter().position(|other| other == known)
        };
        place(name).or_else(|| place(POOL)).ok_or_else(|| {
            Failure::input(format!(
                "group {} of column {}: the model has no threshold for it; it knows {}",
                quote(name),
                quote(column),
                list(&groups.names)
            ))
        })
    }
}

/// Rows with the margins of their scores in the place of these.
pub struct Margins<'a> {
    rows: &'a dyn Rows,
    thresholds: &'a [f32],
    by_code: Option<Vec<f32>>,
}

impl Margins<'_> {
    fn of(&self, sample: &Sample, scores: &[f32]) -> Vec<f32> {
        let codes = sample.groups().map_or(&[][..], Groups::codes);
        margins(scores, self.thresholds, self.by_code.as_ref().map(|by_code| (&by_code[..], codes)))
    }
}

impl Rows for Margins<'_> {
    fn about(&self) -> About<'_> {
        self.rows.about()
    }

    fn each(&self, take: &mut dyn FnMut(&Sample, &[f32])) {
        self.rows.each(&mut |sample, scores| take(sample, &self.of(sample, scores)));
    }

    fn whole(&self) -> Result<(Cow<'_, Sample>, Cow<'_, [f32]>), MetricError> {
        let (sample, scores) = self.rows.whole()?;
        let margins = self.of(&sample, &scores);
        Ok((sample, Cow::Owned(margins)))
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
    approximate: bool,
) -> Result<Certificate, CertifyError> {
    if needs_frontier(goal) {
        let options = FrontierOptions { confidence, shared_threshold, inclusion: None };
        let candidates = frontier(goal, validation.sample, validation.scores, &options)?;
        return certify_along(goal, &candidates, calibration.sample, calibration.scores, &options);
    }
    let delta = (1.0 - confidence) / goal.constraints.len().max(1) as f64;
    let options = CertifyOptions {
        objective: Some(goal.objective.clone()),
        grid: sequence(&goal.constraints, validation.sample, validation.scores, delta).unwrap_or_default(),
        shared_threshold,
        approximate,
        ..CertifyOptions::new(confidence)
    };
    certify(&goal.constraints, calibration.sample, calibration.scores, &options)
}

pub(crate) fn solve(goal: &Goal, shared_threshold: bool, part: Scored<'_>) -> Result<Vec<f32>, Failure> {
    let options = ProblemOptions { shared_threshold, ..ProblemOptions::default() };
    let found = exact::solve(goal, part.sample, part.scores, &options);
    let found = found.map_err(|error: ThresholdError| {
        Failure::from(error).context(format!("{goal} on the {} part", part.name))
    })?;
    Ok(found.thresholds.iter().map(|threshold| threshold.clamp(f32::MIN, f32::MAX)).collect())
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
    fn validation_finds_where_to_test_precision() {
        let goal: Goal = "recall @ precision>=0.8".parse().unwrap();
        let (sample, scores) = scored(4000, 1);
        let validation = Scored { name: "validation", sample: &sample, scores: &scores };
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
    fn too_few_entities_leave_an_approximate_limit_and_the_reason() {
        let goal: Goal = "recall @ fpr<=10%".parse().unwrap();
        let (sample, scores) = scored(400, 3);
        let codes: Vec<u32> = (0..400).map(|row| row / 20).collect();
        let sample = sample.with_entities("who", &codes).unwrap();
        let part = Scored { name: "calibration", sample: &sample, scores: &scores };
        let shipped = Shipped::choose(&goal, part, Some(part), Some(0.95)).unwrap();
        let reason = shipped.refused.unwrap();
        assert!(reason.starts_with("20 entities (column \"who\", up to "), "{reason}");
        assert!(reason.contains("cannot certify fpr <= 10% at 95% confidence; at least "), "{reason}");
        let limits = shipped.approximate.unwrap();
        assert!(shipped.certificate.is_none() && limits.thresholds == shipped.thresholds);
        let text = limits.to_string();
        assert!(text.starts_with("approximate, not certified: meant for 95% confidence on 400"), "{text}");
        let exact = solve(&goal, false, part).unwrap();
        assert!(exact[0] < shipped.thresholds[0], "{exact:?} {:?}", shipped.thresholds);
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
