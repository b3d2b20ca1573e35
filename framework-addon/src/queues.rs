//! The work queues of the reconcilers.

use reeve_runtime::queue::Queue;

/// The queue of each reconciler. Keys are names of policies, which are the same on both clusters.
#[derive(Clone)]
pub struct Queues {
    /// Policies to copy from the hub; absent without a hub.
    pub specs: Option<Queue<String>>,
    /// Policies whose status may have to change.
    pub statuses: Queue<String>,
    /// Policies with a pending status for the hub; absent without a hub.
    pub hub_statuses: Option<Queue<String>>,
    /// Policies whose template objects may have to change.
    pub templates: Queue<String>,
    /// Policies whose constraints may have new audit results; absent without Gatekeeper.
    pub constraints: Option<Queue<String>>,
    /// The Secret to copy from the hub; absent without a hub.
    pub secrets: Option<Queue<String>>,
}

impl Queues {
    /// Enqueues a changed policy for spec sync and status sync.
    pub fn policy_changed(&self, name: &str) {
        if let Some(specs) = &self.specs {
            specs.add(name.to_owned());
        }
        self.statuses.add(name.to_owned());
    }

    /// Enqueues a policy with changed constraints for the relay.
    pub fn constraints_changed(&self, name: &str) {
        if let Some(constraints) = &self.constraints {
            constraints.add(name.to_owned());
        }
    }
}
