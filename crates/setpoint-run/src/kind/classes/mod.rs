//! One of several classes: the largest of score minus shift.

mod rates;

use setpoint::Sample;
use setpoint::artifact::{self, ModelFile, Tensor, TensorData};
use setpoint::certify::monitor::{Certified, Known};
use setpoint::certify::{
    Certificate, apart, certifiable, certify_classes, class_drift, class_sequence, class_survives_mix,
};
use setpoint::class::{ClassProbability, Classes, Confusion, decide, shift, standard_error};
use setpoint::goal::{ClassCondition, ClassGoal, ClassObjective, Direction};
use setpoint::metric::Rows;
use setpoint::metric::interval::normal_quantile;
use setpoint_data::Codes;
use setpoint_report::{
    AtCondition, Bounds, CertificateRecord, ClassesRecord, EvaluateRecord, Measured as Measure,
    RecertifyRecord, ReportRecord, TrainRecord,
};

use super::threshold::{PROBABILITY, drift_record};
use super::{Decision, Decisions, Kind, Measured, Predicted, Rule};
use crate::class_scene;
use crate::examples::Loaded;
use crate::failure::Failure;
use crate::operate::Meant;
use crate::population;
use crate::report::Scene;
use crate::threshold::Scored;
use rates::{behind, lacking};

/// The tensor with the calibration rows decided as each class.
pub(crate) const DECIDED: &str = "sketch-decided";

/// Starts of a search for shifts that ship, and for what scores are worth.
const STARTS: usize = 10;
const LOOKS: usize = 4;
/// Of a new certificate: which rows its shifts are chosen on, and where their search starts.
const SEED: u64 = 0;

/// A goal of several classes, tied to a run.
pub(crate) struct Aim {
    pub(super) goal: ClassGoal,
}

/// Shifts, and the goal that they were chosen for.
#[derive(Clone, Debug, PartialEq)]
pub struct ByShift {
    /// The goal.
    pub goal: ClassGoal,
    /// One for each class; finite.
    pub shifts: Vec<f64>,
    /// The proof.
    pub certificate: Option<Certificate>,
    /// Why there is no proof.
    pub refused: Option<String>,
    /// The part they were chosen on.
    pub from: &'static str,
    /// Scores as probabilities.
    pub probability: Option<ClassProbability>,
    /// How many calibration rows were decided as each class; files of earlier versions have none.
    pub decided: Option<Vec<u64>>,
}

impl Kind for Aim {
    fn direction(&self) -> Direction {
        self.goal.objective.direction()
    }

    fn check(&self, loaded: &Loaded) -> Result<(), Failure> {
        for (_, part) in loaded.parts.iter() {
            if let Some(part) = part {
                Classes::of(&self.goal, &part.sample)?;
            }
        }
        Ok(())
    }

