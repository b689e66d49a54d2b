//! One unrelaxed threshold per group, chosen together.
//!
//! Every group has its own cuts. What couples them:
//!
//! - The *objective* is a fraction of sums over the groups. A constant
//!   denominator makes it a sum of group scores; otherwise Dinkelbach's method
//!   replaces N / D by N - q D and raises q until nothing is gained.
//! - A *gap* or *ratio* allows the groups' rates any window of a given width.
//!   For one such condition all windows are swept, with the best score of each
//!   group in the window kept as it slides: exact, in O(n log n). For two, both
//!   windows and the cuts are thinned to a grid.
//! - An *overall* condition is priced: each group pays for its share, and the
//!   smallest price at which the condition holds is found by bisection.
//!
//! Whatever is returned satisfies every condition exactly on the sample. It is
//! the best such choice, except with overall conditions (up to the duality gap,
//! which shrinks as cuts get denser) and with two gaps or ratios (up to the grid).

use std::collections::VecDeque;

use super::ThresholdError;
use super::exact::ExactThresholds;
use crate::goal::{Constraint, Counts, Direction, Fraction, Goal, Rate, Relation};
use crate::metric::{Condition, Cuts, MetricError};
use crate::sample::Sample;

/// Most gap and ratio conditions at once.
const COUPLINGS: usize = 2;
/// Cuts kept per group when two windows are searched.
const GRID_CUTS: usize = 384;
/// Positions tried for each of two windows.
const GRID_WINDOWS: usize = 128;
/// Rounds of bisection for the price of an overall condition.
const PRICE_ROUNDS: usize = 40;

/// Solves a goal with group conditions.
pub(super) fn solve(goal: &Goal, sample: &Sample, scores: &[f32]) -> Result<ExactThresholds, ThresholdError> {
    let (Some(objective), Some(groups)) = (goal.objective.rate(), sample.groups()) else {
        return Err(MetricError::AreaWithConditions.into());
    };
    sample.check_scores(scores)?;
    let cuts: Vec<Cuts> = (0..groups.names().len())
        .map(|group| Cuts::of_rows(sample, scores, groups.rows(group)))
        .collect::<Result<_, _>>()?;
    let search = Search::new(objective, &goal.constraints, &cuts)?;
    let choice = search.solve()?;
    let counts = search.sum(&choice);
    let value = objective.of(&counts).ok_or_else(|| MetricError::Undefined {
        metric: objective.to_string(),
        reason: "its denominator is zero wherever the conditions hold".to_owned(),
    })?;
    Ok(ExactThresholds {
        thresholds: choice.iter().zip(&cuts).map(|(cut, cuts)| cuts.threshold(*cut)).collect(),
        ranges: choice.iter().zip(&cuts).map(|(cut, cuts)| cuts.range(*cut)).collect(),
        value,
    })
}

/// A gap or ratio: which windows of rates it allows.
#[derive(Clone, Copy)]
struct Coupling {
    source: usize,
    rate: Rate,
    target: f64,
    ratio: bool,
}

impl Coupling {
    /// Whether a window that starts at `low` reaches up to `high`.
    fn reaches(&self, low: f64, high: f64) -> bool {
        if self.ratio { low >= self.target * high } else { high - low <= self.target }
    }
}

/// One cut of a group that its own conditions allow.
struct CutChoice {
    cut: usize,
    counts: Counts,
    /// The rate of each coupling here.
    rates: [f64; COUPLINGS],
}

struct Search<'a> {
    objective: Rate,
    maximise: bool,
    cuts: &'a [Cuts],
    candidates: Vec<Vec<CutChoice>>,
    couplings: Vec<Coupling>,
    overall: Vec<(usize, Condition)>,
}

/// A linear function of counts: what a group's choice is worth.
type Worth = Counts;

