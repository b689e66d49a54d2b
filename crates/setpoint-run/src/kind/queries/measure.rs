//! What the order within queries comes to: metrics, their spread, the best and the worst queries.

use setpoint::Sample;
use setpoint::certify::{MeanCertificate, certify_mean};
use setpoint::goal::{Gain, QueryGoal, QueryMetric, QueryTop};
use setpoint::metric::interval::Bootstrap;
use setpoint::rank::{Queries, QueryEngine, QueryOptions, Values, places};
use setpoint_report::{
    AtCondition, Bounds, ByK, ComparisonRecord, DriftRecord, Measured, QueriesRecord, QueryRecord,
    ReportRecord, ResultRecord, percent, widened,
};

use super::ByPlace;
use crate::failure::Failure;
use crate::report::Scene;

/// Results looked at beside a goal that looks at all of them.
const RESULTS: u64 = 10;
/// Numbers of results that the metric is shown for, as far as queries have them.
const BY_K: [u64; 12] = [1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 50, 100];
/// Best and worst queries, and how many of their results are shown: the first ones, and relevant ones further down.
const EXTREMES: usize = 5;
const FIRST: u32 = 10;
const LATER: usize = 5;

impl ByPlace {
    /// The goal, and the other metrics of as many results.
    fn all_metrics(&self) -> Vec<QueryGoal> {
        let top = Some(self.goal.top.unwrap_or(QueryTop::Count(RESULTS)));
        let gain = match self.goal.metric {
            QueryMetric::Ndcg(gain) => gain,
            _ => Gain::default(),
        };
        let of_top = [QueryMetric::Ndcg(gain), QueryMetric::Precision, QueryMetric::Recall];
        let of_top = of_top.map(|metric| QueryGoal { metric, top });
        let average = QueryGoal { metric: QueryMetric::AveragePrecision, top: None };
        let others = of_top.into_iter().chain([average]).filter(|other| *other != self.goal);
        [self.goal].into_iter().chain(others).collect()
    }

    /// A mean with its interval, where a confidence is given.
    fn mean(
        &self,
        name: String,
        values: &Values,
        confidence: Option<f64>,
        method: &'static str,
    ) -> Option<Measured> {
        let interval = confidence.and_then(|confidence| {
            let needed = (10.0 / (1.0 - confidence)).ceil() as usize;
            let bootstrap = Bootstrap { replicates: needed.max(1000), confidence, seed: 0 };
            let found = values.estimate(&bootstrap).ok()?.interval;
            Some(Bounds { lower: found.lower, upper: found.upper, confidence, method })
        });
        let examples = values.counted().len() as u64;
        Some(Measured { name, value: values.mean()?, interval, examples })
    }

    /// Every metric that has a value, the goal's first.
    pub(super) fn metrics_of(
        &self,
        sample: &Sample,
        scores: &[f32],
        confidence: Option<f64>,
    ) -> Result<Vec<Measured>, Failure> {
        self.values(&self.goal, sample, scores)?;
        // Grades may be too large for the gains of a metric that was not asked for.
        let measure = |goal: &QueryGoal| {
            let values = self.values(goal, sample, scores).ok()?;
            self.mean(goal.objective(), &values, confidence, "bootstrap of queries")
        };
        Ok(self.all_metrics().iter().filter_map(measure).collect())
    }

    /// How much better the first scores are than the second, query by query.
    pub(super) fn difference(
        &self,
        goal: &QueryGoal,
        sample: &Sample,
        first: &[f32],
        second: &[f32],
        confidence: f64,
    ) -> Option<Measured> {
        let of = |scores| self.values(goal, sample, scores).ok();
        let difference = of(first)?.less(&of(second)?);
        self.mean(goal.objective(), &difference, Some(confidence), "paired bootstrap of queries")
    }