    fn value(&self, sample: &Sample, scores: &[f32]) -> Result<Option<f64>, Failure> {
        match shift::best(&self.goal, sample, scores, LOOKS) {
            Ok(found) => Ok(Some(found.value)),
            Err(error) if error.is_no_value() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn difference(&self, sample: &Sample, first: &[f32], second: &[f32], confidence: f64) -> Option<Bounds> {
        difference(&self.goal, sample, first, second, confidence).map(|(_, bounds)| bounds)
    }

    fn choose(
        &self,
        validation: Scored<'_>,
        calibration: Option<Scored<'_>>,
        confidence: Option<f64>,
        seed: u64,
    ) -> Result<Decision, Failure> {
        let part = calibration.unwrap_or(validation);
        let proved = match (confidence, calibration) {
            (None, _) => Err(None),
            (_, None) => Err(Some("there is no calibration part; give it a share with ‹split›".to_owned())),
            (Some(confidence), Some(calibration)) => {
                self.prove(validation, calibration, confidence, seed).map_err(|failure| Some(failure.message))
            }
        };
        let (shifts, certificate, refused) = match proved {
            Ok((shifts, certificate)) => (shifts, Some(certificate), None),
            Err(refused) => (self.chosen(part, seed)?, None, refused),
        };
        let mut decision = self.shipped(shifts, certificate, refused, part);
        decision.decided = decision.decided.filter(|_| calibration.is_some());
        Ok(Decision::Shift(decision))
    }
}

/// Shifts with a mean of zero, which decide the same.
fn centred(shifts: Vec<f64>) -> Vec<f64> {
    let mean = shifts.iter().sum::<f64>() / shifts.len() as f64;
    shifts.iter().map(|shift| shift - mean).collect()
}

impl Aim {
    /// The shifts that are best on some rows.
    fn chosen(&self, part: Scored<'_>, seed: u64) -> Result<Vec<f64>, Failure> {
        let found = shift::choose(&self.goal, part.sample, part.scores, STARTS, seed);
        let of = || format!("{} on the {} part", self.goal, part.name);
        Ok(centred(found.map_err(|error| Failure::from(error).context(of()))?.shifts))
    }

    /// Shifts with a proof on calibration rows.
    fn prove(
        &self,
        validation: Scored<'_>,
        part: Scored<'_>,
        confidence: f64,
        seed: u64,
    ) -> Result<(Vec<f64>, Certificate), Failure> {
        if self.goal.conditions.is_empty() {
            let first = self.goal.classes.first().map_or("", String::as_str);
            return Err(Failure::input(format!(
                "no condition to certify: give the goal one, such as recall({first:?})>=0.8"
            )));
        }
        let (goal, shifts) = (&self.goal, self.chosen(validation, seed)?);
        let sequence = class_sequence(goal, validation.sample, validation.scores, &shifts, confidence)?;
        let found = certify_classes(goal, part.sample, part.scores, &sequence, confidence)?;
        Ok((centred(found.shifts.clone()), found.certificate()))
    }

    /// What ships, with what is known of it from the rows of a part.
    fn shipped(
        &self,
        shifts: Vec<f64>,
        certificate: Option<Certificate>,
        refused: Option<String>,
        part: Scored<'_>,
    ) -> ByShift {
        let mut decision = ByShift {
            goal: self.goal.clone(),
            shifts,
            certificate,
            refused,
            from: part.name,
            probability: Some(ClassProbability::fit(part.sample, part.scores)),
            decided: None,
        };
        // Rows of one entity are no independent draws.
        decision.decided = part.sample.together().is_none().then(|| decision.shares(part.scores));
        decision
    }
}

/// How much better `first` is than `second`, each at its best shifts, by drawing rows again.
fn difference(
    goal: &ClassGoal,
    sample: &Sample,
    first: &[f32],
    second: &[f32],
    confidence: f64,
) -> Option<(f64, Bounds)> {
    let [a, b] = [first, second].map(|scores| shift::best(goal, sample, scores, LOOKS).ok());
    let (a, b) = (a?, b?);
    let classes = Classes::of(goal, sample).ok()?;
    let error = standard_error(goal, &classes, (first, &a.shifts), (second, &b.shifts), 0).ok()??;
    let (difference, room) = (a.value - b.value, normal_quantile(0.5 + confidence / 2.0) * error);
    let (lower, upper) = (difference - room, difference + room);
    Some((difference, Bounds { lower, upper, confidence, method: "paired bootstrap" }))
}

impl Rule for ByShift {
    fn from(&self) -> &'static str {
        self.from
    }

    fn certificate(&self) -> Option<&Certificate> {
        self.certificate.as_ref()
    }

    fn compares(&self) -> bool {
        true
    }

    fn describe(&self, run: &Measured<'_>, record: &mut TrainRecord) -> Result<(), Failure> {
        let confusions = run.pair(run.scores).try_map(|pair| match pair {
            Some((sample, scores)) => self.confusion(sample, scores).map(Some),
            None => Ok::<_, Failure>(None),
        })?;
        let pairs = run.pair(run.scores);
        let decided = pairs.zip(&confusions).map(|(pair, confusion)| {
            let (sample, scores) = (**pair)?;
            Some(self.decisions(sample, confusion.as_ref()?, (scores, &self.shifts), None))
        });
        let shown = run.pair(run.base).iter().filter_map(|(_, pair)| *pair).last();
        let plain = shown.map(|(sample, base)| self.plain(sample, base, None)).transpose()?;
        record.classes = Some(ClassesRecord {
            names: self.goal.classes.clone(),
            shifts: self.shifts.clone(),
            decided,
            plain,
            prices: Vec::new(),
        });
        record.operating = self.goal.to_string();
        record.constraint_names = self.limits().iter().map(|limit| self.goal.quantity(limit.rate)).collect();
        record.constraint = confusions.map(|found| {
            let rates = |found: &Confusion| self.limits().iter().map(|one| found.rate(one.rate)).collect();
            found.as_ref().map(rates)
        });
        let samples = run.pair(run.scores);
        let of = |pair: &Option<(&Sample, _)>, count: &dyn Fn(&Sample) -> u64| {
            pair.map_or(0, |(sample, _)| count(sample))
        };
        record.constraint_examples = samples.map(|pair| {
            self.limits().iter().map(|limit| of(pair, &|sample| behind(sample, limit.rate.over))).collect()
        });
        let parts = samples.iter().filter_map(|(name, pair)| Some((name, (*pair)?)));
        let lacking = |(name, (sample, _)): (&str, (&Sample, _))| {
            lacking(&self.goal.classes, sample, &format!("the {name} part has"))
        };
        record.notes.extend(parts.filter_map(lacking));
        record.examples = samples.map(|pair| of(pair, &|sample| self.behind_goal(sample)));
        record.unmet =
            confusions.map(|found| found.as_ref().map_or_else(Vec::new, |found| self.unmet(found)));
        record.certificate = self.certificate.clone().map(CertificateRecord::new);
        record.certificate_refused.clone_from(&self.refused);
        record.population = self.certificate.as_ref().and_then(|_| {
            let views = population::of_classes(self);
            population::compare(&views, run.loaded, run.scores, run.used_validation)
        });
        Ok(())
    }

    fn store(&self, file: &mut ModelFile) -> Result<(), Failure> {
        let costs = match &self.goal.objective {
            ClassObjective::Cost { table, .. } => table.clone(),
            ClassObjective::Rate(_) => Vec::new(),
        };
        let document = &mut file.document;
        *document = document.clone().with_decision(artifact::Decision::Classes {
            names: self.goal.classes.clone(),
            shifts: self.shifts.clone(),
            costs,
        });
        document.certificate = self.certificate.as_ref().map(serde_json::to_value).transpose()?;
        if let Some(ClassProbability { slope, shifts }) = &self.probability {
            let curve = [*slope].iter().chain(shifts).copied().collect();
            file.tensors.insert(PROBABILITY.to_owned(), Tensor::vector(TensorData::F64(curve)));
        }
        file.tensors.remove(DECIDED);
        if let Some(decided) = &self.decided {
            let counts = decided.iter().map(|count| *count as f64).collect();
            file.tensors.insert(DECIDED.to_owned(), Tensor::vector(TensorData::F64(counts)));
        }
        Ok(())
    }

    fn metrics(&self, record: &TrainRecord, part: &str) -> Vec<(String, f64)> {
        let decided = record.classes.as_ref().and_then(|classes| classes.decided.get(part)?.as_ref());
        let overall = decided.into_iter().flat_map(|decided| &decided.overall);
        overall.map(|one| (one.name.clone(), one.value)).collect()
    }

    fn as_trained(&self, _: Option<&[&str]>, sample: &Sample) -> Result<(Sample, Option<String>), Failure> {
        Classes::of(&self.goal, sample)?;
        Ok((sample.clone(), None))
    }

    fn measure(
        &self,
        text: &str,
        rows: &dyn Rows,
        base: Option<&[f32]>,
        confidence: f64,
    ) -> Result<EvaluateRecord, Failure> {
        let (sample, scores) = &rows.whole()?;
        let confusion = self.confusion(sample, scores)?;
        let decided = self.decisions(sample, &confusion, (&scores[..], &self.shifts), Some(confidence));
        let (at_condition, at_condition_refused) = match shift::best(&self.goal, sample, scores, LOOKS) {
            Ok(found) => {
                let examples = self.behind_goal(sample);
                (Some(AtCondition { value: found.value, interval: None, examples }), None)
            }
            Err(error) => (None, Some(error.to_string())),
        };
        let tested =
            self.certificate.as_ref().map(|one| class_drift(&self.goal, one, sample, scores, &self.shifts));
        let (drifts, drift_refused) = match tested {
            None => (Vec::new(), None),
            Some(Ok(drifts)) => (drifts, None),
            Some(Err(error)) => (Vec::new(), Some(error.to_string())),
        };
        Ok(EvaluateRecord {
            goal: text.to_owned(),
            operating: self.goal.to_string(),
            rows: sample.len() as u64,
            at_condition,
            at_condition_refused,
            at_threshold: decided.overall.clone(),
            unmet: self.unmet(&confusion),
            classes: Some(ClassesRecord {
                names: self.goal.classes.clone(),
                shifts: self.shifts.clone(),
                plain: base.map(|base| self.plain(sample, base, Some(confidence))).transpose()?,
                prices: Vec::new(),
                decided,
            }),
            certificate: self.certificate.clone().map(CertificateRecord::new),
            certificate_refused: self.refused.clone(),
            notes: lacking(&self.goal.classes, sample, "there are").into_iter().collect(),
            drift: drifts.iter().map(drift_record).collect(),
            drift_refused,
            ..EvaluateRecord::default()
        })
    }

    fn predict(&self, scores: &[f32], _: Option<&Codes>, _: Option<&[&str]>) -> Result<Predicted, Failure> {
        let names = &self.goal.classes;
        let of_class = |what: &str, values: &dyn Fn(usize) -> Vec<f32>| -> Vec<(String, Vec<f32>)> {
            names.iter().enumerate().map(|(class, name)| (format!("{what}({name})"), values(class))).collect()
        };
        let probabilities = self.probabilities(scores).map_or_else(Vec::new, |all| {
            let column = |class| all.iter().skip(class).step_by(names.len()).map(|p| *p as f32).collect();
            of_class("probability", &column)
        });
        let column = |class| scores.iter().skip(class).step_by(names.len()).copied().collect();
        Ok(Predicted {
            scores: of_class("score", &column),
            probabilities,
            decisions: Decisions::Class { names: names.clone(), of: self.decide(scores) },
            notes: Vec::new(),
        })
    }

    fn show(&self, scene: &Scene<'_>, record: &mut ReportRecord) -> Result<(), Failure> {
        class_scene::show(self, scene, record)
    }

    fn rates(&self, sample: &Sample, scores: &[f32], confidence: f64) -> Result<Vec<Measure>, Failure> {
        let confusion = self.confusion(sample, scores)?;
        Ok(self.decisions(sample, &confusion, (scores, &self.shifts), Some(confidence)).overall)
    }

    fn certified(&self) -> Option<Certified<'_>> {
        let certificate = self.certificate.as_ref()?;
        Some(Certified::Shifts { goal: &self.goal, certificate, shifts: &self.shifts })
    }

