//! The cache of the hub: the stores that watches fill, and the index over them. Decisions read nothing else.

mod by_cluster;
mod handlers;
mod selection;
mod watches;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock};
use reeve_api::names::RootPolicyName;
use reeve_api::{Policy, PolicyAutomation, PolicySet};
use reeve_runtime::object::ObjectKey;
use reeve_runtime::watch::{Cached, Store};

use self::by_cluster::ReplicasByCluster;
use crate::index::{BindingFacts, DecisionFacts, Index, Pair, Placed, PlacementSummary, SetMember};
use crate::keys::absence::KeyDeletions;
use crate::keys::{self, KeyDigest, KeyFacts};
use crate::metrics::PropagatorMetrics;
use crate::queues::Queues;
use crate::replica::{Digest, ReplicaFacts};
use crate::root::CachedRoot;
use crate::settings::Namespaces;

pub use watches::{Labels, Watches};

/// The cached objects of the hub.
pub struct HubCache {
    index: RwLock<Index>,
    roots: Store<CachedRoot>,
    replicas: Store<ReplicaFacts>,
    sets: Store<PolicySet>,
    rules: Option<Store<DecisionFacts>>,
    clusters: Store<Labels>,
    keys: Store<KeyFacts>,
    automations: Store<PolicyAutomation>,
    bindings: Store<Option<BindingFacts>>,
    decisions: Store<Option<DecisionFacts>>,
    placements: Store<()>,
    /// Bindings, sets and decisions that exist and cannot be decoded: what they place is not known.
    undecodable: RwLock<HashSet<(&'static str, ObjectKey)>>,
    /// The digest that each replica was last written with, or last found to have. The watch event of that version is the
    /// echo of our own write, and enqueues nothing.
    last_written: Mutex<HashMap<ObjectKey, Digest>>,
    /// Disabled root policies whose replicas are being deleted, until the event about it is emitted.
    withdrawn: Mutex<HashSet<RootPolicyName>>,
    /// The replicas that hold encrypted values, or did.
    encrypted: ReplicasByCluster,
    /// The key of each encrypted replica, as far as this process has written or checked the replica.
    encrypted_with: Mutex<HashMap<ObjectKey, KeyDigest>>,
    /// The keys that were deleted, which delays their re-creation.
    key_deletions: Mutex<KeyDeletions>,
    /// The replicas whose templates read the labels of a cluster.
    label_readers: ReplicasByCluster,
    namespaces: Namespaces,
    queues: Queues,
    metrics: PropagatorMetrics,
}

/// The kinds that place policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlacingKind {
    /// `PlacementBinding`.
    Binding,
    /// `PolicySet`.
    Set,
    /// `Placement`.
    Placement,
    /// `PlacementDecision`.
    Decision,
    /// `PlacementRule`.
    Rule,
}

impl HubCache {
    /// An empty cache over the stores of `watches`.
    pub fn new(
        watches: &Watches,
        queues: Queues,
        metrics: PropagatorMetrics,
        namespaces: Namespaces,
    ) -> Self {
        Self {
            index: RwLock::new(Index::default()),
            roots: watches.roots.store(),
            replicas: watches.replicas.store(),
            sets: watches.sets.store(),
            rules: watches
                .rules
                .as_ref()
                .map(reeve_runtime::watch::Watch::store),
            clusters: watches.clusters.store(),
            keys: watches.keys.store(),
            automations: watches.automations.store(),
            bindings: watches.bindings.store(),
            decisions: watches.decisions.store(),
            placements: watches.placements.store(),
            undecodable: RwLock::default(),
            last_written: Mutex::default(),
            withdrawn: Mutex::default(),
            encrypted: ReplicasByCluster::default(),
            encrypted_with: Mutex::default(),
            key_deletions: Mutex::default(),
            label_readers: ReplicasByCluster::default(),
            namespaces,
            queues,
            metrics,
        }
    }

    /// Whether every watch has delivered its first list.
    pub fn has_synced(&self) -> bool {
        self.roots.has_synced()
            && self.replicas.has_synced()
            && self.sets.has_synced()
            && self.rules.as_ref().is_none_or(Store::has_synced)
            && self.clusters.has_synced()
            && self.keys.has_synced()
            && self.automations.has_synced()
            && self.bindings.has_synced()
            && self.decisions.has_synced()
            && self.placements.has_synced()
    }

