//! The watches that fill the cache.

use std::fmt::Debug;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Secret;
use kube::api::Api;
use kube::{Client, Resource, ResourceExt};
use reeve_api::names::ROOT_POLICY_LABEL;
use reeve_api::ocm::{ManagedCluster, Placement, PlacementDecision, PlacementRule};
use reeve_api::{PlacementBinding, Policy, PolicyAutomation, PolicySet};
use reeve_runtime::guarded::Guarded;
use reeve_runtime::supervisor::Supervisor;
use reeve_runtime::watch::{Change, Watch};
use serde::de::DeserializeOwned;

use super::HubCache;
use crate::index::{BindingFacts, DecisionFacts};
use crate::keys::{self, KeyFacts};
use crate::replica::ReplicaFacts;
use crate::root::CachedRoot;

/// Replicas in one page of a list: a replica takes far more memory while it is decoded than in the store.
const REPLICA_PAGE_SIZE: u32 = 100;

/// The labels of a managed cluster as JSON: with ten thousand of them maps would be a good part of
/// the process's memory.
pub type Labels = Box<str>;

/// The watches that fill a [`HubCache`], before they are started.
pub struct Watches {
    pub(super) roots: Watch<Policy, CachedRoot>,
    pub(super) replicas: Watch<Policy, ReplicaFacts>,
    pub(super) sets: Watch<PolicySet>,
    pub(super) bindings: Watch<PlacementBinding, Option<BindingFacts>>,
    pub(super) decisions: Watch<PlacementDecision, Option<DecisionFacts>>,
    pub(super) placements: Watch<Placement, ()>,
    /// `None` where the hub does not serve them or they are switched off.
    pub(super) rules: Option<Watch<PlacementRule, DecisionFacts>>,
    pub(super) clusters: Watch<ManagedCluster, Labels>,
    pub(super) keys: Watch<Secret, KeyFacts>,
    pub(super) automations: Watch<PolicyAutomation>,
}

impl Watches {
    /// All watches of the propagator. Root policies and replicas have separate watches with label selectors, because the
    /// store keeps most fields of a root policy and few of a replica. `rules` is whether the hub serves `PlacementRule`s.
    pub fn new(client: &Client, rules: bool) -> Self {
        fn all<K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned>(
            client: &Client,
        ) -> Api<Guarded<K>> {
            Api::all(client.clone())
        }
        let binding = |binding: PlacementBinding| BindingFacts::of(&binding);
        let decision = |decision: PlacementDecision| DecisionFacts::of(&decision);
        let labels = |cluster: ManagedCluster| {
            let labels = serde_json::to_string(cluster.labels()).unwrap_or_default();
            Labels::from(labels)
        };
        let rule = |rule: PlacementRule| DecisionFacts::of_rule(&rule);
        let named = format!("metadata.name={}", keys::SECRET);
        Self {
            roots: Watch::projected(all(client), CachedRoot::of)
                .labels(&format!("!{ROOT_POLICY_LABEL}")),
            replicas: Watch::projected(all(client), ReplicaFacts::of)
                .labels(ROOT_POLICY_LABEL)
                .pages(REPLICA_PAGE_SIZE),
            sets: Watch::new(all(client)),
            bindings: Watch::projected(all(client), binding),
            decisions: Watch::projected(all(client), decision),
            placements: Watch::projected(all(client), |_: Placement| ()),
            rules: rules.then(|| Watch::projected(all(client), rule)),
            clusters: Watch::projected(all(client), labels),
            keys: Watch::projected(all(client), KeyFacts::of).fields(&named),
            automations: Watch::new(all(client)),
        }
    }

    /// Starts all watches. Their events update the index of the cache, which enqueues keys.
    pub fn start(self, hub: &Arc<HubCache>, tasks: &mut Supervisor) {
        let mut run = WatchStarter { hub, tasks };
        run.watch(
            "the watch of root policies",
            self.roots,
            HubCache::root_changed,
        );
        run.watch(
            "the watch of replicated policies",
            self.replicas,
            HubCache::replica_changed,
        );
        run.watch("the watch of policy sets", self.sets, HubCache::set_changed);
        run.watch(
            "the watch of placement bindings",
            self.bindings,
            HubCache::binding_changed,
        );
        run.watch(
            "the watch of placement decisions",
            self.decisions,
            HubCache::decision_changed,
        );
        run.watch(
            "the watch of placements",
            self.placements,
            HubCache::placement_changed,
        );
        if let Some(rules) = self.rules {
            run.watch(
                "the watch of placement rules",
                rules,
                HubCache::rule_changed,
            );
        }
        run.watch(
            "the watch of managed clusters",
            self.clusters,
            HubCache::cluster_changed,
        );
        run.watch(
            "the watch of encryption keys",
            self.keys,
            HubCache::key_changed,
        );
        run.watch(
            "the watch of automations",
            self.automations,
            HubCache::automation_changed,
        );
    }
}

/// Starts watches with the handlers of a cache.
struct WatchStarter<'a> {
    hub: &'a Arc<HubCache>,
    tasks: &'a mut Supervisor,
}

impl WatchStarter<'_> {
    fn watch<K, V>(
        &mut self,
        name: &'static str,
        watch: Watch<K, V>,
        handler: impl Fn(&HubCache, &Change<V>) + Send + 'static,
    ) where
        K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
        V: Send + Sync + 'static,
    {
        let hub = Arc::clone(self.hub);
        let work = watch.run(self.tasks.stop(), move |change| handler(&hub, &change));
        self.tasks.spawn_infallible(name, work);
    }
}
