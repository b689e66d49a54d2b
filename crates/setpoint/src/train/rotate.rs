//! Train and validation rows change places, and the fits are averaged.
//!
//! Selection needs held-out rows, and rows that only select teach the model nothing. So the rows are
//! cut into folds, each fold is held out once while the others train, and the models, each of unit
//! spread, are averaged:
//!
//! ```text
//! rotation 1:  train = train              validation = validation
//! rotation 2:  train = validation + B     validation = A             (train = A + B)
//! rotation 3:  train = validation + A     validation = B
//! ```
//!
//! Every member is selected on rows that it has not seen; the average has seen them all, so its
//! thresholds must come from other rows. Measured gains are in `docs/decisions.md`.

use super::auto::{Baseline, Rounds};
use super::combined::OfUnitSpread;
use super::stage::Reporter;
use super::{Candidate, Fit, Gain, MethodChoice, Part, TrainError};
use crate::model::Model;
use crate::rank::Queries;
use crate::sample::{Sample, SampleError};
use crate::shard::Shard;

/// Fits every rotation; the first alone where another one cannot be fitted.
pub(super) fn fit(
    rounds: &Rounds<'_>,
    train: Part<'_>,
    validation: Part<'_>,
    reporter: &mut Reporter<'_>,
) -> Result<Fit, TrainError> {
    let first = rounds.run(
        0,
        Part { model: &mut *train.model, sample: train.sample },
        Part { model: &mut *validation.model, sample: validation.sample },
        reporter,
    )?;
    let mut folds = Vec::new();
    for rows in train.sample.whole().deal(rounds.settings.rotations() - 1) {
        match train.model.select(&rows)? {
            Some(model) if !rows.is_empty() => {
                folds.push((model, train.sample.whole().select(&rows)));
            }
            _ => return Ok(first),
        }
    }
    let mut members = vec![Member::new(first, train.model, train.sample)?];
    for held_out in 0..folds.len() {
        let others = folds.iter().enumerate().filter(|(fold, _)| *fold != held_out);
        let (models, samples): (Vec<&dyn Model>, Vec<&Sample>) =
            others.map(|(_, (model, sample))| (&**model, sample)).unzip();
        let sample = join(&[&[validation.sample.whole()], &samples[..]].concat())?;
        let Some(mut model) = validation.model.joined(&models)? else {
            return Ok(members.swap_remove(0).fit);
        };
        let (held_model, held_sample) = &mut folds[held_out];
        let fitted = rounds.run(
            held_out + 1,
            Part { model: &mut *model, sample: &sample },
            Part { model: &mut **held_model, sample: held_sample },
            reporter,
        );
        match fitted {
            Ok(fit) => members.push(Member::new(fit, &mut *model, &sample)?),
            Err(error @ (TrainError::Stopped | TrainError::Checkpoint { .. })) => return Err(error),
            // A fold may lack what the goal needs, such as a group.
            Err(_) => return Ok(members.swap_remove(0).fit),
        }
    }
    let judged = rounds.settings.method == MethodChoice::Auto;
    Ok(combine(members, train.model.linear(), judged))
}

/// One rotation's fit, its parameters of unit spread.
struct Member {
    fit: Fit,
    combined: OfUnitSpread,
    baseline: OfUnitSpread,
}

impl Member {
    fn new(fit: Fit, model: &mut dyn Model, sample: &dyn Shard) -> Result<Self, TrainError> {
        let combined = OfUnitSpread::new(&fit.combined, model, sample)?;
        let baseline = OfUnitSpread::new(&fit.baseline.combined, model, sample)?;
        Ok(Self { fit, combined, baseline })
    }
}

