//! The network as a [`Model`].

use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::architecture::{Architecture, ArchitectureError};
use super::backward::{Slopes, backward};
use super::batch_norm::Norm;
use super::forward::{Mode, Selection, forward};
use super::inputs::Inputs;
use super::plan::Plan;
use super::workspace::Workspace;
use crate::model::{Batch, Model, ModelError, Rows, check_length, check_rows};

/// A neural network over the examples it holds.
///
/// Parameters, layer by layer: weights as `[outputs][inputs]` (a convolution: `[outputs][row][column]
/// [channel]`), then the bias if any; batch norm: scale, shift, running mean, running variance.
///
/// A clone shares architecture and examples, not the state of the last pass.
///
/// ```
/// use std::sync::Arc;
/// use setpoint::features::Features;
/// use setpoint::model::{Architecture, Batch, Model, Network};
///
/// let features: Arc<Features> = Features::from_row_major(vec![1.0, 2.0, 3.0, 4.0], 2)?.into();
/// let mut network = Network::new(Architecture::mlp(2, &[8], 0.0), Arc::new(features.into()))?;
/// let parameters = network.initial(7);
/// let (mut scores, mut gradient) = ([0.0; 2], vec![0.0; parameters.len()]);
/// network.learn(&parameters, &Batch { rows: &[1, 0], seed: 7, step: 0 }, &mut scores)?;
/// network.backward(&parameters, &[1.0, -1.0], &mut gradient)?;
/// # Ok::<(), setpoint::model::ModelError>(())
/// ```
#[derive(Debug)]
pub struct Network {
    architecture: Arc<Architecture>,
    plan: Arc<Plan>,
    inputs: Arc<Inputs>,
    /// Which of the examples, if not all.
    view: Option<Arc<[u32]>>,
    pub(super) workspace: Workspace,
    /// The last batch learnt from and not overwritten: its rows and its mode.
    learnt: Option<(usize, Mode)>,
}

impl Network {
    /// A network of this architecture over these examples.
    ///
    /// # Errors
    /// If the architecture is refused by [`Architecture::check`], or takes other examples.
    pub fn new(
        architecture: impl Into<Arc<Architecture>>,
        inputs: impl Into<Arc<Inputs>>,
    ) -> Result<Self, ModelError> {
        let architecture = architecture.into();
        let plan = Arc::new(Plan::new(&architecture)?);
        Self::with(architecture, plan, inputs.into())
    }

    /// The same architecture over other examples.
    ///
    /// # Errors
    /// If it takes other examples.
    pub fn over(&self, inputs: impl Into<Arc<Inputs>>) -> Result<Self, ModelError> {
        Self::with(Arc::clone(&self.architecture), Arc::clone(&self.plan), inputs.into())
    }

    fn with(
        architecture: Arc<Architecture>,
        plan: Arc<Plan>,
        inputs: Arc<Inputs>,
    ) -> Result<Self, ModelError> {
        let (expected, got) = (plan.input, inputs.shape());
        if expected != got {
            let (expected, got) = (expected.to_string(), got.to_string());
            return Err(ArchitectureError::Inputs { expected, got }.into());
        }
        Ok(Self { architecture, plan, inputs, view: None, workspace: Workspace::default(), learnt: None })
    }

    /// Its layers.
    #[must_use]
    pub fn architecture(&self) -> &Arc<Architecture> {
        &self.architecture
    }

    /// All examples, of which a selected network scores some.
    #[must_use]
    pub fn inputs(&self) -> &Arc<Inputs> {
        &self.inputs
    }

    /// A network over these of its examples alone, in this order; examples are not copied.
    ///
    /// # Errors
    /// If a row number is not below [`Model::rows`].
    pub fn selected(&self, rows: &[u32]) -> Result<Self, ModelError> {
        check_rows(rows, self.rows())?;
        let view = match &self.view {
            Some(view) => rows.iter().map(|row| view[*row as usize]).collect(),
            None => rows.into(),
        };
        Ok(Self { view: Some(view), ..self.clone() })
    }

    fn differentiate(
        &mut self,
        parameters: &[f32],
        slopes: Slopes<'_>,
        gradient: &mut [f32],
    ) -> Result<(), ModelError> {
        check_length("parameters", self.plan.parameter_count, parameters.len())?;
        check_length("gradient", self.plan.parameter_count, gradient.len())?;
        let (rows, mode) = self.learnt.ok_or(ModelError::NoForward)?;
        check_length("score gradient", rows * self.outputs(), slopes.head.len())?;
        check_length("direct score gradient", rows * self.outputs(), slopes.body.len())?;
        backward(&self.plan, parameters, slopes, mode, &mut self.workspace, gradient);
        Ok(())
    }
}

impl Clone for Network {
    fn clone(&self) -> Self {
        Self {
            architecture: Arc::clone(&self.architecture),
            plan: Arc::clone(&self.plan),
            inputs: Arc::clone(&self.inputs),
            view: self.view.clone(),
            workspace: Workspace::default(),
            learnt: None,
        }
    }
}

impl Model for Network {
    fn rows(&self) -> usize {
        self.view.as_ref().map_or_else(|| self.inputs.rows(), |view| view.len())
    }

    fn parameter_count(&self) -> usize {
        self.plan.parameter_count
    }

