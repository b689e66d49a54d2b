//! What a report shows of scores against thresholds: the goal in words, pictures, the comparison, cautions.

use setpoint::certify::{Certificate, Method};
use setpoint::goal::{Constraint, Curve, Direction, Goal, Objective, Rate, Relation, parse_conditions};
use setpoint::metric::interval::normal_quantile;
use setpoint::metric::{Cuts, Rows};
use setpoint_report::picture::{MoneySweep, Pictures, Scene as Drawn, Subject as Pictured};
use setpoint_report::{
    AtCondition, Bounds, Circumstances, ComparisonRecord, ConditionRecord, NaturalCount, ReportRecord,
};

use crate::failure::Failure;
use crate::interval::Measurer;
use crate::kind::ByThreshold;
use crate::report::{BASELINE, Scene, Shown};

/// Completes the report of a decision by thresholds.
pub(crate) fn show(
    decision: &ByThreshold,
    scene: &Scene<'_>,
    record: &mut ReportRecord,
) -> Result<(), Failure> {
    let Scene { shown, source, confidence, known } = scene;
    let operating = decision.goal.operating();
    let pictures = pictures(decision, shown, source.called, *confidence)?;
    let at_condition = record.evaluation().and_then(|evaluation| evaluation.at_condition.clone());
    let comparison = comparison(decision, shown, at_condition, known.clone(), *confidence);
    let circumstances = Circumstances {
        parts: &record.parts,
        shown: &shown.name,
        refused: decision.shipped.refused.as_deref(),
        population: source.caution.as_deref(),
        thresholds_from: source.thresholds_from,
        tied: pictures.tied,
        trained: source.positive_share,
        comparison: comparison.as_ref(),
    };
    record.cautions = circumstances.cautions();
    let written: Option<Goal> = record.goal.parse().ok();
    record.goal_words = written.as_ref().unwrap_or(&decision.goal).describe();
    record.operating = operating.to_string();
    record.operating_words = operating.describe();
    record.conditions = operating.constraints.iter().map(condition).collect();
    record.comparison = comparison;
    record.pictures = Some(pictures);
    Ok(())
}

fn condition(constraint: &Constraint) -> ConditionRecord {
    let (rate, target) = match constraint {
        Constraint::Rate { rate, target, .. } | Constraint::PerGroup { rate, target, .. } => {
            (Some(rate.to_string()), *target)
        }
        Constraint::Gap { target, .. } | Constraint::Ratio { target, .. } => (None, *target),
        Constraint::Top(setpoint::goal::Top::Fraction(share)) => {
            (Some(Rate::PositiveRate.to_string()), *share)
        }
        Constraint::Top(setpoint::goal::Top::Count { k, of }) => {
            let share = of.map(|of| *k as f64 / of as f64);
            (share.map(|_| Rate::PositiveRate.to_string()), share.unwrap_or_default())
        }
    };
    ConditionRecord { condition: constraint.to_string(), words: constraint.describe(), rate, target }
}

fn pictures(
    ByThreshold { goal, shipped, .. }: &ByThreshold,
    shown: &Shown<'_>,
    called: &'static str,
    confidence: f64,
) -> Result<Pictures, Failure> {
    let margins = shipped.groups.is_some();
    let cuts = if margins {
        Cuts::new(shown.sample, &shipped.margins(shown.sample, shown.scores)?)?
    } else {
        Cuts::new(shown.sample, shown.scores)?
    };
    let base = shown.base.map(|scores| Cuts::new(shown.sample, scores)).transpose()?;
    let mut drawn = Pictures::of(&Drawn {
        goal,
        model: Pictured { name: called, cuts: &cuts },
        baseline: base.as_ref().map(|cuts| Pictured { name: BASELINE, cuts }),
        threshold: if margins { 0.0 } else { shipped.thresholds[0] },
        margins,
        certified: shipped.certificate.as_ref().and_then(covered),
        weighted: shown.sample.weights().is_some(),
        confidence,
    });
    if goal.money().is_some() && !margins {
        drawn.money = money(shown, &drawn.sweep.thresholds, confidence);
    }
    Ok(drawn)
}

