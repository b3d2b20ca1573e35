//! Runs the placement controller against an API server.
//!
//! Only changes trigger a reconcile: there is no resync. The index has the controller's own writes before the watch
//! delivers them.

mod act;
mod error;

use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use kube::Client;
use kube::api::Api;
use parking_lot::RwLock;
use reeve_runtime::CancellationToken;
use reeve_runtime::activity::Component;
use reeve_runtime::events::EventRecorder;
use reeve_runtime::events::{EventBroadcaster, EventBroadcasterMetrics};
use reeve_runtime::metrics::ControllerMetrics;
use reeve_runtime::object::ObjectKey;
use reeve_runtime::queue::{Action, Queue};
use reeve_runtime::supervisor::{Supervisor, TaskError};
use reeve_runtime::watch::Watch;

use super::debug::Debugger;
use super::decide::{Observed, decide};
use super::events;
use super::index::{Concerned, Index};
use super::metrics::PlacementMetrics;

pub use error::Error;

const CONTROLLER: &str = "placement-controller";

/// The number of workers. One, as upstream: each placement counts the decisions of the one before it.
const WORKERS: usize = 1;

/// After this time the watch should have delivered a created object: if it has not, the controller reads the object.
const WATCH_DELAY: SignedDuration = SignedDuration::from_secs(2);

/// The clients and metrics of the controller.
#[derive(Clone)]
pub struct Deps {
    /// A client of the hub.
    pub client: Client,
    /// The controller's metrics.
    pub metrics: ControllerMetrics,
    /// The metrics of its events.
    pub event_metrics: EventBroadcasterMetrics,
    /// The metrics of scheduling.
    pub scheduling: PlacementMetrics,
    /// The index, which the watches fill while the controller runs.
    pub index: Arc<RwLock<Index>>,
}

impl Deps {
    /// For a process that serves no metrics.
    pub fn of(client: Client) -> Self {
        Self {
            client,
            metrics: ControllerMetrics::default(),
            event_metrics: EventBroadcasterMetrics::default(),
            scheduling: PlacementMetrics::default(),
            index: Arc::default(),
        }
    }

    /// The same, for a component whose activity [`Fleet::settled`](crate::Fleet::settled) waits for.
    #[must_use]
    pub fn tracked_by(self, component: &Component) -> Self {
        Self {
            metrics: self.metrics.tracked_by(component),
            ..self
        }
    }

    /// A debugger for the placements of the controller that runs with these.
    pub fn debugger(&self) -> Debugger {
        Debugger::new(self.client.clone(), Arc::clone(&self.index))
    }
}

/// Runs until `stop`, or until one of its tasks ends.
pub async fn run(deps: Deps, stop: CancellationToken) -> Result<(), TaskError> {
    let mut tasks = Supervisor::new(stop.child_token());
    let client = deps.client.clone();
    let broadcaster = EventBroadcaster::start(client.clone(), deps.event_metrics, &mut tasks);
    let controller = Controller {
        events: EventRecorder::new(client.clone(), CONTROLLER, broadcaster),
        client,
        index: deps.index,
        queue: Queue::new(CONTROLLER, &deps.metrics),
        metrics: deps.scheduling,
    };
    controller.start(&mut tasks);
    tasks.run().await
}

/// Reconciles the decisions and the status of all placements.
#[derive(Clone)]
struct Controller {
    client: Client,
    events: EventRecorder,
    index: Arc<RwLock<Index>>,
    queue: Queue<ObjectKey>,
    metrics: PlacementMetrics,
}

/// Watches a kind, and applies its changes to the index.
macro_rules! watch {
    ($controller:ident, $tasks:ident, $what:literal, $apply:expr) => {{
        let watch = Watch::new(Api::all($controller.client.clone()));
        let store = watch.store();
        let controller = $controller.clone();
        let stop = $tasks.stop();
        $tasks.spawn_infallible(
            $what,
            watch.run(stop, move |change| {
                let apply = $apply;
                let concerned: Concerned = apply(&mut controller.index.write(), change);
                for placement in concerned {
                    controller.queue.add(placement);
                }
            }),
        );
        store
    }};
}

