//! Two thresholds: positive at or above the upper, negative below the lower, undecided between.
//!
//! Cut i decides the i highest distinct scores positive, cut j >= i those beyond the j highest negative. Every rate is a
//! fraction of sums over the two sides, so that with N - q D in the place of N / D (Dinkelbach) an objective is what
//! one side is worth plus what the other is. Conditions on one side leave some of its cuts out. Coverage leaves a
//! stretch of lower cuts for each upper one, and one condition on both sides together (`error<=5%`) a set that grows
//! as upper cuts are gone through in the order of the room they leave: the best lower cut of a stretch among those
//! is found in a tree of maxima. Exact, in O(n log n) for each of a few rounds.
//!
//! Where several pairs are equally good, the one that decides the fewest is taken.

use super::error::list;
use super::{Condition, Cut, Cuts, MetricError};
use crate::goal::{Counts, Direction, Fraction, Rate, Relation};

/// Sums are equal that differ by less than this share of all examples.
const ROUNDING: f64 = 1e-12;
/// Rounds of Dinkelbach's method; three or four are enough.
const ROUNDS: usize = 30;

/// Decisions on a sample that leave some of it undecided.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Band {
    /// The objective's value.
    pub value: f64,
    /// How many distinct scores are decided positive, and how many are not decided negative.
    pub cuts: [usize; 2],
    /// The upper and the lower threshold.
    pub thresholds: [f32; 2],
    /// The counts behind every rate.
    pub counts: Counts,
}

/// The best two cuts that satisfy every condition.
///
/// # Errors
/// If the sample lacks a class that a rate needs, no cuts satisfy the conditions, two conditions are on both sides
/// together, or the objective is undefined wherever they hold.
pub fn best(cuts: &Cuts, objective: Rate, conditions: &[Condition]) -> Result<Band, MetricError> {
    for rate in conditions.iter().map(|condition| condition.rate).chain([objective]) {
        cuts.require_for(rate)?;
    }
    let search = Search::new(cuts, conditions)?;
    search.best(objective).ok_or_else(|| explain(cuts, objective, conditions))
}

/// All counts where one cut decides positive and another negative.
fn counts_at(above: Counts, below: Counts) -> Counts {
    Counts { false_negatives: below.false_negatives, true_negatives: below.true_negatives, ..above }
}

/// A linear function of counts, apart for what is decided positive, what is decided negative, and whole classes.
#[derive(Clone, Copy, Default)]
struct Linear(Counts);

impl Linear {
    /// At most 0 where the condition holds and its rate is defined.
    fn of(condition: &Condition, all: &Counts) -> Self {
        let sign = if condition.side() == Relation::AtMost { 1.0 } else { -1.0 };
        let mut form = Counts::default();
        match condition.rate.fractions_of_decided()[..] {
            [Fraction { numerator, denominator }] => {
                form.add(&numerator, sign);
                form.add(&denominator, -sign * condition.target);
            }
            // A mean of rates within whole classes.
            ref several => {
                for fraction in several {
                    let whole = fraction.denominator.dot(all);
                    form.add(&fraction.numerator, sign * whole.max(1.0).recip());
                    form.add(&fraction.denominator, -sign * condition.target * whole.max(1.0).recip());
                }
            }
        }
        Self(form)
    }

    fn on_positive_side(&self) -> bool {
        self.0.true_positives != 0.0 || self.0.false_positives != 0.0
    }

    fn on_negative_side(&self) -> bool {
        self.0.false_negatives != 0.0 || self.0.true_negatives != 0.0
    }

    /// Of what is decided positive, whole classes with it.
    fn above(&self, counts: &Counts) -> f64 {
        let none = Counts { false_negatives: 0.0, true_negatives: 0.0, ..*counts };
        self.0.dot(&none)
    }

    /// Of what is decided negative.
    fn below(&self, counts: &Counts) -> f64 {
        self.0.false_negatives * counts.false_negatives + self.0.true_negatives * counts.true_negatives
    }
}

struct Search<'a> {
    cuts: &'a Cuts,
    /// What each cut predicts positive, which is looked up in any order.
    at: Vec<[f64; 3]>,
    /// Upper cuts that the conditions on their side allow, in the order in which they leave room to lower ones,
    /// each with that room.
    upper: Vec<(f64, usize)>,
    /// Lower cuts that the conditions on their side allow, by what they take of it.
    lower: Vec<(f64, usize)>,
    /// The least share of examples that may be decided.
    coverage: f64,
    /// The condition on both sides together.
    together: Option<Condition>,
}

