//! Runs the registration controllers against an API server.

mod act;

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::coordination::v1::Lease;
use kube::Client;
use kube::api::Api;
use parking_lot::RwLock;
use reeve_api::ocm::{ManagedCluster, ManagedClusterSet, ManagedClusterSetBinding};
use reeve_runtime::CancellationToken;
use reeve_runtime::metrics::ControllerMetrics;
use reeve_runtime::object::ObjectKey;
use reeve_runtime::queue::Queue;
use reeve_runtime::supervisor::{Supervisor, TaskError};
use reeve_runtime::watch::{Cached, Store, Watch};

use super::clusters::LEASE;
use super::sets::{self, DEFAULT, GLOBAL};

/// The number of workers for each kind.
const WORKERS: usize = 4;

/// Runs until `stop`, or until one of its tasks ends. Objects are reconciled when they change, or when a lease
/// expires.
pub async fn run(
    client: Client,
    metrics: ControllerMetrics,
    stop: CancellationToken,
) -> Result<(), TaskError> {
    let mut tasks = Supervisor::new(stop.child_token());
    let clusters = Watch::new(Api::all(client.clone()));
    let sets = Watch::new(Api::all(client.clone()));
    let bindings = Watch::new(Api::all(client.clone()));
    let leases = Watch::new(Api::all(client.clone())).fields(&format!("metadata.name={LEASE}"));
    let controller = Controller {
        client,
        known: Arc::default(),
        clusters: clusters.store(),
        bindings: bindings.store(),
        leases: leases.store(),
        queues: Queues {
            clusters: Queue::new("managed-cluster", &metrics),
            sets: Queue::new("managed-cluster-set", &metrics),
            bindings: Queue::new("managed-cluster-set-binding", &metrics),
        },
    };
    let all_sets = sets.store();
    controller.watch(&mut tasks, (clusters, sets, bindings, leases));
    controller.work(&mut tasks, all_sets);
    tasks.run().await
}

/// The queues of the three kinds.
#[derive(Clone)]
struct Queues {
    clusters: Queue<String>,
    sets: Queue<String>,
    bindings: Queue<ObjectKey>,
}

#[derive(Clone)]
struct Controller {
    client: Client,
    /// The sets, by name.
    known: Arc<RwLock<BTreeMap<String, Arc<ManagedClusterSet>>>>,
    clusters: Store<ManagedCluster>,
    bindings: Store<ManagedClusterSetBinding>,
    leases: Store<Lease>,
    queues: Queues,
}

type Watches = (
    Watch<ManagedCluster>,
    Watch<ManagedClusterSet>,
    Watch<ManagedClusterSetBinding>,
    Watch<Lease>,
);

impl Controller {
    fn watch(&self, tasks: &mut Supervisor, (clusters, sets, bindings, leases): Watches) {
        let stop = tasks.stop();
        let this = self.clone();
        let seen = clusters.run(stop.clone(), move |change| {
            let (old, new) = change.valid();
            let known = this.known.read();
            for set in sets::concerned(old.map(AsRef::as_ref), new.map(AsRef::as_ref), &known) {
                this.queues.sets.add(set);
            }
            this.queues.clusters.add(change.key.name);
        });
        tasks.spawn_infallible("watch of clusters", seen);

        let this = self.clone();
        let seen = sets.run(stop.clone(), move |change| {
            let name = change.key.name;
            let created_or_deleted = change.old.is_some() != change.new.is_some();
            match change.new {
                None => drop(this.known.write().remove(&name)),
                Some(Cached::Valid(set)) => drop(this.known.write().insert(name.clone(), set)),
                // The object exists, but is unreadable.
                Some(Cached::Invalid(_)) => return,
            }
            if created_or_deleted {
                this.bindings_of(&name);
            }
            this.queues.sets.add(name);
        });
        tasks.spawn_infallible("watch of cluster sets", seen);

        let queue = self.queues.bindings.clone();
        let seen = bindings.run(stop.clone(), move |change| queue.add(change.key));
        tasks.spawn_infallible("watch of bindings", seen);

        let queue = self.queues.clusters.clone();
        let seen = leases.run(stop, move |change| {
            // A renewal only moves the expiry, at which the cluster is reconciled anyway.
            if change.old.is_none() || change.new.is_none() {
                queue.add(change.key.namespace);
            }
        });
        tasks.spawn_infallible("watch of leases", seen);
    }

    /// Enqueues the bindings of a set.
    fn bindings_of(&self, set: &str) {
        let of_set = |key: &ObjectKey, binding: &Arc<ManagedClusterSetBinding>| {
            (binding.spec.cluster_set == set).then(|| key.clone())
        };
        for key in self.bindings.collect(of_set) {
            self.queues.bindings.add(key);
        }
    }

    fn work(&self, tasks: &mut Supervisor, all_sets: Store<ManagedClusterSet>) {
        let (this, stop) = (self.clone(), tasks.stop());
        tasks.spawn_infallible("registration", async move {
            // Before all caches have synced, an absent object may only be late.
            let synced = async {
                all_sets.wait_for_cache_sync().await;
                this.clusters.wait_for_cache_sync().await;
                this.bindings.wait_for_cache_sync().await;
                this.leases.wait_for_cache_sync().await;
            };
            tokio::select! {
                () = stop.cancelled() => return,
                () = synced => {}
            }
            for set in [DEFAULT, GLOBAL] {
                this.queues.sets.add(set.to_owned());
            }
            let Queues {
                clusters,
                sets,
                bindings,
            } = this.queues.clone();
            let of_clusters = this.clone();
            let of_sets = this.clone();
            let of_bindings = this.clone();
            futures::join!(
                clusters.run(WORKERS, stop.clone(), move |name| of_clusters
                    .clone()
                    .cluster(name)),
                sets.run(WORKERS, stop.clone(), move |name| of_sets.clone().set(name)),
                bindings.run(WORKERS, stop, move |key| of_bindings.clone().binding(key)),
            );
        });
    }
}
