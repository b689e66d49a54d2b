//! A goal of classes as functions of its smooth confusion matrix.
//!
//! Every rate of a class is a fraction of two numbers beside constants: T, its rows that are decided as it, and
//! D, all rows that are. So a rate is known by six coefficients, and its derivative by two numbers; the mean
//! cost alone looks at the whole matrix. The worst of the classes is smoothed,
//!
//! ```text
//! worst = -1/κ ln mean_c e^{-κ r_c}
//! ```

use super::kernel::Tally;
use super::{ClassError, Classes};
use crate::goal::{ClassGoal, ClassObjective, ClassRate, Counts, Direction, Over, Rate, Relation};

/// κ: rates that are less than 1 / κ apart count alike.
const WORST: f64 = 30.0;

/// (a + b T + c D) / (d + e T + f D) of one class.
#[derive(Clone, Copy, Debug)]
struct Ratio {
    class: usize,
    weight: f64,
    top: [f64; 3],
    bottom: [f64; 3],
}

/// Derivatives by T and D of each class, and by the mean cost.
#[derive(Clone, Debug, Default)]
pub(super) struct Partial {
    right: Vec<f64>,
    decided: Vec<f64>,
    cost: f64,
}

/// A condition, as g <= 0 or g = 0.
#[derive(Clone, Debug)]
pub(super) struct Held {
    ratio: Ratio,
    sign: f64,
    target: f64,
    pub(super) equal: bool,
    /// The class whose shift meets it.
    pub(super) class: usize,
}

/// A goal tied to rows.
#[derive(Clone, Debug)]
pub(super) struct Problem {
    pub(super) classes: usize,
    pub(super) totals: Vec<f64>,
    total: f64,
    ratios: Vec<Ratio>,
    /// Loss per unit of objective.
    sign: f64,
    worst: bool,
    /// Costs over the summed weight.
    pub(super) costs: Vec<f64>,
    pub(super) conditions: Vec<Held>,
    /// The classes whose D something depends on.
    pub(super) gram: Vec<usize>,
    /// No loss is above this.
    pub(super) bound: f64,
}

impl Problem {
    pub(super) fn new(goal: &ClassGoal, classes: &Classes<'_>) -> Result<Self, ClassError> {
        let count = classes.count();
        let present = |class: &usize| classes.totals[*class] > 0.0;
        let mut problem = Self {
            classes: count,
            totals: classes.totals.clone(),
            total: classes.total,
            ratios: Vec::new(),
            sign: if goal.objective.direction() == Direction::Up { -1.0 } else { 1.0 },
            worst: false,
            costs: Vec::new(),
            conditions: Vec::new(),
            gram: Vec::new(),
            bound: 1.0,
        };
        match &goal.objective {
            ClassObjective::Cost { table, .. } if table.len() == count * count => {
                problem.bound = table.iter().copied().fold(f64::MIN, f64::max);
                problem.costs = table.iter().map(|cost| cost / classes.total).collect();
            }
            ClassObjective::Cost { .. } => return Err(ClassError::NoCosts),
            ClassObjective::Rate(ClassRate { rate, over }) => {
                let of: Vec<usize> = match over {
                    Over::Class(class) => vec![*class],
                    _ => (0..count).filter(present).collect(),
                };
                problem.worst = *over == Over::Worst;
                let weight = if problem.worst { 1.0 } else { 1.0 / of.len() as f64 };
                let whole = |class| {
                    // Right decisions, or wrong ones, over all rows.
                    let wrong = *rate == Rate::Error;
                    let top = if wrong { [classes.totals[class], -1.0, 0.0] } else { [0.0, 1.0, 0.0] };
                    Ratio { class, weight: 1.0, top, bottom: [classes.total, 0.0, 0.0] }
                };
                problem.ratios = match over {
                    Over::All => of.into_iter().map(whole).collect(),
                    _ => of.into_iter().flat_map(|class| problem.ratios_of(*rate, class, weight)).collect(),
                };
                problem.bound = if problem.sign < 0.0 { 0.0 } else { 1.0 };
            }
        }
        for condition in &goal.conditions {
            let of = match condition.rate.over {
                Over::Class(class) => class..class + 1,
                _ => 0..count,
            };
            for class in of.filter(present) {
                let held = problem.ratios_of(condition.rate.rate, class, 1.0).map(|ratio| Held {
                    ratio,
                    sign: if condition.side() == Relation::AtMost { 1.0 } else { -1.0 },
                    target: condition.target.of(classes.prior(class)),
                    equal: condition.relation == Relation::Equal,
                    class,
                });
                problem.conditions.extend(held);
            }
        }
        let ratios = problem.ratios.iter().chain(problem.conditions.iter().map(|held| &held.ratio));
        let decided = |ratio: &Ratio| ratio.top[2] != 0.0 || ratio.bottom[2] != 0.0;
        let mut gram: Vec<usize> = ratios.filter(|ratio| decided(ratio)).map(|ratio| ratio.class).collect();
        gram.sort_unstable();
        gram.dedup();
        problem.gram = gram;
        Ok(problem)
    }

