//! From what the process has to a controller at work: the watches of policies, the workers, and what wakes them.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use k8s_openapi::api::core::v1::{self as corev1, Secret};
use kube::Client;
use kube::api::Api;
use reeve_api::configuration_policy::ConfigurationPolicy;
use reeve_runtime::dependencies::DependencyWatches;
use reeve_runtime::events::EventRecorder;
use reeve_runtime::guarded::Guarded;
use reeve_runtime::kinds::Kinds;
use reeve_runtime::metrics::Metrics;
use reeve_runtime::object::ObjectKey;
use reeve_runtime::queue::Queue;
use reeve_runtime::supervisor::Supervisor;
use reeve_runtime::watch::{Store, Watch};
use reeve_templates_engine::resolver::IncompleteDelimiters;

use crate::cleanup::Cleanup;
use crate::controller::Controller;
use crate::evaluation::Evaluator;
use crate::hub::{Hub, HubTemplates};
use crate::keys::{self, KeyPair};
use crate::memory::Memories;
use crate::metrics::PolicyMetrics;
use crate::namespaces::{Namespace, Terminating};
use crate::publish::Publisher;
use crate::selections::Selections;
use crate::throttle::Throttle;
use crate::warmup;

/// What the process gives to its controller.
pub struct Surroundings {
    /// The cluster that policies live on, with their statuses, their events and the Secrets that belong to them.
    pub hosting: Connection,
    /// The cluster that policies speak about. The same one, unless the mode is hosted.
    pub target: Connection,
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
    pub events: EventRecorder,
    /// What is counted.
    pub metrics: PolicyMetrics,
    /// Where the watches of the target cluster say how many they are.
    pub registry: Metrics,
}

/// A connection to a cluster. Watches have a rate limit of their own: there are few of them, and when the process starts
/// no verdict waits for them all.
#[derive(Clone)]
pub struct Connection {
    /// For reads and writes.
    pub calls: Client,
    /// For watches.
    pub watches: Client,
}

/// Starts the watches of policies and the workers.
pub fn start(
    around: Surroundings,
    queue: &Queue<ObjectKey>,
    tasks: &mut Supervisor,
) -> Result<(), IncompleteDelimiters> {
    let policies: Vec<Watch<ConfigurationPolicy>> = around
        .namespaces
        .iter()
        .map(|namespace| Watch::new(policies_in(&around.hosting.watches, namespace)))
        .collect();
    let stores: Vec<Store<ConfigurationPolicy>> = policies.iter().map(Watch::store).collect();
    let keys: Vec<Watch<Secret, KeyPair>> = around
        .namespaces
        .iter()
        .map(|namespace| watch_keys(&around.hosting.watches, namespace))
        .collect();
    let namespaces = Watch::projected(Api::all(around.target.watches.clone()), project_namespace);
    let throttle = Arc::new(Throttle::new(around.backoff));
    let denied: Arc<[String]> = around.denied_functions.into();
    let hub = HubTemplates::new(
        around.hosting.calls.clone(),
        around.hub,
        Arc::clone(&denied),
        waker(queue, &throttle),
    )?;
    let (kinds, kind_watches) = Kinds::new(around.target.watches.clone(), waker(queue, &throttle));
    kind_watches.start(tasks);
    wake_on_change(&around.cleanup, queue, &stores);
    let controller = Arc::new(Controller {
        policies: stores.clone(),
        keys: keys.iter().map(Watch::store).collect(),
        hosting: around.hosting.calls.clone(),
        target: around.target.calls,
        watches: counted(
            &around.target.watches,
            &around.registry,
            waker(queue, &throttle),
        ),
        kinds,
        selections: Selections::new(namespaces.store(), around.terminating),
        evaluator: Evaluator {
            memories: Memories::default(),
            metrics: around.metrics.clone(),
        },
        resolver: Arc::default(),
        denied,
        hub,
        publisher: Publisher::new(around.hosting.calls, around.events, around.metrics),
        throttle,
        backoff: around.backoff,
        cleanup: around.cleanup,
    });
    for watch in policies {
        let (controller, queue) = (Arc::clone(&controller), queue.clone());
        let watching = watch.run(tasks.stop(), move |change| {
            if controller.noticed(&change) {
                queue.add(change.key);
            }
        });
        tasks.spawn_infallible("the watch of policies", watching);
    }
    let mut ready = watch_for_keys(&controller, keys, queue, tasks);
    ready.push(watch_for_namespaces(&controller, namespaces, queue, tasks));
    work(&controller, (stores, ready), (queue, around.workers), tasks);
    Ok(())
}