    /// Enqueues a replica, because an object that it depends on has changed.
    pub fn enqueue_replica(&self, replica: &ObjectKey) {
        let Namespaces::Some(_) = &self.namespaces else {
            self.queues.replicas.add(replica.clone());
            return;
        };
        let root = RootPolicyName::parse(&replica.name);
        if root.is_some_and(|root| self.namespaces.contains(&root.namespace)) {
            self.queues.replicas.add(replica.clone());
        }
    }

    /// Waits for every first list: before that, absence means nothing.
    pub async fn wait_for_cache_sync(&self) {
        self.roots.wait_for_cache_sync().await;
        self.replicas.wait_for_cache_sync().await;
        self.sets.wait_for_cache_sync().await;
        if let Some(rules) = &self.rules {
            rules.wait_for_cache_sync().await;
        }
        self.clusters.wait_for_cache_sync().await;
        self.keys.wait_for_cache_sync().await;
        self.automations.wait_for_cache_sync().await;
        self.bindings.wait_for_cache_sync().await;
        self.decisions.wait_for_cache_sync().await;
        self.placements.wait_for_cache_sync().await;
    }

    /// A root policy, with the cached part of its status.
    pub fn root(&self, root: &RootPolicyName) -> Option<Cached<Policy>> {
        Some(match self.cached_root_entry(root)? {
            Cached::Valid(kept) => Cached::Valid(Arc::clone(&kept.policy)),
            Cached::Invalid(error) => Cached::Invalid(error),
        })
    }

    /// A root policy and the digest of its status.
    pub fn cached_root_entry(&self, root: &RootPolicyName) -> Option<Cached<CachedRoot>> {
        self.roots
            .get(&ObjectKey::new(root.namespace.clone(), root.name.clone()))
    }

    /// Whether `PlacementRule`s are used.
    pub fn uses_placement_rules(&self) -> bool {
        self.rules.is_some()
    }

    /// Whether the watches have delivered this version, or a later one, of an object that places policies.
    pub fn has_placement_version(&self, kind: PlacingKind, key: &ObjectKey, version: &str) -> bool {
        match kind {
            PlacingKind::Binding => self.bindings.has_version(key, version),
            PlacingKind::Set => self.sets.has_version(key, version),
            PlacingKind::Placement => self.placements.has_version(key, version),
            PlacingKind::Decision => self.decisions.has_version(key, version),
            PlacingKind::Rule => {
                let rules = self.rules.as_ref();
                rules.is_some_and(|rules| rules.has_version(key, version))
            }
        }
    }

    /// A policy set as the watch has delivered it.
    pub fn policy_set(&self, key: &ObjectKey) -> Option<Cached<PolicySet>> {
        self.sets.get(key)
    }

    /// An automation as the watch has delivered it.
    pub fn automation(&self, key: &ObjectKey) -> Option<Cached<PolicyAutomation>> {
        self.automations.get(key)
    }

    /// A replica, by the cluster's namespace and its own name.
    pub fn replica(&self, key: &ObjectKey) -> Option<Cached<ReplicaFacts>> {
        self.replicas.get(key)
    }

    /// The resource version of a replica, as the watch has delivered it.
    pub fn replica_version(&self, key: &ObjectKey) -> Option<String> {
        self.replicas.resource_version(key)
    }

    /// The placement of a policy on a cluster; `None` if it is not placed there.
    pub fn placed(&self, pair: &Pair) -> Option<Placed> {
        self.index.read().placed(pair)
    }

    /// Whether every object that places the policies of a namespace could be decoded.
    pub fn placement_is_decodable(&self, namespace: &str) -> bool {
        let undecodable = self.undecodable.read();
        undecodable
            .iter()
            .all(|(_, key)| key.namespace != namespace)
    }

    /// The placement of a root policy and the compliance of its clusters, for its status.
    pub fn placement_summary(&self, root: &RootPolicyName) -> PlacementSummary {
        self.index.read().summary(root)
    }

    /// How often the compliance of a replica of a root policy has changed.
    pub fn compliance_changes(&self, root: &RootPolicyName) -> u64 {
        self.index.read().compliance_changes(root)
    }

