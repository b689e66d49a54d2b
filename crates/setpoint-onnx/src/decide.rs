//! The end of the graph: score, probability, decision.
//!
//! A row is positive when score >= threshold, compared in 32 bits as Setpoint does. Scores of linear models and
//! of trees are Setpoint's to the last bit, so the threshold is the model's own. Those of networks differ in
//! their last digits, and a threshold is the very score of some calibration row, or the number next to it:
//! there the graph's threshold moves midway between the two observed scores around it, but not further than
//! [`DISTANCE`] standard deviations of the scores from where it was. The decisions on the observed rows stay,
//! and on others only those within that distance could change, which rounding could change as well.

use setpoint::artifact::Groups;
use setpoint_run::{Failure, POOL, Probability};

use crate::graph::{Builder, int};
use crate::input::Keys;
use crate::proto::element;

/// How far a threshold may move, in standard deviations of the scores.
pub const DISTANCE: f64 = 1e-5;
const COLUMN: [Option<usize>; 2] = [None, Some(1)];

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

/// Gives out score, probability and decision.
pub(crate) fn outputs(
    graph: &mut Builder,
    score: &str,
    probability: Option<Probability>,
    thresholds: &[f32],
    groups: Option<&Groups>,
) -> Result<(), Failure> {
    let threshold = match groups {
        None => graph.floats(&[1, 1], &thresholds[..1]),
        Some(groups) => of_group(graph, groups, thresholds)?,
    };
    let above = graph.node("GreaterOrEqual", &[score, &threshold], Vec::new());
    let decision = graph.cast(&above, element::INT64);
    let curve = probability.map(|curve| {
        let wide = graph.cast(score, element::DOUBLE);
        let (slope, intercept) = (graph.doubles(&[], &[curve.slope]), graph.doubles(&[], &[curve.intercept]));
        let steep = graph.node("Mul", &[&wide, &slope], Vec::new());
        let odds = graph.node("Add", &[&steep, &intercept], Vec::new());
        let chance = graph.node("Sigmoid", &[&odds], Vec::new());
        graph.cast(&chance, element::FLOAT)
    });
    graph.output(score, "score", element::FLOAT, &COLUMN);
    if let Some(curve) = curve {
        graph.output(&curve, "probability", element::FLOAT, &COLUMN);
    }
    graph.output(&decision, "decision", element::INT64, &COLUMN);
    Ok(())
}

/// The threshold of each row's group. A group that the model does not know is that of the pool; without a pool
/// its place is outside of the list, which runtimes refuse: there is no decision for it.
fn of_group(graph: &mut Builder, groups: &Groups, thresholds: &[f32]) -> Result<String, Failure> {
    let count = groups.names.len() as i64;
    let pool = groups.names.iter().position(|name| name == POOL);
    let known = graph.graph.input.iter().find(|input| input.name == groups.column);
    let found = known.and_then(|input| input.as_tensor()).map(|(element, _)| element);
    let keys = Keys::like(found, &groups.names);
    let from = match found {
        Some(element::FLOAT | element::DOUBLE) if matches!(keys, Keys::Whole(_)) => {
            graph.cast(&groups.column, element::INT64)
        }
        Some(found) if found != keys.element() => {
            return Err(Failure::input(format!(
                "the model cannot be exported: column {:?} holds numbers as a feature, and its groups are texts",
                groups.column
            )));
        }
        _ => graph.input(&groups.column, keys.element(), &COLUMN),
    };
    let places = keys.place(graph, &from, 0, pool.map_or(count, |pool| pool as i64));
    let thresholds = graph.floats(&[thresholds.len()], thresholds);
    Ok(graph.node("Gather", &[&thresholds, &places], vec![int("axis", 0)]))
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
}
