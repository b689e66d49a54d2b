//! Conditions of any kind, at decisions that were fixed on other rows.
//!
//! Rates that weigh both kinds of mistake, differences between groups, decisions that leave rows out and amounts of
//! money have no order statistic. They are tested at single decisions instead. [`frontier`] finds some on validation rows:
//! the best ones under conditions held ever more strictly than asked for, from the clearest pass to the goal itself.
//! [`certify_along`] walks them on calibration rows, from safe to bold, and stops where a condition fails its test.
//!
//! At decisions that do not depend on the calibration rows, rows are independent draws, and so are the rows of a
//! slice given how many they are. Each condition has a p-value for "it is past its target":
//!
//! - A **share** of rows (accuracy, error, coverage, precision, recall, ...): the exact binomial tail.
//! - **f-beta** at least F says that X = (1 + b²) tp - F (b² positives + predicted positives) is at least 0 on average
//!   over rows, and so does any rate of rows that stand for unequal numbers, weighed by what they stand for: **bets**
//!   on X, which is bounded below by -L. The wealth Π (1 + l X) of a stake l <= 1/L has a mean of at most 1 while
//!   E\[X\] <= 0, and so has its mean over stakes fixed in advance: one over it is a p-value (Ville, Markov).
//! - **balanced accuracy, gap, ratio** compare two slices: exact bounds on the rates of both, each at half of the level, show that
//!   the condition holds whatever the two rates are within them (Clopper and Pearson, Bonferroni). The least level at which
//!   they do is a p-value, since bounds part as the level falls. Groups are compared in all ordered pairs.
//!
//! Where rows come in entities, those are the draws: X is what the rows of one come to together, bounded below by -L
//! times the most rows of the slice that one has, and betted on, also of a share.
//!
//! The largest p-value of all of them is one for "some condition is past its target" (intersection-union), and a
//! sequence fixed in advance that ends at its first failure errs with probability delta at most (fixed sequence): with
//! that confidence every condition holds at every decision that passed. The boldest ships.
//!
//! **Money**: the mean amount of a row has a bound, the least m that bets on y - m >= -(m - low) do not refute at the
//! level delta. Of a goal without conditions the decision is the one fixed on validation. With conditions, half of delta
//! is for the walk, and the other half is shared by the bounds at all decisions of the sequence, so that the one at
//! the decision taken holds whichever it is.

mod bet;
mod test;

pub use bet::mean_bound;
pub(super) use test::Decided;

use super::certificate::{Certificate, CertifiedAmount, CertifiedCondition, CertifiedEntities, Method};
use super::cohort::check_weights;
use super::drift::{Drift, Verdict, check_entities};
use super::error::CertifyError;
use crate::goal::{Amount, Constraint, Goal, Money, Relation, parse_conditions};
use crate::metric::Condition;
use crate::problem::ProblemOptions;
use crate::sample::Sample;
use crate::threshold::exact;
use test::Tested;

/// Decisions of a frontier, at most.
const STEPS: usize = 25;

/// What a certificate along a frontier is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrontierOptions<'a> {
    /// The chance, over calibration samples, that every condition holds; in (0, 1).
    pub confidence: f64,
    /// One threshold for all groups.
    pub shared_threshold: bool,
    /// The chance with which each row was sampled, in (0, 1], independently of the others.
    pub inclusion: Option<&'a [f64]>,
}

/// Whether a goal is proved along a frontier: where some condition has no test of its own kind, or thresholds must
/// not depend on the rows that prove something of them.
#[must_use]
pub fn needs_frontier(goal: &Goal) -> bool {
    let no_order_statistic = |condition: &Constraint| {
        !matches!(condition, Constraint::Top(_)) && super::claim::Claim::of(condition).is_err()
    };
    goal.abstains() || goal.money().is_some() || goal.constraints.iter().any(no_order_statistic)
}

/// Thresholds from safe to bold: each a set as [`exact::solve`] gives it, chosen on rows that the certificate does
/// not use.
///
/// # Errors
/// If the scores do not fit the sample, or nothing on it meets the conditions.
pub fn frontier(
    goal: &Goal,
    sample: &Sample,
    scores: &[f32],
    options: &FrontierOptions<'_>,
) -> Result<Vec<Vec<f32>>, CertifyError> {
    let problem = ProblemOptions { shared_threshold: options.shared_threshold, ..ProblemOptions::default() };
    let solve = |goal: &Goal| exact::solve(goal, sample, scores, &problem);
    let at_goal = solve(goal).map_err(|error| CertifyError::NoDecision { reason: error.to_string() })?;
    if goal.constraints.is_empty() {
        return Ok(vec![at_goal.thresholds]);
    }
    let mut found: Vec<Vec<f32>> = Vec::new();
    for step in 0..STEPS {
        // Nearly all of the room is left at the start, none at the goal itself.
        let strictness = 0.9 * (1.0 - step as f64 / (STEPS - 1) as f64);
        if let Ok(solved) = solve(&held_more_strictly(goal, strictness))
            && found.last() != Some(&solved.thresholds)
        {
            found.push(solved.thresholds);
        }
    }
    let decided = Decided::new(goal, sample, scores, options.shared_threshold)?;
    let conditions = &goal.constraints;
    let p_values: Vec<f64> = found
        .iter()
        .map(|thresholds| Ok(decided.at(thresholds).worst(conditions)?.p_value))
        .collect::<Result<_, CertifyError>>()?;
    let clearest = (0..found.len()).min_by(|a, b| p_values[*a].total_cmp(&p_values[*b])).unwrap_or(0);
    Ok(found.split_off(clearest))
}

