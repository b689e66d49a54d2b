//! What a model is built from, and the rows as it takes them.

use std::ops::Range;
use std::sync::Arc;

use setpoint::model::linear::{Dense, Features, Sparse};
use setpoint::model::{Architecture, Images, Inputs, Linear, Model, ModelError, Network};

use crate::choice::{CnnSize, ModelChoice};
use crate::failure::Failure;

/// What a model is built from: all but the examples and the parameters.
#[derive(Clone, Debug, PartialEq)]
pub enum Blueprint {
    /// Weights and a bias.
    Linear,
    /// A network.
    Network(Arc<Architecture>),
}

/// Rows as a kind of model takes them.
pub enum Held {
    /// Held by one of the core's models.
    Model(Box<dyn Model>),
}

impl Held {
    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        match self {
            Self::Model(model) => model.rows(),
        }
    }
}

impl Blueprint {
    /// The model of this kind for a matrix of so many columns.
    ///
    /// # Errors
    /// If the kind is for images, or it would be too large.
    pub fn for_table(choice: &ModelChoice, columns: usize) -> Result<Self, Failure> {
        match choice {
            ModelChoice::Linear => Ok(Self::Linear),
            ModelChoice::Mlp { hidden, dropout } => {
                Self::network(Architecture::mlp(columns, hidden, *dropout))
            }
            ModelChoice::Cnn { .. } => {
                Err(Failure::input("the cnn model is for images: for a table choose linear or mlp"))
            }
        }
    }

    /// The model of this kind for images of this height, width and number of channels.
    ///
    /// # Errors
    /// If the kind is for tables, or the images are too small for it.
    pub fn for_images(choice: &ModelChoice, [height, width, channels]: [usize; 3]) -> Result<Self, Failure> {
        match choice {
            ModelChoice::Cnn { size: CnnSize::Paper } => {
                Self::network(Architecture::cnn(height, width, channels))
            }
            ModelChoice::Cnn { size: CnnSize::Small } => {
                Self::network(Architecture::cnn_small(height, width, channels))
            }
            ModelChoice::Linear | ModelChoice::Mlp { .. } => {
                Err(Failure::input(format!("the {choice} model is for tables: for images choose cnn")))
            }
        }
    }

    /// A network of this architecture.
    ///
    /// # Errors
    /// If its layers do not fit together.
    pub fn network(architecture: Architecture) -> Result<Self, Failure> {
        architecture.check().map_err(ModelError::from)?;
        Ok(Self::Network(Arc::new(architecture)))
    }

    /// The rows of a matrix that the model's encoder made.
    ///
    /// # Errors
    /// If the model takes others.
    pub fn hold(&self, features: setpoint_data::Features) -> Result<Held, Failure> {
        let features: Arc<Features> = match features {
            setpoint_data::Features::Dense(dense) => {
                Dense::from_row_major(dense.values, dense.columns)?.into()
            }
            setpoint_data::Features::Sparse(sparse) => {
                Sparse::from_csr(sparse.indptr, sparse.indices, sparse.values, sparse.columns)?.into()
            }
        };
        Ok(match self {
            Self::Linear => Held::Model(Box::new(Linear::new(features))),
            Self::Network(architecture) => {
                let inputs = Inputs::Matrix(features);
                Held::Model(Box::new(Network::new(Arc::clone(architecture), inputs)?))
            }
        })
    }

    /// Whether train and validation rows are views of one matrix, so that they can change places.
    #[must_use]
    pub fn shares_rows(&self) -> bool {
        matches!(self, Self::Network(_))
    }

    /// The same, and of them these ranges of rows, one after the other, without a copy.
    ///
    /// # Errors
    /// As [`Blueprint::hold`].
    pub fn hold_views(
        &self,
        features: setpoint_data::Features,
        ranges: impl IntoIterator<Item = Range<usize>>,
    ) -> Result<Vec<Held>, Failure> {
        let Held::Model(whole) = self.hold(features)?;
        let mut views = Vec::new();
        for range in ranges {
            let rows: Vec<u32> = range.map(|row| row as u32).collect();
            let view = whole.select(&rows)?;
            views.push(Held::Model(view.ok_or_else(|| Failure::input("the rows cannot be shared"))?));
        }
        Ok(views)
    }

    /// Images.
    ///
    /// # Errors
    /// If the model takes other examples.
    pub fn hold_images(&self, images: Images) -> Result<Held, Failure> {
        match self {
            Self::Network(architecture) => {
                let network = Network::new(Arc::clone(architecture), Inputs::Images(images))?;
                Ok(Held::Model(Box::new(network)))
            }
            Self::Linear => Err(Failure::input("the model is for tables, and these are images")),
        }
    }
}
