//! The metrics of controllers and their queues.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use tokio::time::Instant;

use super::{Description, Metrics};
use crate::activity::Component;

/// In seconds, as controller-runtime has them.
const RECONCILE_BUCKETS: [f64; 40] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9,
    1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0,
    25.0, 30.0, 40.0, 50.0, 60.0,
];

const RECONCILES: Description = Description::counter(
    "controller_runtime_reconcile",
    &["controller", "result"],
    "Total number of reconciliations per controller",
);
const RECONCILE_ERRORS: Description = Description::counter(
    "controller_runtime_reconcile_errors",
    &["controller"],
    "Total number of reconciliation errors per controller",
);
const RECONCILE_SECONDS: Description = Description::histogram(
    "controller_runtime_reconcile_time_seconds",
    &["controller"],
    "Length of time per reconciliation per controller",
);
const ACTIVE_WORKERS: Description = Description::gauge(
    "controller_runtime_active_workers",
    &["controller"],
    "Number of currently used workers per controller",
);
const MAX_WORKERS: Description = Description::gauge(
    "controller_runtime_max_concurrent_reconciles",
    &["controller"],
    "Maximum number of concurrent reconciles per controller",
);
const ADDS: Description = Description::counter(
    "workqueue_adds",
    &["controller", "name"],
    "Total number of adds handled by workqueue",
);
const DEPTH: Description = Description::gauge(
    "workqueue_depth",
    &["controller", "name"],
    "Current depth of workqueue",
);
const WAITS: Description = Description::histogram(
    "workqueue_queue_duration_seconds",
    &["controller", "name"],
    "How long in seconds an item stays in workqueue before being requested",
);
const WORKS: Description = Description::histogram(
    "workqueue_work_duration_seconds",
    &["controller", "name"],
    "How long in seconds processing an item from workqueue takes",
);
const RETRIES: Description = Description::counter(
    "workqueue_retries",
    &["controller", "name"],
    "Total number of retries handled by workqueue",
);
const UNFINISHED: Description = Description::gauge(
    "workqueue_unfinished_work_seconds",
    &["controller", "name"],
    "How many seconds of work has been done that is in progress and hasn't been observed by work_duration",
);
const LONGEST_RUNNING: Description = Description::gauge(
    "workqueue_longest_running_processor_seconds",
    &["controller", "name"],
    "How many seconds has the longest running processor for workqueue been running",
);

/// The metrics of every controller and its queue.
pub const CONTROLLER_METRICS: &[Description] = &[
    RECONCILES,
    RECONCILE_ERRORS,
    RECONCILE_SECONDS,
    ACTIVE_WORKERS,
    MAX_WORKERS,
    ADDS,
    DEPTH,
    WAITS,
    WORKS,
    RETRIES,
    UNFINISHED,
    LONGEST_RUNNING,
];

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Reconcile {
    controller: &'static str,
    result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Controller {
    controller: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Workqueue {
    controller: &'static str,
    name: &'static str,
}

impl Workqueue {
    fn of(controller: &'static str) -> Self {
        Self {
            controller,
            name: controller,
        }
    }
}

type Seconds<L> = Family<L, Histogram, fn() -> Histogram>;

/// The result of a reconcile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Success,
    Requeue,
    RequeueAfter,
    Error,
}

impl Outcome {
    const ALL: [&'static str; 4] = ["success", "error", "requeue", "requeue_after"];

    fn label(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Requeue => "requeue",
            Self::RequeueAfter => "requeue_after",
            Self::Error => "error",
        }
    }
}

/// A reconcile that has ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Worked {
    /// When it was begun.
    pub since: Instant,
    pub outcome: Outcome,
}

/// The metrics of controllers; clones share them.
#[derive(Clone)]
pub struct ControllerMetrics {
    reconciles: Family<Reconcile, Counter>,
    errors: Family<Controller, Counter>,
    seconds: Seconds<Controller>,
    active: Family<Controller, Gauge>,
    workers: Family<Controller, Gauge>,
    adds: Family<Workqueue, Counter>,
    depth: Family<Workqueue, Gauge>,
    waits: Seconds<Workqueue>,
    works: Seconds<Workqueue>,
    retries: Family<Workqueue, Counter>,
    running: Running,
    component: Component,
}

