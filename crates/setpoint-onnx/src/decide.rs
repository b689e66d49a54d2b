//! The end of the graph: score, probability, decision.
//!
//! A row is positive when score >= threshold, compared in 32 bits as Setpoint does. Scores of linear models and
//! of trees are Setpoint's to the last bit, so the threshold is the model's own. Those of networks differ in
//! their last digits, and a threshold is the very score of some calibration row, or the number next to it:
//! there the graph's threshold moves midway between the two observed scores around it, but not further than
//! [`DISTANCE`] standard deviations of the scores from where it was. The decisions on the observed rows stay,
//! and on others only those within that distance could change, which rounding could change as well.

use setpoint::artifact::Groups;
use setpoint::message::quote;
use setpoint_run::{Failure, POOL, Probability};

use crate::graph::{Builder, int, strings};
use crate::input::Keys;
use crate::proto::element;

/// How far a threshold may move, in standard deviations of the scores.
pub const DISTANCE: f64 = 1e-5;
pub(crate) const COLUMN: [Option<usize>; 2] = [None, Some(1)];
/// The decision about rows that are left undecided.
pub(crate) const UNDECIDED: i64 = -1;
/// The first versions of the standard operators with `>=`, and with equality of numbers.
const AT_LEAST: i64 = 12;
const EQUAL: i64 = 11;
/// The first version of the classical operators that look categories up by keys and values; before, by classes
/// of texts alone.
const BY_KEYS: i64 = 2;

/// Scores of rows, and which of the thresholds each is compared with.
#[derive(Clone, Copy, Debug)]
pub struct Observed<'a> {
    /// The scores.
    pub scores: &'a [f32],
    /// The place of each row's threshold, where there are several.
    pub of: Option<&'a [u32]>,
}

/// The thresholds, each midway between the observed scores around it.
pub(crate) fn place(thresholds: &[f32], observed: Observed<'_>) -> Vec<f32> {
    let reach = DISTANCE * spread(observed.scores);
    let mut around = vec![(f32::NEG_INFINITY, f32::INFINITY); thresholds.len()];
    for (row, score) in observed.scores.iter().enumerate() {
        let of = observed.of.map_or(0, |of| of[row] as usize);
        let (below, above) = &mut around[of];
        if *score >= thresholds[of] { *above = above.min(*score) } else { *below = below.max(*score) }
    }
    let moved = thresholds.iter().zip(around).map(|(threshold, (below, above))| {
        let own = f64::from(*threshold);
        let (low, high) = (f64::from(below).max(own - reach), f64::from(above).min(own + reach));
        let middle = f64::midpoint(low, high) as f32;
        // Rounded, it may be the score below.
        if middle > below && middle <= above { middle } else { *threshold }
    });
    moved.collect()
}

/// The standard deviation of scores.
pub(crate) fn spread(scores: &[f32]) -> f64 {
    let count = scores.len().max(1) as f64;
    let mean = scores.iter().map(|score| f64::from(*score)).sum::<f64>() / count;
    (scores.iter().map(|score| (f64::from(*score) - mean).powi(2)).sum::<f64>() / count).sqrt()
}

/// What decides, in whichever graph: Setpoint's own, or another's.
pub(crate) struct Rule<'a> {
    /// The value with the scores.
    pub(crate) score: &'a str,
    /// The type of its elements: 32 or 64 bits.
    pub(crate) element: i32,
    /// One, or one for each group.
    pub(crate) thresholds: &'a [f64],
    /// The score below which rows are negative, where those from there to the threshold are left undecided.
    pub(crate) lower: Option<f32>,
    /// The groups.
    pub(crate) groups: Option<&'a Groups>,
    /// Scores as probabilities.
    pub(crate) probability: Option<Probability>,
    /// Versions of the standard and of the classical operators.
    pub(crate) versions: [i64; 2],
}

