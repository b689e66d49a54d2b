//! Rows in the order of their scores, within each query.

mod measure;

use setpoint::Sample;
use setpoint::artifact::{self, ModelFile};
use setpoint::certify::monitor::{Certified, Known};
use setpoint::certify::{Certificate, MeanCertificate, certify_mean};
use setpoint::goal::{Direction, QueryGoal, QueryMetric};
use setpoint::metric::Rows;
use setpoint::rank::{Empty, Queries, RankError, Values, places};
use setpoint_data::{Codes, LabelRule, Positive};
use setpoint_report::{
    BoundRecord, Bounds, ByPart, EvaluateRecord, Measured as Measure, QueriesRecord, RecertifyRecord,
    ReportRecord, TrainRecord,
};

use measure::at_condition;

use super::{Decision, Decisions, Kind, Measured, Predicted, Rule};
use crate::examples::Loaded;
use crate::failure::Failure;
use crate::operate::Meant;
use crate::report::Scene;
use crate::threshold::Scored;

/// A goal per query, tied to a run.
pub(crate) struct Aim {
    pub(super) goal: QueryGoal,
    /// What a query counts in which nothing is relevant.
    pub(super) empty: Empty,
    /// What is to be proved of new queries; `None`: whatever can be.
    pub(super) at_least: Option<f64>,
}

/// The order of rows by score, within each query, and the goal that the scores were trained for.
#[derive(Clone, Debug, PartialEq)]
pub struct ByPlace {
    /// The goal.
    pub goal: QueryGoal,
    /// The column that the queries came from, if they came in one.
    pub column: Option<String>,
    /// What a query counts in which nothing is relevant.
    pub empty: Empty,
    /// What held-out queries prove.
    pub certificate: Option<MeanCertificate>,
    /// Why they prove nothing.
    pub refused: Option<String>,
    /// The part that chose the scores.
    pub from: &'static str,
}

impl Aim {
    /// The decision before anything is proved.
    fn order(&self, column: Option<String>) -> ByPlace {
        let (goal, empty) = (self.goal, self.empty);
        // The calibration queries choose nothing: what they show is no better than new ones will be.
        ByPlace { goal, column, empty, certificate: None, refused: None, from: "validation" }
    }
}

impl Kind for Aim {
    fn direction(&self) -> Direction {
        Direction::Up
    }

    fn baseline(&self) -> &'static str {
        "baseline"
    }

    fn check(&self, loaded: &Loaded) -> Result<(), Failure> {
        for (name, part) in loaded.parts.iter() {
            let Some(part) = part else { continue };
            let queries = Queries::of_sample(&part.sample)?;
            // Without relevant rows every order is worth the same, and nothing can be learnt or measured.
            if !part.sample.labels().contains(&true) {
                let none =
                    RankError::NoneRelevant { queries: queries.len(), objective: self.goal.objective() };
                return Err(Failure::from(none).context(format!("the {name} part")));
            }
        }
        Ok(())
    }

    fn value(&self, sample: &Sample, scores: &[f32]) -> Result<Option<f64>, Failure> {
        Ok(self.order(None).values(&self.goal, sample, scores)?.mean())
    }

    fn difference(&self, sample: &Sample, first: &[f32], second: &[f32], confidence: f64) -> Option<Bounds> {
        self.order(None).difference(&self.goal, sample, first, second, confidence)?.interval
    }

    fn choose(
        &self,
        validation: Scored<'_>,
        calibration: Option<Scored<'_>>,
        confidence: Option<f64>,
        _: u64,
    ) -> Result<Decision, Failure> {
        let column = Queries::of_sample(validation.sample)?.column().to_owned();
        let mut order = self.order(Some(column).filter(|column| !column.is_empty()));
        match (confidence, calibration) {
            (None, _) => {}
            (_, None) => {
                order.refused = Some("there is no calibration part; give it a share with ‹split›".to_owned());
            }
            (Some(confidence), Some(part)) => {
                order.prove(part.sample, part.scores, confidence, self.at_least)?
            }
        }
        Ok(Decision::Place(order))
    }
}

impl ByPlace {
    /// What held-out queries prove, or why they prove nothing.
    fn prove(
        &mut self,
        sample: &Sample,
        scores: &[f32],
        confidence: f64,
        at_least: Option<f64>,
    ) -> Result<(), Failure> {
        let values = self.values(&self.goal, sample, scores)?.counted();
        match certify_mean(&values, confidence, at_least) {
            Ok(found) if found.lower > 0.0 => self.certificate = Some(found),
            Ok(_) => self.refused = Some(format!("{} queries prove nothing", values.len())),
            Err(error) => self.refused = Some(error.to_string()),
        }
        Ok(())
    }

    fn values(&self, goal: &QueryGoal, sample: &Sample, scores: &[f32]) -> Result<Values, Failure> {
        Ok(Values::new(goal, Queries::of_sample(sample)?, scores, self.empty.into())?)
    }

    fn bound(&self) -> Option<BoundRecord> {
        self.certificate.map(|full| BoundRecord { metric: self.goal.objective(), full })
    }

    /// The place of each row in its query, and whether it is among the first that the goal looks at, if it looks at some.
    fn placed(&self, scores: &[f32], queries: &Codes) -> Result<(Vec<u32>, Option<Vec<bool>>), Failure> {
        let queries = Queries::new(&queries.column, &queries.of, vec![0.0; queries.of.len()])?;
        let places = places(&queries, scores)?;
        let sizes: Vec<usize> = (0..queries.len()).map(|query| queries.rows(query).len()).collect();
        let first =
            |(place, query): (&u32, &u32)| *place as usize <= self.goal.places(sizes[*query as usize]);
        let decided = self.goal.top.map(|_| places.iter().zip(queries.of()).map(first).collect());
        Ok((places, decided))
    }
}

