//! The pending statuses for the hub: one for each policy, the newest.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use reeve_runtime::queue::Queue;
use serde_json::Value;

/// Statuses to write to the hub; clones share them.
#[derive(Clone)]
pub struct Outbox {
    pending: Arc<Mutex<HashMap<String, Arc<Value>>>>,
    queue: Queue<String>,
}

impl Outbox {
    /// An empty outbox, whose policies are enqueued on `queue`.
    pub fn new(queue: Queue<String>) -> Self {
        Self {
            pending: Arc::default(),
            queue,
        }
    }

    /// Replaces the status of a policy that is to be written, and enqueues the policy.
    pub fn put(&self, policy: &str, status: Value) {
        let status = Arc::new(status);
        self.pending.lock().insert(policy.to_owned(), status);
        self.queue.add(policy.to_owned());
    }

    /// Drops the pending status of a policy, because it does not belong to the hub's version of the policy.
    pub fn withdraw(&self, policy: &str) {
        self.pending.lock().remove(policy);
    }

    /// Enqueues every policy with a pending status.
    pub fn requeue_all(&self) {
        for policy in self.pending.lock().keys() {
            self.queue.add(policy.clone());
        }
    }

    /// The pending status of a policy.
    pub fn pending(&self, policy: &str) -> Option<Arc<Value>> {
        self.pending.lock().get(policy).cloned()
    }

    /// Removes a status that was written. A newer one stays pending.
    pub fn written(&self, policy: &str, status: &Arc<Value>) {
        let mut pending = self.pending.lock();
        if pending
            .get(policy)
            .is_some_and(|it| Arc::ptr_eq(it, status))
        {
            pending.remove(policy);
        }
    }
}
