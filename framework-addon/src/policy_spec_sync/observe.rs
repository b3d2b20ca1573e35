//! Reads a policy from the caches of both clusters.

use reeve_runtime::watch::Cached;

use crate::cluster::Cluster;
use crate::replica::Replica;

/// One policy on both clusters.
#[derive(Clone, Debug)]
pub struct ObservedPolicy {
    /// On the hub.
    pub hub: Option<Cached<Replica>>,
    /// On the managed cluster.
    pub managed: Option<Cached<Replica>>,
}

/// Reads the policy from both caches, which have synced.
pub fn observe(hub: &Cluster, managed: &Cluster, name: &str) -> ObservedPolicy {
    ObservedPolicy {
        hub: hub.policy(name),
        managed: managed.policy(name),
    }
}
