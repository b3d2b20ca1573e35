//! From what the process has to a controller at work: the watches of policies, the workers, and what wakes them.

use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use kube::api::Api;
use kube::core::DeserializeGuard;
use parking_lot::Mutex;
use reeve_api::configuration_policy::ConfigurationPolicy;
use reeve_runtime::dependencies::DependencyWatches;
use reeve_runtime::discovery::Discovery;
use reeve_runtime::events::EventWriter;
use reeve_runtime::object::ObjectKey;
use reeve_runtime::queue::Queue;
use reeve_runtime::supervisor::Supervisor;
use reeve_runtime::watch::{Store, Watch};

use crate::cleanup::Cleanup;
use crate::controller::Controller;
use crate::evaluate::Evaluator;
use crate::memory::Memories;
use crate::metrics::PolicyMetrics;
use crate::namespaces::Terminating;
use crate::publish::Publisher;
use crate::spec::HubTemplates;
use crate::throttle::Throttle;

/// What the process gives to its controller.
pub struct Surroundings {
    /// The cluster that policies live on, with their statuses, their events and the Secrets that belong to them.
    pub hosting: Client,
    /// The cluster that policies speak about. The same one, unless the mode is hosted.
    pub target: Client,
    /// The hub whose objects hub templates may read, if there is a connection to one.
    pub hub: Option<Hub>,
    /// Where policies are looked for; one empty name is everywhere.
    pub namespaces: Vec<String>,
    /// Whether namespaces that are being deleted are selected, where the policy leaves it open.
    pub terminating: Terminating,
    /// Template functions that fail when called, besides the engine's own.
    pub denied_functions: Vec<String>,
    /// The pace of evaluations that changes around a policy ask for.
    pub backoff: Duration,
    /// Policies evaluated at once.
    pub workers: usize,
    /// Whether policies are to let go of the cluster.
    pub cleanup: Cleanup,
    /// Writes events.
    pub events: EventWriter,
    /// What is counted.
    pub metrics: PolicyMetrics,
}

/// A hub for templates that are resolved on the managed cluster.
#[derive(Clone)]
pub struct Hub {
    /// The connection.
    pub client: Client,
    /// This cluster's name there.
    pub cluster_name: String,
}

/// Starts the watches of policies and the workers.
pub fn start(around: Surroundings, queue: &Queue<ObjectKey>, tasks: &mut Supervisor) {
    let policies: Vec<Watch<ConfigurationPolicy>> = around
        .namespaces
        .iter()
        .map(|namespace| Watch::new(policies_in(&around.hosting, namespace)))
        .collect();
    let stores: Vec<Store<ConfigurationPolicy>> = policies.iter().map(Watch::store).collect();
    let throttle = Arc::new(Throttle::new(around.backoff));
    let watches = {
        let (queue, throttle) = (queue.clone(), Arc::clone(&throttle));
        DependencyWatches::new(around.target.clone(), move |policy: &ObjectKey| {
            let wait = throttle.wait(policy, tokio::time::Instant::now());
            if wait.is_zero() {
                queue.add(policy.clone());
            } else {
                queue.add_after(policy.clone(), wait);
            }
        })
    };
    let controller = Arc::new(Controller {
        policies: stores.clone(),
        watches,
        discovery: Discovery::new(around.target.clone()),
        publisher: Publisher::new(around.hosting, around.events, around.metrics.clone()),
        evaluator: Evaluator {
            client: around.target,
            memories: Memories::default(),
            metrics: around.metrics,
            terminating: around.terminating,
        },
        throttle,
        hub: around
            .hub
            .map_or(HubTemplates::Unavailable, |_| HubTemplates::Configured),
        selections: Mutex::default(),
    });
    for watch in policies {
        let (controller, queue) = (Arc::clone(&controller), queue.clone());
        tasks.spawn_infallible(
            "the watch of policies",
            watch.run(tasks.stop(), move |change| {
                if controller.noticed(&change) {
                    queue.add(change.key);
                }
            }),
        );
    }
    let (queue, stop, workers) = (queue.clone(), tasks.stop(), around.workers);
    tasks.spawn_infallible("configuration policies", async move {
        for store in &stores {
            // Before the first list is complete, absence means nothing.
            tokio::select! { () = stop.cancelled() => return, () = store.ready() => {} }
            let uids = store.collect(|_, policy| policy.metadata.uid.clone());
            controller.publisher.inherit(uids);
        }
        queue
            .run(workers, stop, move |key| {
                Arc::clone(&controller).reconcile(key)
            })
            .await;
    });
}
fn policies_in(client: &Client, namespace: &str) -> Api<DeserializeGuard<ConfigurationPolicy>> {
    if namespace.is_empty() {
        Api::all(client.clone())
    } else {
        Api::namespaced(client.clone(), namespace)
    }
}