impl<'a> Search<'a> {
    fn new(objective: Rate, constraints: &[Constraint], cuts: &'a [Cuts]) -> Result<Self, ThresholdError> {
        let mut couplings = Vec::new();
        let mut overall = Vec::new();
        let mut own = Vec::new();
        for (source, constraint) in constraints.iter().enumerate() {
            match constraint {
                Constraint::Gap { rate, target, .. } => {
                    couplings.push(Coupling { source, rate: *rate, target: *target, ratio: false });
                }
                Constraint::Ratio { rate, target, .. } => {
                    couplings.push(Coupling { source, rate: *rate, target: *target, ratio: true });
                }
                Constraint::PerGroup { rate, relation, target, .. } => {
                    own.push((source, Condition { rate: *rate, relation: *relation, target: *target }));
                }
                Constraint::Rate { .. } | Constraint::Top(_) => match Condition::of(constraint)? {
                    Some(condition) => overall.push((source, condition)),
                    None => return Err(MetricError::TwoTops.into()),
                },
            }
        }
        if couplings.len() > COUPLINGS {
            return Err(ThresholdError::TooManyCouplings { found: couplings.len(), most: COUPLINGS });
        }
        let mut search = Self {
            objective,
            maximise: objective.direction() == Direction::Up,
            cuts,
            candidates: Vec::new(),
            couplings,
            overall,
        };
        for cuts in cuts {
            let candidates = search.candidates(cuts, &own)?;
            search.candidates.push(candidates);
        }
        Ok(search)
    }

    /// The cuts of one group that its own conditions allow and where the coupled rates are defined.
    fn candidates(&self, cuts: &Cuts, own: &[(usize, Condition)]) -> Result<Vec<CutChoice>, ThresholdError> {
        let mut candidates: Vec<CutChoice> = Vec::new();
        for cut in 0..cuts.len() {
            let counts = cuts.counts_at(cut);
            if !own.iter().all(|(_, condition)| condition.holds(&counts)) {
                continue;
            }
            let mut rates = [0.0; COUPLINGS];
            let defined =
                self.couplings.iter().zip(&mut rates).all(|(coupling, slot)| {
                    coupling.rate.of(&counts).inspect(|value| *slot = *value).is_some()
                });
            if defined {
                candidates.push(CutChoice { cut, counts, rates });
            }
        }
        if candidates.is_empty() {
            let condition = own.first().map_or(0, |(source, _)| *source);
            return Err(ThresholdError::Infeasible { condition, violation: None });
        }
        if self.couplings.len() > 1 && candidates.len() > GRID_CUTS {
            let last = candidates.len() - 1;
            let kept: Vec<usize> = (0..GRID_CUTS).map(|i| i * last / (GRID_CUTS - 1)).collect();
            let mut index = 0;
            candidates.retain(|_| {
                index += 1;
                kept.binary_search(&(index - 1)).is_ok()
            });
        }
        Ok(candidates)
    }

    /// Counts over all groups, for one cut in each.
    fn sum(&self, choice: &[usize]) -> Counts {
        let mut sum = Counts::default();
        choice.iter().zip(self.cuts).for_each(|(cut, cuts)| sum.add(&cuts.counts_at(*cut), 1.0));
        sum
    }

    /// The objective, larger is better; minus infinity where it is undefined.
    fn merit(&self, choice: &[usize]) -> f64 {
        let value = self.objective.of(&self.sum(choice));
        value.map_or(f64::NEG_INFINITY, |value| if self.maximise { value } else { -value })
    }

    fn solve(&self) -> Result<Vec<usize>, ThresholdError> {
        let fractions = self.objective.fractions();
        let sign = if self.maximise { 1.0 } else { -1.0 };
        let totals = self.sum(&vec![0; self.cuts.len()]);
        let constant = |fraction: &Fraction| {
            let d = &fraction.denominator;
            d.true_positives == 0.0
                && d.false_positives == 0.0
                && d.true_negatives == 0.0
                && d.false_negatives == 0.0
        };
        if fractions.iter().all(constant) {
            let mut worth = Worth::default();
            for fraction in &fractions {
                let scale = sign / (fraction.denominator.dot(&totals) * fractions.len() as f64);
                worth.add(&fraction.numerator, scale);
            }
            return self.under_overall_conditions(&worth);
        }
        // Dinkelbach: N - q D is positive at its best choice as long as q is too small.
        let Fraction { numerator, denominator } = fractions[0];
        let mut quotient = if self.maximise { 0.0 } else { 1.0 };
        let mut best: Option<Vec<usize>> = None;
        for round in 0..30 {
            let mut worth = Worth::default();
            worth.add(&numerator, sign);
            worth.add(&denominator, -sign * quotient);
            let choice = self.under_overall_conditions(&worth)?;
            let merit = self.merit(&choice);
            if round == 0 && !merit.is_finite() {
                // Of equal N the one with D = 0 was taken: past the end, any larger D is worth more.
                quotient = if self.maximise { -1.0 } else { 2.0 };
                continue;
            }
            if best.as_ref().is_some_and(|best| merit <= self.merit(best)) {
                break;
            }
            best = Some(choice);
            quotient = if self.maximise { merit } else { -merit };
            if !merit.is_finite() {
                break;
            }
        }
        best.ok_or(ThresholdError::Infeasible { condition: 0, violation: None })
    }

