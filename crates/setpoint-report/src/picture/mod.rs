//! What the pictures of a report are drawn from: exact counts at as many places as can be seen.
//!
//! Everything comes from the sorted scores ([`Cuts`]) in a few passes, so that ten million rows take
//! little longer than sorting them, and the record stays small whatever the data.

mod curve;
mod histogram;
mod reliability;
mod sweep;
mod window;

pub use curve::{AreaPoint, CurveRecord, Place};
pub use histogram::Histogram;
pub use reliability::ReliabilityBin;
pub use sweep::{RateSweep, Sweep};
pub use window::Window;

use serde::Serialize;
use setpoint::goal::Goal;
use setpoint::metric::Cuts;

/// A method's name and its decisions at every threshold.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// What it is called.
    pub name: &'a str,
    /// Its sorted scores, counted.
    pub cuts: &'a Cuts,
}

/// What the pictures show of.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'a> {
    /// The goal, `k=` as a fraction.
    pub goal: &'a Goal,
    /// The model.
    pub model: Subject<'a>,
    /// Cross-entropy beside it, where it is known.
    pub baseline: Option<Subject<'a>>,
    /// The shipped threshold, among the model's scores; 0 where those are margins of groups.
    pub threshold: f32,
    /// Whether the model's scores are margins: scores less the threshold of their group.
    pub margins: bool,
    /// The thresholds that the certificate covers.
    pub certified: Option<(f32, f32)>,
    /// Whether rows have weights, for which no exact interval is known.
    pub weighted: bool,
    /// Confidence of intervals.
    pub confidence: f64,
}

/// All pictures of one part of the data.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pictures {
    /// Whether scores are margins: scores less the threshold of their group.
    pub margins: bool,
    /// The shipped threshold, among these scores.
    pub threshold: f32,
    /// The share of the rows that have the lowest score above the threshold: a small move of the
    /// threshold decides all of them.
    pub tied: f64,
    /// The model's curves, then cross-entropy's.
    pub curves: Vec<CurveRecord>,
    /// What the zoomed ROC picture shows.
    pub roc_window: Window,
    /// What the zoomed precision-recall picture shows.
    pub pr_window: Window,
    /// Thresholds that stand for an area.
    pub area: Vec<AreaPoint>,
    /// Scores of each class, nearly all of them.
    pub scores: Histogram,
    /// The same about the threshold.
    pub near: Histogram,
    /// Rates at thresholds about the shipped one.
    pub sweep: Sweep,
    /// The share of positives by score.
    pub reliability: Vec<ReliabilityBin>,
    /// What a row pays at the thresholds of the sweep, of a goal in money.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub money: Option<MoneySweep>,
}

/// What a row pays at the thresholds of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MoneySweep {
    /// The mean.
    pub values: Vec<f64>,
    /// Its interval.
    pub intervals: Vec<(f64, f64)>,
}

impl Pictures {
    /// Everything there is to draw.
    #[must_use]
    pub fn of(scene: &Scene<'_>) -> Self {
        let cuts = scene.model.cuts;
        let spread = histogram::Spread::of(cuts);
        let windows = window::both(scene);
        let subjects = || [Some(scene.model), scene.baseline].into_iter().flatten();
        // The curves are most of the work, and each is a walk of its own.
        let curves = std::thread::scope(|scope| {
            let threads: Vec<_> = subjects()
                .map(|subject| scope.spawn(move || CurveRecord::of(scene.goal, subject, windows)))
                .collect();
            threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
        });
        let near = spread.near(scene.threshold);
        Self {
            margins: scene.margins,
            threshold: scene.threshold,
            tied: tied(cuts, scene.threshold),
            curves,
            roc_window: windows.0,
            pr_window: windows.1,
            area: curve::area_points(scene.goal, cuts),
            scores: Histogram::of(cuts, spread.whole(scene.threshold)),
            near: Histogram::of(cuts, near),
            sweep: Sweep::of(scene, near),
            reliability: reliability::bins(cuts, scene.weighted, scene.confidence),
            money: None,
        }
    }
}

fn tied(cuts: &Cuts, threshold: f32) -> f64 {
    let cut = cuts.cut_of(threshold);
    let predicted = |cut: usize| cuts.at(cut).predicted();
    cut.checked_sub(1)
        .map_or(0.0, |before| (predicted(cut) - predicted(before)) / (cuts.positives() + cuts.negatives()))
}

#[cfg(test)]
mod tests {
    use setpoint::Sample;

    use super::*;

    /// Scores of two overlapping classes, one in twenty positive.
    fn cuts(rows: u32) -> Cuts {
        let noise = |i: u32| f64::from(i.wrapping_mul(2_654_435_761) >> 8) / f64::from(1 << 24);
        let labels: Vec<bool> = (0..rows).map(|i| i % 20 == 0).collect();
        let scores: Vec<f32> = (0..rows)
            .map(|i| (noise(i) + noise(i + 7) + noise(i + 13) + if i % 20 == 0 { 0.8 } else { 0.0 }) as f32)
            .collect();
        Cuts::new(&Sample::new(labels).unwrap(), &scores).unwrap()
    }

    fn scene<'a>(goal: &'a Goal, cuts: &'a Cuts) -> Scene<'a> {
        let model = Subject { name: "model", cuts };
        Scene {
            goal,
            model,
            baseline: Some(Subject { name: "other", cuts }),
            threshold: 2.2,
            margins: false,
            certified: Some((2.2, f32::MAX)),
            weighted: false,
            confidence: 0.95,
        }
    }