/// The goal with every target moved by a share of its room to the safe side.
fn held_more_strictly(goal: &Goal, share: f64) -> Goal {
    let moved = |side: Relation, target: f64| match side {
        Relation::AtMost => target * (1.0 - share),
        _ => 1.0 - (1.0 - target) * (1.0 - share),
    };
    let mut goal = goal.clone();
    for constraint in &mut goal.constraints {
        match constraint {
            Constraint::Rate { rate, relation, target }
            | Constraint::PerGroup { rate, relation, target, .. } => {
                let side = Condition { rate: *rate, relation: *relation, target: *target }.side();
                *target = moved(side, *target);
            }
            Constraint::Gap { target, .. } => *target = moved(Relation::AtMost, *target),
            Constraint::Ratio { target, .. } => *target = moved(Relation::AtLeast, *target),
            Constraint::Top(_) => {}
        }
    }
    goal
}

/// The same from one sample: a third of its rows, drawn by chance, fixes the decisions, and the others test them.
///
/// # Errors
/// As [`frontier`] and [`certify_along`].
pub fn certify_apart(
    goal: &Goal,
    sample: &Sample,
    scores: &[f32],
    options: &FrontierOptions<'_>,
) -> Result<Certificate, CertifyError> {
    sample.check_scores(scores)?;
    let [first, others] = super::class::apart(sample, 0);
    if first.is_empty() {
        return Err(CertifyError::NoDecision { reason: "too few rows to fix them on a third".to_owned() });
    }
    let part = |rows: &[u32]| -> (Vec<f32>, Option<Vec<f64>>) {
        let of = |row: &u32| scores[*row as usize];
        let chance =
            |chances: &[f64]| rows.iter().filter_map(|row| chances.get(*row as usize).copied()).collect();
        (rows.iter().map(of).collect(), options.inclusion.map(chance))
    };
    let (kept, chances) = part(&first);
    let chosen = match &chances {
        Some(chances) => super::prevalence::weighed_by(&sample.select(&first), chances)?,
        None => sample.select(&first),
    };
    let candidates = frontier(goal, &chosen, &kept, options)?;
    let (kept, chances) = part(&others);
    let options = FrontierOptions { inclusion: chances.as_deref(), ..*options };
    certify_along(goal, &candidates, &sample.select(&others), &kept, &options)
}

/// The boldest decisions of a sequence at which every condition is proved, and every one before.
///
/// # Errors
/// If not even the first pass, a condition has no test, weights differ that are no chances of inclusion, or the scores
/// do not fit the sample.
pub fn certify_along(
    goal: &Goal,
    candidates: &[Vec<f32>],
    sample: &Sample,
    scores: &[f32],
    options: &FrontierOptions<'_>,
) -> Result<Certificate, CertifyError> {
    let confidence = options.confidence;
    if !(confidence > 0.0 && confidence < 1.0) {
        return Err(CertifyError::Confidence { value: confidence });
    }
    let money = goal.money();
    if goal.constraints.is_empty() && money.is_none() {
        return Err(CertifyError::NoCondition);
    }
    let no_bound = match (options.inclusion, money, sample.together()) {
        (Some(_), Some(_), _) => {
            Some("amounts of rows that stand for unequal numbers have no bound; certify on rows as they come")
        }
        (Some(_), _, Some(_)) => Some("its rows come in entities, and those are not sampled by row"),
        (_, Some(_), Some(_)) => Some("its rows come in entities, and amounts of those have no bound"),
        _ => None,
    };
    if let Some(reason) = no_bound {
        return Err(CertifyError::CannotCertify { condition: goal.to_string(), reason });
    }
    let weighed = match options.inclusion {
        Some(chances) => super::prevalence::weighed_by(sample, chances)?,
        None => {
            check_weights(sample)?;
            sample.clone()
        }
    };
    let sample = &weighed;
    let decided =
        Decided::new(goal, sample, scores, options.shared_threshold)?.sampled(options.inclusion.is_some());
    let both = money.is_some() && !goal.constraints.is_empty();
    let delta = (1.0 - confidence) / if both { 2.0 } else { 1.0 };
    let mut passed: Option<(&Vec<f32>, Tested)> = None;
    let mut failed = 1.0;
    for thresholds in candidates {
        let tested = decided.at(thresholds).worst(&goal.constraints)?;
        if tested.p_value > delta {
            failed = tested.p_value;
            break;
        }
        passed = Some((thresholds, tested));
    }
    let Some((thresholds, tested)) = passed else {
        let condition: Vec<String> = goal.constraints.iter().map(ToString::to_string).collect();
        let condition = condition.join(", ");
        return Err(CertifyError::NoneAlong { condition, confidence, p_value: failed });
    };
    let steps = candidates.len() as u64;
    let groups = sample.groups().filter(|_| goal.column().is_some());
    // Groups that share a threshold have it each.
    let copies = if options.shared_threshold { groups.map_or(1, |groups| groups.names().len()) } else { 1 };
    let at = decided.at(thresholds);
    let amount = money.map(|money| {
        let level = if both { delta / candidates.len() as f64 } else { delta };
        bound(money, sample, &at.paid(), level)
    });
    Ok(Certificate {
        confidence,
        confidence_each: 1.0 - delta,
        examples: sample.len() as u64,
        entities: CertifiedEntities::of(sample),
        column: groups.map(|groups| groups.column().to_owned()),
        groups: groups.map_or(Vec::new(), |groups| groups.names().to_vec()),
        thresholds: thresholds.repeat(copies),
        conditions: tested
            .conditions
            .into_iter()
            .map(|one| CertifiedCondition {
                condition: one.condition,
                group: one.group,
                target: one.target,
                examples: one.examples,
                counted: one.counted,
                observed: one.observed,
                method: Method::Frontier {
                    tested: steps,
                    p_value: one.p_value,
                    proof: one.proof,
                    largest: one.largest,
                },
            })
            .collect(),
        amount,
    })
}