    fn known(&self) -> Option<Vec<Known>> {
        let counts = self.decided.clone()?;
        let total = counts.iter().sum();
        Some(vec![Known { counts, total }])
    }

    fn seen(&self, scores: &[f32], _: Option<&Codes>) -> Result<Vec<Vec<u64>>, Failure> {
        Ok(vec![self.shares(scores)])
    }

    fn hint(&self, _: usize, place: usize) -> (String, Option<f32>) {
        (format!("share decided as {}", self.goal.classes[place]), None)
    }

    fn recertify(
        &self,
        sample: &Sample,
        scores: &[f32],
        meant: &Meant,
        confidence: f64,
    ) -> Result<(Decision, RecertifyRecord), Failure> {
        if *meant != Meant::Themselves {
            return Err(Failure::input(
                "the model decides among several classes, and their certificates are for rows as they come: leave \
                 ‹inclusion›, ‹prevalence› and ‹unlabelled› out, and bring labelled rows of the new mix",
            ));
        }
        let (aim, classes) = (Aim { goal: self.goal.clone() }, self.shifts.len());
        let whole = Scored { name: "calibration", sample, scores };
        let now = match certifiable(&self.goal) {
            Ok(()) => {
                let parts = apart(sample, SEED).map(|rows| {
                    let of = |row: &u32| &scores[*row as usize * classes..][..classes];
                    (sample.select(&rows), rows.iter().flat_map(of).copied().collect::<Vec<f32>>())
                });
                let [first, rest] = &parts;
                let first = Scored { name: "first", sample: &first.0, scores: &first.1 };
                let rest = Scored { name: "calibration", sample: &rest.0, scores: &rest.1 };
                let (shifts, certificate) = aim.prove(first, rest, confidence, SEED)?;
                aim.shipped(shifts, Some(certificate), None, rest)
            }
            Err(error) => {
                let shifts = aim.chosen(whole, SEED)?;
                aim.shipped(shifts, None, Some(error.to_string()), whole)
            }
        };
        let (survive, depend): (Vec<_>, Vec<_>) =
            self.limits().into_iter().partition(|one| class_survives_mix(one.rate.rate));
        let names = |some: Vec<ClassCondition>| some.iter().map(|one| self.goal.condition(one)).collect();
        let record = RecertifyRecord {
            rows: sample.len() as u64,
            classes: self.goal.classes.clone(),
            shifts_before: self.shifts.clone(),
            shifts: now.shifts.clone(),
            certificate: now.certificate.clone().map(CertificateRecord::new),
            certificate_refused: now.refused.clone(),
            survives_mix: names(survive),
            depends_on_mix: names(depend),
            ..RecertifyRecord::default()
        };
        Ok((Decision::Shift(now), record))
    }
}

