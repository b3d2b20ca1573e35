//! The caches of both clusters, their watches, and the keys that a change enqueues.

use k8s_openapi::api::core::v1::Event;
use kube::api::Api;
use reeve_api::names::{ENCRYPTION_SECRET, split_api_version};
use reeve_runtime::definitions::{self, Crd, Definition};
use reeve_runtime::dependencies::{DependencyWatches, ObjectForm};
use reeve_runtime::discovery::Discovery;
use reeve_runtime::supervisor::Supervisor;
use reeve_runtime::watch::{Cached, Change, Store, Watch};

use crate::cluster::{Cluster, Connection, RequiredClusters};
use crate::compliance_events::{ComplianceEvents, FIELD_SELECTOR, PolicyEvent};
use crate::gatekeeper::{self, Integration};
use crate::kinds::Kinds;
use crate::pending_policies::PendingPolicies;
use crate::queues::Queues;
use crate::replica::Replica;
use crate::uninstalling::Uninstalling;

/// The controller and policy that an object of the managed cluster is read for. All readers of an object share one watch.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reader {
    /// Status sync, for this policy.
    Status(String),
    /// Template sync, for this policy.
    Templates(String),
    /// The relay of Gatekeeper's audit, for this policy.
    Constraints(String),
}

/// Everything the controllers read.
#[derive(Clone)]
pub struct Caches {
    /// The managed cluster.
    pub managed: Cluster,
    /// The hub; absent when the managed cluster is the hub itself.
    pub hub: Option<Cluster>,
    /// The compliance events of evaluators.
    pub reports: ComplianceEvents,
    /// The managed cluster's kinds.
    pub kinds: Kinds,
    /// Reads of single objects on the managed cluster.
    pub objects: DependencyWatches<Reader>,
    /// The policies whose pending templates have a reason that other policies are part of.
    pub pending: PendingPolicies,
    /// Whether the add-on is being removed.
    pub uninstalling: Uninstalling,
    events: Store<Option<PolicyEvent>>,
    crds: Store<Definition>,
}

/// The watches that fill a [`Caches`], until they are started.
pub struct Watches {
    managed: Watch<Replica>,
    hub: Option<Watch<Replica>>,
    events: Watch<Event, Option<PolicyEvent>>,
    crds: Watch<Crd, Definition>,
}

impl Caches {
    /// Empty caches, and the watches to start.
    pub fn new(
        managed: Connection,
        hub: Option<Connection>,
        integration: Integration,
        queues: &Queues,
    ) -> (Self, Watches) {
        let client = &managed.client;
        let reports = Api::namespaced(client.clone(), &managed.namespace);
        let events = Watch::projected(reports, PolicyEvent::of).fields(FIELD_SELECTOR);
        // All CRDs, because a policy can depend on any kind.
        let crds = definitions::watch(client);
        let kinds = Kinds::new(Discovery::new(client.clone()), crds.store(), integration);
        let enqueues = queues.clone();
        let objects = DependencyWatches::new(client.clone(), move |reader| match reader {
            Reader::Status(policy) => enqueues.statuses.add(policy.clone()),
            Reader::Templates(policy) => enqueues.templates.add(policy.clone()),
            Reader::Constraints(policy) => enqueues.constraints_changed(policy),
        });
        let objects = objects
            .without_refusal_wakeups()
            .with_form(ObjectForm::Text);
        let (managed, managed_watch) = Cluster::new(managed);
        let (hub, hub_watch) = hub.map(Cluster::new).unzip();
        let caches = Self {
            managed,
            hub,
            reports: ComplianceEvents::default(),
            kinds,
            objects,
            pending: PendingPolicies::default(),
            uninstalling: Uninstalling::default(),
            events: events.store(),
            crds: crds.store(),
        };
        let watches = Watches {
            managed: managed_watch,
            hub: hub_watch,
            events,
            crds,
        };
        (caches, watches)
    }

    /// Waits until the watches of these clusters have delivered their first lists: before that, absence means nothing.
    pub async fn wait_for_cache_sync(&self, required: RequiredClusters) {
        self.managed.wait_for_cache_sync().await;
        self.events.wait_for_cache_sync().await;
        self.crds.wait_for_cache_sync().await;
        if let (RequiredClusters::Both, Some(hub)) = (required, &self.hub) {
            hub.wait_for_cache_sync().await;
        }
    }

    /// Whether the watches of these clusters have delivered their first lists. A watch that breaks later is restarted, and the
    /// cache keeps its objects.
    pub fn has_synced(&self, required: RequiredClusters) -> bool {
        let hub = self
            .hub
            .as_ref()
            .filter(|_| required == RequiredClusters::Both);
        self.managed.has_synced()
            && self.events.has_synced()
            && self.crds.has_synced()
            && hub.is_none_or(Cluster::has_synced)
    }

