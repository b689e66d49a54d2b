//! A loss for [Burn](https://burn.dev) modules that trains for the operating point they will run at.
//!
//! State a goal ("the most recall at 1% false alarms"). The threshold is a function of the scores,
//! given by the goal's conditions, and the gradient goes through it. The network stays on its device;
//! only scores come to the host, and their gradient goes back:
//!
//! ```text
//!            scores s                                score gradient v
//!  Module ───────────────▶  counts ─▶ rates ─▶ solve ───────────────────▶ backward ─▶ Optimizer
//! ```
//!
//! Any module, backend, optimizer and sampler will do:
//!
//! ```
//! use burn::nn::LinearConfig;
//! use burn::optim::{AdamConfig, GradientsParams};
//! use burn::prelude::*;
//! use burn::tensor::Distribution;
//! use setpoint_burn::{GoalLoss, GoalLossConfig};
//!
//! let device = Device::flex().autodiff();
//! device.seed(0);
//! let mut network = LinearConfig::new(2, 1).init(&device);
//! let mut optimizer = AdamConfig::new().init();
//! let mut loss = GoalLoss::new(
//!     "recall @ fpr<=1%".parse()?,
//!     GoalLossConfig { warmup: 10, ..GoalLossConfig::default() },
//! )?;
//! let labels = Tensor::<1, Int>::arange(0..128, &device).remainder_scalar(8).equal_elem(0);
//! for _ in 0..30 {
//!     let noise = Tensor::<2>::random([128, 2], Distribution::Normal(0.0, 1.0), &device);
//!     let features = noise + labels.clone().float().reshape([128, 1]) * 2;
//!     let value = loss.forward(network.forward(features), &labels)?;
//!     let gradients = GradientsParams::from_grads(value.backward(), &network);
//!     network = optimizer.step(0.1, network, gradients);
//! }
//! let pool = loss.pool_value()?;    // the goal's true value on the last 20 batches
//! assert!(pool.value > 0.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! To train on a GPU, enable a backend in your own `burn` (`features = ["cuda"]`, `"rocm"`, `"metal"`,
//! `"vulkan"` or `"wgpu"`) and make the network and its inputs on that device:
//! `Device::cuda(0).autodiff()`. Nothing else changes. This crate brings no backend of its own; your
//! `burn` must be of the same series, 0.22.
//!
//! When training is done, [`GoalLoss::certify`] picks the threshold to ship on held-out scores, so that
//! the goal's conditions hold on new data. [`GoalLoss::state`] is all there is to save beside the
//! network and the optimizer. `examples/train.rs` does all of it on real data.
//!
//! It pays where capacity is short, ties with cross-entropy where it is ample, and loses where
//! labels are wrong: compare on validation rows, by [`GoalLoss::value`].

#![forbid(unsafe_code)]

mod error;
mod host;
mod loss;
mod state;

pub use error::LossError;
pub use host::Labels;
pub use loss::{GoalLoss, GoalLossConfig};
pub use setpoint;
pub use state::LossState;