impl ByShift {
    /// The class of each row, by its place among the classes.
    #[must_use]
    pub fn decide(&self, scores: &[f32]) -> Vec<u32> {
        scores.chunks_exact(self.shifts.len()).map(|scores| decide(scores, &self.shifts) as u32).collect()
    }

    /// How many rows are decided as each class.
    fn shares(&self, scores: &[f32]) -> Vec<u64> {
        let mut counts = vec![0; self.shifts.len()];
        self.decide(scores).into_iter().for_each(|class| counts[class as usize] += 1);
        counts
    }

    /// The probabilities of each row's classes, next to each other; none where the file has none.
    #[must_use]
    pub fn probabilities(&self, scores: &[f32]) -> Option<Vec<f64>> {
        let curve = self.probability.as_ref()?;
        let (count, mut all) = (self.shifts.len(), vec![0.0; scores.len()]);
        let rows = scores.chunks_exact(count).zip(all.chunks_exact_mut(count));
        rows.for_each(|(scores, out)| curve.of(scores, out));
        Some(all)
    }

    /// The comparison's interval, for reports.
    pub(crate) fn difference(
        &self,
        sample: &Sample,
        first: &[f32],
        second: &[f32],
        confidence: f64,
    ) -> Option<Bounds> {
        difference(&self.goal, sample, first, second, confidence).map(|(_, bounds)| bounds)
    }

    /// The value of other scores on the same rows.
    pub(crate) fn value(&self, sample: &Sample, scores: &[f32]) -> Option<f64> {
        shift::best(&self.goal, sample, scores, LOOKS).ok().map(|found| found.value)
    }
}