/// What is proved of the mean amount of a row.
fn bound(money: &Money, sample: &Sample, paid: &[f64], delta: f64) -> CertifiedAmount {
    let stakes = sample.stakes().map_or(&[][..], |stakes| stakes.pays());
    // A constant is known; of a column the most extreme amount seen is assumed to be that of the population.
    let seen = stakes.iter().flatten().copied();
    let fixed = money.amounts().into_iter().filter_map(|(_, amount)| match amount {
        Amount::Fixed(amount) => Some(*amount),
        Amount::Column { .. } => None,
    });
    let sign = if money.profit { 1.0 } else { -1.0 };
    let least = |amounts: &mut dyn Iterator<Item = f64>| {
        amounts.map(|amount| sign * amount).fold(f64::INFINITY, f64::min)
    };
    let (known, low) = (least(&mut fixed.clone()), least(&mut seen.chain(fixed)));
    let values: Vec<f64> = paid.iter().map(|amount| sign * amount).collect();
    CertifiedAmount {
        quantity: money.rate().to_string(),
        bound: sign * mean_bound(&values, low, delta),
        observed: paid.iter().sum::<f64>() / paid.len() as f64,
        assumed: (low < known).then_some(sign * low),
    }
}

/// Tests the conditions of a certificate along a frontier on new labelled rows, at its thresholds; the level is
/// shared among them, so that any alarm at all is as rare as the certificate allows.
///
/// # Errors
/// If weights differ, the rows lack the entities that the certificate counts, it cannot be read, or the scores do not
/// fit the sample.
pub fn frontier_drift(
    goal: &Goal,
    certificate: &Certificate,
    shared_threshold: bool,
    sample: &Sample,
    scores: &[f32],
) -> Result<Vec<Drift>, CertifyError> {
    check_weights(sample)?;
    check_entities(certificate, sample)?;
    let assumed = certificate.conditions.iter().filter_map(|one| one.method.largest()).max();
    let decided = Decided::new(goal, sample, scores, shared_threshold)?.with_largest(assumed.unwrap_or(0));
    let at = decided.at(&certificate.thresholds);
    let level = (1.0 - certificate.confidence) / certificate.conditions.len().max(1) as f64;
    let test = |certified: &CertifiedCondition| {
        let parsed = parse_conditions(&certified.condition)?;
        let constraint = parsed.first().ok_or(CertifyError::NoCondition)?;
        let tests = at.test(constraint, true)?;
        let of_group = tests.into_iter().find(|test| test.group == certified.group);
        let found = of_group.ok_or(CertifyError::Damaged { reason: "it is of a group that is not here" })?;
        let observed = (found.examples > 0).then_some(found.observed);
        let verdict = match observed {
            Some(_) if found.p_value <= level => Verdict::Violated,
            Some(_) if found.holds => Verdict::Holds,
            _ => Verdict::Inconclusive,
        };
        Ok(Drift {
            condition: certified.condition.clone(),
            group: certified.group.clone(),
            examples: found.examples,
            counted: found.counted,
            noun: "rows",
            observed,
            p_value: found.p_value,
            level,
            survives_mix: constraint.survives_mix(),
            verdict,
        })
    };
    certificate.conditions.iter().map(test).collect()
}
