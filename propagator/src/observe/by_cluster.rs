//! Replicas by the cluster they are for.

use std::collections::{HashMap, HashSet};

use parking_lot::Mutex;
use reeve_runtime::object::ObjectKey;

/// Some replicas, by their cluster: a change of one cluster must not cost a walk over all.
#[derive(Default)]
pub(super) struct ByCluster(Mutex<HashMap<String, HashSet<ObjectKey>>>);

impl ByCluster {
    /// Puts a replica in, or takes it out.
    pub(super) fn set(&self, replica: &ObjectKey, is_in: bool) {
        let mut clusters = self.0.lock();
        if is_in {
            let replicas = clusters.entry(replica.namespace.clone()).or_default();
            replicas.insert(replica.clone());
        } else if let Some(replicas) = clusters.get_mut(&replica.namespace) {
            replicas.remove(replica);
            if replicas.is_empty() {
                clusters.remove(&replica.namespace);
            }
        }
    }

    /// The replicas of a cluster.
    pub(super) fn of(&self, cluster: &str) -> Vec<ObjectKey> {
        let clusters = self.0.lock();
        let replicas = clusters.get(cluster).into_iter().flatten();
        replicas.cloned().collect()
    }

    /// Whether there are none at all.
    pub(super) fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }
}
