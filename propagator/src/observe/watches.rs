//! The watches that tell what the hub holds.

use std::fmt::Debug;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Secret;
use kube::api::Api;
use kube::core::DeserializeGuard;
use kube::{Client, Resource, ResourceExt};
use reeve_api::names::ROOT_POLICY_LABEL;
use reeve_api::ocm::{ManagedCluster, Placement, PlacementDecision, PlacementRule};
use reeve_api::{PlacementBinding, Policy, PolicySet};
use reeve_runtime::supervisor::Supervisor;
use reeve_runtime::watch::Watch;
use serde::de::DeserializeOwned;

use super::Hub;
use crate::index::{BindingFacts, DecisionFacts};
use crate::keys::{self, KeyFacts};
use crate::replica::ReplicaFacts;

/// The labels of a managed cluster as JSON: with ten thousand of them maps would be a good part of
/// the process's memory.
pub type Labels = Box<str>;

/// The watches that fill a [`Hub`], until they are started.
pub struct Watches {
    pub(super) roots: Watch<Policy>,
    pub(super) replicas: Watch<Policy, ReplicaFacts>,
    pub(super) sets: Watch<PolicySet>,
    pub(super) bindings: Watch<PlacementBinding, Option<BindingFacts>>,
    pub(super) decisions: Watch<PlacementDecision, Option<DecisionFacts>>,
    pub(super) placements: Watch<Placement, ()>,
    /// `None` where the hub does not serve them or they are switched off.
    pub(super) rules: Option<Watch<PlacementRule, DecisionFacts>>,
    pub(super) clusters: Watch<ManagedCluster, Labels>,
    pub(super) keys: Watch<Secret, KeyFacts>,
}

/// Whether there are `PlacementRule`s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rules {
    /// They are watched.
    Watched,
    /// A binding to one chooses nothing.
    Ignored,
}

impl Watches {
    /// All watches of the propagator. Root policies and replicas are two, told apart by the API
    /// server: most of their fields are kept of the ones and hardly any of the others.
    pub fn new(client: &Client, rules: Rules) -> Self {
        fn all<K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned>(
            client: &Client,
        ) -> Api<DeserializeGuard<K>> {
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
            roots: Watch::new(all(client)).labels(&format!("!{ROOT_POLICY_LABEL}")),
            replicas: Watch::projected(all(client), ReplicaFacts::of).labels(ROOT_POLICY_LABEL),
            sets: Watch::new(all(client)),
            bindings: Watch::projected(all(client), binding),
            decisions: Watch::projected(all(client), decision),
            placements: Watch::projected(all(client), |_: Placement| ()),
            rules: (rules == Rules::Watched).then(|| Watch::projected(all(client), rule)),
            clusters: Watch::projected(all(client), labels),
            keys: Watch::projected(all(client), KeyFacts::of).fields(&named),
        }
    }

    /// Starts all watches. What they tell goes into the hub's index, and from there keys to its
    /// queues.
    pub fn start(self, hub: &Arc<Hub>, tasks: &mut Supervisor) {
        run(
            tasks,
            hub,
            ("the watch of root policies", self.roots),
            |hub, change| hub.root_changed(&change),
        );
        run(
            tasks,
            hub,
            ("the watch of replicated policies", self.replicas),
            |hub, change| hub.replica_changed(&change),
        );
        run(
            tasks,
            hub,
            ("the watch of policy sets", self.sets),
            |hub, change| hub.set_changed(&change),
        );
        run(
            tasks,
            hub,
            ("the watch of placement bindings", self.bindings),
            |hub, change| hub.binding_changed(change),
        );
        run(
            tasks,
            hub,
            ("the watch of placement decisions", self.decisions),
            |hub, change| hub.decision_changed(change),
        );
        run(
            tasks,
            hub,
            ("the watch of placements", self.placements),
            |hub, change| hub.placement_changed(change),
        );
        if let Some(rules) = self.rules {
            run(
                tasks,
                hub,
                ("the watch of placement rules", rules),
                |hub, change| hub.rule_changed(change),
            );
        }
        run(
            tasks,
            hub,
            ("the watch of managed clusters", self.clusters),
            |hub, change| hub.cluster_changed(&change),
        );
        run(
            tasks,
            hub,
            ("the watch of encryption keys", self.keys),
            |hub, change| hub.key_changed(&change),
        );
    }
}

fn run<K, V>(
    tasks: &mut Supervisor,
    hub: &Arc<Hub>,
    (name, watch): (&'static str, Watch<K, V>),
    tell: impl Fn(&Hub, reeve_runtime::watch::Change<V>) + Send + 'static,
) where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
    V: Send + Sync + 'static,
{
    let hub = Arc::clone(hub);
    let work = watch.run(tasks.stop(), move |change| tell(&hub, change));
    tasks.spawn_infallible(name, work);
}
