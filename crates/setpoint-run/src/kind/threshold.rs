//! Positive or negative: one score against thresholds.

use setpoint::Sample;
use setpoint::artifact::{ModelFile, Tensor, TensorData};
use setpoint::certify::monitor::{Certified, Known, Sketch};
use setpoint::certify::{Certificate, Drift, Verdict, drift_of, frontier_drift, needs_frontier};
use setpoint::goal::{Constraint, Direction, Goal, Top};
use setpoint::metric::{Rows, confusion};
use setpoint::train::{Judge, MethodChoice};
use setpoint_data::Codes;
use setpoint_report::{
    Bounds, ByPart, CertificateRecord, Confusion, DriftRecord, EvaluateRecord, GroupRecord, GroupsRecord,
    Measured as Rate, RecertifyRecord, ReportRecord, TrainRecord, decided_alike, widened,
};

use super::{ByBand, Decision, Decisions, Kind, Measured, Predicted, Rule};
use crate::examples::Loaded;
use crate::failure::Failure;
use crate::group::{POOL, check_sizes, pool_others, spell_as, strangers};
use crate::interval::{Measurer, RATES, SHARES};
use crate::operate::{Meant, recertify};
use crate::probability::Probability;
use crate::report::Scene;
use crate::threshold::{Scored, Shipped, margins};
use crate::train::Job;
use crate::{measure, population, scene};

/// The tensor with slope and intercept of the probabilities.
pub(crate) const PROBABILITY: &str = "probability";
/// The tensors with the sketch of the calibration scores: its edges, then negatives and positives in each cell and
/// the rows decided positive.
pub(crate) const SKETCH: [&str; 2] = ["sketch-edges", "sketch-counts"];

/// A goal of two classes, tied to a run.
pub(crate) struct Aim {
    /// As it was asked for.
    pub(super) asked: Goal,
    /// The same with `k=` as a fraction.
    pub(super) goal: Goal,
    pub(super) shared_threshold: bool,
}

/// Thresholds, and the goal that they were chosen for.
#[derive(Clone, Debug, PartialEq)]
pub struct ByThreshold {
    /// The goal, `k=` as a fraction of the rows it was trained for.
    pub goal: Goal,
    /// Whether groups share one threshold.
    pub shared_threshold: bool,
    /// The thresholds.
    pub shipped: Shipped,
    /// Scores as probabilities; files of earlier versions have none.
    pub probability: Option<Probability>,
    /// The scores of the calibration part in few numbers; files of earlier versions have none.
    pub sketch: Option<Sketch>,
}

impl Kind for Aim {
    fn direction(&self) -> Direction {
        self.goal.objective.direction()
    }

    fn check(&self, loaded: &Loaded) -> Result<(), Failure> {
        check_sizes(&self.asked, &loaded.parts)?;
        check_top(&self.asked, loaded)
    }

    fn value(&self, sample: &Sample, scores: &[f32]) -> Result<Option<f64>, Failure> {
        let shared_threshold = self.shared_threshold;
        Ok(Judge { shared_threshold, ..Judge::new(&self.goal, sample) }.value(scores)?)
    }

    fn difference(&self, sample: &Sample, first: &[f32], second: &[f32], confidence: f64) -> Option<Bounds> {
        Measurer { confidence }.difference(&self.goal, self.shared_threshold, sample, first, second)
    }

    fn choose(
        &self,
        validation: Scored<'_>,
        calibration: Option<Scored<'_>>,
        confidence: Option<f64>,
        _: u64,
    ) -> Result<Decision, Failure> {
        let choose = if self.shared_threshold { Shipped::choose_shared } else { Shipped::choose };
        let shipped = choose(&self.goal.operating(), validation, calibration, confidence)?;
        let part = calibration.unwrap_or(validation);
        if self.goal.abstains() {
            let probability = Some(Probability::fit(part.sample, part.scores));
            let band = ByBand { goal: self.goal.clone(), shipped, probability, sketch: None };
            return Ok(Decision::Band(match calibration {
                Some(part) => band.sketched(part.sample, part.scores),
                None => band,
            }));
        }
        let sketch = match calibration {
            Some(part) => {
                let margins = shipped.margins(part.sample, part.scores)?;
                Sketch::of(part.sample, part.scores, positive(&margins))
            }
            None => None,
        };
        Ok(Decision::Threshold(ByThreshold {
            goal: self.goal.clone(),
            shared_threshold: self.shared_threshold,
            shipped,
            probability: Some(Probability::fit(part.sample, part.scores)),
            sketch,
        }))
    }
}

