//! The statuses that wait to be written to the hub: one a policy, the newest.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use reeve_runtime::queue::Queue;
use serde_json::Value;

/// Statuses to write to the hub; clones share them.
#[derive(Clone)]
pub struct Outbox {
    waiting: Arc<Mutex<HashMap<String, Arc<Value>>>>,
    queue: Queue<String>,
}

impl Outbox {
    /// An empty outbox, whose policies are enqueued on `queue`.
    pub fn new(queue: Queue<String>) -> Self {
        Self {
            waiting: Arc::default(),
            queue,
        }
    }

    /// Replaces the status of a policy that is to be written, and enqueues the policy.
    pub fn put(&self, policy: &str, status: Value) {
        let status = Arc::new(status);
        self.waiting.lock().insert(policy.to_owned(), status);
        self.queue.add(policy.to_owned());
    }

    /// Drops the status of a policy: it no longer answers to the hub's policy.
    pub fn withdraw(&self, policy: &str) {
        self.waiting.lock().remove(policy);
    }

    /// Enqueues every policy with a status that waits.
    pub fn requeue_all(&self) {
        for policy in self.waiting.lock().keys() {
            self.queue.add(policy.clone());
        }
    }

    /// The status of a policy that waits.
    pub fn waiting(&self, policy: &str) -> Option<Arc<Value>> {
        self.waiting.lock().get(policy).cloned()
    }

    /// Removes a status that was written. A newer one goes on waiting.
    pub fn written(&self, policy: &str, status: &Arc<Value>) {
        let mut waiting = self.waiting.lock();
        if waiting
            .get(policy)
            .is_some_and(|it| Arc::ptr_eq(it, status))
        {
            waiting.remove(policy);
        }
    }
}