    /// The one fraction that a rate of a class is; none for balanced accuracy, which is of no class.
    fn ratios_of(&self, rate: Rate, class: usize, weight: f64) -> Option<Ratio> {
        let (positives, all) = (self.totals[class], self.total);
        let negatives = all - positives;
        let linear = |k: &Counts| {
            [
                (k.false_negatives + k.positives) * positives + (k.true_negatives + k.negatives) * negatives,
                k.true_positives - k.false_negatives - k.false_positives + k.true_negatives,
                k.false_positives - k.true_negatives,
            ]
        };
        let fractions = rate.fractions();
        let [fraction] = &fractions[..] else { return None };
        Some(Ratio { class, weight, top: linear(&fraction.numerator), bottom: linear(&fraction.denominator) })
    }

    /// The loss and its derivatives; `None` where a rate is undefined.
    pub(super) fn loss(&self, tally: &Tally) -> Option<(f64, Partial)> {
        let mut partial = self.no_partial();
        if !self.costs.is_empty() {
            let cost = crate::algebra::dot(&self.costs, &tally.matrix);
            partial.cost = 1.0;
            return Some((cost, partial));
        }
        let mut values = Vec::with_capacity(self.ratios.len());
        for ratio in &self.ratios {
            values.push(self.value(ratio, tally)?);
        }
        if self.worst {
            let sharp = self.sign * WORST;
            let most = values.iter().map(|value| sharp * value).fold(f64::MIN, f64::max);
            let sum: f64 = values.iter().map(|value| (sharp * value - most).exp()).sum();
            for (ratio, value) in self.ratios.iter().zip(&values) {
                let share = (sharp * value - most).exp() / sum;
                self.add(ratio, tally, self.sign * share, &mut partial);
            }
            let worst = (most + (sum / values.len() as f64).ln()) / sharp;
            return Some((self.sign * worst, partial));
        }
        let mut loss = 0.0;
        for (ratio, value) in self.ratios.iter().zip(&values) {
            loss += self.sign * ratio.weight * value;
            self.add(ratio, tally, self.sign * ratio.weight, &mut partial);
        }
        Some((loss, partial))
    }

    /// The objective of a loss.
    pub(super) fn objective(&self, loss: f64) -> f64 {
        if self.costs.is_empty() { self.sign * loss } else { loss }
    }

    /// g of a condition; `None` where its rate is undefined.
    pub(super) fn excess(&self, held: &Held, tally: &Tally) -> Option<f64> {
        Some(held.sign * (self.value(&held.ratio, tally)? - held.target))
    }

    /// Adds `factor` times the derivative of a condition's g.
    pub(super) fn add_condition(&self, held: &Held, tally: &Tally, factor: f64, into: &mut Partial) {
        self.add(&held.ratio, tally, factor * held.sign, into);
    }

    pub(super) fn no_partial(&self) -> Partial {
        Partial { right: vec![0.0; self.classes], decided: vec![0.0; self.classes], cost: 0.0 }
    }

    /// Numerator and denominator.
    fn parts(&self, ratio: &Ratio, tally: &Tally) -> (f64, f64) {
        let right = tally.right(ratio.class, self.classes);
        let decided = tally.decided(ratio.class, self.classes);
        let linear = |k: &[f64; 3]| k[0] + k[1] * right + k[2] * decided;
        (linear(&ratio.top), linear(&ratio.bottom))
    }

    fn value(&self, ratio: &Ratio, tally: &Tally) -> Option<f64> {
        let (top, bottom) = self.parts(ratio, tally);
        // A class that is hardly decided at all has no precision to speak of.
        (bottom > 1e-9 * self.total).then(|| top / bottom)
    }

    fn add(&self, ratio: &Ratio, tally: &Tally, factor: f64, into: &mut Partial) {
        let (top, bottom) = self.parts(ratio, tally);
        let by = |place: usize| factor * (ratio.top[place] - top / bottom * ratio.bottom[place]) / bottom;
        into.right[ratio.class] += by(1);
        into.decided[ratio.class] += by(2);
    }

    /// The derivative by each shift. `gram` are the classes whose sums the tally has.
    pub(super) fn slopes(
        &self,
        partial: &Partial,
        tally: &Tally,
        sharpness: f64,
        gram: &[usize],
    ) -> Vec<f64> {
        let count = self.classes;
        let mut slopes = vec![0.0; count];
        let mut add = |factor: f64, class: usize, whole: f64, products: &[f64]| {
            if factor != 0.0 {
                slopes[class] -= sharpness * factor * whole;
                slopes
                    .iter_mut()
                    .zip(products)
                    .for_each(|(slope, product)| *slope += sharpness * factor * product);
            }
        };
        for class in 0..count {
            let own = &tally.own[class * count..][..count];
            add(partial.right[class], class, tally.right(class, count), own);
        }
        for (class, products) in gram.iter().zip(tally.gram.chunks(count)) {
            add(partial.decided[*class], *class, tally.decided(*class, count), products);
        }
        if partial.cost != 0.0 {
            slopes
                .iter_mut()
                .zip(&tally.cost)
                .for_each(|(slope, cost)| *slope -= sharpness * partial.cost * cost);
        }
        slopes
    }

    /// Coefficients on the confusion matrix, true class by true class.
    pub(super) fn table(&self, partial: &Partial, table: &mut Vec<f64>) {
        let count = self.classes;
        table.clear();
        for y in 0..count {
            for class in 0..count {
                let right = if class == y { partial.right[class] } else { 0.0 };
                let cost = self.costs.get(y * count + class).map_or(0.0, |cost| partial.cost * cost);
                table.push(right + partial.decided[class] + cost);
            }
        }
    }
}