/// Rows that are decided positive.
pub(crate) fn positive(margins: &[f32]) -> u64 {
    margins.iter().filter(|margin| **margin >= 0.0).count() as u64
}

/// What a hint is about: a share of decisions, or scores, and from which one on.
pub(super) fn hint(
    sketch: Option<&Sketch>,
    share: &str,
    known: usize,
    place: usize,
) -> (String, Option<f32>) {
    match known {
        0 => (share.to_owned(), None),
        _ => ("scores".to_owned(), sketch.and_then(|one| one.edges.get(place).copied())),
    }
}

/// Puts thresholds and what is known of them into a model file.
pub(super) fn store_thresholds(
    shipped: &Shipped,
    probability: Option<Probability>,
    sketch: Option<&Sketch>,
    file: &mut ModelFile,
) -> Result<(), Failure> {
    let document = &mut file.document;
    document.thresholds.clone_from(&shipped.thresholds);
    document.groups.clone_from(&shipped.groups);
    document.certificate = shipped.certificate.as_ref().map(serde_json::to_value).transpose()?;
    document.approximate = shipped.approximate.as_ref().map(serde_json::to_value).transpose()?;
    if let Some(Probability { slope, intercept }) = probability {
        let curve = Tensor::vector(TensorData::F64(vec![slope, intercept]));
        file.tensors.insert(PROBABILITY.to_owned(), curve);
    }
    for name in SKETCH {
        file.tensors.remove(name);
    }
    if let Some(sketch) = sketch {
        let counts = sketch.counts.iter().flatten().chain([&sketch.decided]).map(|count| *count as f64);
        let numbers = [TensorData::F32(sketch.edges.clone()), TensorData::F64(counts.collect())];
        for (name, data) in SKETCH.into_iter().zip(numbers) {
            file.tensors.insert(name.to_owned(), Tensor::vector(data));
        }
    }
    Ok(())
}

/// Refuses a `k=` that takes every row it is asked of.
fn check_top(goal: &Goal, loaded: &Loaded) -> Result<(), Failure> {
    let rows = Job::rows_scored(loaded);
    let part = if loaded.parts.test.is_some() { "test" } else { "validation" };
    for constraint in &goal.constraints {
        if let Constraint::Top(Top::Count { k, of: None }) = constraint
            && *k >= rows
        {
            return Err(Failure::input(format!(
                "k={k} takes every row of the {part} part, which has {rows}: whatever the model, precision there is \
                 the share of positives; ask for fewer, or say how many rows will be scored, as in k={k} of {}",
                k.saturating_mul(10)
            )));
        }
    }
    Ok(())
}