impl Controller {
    fn start(&self, tasks: &mut Supervisor) {
        let placements = watch!(self, tasks, "watch of placements", |i: &mut Index, c| {
            let reeve_runtime::watch::Change { key, new, .. } = c;
            i.placement(&key, new)
        });
        let decisions = watch!(self, tasks, "watch of decisions", |i: &mut Index, c| {
            let reeve_runtime::watch::Change { key, new, .. } = c;
            i.decision(&key, new)
        });
        let bindings = watch!(self, tasks, "watch of bindings", |i: &mut Index, c| {
            let reeve_runtime::watch::Change { key, new, .. } = c;
            i.binding(&key, new)
        });
        let sets = watch!(self, tasks, "watch of cluster sets", |i: &mut Index, c| {
            let reeve_runtime::watch::Change { key, new, .. } = c;
            i.set(&key.name, new)
        });
        let clusters = watch!(self, tasks, "watch of clusters", |i: &mut Index, c| {
            let reeve_runtime::watch::Change { key, new, .. } = c;
            i.cluster(&key.name, new)
        });
        let scores = watch!(self, tasks, "watch of scores", |i: &mut Index, c| {
            let reeve_runtime::watch::Change { key, new, .. } = c;
            i.score(&key, new)
        });
        let (controller, stop) = (self.clone(), tasks.stop());
        tasks.spawn_infallible("placements", async move {
            // Before all caches have synced, an absent object may only be late.
            let synced = async {
                placements.wait_for_cache_sync().await;
                decisions.wait_for_cache_sync().await;
                bindings.wait_for_cache_sync().await;
                sets.wait_for_cache_sync().await;
                clusters.wait_for_cache_sync().await;
                scores.wait_for_cache_sync().await;
            };
            tokio::select! {
                () = stop.cancelled() => return,
                () = synced => {}
            }
            controller.index.write().set_synced();
            let queue = controller.queue.clone();
            let work = move |key| {
                let controller = controller.clone();
                async move { controller.reconcile(key).await }
            };
            queue.run(WORKERS, stop, work).await;
        });
    }

    /// Reconciles one placement's decisions and status.
    async fn reconcile(&self, key: ObjectKey) -> Result<Action, Error> {
        let now = Timestamp::now();
        let created_before = now.saturating_sub(WATCH_DELAY).unwrap_or(Timestamp::MIN);
        self.index.write().drop_undelivered(&key, created_before);
        let observed = Observed::of(&self.index.read(), &key, now);
        let Some(observed) = observed else {
            return Ok(Action::AwaitChange);
        };
        let began = Instant::now();
        let decision = decide(&observed, &mut self.metrics.stopwatch());
        self.metrics.scheduled(began.elapsed());
        let placement = &observed.inputs.placement;
        let began = Instant::now();
        let acted = self.act(placement, decision.writes).await;
        self.metrics.bound(began.elapsed());
        self.emit_events(placement, &acted.decision_changes, &decision.schedule);
        if !acted.failures.is_empty() {
            return error::outcome(&key, acted.failures);
        }
        if let Err(failure) = self.publish(placement, decision.status).await {
            return error::outcome(&key, vec![failure]);
        }
        let next = match decision.schedule.again_at {
            None => Action::AwaitChange,
            Some(at) => {
                let wait = at.duration_since(Timestamp::now());
                Action::RequeueAfter(wait.try_into().unwrap_or_default())
            }
        };
        let undelivered = self.index.write().drop_undelivered(&key, Timestamp::MIN);
        Ok(if undelivered {
            next.within(WATCH_DELAY.unsigned_abs() + Duration::from_millis(100))
        } else {
            next
        })
    }

    fn emit_events(
        &self,
        placement: &reeve_api::ocm::Placement,
        decision_changes: &[(
            events::DecisionChange,
            k8s_openapi::api::core::v1::ObjectReference,
        )],
        schedule: &super::schedule::Schedule,
    ) {
        let about = events::placement(placement);
        for event in events::events(placement, decision_changes, schedule) {
            let information = reeve_runtime::events::InformationalEvent {
                reason: event.reason,
                action: event.action,
                note: &event.note,
                warning: event.warning,
            };
            self.events
                .emit_event_with_related(&about, Some(event.related), &information);
        }
    }
}