impl<'a> Search<'a> {
    fn new(cuts: &'a Cuts, conditions: &[Condition]) -> Result<Self, MetricError> {
        let all = cuts.counts_at(0);
        let mut coverage = 0.0;
        let mut together: Option<(Linear, Condition)> = None;
        let (mut above, mut below) = (Vec::new(), Vec::new());
        for condition in conditions {
            let form = Linear::of(condition, &all);
            match (form.on_positive_side(), form.on_negative_side()) {
                _ if condition.rate == Rate::Coverage => coverage = condition.target,
                (true, true) => {
                    if let Some((_, first)) = together.replace((form, *condition)) {
                        let (first, second) = (first.to_string(), condition.to_string());
                        return Err(MetricError::TwoTogether { first, second });
                    }
                }
                (false, _) => below.push(*condition),
                (true, false) => above.push(*condition),
            }
        }
        let allowed = |conditions: &[Condition], cut: &Cut| {
            let counts = cuts.counts_of(cut);
            let holds = |condition: &Condition| {
                condition.rate.of_decided(&counts).is_some_and(|value| condition.allows(value))
            };
            conditions.iter().all(holds)
        };
        let form = together.map_or(Linear::default(), |(form, _)| form);
        let room = |cut: Cut| (-form.above(&cuts.counts_of(&cut)), cut.place);
        let taken = |cut: Cut| (form.below(&cuts.counts_of(&cut)), cut.place);
        let every = || cuts.walk(0..cuts.len());
        let mut upper: Vec<_> = every().filter(|cut| allowed(&above, cut)).map(room).collect();
        let mut lower: Vec<_> = every().filter(|cut| allowed(&below, cut)).map(taken).collect();
        let at = every().map(|cut| [cut.true_positives, cut.false_positives, cut.money]).collect();
        upper.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        lower.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        Ok(Self { cuts, at, upper, lower, coverage, together: together.map(|(_, condition)| condition) })
    }

    fn counts(&self, cut: usize) -> Counts {
        let [true_positives, false_positives, money] = self.at[cut];
        self.cuts.counts(true_positives, false_positives, money)
    }

    fn best(&self, objective: Rate) -> Option<Band> {
        let sign = if objective.direction() == Direction::Down { -1.0 } else { 1.0 };
        let all = self.cuts.counts_at(0);
        let at = |[upper, lower]: [usize; 2]| {
            let counts = counts_at(self.counts(upper), self.counts(lower));
            let value = objective.of_decided(&counts)?;
            let thresholds = [upper, lower].map(|cut| self.cuts.threshold(cut));
            Some(Band { value, cuts: [upper, lower], thresholds, counts })
        };
        let fractions = objective.fractions_of_decided();
        let moves = |fraction: &Fraction| {
            let form = Linear(fraction.denominator);
            form.on_positive_side() || form.on_negative_side()
        };
        if !fractions.iter().any(moves) {
            let mut worth = Counts::default();
            for fraction in &fractions {
                worth.add(&fraction.numerator, sign / fraction.denominator.dot(&all));
            }
            return at(self.most(Linear(worth))?).filter(|band| self.defined(band));
        }
        let Fraction { numerator, denominator } = fractions[0];
        let mut quotient = if sign > 0.0 { 0.0 } else { 1.0 };
        let mut found: Option<Band> = None;
        for _ in 0..ROUNDS {
            let mut worth = Counts::default();
            worth.add(&numerator, sign);
            worth.add(&denominator, -sign * quotient);
            let Some(next) = at(self.most(Linear(worth))?) else {
                // Of equal N the pair with D = 0 was taken: past the end, any larger D is worth more.
                if found.is_some() || !(0.0..=1.0).contains(&quotient) {
                    break;
                }
                quotient = if sign > 0.0 { -1.0 } else { 2.0 };
                continue;
            };
            if found.is_some_and(|found| sign * next.value <= sign * found.value) {
                break;
            }
            quotient = next.value;
            found = Some(next);
        }
        found.filter(|band| self.defined(band))
    }

    /// Whether the condition on both sides together speaks of anybody.
    fn defined(&self, band: &Band) -> bool {
        self.together.is_none_or(|condition| condition.rate.of_decided(&band.counts).is_some())
    }