impl Rule for ByThreshold {
    fn from(&self) -> &'static str {
        self.shipped.from
    }

    fn certificate(&self) -> Option<&Certificate> {
        self.shipped.certificate.as_ref()
    }

    fn describe(&self, run: &Measured<'_>, record: &mut TrainRecord) -> Result<(), Failure> {
        let (operating, shipped) = (&self.goal.operating(), &self.shipped);
        let names = run.samples.train.as_ref().and_then(|sample| sample.groups());
        let names = names
            .filter(|_| operating.column().is_some())
            .map_or(Vec::new(), |groups| groups.names().to_vec());
        let names = shipped.groups.as_ref().map_or(names, |groups| groups.names.clone());
        let margins = run.pair(run.scores).try_map(|pair| match pair {
            Some((sample, scores)) => shipped.margins(sample, scores).map(Some),
            None => Ok(None),
        })?;
        let decided = run.pair(&margins);
        (record.group_rates, record.group_rates_from) = group_rates(run.job, &decided, shipped)?;
        record.shipped = decided.try_map(|pair| match pair {
            Some((sample, margins)) => measure::shipped(operating, sample, margins).map(Some),
            None => Ok::<_, Failure>(None),
        })?;
        let confidence = run.job.confidence.unwrap_or(0.95);
        record.money = decided.try_map(|pair| match pair {
            Some((sample, margins)) => measure::money(operating, sample, margins, Some(confidence)),
            None => Ok::<_, Failure>(None),
        })?;
        record.unmet = decided.try_map(|pair| match pair {
            Some(margins) => measure::unmet(operating, &names, margins),
            None => Ok::<_, Failure>(Vec::new()),
        })?;
        record.constraint = decided.try_map(|pair| match pair {
            Some(margins) => measure::conditions(operating, &names, margins).map(Some),
            None => Ok::<_, Failure>(None),
        })?;
        record.constraint_names = measure::condition_names(operating, &names);
        record.constraint_examples = decided
            .map(|pair| pair.map_or_else(Vec::new, |margins| measure::examples(operating, &names, &margins)));
        record.examples = decided.map(|pair| pair.map_or(0, |margins| measure::support(&margins).behind("")));
        record.operating = operating.to_string();
        record.thresholds.clone_from(&shipped.thresholds);
        record.groups = shipped
            .groups
            .as_ref()
            .map(|groups| GroupsRecord { column: groups.column.clone(), names: groups.names.clone() });
        record.group_conditions_met_by = met_by(run.job, &self.goal);
        record.certificate = shipped.certificate.clone().map(CertificateRecord::new);
        record.approximate = shipped.approximate.clone().map(CertificateRecord::new);
        record.certificate_refused.clone_from(&shipped.refused);
        record.population = shipped.certificate.as_ref().and_then(|_| {
            let views = population::of_two(operating, run.samples.calibration);
            population::compare(&views, run.loaded, run.scores, run.used_validation)
        });
        let alike = alike(shipped, &record.shipped, &record.group_rates, record.group_rates_from.as_deref());
        record.notes.extend(alike);
        Ok(())
    }

    fn store(&self, file: &mut ModelFile) -> Result<(), Failure> {
        store_thresholds(&self.shipped, self.probability, self.sketch.as_ref(), file)
    }

    fn metrics(&self, record: &TrainRecord, part: &str) -> Vec<(String, f64)> {
        let Some(shipped) = record.shipped.get(part).and_then(Option::as_ref) else { return Vec::new() };
        let named = [
            ("recall", shipped.recall),
            ("fpr", shipped.fpr),
            ("precision", shipped.precision),
            ("positive-share", positive_share(&shipped.confusion)),
        ];
        named.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    }

    fn as_trained(
        &self,
        pooled: Option<&[&str]>,
        sample: &Sample,
    ) -> Result<(Sample, Option<String>), Failure> {
        let shipped = &self.shipped;
        let known = match (&shipped.groups, &shipped.certificate) {
            (Some(groups), _) => &groups.names[..],
            (None, Some(certificate)) => &certificate.groups,
            (None, None) => &[],
        };
        let spelled = spell_as(sample, known)?.paid_by(&self.goal)?;
        let Some(groups) = &shipped.groups else { return Ok((spelled, None)) };
        let found = spelled.groups();
        let unknown = found.and_then(|found| strangers(groups, pooled, found.names(), found.codes()));
        match groups.names.iter().any(|name| name == POOL) {
            true => Ok((pool_others(&spelled, &groups.names)?, unknown)),
            false => Ok((spelled, unknown)),
        }
    }

    fn measure(
        &self,
        text: &str,
        rows: &dyn Rows,
        _: Option<&[f32]>,
        confidence: f64,
    ) -> Result<EvaluateRecord, Failure> {
        let Self { goal, shipped, shared_threshold, .. } = self;
        let margins = shipped.over(rows)?;
        let measurer = Measurer { confidence };
        let (about, counts) = (rows.about(), confusion::of(&margins, 0.0)?);
        let operating = goal.operating();
        let found = about.groups.filter(|(column, _)| operating.column() == Some(*column));
        let names = found.map_or_else(Vec::new, |(_, names)| names.to_vec());
        let (at_threshold, unmet) =
            (measurer.rates(&margins, &RATES)?, measure::unmet(&operating, &names, &margins)?);
        let money = match goal.money() {
            Some(_) => {
                let (sample, margins) = &margins.whole()?;
                measure::money(goal, sample, margins, Some(confidence))?
            }
            None => None,
        };
        let groups = measurer.groups(shipped, &margins, &RATES)?;
        let cuts = rows.cuts()?;
        let (at_condition, at_condition_refused) =
            match measurer.at_condition(goal, *shared_threshold, rows, &cuts) {
                Ok(at) => (Some(at), None),
                Err(failure) => (None, Some(failure.message)),
            };
        let certificate = shipped.certificate.clone();
        let test = |one: &Certificate| match needs_frontier(goal) {
            true => {
                let (sample, scores) = &rows.whole()?;
                frontier_drift(goal, one, *shared_threshold, sample, scores)
            }
            false => drift_of(one, rows),
        };
        let (drifts, drift_refused) = match certificate.as_ref().map(test) {
            None => (Vec::new(), None),
            Some(Ok(drifts)) => (drifts, None),
            Some(Err(error)) => (Vec::new(), Some(error.to_string())),
        };
        Ok(EvaluateRecord {
            goal: text.to_owned(),
            operating: operating.to_string(),
            rows: about.rows as u64,
            positives: Some(about.positives as u64),
            at_condition,
            at_condition_refused,
            at_threshold,
            unmet,
            thresholds: shipped.thresholds.iter().copied().map(widened).collect(),
            confusion: Some(measure::counted(&counts)),
            money,
            ranking: measurer.ranking(rows, &cuts),
            groups,
            certificate: certificate.map(CertificateRecord::new),
            approximate: shipped.approximate.clone().map(CertificateRecord::new),
            certificate_refused: shipped.refused.clone(),
            drift: drifts.iter().map(drift_record).collect(),
            drift_refused,
            ..EvaluateRecord::default()
        })
    }

    fn predict(
        &self,
        scores: &[f32],
        groups: Option<&Codes>,
        pooled: Option<&[&str]>,
    ) -> Result<Predicted, Failure> {
        let shipped = &self.shipped;
        let mut notes = Vec::new();
        if let (Some(known), Some(codes)) = (&shipped.groups, groups) {
            notes.extend(strangers(known, pooled, &codes.names, &codes.of));
        }
        let margins = self.margins(scores, groups)?;
        let probability = |curve: Probability| {
            ("probability".to_owned(), scores.iter().map(|score| curve.of(*score) as f32).collect())
        };
        Ok(Predicted {
            scores: vec![("score".to_owned(), scores.to_vec())],
            probabilities: self.probability.map(probability).into_iter().collect(),
            decisions: Decisions::Positive(margins.iter().map(|margin| *margin >= 0.0).collect()),
            notes,
        })
    }

    fn show(&self, scene: &Scene<'_>, record: &mut ReportRecord) -> Result<(), Failure> {
        scene::show(self, scene, record)
    }

    fn rates(&self, sample: &Sample, scores: &[f32], confidence: f64) -> Result<Vec<Rate>, Failure> {
        let margins = self.shipped.margins(sample, scores)?;
        Measurer { confidence }.rates(&(sample, &margins[..]), &SHARES)
    }

    fn certified(&self) -> Option<Certified<'_>> {
        // A bound on amounts alone has no conditions to watch.
        let certificate = self.shipped.certificate.as_ref();
        certificate.filter(|one| !one.conditions.is_empty()).map(Certified::from)
    }

    fn known(&self) -> Option<Vec<Known>> {
        self.sketch.as_ref().map(Sketch::known)
    }

    fn seen(&self, scores: &[f32], groups: Option<&Codes>) -> Result<Vec<Vec<u64>>, Failure> {
        let decided = positive(&self.margins(scores, groups)?);
        Ok(self.sketch.as_ref().map(|sketch| sketch.seen(scores, decided)).unwrap_or_default())
    }

    fn hint(&self, known: usize, place: usize) -> (String, Option<f32>) {
        hint(self.sketch.as_ref(), "share decided positive", known, place)
    }

    fn recertify(
        &self,
        sample: &Sample,
        scores: &[f32],
        meant: &Meant,
        confidence: f64,
    ) -> Result<(Decision, RecertifyRecord), Failure> {
        let (now, record) = recertify::by_threshold(self, sample, scores, meant, confidence)?;
        Ok((Decision::Threshold(now), record))
    }
}

