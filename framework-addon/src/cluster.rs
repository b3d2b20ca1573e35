//! A cluster: its client, its policies and its events.

use kube::Client;
use kube::api::Api;
use reeve_runtime::decode::AnyDepth;
use reeve_runtime::events::{EventBroadcaster, EventRecorder};
use reeve_runtime::object::ObjectKey;
use reeve_runtime::watch::{Cached, Store, Watch};

use crate::replica::Replica;

/// Which clusters a piece of work needs to see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequiredClusters {
    /// The managed cluster: work that goes on while the hub cannot be reached.
    Managed,
    /// The hub too, if there is one.
    Both,
}

/// How one cluster is talked to.
#[derive(Clone)]
pub struct Connection {
    /// Reads and writes.
    pub client: Client,
    /// Where the policies are.
    pub namespace: String,
    /// Takes events for people.
    pub broadcaster: EventBroadcaster,
}

/// The policies of one cluster.
#[derive(Clone)]
pub struct Cluster {
    /// The cluster.
    pub client: Client,
    /// Where its policies are.
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
        let side = Self {
            client,
            namespace,
            broadcaster,
            policies,
        };
        (side, watch)
    }

    /// Events on this cluster on behalf of a controller.
    pub fn events(&self, controller: &'static str) -> EventRecorder {
        EventRecorder::new(self.client.clone(), controller, self.broadcaster.clone())
    }

    /// A policy as the watch knows it.
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

    /// Calls about policies.
    pub fn api(&self) -> Api<AnyDepth<Replica>> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// The names of the policies for which `predicate` holds.
    pub fn policies_where(&self, predicate: impl Fn(&Replica) -> bool) -> Vec<String> {
        self.policies
            .collect(|key, policy| predicate(policy).then(|| key.name.clone()))
    }
}
