//! Starts the watches of `OperatorPolicy` objects, and the workers of their reconciler.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use reeve_api::operator_policy::OperatorPolicy;
use reeve_runtime::dependencies::DependencyWatches;
use reeve_runtime::object::ObjectKey;
use reeve_runtime::queue::Queue;
use reeve_runtime::supervisor::Supervisor;
use reeve_runtime::watch::{Store, Watch};
use reeve_templates_engine::resolver::IncompleteDelimiters;

use super::shared_watches::{CacheSync, SharedWatches};
use super::watches::{PacedQueue, ReconcilerDeps, enqueue_all_on_uninstall, policies_in};
use crate::hub_templates::HubTemplates;
use crate::operator_policy::{Reconciler, Settings, object_watches};

/// The pace of reconciles that changes of objects trigger: OLM changes its objects often while it installs, and a deleted Subscription is
/// created again at once.
pub(super) const PACE: Duration = Duration::from_millis(100);

/// What reconciling operator policies needs besides.
pub struct OperatorPolicies {
    pub(super) queue: Queue<ObjectKey>,
    pub(super) settings: Settings,
}

/// Starts the watches and the workers.
pub(super) fn start(
    deps: &ReconcilerDeps,
    settings: Settings,
    (paced, shared): (PacedQueue, &mut SharedWatches),
    tasks: &mut Supervisor,
) -> Result<(), IncompleteDelimiters> {
    let queue = &paced.queue;
    let watches = |namespace: &String| Watch::new(policies_in(&deps.hosting.watches, namespace));
    let policies: Vec<Watch<OperatorPolicy>> = deps.namespaces.iter().map(watches).collect();
    let stores: Vec<Store<OperatorPolicy>> = policies.iter().map(Watch::store).collect();
    let denied: Arc<[String]> = deps.denied_functions.clone().into();
    let hub = HubTemplates::new(
        deps.hosting.calls.clone(),
        deps.hub.clone(),
        Arc::clone(&denied),
        paced.enqueuer(),
    )?;
    let template_watches = DependencyWatches::new(deps.target.watches.clone(), paced.enqueuer());
    let object_watches = object_watches(deps.target.watches.clone(), paced.enqueuer());
    for watches in [&template_watches, &object_watches] {
        watches.count_in(&deps.gauges);
    }
    hub.count_in(&deps.gauges);
    enqueue_all_on_uninstall(&deps.uninstall_watch, queue, &stores);
    let reconciler = Arc::new(Reconciler {
        policies: stores.clone(),
        keys: shared.keys(),
        target: deps.target.calls.clone(),
        template_watches,
        object_watches,
        kinds: shared.kinds.clone(),
        resolver: Arc::default(),
        denied,
        hub,
        metrics: deps.metrics.clone(),
        throttle: Arc::clone(&paced.throttle),
        queue: queue.clone(),
        uninstall_watch: deps.uninstall_watch.clone(),
        state: settings.state(
            deps.target.calls.clone(),
            deps.hosting.calls.clone(),
            deps.events.clone(),
        ),
    });
    let mut synced = watch_for_policies(&reconciler, policies, queue, tasks);
    synced.extend(shared.enqueue_on_changed_keys(&stores, queue));
    let (queue, workers, stop) = (queue.clone(), deps.workers, tasks.stop());
    tasks.spawn_infallible("operator policies", async move {
        // Before the first lists are complete, absence means nothing.
        tokio::select! { () = stop.cancelled() => return, _ = join_all(synced) => {} }
        let uids =
            |store: &Store<OperatorPolicy>| store.collect(|_, policy| policy.metadata.uid.clone());
        reconciler.inherit(stores.iter().flat_map(uids));
        let reconcile = move |key| Arc::clone(&reconciler).reconcile(key);
        queue.run(workers, stop, reconcile).await;
    });
    Ok(())
}

/// Starts the watches of policies. Returns when each has synced.
fn watch_for_policies(
    reconciler: &Arc<Reconciler>,
    policies: Vec<Watch<OperatorPolicy>>,
    queue: &Queue<ObjectKey>,
    tasks: &mut Supervisor,
) -> Vec<CacheSync> {
    let mut synced: Vec<CacheSync> = Vec::new();
    for watch in policies {
        let (reconciler, queue, store) = (Arc::clone(reconciler), queue.clone(), watch.store());
        synced.push(Box::pin(async move { store.wait_for_cache_sync().await }));
        let watching = watch.run(tasks.stop(), move |change| {
            if reconciler.policy_changed(&change) {
                queue.add(change.key);
            }
        });
        tasks.spawn_infallible("the watch of operator policies", watching);
    }
    synced
}