fn combine(members: Vec<Member>, linear: bool, judged: bool) -> Fit {
    let count = members.len();
    let name = format!("average over {count} rotations of train and validation");
    let average = |of: &dyn Fn(&Fit) -> Option<f64>| {
        let values: Option<Vec<f64>> = members.iter().map(|member| of(&member.fit)).collect();
        values.map(|values| values.iter().sum::<f64>() / count as f64)
    };
    // Held-out folds do not overlap: their errors are taken as independent.
    let error = average(&|fit| Some(fit.gain?.standard_error?.powi(2)));
    let gain = average(&|fit| Some(fit.gain?.difference)).map(|difference| Gain {
        difference,
        standard_error: error.map(|square| (square / count as f64).sqrt()),
    });
    // Networks are judged here, on all rows: the gain must exceed its standard error.
    let beyond = |gain: Gain| gain.difference > gain.standard_error.unwrap_or_default();
    let fell_back = match linear {
        true => members.iter().all(|member| member.fit.fell_back),
        false => judged && !gain.is_some_and(beyond),
    };
    let baseline_validation = average(&|fit| fit.baseline.validation);
    let validation = if fell_back && !linear { baseline_validation } else { average(&|fit| fit.validation) };
    let evaluations = members.iter().map(|member| member.fit.evaluations).sum();
    let passes = members.iter().map(|member| member.fit.passes).sum();
    let first = members.first().map(|member| match fell_back && !linear {
        true => member.fit.baseline.combined.clone(),
        false => member.fit.combined.clone(),
    });
    let (mut fits, mut baselines, mut candidates) = (Vec::new(), Vec::new(), Vec::new());
    for (rotation, member) in members.into_iter().enumerate() {
        fits.push(member.combined);
        baselines.push(member.baseline);
        candidates.extend(member.fit.candidates.into_iter().map(|candidate| Candidate {
            name: format!("rotation {}: {}", rotation + 1, candidate.name),
            ..candidate
        }));
    }
    let baseline = Baseline {
        name: format!("cross-entropy, {name}"),
        combined: OfUnitSpread::mean(baselines),
        validation: baseline_validation,
    };
    let (combined, winner) = match fell_back && !linear {
        true => (baseline.combined.clone(), baseline.name.clone()),
        false => (OfUnitSpread::mean(fits), name),
    };
    Fit {
        combined,
        winner,
        validation,
        baseline,
        candidates,
        kept: Vec::new(),
        gain,
        fell_back,
        evaluations,
        passes,
        rotations: count,
        first,
    }
}

/// One sample after another; groups are matched by name.
fn join(samples: &[&Sample]) -> Result<Sample, SampleError> {
    if let Some(queries) = samples.iter().map(|sample| sample.queries()).collect::<Option<Vec<_>>>() {
        return Sample::of_queries(Queries::join(&queries));
    }
    let labels = samples.iter().flat_map(|sample| sample.labels()).copied().collect();
    let mut joined = Sample::new(labels)?;
    if samples.iter().any(|sample| sample.weights().is_some()) {
        let weights =
            samples.iter().flat_map(|sample| (0..sample.len()).map(|row| sample.weight(row) as f32));
        joined = joined.with_weights(weights.collect())?;
    }
    let groups: Option<Vec<_>> = samples.iter().map(|sample| sample.groups()).collect();
    let Some(groups) = groups else { return Ok(joined) };
    let mut names: Vec<String> = Vec::new();
    let mut codes = Vec::with_capacity(joined.len());
    for group in &groups {
        let place: Vec<u32> = group
            .names()
            .iter()
            .map(|name| match names.iter().position(|known| known == name) {
                Some(place) => place as u32,
                None => {
                    names.push(name.clone());
                    names.len() as u32 - 1
                }
            })
            .collect();
        codes.extend(group.codes().iter().map(|code| place[*code as usize]));
    }
    joined.with_groups(groups[0].column(), names, codes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_dealt_once_and_labels_are_shared_out_evenly() {
        let labels: Vec<bool> = (0..101).map(|row| row % 7 == 0).collect();
        let groups = (0..101).map(|row| u32::from(row % 3 == 0)).collect();
        let sample = Sample::new(labels).unwrap();
        let sample = sample.with_groups("g", vec!["a".into(), "b".into()], groups).unwrap();
        let folds = sample.deal(2);
        let mut rows = folds.concat();
        rows.sort_unstable();
        assert_eq!(rows, (0..101).collect::<Vec<u32>>());
        let positives = |fold: &Vec<u32>| fold.iter().filter(|row| **row % 7 == 0).count();
        assert!(positives(&folds[0]).abs_diff(positives(&folds[1])) <= 2);
    }

    #[test]
    fn joined_samples_keep_labels_weights_and_group_names() {
        let first = Sample::new(vec![true, false]).unwrap();
        let first = first.with_groups("g", vec!["a".into(), "b".into()], vec![0, 1]).unwrap();
        let second = Sample::new(vec![false]).unwrap().with_weights(vec![2.0]).unwrap();
        let second = second.with_groups("g", vec!["b".into()], vec![0]).unwrap();
        let joined = join(&[&first, &second]).unwrap();
        assert_eq!(joined.labels(), [true, false, false]);
        assert_eq!(joined.weights().unwrap(), [1.0, 1.0, 2.0]);
        let groups = joined.groups().unwrap();
        assert_eq!((groups.names(), groups.codes()), (&["a".to_owned(), "b".to_owned()][..], &[0, 1, 1][..]));
    }
}
