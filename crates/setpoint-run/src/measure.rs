//! Rates on one part at the thresholds that ship.

use setpoint::Sample;
use setpoint::goal::{Constraint, Counts, Goal, Rate, Relation};
use setpoint::metric::{Condition, OfGroup, Rows, confusion};
use setpoint_report::{Confusion, MoneyRecord, Shipped, Support, UnmetRecord};

use crate::failure::Failure;
use crate::interval::Measurer;

/// What users get: decisions are `margin >= 0`.
pub fn shipped(goal: &Goal, sample: &Sample, margins: &[f32]) -> Result<Shipped, Failure> {
    let counts = confusion::at(sample, margins, 0.0)?;
    let objective = goal.objective.rate().and_then(|rate| rate.of(&counts));
    Ok(Shipped {
        objective,
        recall: Rate::Recall.of(&counts),
        fpr: Rate::FalsePositiveRate.of(&counts),
        precision: Rate::Precision.of(&counts),
        confusion: counted(&counts),
        support: support(&(sample, margins)),
    })
}

/// How many examples stand behind rates of the decisions `margin >= 0`.
pub fn support(margins: &dyn Rows) -> Support {
    let mut all = Support::default();
    margins.each(&mut |sample, margins| {
        all.add(&Support::of(sample.labels(), margins.iter().map(|margin| *margin >= 0.0)));
    });
    all
}

/// What decisions pay, where the goal is in money; those are `margin >= 0`.
pub fn money(
    goal: &Goal,
    sample: &Sample,
    margins: &[f32],
    confidence: Option<f64>,
) -> Result<Option<MoneyRecord>, Failure> {
    let (Some(money), Some(stakes)) = (goal.money(), sample.stakes()) else { return Ok(None) };
    let counts = confusion::at(sample, margins, 0.0)?;
    let rows = counts.positives + counts.negatives;
    let all = |decision: usize| {
        let paid = stakes.pays().iter().enumerate().map(|(row, pays)| sample.weight(row) * pays[decision]);
        paid.sum::<f64>() / rows
    };
    let interval = confidence.and_then(|confidence| {
        let measured = Measurer { confidence }.rates(&(sample, margins), &[money.rate()]).ok()?;
        measured.into_iter().next()?.interval
    });
    Ok(Some(MoneyRecord {
        name: money.rate().to_string(),
        rows,
        total: counts.money,
        per_row: counts.money / rows,
        interval,
        nobody: all(0),
        everybody: all(1),
    }))
}

/// The counts as reports hold them.
pub fn counted(counts: &Counts) -> Confusion {
    Confusion {
        true_positives: counts.true_positives,
        false_negatives: counts.false_negatives,
        false_positives: counts.false_positives,
        true_negatives: counts.true_negatives,
    }
}

/// The rate of each condition, and of each group where it is per group; `None` where undefined.
pub fn conditions(goal: &Goal, groups: &[String], margins: &dyn Rows) -> Result<Vec<Option<f64>>, Failure> {
    let counts = confusion::of(margins, 0.0)?;
    let found = margins.about().groups;
    let by_group = match (goal.column(), found) {
        (Some(_), Some(_)) => confusion::of_groups(margins, 0.0)?,
        _ => Vec::new(),
    };
    let known = |rate: &Rate| by_group.iter().filter_map(|counts| rate.of(counts)).collect::<Vec<f64>>();
    let mut rates = Vec::new();
    for constraint in &goal.constraints {
        match constraint {
            Constraint::Rate { rate, .. } => rates.push(rate.of(&counts)),
            Constraint::Top(_) => rates.push(Rate::PositiveRate.of(&counts)),
            Constraint::PerGroup { rate, .. } => rates.extend(groups.iter().map(|name| {
                let (_, names) = found?;
                rate.of(&by_group[names.iter().position(|other| other == name)?])
            })),
            Constraint::Gap { rate, .. } => rates.push(extremes(&known(rate)).map(|(low, high)| high - low)),
            Constraint::Ratio { rate, .. } => {
                rates.push(extremes(&known(rate)).and_then(|(low, high)| (high > 0.0).then(|| low / high)));
            }
        }
    }
    Ok(rates)
}

/// How many examples each of [`conditions`] rests on.
pub fn examples(goal: &Goal, groups: &[String], margins: &dyn Rows) -> Vec<u64> {
    let whole = support(margins);
    let known = |rate: &Rate, name: &String| {
        let (_, names) = margins.about().groups?;
        let group = names.iter().position(|other| other == name)?;
        Some(support(&OfGroup { rows: margins, group }).behind(&rate.to_string()))
    };
    let by_group =
        |rate: &Rate| groups.iter().map(|name| known(rate, name).unwrap_or(0)).collect::<Vec<u64>>();
    let each = |constraint: &Constraint| match constraint {
        Constraint::Rate { rate, .. } => vec![whole.behind(&rate.to_string())],
        Constraint::Top(_) => vec![whole.behind(&Rate::PositiveRate.to_string())],
        Constraint::PerGroup { rate, .. } => by_group(rate),
        Constraint::Gap { rate, .. } | Constraint::Ratio { rate, .. } => {
            vec![by_group(rate).into_iter().min().unwrap_or(0)]
        }
    };
    goal.constraints.iter().flat_map(each).collect()
}