impl Default for ControllerMetrics {
    fn default() -> Self {
        let reconciles: fn() -> Histogram = || Histogram::new(RECONCILE_BUCKETS);
        // From ten nanoseconds to a quarter of an hour, as client-go has it.
        let queue: fn() -> Histogram = || Histogram::new(exponential_buckets(10e-9, 10.0, 12));
        Self {
            reconciles: Family::default(),
            errors: Family::default(),
            seconds: Family::new_with_constructor(reconciles),
            active: Family::default(),
            workers: Family::default(),
            adds: Family::default(),
            depth: Family::default(),
            waits: Family::new_with_constructor(queue),
            works: Family::new_with_constructor(queue),
            retries: Family::default(),
            running: Running::default(),
            component: Component::default(),
        }
    }
}

impl ControllerMetrics {
    /// Registers the metrics with a process's registry.
    pub fn new(metrics: &Metrics) -> Self {
        let ours = Self::default();
        metrics.register(&RECONCILES, ours.reconciles.clone());
        metrics.register(&RECONCILE_ERRORS, ours.errors.clone());
        metrics.register(&RECONCILE_SECONDS, ours.seconds.clone());
        metrics.register(&ACTIVE_WORKERS, ours.active.clone());
        metrics.register(&MAX_WORKERS, ours.workers.clone());
        metrics.register(&ADDS, ours.adds.clone());
        metrics.register(&DEPTH, ours.depth.clone());
        metrics.register(&WAITS, ours.waits.clone());
        metrics.register(&WORKS, ours.works.clone());
        metrics.register(&RETRIES, ours.retries.clone());
        metrics.register_collector(ours.running.clone());
        ours
    }

    /// The same, for the queues of a component whose activity is tracked.
    #[must_use]
    pub fn tracked_by(self, component: &Component) -> Self {
        Self {
            component: component.clone(),
            ..self
        }
    }

    /// The component of these queues.
    pub(crate) fn component(&self) -> &Component {
        &self.component
    }

    /// Creates a controller's series before its first reconcile.
    pub(crate) fn register(&self, controller: &'static str) {
        for result in Outcome::ALL {
            let _ = self
                .reconciles
                .get_or_create(&Reconcile { controller, result });
        }
        let (of, queue) = (Controller { controller }, Workqueue::of(controller));
        let _ = self.errors.get_or_create(&of);
        let _ = self.seconds.get_or_create(&of);
        let _ = self.active.get_or_create(&of);
        let _ = self.adds.get_or_create(&queue);
        let _ = self.depth.get_or_create(&queue);
        let _ = self.retries.get_or_create(&queue);
        self.running.0.lock().entry(controller).or_default();
    }

    /// Records the maximum of concurrent reconciles.
    pub(crate) fn workers_spawned(&self, controller: &'static str, workers: usize) {
        let workers = i64::try_from(workers).unwrap_or(i64::MAX);
        let gauge = self.workers.get_or_create(&Controller { controller });
        gauge.set(workers);
    }

    /// A key was enqueued; `depth` keys wait now.
    pub(crate) fn added(&self, controller: &'static str, depth: usize) {
        let queue = Workqueue::of(controller);
        self.adds.get_or_create(&queue).inc();
        self.set_depth(&queue, depth);
    }

    /// The reconcile of a key started, which has waited since then; `depth` others wait.
    pub(crate) fn began(&self, controller: &'static str, since: Instant, depth: usize) -> Instant {
        let queue = Workqueue::of(controller);
        let waited = since.elapsed().as_secs_f64();
        self.waits.get_or_create(&queue).observe(waited);
        self.set_depth(&queue, depth);
        self.active.get_or_create(&Controller { controller }).inc();
        self.running.begin(controller)
    }