impl ByThreshold {
    /// How far each score is above its threshold; `groups` are those of the rows where thresholds are by group.
    ///
    /// # Errors
    /// If groups are needed, or the model has no threshold for one.
    pub fn margins(&self, scores: &[f32], groups: Option<&Codes>) -> Result<Vec<f32>, Failure> {
        let shipped = &self.shipped;
        match (&shipped.groups, groups) {
            (Some(known), None) => Err(Failure::input(format!(
                "the model has a threshold for each group of {:?}: give the group of each row",
                known.column
            ))),
            (Some(_), Some(codes)) => {
                let of_group = |name: &String| shipped.of_group(&codes.column, name);
                let by_code: Vec<f32> = codes.names.iter().map(of_group).collect::<Result<_, _>>()?;
                Ok(margins(scores, &shipped.thresholds, Some((&by_code, &codes.of))))
            }
            (None, _) => Ok(margins(scores, &shipped.thresholds, None)),
        }
    }
}

/// How conditions on groups are met, where the goal has any.
fn met_by(job: &Job, goal: &Goal) -> Option<String> {
    goal.column()?;
    let way = match (job.settings.shared_threshold, job.settings.method) {
        (false, _) => "one threshold per group",
        (true, MethodChoice::CrossEntropy) => "one threshold for all, as far as one can meet them",
        (true, _) => "one threshold for all; group conditions met by the model (multipliers)",
    };
    Some(way.to_owned())
}