    #[test]
    fn the_record_stays_small_whatever_the_rows() {
        let goal: Goal = "recall @ fpr<=1%".parse().unwrap();
        let cuts = cuts(300_000);
        let pictures = Pictures::of(&scene(&goal, &cuts));
        let json = serde_json::to_string(&pictures).unwrap();
        assert!(json.len() < 300_000, "{}", json.len());
        for curve in &pictures.curves {
            for points in [&curve.roc, &curve.roc_zoom, &curve.pr, &curve.pr_zoom] {
                assert!((2..600).contains(&points.len()), "{}", points.len());
            }
        }
        assert!(!json.contains("null,null,null,null,null"), "rates are known about the threshold");
    }

    #[test]
    fn every_cut_lies_on_the_thinned_curves() {
        let goal: Goal = "recall @ fpr<=10%".parse().unwrap();
        let cuts = cuts(3_000);
        let pictures = Pictures::of(&scene(&goal, &cuts));
        let curve = &pictures.curves[0];
        let distance = |(x, y): (f64, f64), line: &[(f64, f64)]| {
            let to_piece = |pair: &[(f64, f64)]| {
                let (dx, dy) = (pair[1].0 - pair[0].0, pair[1].1 - pair[0].1);
                let (px, py) = (x - pair[0].0, y - pair[0].1);
                let along = ((px * dx + py * dy) / (dx * dx + dy * dy).max(1e-300)).clamp(0.0, 1.0);
                (px - along * dx).hypot(py - along * dy)
            };
            line.windows(2).map(to_piece).fold(f64::INFINITY, f64::min)
        };
        for [before, cut] in cuts.steps(0..cuts.len()) {
            let counts = cuts.counts_of(&cut);
            let place = window::roc_place(&counts).unwrap();
            // A column of pixels is 1/1000 of the picture wide; a line may leave it by less than that.
            assert!(distance(place, &curve.roc) < 1.5e-3, "roc at {place:?}");
            let Window { x, .. } = pictures.roc_window;
            if place.0 < x.1 {
                assert!(distance(place, &curve.roc_zoom) < 1.5e-3, "zoomed roc at {place:?}");
            }
            if cut.true_positives > before.true_positives {
                let place = window::pr_place(&counts).unwrap();
                assert!(distance(place, &curve.pr) < 1.5e-3, "pr at {place:?}");
            }
        }
    }

    #[test]
    fn the_sweep_has_the_exact_rates_of_the_shipped_threshold() {
        let goal: Goal = "recall @ fpr<=1%".parse().unwrap();
        let cuts = cuts(5_000);
        let sweep = Pictures::of(&scene(&goal, &cuts)).sweep;
        let at = sweep.thresholds.iter().position(|threshold| *threshold == 2.2).unwrap();
        assert_eq!(at, sweep.shipped);
        let counts = cuts.counts_at(cuts.cut_of(2.2));
        assert_eq!(sweep.rates[0].values[at], Some(counts.true_positives / counts.positives));
        assert_eq!(sweep.rates[1].values[at], Some(counts.false_positives / counts.negatives));
        assert!(sweep.thresholds.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn degenerate_scores_have_pictures_too() {
        let goal: Goal = "pr-auc @ recall in 0.95..1".parse().unwrap();
        for (labels, scores) in [
            (vec![true, false], vec![1.0, 1.0]),
            (vec![true, true], vec![1.0, 2.0]),
            (vec![false], vec![0.0]),
            (vec![true, false, false], vec![f32::MAX, f32::MIN, 0.0]),
        ] {
            let cuts = Cuts::new(&Sample::new(labels).unwrap(), &scores).unwrap();
            let pictures = Pictures::of(&scene(&goal, &cuts));
            assert!(serde_json::to_string(&pictures).is_ok());
            assert!(pictures.near.from < pictures.near.to && pictures.scores.from < pictures.scores.to);
        }
    }

    #[test]
    fn every_row_is_in_a_histogram_or_beside_it() {
        let goal: Goal = "recall @ fpr<=1%".parse().unwrap();
        let cuts = cuts(2_000);
        let Pictures { scores, near, .. } = Pictures::of(&scene(&goal, &cuts));
        for histogram in [scores, near] {
            let sum = |shares: &[f64]| shares.iter().sum::<f64>();
            let [below, above] = histogram.positives_beyond;
            assert!((sum(&histogram.positives) + below + above - 1.0).abs() < 1e-9);
            let [below, above] = histogram.negatives_beyond;
            assert!((sum(&histogram.negatives) + below + above - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn reliability_bins_hold_every_row_once() {
        let goal: Goal = "recall @ fpr<=1%".parse().unwrap();
        let cuts = cuts(4_000);
        let bins = Pictures::of(&scene(&goal, &cuts)).reliability;
        assert!(bins.len() > 8 && bins.windows(2).all(|pair| pair[0].score < pair[1].score));
        assert_eq!(bins.iter().map(|bin| bin.rows).sum::<f64>(), 4_000.0);
        assert_eq!(bins.iter().map(|bin| bin.positives).sum::<f64>(), 200.0);
        // The share of positives grows with the score, and its intervals hold it.
        assert!(bins[0].share < 0.02 && bins[bins.len() - 1].share > 0.5, "{bins:?}");
        assert!(bins.iter().all(|bin| bin.lower.unwrap() <= bin.share && bin.share <= bin.upper.unwrap()));
    }
}
