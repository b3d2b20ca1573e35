//! A set of replicas, indexed by cluster: with ten thousand clusters, a change of one must not iterate over the replicas of all.

use std::collections::{HashMap, HashSet};

use parking_lot::Mutex;
use reeve_runtime::object::ObjectKey;

/// A set of replicas by cluster.
#[derive(Default)]
pub struct ReplicasByCluster(Mutex<HashMap<String, HashSet<ObjectKey>>>);

impl ReplicasByCluster {
    /// Adds a replica to the set, or removes it.
    pub fn set(&self, replica: &ObjectKey, is_member: bool) {
        let mut replicas = self.0.lock();
        if is_member {
            let in_namespace = replicas.entry(replica.namespace.clone()).or_default();
            in_namespace.insert(replica.clone());
        } else if let Some(in_namespace) = replicas.get_mut(&replica.namespace) {
            in_namespace.remove(replica);
            if in_namespace.is_empty() {
                replicas.remove(&replica.namespace);
            }
        }
    }

    /// The members in a cluster's namespace.
    pub fn in_cluster(&self, cluster: &str) -> Vec<ObjectKey> {
        let replicas = self.0.lock();
        replicas
            .get(cluster)
            .into_iter()
            .flatten()
            .cloned()
            .collect()
    }

    /// The clusters that have members.
    pub fn clusters(&self) -> Vec<String> {
        self.0.lock().keys().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replicas_are_indexed_by_cluster_and_removed_without_leftovers() {
        let replicas = ReplicasByCluster::default();
        let key = |cluster: &str, name: &str| ObjectKey::new(cluster, name);
        for replica in [key("a", "n.p"), key("a", "n.q"), key("b", "n.p")] {
            replicas.set(&replica, true);
            replicas.set(&replica, true);
        }
        replicas.set(&key("a", "n.q"), false);
        assert_eq!(replicas.in_cluster("a"), [key("a", "n.p")]);
        assert_eq!(replicas.in_cluster("b"), [key("b", "n.p")]);
        assert_eq!(replicas.in_cluster("c"), []);
        replicas.set(&key("a", "n.p"), false);
        assert_eq!(replicas.clusters(), ["b"]);
        replicas.set(&key("b", "n.p"), false);
        replicas.set(&key("c", "n.p"), false);
        assert!(replicas.clusters().is_empty());
    }
}