    /// The pair of cuts that is worth most.
    fn most(&self, worth: Linear) -> Option<[usize; 2]> {
        let all = self.cuts.positives() + self.cuts.negatives();
        let rounding = ROUNDING * all.max(1.0);
        let predicted = |cut: usize| self.at[cut][0] + self.at[cut][1];
        let mut tree = Maxima::new(self.cuts.len());
        let mut lower = self.lower.iter().peekable();
        let mut best: Option<(f64, f64, [usize; 2])> = None;
        for (room, upper) in &self.upper {
            while let Some((_, cut)) = lower.next_if(|(taken, _)| *taken <= room + rounding) {
                tree.set(*cut, worth.below(&self.counts(*cut)));
            }
            // The loosest lower cut with which enough is decided.
            let needed = self.coverage * all - predicted(*upper);
            let (mut start, mut end) = (*upper, self.cuts.len());
            while start < end {
                let middle = start + (end - start) / 2;
                if all - predicted(middle) >= needed - rounding { start = middle + 1 } else { end = middle }
            }
            let Some((value, lower)) = tree.largest(*upper, start) else { continue };
            let value = value + worth.above(&self.counts(*upper));
            let decided = predicted(*upper) + all - predicted(lower);
            let better = best.is_none_or(|(most, fewest, _)| {
                value > most + rounding * f64::EPSILON || (value >= most && decided < fewest)
            });
            if better {
                best = Some((value, decided, [*upper, lower]));
            }
        }
        best.map(|(.., cuts)| cuts)
    }
}

/// The largest of a stretch of values that come in one by one; of equals, that of the last place.
struct Maxima {
    leaves: usize,
    values: Vec<f64>,
}

impl Maxima {
    fn new(places: usize) -> Self {
        let leaves = places.next_power_of_two();
        Self { leaves, values: vec![f64::NEG_INFINITY; 2 * leaves] }
    }

    fn set(&mut self, place: usize, value: f64) {
        let mut node = self.leaves + place;
        self.values[node] = value;
        while node > 1 {
            node /= 2;
            self.values[node] = self.values[2 * node].max(self.values[2 * node + 1]);
        }
    }

    fn largest(&self, from: usize, to: usize) -> Option<(f64, usize)> {
        let (mut low, mut high) = (self.leaves + from, self.leaves + to.max(from));
        let mut node: Option<usize> = None;
        // Nodes from the right are later places: kept on a tie with those from the left.
        let mut right: Option<usize> = None;
        let later = |kept: Option<usize>, next: usize| match kept {
            Some(kept) if self.values[kept] > self.values[next] => Some(kept),
            _ => Some(next),
        };
        let earlier = |kept: Option<usize>, next: usize| match kept {
            Some(kept) if self.values[kept] >= self.values[next] => Some(kept),
            _ => Some(next),
        };
        while low < high {
            if low % 2 == 1 {
                node = later(node, low);
                low += 1;
            }
            if high % 2 == 1 {
                high -= 1;
                right = earlier(right, high);
            }
            (low, high) = (low / 2, high / 2);
        }
        let mut node = match (node, right) {
            (Some(left), Some(right)) => later(Some(left), right)?,
            (left, right) => left.or(right)?,
        };
        let value = self.values[node];
        if value == f64::NEG_INFINITY {
            return None;
        }
        while node < self.leaves {
            node = 2 * node + usize::from(self.values[2 * node + 1] == value);
        }
        Some((value, node - self.leaves))
    }
}

