//! The work queues of the reconcilers. They hold keys only: a reconciler decides with the state at that time.

use reeve_api::names::RootPolicyName;
use reeve_runtime::manager::Manager;
use reeve_runtime::object::ObjectKey;
use reeve_runtime::queue::{Queue, flow};

/// The queue of each reconciler.
#[derive(Clone)]
pub struct Queues {
    /// Replicated policies, by cluster namespace and own name.
    pub replicas: Queue<ObjectKey>,
    /// Root policies whose status may have changed.
    pub roots: Queue<RootPolicyName>,
    /// Policy sets whose status may have changed.
    pub sets: Queue<ObjectKey>,
    /// Secrets with encryption keys.
    pub keys: Queue<ObjectKey>,
    /// Policy automations.
    pub automations: Queue<ObjectKey>,
}

impl Queues {
    /// Empty queues.
    pub fn new(manager: &Manager) -> Self {
        Self {
            // The name of a replica is that of its root policy: no root policy waits behind all replicas of another.
            replicas: manager
                .queue("replicated-policy")
                .with_flows(|replica: &ObjectKey| flow(&replica.name)),
            roots: manager.queue("root-policy-status"),
            sets: manager.queue("policy-set"),
            keys: manager.queue("policy-encryption-keys"),
            automations: manager.queue("policy-automation"),
        }
    }
}
