//! The stratified bootstrap: an interval for any metric, by drawing the sample again.
//!
//! Each replicate draws as many positives and as many negatives as there are, with replacement.
//! The scores are sorted once; a replicate only recounts the cuts with each row taken as often as
//! it was drawn, which is linear in the number of rows. A metric is a function of
//! [`Cuts`], and does not notice.
//!
//! Where examples come in entities, whole entities are drawn instead, as many as there are.
//!
//! Of many rows some are drawn from (the m out of n bootstrap): deviations from the metric go with 1 / sqrt(rows), so those of
//! m rows, times sqrt(m / n), are those of n. The metric itself is always that of all rows.
//!
//! Replicate `i` draws from stream `i` of one seeded generator: the result is the same, bit for
//! bit, for any number of threads.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::draws::{Draws, Fewer, MOST};
use super::{Interval, check_confidence};
use crate::metric::{Cuts, MetricError, Rows, Sorted};
use crate::sample::{Sample, SampleError};

/// How to draw.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bootstrap {
    /// Number of replicates.
    pub replicates: usize,
    /// Confidence of the percentile interval.
    pub confidence: f64,
    /// The same seed gives the same interval.
    pub seed: u64,
}

impl Default for Bootstrap {
    /// 1000 replicates, 95%, seed 0.
    fn default() -> Self {
        Self { replicates: 1000, confidence: 0.95, seed: 0 }
    }
}

/// A metric with its uncertainty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The metric on the sample itself.
    pub value: f64,
    /// Standard deviation over the replicates.
    pub standard_error: f64,
    /// Percentiles of the replicates. Replicates without a value count against both ends.
    pub interval: Interval,
    /// Replicates on which the metric had no value.
    pub failed: usize,
}

impl Bootstrap {
    /// A metric with its percentile interval.
    ///
    /// ```
    /// use setpoint::metric::{interval::Bootstrap, roc};
    /// # let sample = setpoint::Sample::new(vec![true, false, true, false, true, false])?;
    /// # let scores = [0.9, 0.8, 0.7, 0.3, 0.4, 0.1];
    /// let auc = Bootstrap::default().estimate(&sample, &scores, roc::auc)?;
    /// assert!(auc.interval.lower <= auc.value && auc.value <= auc.interval.upper);
    /// # Ok::<(), setpoint::metric::MetricError>(())
    /// ```
    ///
    /// # Errors
    /// If the scores do not fit, the metric has no value on the sample or on too many replicates,
    /// or there are too few replicates for the confidence.
    pub fn estimate<M>(&self, sample: &Sample, scores: &[f32], metric: M) -> Result<Estimate, MetricError>
    where
        M: Fn(&Cuts) -> Result<f64, MetricError> + Sync,
    {
        let value = metric(&Cuts::new(sample, scores)?)?;
        self.around(value, &(sample, scores), metric)
    }

    /// The same where the metric's value on the sample is known.
    ///
    /// # Errors
    /// As [`estimate`](Self::estimate).
    pub fn around<M>(&self, value: f64, rows: &dyn Rows, metric: M) -> Result<Estimate, MetricError>
    where
        M: Fn(&Cuts) -> Result<f64, MetricError> + Sync,
    {
        if let Some(fewer) = Fewer::of(rows, false, self.seed, MOST)? {
            return Ok(fewer.scaled(self.estimate(&fewer.sample, &fewer.scores, metric)?, value));
        }
        let (sample, scores) = rows.whole()?;
        let sorted = Sorted::new(&sample, &scores)?;
        let cuts = sorted.cuts();
        self.resample(sample.len(), &Draws::of(&sample), value, cuts, |times, cuts| {
            sorted.recount(times, cuts);
            metric(cuts)
        })
    }

    /// The mean of values that are draws themselves, with its percentile interval.
    ///
    /// # Errors
    /// If there are no values, or too few replicates for the confidence.
    pub fn mean(&self, values: &[f64]) -> Result<Estimate, MetricError> {
        if values.is_empty() {
            return Err(SampleError::Empty.into());
        }
        let count = values.len();
        let value = values.iter().sum::<f64>() / count as f64;
        let draws = Draws::Rows(vec![(0..count as u32).collect()]);
        self.resample(count, &draws, value, (), |times, ()| {
            let drawn = values.iter().zip(times).map(|(value, times)| value * f64::from(*times));
            Ok(drawn.sum::<f64>() / count as f64)
        })
    }