    fn crd_changed(&self, change: &Change<Definition>, queues: &Queues) {
        let (old, new) = change.valid();
        let Some(crd) = new.or(old) else { return };
        self.kinds.forget_group(&crd.group);
        for policy in self
            .managed
            .policies_where(|policy| uses_group(policy, &crd.group))
        {
            queues.statuses.add(policy.clone());
            if crd.group == gatekeeper::CONSTRAINTS {
                queues.constraints_changed(&policy);
            }
            queues.templates.add(policy);
        }
    }

    /// Enqueues all policies for all controllers.
    pub fn enqueue_all(&self, queues: &Queues) {
        let all_policies = |_: &Replica| true;
        let mut policies = self.managed.policies_where(all_policies);
        for policy in &policies {
            queues.templates.add(policy.clone());
            queues.constraints_changed(policy);
        }
        policies.extend(
            self.hub
                .iter()
                .flat_map(|hub| hub.policies_where(all_policies)),
        );
        for policy in &policies {
            queues.policy_changed(policy);
        }
        if let Some(secrets) = &queues.secrets {
            secrets.add(ENCRYPTION_SECRET.to_owned());
        }
    }

    /// Enqueues all policies with constraints for the relay.
    pub fn enqueue_constraints(&self, queues: &Queues) {
        for policy in self.managed.policies_where(gatekeeper::has_constraints) {
            queues.constraints_changed(&policy);
        }
    }
}

/// Whether a policy has a template or a dependency of this API group.
fn uses_group(policy: &Replica, group: &str) -> bool {
    let Ok(spec) = policy.typed_spec() else {
        return false;
    };
    let is_in = |api_version: &str| split_api_version(api_version).0 == group;
    let mut dependencies = spec.dependencies.iter().flatten();
    dependencies.any(|dependency| is_in(&dependency.api_version))
        || spec.policy_templates.iter().any(|template| {
            let mut extra = template.extra_dependencies.iter().flatten();
            template.text("/apiVersion").is_some_and(is_in)
                || extra.any(|dependency| is_in(&dependency.api_version))
        })
}

/// Whether a change of a policy adds, changes or removes templates or dependencies.
fn changes_dependency_graph(change: &Change<Replica>) -> bool {
    let (Some(Cached::Valid(old)), Some(Cached::Valid(new))) = (&change.old, &change.new) else {
        return true;
    };
    (&old.metadata.uid, old.metadata.generation) != (&new.metadata.uid, new.metadata.generation)
}

impl Watches {
    /// Starts all watches. Their events update `caches` and enqueue policies. `affects_template_objects` returns whether a change
    /// of a policy enqueues it for template sync.
    pub fn start(
        self,
        caches: &Caches,
        queues: &Queues,
        affects_template_objects: fn(&Change<Replica>) -> bool,
        tasks: &mut Supervisor,
    ) {
        let stop = tasks.stop();
        let (managed_queues, pending) = (queues.clone(), caches.pending.clone());
        let work = self.managed.run(stop.clone(), move |change| {
            managed_queues.policy_changed(&change.key.name);
            if gatekeeper::affects_constraints(&change) {
                managed_queues.constraints_changed(&change.key.name);
            }
            if changes_dependency_graph(&change) {
                for policy in pending.take() {
                    managed_queues.templates.add(policy);
                }
            }
            if affects_template_objects(&change) {
                managed_queues.templates.add(change.key.name);
            }
        });
        tasks.spawn_infallible("the watch of managed policies", work);
        if let Some(hub) = self.hub {
            let queues = queues.clone();
            let work = hub.run(stop.clone(), move |change| {
                queues.policy_changed(&change.key.name);
            });
            tasks.spawn_infallible("the watch of policies on the hub", work);
        }
        let (statuses, reports) = (queues.statuses.clone(), caches.reports.clone());
        let work = self.events.run(stop.clone(), move |change| {
            if let Some(policy) = reports.changed(&change) {
                statuses.add(policy);
            }
        });
        tasks.spawn_infallible("the watch of compliance events", work);
        let (queues, caches) = (queues.clone(), caches.clone());
        let work = self
            .crds
            .run(stop, move |change| caches.crd_changed(&change, &queues));
        tasks.spawn_infallible("the watch of custom resource definitions", work);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
    use serde_json::json;

    #[test]
    fn fwk_28_new_kind_enqueues_the_policies_that_use_its_group() {
        let spec = json!({"disabled": false,
            "dependencies": [{"apiVersion": "a/v1", "kind": "K", "name": "n", "compliance": "Compliant"}],
            "policy-templates": [{"objectDefinition": {"apiVersion": "b/v1", "kind": "K"},
                "extraDependencies": [{"apiVersion": "c/v1", "kind": "K", "name": "n", "compliance": "Compliant"}]}]});
        let policy = Replica::new(ObjectMeta::default(), spec);
        for group in ["a", "b", "c"] {
            assert!(uses_group(&policy, group), "{group}");
        }
        assert!(!uses_group(&policy, "d"));
    }
}
