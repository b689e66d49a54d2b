//! What the caller of a long run sees and says meanwhile.

use std::ops::ControlFlow;

/// What the caller of a long run may do meanwhile.
pub trait Watch: Sync {
    /// Called once: models to fit, and cells known from an earlier run of all there are.
    fn begin(&self, fits: u64, known: usize, cells: usize);
    /// Called when a model is fitted.
    fn fitted(&self);
    /// Whether to stop.
    fn stop(&self) -> bool;
}

/// Ends a fit where the caller asks for it.
pub(crate) fn control(watch: &dyn Watch) -> ControlFlow<()> {
    if watch.stop() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}