    /// The worthiest choice that satisfies the overall conditions too.
    fn under_overall_conditions(&self, worth: &Worth) -> Result<Vec<usize>, ThresholdError> {
        let costs: Vec<Worth> = self.overall.iter().map(|(_, condition)| cost(condition)).collect();
        let mut prices = vec![0.0; costs.len()];
        let mut best: Option<(f64, Vec<usize>)> = None;
        let attempt =
            |prices: &[f64], best: &mut Option<(f64, Vec<usize>)>| -> Result<Vec<bool>, ThresholdError> {
                let mut priced = *worth;
                for (cost, price) in costs.iter().zip(prices) {
                    priced.add(cost, -price);
                }
                let choice = self.within_windows(&priced)?;
                let counts = self.sum(&choice);
                let holds: Vec<bool> =
                    self.overall.iter().map(|(_, condition)| condition.holds(&counts)).collect();
                let value = worth.dot(&counts);
                if holds.iter().all(|h| *h) && best.as_ref().is_none_or(|(most, _)| value > *most) {
                    *best = Some((value, choice));
                }
                Ok(holds)
            };
        if attempt(&prices, &mut best)?.iter().all(|h| *h) {
            return best.map(|(_, choice)| choice).ok_or(self.infeasible());
        }
        // One price at a time, a few rounds: with one condition the first round is final.
        let scale = scale_of(worth).max(f64::MIN_POSITIVE);
        for _ in 0..if costs.len() > 1 { 4 } else { 1 } {
            for k in 0..costs.len() {
                let (mut low, mut high) = (0.0, scale / scale_of(&costs[k]).max(f64::MIN_POSITIVE));
                prices[k] = high;
                while !attempt(&prices, &mut best)?[k] && high < 1e12 * scale {
                    (low, high) = (high, high * 8.0);
                    prices[k] = high;
                }
                for _ in 0..PRICE_ROUNDS {
                    prices[k] = 0.5 * (low + high);
                    if attempt(&prices, &mut best)?[k] {
                        high = prices[k];
                    } else {
                        low = prices[k];
                    }
                }
                prices[k] = high;
            }
        }
        best.map(|(_, choice)| choice).ok_or(self.infeasible())
    }

    fn infeasible(&self) -> ThresholdError {
        let first = self.overall.first().map(|(source, _)| *source);
        let condition = first.or(self.couplings.first().map(|coupling| coupling.source)).unwrap_or(0);
        ThresholdError::Infeasible { condition, violation: None }
    }

    /// The worthiest choice whose rates lie within a window for each coupling.
    fn within_windows(&self, worth: &Worth) -> Result<Vec<usize>, ThresholdError> {
        let values: Vec<Vec<f64>> = self
            .candidates
            .iter()
            .map(|group| group.iter().map(|candidate| worth.dot(&candidate.counts)).collect())
            .collect();
        let choice = match self.couplings[..] {
            [] => Some(values.iter().map(|values| largest(values, 0..values.len())).collect()),
            [coupling] => self.slide(&coupling, &values),
            _ => self.grid(&values),
        };
        let choice: Option<Vec<usize>> = choice;
        let choice = choice.ok_or_else(|| self.infeasible())?;
        Ok(choice.iter().zip(&self.candidates).map(|(index, group)| group[*index].cut).collect())
    }

