//! Replicas with something in common, found by their cluster: there may be ten thousand clusters, and what concerns one
//! must not look at the replicas of all.

use std::collections::{HashMap, HashSet};

use parking_lot::Mutex;
use reeve_runtime::object::ObjectKey;

/// Some of the replicas.
#[derive(Default)]
pub struct ByCluster(Mutex<HashMap<String, HashSet<ObjectKey>>>);

impl ByCluster {
    /// Whether a replica is one of them from now on.
    pub fn note(&self, replica: &ObjectKey, is_one: bool) {
        let mut replicas = self.0.lock();
        if is_one {
            let of_cluster = replicas.entry(replica.namespace.clone()).or_default();
            of_cluster.insert(replica.clone());
        } else if let Some(of_cluster) = replicas.get_mut(&replica.namespace) {
            of_cluster.remove(replica);
            if of_cluster.is_empty() {
                replicas.remove(&replica.namespace);
            }
        }
    }

    /// Those in a cluster's namespace.
    pub fn of(&self, cluster: &str) -> Vec<ObjectKey> {
        let replicas = self.0.lock();
        replicas
            .get(cluster)
            .into_iter()
            .flatten()
            .cloned()
            .collect()
    }

    /// The clusters that have any.
    pub fn clusters(&self) -> Vec<String> {
        self.0.lock().keys().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replicas_are_found_by_their_cluster_and_nothing_stays_of_those_that_go() {
        let replicas = ByCluster::default();
        let key = |cluster: &str, name: &str| ObjectKey::new(cluster, name);
        for replica in [key("a", "n.p"), key("a", "n.q"), key("b", "n.p")] {
            replicas.note(&replica, true);
            replicas.note(&replica, true);
        }
        replicas.note(&key("a", "n.q"), false);
        assert_eq!(replicas.of("a"), [key("a", "n.p")]);
        assert_eq!(replicas.of("b"), [key("b", "n.p")]);
        assert_eq!(replicas.of("c"), []);
        replicas.note(&key("a", "n.p"), false);
        assert_eq!(replicas.clusters(), ["b"]);
        replicas.note(&key("b", "n.p"), false);
        replicas.note(&key("c", "n.p"), false);
        assert!(replicas.clusters().is_empty());
    }
}
