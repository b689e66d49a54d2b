//! A goal's rates and conditions, spelled out as functions of one sample's counts.

use std::ops::Range;

use super::combination::Whole;
use super::{Combination, Form, FormTerm, ProblemError, ProblemOptions, Ratio, Sense, SolvedCondition};
use crate::count::Shape;
use crate::goal::{Constraint, Counts, Fraction, Goal, Rate, Relation, Top};
use crate::message::quote;
use crate::sample::{ClassTotals, SampleError};
use crate::shard::Shard;

/// Totals of all rows or by group; for a goal in money, what hangs on them after those.
pub(super) fn totals(goal: &Goal, rows: &dyn Shard, by_group: bool) -> Result<Vec<ClassTotals>, SampleError> {
    let mut totals = rows.totals(by_group).to_vec();
    if let Some(money) = goal.money() {
        let staked = rows.staked(by_group).filter(|staked| staked.profit == money.profit);
        let staked = staked.ok_or_else(|| SampleError::NoAmounts { rate: money.rate().to_string() })?;
        totals.extend_from_slice(staked.totals);
        if staked.totals.iter().all(|total| total.positives + total.negatives == 0.0) {
            return Err(SampleError::NoStakes { rows: rows.rows() });
        }
    }
    Ok(totals)
}

/// What is known of the sample while the goal's rates are spelled out.
pub(super) struct Build {
    pub(super) totals: Vec<ClassTotals>,
    names: Vec<String>,
    column: String,
    rows: u64,
    pub(super) columns: usize,
    /// Number of groups: totals may be of two layers.
    pub(super) groups: usize,
    /// Whether rows between two thresholds, upper and lower, are left undecided.
    abstains: bool,
}

impl Build {
    pub(super) fn new(goal: &Goal, rows: &dyn Shard) -> Result<Self, ProblemError> {
        let by_group = goal.column().is_some();
        let totals = totals(goal, rows, by_group)?;
        let build = Self {
            groups: rows.totals(by_group).len(),
            totals,
            names: Vec::new(),
            column: String::new(),
            rows: rows.everywhere() as u64,
            columns: if goal.abstains() { 2 } else { 1 },
            abstains: goal.abstains(),
        };
        let Some(column) = goal.column() else { return Ok(build) };
        let missing = |found: String| ProblemError::Groups { column: column.to_owned(), found };
        match rows.groups() {
            None => Err(missing("has no groups; give the group of each row with ‹group›".into())),
            Some((other, _)) if other != column => Err(missing(format!("is grouped by {}", quote(other)))),
            Some((_, [only])) => Err(missing(format!("has only one group, {}", quote(only)))),
            Some((_, names)) => Ok(Self { names: names.to_vec(), column: column.to_owned(), ..build }),
        }
    }

    pub(super) fn overall(&self, rate: Rate, column: usize) -> Result<Combination, ProblemError> {
        self.rate(rate, 0..self.groups, column)
    }

    fn group(&self, rate: Rate, group: usize) -> Result<Combination, ProblemError> {
        self.rate(rate, group..group + 1, 0)
    }

    fn rate(&self, rate: Rate, groups: Range<usize>, column: usize) -> Result<Combination, ProblemError> {
        self.check(rate, &groups)?;
        let fractions = if self.abstains { rate.fractions_of_decided() } else { rate.fractions() };
        let weight = 1.0 / fractions.len() as f64;
        let ratios = fractions
            .iter()
            .map(|fraction| Ratio {
                weight,
                numerator: self.form(&fraction.numerator, groups.clone(), column),
                denominator: self.form(&fraction.denominator, groups.clone(), column),
            })
            .collect();
        Ok(Combination { constant: 0.0, ratios })
    }

    /// What is lost by decisions for the worse, as a share of all that hangs on them.
    pub(super) fn regret(&self) -> Combination {
        let form = |counts: &Counts| {
            let mut form = self.form(counts, 0..self.groups, 0);
            form.terms.iter_mut().for_each(|term| term.cell += self.shape().layer());
            form.whole.groups = self.groups..2 * self.groups;
            form.tie(&self.totals);
            form
        };
        let ratio = |fraction: &Fraction| Ratio {
            weight: 1.0,
            numerator: form(&fraction.numerator),
            denominator: form(&fraction.denominator),
        };
        Combination { constant: 0.0, ratios: Rate::Error.fractions().iter().map(ratio).collect() }
    }

    /// At most 0 where the upper threshold is not below the lower: no more are predicted positive at it.
    pub(super) fn order(&self) -> Combination {
        let shape = self.shape();
        let cells = |column| [false, true].map(|label| shape.cell(0, column, label));
        let term = |cell, positive| FormTerm { cell, positive, negative: 0.0 };
        let upper = cells(0).map(|cell| term(cell, 1.0));
        let terms = upper.into_iter().chain(cells(1).map(|cell| term(cell, -1.0))).collect();
        let all = Counts { positives: 1.0, negatives: 1.0, ..Counts::default() };
        let (numerator, denominator) =
            (Form { terms, ..Form::default() }, self.form(&all, 0..self.groups, 0));
        Combination { constant: 0.0, ratios: vec![Ratio { weight: 1.0, numerator, denominator }] }
    }

    pub(super) fn shape(&self) -> Shape {
        Shape { groups: self.groups, columns: self.columns, layers: self.totals.len() / self.groups }
    }