impl Rule for ByPlace {
    fn from(&self) -> &'static str {
        self.from
    }

    fn certificate(&self) -> Option<&Certificate> {
        None
    }

    fn compares(&self) -> bool {
        true
    }

    fn describe(&self, run: &Measured<'_>, record: &mut TrainRecord) -> Result<(), Failure> {
        record.queries = Some(run.pair(run.scores).try_map(|pair| match pair {
            Some((sample, scores)) => self.counted(sample, scores, None, None).map(Some),
            None => Ok::<_, Failure>(None),
        })?);
        let behind = |one: &Option<QueriesRecord>| {
            one.as_ref().and_then(|one| one.metrics.first()).map_or(0, |goal| goal.examples)
        };
        record.examples = record.queries.as_ref().map_or_else(ByPart::default, |parts| parts.map(behind));
        record.operating = self.goal.to_string();
        record.bound = self.bound();
        record.certificate_refused.clone_from(&self.refused);
        let rule = run.loaded.schema.label().map(|label| &label.rule);
        let graded = |sample: &Sample| {
            sample
                .queries()
                .is_some_and(|queries| queries.grades().iter().any(|grade| *grade != 0.0 && *grade != 1.0))
        };
        if !matches!(self.goal.metric, QueryMetric::Ndcg(_))
            && rule == Some(&LabelRule::Grades(Positive::Auto))
            && run.samples.train.is_some_and(graded)
        {
            let note =
                "rows of any grade above 0 count as relevant; say otherwise with ‹positive›, as in \">=2\"";
            record.notes.push(note.to_owned());
        }
        Ok(())
    }

    fn store(&self, file: &mut ModelFile) -> Result<(), Failure> {
        let document = &mut file.document;
        *document = document.clone().with_decision(artifact::Decision::Queries {
            column: self.column.clone(),
            empty: self.empty.name().to_owned(),
        });
        document.certificate = self.certificate.as_ref().map(serde_json::to_value).transpose()?;
        Ok(())
    }

    fn metrics(&self, record: &TrainRecord, part: &str) -> Vec<(String, f64)> {
        let found = record.queries.as_ref().and_then(|parts| parts.get(part)?.as_ref());
        let metrics = found.into_iter().flat_map(|found| &found.metrics);
        metrics.map(|one| (one.name.clone(), one.value)).collect()
    }

    fn as_trained(&self, _: Option<&[&str]>, sample: &Sample) -> Result<(Sample, Option<String>), Failure> {
        Queries::of_sample(sample)?;
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
        let queries = self.detailed(sample, scores, base, confidence)?;
        let own = queries.metrics.first().filter(|one| one.name == self.goal.objective());
        let none = || RankError::NoneRelevant {
            queries: queries.queries as usize,
            objective: self.goal.objective(),
        };
        Ok(EvaluateRecord {
            goal: text.to_owned(),
            operating: self.goal.to_string(),
            rows: sample.len() as u64,
            at_condition: own.map(at_condition),
            at_condition_refused: own.is_none().then(|| none().to_string()),
            ranking: queries.metrics.iter().skip(usize::from(own.is_some())).cloned().collect(),
            bound: self.bound(),
            certificate_refused: self.refused.clone(),
            drift: self.drift(sample, scores)?.into_iter().collect(),
            queries: Some(queries),
            ..EvaluateRecord::default()
        })
    }

    fn predict(
        &self,
        scores: &[f32],
        queries: Option<&Codes>,
        _: Option<&[&str]>,
    ) -> Result<Predicted, Failure> {
        let queries = queries.ok_or_else(|| {
            Failure::input(
                "the model puts the rows of each query in order: say which query each row is of (‹query›)",
            )
        })?;
        let (places, first) = self.placed(scores, queries)?;
        Ok(Predicted {
            scores: vec![("score".to_owned(), scores.to_vec())],
            probabilities: Vec::new(),
            decisions: Decisions::Place { places, first },
            notes: Vec::new(),
        })
    }

    fn show(&self, scene: &Scene<'_>, record: &mut ReportRecord) -> Result<(), Failure> {
        measure::show(self, scene, record)
    }

    fn rates(&self, sample: &Sample, scores: &[f32], confidence: f64) -> Result<Vec<Measure>, Failure> {
        self.metrics_of(sample, scores, Some(confidence))
    }

    fn certified(&self) -> Option<Certified<'_>> {
        None
    }

    fn known(&self) -> Option<Vec<Known>> {
        None
    }

    fn seen(&self, _: &[f32], _: Option<&Codes>) -> Result<Vec<Vec<u64>>, Failure> {
        Ok(Vec::new())
    }

    fn hint(&self, _: usize, _: usize) -> (String, Option<f32>) {
        (String::new(), None)
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
                "the model is for a goal per query, whose certificate is for queries as they come: leave ‹inclusion›, \
                 ‹prevalence› and ‹unlabelled› out",
            ));
        }
        let mut now = Self { certificate: None, refused: None, ..self.clone() };
        now.prove(sample, scores, confidence, None)?;
        let record = RecertifyRecord {
            rows: sample.len() as u64,
            bound_before: self.bound(),
            bound: now.bound(),
            certificate_refused: now.refused.clone(),
            ..RecertifyRecord::default()
        };
        Ok((Decision::Place(now), record))
    }
}
