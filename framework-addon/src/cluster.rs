//! A cluster: its client, its policies and its events.

use kube::Client;
use kube::api::Api;
use reeve_api::dependency_graph::{DependencyGraph, Dependent};
use reeve_runtime::decode::AnyDepth;
use reeve_runtime::events::{EventBroadcaster, EventRecorder};
use reeve_runtime::object::ObjectKey;
use reeve_runtime::watch::{Cached, Store, Watch};

use crate::replica::Replica;

/// The clusters whose caches a controller needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequiredClusters {
    /// The managed cluster: the controller works while the hub cannot be reached.
    Managed,
    /// The hub too, if there is one.
    Both,
}

/// The connection to one cluster.
#[derive(Clone)]
pub struct Connection {
    /// The client for reads and writes.
    pub client: Client,
    /// The namespace of the policies.
    pub namespace: String,
    /// Creates informational events.
    pub broadcaster: EventBroadcaster,
}

/// The policies of one cluster.
#[derive(Clone)]
pub struct Cluster {
    /// The client for reads and writes.
    pub client: Client,
    /// The namespace of its policies.
    pub namespace: String,
    broadcaster: EventBroadcaster,
    policies: Store<Replica>,
}

impl Cluster {
    /// A cluster and the watch of its policies.
    pub fn new(connection: Connection) -> (Self, Watch<Replica>) {
        let Connection {
            client,
            namespace,
            broadcaster,
        } = connection;
        let watch = Watch::new(Api::namespaced(client.clone(), &namespace));
        let policies = watch.store();
        let cluster = Self {
            client,
            namespace,
            broadcaster,
            policies,
        };
        (cluster, watch)
    }

    /// A recorder of events on this cluster, reported by a controller.
    pub fn events(&self, controller: &'static str) -> EventRecorder {
        EventRecorder::new(self.client.clone(), controller, self.broadcaster.clone())
    }

    /// A policy as the watch has delivered it.
    pub fn policy(&self, name: &str) -> Option<Cached<Replica>> {
        self.policies
            .get(&ObjectKey::new(self.namespace.as_str(), name))
    }

    /// Waits for the first list of its policies: before that, absence means nothing.
    pub async fn wait_for_cache_sync(&self) {
        self.policies.wait_for_cache_sync().await;
    }

    /// Whether the watch of its policies has synced.
    pub fn has_synced(&self) -> bool {
        self.policies.has_synced()
    }

    /// The API of policies.
    pub fn api(&self) -> Api<AnyDepth<Replica>> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// What its policies and their templates wait for.
    pub fn dependency_graph(&self) -> DependencyGraph {
        let mut graph = DependencyGraph::default();
        let specs = self.policies.collect(|key, policy| {
            let spec = policy.typed_spec().ok()?;
            Some((Dependent::policy(&key.name), spec))
        });
        for (policy, spec) in specs {
            graph.add(&policy, &spec, |dependency| dependency.name.clone());
        }
        graph
    }

    /// The names of the policies for which `predicate` holds.
    pub fn policies_where(&self, predicate: impl Fn(&Replica) -> bool) -> Vec<String> {
        self.policies
            .collect(|key, policy| predicate(policy).then(|| key.name.clone()))
    }
}
