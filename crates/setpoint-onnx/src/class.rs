//! The end of the graph of several classes: scores, probabilities, and the class with the largest score less its
//! shift, by name; of equal ones the first, as in Setpoint.
//!
//! Margins are compared in 64 bits, as Setpoint does. Scores of networks differ in their last digits, so there the
//! graph's shifts move, each midway between those at which an observed row would be decided otherwise, by no more
//! than [`DISTANCE`] standard deviations of the scores: the decisions on the observed rows stay.

use setpoint::class::{ClassProbability, decide};

use crate::decide::{DISTANCE, spread};
use crate::graph::{Builder, int, ints, string, strings};
use crate::proto::element;

/// The shifts, each away from the observed scores around it.
pub(crate) fn place(shifts: &[f64], scores: &[f32]) -> Vec<f64> {
    let reach = DISTANCE * spread(scores);
    let mut moved = shifts.to_vec();
    for class in 0..shifts.len() {
        // How far the shift may rise before a row is lost to another class, and fall before one is won.
        let (mut rise, mut fall) = (reach, reach);
        for scores in scores.chunks_exact(shifts.len()) {
            let margin = |class: usize| f64::from(scores[class]) - moved[class];
            let others = (0..shifts.len()).filter(|other| *other != class);
            let ahead = margin(class) - others.map(margin).fold(f64::NEG_INFINITY, f64::max);
            if decide(scores, shifts) == class { rise = rise.min(ahead) } else { fall = fall.min(-ahead) }
        }
        // Neither is below zero, but for rounding.
        moved[class] += (rise.max(0.0) - fall.max(0.0)) / 2.0;
    }
    moved
}

/// What decides among several classes.
pub(crate) struct Rule<'a> {
    /// The value with the scores, of 32 bits.
    pub(crate) score: &'a str,
    /// The classes.
    pub(crate) names: &'a [String],
    /// What is subtracted from the score of each.
    pub(crate) shifts: &'a [f64],
    /// Scores as probabilities.
    pub(crate) probability: Option<&'a ClassProbability>,
}

impl Rule<'_> {
    /// Gives out scores, probabilities and decision.
    pub(crate) fn add(&self, graph: &mut Builder) {
        let count = self.names.len();
        let sizes = [None, Some(count)];
        let wide = graph.cast(self.score, element::DOUBLE);
        let shifts = graph.doubles(&[1, count], self.shifts);
        let margins = graph.node("Sub", &[&wide, &shifts], Vec::new());
        let place = graph.node("ArgMax", &[&margins], vec![int("axis", 1), int("keepdims", 1)]);
        let settings = vec![
            ints("keys_int64s", (0..count as i64).collect()),
            strings("values_strings", self.names.iter().map(String::as_str)),
            string("default_string", ""),
        ];
        let decision = graph.ml("LabelEncoder", &[&place], settings);
        let chances = self.probability.map(|curve| {
            let (slope, shifts) =
                (graph.doubles(&[], &[curve.slope]), graph.doubles(&[1, count], &curve.shifts));
            let steep = graph.node("Mul", &[&wide, &slope], Vec::new());
            let odds = graph.node("Sub", &[&steep, &shifts], Vec::new());
            let chances = graph.node("Softmax", &[&odds], vec![int("axis", 1)]);
            graph.cast(&chances, element::FLOAT)
        });
        graph.output(self.score, "score", element::FLOAT, &sizes);
        if let Some(chances) = chances {
            graph.output(&chances, "probability", element::FLOAT, &sizes);
        }
        graph.output(&decision, "decision", element::STRING, &[None, Some(1)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shifts_move_away_from_observed_rows_and_decide_them_as_before() {
        // Ties with the first and with the second class, a hair's breadth, and rows far away.
        let near = 1.0f32.next_up();
        let scores = [
            [1.0, 1.5, 0.0],
            [near, 1.5, 0.0],
            [0.0, 1.5, 1.0],
            [3.0, 0.0, 0.0],
            [0.0, 3.0, 0.0],
            [0.0, 0.0, 3.0],
        ];
        let flat: Vec<f32> = scores.concat();
        let shifts = [0.0, 0.5, 0.0];
        let moved = place(&shifts, &flat);
        let reach = DISTANCE * spread(&flat);
        assert!(shifts.iter().zip(&moved).all(|(own, moved)| (own - moved).abs() <= reach), "{moved:?}");
        for row in &scores {
            assert_eq!(decide(row, &moved), decide(row, &shifts), "{row:?}");
            let mut margins: Vec<f64> =
                row.iter().zip(&moved).map(|(score, shift)| f64::from(*score) - shift).collect();
            margins.sort_by(f64::total_cmp);
            assert!(margins[2] - margins[1] > 1e-7, "{row:?}: {margins:?}");
        }
        assert_eq!(place(&shifts, &[]), shifts);
    }
}
