//! Whether the policies are to let go of the cluster, because the add-on is being removed or their kind is.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether policies are to let go of the cluster: finalizers are removed and nothing is pruned.
#[derive(Clone, Debug, Default)]
pub struct Cleanup(Arc<AtomicBool>);

impl Cleanup {
    /// Whether it is time.
    #[must_use]
    pub fn is_due(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}
