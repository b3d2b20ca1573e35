//! The work queues of the reconcilers.

use reeve_runtime::queue::Queue;

use crate::addon::{Addon, Installation};

/// The queues.
#[derive(Clone)]
pub struct Queues {
    /// Installations to reconcile.
    pub installations: Queue<Installation>,
    /// Certificate requests to reconcile, by name.
    pub requests: Queue<String>,
    /// Definitions of add-ons, to publish the hashes of their configurations.
    pub definitions: Queue<Addon>,
}
