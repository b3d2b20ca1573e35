//! What the hub's watches tell: everything a decision needs, kept in stores and in the index.

use std::collections::HashSet;
use std::fmt::Debug;
use std::sync::Arc;

use kube::api::Api;
use kube::core::DeserializeGuard;
use kube::{Client, Resource};
use parking_lot::RwLock;
use reeve_api::names::{ROOT_POLICY_LABEL, RootPolicyName};
use reeve_api::ocm::{ManagedCluster, Placement, PlacementDecision};
use reeve_api::{PlacementBinding, Policy};
use reeve_runtime::object::ObjectKey;
use reeve_runtime::supervisor::Supervisor;
use reeve_runtime::watch::{Change, Known, Store, Watch};
use serde::de::DeserializeOwned;

use crate::Queues;
use crate::index::{
    BindingFacts, DecisionFacts, Dirty, Index, Pair, Placed, PlacementKind, PlacementName, Reach,
};
use crate::messages;
use crate::metrics::PropagatorMetrics;
use crate::replica::ReplicaFacts;

/// What the hub is known to hold.
pub struct Hub {
    index: RwLock<Index>,
    roots: Store<Policy>,
    replicas: Store<ReplicaFacts>,
    bindings: Store<Option<BindingFacts>>,
    decisions: Store<Option<DecisionFacts>>,
    placements: Store<()>,
    clusters: Store<()>,
    /// Bindings and decisions that exist and cannot be decoded: whom they place is not known.
    unreadable: RwLock<HashSet<(&'static str, ObjectKey)>>,
    queues: Queues,
    metrics: PropagatorMetrics,
}

/// The watches that fill a [`Hub`], until they are started.
pub struct Watches {
    roots: Watch<Policy>,
    replicas: Watch<Policy, ReplicaFacts>,
    bindings: Watch<PlacementBinding, Option<BindingFacts>>,
    decisions: Watch<PlacementDecision, Option<DecisionFacts>>,
    placements: Watch<Placement, ()>,
    clusters: Watch<ManagedCluster, ()>,
}

impl Watches {
    /// All watches of the propagator. Root policies and replicas are two, told apart by the API
    /// server: most of their fields are kept of the ones and hardly any of the others.
    pub fn new(client: &Client) -> Self {
        fn all<K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned>(
            client: &Client,
        ) -> Api<DeserializeGuard<K>> {
            Api::all(client.clone())
        }
        let binding = |binding: PlacementBinding| BindingFacts::of(&binding);
        let decision = |decision: PlacementDecision| DecisionFacts::of(&decision);
        Self {
            roots: Watch::new(all(client)).labels(&format!("!{ROOT_POLICY_LABEL}")),
            replicas: Watch::projected(all(client), ReplicaFacts::of).labels(ROOT_POLICY_LABEL),
            bindings: Watch::projected(all(client), binding),
            decisions: Watch::projected(all(client), decision),
            placements: Watch::projected(all(client), |_: Placement| ()),
            clusters: Watch::projected(all(client), |_: ManagedCluster| ()),
        }
    }

