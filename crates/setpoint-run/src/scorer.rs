//! A trained model of any kind: how it scores rows, and how a model file keeps it.

use std::collections::BTreeMap;

use setpoint::artifact::{ModelFile, Tensor, TensorData};
use setpoint::model::ModelError;
use setpoint::train::{Combined, Member};

use setpoint_trees::Ensemble;

use crate::blueprint::{Blueprint, Held};
use crate::failure::Failure;

/// Most networks that one model may average, so that a hostile file cannot ask for hours.
const MOST_MEMBERS: usize = 1000;

/// How the names of an ensemble's tensors begin.
const TREES: &str = "trees.";

/// A trained model: it scores rows.
#[derive(Clone, Debug, PartialEq)]
pub enum Scorer {
    /// One of the core's models, by its parameters.
    Model(Combined),
    /// Boosted trees.
    Trees(Ensemble),
    /// The sum of a linear model's score and that of boosted trees.
    Both(Box<[Scorer; 2]>),
}

impl Scorer {
    /// The score of each row, or those of each class next to each other.
    ///
    /// # Errors
    /// If the rows are not the model's, or a score is not finite.
    pub fn scores(&self, held: &mut Held) -> Result<Vec<f32>, Failure> {
        match (self, &mut *held) {
            (Self::Both(both), Held::Both(held)) => {
                let mut scores = both[0].scores(&mut held[0])?;
                let beside = both[1].scores(&mut held[1])?;
                scores.iter_mut().zip(beside).for_each(|(score, more)| *score += more);
                return Ok(scores);
            }
            (Self::Model(_), Held::Both(held)) => return self.scores(&mut held[0]),
            (Self::Trees(_), Held::Both(held)) => return self.scores(&mut held[1]),
            _ => {}
        }
        let outputs = match (self, &*held) {
            (Self::Model(_), Held::Model(model)) => model.outputs(),
            (Self::Trees(ensemble), _) => ensemble.outputs(),
            _ => 1,
        };
        let mut scores = vec![0.0; held.rows() * outputs];
        match (self, held) {
            (Self::Model(combined), Held::Model(model)) => combined.scores(&mut **model, &mut scores)?,
            (Self::Trees(ensemble), Held::Rows(rows)) => ensemble.scores(&rows.view(), &mut scores)?,
            (Self::Trees(ensemble), Held::Elsewhere(rows)) => scores = rows.scores(ensemble)?,
            _ => return Err(Failure::input("the rows were made for another kind of model")),
        }
        match scores.iter().position(|score| !score.is_finite()) {
            None => Ok(scores),
            Some(row) => {
                let (score, row) = (scores[row], row / outputs + 1);
                Err(Failure::input(format!("row {row}: its score is {score}; are its numbers too large?")))
            }
        }
    }

    /// Puts it into a model file, `prefix` before each name.
    pub(crate) fn store(&self, blueprint: &Blueprint, prefix: &str, file: &mut ModelFile) {
        let combined = match self {
            Self::Model(combined) => combined,
            Self::Trees(ensemble) => {
                let tensors = ensemble.to_tensors();
                file.tensors
                    .extend(tensors.into_iter().map(|(name, tensor)| (format!("{prefix}{name}"), tensor)));
                return;
            }
            Self::Both(both) => return both.iter().for_each(|one| one.store(blueprint, prefix, file)),
        };
        let mut put = |name: &str, data| {
            file.tensors.insert(format!("{prefix}{name}"), Tensor::vector(data));
        };
        match (blueprint, combined.parameters()) {
            (Blueprint::Linear { .. } | Blueprint::Both { .. }, Some(parameters)) => {
                let outputs = if let Blueprint::Linear { outputs } = blueprint { *outputs } else { 1 };
                let (weights, bias) = parameters.split_at(parameters.len().saturating_sub(outputs));
                put("weights", TensorData::F32(weights.to_vec()));
                put("bias", TensorData::F32(bias.to_vec()));
            }
            _ => {
                let of = |f: fn(&Member) -> f64| TensorData::F64(combined.members.iter().map(f).collect());
                put("member-weights", of(|member| member.weight));
                put("member-shifts", of(|member| member.shift));
                for (index, member) in combined.members.iter().enumerate() {
                    put(&format!("member-{index}"), TensorData::F32(member.parameters.clone()));
                }
            }
        }
    }

    /// What a model file holds under `prefix`; `None` if there is nothing.
    pub(crate) fn restore(
        file: &ModelFile,
        prefix: &str,
        blueprint: &Blueprint,
        columns: usize,
    ) -> Result<Option<Self>, Failure> {
        let named = |name: &str| format!("{prefix}{name}");
        let there = |name: &str| file.tensors.contains_key(&named(name));
        match blueprint {
            Blueprint::Linear { outputs } if there("weights") => {
                let weights = columns.saturating_mul(*outputs);
                let mut parameters = file.tensor::<f32>(&named("weights"), &[weights])?.to_vec();
                parameters.extend_from_slice(file.tensor::<f32>(&named("bias"), &[*outputs])?);
                Ok(Some(Self::Model(Combined::single(parameters))))
            }
            Blueprint::Network(architecture) if there("member-weights") => {
                let count = file.tensors[&named("member-weights")].data.len();
                if !(1..=MOST_MEMBERS).contains(&count) {
                    return Err(Failure::input(format!("holds an average of {count} networks")));
                }
                let weights = file.tensor::<f64>(&named("member-weights"), &[count])?;
                let shifts = file.tensor::<f64>(&named("member-shifts"), &[count])?;
                let parameters = architecture.parameter_count().map_err(ModelError::from)?;
                let mut members = Vec::with_capacity(count);
                for (index, (weight, shift)) in weights.iter().zip(shifts).enumerate() {
                    let found = file.tensor::<f32>(&named(&format!("member-{index}")), &[parameters])?;
                    members.push(Member { parameters: found.to_vec(), weight: *weight, shift: *shift });
                }
                Ok(Some(Self::Model(Combined { members })))
            }
            Blueprint::Trees { .. } => {
                let own = file.tensors.iter().filter_map(|(name, tensor)| {
                    name.strip_prefix(prefix).map(|name| (name.to_owned(), tensor.clone()))
                });
                let own: BTreeMap<String, Tensor> = own.filter(|(name, _)| name.starts_with(TREES)).collect();
                match own.is_empty() {
                    true => Ok(None),
                    false => Ok(Some(Self::Trees(Ensemble::from_tensors(&own, columns)?))),
                }
            }
            Blueprint::Both { first } => {
                let of = |blueprint, columns| Self::restore(file, prefix, &blueprint, columns);
                let linear = of(Blueprint::Linear { outputs: 1 }, *first)?;
                let trees = of(Blueprint::Trees { categorical: Vec::new() }, columns.saturating_sub(*first))?;
                Ok(match (linear, trees) {
                    (Some(linear), Some(trees)) => Some(Self::Both(Box::new([linear, trees]))),
                    (linear, trees) => linear.or(trees),
                })
            }
            Blueprint::Linear { .. } | Blueprint::Network(_) => Ok(None),
        }
    }
}