    /// The metrics, with gains over a baseline where one is given.
    pub(super) fn counted(
        &self,
        sample: &Sample,
        scores: &[f32],
        base: Option<&[f32]>,
        confidence: Option<f64>,
    ) -> Result<QueriesRecord, Failure> {
        let queries = Queries::of_sample(sample)?;
        let relevant =
            |query: &usize| queries.rows(*query).iter().any(|row| queries.positive()[*row as usize]);
        let gain = |goal: &QueryGoal| self.difference(goal, sample, scores, base?, confidence?);
        Ok(QueriesRecord {
            column: Some(queries.column()).filter(|column| !column.is_empty()).unwrap_or("query").to_owned(),
            queries: queries.len() as u64,
            empty: (0..queries.len()).filter(|query| !relevant(query)).count() as u64,
            idle: QueryEngine::new(&self.goal, queries, QueryOptions::default())?
                .step(scores, &mut vec![0.0; scores.len()])?
                .idle as u64,
            empty_queries: self.empty.name(),
            metrics: self.metrics_of(sample, scores, confidence)?,
            gains: self.all_metrics().iter().filter_map(gain).collect(),
            ..QueriesRecord::default()
        })
    }

    /// All that reports show.
    pub(super) fn detailed(
        &self,
        sample: &Sample,
        scores: &[f32],
        base: Option<&[f32]>,
        confidence: f64,
    ) -> Result<QueriesRecord, Failure> {
        // The baseline itself is no comparison.
        let base = base.filter(|base| *base != scores);
        let values = self.values(&self.goal, sample, scores)?;
        let base_values = base.map(|base| self.values(&self.goal, sample, base)).transpose()?;
        let mut record = self.counted(sample, scores, base, Some(confidence))?;
        (record.by_k_metric, record.by_k) = self.by_k(sample, scores, base, confidence)?;
        let counted = values.counted();
        if !counted.is_empty() {
            record.tenths = vec![0; 10];
            counted.iter().for_each(|value| record.tenths[((value * 10.0) as usize).min(9)] += 1);
        }
        let queries = Queries::of_sample(sample)?;
        let places = places(queries, scores)?;
        let relevant = |query: usize| {
            queries.rows(query).iter().filter(|row| queries.positive()[**row as usize]).count() as u64
        };
        // A query without anything relevant says nothing of the order, whatever it counts.
        let mut order: Vec<(usize, f64, u64)> = (values.of().iter().enumerate())
            .filter_map(|(query, value)| Some((query, (*value)?, relevant(query))))
            .filter(|(.., relevant)| *relevant > 0)
            .collect();
        // Of equal values those with more to find come first.
        let record_of = |(query, value, relevant): &(usize, f64, u64)| QueryRecord {
            query: queries.names().get(*query).cloned().unwrap_or_else(|| (query + 1).to_string()),
            rows: queries.rows(*query).len() as u64,
            relevant: *relevant,
            value: *value,
            baseline: base_values.as_ref().and_then(|base| base.of()[*query]),
            results: results(queries, *query, scores, &places),
        };
        order.sort_by(|a, b| a.1.total_cmp(&b.1).then(b.2.cmp(&a.2)));
        record.worst = order.iter().take(EXTREMES).map(record_of).collect();
        let rest = &order[order.len().min(EXTREMES)..];
        let mut best: Vec<_> = rest.to_vec();
        best.sort_by(|a, b| b.1.total_cmp(&a.1).then(b.2.cmp(&a.2)));
        record.best = best.iter().take(EXTREMES).map(record_of).collect();
        Ok(record)
    }

    /// The metric by the number of results; precision where the goal's looks at all of them.
    fn by_k(
        &self,
        sample: &Sample,
        scores: &[f32],
        base: Option<&[f32]>,
        confidence: f64,
    ) -> Result<(String, Vec<ByK>), Failure> {
        let queries = Queries::of_sample(sample)?;
        let longest = (0..queries.len()).map(|query| queries.rows(query).len() as u64).max().unwrap_or(0);
        let own = match self.goal.top {
            Some(QueryTop::Count(k)) => k,
            _ => RESULTS,
        };
        let mut looked: Vec<u64> =
            BY_K.into_iter().filter(|k| *k <= longest && *k <= 5 * own).chain([own]).collect();
        looked.sort_unstable();
        looked.dedup();
        let metric = match self.goal.metric {
            QueryMetric::AveragePrecision => QueryMetric::Precision,
            metric => metric,
        };
        let mut found = Vec::new();
        for k in looked {
            let goal = QueryGoal { metric, top: Some(QueryTop::Count(k)) };
            let values = self.values(&goal, sample, scores)?;
            let baseline = base.map(|base| self.values(&goal, sample, base)).transpose()?;
            if let Some(one) = self.mean(String::new(), &values, Some(confidence), "bootstrap of queries") {
                let baseline = baseline.and_then(|values| values.mean());
                found.push(ByK { k, value: one.value, interval: one.interval, baseline });
            }
        }
        let name = QueryGoal { metric, top: None }.objective();
        Ok((name, found))
    }