    fn outputs(&self) -> usize {
        self.plan.scores()
    }

    /// Weights uniform in ±sqrt(6 / inputs) (He), which keeps the size of values through ReLU, those of
    /// the output in ±1 / sqrt(inputs); biases 0; batch norm at scale 1 and shift 0.
    fn initial(&self, seed: u64) -> Vec<f32> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut parameters = vec![0.0; self.plan.parameter_count];
        for (at, block) in self.plan.blocks.iter().enumerate() {
            let gain = if at + 1 == self.plan.blocks.len() { 1.0 } else { 6.0 };
            let bound = (gain / block.depth as f64).sqrt() as f32;
            for weight in &mut parameters[block.weights.clone()] {
                *weight = rng.random_range(-bound..=bound);
            }
            if let Some(place) = &block.norm {
                Norm::initial(&mut parameters[place.clone()]);
            }
        }
        parameters
    }

    fn decayed(&self) -> Vec<Range<usize>> {
        self.plan.blocks.iter().map(|block| block.weights.clone()).collect()
    }

    fn select(&self, rows: &[u32]) -> Result<Option<Box<dyn Model>>, ModelError> {
        Ok(Some(Box::new(self.selected(rows)?)))
    }

    fn shuffled(&self, features: &Range<usize>, order: &[u32]) -> Result<Option<Box<dyn Model>>, ModelError> {
        let Inputs::Matrix(rows) = &*self.inputs else { return Ok(None) };
        let shuffled = match &self.view {
            Some(view) => rows.select(view)?.shuffled(features, order)?,
            None => rows.shuffled(features, order)?,
        };
        Ok(Some(Box::new(self.over(Inputs::Matrix(shuffled.into()))?)))
    }

    /// Networks over rows of the same inputs, which are not copied.
    fn joined(&self, others: &[&dyn Model]) -> Result<Option<Box<dyn Model>>, ModelError> {
        let own = |other: &&dyn Model| {
            let other: &Self = other.as_any()?.downcast_ref()?;
            other.view.clone().filter(|_| Arc::ptr_eq(&self.inputs, &other.inputs))
        };
        let views: Option<Vec<_>> =
            std::iter::once(self.view.clone()).chain(others.iter().map(own)).collect();
        let Some(views) = views else { return Ok(None) };
        let view = views.iter().flat_map(|view| view.iter().copied()).collect();
        Ok(Some(Box::new(Self { view: Some(view), ..self.clone() })))
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }

    /// Some rows at a time, so that memory stays bounded; a backward pass after it is refused.
    fn scores(&mut self, parameters: &[f32], rows: Rows<'_>, scores: &mut [f32]) -> Result<(), ModelError> {
        check_length("parameters", self.plan.parameter_count, parameters.len())?;
        let rows = match rows {
            Rows::All => None,
            Rows::At(rows) => Some(rows),
        };
        let outputs = self.outputs();
        check_length("scores", rows.map_or(self.rows(), <[u32]>::len) * outputs, scores.len())?;
        check_rows(rows.unwrap_or_default(), self.rows())?;
        self.learnt = None;
        self.workspace.flip(&self.plan, parameters);
        for (part, scores) in scores.chunks_mut(self.plan.evaluation_rows * outputs).enumerate() {
            let first = part * self.plan.evaluation_rows;
            let selection = Selection { inputs: &self.inputs, view: self.view.as_deref(), rows, first };
            self.workspace.cut(&self.plan, scores.len() / outputs);
            forward(&self.plan, parameters, selection, Mode::Score, &mut self.workspace, scores);
        }
        Ok(())
    }

    fn learn(&mut self, parameters: &[f32], batch: &Batch<'_>, scores: &mut [f32]) -> Result<(), ModelError> {
        check_length("parameters", self.plan.parameter_count, parameters.len())?;
        check_length("scores", batch.rows.len() * self.outputs(), scores.len())?;
        check_rows(batch.rows, self.rows())?;
        let mode = Mode::Learn { seed: batch.seed, step: batch.step };
        let view = self.view.as_deref();
        let selection = Selection { inputs: &self.inputs, view, rows: Some(batch.rows), first: 0 };
        self.workspace.cut(&self.plan, batch.rows.len());
        self.workspace.flip(&self.plan, parameters);
        forward(&self.plan, parameters, selection, mode, &mut self.workspace, scores);
        self.learnt = Some((batch.rows.len(), mode));
        Ok(())
    }

    fn backward(&mut self, parameters: &[f32], v: &[f32], gradient: &mut [f32]) -> Result<(), ModelError> {
        self.differentiate(parameters, Slopes { head: v, body: v }, gradient)
    }

    fn backward_head(
        &mut self,
        parameters: &[f32],
        v: &[f32],
        direct: &[f32],
        gradient: &mut [f32],
    ) -> Result<(), ModelError> {
        self.differentiate(parameters, Slopes { head: v, body: direct }, gradient)
    }

    fn observe(&mut self, parameters: &mut [f32]) {
        if self.learnt.is_none() || parameters.len() != self.plan.parameter_count {
            return;
        }
        for (block, norm) in self.plan.blocks.iter().zip(self.workspace.norms()) {
            if let Some(place) = &block.norm {
                norm.observe(&mut parameters[place.clone()]);
            }
        }
    }
}