/// What [`conditions`] returns the rates of.
pub fn condition_names(goal: &Goal, groups: &[String]) -> Vec<String> {
    let mut names = Vec::new();
    for constraint in &goal.constraints {
        match constraint {
            Constraint::Rate { rate, .. } => names.push(rate.to_string()),
            Constraint::Top(_) => names.push(Rate::PositiveRate.to_string()),
            Constraint::PerGroup { rate, column, .. } => {
                names.extend(groups.iter().map(|name| format!("{rate}({column}={name})")));
            }
            Constraint::Gap { rate, column, .. } => names.push(format!("gap({rate}, {column})")),
            Constraint::Ratio { rate, column, .. } => names.push(format!("ratio({rate}, {column})")),
        }
    }
    names
}

/// The conditions that these decisions do not meet; `k=` and `top=` choose among rows and limit no rate.
pub fn unmet(goal: &Goal, groups: &[String], margins: &dyn Rows) -> Result<Vec<UnmetRecord>, Failure> {
    let rates = conditions(goal, groups, margins)?;
    let limits = goal.constraints.iter().flat_map(|constraint| {
        let each = if matches!(constraint, Constraint::PerGroup { .. }) { groups.len() } else { 1 };
        std::iter::repeat_n(constraint, each)
    });
    let named = condition_names(goal, groups).into_iter().zip(rates);
    let unmet = limits.zip(named).filter_map(|(constraint, (rate, observed))| {
        let observed = observed.filter(|observed| !allows(constraint, *observed))?;
        Some(UnmetRecord { condition: constraint.to_string(), rate, observed })
    });
    Ok(unmet.collect())
}

fn allows(constraint: &Constraint, observed: f64) -> bool {
    // Differences and sums of weights are rounded.
    let room = 1e-9;
    let (side, target) = match constraint {
        Constraint::Rate { rate, relation, target } | Constraint::PerGroup { rate, relation, target, .. } => {
            (Condition { rate: *rate, relation: *relation, target: *target }.side(), target)
        }
        Constraint::Gap { target, .. } => (Relation::AtMost, target),
        Constraint::Ratio { target, .. } => (Relation::AtLeast, target),
        Constraint::Top(_) => return true,
    };
    if side == Relation::AtMost { observed <= target + room } else { observed >= target - room }
}

fn extremes(values: &[f64]) -> Option<(f64, f64)> {
    let low = values.iter().copied().reduce(f64::min)?;
    let high = values.iter().copied().reduce(f64::max)?;
    Some((low, high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_on_groups_are_measured_group_by_group() {
        let names = ["f", "m"].map(str::to_owned).to_vec();
        let sample = Sample::new(vec![true, false, false, true, false, false]).unwrap();
        let sample = sample.with_groups("sex", names.clone(), vec![0, 0, 0, 1, 1, 1]).unwrap();
        let margins = [1.0, 0.0, -1.0, -1.0, -1.0, -2.0];
        for (goal, rates, called) in [
            ("recall @ fpr(sex)<=2%", vec![Some(0.5), Some(0.0)], vec!["fpr(sex=f)", "fpr(sex=m)"]),
            (
                "accuracy @ gap(positive-rate, sex)<=0.1",
                vec![Some(2.0 / 3.0)],
                vec!["gap(positive-rate, sex)"],
            ),
            ("accuracy @ ratio(recall, sex)>=0.8", vec![Some(0.0)], vec!["ratio(recall, sex)"]),
            ("recall @ precision>=0.9, fpr<=50%", vec![Some(0.5), Some(0.25)], vec!["precision", "fpr"]),
            ("precision @ top=10%", vec![Some(1.0 / 3.0)], vec!["positive-rate"]),
            ("f1", vec![], vec![]),
        ] {
            let goal: Goal = goal.parse().unwrap();
            assert_eq!(conditions(&goal, &names, &(&sample, &margins[..])).unwrap(), rates, "{goal}");
            assert_eq!(condition_names(&goal, &names), called);
        }
    }

    #[test]
    fn conditions_that_are_not_met_are_named_with_what_they_are() {
        let names = ["f", "m"].map(str::to_owned).to_vec();
        let sample = Sample::new(vec![true, false, false, true, false, false]).unwrap();
        let sample = sample.with_groups("sex", names.clone(), vec![0, 0, 0, 1, 1, 1]).unwrap();
        let margins = [1.0, 0.0, -1.0, -1.0, -1.0, -2.0];
        for (goal, said) in [
            ("recall @ fpr(sex)<=2%", "fpr(sex=f) is 50.00%, asked for was fpr(sex)<=2%"),
            (
                "accuracy @ gap(recall, sex)<=0.1",
                "gap(recall, sex) is 100.00%, asked for was gap(recall, sex)<=0.1",
            ),
            (
                "accuracy @ ratio(fpr, sex)>=0.8",
                "ratio(fpr, sex) is 0.00%, asked for was ratio(fpr, sex)>=0.8",
            ),
            ("fpr @ recall=0.9", "recall is 50.00%, asked for was recall=0.9"),
            ("recall @ fpr<=25%", ""),
            ("precision @ top=10%", ""),
            ("f1", ""),
        ] {
            let goal: Goal = goal.parse().unwrap();
            let unmet = unmet(&goal, &names, &(&sample, &margins[..])).unwrap();
            let text: Vec<String> = unmet.iter().map(ToString::to_string).collect();
            assert_eq!(text.join("; "), said, "{goal}");
        }
    }
}
