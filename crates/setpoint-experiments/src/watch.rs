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

/// Counts models, and stops after some.
#[cfg(test)]
pub(crate) struct Counter {
    fitted: std::sync::atomic::AtomicU64,
    most: u64,
}

#[cfg(test)]
impl Counter {
    pub fn new(most: u64) -> Self {
        Self { fitted: Default::default(), most }
    }

    pub fn fits(&self) -> u64 {
        self.fitted.load(std::sync::atomic::Ordering::Relaxed)
    }
}

#[cfg(test)]
impl Watch for Counter {
    fn begin(&self, _: u64, _: usize, _: usize) {}

    fn fitted(&self) {
        self.fitted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }

    fn stop(&self) -> bool {
        self.fits() >= self.most
    }
}
