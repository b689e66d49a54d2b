//! What a model is built from, and the rows as it takes them.

use std::ops::Range;
use std::sync::Arc;

use setpoint::features::Features;
use setpoint::metric::StoredRows;
use setpoint::model::{Architecture, Images, Inputs, Linear, Model, ModelError, Network};

use setpoint_data::Encoder;

use crate::choice::{CnnSize, ModelChoice};
use crate::failure::Failure;
use crate::scorer::Scorer;
use crate::shards::TreeRows;

/// What a model is built from: all but the examples and the parameters.
#[derive(Clone, Debug, PartialEq)]
pub enum Blueprint {
    /// Weights and a bias, for each score.
    Linear {
        /// Scores of an example: one, or one for each class.
        outputs: usize,
    },
    /// A network.
    Network(Arc<Architecture>),
    /// Boosted trees.
    Trees {
        /// Columns that hold the places of categories.
        categorical: Vec<u32>,
    },
    /// A weight for each of the first columns, and boosted trees over those behind them.
    Both {
        /// How many the first ones are.
        first: usize,
    },
}

/// Rows as a kind of model takes them.
pub enum Held {
    /// Held by one of the core's models.
    Model(Box<dyn Model>),
    /// As they are, for trees.
    Rows(setpoint_trees::Rows),
    /// Twice: for a linear model, and for trees.
    Both(Box<[Held; 2]>),
    /// In shards, for trees.
    Elsewhere(TreeRows),
    /// Scored while they were read, and not held.
    Scored(Scored),
}

/// Reads some rows again.
pub(crate) type Again = dyn Fn(&[u32]) -> Result<Held, Failure>;

/// Scores of rows that are not held, and a way back to some of them.
pub struct Scored {
    pub(crate) rows: usize,
    /// The scores that each model gave them.
    pub(crate) by: Vec<(Scorer, Arc<Vec<f32>>)>,
    /// Reads some of them again, which ascend.
    pub(crate) again: Box<Again>,
    /// Labels and scores, where they are too many for memory as well.
    pub(crate) stored: Option<StoredRows>,
}

impl Held {
    /// These of its rows, for networks without a copy.
    ///
    /// # Errors
    /// If the kind of model cannot be taken apart, or there are no such rows.
    pub fn view(&self, rows: &[u32]) -> Result<Self, Failure> {
        let view = match self {
            Self::Model(whole) => whole.select(rows)?,
            Self::Rows(whole) => return Ok(Self::Rows(whole.select(rows)?)),
            Self::Both(both) => return Ok(Self::Both(Box::new([both[0].view(rows)?, both[1].view(rows)?]))),
            Self::Elsewhere(_) => None,
            Self::Scored(scored) => return (scored.again)(rows),
        };
        let cannot = || Failure::input("the rows of this kind of model cannot be shared");
        Ok(Self::Model(view.ok_or_else(cannot)?))
    }

    /// The same rows, but for these columns, which row i has of row `order[i]`; `None` of images. The second are
    /// those of the trees, where rows are held twice.
    ///
    /// # Errors
    /// If there are no such rows.
    pub fn shuffled(
        &self,
        [columns, beside]: &[Range<usize>; 2],
        order: &[u32],
    ) -> Result<Option<Self>, Failure> {
        Ok(match self {
            Self::Model(model) => model.shuffled(columns, order)?.map(Self::Model),
            Self::Rows(rows) => Some(Self::Rows(rows.shuffled(columns, order))),
            Self::Both(both) => {
                let of = |place: usize, columns: &Range<usize>| {
                    both[place].shuffled(&[columns.clone(), 0..0], order)
                };
                of(0, columns)?.zip(of(1, beside)?).map(|both| Self::Both(Box::new(both.into())))
            }
            Self::Elsewhere(_) => None,
            Self::Scored(_) => None,
        })
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        match self {
            Self::Model(model) => model.rows(),
            Self::Rows(rows) => rows.view().rows(),
            Self::Both(both) => both[0].rows(),
            Self::Elsewhere(rows) => rows.rows(),
            Self::Scored(scored) => scored.rows,
        }
    }
}

impl Blueprint {
    /// The model of this kind for the matrices that an encoder makes, with so many scores for each row.
    ///
    /// # Errors
    /// If the kind is for images, or it would be too large.
    pub fn for_table(choice: &ModelChoice, encoder: &Encoder, outputs: usize) -> Result<Self, Failure> {
        match choice {
            ModelChoice::Linear => Ok(Self::Linear { outputs }),
            ModelChoice::Mlp { hidden, dropout } => {
                let layers = Architecture::mlp(encoder.columns(), hidden, *dropout);
                Self::network(layers.with_outputs(outputs))
            }
            ModelChoice::Trees { .. } => Ok(Self::trees(encoder)),
            ModelChoice::Cnn { .. } => {
                Err(Failure::input("the cnn model is for images: for a table choose linear, mlp or trees"))
            }
            ModelChoice::Auto { .. } | ModelChoice::Average => {
                Err(Failure::input("rows are made for one kind of model at a time"))
            }
        }
    }

    /// The model of this kind for images of this height, width and number of channels, with so many scores for
    /// each.
    ///
    /// # Errors
    /// If the kind is for tables, or the images are too small for it.
    pub fn for_images(
        choice: &ModelChoice,
        [height, width, channels]: [usize; 3],
        outputs: usize,
    ) -> Result<Self, Failure> {
        match choice {
            ModelChoice::Cnn { size: CnnSize::Paper } => {
                Self::network(Architecture::cnn(height, width, channels).with_outputs(outputs))
            }
            ModelChoice::Cnn { size: CnnSize::Small } => {
                Self::network(Architecture::cnn_small(height, width, channels).with_outputs(outputs))
            }
            ModelChoice::Linear
            | ModelChoice::Mlp { .. }
            | ModelChoice::Trees { .. }
            | ModelChoice::Average
            | ModelChoice::Auto { .. } => {
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

    /// Rows that the model's encoder made.
    ///
    /// # Errors
    /// If the model takes others.
    pub fn hold(&self, features: Features) -> Result<Held, Failure> {
        if let Self::Trees { .. } = self {
            return Ok(Held::Rows(features.into()));
        }
        if let Self::Both { first } = self {
            let (own, beside) = features.split_off(*first);
            let own = Self::Linear { outputs: 1 }.hold(own)?;
            return Ok(Held::Both(Box::new([own, Held::Rows(beside.into())])));
        }
        features.check()?;
        Ok(Held::Model(match self {
            Self::Network(architecture) => {
                Box::new(Network::new(Arc::clone(architecture), Inputs::Matrix(features.into()))?)
            }
            Self::Linear { outputs } => Box::new(Linear::new(features).with_outputs(*outputs)),
            Self::Trees { .. } | Self::Both { .. } => Box::new(Linear::new(features)),
        }))
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
            Self::Linear { .. } | Self::Trees { .. } | Self::Both { .. } => {
                Err(Failure::input("the model is for tables, and these are images"))
            }
        }
    }
}
