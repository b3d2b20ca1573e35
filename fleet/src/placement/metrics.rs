//! Measures the duration of scheduling, in the metrics of the upstream scheduler.

use std::time::{Duration, Instant};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use reeve_runtime::metrics::{Description, Metrics};

use super::schedule::StepEnd;

const SCHEDULING: Description = Description::histogram(
    "scheduling_scheduling_duration_seconds",
    &["name"],
    "How long it takes to choose the clusters of a placement",
);
const BINDING: Description = Description::histogram(
    "scheduling_bind_duration_seconds",
    &["name"],
    "How long it takes to write the decisions of a placement",
);
const EXPRESSIONS: Description = Description::histogram(
    "scheduling_cel_runtime_duration_seconds",
    &["name"],
    "How long it takes to evaluate the expressions of a placement",
);
const PLUGINS: Description = Description::histogram(
    "scheduling_plugin_duration_seconds",
    &["name", "plugin_name", "plugin_type"],
    "How long a filter or a prioritizer takes for a placement",
);

const NAME: &str = "placement_scheduling";

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Named {
    name: &'static str,
}

const NAMED: Named = Named { name: NAME };

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Step {
    name: &'static str,
    plugin_type: &'static str,
    plugin_name: String,
}

type Seconds<L> = Family<L, Histogram, fn() -> Histogram>;

/// The histograms; clones share them.
#[derive(Clone)]
pub struct PlacementMetrics {
    scheduling: Seconds<Named>,
    binding: Seconds<Named>,
    expressions: Seconds<Named>,
    plugins: Seconds<Step>,
}

impl Default for PlacementMetrics {
    fn default() -> Self {
        // From one microsecond to a quarter of an hour.
        let seconds: fn() -> Histogram = || Histogram::new(exponential_buckets(1e-6, 10.0, 10));
        Self {
            scheduling: Family::new_with_constructor(seconds),
            binding: Family::new_with_constructor(seconds),
            expressions: Family::new_with_constructor(seconds),
            plugins: Family::new_with_constructor(seconds),
        }
    }
}

impl PlacementMetrics {
    /// Registers the histograms with a process's registry.
    pub fn new(metrics: &Metrics) -> Self {
        let ours = Self::default();
        metrics.register(&SCHEDULING, ours.scheduling.clone());
        metrics.register(&BINDING, ours.binding.clone());
        metrics.register(&EXPRESSIONS, ours.expressions.clone());
        metrics.register(&PLUGINS, ours.plugins.clone());
        ours
    }

    /// Records the duration of one schedule.
    pub(super) fn scheduled(&self, took: Duration) {
        let seconds = took.as_secs_f64();
        self.scheduling.get_or_create(&NAMED).observe(seconds);
    }

    /// Records the duration of the writes of decisions.
    pub(super) fn bound(&self, took: Duration) {
        self.binding
            .get_or_create(&NAMED)
            .observe(took.as_secs_f64());
    }

    /// Measures the steps of one schedule, each from the mark before it.
    pub(super) fn stopwatch(&self) -> impl FnMut(StepEnd<'_>) {
        let mut last = Instant::now();
        move |mark| {
            let seconds = last.elapsed().as_secs_f64();
            let plugin = |plugin_type, plugin_name: &str| {
                let step = Step {
                    name: NAME,
                    plugin_type,
                    plugin_name: plugin_name.to_owned(),
                };
                self.plugins.get_or_create(&step).observe(seconds);
            };
            match mark {
                // The mark of the filter that evaluates the expressions comes next.
                StepEnd::Expressions => {
                    self.expressions.get_or_create(&NAMED).observe(seconds);
                    return;
                }
                StepEnd::Begin => {}
                StepEnd::Filter(name) => plugin("filter", name),
                StepEnd::Prioritizer(name) => plugin("prioritizer", name),
            }
            last = Instant::now();
        }
    }
}
