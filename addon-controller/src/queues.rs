//! The work queues of the reconcilers.

use reeve_runtime::queue::Queue;

use crate::addon::{Addon, Installation};

/// The controllers' work.
#[derive(Clone)]
pub struct Queues {
    /// Add-ons to bring about.
    pub installations: Queue<Installation>,
    /// Certificate requests to look at, by name.
    pub requests: Queue<String>,
    /// Definitions of add-ons whose configurations to fingerprint.
    pub definitions: Queue<Addon>,
}