    /// Slides one window over all rates, keeping each group's best candidate inside it.
    fn slide(&self, coupling: &Coupling, values: &[Vec<f64>]) -> Option<Vec<usize>> {
        let orders: Vec<Vec<usize>> = self
            .candidates
            .iter()
            .map(|group| {
                let mut order: Vec<usize> = (0..group.len()).collect();
                order.sort_by(|a, b| group[*a].rates[0].total_cmp(&group[*b].rates[0]));
                order
            })
            .collect();
        let rate = |group: usize, place: usize| self.candidates[group][orders[group][place]].rates[0];
        let mut lows: Vec<f64> =
            self.candidates.iter().flatten().map(|candidate| candidate.rates[0]).collect();
        lows.sort_by(f64::total_cmp);
        lows.dedup();
        let mut windows: Vec<VecDeque<usize>> = vec![VecDeque::new(); orders.len()];
        let mut ends = vec![0; orders.len()];
        let mut best: Option<(f64, Vec<usize>)> = None;
        for low in lows {
            let mut total = 0.0;
            for (group, window) in windows.iter_mut().enumerate() {
                let value = |place: usize| values[group][orders[group][place]];
                while ends[group] < orders[group].len() && coupling.reaches(low, rate(group, ends[group])) {
                    while window.back().is_some_and(|last| value(*last) <= value(ends[group])) {
                        window.pop_back();
                    }
                    window.push_back(ends[group]);
                    ends[group] += 1;
                }
                while window.front().is_some_and(|first| rate(group, *first) < low) {
                    window.pop_front();
                }
                total += window.front().map_or(f64::NEG_INFINITY, |place| value(*place));
            }
            if total > best.as_ref().map_or(f64::NEG_INFINITY, |(most, _)| *most) {
                let choice = windows.iter().zip(&orders).map(|(window, order)| order[window[0]]).collect();
                best = Some((total, choice));
            }
        }
        best.map(|(_, choice)| choice)
    }

    /// Tries windows for both couplings on a grid.
    fn grid(&self, values: &[Vec<f64>]) -> Option<Vec<usize>> {
        let lows = |coupling: usize| {
            let mut lows: Vec<f64> = self.candidates.iter().flatten().map(|c| c.rates[coupling]).collect();
            lows.sort_by(f64::total_cmp);
            lows.dedup();
            let last = lows.len() - 1;
            let count = GRID_WINDOWS.min(lows.len());
            (0..count).map(|i| lows[i * last / (count - 1).max(1)]).collect::<Vec<f64>>()
        };
        let (first, second) = (lows(0), lows(1));
        let mut best: Option<(f64, Vec<usize>)> = None;
        for a in &first {
            for b in &second {
                let mut total = 0.0;
                let mut choice = Vec::with_capacity(self.candidates.len());
                for (group, values) in self.candidates.iter().zip(values) {
                    let inside = |candidate: &CutChoice| {
                        let [x, y] = candidate.rates;
                        x >= *a
                            && y >= *b
                            && self.couplings[0].reaches(*a, x)
                            && self.couplings[1].reaches(*b, y)
                    };
                    let found = (0..group.len())
                        .filter(|index| inside(&group[*index]))
                        .max_by(|x, y| values[*x].total_cmp(&values[*y]));
                    let Some(found) = found else { break };
                    total += values[found];
                    choice.push(found);
                }
                if choice.len() == self.candidates.len()
                    && total > best.as_ref().map_or(f64::NEG_INFINITY, |(most, _)| *most)
                {
                    best = Some((total, choice));
                }
            }
        }
        best.map(|(_, choice)| choice)
    }
}

/// Index of the largest value of a range, the first of equals.
fn largest(values: &[f64], range: std::ops::Range<usize>) -> usize {
    range.reduce(|best, next| if values[next] > values[best] { next } else { best }).unwrap_or(0)
}

/// A linear function of the counts that is at most 0 exactly where the condition holds.
fn cost(condition: &Condition) -> Worth {
    let fractions = condition.rate.fractions();
    let sign = if condition.side() == Relation::AtMost { 1.0 } else { -1.0 };
    let mut cost = Worth::default();
    // N / D <= b as N - b D <= 0; balanced accuracy, the one mean of two, has constant denominators
    // that differ, and is close enough when priced by their sum: the price search checks what holds.
    for fraction in &fractions {
        cost.add(&fraction.numerator, sign);
        cost.add(&fraction.denominator, -sign * condition.target);
    }
    cost
}

fn scale_of(worth: &Worth) -> f64 {
    let Worth { true_positives, false_negatives, false_positives, true_negatives, money, .. } = *worth;
    let parts = [true_positives, false_negatives, false_positives, true_negatives, money];
    parts.iter().fold(0.0f64, |most, x| most.max(x.abs()))
}