    /// Whether what was proved still holds on these queries.
    pub(super) fn drift(&self, sample: &Sample, scores: &[f32]) -> Result<Option<DriftRecord>, Failure> {
        let Some(MeanCertificate { lower, confidence, .. }) = self.certificate else { return Ok(None) };
        let values = self.values(&self.goal, sample, scores)?;
        let (level, counted) = (1.0 - confidence, values.counted());
        let short: Vec<f64> = counted.iter().map(|value| 1.0 - value).collect();
        // The mean is below the bound where 1 less it is above 1 less the bound, which draws may prove too.
        let violated =
            |level: f64| certify_mean(&short, 1.0 - level, None).is_ok_and(|found| found.lower > 1.0 - lower);
        let (mut below, mut above) = (1e-9, 1.0 - 1e-9);
        for _ in 0..30 {
            let middle = 0.5 * (below + above);
            if violated(middle) { above = middle } else { below = middle }
        }
        let observed = values.mean();
        let (verdict, said) = match observed {
            None => ("inconclusive", "no query here has anything relevant".to_owned()),
            Some(_) if above <= level => {
                ("violated", "that is no chance: the certificate is violated".to_owned())
            }
            Some(mean) if mean < lower => ("inconclusive", "within what chance explains".to_owned()),
            Some(_) => ("holds", "the certificate holds".to_owned()),
        };
        let condition = format!("{} >= {}", self.goal, percent(lower));
        let found = observed.map_or_else(String::new, |mean| {
            format!("{} on average over {} queries: ", percent(mean), counted.len())
        });
        Ok(Some(DriftRecord {
            text: format!("{condition}: {found}{said}"),
            condition,
            group: None,
            verdict,
            observed,
            examples: counted.len() as u64,
            p_value: above.min(1.0),
            level,
            survives_mix: false,
        }))
    }
}

/// A mean as the value of the goal.
pub(super) fn at_condition(one: &Measured) -> AtCondition {
    AtCondition { value: one.value, interval: one.interval.clone(), examples: one.examples }
}

/// The first results of a query, and relevant ones that come later.
fn results(queries: &Queries, query: usize, scores: &[f32], places: &[u32]) -> Vec<ResultRecord> {
    let mut rows: Vec<u32> = queries.rows(query).to_vec();
    rows.sort_unstable_by_key(|row| places[*row as usize]);
    let shown = |row: &u32| places[*row as usize] <= FIRST;
    let later = rows.iter().filter(|row| !shown(row) && queries.positive()[**row as usize]).take(LATER);
    let of = |row: &u32| {
        let at = *row as usize;
        ResultRecord {
            place: u64::from(places[at]),
            row: u64::from(*row) + 1,
            grade: f64::from(queries.grades()[at]),
            relevant: queries.positive()[at],
            score: widened(scores[at]),
        }
    };
    rows.iter().filter(|row| shown(row)).chain(later).map(of).collect()
}

/// Completes the report of an order.
pub(super) fn show(order: &ByPlace, scene: &Scene<'_>, record: &mut ReportRecord) -> Result<(), Failure> {
    let Scene { shown, known, confidence, .. } = scene;
    let goal = &order.goal;
    record.goal_words = goal.describe();
    record.operating = goal.to_string();
    record.operating_words = goal.describe();
    let value = record.evaluation().and_then(|evaluation| evaluation.at_condition.clone());
    record.comparison = shown.base.and_then(|base| {
        let (model, other) = (value?, order.values(goal, shown.sample, base).ok()?);
        let baseline = order.mean(String::new(), &other, Some(*confidence), "bootstrap of queries")?;
        let gain = order.difference(goal, shown.sample, shown.scores, base, *confidence)?;
        Some(ComparisonRecord {
            name: "baseline".to_owned(),
            baseline: at_condition(&baseline),
            model,
            gain: gain.value,
            interval: known.clone().unwrap_or(gain.interval),
            counts: None,
            baseline_ships: Vec::new(),
        })
    });
    record.cautions = scene.cautions(record, order.refused.as_deref());
    Ok(())
}
