//! Metrics: one registry a process, and the series that every controller has.
//!
//! Names and labels are those of controller-runtime, because dashboards exist.

mod exposition;

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

pub use exposition::CONTENT_TYPE;

/// The process's registry; clones share it.
#[derive(Clone, Default)]
pub struct Metrics(Arc<Mutex<Registry>>);

impl Metrics {
    /// Adds series to the registry.
    pub fn register<T>(&self, add: impl FnOnce(&mut Registry) -> T) -> T {
        add(&mut self.0.lock())
    }

    /// Everything in the text format 0.0.4 that Prometheus reads: see [`CONTENT_TYPE`].
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail; a collector that does is left out of this scrape.
        if let Err(error) = encode(&mut text, &self.0.lock()) {
            tracing::error!(%error, "cannot encode metrics");
        }
        exposition::classic(&text)
    }
}

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

/// What controllers count about their own work; clones share it.
#[derive(Clone, Default)]
pub struct ControllerMetrics {
    reconciles: Family<Reconcile, Counter>,
    errors: Family<Controller, Counter>,
    seconds: Family<Controller, Counter<f64, std::sync::atomic::AtomicU64>>,
    adds: Family<Workqueue, Counter>,
}

impl ControllerMetrics {
    /// The series, in a process's registry.
    pub fn new(metrics: &Metrics) -> Self {
        let ours = Self::default();
        // The encoder appends `_total` to counters.
        metrics.register(|registry| {
            registry.register(
                "controller_runtime_reconcile",
                "Total number of reconciliations per controller",
                ours.reconciles.clone(),
            );
            registry.register(
                "controller_runtime_reconcile_errors",
                "Total number of reconciliation errors per controller",
                ours.errors.clone(),
            );
            registry.register(
                "controller_runtime_reconcile_time_seconds",
                "Time spent in reconciliations per controller",
                ours.seconds.clone(),
            );
            registry.register(
                "workqueue_adds",
                "Total number of adds handled by workqueue",
                ours.adds.clone(),
            );
        });
        ours
    }

    /// Makes a controller's series exist before its first reconcile.
    pub(crate) fn register(&self, controller: &'static str) {
        for result in ["success", "error", "requeue", "requeue_after"] {
            let _ = self
                .reconciles
                .get_or_create(&Reconcile { controller, result });
        }
        let _ = self.errors.get_or_create(&Controller { controller });
    }

    pub(crate) fn added(&self, controller: &'static str) {
        self.adds
            .get_or_create(&Workqueue {
                controller,
                name: controller,
            })
            .inc();
    }

    pub(crate) fn reconciled(
        &self,
        controller: &'static str,
        result: &'static str,
        took: Duration,
    ) {
        self.reconciles
            .get_or_create(&Reconcile { controller, result })
            .inc();
        if result == "error" {
            self.errors.get_or_create(&Controller { controller }).inc();
        }
        self.seconds
            .get_or_create(&Controller { controller })
            .inc_by(took.as_secs_f64());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_exist_from_the_start_under_the_names_that_dashboards_know() {
        let metrics = Metrics::default();
        ControllerMetrics::new(&metrics).register("policy-spec-sync");
        let text = metrics.text();
        let line = "controller_runtime_reconcile_total{controller=\"policy-spec-sync\",result=\"success\"} 0";
        assert!(text.lines().any(|found| found == line), "{text}");
    }
}