/// Why no cuts were found: the first condition that fails after those before it.
fn explain(cuts: &Cuts, objective: Rate, conditions: &[Condition]) -> MetricError {
    let attainable = |conditions: &[Condition], rate: Rate| {
        Search::new(cuts, conditions).ok().and_then(|search| search.best(rate))
    };
    let held = (1..=conditions.len()).find(|n| attainable(&conditions[..*n], Rate::Coverage).is_none());
    let Some(held) = held else {
        let place = if conditions.is_empty() { String::new() } else { format!(" with {}", list(conditions)) };
        return MetricError::Undefined {
            metric: objective.to_string(),
            reason: format!("its denominator is zero at all thresholds{place}"),
        };
    };
    let (condition, given) = (conditions[held - 1], &conditions[..held - 1]);
    let nearest = attainable(given, condition.rate);
    MetricError::Infeasible {
        condition,
        best: nearest.map(|band| band.value),
        recall: nearest.and_then(|band| Rate::Recall.of(&band.counts)),
        given: given.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::goal::Goal;
    use crate::metric::data::random_case;

    /// Every pair of cuts, no cleverness.
    fn oracle(cuts: &Cuts, objective: Rate, conditions: &[Condition]) -> Option<f64> {
        let sign = if objective.direction() == Direction::Up { 1.0 } else { -1.0 };
        let mut best: Option<f64> = None;
        for upper in 0..cuts.len() {
            for lower in upper..cuts.len() {
                let counts = counts_at(cuts.counts_at(upper), cuts.counts_at(lower));
                let holds = |c: &Condition| c.rate.of_decided(&counts).is_some_and(|v| c.allows(v));
                if let (true, Some(value)) = (conditions.iter().all(holds), objective.of_decided(&counts)) {
                    best = Some(
                        best.map_or(value, |best| if sign * value > sign * best { value } else { best }),
                    );
                }
            }
        }
        best
    }

    #[test]
    fn the_best_pair_is_the_one_an_exhaustive_search_finds() {
        let (mut found, mut refused) = (0, 0);
        for seed in 0..80 {
            let (sample, scores) = random_case(seed, 40);
            let cuts = Cuts::new(&sample, &scores).unwrap();
            let target = [0.55, 0.7, 0.8, 0.9, 0.97][(seed % 5) as usize];
            let low = format!("{:.2}", 1.0 - target);
            for goal in [
                format!("coverage @ precision>={target}, npv>={target}"),
                format!("coverage @ fdr<={low}, for<={low}, fpr<=50%"),
                format!("coverage @ error<={low}"),
                format!("coverage @ accuracy>={target}, precision>=0.4"),
                format!("coverage @ fpr<={low}, fnr<={low}"),
                format!("error @ coverage>={target}"),
                format!("accuracy @ coverage={target}, recall>=0.3"),
                format!("recall @ precision>=0.6, coverage>={target}"),
                format!("precision @ coverage>={target}, recall>=0.5, for<=40%"),
                format!("f1 @ coverage>={target}, npv>=0.6"),
                format!("balanced-accuracy @ coverage>={target}, error<=40%"),
                format!("tnr @ balanced-accuracy>=0.4, coverage>={target}"),
            ] {
                let goal: Goal = goal.parse().unwrap_or_else(|error| panic!("{error}"));
                let conditions: Vec<Condition> =
                    goal.constraints.iter().map(|c| Condition::of(c).unwrap().unwrap()).collect();
                let rate = goal.objective.rate().unwrap();
                match (best(&cuts, rate, &conditions), oracle(&cuts, rate, &conditions)) {
                    (Ok(band), Some(value)) => {
                        // Sums of the two sides are added in another order than the oracle's.
                        assert!((band.value - value).abs() < 1e-12, "{goal}: {} is not {value}", band.value);
                        assert!(conditions.iter().all(|c| {
                            c.rate
                                .of_decided(&band.counts)
                                .is_some_and(|value| c.allows(value) || (value - c.target).abs() < 1e-12)
                        }));
                        assert!(band.thresholds[0] >= band.thresholds[1]);
                        found += 1;
                    }
                    (Err(_), None) => refused += 1,
                    (got, expected) => panic!("seed {seed}, {goal}: {got:?}, expected {expected:?}"),
                }
            }
        }
        assert!(found > 800 && refused > 40, "{found} found, {refused} refused");
    }

    #[test]
    fn out_of_reach_names_the_condition_and_the_best_there_is() {
        let labels = vec![false, true, false, true, false, false];
        let sample = crate::sample::Sample::new(labels).unwrap();
        let cuts = Cuts::new(&sample, &[0.9, 0.8, 0.7, 0.6, 0.5, 0.4]).unwrap();
        let condition = |rate, target| Condition { rate, relation: Relation::AtLeast, target };
        let precision = condition(Rate::Precision, 0.9);
        let error = best(&cuts, Rate::Coverage, &[precision]).unwrap_err().to_string();
        assert_eq!(error, "precision>=0.9 is out of reach: the highest attainable is 0.50 at recall 1.00");
        let two = [condition(Rate::Accuracy, 0.5), condition(Rate::BalancedAccuracy, 0.5)];
        assert!(matches!(best(&cuts, Rate::Recall, &two), Err(MetricError::TwoTogether { .. })));
    }
}