    fn form(&self, counts: &Counts, groups: Range<usize>, column: usize) -> Form {
        let shape = self.shape();
        let whole =
            Whole { groups: groups.clone(), positives: counts.positives, negatives: counts.negatives };
        let mut form = Form { whole, ..Form::default() };
        form.tie(&self.totals);
        for group in groups {
            for (label, positive, negative) in [
                (true, counts.true_positives, counts.false_negatives),
                (false, counts.false_positives, counts.true_negatives),
            ] {
                let mut add = |column, positive, negative| {
                    if positive != 0.0 || negative != 0.0 {
                        let cell = shape.cell(group, column, label);
                        form.terms.push(FormTerm { cell, positive, negative });
                    }
                };
                if self.abstains {
                    // Decided positive above the upper threshold, the first; negative below the lower.
                    add(0, positive, 0.0);
                    add(1, 0.0, negative);
                } else {
                    add(column, positive, negative);
                }
            }
        }
        form
    }

    fn check(&self, rate: Rate, groups: &Range<usize>) -> Result<(), ProblemError> {
        let (positives, negatives) = rate.needs();
        let sum = |of: fn(&ClassTotals) -> f64| self.totals[groups.clone()].iter().map(of).sum::<f64>();
        let missing = if sum(|t| t.positives + t.negatives) == 0.0 {
            "examples"
        } else if positives && sum(|t| t.positives) == 0.0 {
            "positives"
        } else if negatives && sum(|t| t.negatives) == 0.0 {
            "negatives"
        } else {
            return Ok(());
        };
        let rate = rate.to_string();
        Err(ProblemError::Sample(if groups.len() < self.groups {
            let group = self.names[groups.start].clone();
            SampleError::GroupWithoutClass { column: self.column.clone(), group, missing, rate }
        } else {
            SampleError::OneClass { missing, rows: self.rows as usize, rate }
        }))
    }

    pub(super) fn condition(
        &self,
        constraint: &Constraint,
        source: usize,
        options: &ProblemOptions,
        conditions: &mut Vec<SolvedCondition>,
    ) -> Result<(), ProblemError> {
        let mut add = |expression: Combination, relation: Relation, target: f64| {
            let mut expression = expression;
            expression.constant -= target;
            let (expression, sense) = match relation {
                Relation::Equal => (expression, Sense::Equal),
                Relation::AtMost => (expression, Sense::AtMost),
                Relation::AtLeast => (expression.scaled(-1.0), Sense::AtMost),
            };
            conditions.push(SolvedCondition { expression, sense, source });
        };
        let groups = self.groups;
        match constraint {
            Constraint::Rate { rate, relation, target } => add(self.overall(*rate, 0)?, *relation, *target),
            Constraint::Top(top) => {
                add(self.overall(Rate::PositiveRate, 0)?, Relation::Equal, self.fraction(*top, options)?);
            }
            Constraint::PerGroup { rate, relation, target, .. } => {
                for group in 0..groups {
                    add(self.group(*rate, group)?, *relation, *target);
                }
            }
            // R_a - R_b <= target for every pair; no difference at all is an equality, where the groups
            // have thresholds to meet it with.
            Constraint::Gap { rate, target, .. } => {
                self.pairs(*target == 0.0 && !options.shared_threshold, |a, b, relation| {
                    add(self.group(*rate, a)?.minus(self.group(*rate, b)?, 1.0), relation, *target);
                    Ok(())
                })?;
            }
            // R_a / R_b >= target for every pair, as target R_b - R_a <= 0: a threshold within each
            // group moves one rate and not the other.
            Constraint::Ratio { rate, target, .. } if !options.shared_threshold => {
                self.pairs(*target == 1.0, |a, b, relation| {
                    add(
                        self.group(*rate, b)?.scaled(*target).minus(self.group(*rate, a)?, 1.0),
                        relation,
                        0.0,
                    );
                    Ok(())
                })?;
            }
            // With one threshold for all, that form would be met by deciding nobody positive: what is
            // held is the ratio itself, in units of the share of positives, as large as gaps are.
            Constraint::Ratio { rate, target, .. } => {
                let totals = &self.totals[..groups];
                let positives: f64 = totals.iter().map(|totals| totals.positives).sum();
                let all: f64 = totals.iter().map(|totals| totals.positives + totals.negatives).sum();
                self.pairs(false, |a, b, relation| {
                    let (above, below) = (self.group(*rate, a)?, self.group(*rate, b)?);
                    let expression = match above.over(&below) {
                        Some(ratio) => ratio.scaled(-positives / all).plus(*target * positives / all),
                        None => below.scaled(*target).minus(above, 1.0),
                    };
                    add(expression, relation, 0.0);
                    Ok(())
                })?;
            }
        }
        Ok(())
    }

    /// Every ordered pair of groups with `AtMost`, or each later group against the first with `Equal`.
    fn pairs(
        &self,
        equal: bool,
        mut visit: impl FnMut(usize, usize, Relation) -> Result<(), ProblemError>,
    ) -> Result<(), ProblemError> {
        let groups = self.groups;
        if equal {
            return (1..groups).try_for_each(|a| visit(a, 0, Relation::Equal));
        }
        for a in 0..groups {
            for b in (0..groups).filter(|b| *b != a) {
                visit(a, b, Relation::AtMost)?;
            }
        }
        Ok(())
    }

    fn fraction(&self, top: Top, options: &ProblemOptions) -> Result<f64, ProblemError> {
        match top {
            Top::Fraction(fraction) => Ok(fraction),
            Top::Count { k, of } => {
                let rows = of.or(options.rows_scored).unwrap_or(self.rows);
                if k >= rows {
                    return Err(ProblemError::TopTooLarge { k, rows });
                }
                Ok(k as f64 / rows as f64)
            }
        }
    }
}