    /// A metric of examples in groups, with its percentile interval: each replicate draws as many
    /// positives and as many negatives of each group as there are.
    ///
    /// The metric gets the examples drawn and their places, by which it finds scores: of one model, or
    /// of two, whose difference then sees the same draws. It is evaluated anew for each replicate.
    ///
    /// # Errors
    /// As [`estimate`](Self::estimate).
    pub fn estimate_by_group<M>(&self, sample: &Sample, metric: M) -> Result<Estimate, MetricError>
    where
        M: Fn(&Sample, &[u32]) -> Result<f64, MetricError> + Sync,
    {
        let draw = |sample: &Sample, rows: &[u32]| {
            let value = metric(sample, rows)?;
            self.resample(sample.len(), &Draws::by_group(sample), value, (), |times, ()| {
                let places: Vec<u32> = (0..)
                    .zip(times)
                    .flat_map(|(row, times)| std::iter::repeat_n(row, *times as usize))
                    .collect();
                let drawn: Vec<u32> = places.iter().map(|place| rows[*place as usize]).collect();
                metric(&sample.select(&places), &drawn)
            })
        };
        let all: Vec<u32> = (0..sample.len() as u32).collect();
        match Fewer::of(&(sample, &[][..]), true, self.seed, MOST)? {
            Some(fewer) => Ok(fewer.scaled(draw(&fewer.sample, &fewer.rows)?, metric(sample, &all)?)),
            None => draw(sample, &all),
        }
    }

    /// The difference of a metric between two score vectors of the same examples, `first` minus
    /// `second`. Both see the same draws, so what they share cancels.
    ///
    /// # Errors
    /// As [`estimate`](Self::estimate).
    pub fn difference<M>(
        &self,
        sample: &Sample,
        first: &[f32],
        second: &[f32],
        metric: M,
    ) -> Result<Estimate, MetricError>
    where
        M: Fn(&Cuts) -> Result<f64, MetricError> + Sync,
    {
        if let Some(fewer) = Fewer::of(&(sample, first), false, self.seed, MOST)? {
            let value = metric(&Cuts::new(sample, first)?)? - metric(&Cuts::new(sample, second)?)?;
            let few = self.difference(&fewer.sample, &fewer.scores, &fewer.pick(second), metric)?;
            return Ok(fewer.scaled(few, value));
        }
        let sorted = (Sorted::new(sample, first)?, Sorted::new(sample, second)?);
        let cuts = (sorted.0.cuts(), sorted.1.cuts());
        let value = metric(&cuts.0)? - metric(&cuts.1)?;
        self.resample(sample.len(), &Draws::of(sample), value, cuts, |times, cuts| {
            sorted.0.recount(times, &mut cuts.0);
            sorted.1.recount(times, &mut cuts.1);
            Ok(metric(&cuts.0)? - metric(&cuts.1)?)
        })
    }

    fn resample<C>(
        &self,
        rows: usize,
        draws: &Draws<'_>,
        value: f64,
        cuts: C,
        replicate: impl Fn(&[u32], &mut C) -> Result<f64, MetricError> + Sync,
    ) -> Result<Estimate, MetricError>
    where
        C: Clone + Send + Sync,
    {
        check_confidence(self.confidence)?;
        let needed = (2.0 / (1.0 - self.confidence) - 1e-9).ceil() as usize;
        if self.replicates < needed {
            let (replicates, confidence) = (self.replicates, self.confidence);
            return Err(MetricError::Replicates { replicates, needed, confidence });
        }
        let generator = ChaCha8Rng::seed_from_u64(self.seed);
        let values: Vec<Result<f64, MetricError>> = (0..self.replicates)
            .into_par_iter()
            .map_init(
                || (vec![0; rows], Vec::new(), cuts.clone()),
                |(times, entities, cuts), index| {
                    let mut generator = generator.clone();
                    generator.set_stream(index as u64);
                    draws.draw(&mut generator, times, entities);
                    replicate(times, cuts)
                },
            )
            .collect();
        self.summarise(value, values)
    }

    fn summarise(&self, value: f64, values: Vec<Result<f64, MetricError>>) -> Result<Estimate, MetricError> {
        let replicates = values.len();
        let first = values.iter().find_map(|value| value.clone().err());
        let mut known: Vec<f64> = values.into_iter().filter_map(Result::ok).collect();
        let failed = replicates - known.len();
        // A replicate without a value could lie anywhere: below all others for the lower end,
        // above all others for the upper.
        let place = (replicates - 1) as f64 * (1.0 - self.confidence) / 2.0;
        // 1 - 0.8 is an ulp below 0.2; a place meant to be whole stays whole.
        let place = if (place - place.round()).abs() < 1e-9 { place.round() } else { place };
        if let Some(first) = first.filter(|_| place < failed as f64) {
            return Err(MetricError::Bootstrap { failed, replicates, first: Box::new(first) });
        }
        let count = known.len() as f64;
        let mean = known.iter().sum::<f64>() / count;
        let standard_error = (known.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (count - 1.0)).sqrt();
        known.sort_by(f64::total_cmp);
        let lower = between(&known, place - failed as f64);
        let upper = between(&known, (known.len() - 1) as f64 - (place - failed as f64));
        Ok(Estimate {
            value,
            standard_error,
            interval: Interval { lower, upper, confidence: self.confidence },
            failed,
        })
    }
}