    /// Starts all watches. What they tell goes into the hub's index, and from there keys to its
    /// queues.
    pub fn start(self, hub: &Arc<Hub>, tasks: &mut Supervisor) {
        let stop = tasks.stop();
        let on = Arc::clone(hub);
        let work = self
            .roots
            .run(stop.clone(), move |change| on.root_changed(&change));
        tasks.spawn_infallible("the watch of root policies", work);
        let on = Arc::clone(hub);
        let work = self
            .replicas
            .run(stop.clone(), move |change| on.replica_changed(&change));
        tasks.spawn_infallible("the watch of replicated policies", work);
        let on = Arc::clone(hub);
        let work = self
            .bindings
            .run(stop.clone(), move |change| on.binding_changed(change));
        tasks.spawn_infallible("the watch of placement bindings", work);
        let on = Arc::clone(hub);
        let work = self
            .decisions
            .run(stop.clone(), move |change| on.decision_changed(change));
        tasks.spawn_infallible("the watch of placement decisions", work);
        let on = Arc::clone(hub);
        let work = self
            .placements
            .run(stop.clone(), move |change| on.placement_changed(change));
        tasks.spawn_infallible("the watch of placements", work);
        let on = Arc::clone(hub);
        let work = self
            .clusters
            .run(stop, move |change| on.cluster_changed(&change));
        tasks.spawn_infallible("the watch of managed clusters", work);
    }
}

impl Hub {
    /// Nothing known yet.
    pub fn new(watches: &Watches, queues: Queues, metrics: PropagatorMetrics) -> Self {
        Self {
            index: RwLock::new(Index::default()),
            roots: watches.roots.store(),
            replicas: watches.replicas.store(),
            bindings: watches.bindings.store(),
            decisions: watches.decisions.store(),
            placements: watches.placements.store(),
            clusters: watches.clusters.store(),
            unreadable: RwLock::default(),
            queues,
            metrics,
        }
    }

    /// Whether every first list has been seen.
    pub fn is_ready(&self) -> bool {
        self.roots.is_ready()
            && self.replicas.is_ready()
            && self.bindings.is_ready()
            && self.decisions.is_ready()
            && self.placements.is_ready()
            && self.clusters.is_ready()
    }

    /// Waits for every first list: before that, absence means nothing.
    pub async fn ready(&self) {
        self.roots.ready().await;
        self.replicas.ready().await;
        self.bindings.ready().await;
        self.decisions.ready().await;
        self.placements.ready().await;
        self.clusters.ready().await;
    }

    /// A root policy.
    pub fn root(&self, root: &RootPolicyName) -> Option<Known<Policy>> {
        self.roots
            .get(&ObjectKey::new(root.namespace.clone(), root.name.clone()))
    }

    /// A replica, by the cluster's namespace and its own name.
    pub fn replica(&self, key: &ObjectKey) -> Option<Known<ReplicaFacts>> {
        self.replicas.get(key)
    }

    /// Whether a policy should be on a cluster.
    pub fn placed(&self, pair: &Pair) -> Option<Placed> {
        self.index.read().placed(pair)
    }

    /// Whether everything that places the policies of a namespace could be read.
    pub fn knows_placement(&self, namespace: &str) -> bool {
        let unreadable = self.unreadable.read();
        unreadable.iter().all(|(_, key)| key.namespace != namespace)
    }

    /// What the status of a root policy says about placement.
    pub fn reach(&self, root: &RootPolicyName) -> Reach {
        self.index.read().reach(root)
    }

    /// Whether any cluster holds a replica of a root policy.
    pub fn has_replicas(&self, root: &RootPolicyName) -> bool {
        self.index.read().replica_clusters(root).next().is_some()
    }

    /// Whether a namespace belongs to a managed cluster.
    pub fn is_cluster_namespace(&self, namespace: &str) -> bool {
        self.index.read().is_cluster_namespace(namespace)
    }

    fn root_changed(&self, change: &Change<Policy>) {
        let root = RootPolicyName::new(change.key.namespace.clone(), change.key.name.clone());
        let (old, new) = change.valid();
        let wanted = |policy: &Policy| {
            let meta = &policy.metadata;
            (
                meta.generation,
                meta.labels.clone(),
                meta.annotations.clone(),
            )
        };
        // A change of the status alone, above all one that we wrote, concerns no replica.
        if old.map(|old| wanted(old)) != new.map(|new| wanted(new)) {
            for pair in self.index.read().pairs(&root) {
                self.queues.replicas.add(pair.key());
            }
        }
        self.metrics.root(&root, new.map(AsRef::as_ref));
        self.queues.roots.add(root);
    }