/// What to say where the thresholds decide all rows alike, of the part they were chosen on, or of a group.
fn alike(
    shipped: &Shipped,
    at_threshold: &ByPart<Option<setpoint_report::Shipped>>,
    groups: &[GroupRecord],
    groups_from: Option<&str>,
) -> Vec<String> {
    let rows = |part: &str| format!("the {part} rows");
    let whole = at_threshold.get(shipped.from).and_then(Option::as_ref).map(|shipped| shipped.confusion);
    let Some(whole) = whole else { return Vec::new() };
    match decided_alike(&rows(shipped.from), &whole, &[]) {
        none if none.is_empty() && shipped.groups.is_some() => groups_from
            .and_then(|part| Some((part, at_threshold.get(part)?.as_ref()?.confusion)))
            .map_or(none, |(part, whole)| decided_alike(&rows(part), &whole, groups)),
        found => found,
    }
}

/// The rates within each group on the last held-out part that there is, and the name of that part.
fn group_rates(
    job: &Job,
    decided: &ByPart<Option<(&Sample, &[f32])>>,
    shipped: &Shipped,
) -> Result<(Vec<GroupRecord>, Option<String>), Failure> {
    let grouped = |(name, pair): (&'static str, &Option<(_, _)>)| {
        let (sample, margins): (&Sample, &[f32]) = (*pair)?;
        sample.groups().map(|_| (name, (sample, margins)))
    };
    let Some((name, margins)) = decided.iter().filter_map(grouped).last() else {
        return Ok((Vec::new(), None));
    };
    let measurer = Measurer { confidence: job.confidence.unwrap_or(0.95) };
    Ok((measurer.groups(shipped, &margins, &SHARES)?, Some(name.to_owned())))
}

/// The share of the positives, by weight.
fn positive_share(confusion: &Confusion) -> Option<f64> {
    let Confusion { true_positives, false_negatives, false_positives, true_negatives } = confusion;
    let positives = true_positives + false_negatives;
    let all = positives + false_positives + true_negatives;
    (all > 0.0).then(|| positives / all)
}

pub(super) fn drift_record(drift: &Drift) -> DriftRecord {
    DriftRecord {
        condition: drift.condition.clone(),
        group: drift.group.clone(),
        verdict: match drift.verdict {
            Verdict::Holds => "holds",
            Verdict::Violated => "violated",
            _ => "inconclusive",
        },
        observed: drift.observed,
        examples: drift.examples,
        p_value: drift.p_value,
        level: drift.level,
        survives_mix: drift.survives_mix,
        text: drift.to_string(),
    }
}