/// The value at a place between two entries, on the line between them.
fn between(ascending: &[f64], place: f64) -> f64 {
    let below = (place.floor().max(0.0) as usize).min(ascending.len() - 1);
    let above = (below + 1).min(ascending.len() - 1);
    ascending[below] + (place - below as f64) * (ascending[above] - ascending[below])
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::super::draws::LEAST;
    use super::*;
    use crate::goal::{Rate, Relation};
    use crate::metric::data::random_case;
    use crate::metric::interval::{normal_quantile, upper_tail};
    use crate::metric::operating_point::best;
    use crate::metric::{Condition, pr, roc};

    fn few(seed: u64) -> Bootstrap {
        Bootstrap { replicates: 200, confidence: 0.9, seed }
    }

    #[test]
    fn a_replicate_is_the_metric_of_the_rows_drawn() {
        for seed in 0..20 {
            let (sample, scores) = random_case(seed, 40);
            let sorted = Sorted::new(&sample, &scores).unwrap();
            let mut cuts = sorted.cuts();
            let mut times = vec![0; sample.len()];
            let mut generator = ChaCha8Rng::seed_from_u64(seed);
            Draws::of(&sample).draw(&mut generator, &mut times, &mut Vec::new());
            sorted.recount(&times, &mut cuts);

            let drawn: Vec<usize> =
                times.iter().enumerate().flat_map(|(r, n)| vec![r; *n as usize]).collect();
            let copy = Sample::new(drawn.iter().map(|r| sample.labels()[*r]).collect())
                .unwrap()
                .with_weights(drawn.iter().map(|r| sample.weight(*r) as f32).collect())
                .unwrap();
            let copied: Vec<f32> = drawn.iter().map(|r| scores[*r]).collect();
            let expected = Cuts::new(&copy, &copied).unwrap();
            assert_eq!(drawn.len(), sample.len());
            assert!((roc::auc(&cuts).unwrap() - roc::auc(&expected).unwrap()).abs() < 1e-14);
            let (got, expected) = (pr::average_precision(&cuts), pr::average_precision(&expected));
            assert!((got.unwrap() - expected.unwrap()).abs() < 1e-14);
        }
    }

    #[test]
    fn replicates_by_group_keep_the_size_of_each_group_and_class() {
        let (sample, scores) = random_case(4, 90);
        let codes: Vec<u32> = (0..sample.len()).map(|row| u32::from(row % 5 == 0)).collect();
        let sample = sample.with_groups("g", vec!["a".into(), "b".into()], codes).unwrap();
        let sizes = |sample: &Sample| {
            let groups = sample.groups().unwrap();
            [0, 1].map(|group| {
                let rows = groups.rows(group);
                (rows.len(), rows.iter().filter(|row| sample.labels()[**row as usize]).count())
            })
        };
        let expected = sizes(&sample);
        let mean = |drawn: &Sample, rows: &[u32]| {
            assert_eq!(sizes(drawn), expected);
            assert!(
                rows.iter().zip(drawn.labels()).all(|(row, label)| sample.labels()[*row as usize] == *label)
            );
            Ok(rows.iter().map(|row| f64::from(scores[*row as usize])).sum::<f64>() / rows.len() as f64)
        };
        let estimate = few(3).estimate_by_group(&sample, mean).unwrap();
        assert!(estimate.interval.lower < estimate.value && estimate.value < estimate.interval.upper);
        assert_eq!(estimate, few(3).estimate_by_group(&sample, mean).unwrap());
    }

    #[test]
    fn entities_are_drawn_whole_and_make_the_interval_wider() {
        let (sample, scores) = random_case(3, 400);
        // Every row ten times over: as much is known as from the rows once.
        let once = sample.len() as u32;
        let rows: Vec<u32> = (0..10 * once).map(|row| row % once).collect();
        let copies = sample.select(&rows);
        let copied: Vec<f32> = rows.iter().map(|row| scores[*row as usize]).collect();
        let together = copies.clone().with_entities("row", &rows).unwrap();
        let mut times = vec![0; rows.len()];
        Draws::of(&together).draw(&mut ChaCha8Rng::seed_from_u64(1), &mut times, &mut Vec::new());
        assert!(rows.iter().zip(&times).all(|(row, drawn)| times[*row as usize] == *drawn));
        assert_eq!(times.iter().sum::<u32>(), 10 * once);
        let error = |sample: &Sample, scores: &[f32]| {
            few(1).estimate(sample, scores, roc::auc).unwrap().standard_error
        };
        // Ten copies of a row are no ten rows: sqrt(10) = 3.2 times too sure. The standard error of a
        // standard deviation from 200 draws is 5%.
        let (whole, apart) = (error(&together, &copied), error(&copies, &copied));
        assert!((2.4..4.2).contains(&(whole / apart)), "{whole} {apart}");
        let once = error(&sample, &scores);
        assert!((0.75..1.4).contains(&(whole / once)), "{whole} {once}");
    }

    #[test]
    fn results_do_not_depend_on_the_number_of_threads() {
        let (sample, scores) = random_case(3, 400);
        let with = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| few(11).estimate(&sample, &scores, roc::auc).unwrap())
        };
        assert_eq!(with(1), with(3));
        assert_ne!(with(1), few(12).estimate(&sample, &scores, roc::auc).unwrap());
    }

    #[test]
    fn the_standard_error_agrees_with_delong() {
        let (sample, scores) = random_case(3, 400);
        let estimate = Bootstrap { replicates: 2000, ..few(1) }.estimate(&sample, &scores, roc::auc).unwrap();
        let exact = super::super::delong(&sample, &scores, 0.9).unwrap();
        // The standard error of a standard deviation from 2000 draws is 1 / sqrt(4000) = 1.6%; the
        // bootstrap's variance is (m - 1) / m of DeLong's.
        let ratio = estimate.standard_error / exact.standard_error;
        assert!((ratio - 1.0).abs() < 4.0 * 0.016 + 0.01, "{ratio}");
        assert_eq!(estimate.value, exact.auc);
    }

    #[test]
    fn fewer_rows_and_entities_say_of_all_what_all_say() {
        let (rows, together) = (60_000_u32, 3);
        let labels: Vec<bool> = (0..rows).map(|row| row % 4 == 0).collect();
        let scores = normal_scores(&labels, 1.0, &mut ChaCha8Rng::seed_from_u64(5));
        let sample = Sample::new(labels).unwrap();
        let of: Vec<u32> = (0..rows).map(|row| row / together).collect();
        let entities = sample.clone().with_entities("customer", &of).unwrap();
        let metric = |cuts: &Cuts| pr::average_precision(cuts);
        for sample in [sample, entities] {
            let all = few(1).estimate(&sample, &scores, metric).unwrap();
            let drawn = |most| Fewer::of(&(&sample, &scores[..]), false, 1, most).unwrap();
            let fewer = drawn(10_000).unwrap();
            if let Draws::Rows(strata) = Draws::of(&sample) {
                // Of each class, one of every six.
                let kept = |rows: &Vec<u32>| {
                    let places = (0..).zip(rows).filter(|(_, row)| fewer.rows.binary_search(row).is_ok());
                    places.map(|(place, _)| place / 6).collect::<Vec<usize>>()
                };
                strata
                    .iter()
                    .for_each(|rows| assert_eq!(kept(rows), (0..rows.len() / 6).collect::<Vec<_>>()));
            }
            assert!((9_990..=10_000).contains(&fewer.rows.len()));
            let found = few(2).estimate(&fewer.sample, &fewer.scores, metric).unwrap();
            let found = fewer.scaled(found, all.value);
            // Two standard deviations from 200 draws each: 5% and 5%, and what 10,000 rows say of the spread.
            let ratio = found.standard_error / all.standard_error;
            assert!((0.75..1.33).contains(&ratio), "{ratio}");
            let width = |estimate: &Estimate| estimate.interval.upper - estimate.interval.lower;
            assert!((0.7..1.4).contains(&(width(&found) / width(&all))));
            assert!(found.interval.lower < all.value && all.value < found.interval.upper);
            assert!(drawn(40_000).is_none());
            // A class, or the entities, keep a thousand.
            assert!(drawn(10).unwrap().rows.len() >= 3 * LEAST);
        }
    }

    /// Negatives N(0, 1) and positives N(separation, 1).
    fn normal_scores(labels: &[bool], separation: f64, rng: &mut ChaCha8Rng) -> Vec<f32> {
        let mut normal = || normal_quantile(rng.random_range(1e-12..1.0));
        labels.iter().map(|label| (normal() + if *label { separation } else { 0.0 }) as f32).collect()
    }

    #[test]
    fn intervals_cover_about_as_often_as_they_say() {
        let at_most =
            |target| Condition { rate: Rate::FalsePositiveRate, relation: Relation::AtMost, target };
        let recall = |cuts: &Cuts| best(cuts, Rate::Recall, &[at_most(0.1)]).map(|point| point.value);
        let mut rng = ChaCha8Rng::seed_from_u64(25);
        let trials = 300;
        // The area is Phi(d / sqrt 2), and recall where a tenth of the negatives passes Phi(d - Phi^-1(0.9)):
        // statistics.NormalDist().cdf of both, for the separations d.
        for (positives, rows, separation, truth) in [
            (60, 200, 1.5, [0.855_577_816_8, 0.586_460_134_3]),
            (150, 300, 0.5, [0.638_163_195_1, 0.217_239_080_4]),
            (40, 400, 2.5, [0.961_450_064_1, 0.888_473_195_5]),
        ] {
            let labels: Vec<bool> = (0..rows).map(|row| row < positives).collect();
            let sample = Sample::new(labels.clone()).unwrap();
            let mut missed = [0_u64; 2];
            for trial in 0..trials {
                let scores = normal_scores(&labels, separation, &mut rng);
                let bootstrap = few(trial);
                let found = [
                    bootstrap.estimate(&sample, &scores, roc::auc).unwrap().interval,
                    bootstrap.estimate(&sample, &scores, recall).unwrap().interval,
                ];
                for ((missed, Interval { lower, upper, .. }), truth) in
                    missed.iter_mut().zip(found).zip(truth)
                {
                    *missed += u64::from(truth < lower || upper < truth);
                }
            }
            // An approximation: it may miss half as often again as the tenth it says, not more. The area near 1 is the worst of
            // these, 49 of 300; reports have DeLong's interval for it.
            let rare = missed.map(|missed| upper_tail(trials, missed, 0.15));
            assert!(
                rare.iter().all(|chance| *chance > 1e-4),
                "{positives} of {rows}: {missed:?} of {trials}"
            );
        }
    }

    #[test]
    fn a_difference_between_equal_rankings_is_exactly_zero() {
        let (sample, scores) = random_case(5, 100);
        let doubled: Vec<f32> = scores.iter().map(|score| score * 2.0).collect();
        let estimate = few(0).difference(&sample, &scores, &doubled, roc::auc).unwrap();
        assert_eq!((estimate.value, estimate.standard_error), (0.0, 0.0));
        assert_eq!((estimate.interval.lower, estimate.interval.upper), (0.0, 0.0));
        let reversed: Vec<f32> = scores.iter().map(|score| -score).collect();
        let estimate = few(0).difference(&sample, &scores, &reversed, roc::auc).unwrap();
        let auc = roc::auc(&Cuts::new(&sample, &scores).unwrap()).unwrap();
        assert!((estimate.value - (2.0 * auc - 1.0)).abs() < 1e-14);
    }

    #[test]
    fn replicates_without_a_value_widen_the_interval_and_too_many_refuse_it() {
        let few = Bootstrap { replicates: 41, confidence: 0.8, seed: 0 };
        let values = |failed: usize| {
            let error = || Err(MetricError::Threshold);
            (0..41).map(|i| if i < failed { error() } else { Ok(i as f64) }).collect()
        };
        let whole = few.summarise(20.0, values(0)).unwrap();
        assert_eq!((whole.interval.lower, whole.interval.upper), (4.0, 36.0));
        let gaps = few.summarise(20.0, values(3)).unwrap();
        assert_eq!((gaps.interval.lower, gaps.interval.upper, gaps.failed), (4.0, 39.0, 3));
        let refused = few.summarise(20.0, values(5)).unwrap_err();
        assert!(matches!(refused, MetricError::Bootstrap { failed: 5, replicates: 41, .. }));
    }

    #[test]
    fn a_metric_without_a_value_and_too_few_replicates_are_refused() {
        let (sample, scores) = random_case(3, 50);
        let out_of_reach = Condition { rate: Rate::Recall, relation: Relation::AtLeast, target: 1.5 };
        let refused = few(0).estimate(&sample, &scores, |cuts| {
            best(cuts, Rate::Precision, &[out_of_reach]).map(|point| point.value)
        });
        assert!(matches!(refused, Err(MetricError::Infeasible { .. })));
        let refused =
            Bootstrap { replicates: 39, ..Bootstrap::default() }.estimate(&sample, &scores, roc::auc);
        assert!(matches!(refused, Err(MetricError::Replicates { needed: 40, .. })));
    }
}
