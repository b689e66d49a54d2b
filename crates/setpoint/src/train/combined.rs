//! Several fits as one: their scores, brought to the same spread, are averaged.
//!
//! Models that are linear in their parameters become one vector of parameters again. Others stay what
//! they are, and a score is the weighted sum of the members' scores.

use super::{Candidate, Standard, TrainError};
use crate::goal::Direction;
use crate::model::{Model, ModelError, Rows};
use crate::shard::Shard;

/// How many of the best candidates are averaged.
const AVERAGED: usize = 3;

/// A trained model's parameters: one fit, or several whose scores are added up.
#[derive(Clone, Debug, PartialEq)]
pub struct Combined {
    /// The fits; at least one.
    pub members: Vec<Member>,
}

/// One fit of a [`Combined`]: its scores count `weight` times, and `shift` is added.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// The parameters.
    pub parameters: Vec<f32>,
    /// What its scores are multiplied with.
    pub weight: f64,
    /// What is added then.
    pub shift: f64,
}

impl Combined {
    /// One fit, its scores as they are.
    #[must_use]
    pub fn single(parameters: Vec<f32>) -> Self {
        Self { members: vec![Member { parameters, weight: 1.0, shift: 0.0 }] }
    }

    /// The parameters, where there is one fit alone.
    #[must_use]
    pub fn parameters(&self) -> Option<&[f32]> {
        match &self.members[..] {
            [Member { parameters, weight: 1.0, shift: 0.0 }] => Some(parameters),
            _ => None,
        }
    }

    /// Writes the scores of all examples of a model.
    ///
    /// # Errors
    /// If the parameters are not the model's.
    pub fn scores(&self, model: &mut dyn Model, scores: &mut [f32]) -> Result<(), ModelError> {
        if let Some(parameters) = self.parameters() {
            return model.scores(parameters, Rows::All, scores);
        }
        let mut sum = vec![0.0f64; scores.len()];
        for Member { parameters, weight, shift } in &self.members {
            model.scores(parameters, Rows::All, scores)?;
            sum.iter_mut().zip(&*scores).for_each(|(sum, s)| *sum += weight * f64::from(*s) + shift);
        }
        scores.iter_mut().zip(sum).for_each(|(score, sum)| *score = sum as f32);
        Ok(())
    }
}

/// A fit whose scores have mean 0 and spread 1 on the rows that it was trained on.
pub(super) enum OfUnitSpread {
    /// Of a model that is linear in its parameters.
    Linear(Vec<f64>),
    Other(Combined),
}

impl OfUnitSpread {
    pub(super) fn new(
        combined: &Combined,
        model: &mut dyn Model,
        sample: &dyn Shard,
    ) -> Result<Self, TrainError> {
        let mut scores = vec![0.0; sample.rows() * model.outputs()];
        combined.scores(model, &mut scores)?;
        let standard = Standard::of_outputs(sample, &scores, model.outputs());
        if let (true, Some(parameters)) = (model.linear(), combined.parameters()) {
            let bias = parameters.len() - 1;
            let scaled = parameters.iter().enumerate().map(|(index, parameter)| {
                let shifted = f64::from(*parameter) - if index == bias { standard.mean } else { 0.0 };
                shifted / standard.deviation
            });
            return Ok(Self::Linear(scaled.collect()));
        }
        let mut members = combined.members.clone();
        let count = members.len() as f64;
        for member in &mut members {
            member.weight /= standard.deviation;
            member.shift = (member.shift - standard.mean / count) / standard.deviation;
        }
        Ok(Self::Other(Combined { members }))
    }

    /// The mean of several fits of one kind.
    pub(super) fn mean(fits: Vec<Self>) -> Combined {
        let count = fits.len() as f64;
        let mut mean: Vec<f64> = Vec::new();
        let mut members = Vec::new();
        for fit in fits {
            match fit {
                Self::Linear(parameters) => {
                    mean.resize(parameters.len(), 0.0);
                    mean.iter_mut().zip(parameters).for_each(|(mean, value)| *mean += value / count);
                }
                Self::Other(combined) => members.extend(combined.members.into_iter().map(|member| Member {
                    weight: member.weight / count,
                    shift: member.shift / count,
                    ..member
                })),
            }
        }
        if members.is_empty() {
            return Combined::single(mean.into_iter().map(|value| value as f32).collect());
        }
        Combined { members }
    }
}

/// One or several candidates as one.
#[derive(Clone)]
pub(super) struct Average {
    pub(super) combined: Combined,
    /// What to call it.
    pub(super) name: String,
    /// Which candidates it is made of.
    pub(super) members: Vec<usize>,
}

impl Average {
    /// One candidate, as it is.
    pub(super) fn one(candidates: &[Candidate], index: usize) -> Self {
        let candidate = &candidates[index];
        Self {
            combined: Combined::single(candidate.parameters.clone()),
            name: candidate.name.clone(),
            members: vec![index],
        }
    }
}

/// The mean of the best of some candidates, each of unit spread.
pub(super) fn average(
    candidates: &[Candidate],
    among: std::ops::Range<usize>,
    direction: Direction,
    model: &mut dyn Model,
    sample: &dyn Shard,
) -> Result<Average, TrainError> {
    let first = among.start;
    let among = &candidates[among];
    let mut order: Vec<&Candidate> = among.iter().filter(|c| c.validation.is_some()).collect();
    if order.is_empty() {
        return Ok(Average::one(candidates, first));
    }
    order.sort_by(|a, b| b.merit(direction).total_cmp(&a.merit(direction)));
    order.truncate(AVERAGED);
    let mut fits = Vec::with_capacity(order.len());
    // An ico stage whose best iterate is its start is the cross-entropy fit over again: a vote for it.
    let mut members: Vec<usize> = Vec::new();
    for candidate in order {
        fits.push(OfUnitSpread::new(&Combined::single(candidate.parameters.clone()), model, sample)?);
        let origin = among.iter().position(|other| other.parameters == candidate.parameters);
        let origin = first + origin.unwrap_or_default();
        if !members.contains(&origin) {
            members.push(origin);
        }
    }
    let names: Vec<&str> = members.iter().map(|index| candidates[*index].name.as_str()).collect();
    let name = match names[..] {
        [only] => only.to_owned(),
        _ => format!("average of {}", names.join("; ")),
    };
    Ok(Average { combined: OfUnitSpread::mean(fits), name, members })
}