impl Rule<'_> {
    /// Gives out score, probability and decision; returns what the decision is called.
    pub(crate) fn add(&self, graph: &mut Builder) -> Result<String, Failure> {
        let decision = self.decision(graph)?;
        let curve = self.probability.map(|curve| {
            // In 64 bits: of a rare event's chance 32 would leave few digits.
            let wide = graph.wide(self.score);
            let (slope, intercept) =
                (graph.doubles(&[1, 1], &[curve.slope]), graph.doubles(&[1], &[curve.intercept]));
            let odds = graph.node("Gemm", &[&wide, &slope, &intercept], Vec::new());
            let chance = graph.node("Sigmoid", &[&odds], Vec::new());
            graph.cast(&chance, element::FLOAT)
        });
        graph.output(self.score, "score", self.element, &COLUMN);
        if let Some(curve) = curve {
            graph.output(&curve, "probability", element::FLOAT, &COLUMN);
        }
        Ok(graph.output(&decision, "decision", element::INT64, &COLUMN))
    }

    fn decision(&self, graph: &mut Builder) -> Result<String, Failure> {
        let [standard, _] = self.versions;
        let (compare, limit): (_, fn(f64) -> f32) =
            if standard >= AT_LEAST { ("GreaterOrEqual", from) } else { ("Greater", below) };
        let limits = |graph: &mut Builder, dims: &[usize], thresholds: &[f64]| match self.element {
            element::FLOAT => {
                graph.floats(dims, &thresholds.iter().map(|one| limit(*one)).collect::<Vec<f32>>())
            }
            _ if standard >= AT_LEAST => graph.doubles(dims, thresholds),
            _ => graph.doubles(dims, &thresholds.iter().map(|one| one.next_down()).collect::<Vec<f64>>()),
        };
        let threshold = match self.groups {
            None => limits(graph, &[1, 1], &self.thresholds[..1]),
            Some(groups) => {
                let places = self.place(graph, groups)?;
                let thresholds = limits(graph, &[self.thresholds.len()], self.thresholds);
                graph.node("Gather", &[&thresholds, &places], vec![int("axis", 0)])
            }
        };
        let above = graph.node(compare, &[self.score, &threshold], Vec::new());
        let Some(lower) = self.lower else { return Ok(graph.cast(&above, element::INT64)) };
        let lower = graph.floats(&[1, 1], &[lower]);
        let below = graph.node("Less", &[self.score, &lower], Vec::new());
        let [positive, negative, none] = [1, 0, UNDECIDED].map(|decision| graph.ints(&[], &[decision]));
        let other = graph.node("Where", &[&below, &negative, &none], Vec::new());
        Ok(graph.node("Where", &[&above, &positive, &other], Vec::new()))
    }

    /// The place of each row's group. One that the model does not know is in the pool; without a pool its place is
    /// outside of the list, which runtimes refuse: there is no decision for it.
    fn place(&self, graph: &mut Builder, groups: &Groups) -> Result<String, Failure> {
        let [standard, classical] = self.versions;
        let column = &groups.column;
        let known: Vec<String> = groups.names.iter().filter(|name| *name != POOL).cloned().collect();
        let places: Vec<i64> =
            (0..).zip(&groups.names).filter(|(_, name)| *name != POOL).map(|(place, _)| place).collect();
        let pool = groups.names.iter().position(|name| name == POOL);
        let absent = pool.unwrap_or(groups.names.len()) as i64;
        let found = graph.element_of(column);
        let refuse = |why: &str| {
            Err(Failure::input(format!(
                "thresholds by {} cannot be put into the graph: {why}",
                quote(column)
            )))
        };
        if classical < BY_KEYS {
            if !matches!(found, None | Some(element::STRING)) {
                return refuse(
                    "it is an input that is no text, and the model's operators look up texts alone",
                );
            }
            let from = graph.input(column, element::STRING, &COLUMN);
            let classes = strings("classes_strings", groups.names.iter().map(String::as_str));
            return Ok(graph.ml("LabelEncoder", &[&from], vec![classes, int("default_int64", absent)]));
        }
        let keys = Keys::new(&known);
        match found {
            Some(element::STRING) => Ok(Keys::Texts(known).place(graph, column, places, absent)),
            Some(number @ (element::FLOAT | element::DOUBLE)) => {
                if keys.element() != element::INT64 || standard < EQUAL {
                    return refuse("it is an input of numbers, and the groups are not whole ones");
                }
                // What is no whole number is no group.
                let whole = graph.cast(column, element::INT64);
                let again = graph.cast(&whole, number);
                let same = graph.node("Equal", &[&again, column], Vec::new());
                let (place, none) = (keys.place(graph, &whole, places, absent), graph.ints(&[], &[absent]));
                Ok(graph.node("Where", &[&same, &place, &none], Vec::new()))
            }
            Some(other) if other != keys.element() => {
                refuse("it is an input already, of a type that tells no groups")
            }
            _ => {
                let from = graph.input(column, keys.element(), &COLUMN);
                Ok(keys.place(graph, &from, places, absent))
            }
        }
    }
}

