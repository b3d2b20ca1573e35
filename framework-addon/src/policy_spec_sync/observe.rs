//! One policy on both clusters.

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

/// Looks the policy up in both clusters' watches, which have seen their first lists.
pub fn observe(hub: &Cluster, managed: &Cluster, name: &str) -> ObservedPolicy {
    ObservedPolicy {
        hub: hub.policy(name),
        managed: managed.policy(name),
    }
}