/// What a row pays on average at each threshold, with its normal interval.
fn money(shown: &Shown<'_>, thresholds: &[f32], confidence: f64) -> Option<MoneySweep> {
    let stakes = shown.sample.stakes()?;
    let mut order: Vec<usize> = (0..shown.scores.len()).collect();
    order.sort_by(|a, b| shown.scores[*b].total_cmp(&shown.scores[*a]));
    // Sums of weight, amounts and squares, of all rows decided negative, then with one after another positive.
    let terms = |row: usize, decision: usize| {
        let (weight, paid) = (shown.sample.weight(row), stakes.pays()[row][decision]);
        [weight, weight * paid, weight * paid * paid]
    };
    let add = |sum: [f64; 3], row: usize, decision: usize, sign: f64| {
        let more = terms(row, decision);
        [0, 1, 2].map(|place| sum[place] + sign * more[place])
    };
    let start = order.iter().fold([0.0; 3], |sum, row| add(sum, *row, 0, 1.0));
    let mut sums = vec![start];
    for row in &order {
        let last = sums[sums.len() - 1];
        sums.push(add(add(last, *row, 0, -1.0), *row, 1, 1.0));
    }
    let wide = normal_quantile(0.5 + 0.5 * confidence);
    let at = |threshold: &f32| {
        let [weight, paid, squares] = sums[order.partition_point(|row| shown.scores[*row] >= *threshold)];
        let mean = paid / weight;
        let error = wide * ((squares / weight - mean * mean).max(0.0) / order.len() as f64).sqrt();
        (mean, (mean - error, mean + error))
    };
    let (values, intervals) = thresholds.iter().map(at).unzip();
    Some(MoneySweep { values, intervals })
}

/// The thresholds for which a certificate's proof holds as well: those on the safe side of an order
/// statistic. `None` where a condition was proved at the threshold alone, or there are groups.
fn covered(certificate: &Certificate) -> Option<(f32, f32)> {
    let (mut low, mut high) = (f32::MIN, f32::MAX);
    if certificate.column.is_some() || certificate.conditions.is_empty() {
        return None;
    }
    for certified in &certificate.conditions {
        let Method::OrderStatistic { limit, .. } = certified.method else { return None };
        let parsed = parse_conditions(&certified.condition).ok()?;
        let Some(Constraint::Rate { rate, relation, .. }) = parsed.first() else { return None };
        let upwards = match rate {
            Rate::FalsePositiveRate | Rate::TrueNegativeRate => true,
            Rate::Recall | Rate::FalseNegativeRate => false,
            _ => *relation != Relation::AtLeast,
        };
        (low, high) = if upwards { (low.max(limit), high) } else { (low, high.min(limit)) };
    }
    (low < high).then_some((low, high))
}

fn comparison(
    decision: &ByThreshold,
    shown: &Shown<'_>,
    model: Option<AtCondition>,
    known: Option<Option<Bounds>>,
    confidence: f64,
) -> Option<ComparisonRecord> {
    let goal = &decision.goal;
    let (model, base) = (model?, shown.base?);
    let measurer = Measurer { confidence };
    let rows = (shown.sample, base);
    let baseline = measurer.at_condition(goal, decision.shared_threshold, &rows, &rows.cuts().ok()?).ok()?;
    let (first, second) = match goal.objective.direction() {
        Direction::Down => (base, shown.scores),
        _ => (shown.scores, base),
    };
    let gain = match goal.objective.direction() {
        Direction::Down => baseline.value - model.value,
        _ => model.value - baseline.value,
    };
    let interval = known
        .unwrap_or_else(|| measurer.difference(goal, decision.shared_threshold, shown.sample, first, second));
    let counts = natural(goal).map(|(noun, of)| NaturalCount {
        more: 1000.0 * gain,
        noun: noun.to_owned(),
        of: of.to_owned(),
    });
    Some(ComparisonRecord {
        name: BASELINE.to_owned(),
        model,
        baseline,
        gain,
        interval,
        counts,
        baseline_ships: Vec::new(),
    })
}

/// The examples that a gain in the objective is counted in, and of which.
fn natural(goal: &Goal) -> Option<(&'static str, &'static str)> {
    let rate = match &goal.objective {
        Objective::Rate(rate) => *rate,
        Objective::Area(area) if area.curve == Curve::PrecisionRecall => area.height()?,
        Objective::Area(_) | Objective::Money(_) => return None,
    };
    match rate {
        Rate::Recall | Rate::FalseNegativeRate => Some(("positives caught", "positives")),
        Rate::Precision | Rate::FalseDiscoveryRate => Some(("alarms that are right", "alarms")),
        Rate::FalsePositiveRate | Rate::TrueNegativeRate => Some(("negatives left alone", "negatives")),
        Rate::Accuracy | Rate::Error => Some(("rows decided rightly", "rows")),
        _ => None,
    }
}
