//! The kinds that a server serves now.

use std::sync::Arc;

use parking_lot::{RwLock, RwLockWriteGuard};

use super::Kinds;

/// The current [`Kinds`] of a server. A new CRD replaces them; requests keep those that they began with.
pub(crate) struct KindRegistry(RwLock<Arc<Kinds>>);

impl KindRegistry {
    /// With the built-in kinds.
    pub(crate) fn new() -> Self {
        Self(RwLock::new(Arc::new(Kinds::builtin())))
    }

    pub(crate) fn current(&self) -> Arc<Kinds> {
        Arc::clone(&self.0.read())
    }

    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, Arc<Kinds>> {
        self.0.write()
    }
}