    /// The reconcile of a key ended.
    pub(crate) fn ended(&self, controller: &'static str, worked: Worked) {
        let took = worked.since.elapsed().as_secs_f64();
        self.running.end(controller, worked.since);
        let (of, queue) = (Controller { controller }, Workqueue::of(controller));
        let result = worked.outcome.label();
        self.reconciles
            .get_or_create(&Reconcile { controller, result })
            .inc();
        if worked.outcome == Outcome::Error {
            self.errors.get_or_create(&of).inc();
        }
        if worked.outcome != Outcome::Success {
            self.retries.get_or_create(&queue).inc();
        }
        self.seconds.get_or_create(&of).observe(took);
        self.works.get_or_create(&queue).observe(took);
        self.active.get_or_create(&of).dec();
    }

    fn set_depth(&self, queue: &Workqueue, depth: usize) {
        let depth = i64::try_from(depth).unwrap_or(i64::MAX);
        self.depth.get_or_create(queue).set(depth);
    }
}

/// The start times of running reconciles, by controller. No two of a controller have the same time.
#[derive(Clone, Debug, Default)]
struct Running(Arc<Mutex<HashMap<&'static str, BTreeSet<Instant>>>>);

impl Running {
    fn begin(&self, controller: &'static str) -> Instant {
        let mut running = self.0.lock();
        let of = running.entry(controller).or_default();
        let mut since = Instant::now();
        while !of.insert(since) {
            since += Duration::from_nanos(1);
        }
        since
    }

    fn end(&self, controller: &'static str, since: Instant) {
        if let Some(of) = self.0.lock().get_mut(controller) {
            of.remove(&since);
        }
    }
}

impl Collector for Running {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let running = self.0.lock();
        let mut gauge = |description: &Description, seconds: fn(&BTreeSet<Instant>) -> Duration| {
            let mut metric = description.encode(&mut encoder)?;
            for (controller, of) in running.iter() {
                let gauge = ConstGauge::new(seconds(of).as_secs_f64());
                gauge.encode(metric.encode_family(&Workqueue::of(controller))?)?;
            }
            Ok(())
        };
        gauge(&UNFINISHED, |of| of.iter().map(Instant::elapsed).sum())?;
        gauge(&LONGEST_RUNNING, |of| {
            of.first().map(Instant::elapsed).unwrap_or_default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_exist_from_the_start_under_names_of_controller_runtime() {
        let metrics = Metrics::default();
        ControllerMetrics::new(&metrics).register("policy-spec-sync");
        let text = metrics.text();
        for line in [
            r#"controller_runtime_reconcile_total{controller="policy-spec-sync",result="success"} 0"#,
            r#"controller_runtime_reconcile_time_seconds_count{controller="policy-spec-sync"} 0"#,
            r#"controller_runtime_active_workers{controller="policy-spec-sync"} 0"#,
            r#"workqueue_depth{controller="policy-spec-sync",name="policy-spec-sync"} 0"#,
            r#"workqueue_unfinished_work_seconds{controller="policy-spec-sync",name="policy-spec-sync"} 0"#,
        ] {
            assert!(text.lines().any(|found| found == line), "{text}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn reconcile_is_counted_during_and_after_its_run() {
        let metrics = Metrics::default();
        let ours = ControllerMetrics::new(&metrics);
        ours.workers_spawned("c", 2);
        ours.added("c", 1);
        let since = ours.began("c", Instant::now(), 0);
        let other = ours.began("c", Instant::now(), 0);
        assert_ne!(since, other);
        tokio::time::advance(Duration::from_secs(3)).await;
        let has = |line: &str| metrics.text().lines().any(|found| found == line);
        assert!(has(
            r#"controller_runtime_active_workers{controller="c"} 2"#
        ));
        assert!(has(
            r#"controller_runtime_max_concurrent_reconciles{controller="c"} 2"#
        ));
        let longest = r#"workqueue_longest_running_processor_seconds{controller="c",name="c"} 3"#;
        assert!(has(longest), "{}", metrics.text());
        let outcome = Outcome::Error;
        ours.ended("c", Worked { since, outcome });
        assert!(has(
            r#"controller_runtime_reconcile_errors_total{controller="c"} 1"#
        ));
        assert!(has(r#"workqueue_retries_total{controller="c",name="c"} 1"#));
        assert!(has(
            r#"controller_runtime_reconcile_time_seconds_sum{controller="c"} 3"#
        ));
    }
}
