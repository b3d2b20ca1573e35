//! The work queues of the reconcilers.

use reeve_runtime::queue::Queue;

/// The controllers' work, by the policy's name: it is the same on both clusters.
#[derive(Clone)]
pub struct Queues {
    /// Policies to copy from the hub; absent without a hub.
    pub specs: Option<Queue<String>>,
    /// Policies whose status to bring in line.
    pub statuses: Queue<String>,
    /// Policies whose status on the hub to bring in line; absent without a hub.
    pub hub_statuses: Option<Queue<String>>,
    /// Policies whose template objects to bring in line.
    pub templates: Queue<String>,
    /// Policies of whose constraints to pass on what the audit has found; absent without Gatekeeper.
    pub constraints: Option<Queue<String>>,
    /// The Secret to copy from the hub; absent without a hub.
    pub secrets: Option<Queue<String>>,
}

impl Queues {
    /// Enqueues what the change of a policy concerns.
    pub fn policy_changed(&self, name: &str) {
        if let Some(specs) = &self.specs {
            specs.add(name.to_owned());
        }
        self.statuses.add(name.to_owned());
    }

    /// Enqueues what the change of a constraint concerns.
    pub fn constraints_changed(&self, name: &str) {
        if let Some(constraints) = &self.constraints {
            constraints.add(name.to_owned());
        }
    }
}