    fn replica_changed(&self, change: &Change<ReplicaFacts>) {
        let (old, new) = change.valid();
        let unreadable = change.new.is_some() && new.is_none();
        if old.map(|old| &old.digest) != new.map(|new| &new.digest) || unreadable {
            self.queues.replicas.add(change.key.clone());
        }
        let Some(root) = RootPolicyName::parse(&change.key.name) else {
            return;
        };
        let pair = Pair {
            root,
            cluster: change.key.namespace.clone(),
        };
        self.metrics.replica(&pair, new.map(AsRef::as_ref));
        // An unreadable replica is there all the same; its answer is not known.
        let says = change
            .new
            .as_ref()
            .map(|_| new.and_then(|new| new.compliance));
        let dirty = self.index.write().set_replica(&pair, says);
        self.enqueue(dirty);
    }

    fn binding_changed(&self, change: Change<Option<BindingFacts>>) {
        if self.is_unreadable("PlacementBinding", &change) {
            return;
        }
        let facts = match change.new {
            Some(Known::Invalid(_)) => return,
            Some(Known::Valid(facts)) => {
                match facts.as_ref() {
                    None => tracing::warn!("{}", messages::invalid_placement_ref(&change.key)),
                    Some(facts) => say_what_is_not_built(&change.key, facts),
                }
                facts.as_ref().clone()
            }
            None => None,
        };
        let dirty = self.index.write().set_binding(&change.key, facts);
        self.enqueue(dirty);
    }

    /// Keeps account of what cannot be decoded. It stays in the index as it was when it could; a
    /// process that was started later never had it there, so nothing that it might place is
    /// removed until it can be read.
    fn is_unreadable<V>(&self, kind: &'static str, change: &Change<V>) -> bool {
        let entry = (kind, change.key.clone());
        if matches!(change.new, Some(Known::Invalid(_))) {
            self.unreadable.write().insert(entry);
            return true;
        }
        if self.unreadable.write().remove(&entry) {
            let index = self.index.read();
            let roots = self.roots.keys().into_iter();
            for key in roots.filter(|key| key.namespace == change.key.namespace) {
                for pair in index.pairs(&RootPolicyName::new(key.namespace, key.name)) {
                    self.queues.replicas.add(pair.key());
                }
            }
        }
        false
    }

    fn decision_changed(&self, change: Change<Option<DecisionFacts>>) {
        if self.is_unreadable("PlacementDecision", &change) {
            return;
        }
        let facts = match change.new {
            Some(Known::Invalid(_)) => return,
            Some(Known::Valid(facts)) => facts.as_ref().clone(),
            None => None,
        };
        let dirty = self.index.write().set_decision(&change.key, facts);
        self.enqueue(dirty);
    }

    fn placement_changed(&self, change: Change<()>) {
        let exists = change.new.is_some();
        let placement = PlacementName {
            kind: PlacementKind::Placement,
            key: change.key,
        };
        let dirty = self.index.write().set_placement(&placement, exists);
        self.enqueue(dirty);
    }

    fn cluster_changed(&self, change: &Change<()>) {
        let name = &change.key.name;
        let dirty = self
            .index
            .write()
            .set_managed_cluster(name, change.new.is_some());
        self.enqueue(dirty);
        // A namespace that becomes a cluster's, or stops being one, changes what a policy in it is.
        let in_it = |key: &ObjectKey| key.namespace == *name;
        for key in self.roots.keys().into_iter().filter(in_it) {
            let root = RootPolicyName::new(key.namespace, key.name);
            self.queues.roots.add(root);
        }
    }

    fn enqueue(&self, dirty: Dirty) {
        for pair in dirty.pairs {
            self.queues.replicas.add(pair.key());
        }
        for root in dirty.roots {
            self.queues.roots.add(root);
        }
    }
}

fn say_what_is_not_built(binding: &ObjectKey, facts: &BindingFacts) {
    if facts.placement.kind == PlacementKind::PlacementRule {
        tracing::warn!("{}", messages::placement_rule_unsupported(binding));
    }
    if facts.policy_sets > 0 {
        tracing::warn!("{}", messages::policy_sets_unsupported(binding));
    }
}
