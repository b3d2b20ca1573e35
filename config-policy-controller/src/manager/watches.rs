//! Starts the watches, the queue they feed, and the workers of the reconciler.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use k8s_openapi::api::core::v1 as corev1;
use kube::api::Api;
use kube::core::NamespaceResourceScope;
use kube::{Client, Resource};
use reeve_api::configuration_policy::ConfigurationPolicy;
use reeve_runtime::dependencies::{DependencyGauges, DependencyWatches};
use reeve_runtime::events::EventRecorder;
use reeve_runtime::guarded::Guarded;
use reeve_runtime::interned;
use reeve_runtime::object::ObjectKey;
use reeve_runtime::queue::Queue;
use reeve_runtime::supervisor::Supervisor;
use reeve_runtime::watch::{Store, Watch};
use reeve_templates_engine::resolver::IncompleteDelimiters;

use super::prefetch;
use super::shared_watches::{CacheSync, SharedWatches};
use crate::configuration_policy::Reconciler;
use crate::configuration_policy::namespace_selections::NamespaceSelections;
use crate::evaluate::evaluator::Evaluator;
use crate::evaluate::memo::ComparisonCache;
use crate::evaluate::selectors::namespaces::{Namespace, TerminatingInclusion};
use crate::hub_templates::{Hub, HubTemplates};
use crate::metrics::PolicyMetrics;
use crate::status::publisher::Publisher;
use crate::throttle::Throttle;
use crate::uninstall::UninstallWatch;

/// What the reconciler needs of the process.
pub struct ReconcilerDeps {
    /// The cluster that policies live on, with their statuses, their events and the Secrets that belong to them.
    pub hosting: ClusterClients,
    /// The cluster whose objects policies evaluate. The same one, unless the mode is hosted.
    pub target: ClusterClients,
    /// The hub whose objects hub templates may read, if there is a connection to one.
    pub hub: Option<Hub>,
    /// The watched namespaces; one empty name is all of them.
    pub namespaces: Vec<String>,
    /// Whether namespaces that are being deleted are selected, where the policy leaves it open.
    pub terminating: TerminatingInclusion,
    /// Template functions that fail when called, besides the engine's own.
    pub denied_functions: Vec<String>,
    /// The pace of evaluations that changes of objects trigger.
    pub backoff: Duration,
    /// Policies evaluated at once.
    pub workers: usize,
    /// Whether policies lose their finalizers without pruning, because of an uninstallation.
    pub uninstall_watch: UninstallWatch,
    /// Writes events.
    pub events: EventRecorder,
    /// The metrics of policies.
    pub metrics: PolicyMetrics,
    /// Count the watches of what policies read.
    pub gauges: DependencyGauges,
}

/// A connection to a cluster. Watches have a rate limit of their own: there are few of them, and when the process starts
/// no verdict waits for them all.
#[derive(Clone)]
pub struct ClusterClients {
    /// For reads and writes.
    pub calls: Client,
    /// For watches.
    pub watches: Client,
}

/// A queue of policies, and the pace at which changes of objects enqueue them.
#[derive(Clone)]
pub(super) struct PacedQueue {
    pub(super) queue: Queue<ObjectKey>,
    pub(super) throttle: Arc<Throttle>,
}

impl PacedQueue {
    pub(super) fn new(queue: &Queue<ObjectKey>, pace: Duration) -> Self {
        Self {
            queue: queue.clone(),
            throttle: Arc::new(Throttle::new(pace)),
        }
    }

    /// Enqueues a policy whose reads changed.
    pub(super) fn enqueue(&self, policy: &ObjectKey) {
        if *policy == prefetch::watch_owner() {
            return;
        }
        let wait = self.throttle.delay(policy, tokio::time::Instant::now());
        if wait.is_zero() {
            self.queue.add(policy.clone());
        } else {
            self.queue.add_after(policy.clone(), wait);
        }
    }

    /// [`enqueue`](Self::enqueue) as a callback.
    pub(super) fn enqueuer(&self) -> impl Fn(&ObjectKey) + Send + Sync + 'static {
        let queue = self.clone();
        move |policy| queue.enqueue(policy)
    }
}

/// In a fleet, the controllers of many clusters keep the same definitions.
fn with_shared_definitions(mut policy: ConfigurationPolicy) -> ConfigurationPolicy {
    for template in policy.spec.object_templates.iter_mut().flatten() {
        interned::share(&mut template.object_definition);
    }
    policy
}