    /// The state of each policy of a set, in the order in which the set lists them.
    pub fn set_members(&self, set: &ObjectKey, policies: &[String]) -> Vec<(String, SetMember)> {
        // The lock is taken for each policy separately, because aggregating ten thousand clusters takes long and watch events
        // must not wait for all policies. A change in between enqueues the set again.
        let member = |policy: &String| (policy.clone(), self.index.read().member(set, policy));
        policies.iter().map(member).collect()
    }

    /// The policies that a set lists; `None` if there is no such set.
    pub fn set_policies(&self, set: &ObjectKey) -> Option<Vec<String>> {
        self.index.read().members(set).map(<[String]>::to_vec)
    }

    /// Records that a replica was deleted, if its root policy is disabled: the root policy then gets an event.
    fn record_withdrawal(&self, replica: &ObjectKey) {
        let Some(root) = RootPolicyName::parse(&replica.name) else {
            return;
        };
        let policy = self.root(&root);
        let disabled = policy.as_ref().and_then(Cached::valid);
        if disabled.is_some_and(|policy| policy.spec.disabled) {
            self.withdrawn.lock().insert(root);
        }
    }

    /// Returns whether replicas of a root policy were deleted because it is disabled, and clears the record.
    pub fn take_withdrawn(&self, root: &RootPolicyName) -> bool {
        self.withdrawn.lock().remove(root)
    }

    /// Whether any cluster holds a replica of a root policy.
    pub fn has_replicas(&self, root: &RootPolicyName) -> bool {
        self.index.read().replica_clusters(root).next().is_some()
    }

    /// Whether a namespace belongs to a managed cluster.
    pub fn is_cluster_namespace(&self, namespace: &str) -> bool {
        self.index.read().is_cluster_namespace(namespace)
    }

    /// How many managed clusters there are.
    pub fn cluster_count(&self) -> usize {
        self.index.read().managed_clusters()
    }

    /// The labels of a managed cluster; `None` if there is no such cluster.
    pub fn cluster_labels(&self, cluster: &str) -> Option<BTreeMap<String, String>> {
        let labels = self.clusters.get_valid(&ObjectKey::new("", cluster))?;
        Some(serde_json::from_str(&labels).unwrap_or_default())
    }

    /// Records whether the templates of a replica read the labels of its cluster.
    pub fn record_label_reader(&self, replica: &ObjectKey, reads: bool) {
        self.label_readers.set(replica, reads);
    }

    /// The clusters whose labels any template reads.
    pub fn clusters_with_read_labels(&self) -> Vec<String> {
        self.label_readers.clusters()
    }

    /// The encryption keys of a cluster.
    pub fn keys(&self, cluster: &str) -> Option<Arc<KeyFacts>> {
        self.keys.get_valid(&ObjectKey::new(cluster, keys::SECRET))
    }

    /// How long to wait until a key may be created for a cluster that has none.
    pub fn key_creation_delay(&self, cluster: &str) -> Option<Duration> {
        self.key_deletions
            .lock()
            .creation_delay(cluster, Instant::now())
    }

    /// The replicas in a cluster's namespace that hold encrypted values.
    pub fn encrypted_replicas(&self, cluster: &str) -> Vec<ObjectKey> {
        self.encrypted.in_cluster(cluster)
    }

    /// Records the only key that the values of a replica are encrypted with; `None` for a replica that is deleted or not known.
    pub fn record_encryption_key(&self, replica: &ObjectKey, key: Option<KeyDigest>) {
        let mut encrypted_with = self.encrypted_with.lock();
        match key {
            Some(key) => drop(encrypted_with.insert(replica.clone(), key)),
            None => drop(encrypted_with.remove(replica)),
        }
    }

    /// The replicas in a cluster's namespace that may hold values encrypted with another key.
    pub fn replicas_with_another_key(&self, cluster: &str, key: KeyDigest) -> Vec<ObjectKey> {
        let mut encrypted = self.encrypted_replicas(cluster);
        let encrypted_with = self.encrypted_with.lock();
        encrypted.retain(|replica| encrypted_with.get(replica) != Some(&key));
        encrypted
    }

    /// Records the digest that a replica is written with, so that the echo of the write does not enqueue it.
    pub fn record_written(&self, key: &ObjectKey, digest: Digest) {
        self.last_written.lock().insert(key.clone(), digest);
    }

    /// Drops the recorded digest of a replica, so that the next watch event is compared with the cached object.
    pub fn clear_written(&self, key: &ObjectKey) {
        self.last_written.lock().remove(key);
    }
}
