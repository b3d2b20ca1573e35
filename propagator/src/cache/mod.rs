//! What the hub's watches tell: everything a decision needs, kept in stores and in the index.

mod by_cluster;
mod handlers;
mod watches;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock};
use reeve_api::names::RootPolicyName;
use reeve_api::{Policy, PolicyAutomation, PolicySet};
use reeve_runtime::object::ObjectKey;
use reeve_runtime::watch::{Cached, Store};

use self::by_cluster::ByCluster;
use crate::index::{BindingFacts, DecisionFacts, Index, Member, Pair, Placed, Reach};
use crate::keys::absence::Absences;
use crate::keys::{self, KeyDigest, KeyFacts};
use crate::metrics::PropagatorMetrics;
use crate::queues::Queues;
use crate::replica::{Digest, ReplicaFacts};
use crate::root::KeptRoot;
use crate::settings::Namespaces;

pub use watches::{Labels, Watches};

/// What the hub is known to hold.
pub struct HubCache {
    index: RwLock<Index>,
    roots: Store<KeptRoot>,
    replicas: Store<ReplicaFacts>,
    sets: Store<PolicySet>,
    rules: Option<Store<DecisionFacts>>,
    clusters: Store<Labels>,
    keys: Store<KeyFacts>,
    automations: Store<PolicyAutomation>,
    bindings: Store<Option<BindingFacts>>,
    decisions: Store<Option<DecisionFacts>>,
    placements: Store<()>,
    /// Bindings, sets and decisions that exist and cannot be decoded: whom they place is not known.
    unreadable: RwLock<HashSet<(&'static str, ObjectKey)>>,
    /// What each replica was last written as or found to be as it should: its own echo on the watch
    /// is no news.
    written: Mutex<HashMap<ObjectKey, Digest>>,
    /// Disabled roots whose replicas are being removed, until somebody has told of it.
    withdrawn: Mutex<HashSet<RootPolicyName>>,
    /// The replicas that hold encrypted values, or did.
    encrypted: ByCluster,
    /// With which key the values in an encrypted replica were encrypted, as far as this process has seen to it.
    encrypted_with: Mutex<HashMap<ObjectKey, KeyDigest>>,
    /// Keys that somebody deleted.
    absent_keys: Mutex<Absences>,
    /// The replicas whose templates read the labels of a cluster.
    label_readers: ByCluster,
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
    /// Nothing known yet.
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
            unreadable: RwLock::default(),
            written: Mutex::default(),
            withdrawn: Mutex::default(),
            encrypted: ByCluster::default(),
            encrypted_with: Mutex::default(),
            absent_keys: Mutex::default(),
            label_readers: ByCluster::default(),
            namespaces,
            queues,
            metrics,
        }
    }

    /// Whether every first list has been seen.
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

    /// Something that a replica was made of changed.
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

    /// A root policy. Of its status there is what is kept of it.
    pub fn root(&self, root: &RootPolicyName) -> Option<Cached<Policy>> {
        Some(match self.kept_root(root)? {
            Cached::Valid(kept) => Cached::Valid(Arc::clone(&kept.policy)),
            Cached::Invalid(error) => Cached::Invalid(error),
        })
    }

    /// What is kept of a root policy.
    pub fn kept_root(&self, root: &RootPolicyName) -> Option<Cached<KeptRoot>> {
        self.roots
            .get(&ObjectKey::new(root.namespace.clone(), root.name.clone()))
    }

    /// Whether `PlacementRule`s are used.
    pub fn uses_rules(&self) -> bool {
        self.rules.is_some()
    }

    /// Whether the watches have delivered this version, or a later one, of an object that places policies.
    pub fn has_placing_version(&self, kind: PlacingKind, key: &ObjectKey, version: &str) -> bool {
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

    /// A policy set.
    pub fn set(&self, key: &ObjectKey) -> Option<Cached<PolicySet>> {
        self.sets.get(key)
    }

    /// An automation.
    pub fn automation(&self, key: &ObjectKey) -> Option<Cached<PolicyAutomation>> {
        self.automations.get(key)
    }

    /// A replica, by the cluster's namespace and its own name.
    pub fn replica(&self, key: &ObjectKey) -> Option<Cached<ReplicaFacts>> {
        self.replicas.get(key)
    }

    /// Whether a policy should be on a cluster.
    pub fn placed(&self, pair: &Pair) -> Option<Placed> {
        self.index.read().placed(pair)
    }

    /// Whether everything that places the policies of a namespace could be read.
    pub fn placement_is_readable(&self, namespace: &str) -> bool {
        let unreadable = self.unreadable.read();
        unreadable.iter().all(|(_, key)| key.namespace != namespace)
    }

    /// What the status of a root policy says about placement.
    pub fn reach(&self, root: &RootPolicyName) -> Reach {
        self.index.read().reach(root)
    }

    /// What is known of the policies of a set, in the order in which the set lists them.
    pub fn members(&self, set: &ObjectKey, policies: &[String]) -> Vec<(String, Member)> {
        // Each for itself: to add up ten thousand clusters takes its time, and what comes in meanwhile must not wait
        // for all of them. What changes in between is told again.
        let member = |policy: &String| (policy.clone(), self.index.read().member(set, policy));
        policies.iter().map(member).collect()
    }

    /// The policies that a set lists; `None` if there is no such set.
    pub fn listed(&self, set: &ObjectKey) -> Option<Vec<String>> {
        self.index.read().members(set).map(<[String]>::to_vec)
    }

    /// A replica is about to be removed. If that is because its root is disabled, the root is told to be.
    pub fn record_withdrawal(&self, replica: &ObjectKey) {
        let Some(root) = RootPolicyName::parse(&replica.name) else {
            return;
        };
        let policy = self.root(&root);
        let disabled = policy.as_ref().and_then(Cached::valid);
        if disabled.is_some_and(|policy| policy.spec.disabled) {
            self.withdrawn.lock().insert(root);
        }
    }

    /// Whether replicas of a root were removed because it is disabled; no more, once it was asked.
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

    /// Remembers whether the templates of a replica read the labels of its cluster.
    pub fn record_label_reader(&self, replica: &ObjectKey, reads: bool) {
        self.label_readers.note(replica, reads);
    }

    /// The clusters whose labels any template reads.
    pub fn clusters_with_read_labels(&self) -> Vec<String> {
        self.label_readers.clusters()
    }

    /// The encryption keys of a cluster.
    pub fn keys(&self, cluster: &str) -> Option<Arc<KeyFacts>> {
        self.keys.get_valid(&ObjectKey::new(cluster, keys::SECRET))
    }

    /// How long to wait until a key may be made for a cluster that has none.
    pub fn key_creation_delay(&self, cluster: &str) -> Option<Duration> {
        self.absent_keys.lock().wait(cluster, Instant::now())
    }

    /// The replicas in a cluster's namespace that are encrypted.
    pub fn encrypted_in(&self, cluster: &str) -> Vec<ObjectKey> {
        self.encrypted.of(cluster)
    }

    /// A replica has nothing in it that is encrypted with another key than this.
    pub fn record_key(&self, replica: &ObjectKey, key: Option<KeyDigest>) {
        let mut encrypted_with = self.encrypted_with.lock();
        match key {
            Some(key) => drop(encrypted_with.insert(replica.clone(), key)),
            None => drop(encrypted_with.remove(replica)),
        }
    }

    /// The replicas in a cluster's namespace that may hold something that is encrypted with another key.
    pub fn encrypted_with_another_key(&self, cluster: &str, key: KeyDigest) -> Vec<ObjectKey> {
        let mut encrypted = self.encrypted_in(cluster);
        let encrypted_with = self.encrypted_with.lock();
        encrypted.retain(|replica| encrypted_with.get(replica) != Some(&key));
        encrypted
    }

    /// A replica is, or is about to be, as it should: hearing of it again is no news.
    pub fn record_written(&self, key: &ObjectKey, digest: Digest) {
        self.written.lock().insert(key.clone(), digest);
    }

    /// What a replica is cannot be told from what was written.
    pub fn forget_written(&self, key: &ObjectKey) {
        self.written.lock().remove(key);
    }
}