/// Starts the watches of configuration policies and the workers of their reconciler.
pub(super) fn start_configuration_policies(
    deps: ReconcilerDeps,
    paced: &PacedQueue,
    shared: &mut SharedWatches,
    tasks: &mut Supervisor,
) -> Result<(), IncompleteDelimiters> {
    let queue = &paced.queue;
    let policies: Vec<Watch<ConfigurationPolicy>> = deps
        .namespaces
        .iter()
        .map(|namespace| policies_in(&deps.hosting.watches, namespace))
        .map(|api| Watch::projected(api, with_shared_definitions))
        .collect();
    let stores: Vec<Store<ConfigurationPolicy>> = policies.iter().map(Watch::store).collect();
    let namespaces = Watch::projected(Api::all(deps.target.watches.clone()), project_namespace);
    let denied: Arc<[String]> = deps.denied_functions.into();
    let hub = HubTemplates::new(
        deps.hosting.calls.clone(),
        deps.hub,
        Arc::clone(&denied),
        paced.enqueuer(),
    )?;
    let watches = DependencyWatches::new(deps.target.watches, paced.enqueuer());
    watches.count_in(&deps.gauges);
    hub.count_in(&deps.gauges);
    enqueue_all_on_uninstall(&deps.uninstall_watch, queue, &stores);
    let reconciler = Arc::new(Reconciler {
        policies: stores.clone(),
        keys: shared.keys(),
        hosting: deps.hosting.calls.clone(),
        target: deps.target.calls,
        watches,
        kinds: shared.kinds.clone(),
        selections: NamespaceSelections::new(namespaces.store(), deps.terminating),
        evaluator: Evaluator {
            comparisons: ComparisonCache::default(),
            metrics: deps.metrics.clone(),
        },
        resolver: Arc::default(),
        denied,
        hub,
        publisher: Publisher::new(deps.hosting.calls, deps.events, deps.metrics),
        throttle: Arc::clone(&paced.throttle),
        backoff: deps.backoff,
        uninstall_watch: deps.uninstall_watch,
    });
    for watch in policies {
        let (reconciler, queue) = (Arc::clone(&reconciler), queue.clone());
        let watching = watch.run(tasks.stop(), move |change| {
            if reconciler.policy_changed(&change) {
                queue.add(change.key);
            }
        });
        tasks.spawn_infallible("the watch of policies", watching);
    }
    let mut ready = shared.enqueue_on_changed_keys(&stores, queue);
    ready.push(watch_for_namespaces(&reconciler, namespaces, queue, tasks));
    spawn_workers(&reconciler, (stores, ready), (queue, deps.workers), tasks);
    Ok(())
}

/// A namespace concerns the policies that select it now or did before.
fn watch_for_namespaces(
    reconciler: &Arc<Reconciler>,
    namespaces: Watch<corev1::Namespace, Namespace>,
    queue: &Queue<ObjectKey>,
    tasks: &mut Supervisor,
) -> CacheSync {
    let (reconciler, queue, store) = (Arc::clone(reconciler), queue.clone(), namespaces.store());
    let watching = namespaces.run(tasks.stop(), move |change| {
        for policy in reconciler.selections.affected_policies(&change) {
            queue.add(policy);
        }
    });
    tasks.spawn_infallible("the watch of namespaces", watching);
    Box::pin(async move { store.wait_for_cache_sync().await })
}

/// Starts the workers once the caches have synced.
fn spawn_workers(
    reconciler: &Arc<Reconciler>,
    (stores, ready): (Vec<Store<ConfigurationPolicy>>, Vec<CacheSync>),
    (queue, workers): (&Queue<ObjectKey>, usize),
    tasks: &mut Supervisor,
) {
    let (reconciler, queue, stop) = (Arc::clone(reconciler), queue.clone(), tasks.stop());
    tasks.spawn_infallible("configuration policies", async move {
        // Before the first lists are complete, absence means nothing. An uninstallation needs the policies
        // only: the cluster that the others are read from may be gone.
        let lists = futures::future::join_all(ready).map(|_| ()).shared();
        tokio::select! {
            () = stop.cancelled() => return,
            () = lists.clone() => {}
            () = reconciler.uninstall_watch.wait_until_uninstalling() => {}
        }
        for store in &stores {
            tokio::select! { () = stop.cancelled() => return, () = store.wait_for_cache_sync() => {} }
            let uids = store.collect(|_, policy| policy.metadata.uid.clone());
            reconciler.publisher.reports.inherit(uids);
        }
        if !reconciler.uninstall_watch.is_uninstalling() {
            prefetch::open_shared_watches(&stores, &reconciler.watches, &reconciler.kinds).await;
        }
        queue
            .run(workers, stop, move |key| {
                let (reconciler, lists) = (Arc::clone(&reconciler), lists.clone());
                async move {
                    if !reconciler.uninstall_watch.is_uninstalling() {
                        lists.await;
                    }
                    reconciler.reconcile(key).await
                }
            })
            .await;
    });
}

/// Enqueues all policies when an uninstallation begins or ends.
pub(super) fn enqueue_all_on_uninstall<P: Send + Sync + 'static>(
    uninstall_watch: &UninstallWatch,
    queue: &Queue<ObjectKey>,
    policies: &[Store<P>],
) {
    let (queue, policies) = (queue.clone(), policies.to_vec());
    uninstall_watch.on_change(move || {
        for policy in policies.iter().flat_map(Store::keys) {
            queue.add(policy);
        }
    });
}

fn project_namespace(namespace: corev1::Namespace) -> Namespace {
    let metadata = namespace.metadata;
    Namespace {
        name: metadata.name.unwrap_or_default(),
        labels: metadata.labels.unwrap_or_default(),
        terminating: metadata.deletion_timestamp.is_some(),
    }
}

/// The policies of a kind in a namespace; everywhere if it is empty.
pub(super) fn policies_in<P>(client: &Client, namespace: &str) -> Api<Guarded<P>>
where
    P: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
{
    if namespace.is_empty() {
        Api::all(client.clone())
    } else {
        Api::namespaced(client.clone(), namespace)
    }
}
