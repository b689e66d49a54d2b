//! What a model is built from, and the rows as it takes them.

use std::ops::Range;
use std::sync::Arc;

use setpoint::model::linear::{Dense, Features, Sparse};
use setpoint::model::{Architecture, Images, Inputs, Linear, Model, ModelError, Network};

use setpoint_data::Encoder;

use crate::choice::{CnnSize, ModelChoice};
use crate::failure::Failure;

/// What a model is built from: all but the examples and the parameters.
#[derive(Clone, Debug, PartialEq)]
pub enum Blueprint {
    /// Weights and a bias.
    Linear,
    /// A network.
    Network(Arc<Architecture>),
    /// Boosted trees.
    Trees {
        /// Columns that hold the places of categories.
        categorical: Vec<u32>,
    },
}

/// Rows as a kind of model takes them.
pub enum Held {
    /// Held by one of the core's models.
    Model(Box<dyn Model>),
    /// As they are, for trees.
    Rows(setpoint_data::Features),
}

impl Held {
    /// These ranges of its rows, one after the other, without a copy.
    ///
    /// # Errors
    /// If the kind of model cannot share rows.
    pub fn views(self, ranges: impl IntoIterator<Item = Range<usize>>) -> Result<Vec<Self>, Failure> {
        let cannot = || Failure::input("the rows of this kind of model cannot be shared");
        let Self::Model(whole) = self else { return Err(cannot()) };
        let mut views = Vec::new();
        for range in ranges {
            let rows: Vec<u32> = range.map(|row| row as u32).collect();
            views.push(Self::Model(whole.select(&rows)?.ok_or_else(cannot)?));
        }
        Ok(views)
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        match self {
            Self::Model(model) => model.rows(),
            Self::Rows(features) => features.rows(),
        }
    }
}

impl Blueprint {
    /// The model of this kind for the matrices that an encoder makes.
    ///
    /// # Errors
    /// If the kind is for images, or it would be too large.
    pub fn for_table(choice: &ModelChoice, encoder: &Encoder) -> Result<Self, Failure> {
        match choice {
            ModelChoice::Linear => Ok(Self::Linear),
            ModelChoice::Mlp { hidden, dropout } => {
                Self::network(Architecture::mlp(encoder.columns(), hidden, *dropout))
            }
            ModelChoice::Trees { .. } => Ok(Self::trees(encoder)),
            ModelChoice::Cnn { .. } => {
                Err(Failure::input("the cnn model is for images: for a table choose linear, mlp or trees"))
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
            ModelChoice::Linear | ModelChoice::Mlp { .. } | ModelChoice::Trees { .. } => {
                Err(Failure::input(format!("the {choice} model is for tables: for images choose cnn")))
            }
        }
    }

    /// Trees over the columns of an encoder.
    #[must_use]
    pub fn trees(encoder: &Encoder) -> Self {
        Self::Trees { categorical: encoder.coded_columns().into_iter().map(|column| column as u32).collect() }
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
        if let Self::Trees { .. } = self {
            return Ok(Held::Rows(features));
        }
        let features: Arc<Features> = match features {
            setpoint_data::Features::Dense(dense) => {
                Dense::from_row_major(dense.values, dense.columns)?.into()
            }
            setpoint_data::Features::Sparse(sparse) => {
                Sparse::from_csr(sparse.indptr, sparse.indices, sparse.values, sparse.columns)?.into()
            }
        };
        Ok(match self {
            Self::Network(architecture) => {
                let inputs = Inputs::Matrix(features);
                Held::Model(Box::new(Network::new(Arc::clone(architecture), inputs)?))
            }
            Self::Linear | Self::Trees { .. } => Held::Model(Box::new(Linear::new(features))),
        })
    }

    /// Whether train and validation rows are views of one matrix, so that they can change places.
    #[must_use]
    pub fn shares_rows(&self) -> bool {
        matches!(self, Self::Network(_))
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
            Self::Linear | Self::Trees { .. } => {
                Err(Failure::input("the model is for tables, and these are images"))
            }
        }
    }
}
