//! Neural networks on a plain processor: dense layers and convolutions, batch norm, ReLU, dropout.
//!
//! ```text
//! Architecture ──check──▶ Plan (blocks)          Inputs (a matrix, or images of bytes)
//!                              └──────────┬───────────┘
//!                                      Network: Model
//! ```
//!
//! Three ideas carry the speed:
//!
//! - *Every layer with weights is one matrix product.* A convolution copies its windows to rows
//!   (channels last, so that a window is a few long runs) and multiplies; a dense layer just
//!   multiplies. What follows a product (bias, batch norm, ReLU, dropout) is done while its values
//!   are in the cache, and a block is a product with what follows.
//! - *A batch is cut into groups of rows, and a group goes through as many blocks as it can* before
//!   it must wait for the others: all of them, without batch norm. Groups share nothing that is
//!   written, and their sums are added in order, so results are the same to the last bit for any
//!   number of threads.
//! - *Memory is kept from step to step.* Only the outputs of the products are stored; batch norm,
//!   ReLU and the windows are computed again in the backward pass, which is cheaper than memory.
//!
//! The matrix product picks its instructions and block sizes by the processor, so another processor
//! may round differently.

mod architecture;
mod backward;
mod batch_norm;
mod dropout;
mod elementwise;
mod forward;
mod inputs;
mod matmul;
mod network;
mod plan;
mod window;
mod workspace;

pub use architecture::{Architecture, ArchitectureError, InputShape, Layer, Padding};
pub use inputs::{Images, Inputs, Standard};
pub use network::Network;

#[cfg(test)]
mod tests;