/// The smallest 32-bit number not below a threshold.
fn from(threshold: f64) -> f32 {
    let nearest = threshold as f32;
    if f64::from(nearest) >= threshold { nearest } else { nearest.next_up() }
}

/// The largest 32-bit number below a threshold: `>` it is `>=` the threshold.
fn below(threshold: f64) -> f32 {
    from(threshold).next_down()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threshold_moves_midway_between_observed_scores_but_not_far() {
        let scores = [0.0, 1.0, 1.000_001, 2.0];
        let observed = Observed { scores: &scores, of: None };
        // Next to a score: a few millionths of a deviation away from it, towards the next one.
        let moved = place(&[1.0f32.next_up()], observed)[0];
        assert!(moved > 1.0f32.next_up() && moved <= 1.000_001, "{moved}");
        // In the middle of a gap there is no need to move far.
        let moved = place(&[1.5], observed)[0];
        assert!((moved - 1.5).abs() < 1e-6, "{moved}");
        // Above and below all scores.
        for threshold in [3.0, -1.0] {
            let moved = place(&[threshold], observed)[0];
            assert!((moved - threshold).abs() < 1e-4);
        }
        // Neighbours with no number between them, and no scores at all.
        let next = [1.0, 1.0f32.next_up()];
        assert_eq!(place(&[next[1]], Observed { scores: &next, of: None }), [next[1]]);
        assert_eq!(place(&[0.5], Observed { scores: &[], of: None }), [0.5]);
    }

    #[test]
    fn a_threshold_looks_at_the_rows_it_decides_about() {
        let (scores, of) = ([1.0, 1.000_002, 1.000_001, 5.0], [0, 0, 1, 1]);
        let observed = Observed { scores: &scores, of: Some(&of) };
        let moved = place(&[1.0f32.next_up(), 1.000_001], observed);
        assert!(moved[0] > 1.0 && moved[0] <= 1.000_002, "{moved:?}");
        assert!(moved[1] <= 1.000_001 && moved[1] > 0.999_9, "{moved:?}");
        for (score, of) in scores.iter().zip(of) {
            let own = [1.0f32.next_up(), 1.000_001][of as usize];
            assert_eq!(*score >= moved[of as usize], *score >= own);
        }
    }

    #[test]
    fn numbers_of_32_bits_around_a_threshold_decide_as_it_does() {
        for threshold in [0.1, 0.5, 0.1f64.next_up(), f64::from(0.1f32), -3.7, 1e-40, 0.0] {
            let (limit, least) = (below(threshold), from(threshold));
            for score in [limit, least, limit.next_down(), least.next_up(), threshold as f32] {
                assert_eq!(score > limit, f64::from(score) >= threshold, "{score} {threshold}");
                assert_eq!(score >= least, f64::from(score) >= threshold, "{score} {threshold}");
            }
        }
    }

    #[test]
    fn groups_that_no_operator_can_tell_are_refused_by_name() {
        let groups = |names: &[&str]| Groups {
            column: "site".to_owned(),
            names: names.iter().map(|name| (*name).to_owned()).collect(),
        };
        for (element, versions, names, said) in [
            (element::FLOAT, [17, 3], groups(&["a", "b"]), "the groups are not whole ones"),
            (element::FLOAT, [9, 3], groups(&["1", "2"]), "the groups are not whole ones"),
            (element::INT64, [17, 3], groups(&["a", "b"]), "of a type that tells no groups"),
            (element::INT64, [17, 1], groups(&["1", "2"]), "look up texts alone"),
        ] {
            let mut graph = Builder::default();
            graph.input("site", element, &COLUMN);
            let thresholds = &[0.5, 0.6][..];
            let rule = Rule {
                score: "s",
                element: element::FLOAT,
                thresholds,
                lower: None,
                groups: Some(&names),
                probability: None,
                versions,
            };
            let error = rule.add(&mut graph).unwrap_err().message;
            assert!(error.contains("thresholds by \"site\"") && error.contains(said), "{error}");
        }
    }
}