/// New keys concern the policies that have encrypted values.
fn watch_for_keys(
    controller: &Arc<Controller>,
    keys: Vec<Watch<Secret, KeyPair>>,
    queue: &Queue<ObjectKey>,
    tasks: &mut Supervisor,
) -> Vec<Ready> {
    let mut ready: Vec<Ready> = Vec::new();
    for watch in keys {
        let (controller, queue, store) = (Arc::clone(controller), queue.clone(), watch.store());
        ready.push(Box::pin(async move { store.wait_for_cache_sync().await }));
        let watching = watch.run(tasks.stop(), move |change| {
            for policy in controller.encrypted_in(&change.key.namespace) {
                queue.add(policy);
            }
        });
        tasks.spawn_infallible("the watch of encryption keys", watching);
    }
    ready
}

/// A namespace concerns the policies that select it now or did before.
fn watch_for_namespaces(
    controller: &Arc<Controller>,
    namespaces: Watch<corev1::Namespace, Namespace>,
    queue: &Queue<ObjectKey>,
    tasks: &mut Supervisor,
) -> Ready {
    let (controller, queue, store) = (Arc::clone(controller), queue.clone(), namespaces.store());
    let watching = namespaces.run(tasks.stop(), move |change| {
        for policy in controller.selections.changed(&change) {
            queue.add(policy);
        }
    });
    tasks.spawn_infallible("the watch of namespaces", watching);
    Box::pin(async move { store.wait_for_cache_sync().await })
}

/// Starts the workers, once what they rely on is known.
fn work(
    controller: &Arc<Controller>,
    (stores, ready): (Vec<Store<ConfigurationPolicy>>, Vec<Ready>),
    (queue, workers): (&Queue<ObjectKey>, usize),
    tasks: &mut Supervisor,
) {
    let (controller, queue, stop) = (Arc::clone(controller), queue.clone(), tasks.stop());
    tasks.spawn_infallible("configuration policies", async move {
        // Before the first lists are complete, absence means nothing. To let go of the cluster takes the policies
        // only: the cluster that the others are read from may be gone.
        let lists = futures::future::join_all(ready).map(|_| ()).shared();
        tokio::select! {
            () = stop.cancelled() => return,
            () = lists.clone() => {}
            () = controller.cleanup.due() => {}
        }
        for store in &stores {
            tokio::select! { () = stop.cancelled() => return, () = store.wait_for_cache_sync() => {} }
            let uids = store.collect(|_, policy| policy.metadata.uid.clone());
            controller.publisher.inherit(uids);
        }
        if !controller.cleanup.is_due() {
            warmup::open(&stores, &controller.watches, &controller.kinds).await;
        }
        queue
            .run(workers, stop, move |key| {
                let (controller, lists) = (Arc::clone(&controller), lists.clone());
                async move {
                    if !controller.cleanup.is_due() {
                        lists.await;
                    }
                    controller.reconcile(key).await
                }
            })
            .await;
    });
}

/// Watches of what policies read, which the metrics tell the number of.
fn counted(
    target: &Client,
    registry: &Metrics,
    wake: impl Fn(&ObjectKey) + Send + Sync + 'static,
) -> DependencyWatches<ObjectKey> {
    let watches = DependencyWatches::new(target.clone(), wake);
    watches.register(registry);
    watches
}

/// Lets all policies have a turn when the time to let go of the cluster has come, or is over.
fn wake_on_change(
    cleanup: &Cleanup,
    queue: &Queue<ObjectKey>,
    policies: &[Store<ConfigurationPolicy>],
) {
    let (queue, policies) = (queue.clone(), policies.to_vec());
    cleanup.on_change(move || {
        for policy in policies.iter().flat_map(Store::keys) {
            queue.add(policy);
        }
    });
}

type Ready = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Puts policies on the queue whose answers changed, spaced.
fn waker(
    queue: &Queue<ObjectKey>,
    throttle: &Arc<Throttle>,
) -> impl Fn(&ObjectKey) + Send + Sync + 'static {
    let (queue, throttle) = (queue.clone(), Arc::clone(throttle));
    move |policy| {
        if *policy == warmup::reader() {
            return;
        }
        let wait = throttle.wait(policy, tokio::time::Instant::now());
        if wait.is_zero() {
            queue.add(policy.clone());
        } else {
            queue.add_after(policy.clone(), wait);
        }
    }
}

/// Watches the Secrets with the keys. Nothing else of any Secret is kept.
fn watch_keys(client: &Client, namespace: &str) -> Watch<Secret, KeyPair> {
    let api = if namespace.is_empty() {
        Api::all(client.clone())
    } else {
        Api::namespaced(client.clone(), namespace)
    };
    Watch::projected(api, KeyPair::of).fields(&format!("metadata.name={}", keys::SECRET))
}

fn project_namespace(namespace: corev1::Namespace) -> Namespace {
    let metadata = namespace.metadata;
    Namespace {
        name: metadata.name.unwrap_or_default(),
        labels: metadata.labels.unwrap_or_default(),
        terminating: metadata.deletion_timestamp.is_some(),
    }
}

fn policies_in(client: &Client, namespace: &str) -> Api<Guarded<ConfigurationPolicy>> {
    if namespace.is_empty() {
        Api::all(client.clone())
    } else {
        Api::namespaced(client.clone(), namespace)
    }
}
