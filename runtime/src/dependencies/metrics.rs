//! Gauges of the watches, computed at each scrape.

use std::fmt;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::gauge::ConstGauge;

use super::Inner;
use crate::metrics::{Description, Metrics};
use crate::queue::Key;

const WATCHES: Description = Description::gauge(
    "reeve_dependency_watches",
    &[],
    "Watches that are open for objects that policies read",
);
const OBJECTS: Description = Description::gauge(
    "reeve_dependency_objects",
    &[],
    "Objects that are kept because policies read them or others of their kind",
);

/// The metrics of the watches of what policies read.
pub const DEPENDENCY_METRICS: &[Description] = &[WATCHES, OBJECTS];

/// The gauges of a registry: the sums over all [watches](super::DependencyWatches) that were added to them.
#[derive(Clone, Default)]
pub struct DependencyGauges(Arc<Mutex<Vec<Box<dyn Count>>>>);

/// What is counted of one set of watches.
struct Counts {
    watches: usize,
    objects: usize,
}

/// Counts until the watches are dropped.
trait Count: Send + Sync {
    fn counts(&self) -> Option<Counts>;
}

impl<R: Key> Count for Weak<Inner<R>> {
    fn counts(&self) -> Option<Counts> {
        let inner = self.upgrade()?;
        let state = inner.state.lock();
        Some(Counts {
            watches: state.running.len(),
            objects: state.index.objects(),
        })
    }
}

impl DependencyGauges {
    /// Gauges without watches, registered. A registry has them once.
    pub fn register(metrics: &Metrics) -> Self {
        let gauges = Self::default();
        metrics.register_collector(gauges.clone());
        gauges
    }

    pub(super) fn add<R: Key>(&self, watches: Weak<Inner<R>>) {
        self.0.lock().push(Box::new(watches));
    }
}

impl fmt::Debug for DependencyGauges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DependencyGauges")
    }
}

impl Collector for DependencyGauges {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let (mut watches, mut objects) = (0, 0);
        for counts in self.0.lock().iter().filter_map(|count| count.counts()) {
            watches += counts.watches;
            objects += counts.objects;
        }
        let mut gauge = |description: &Description, count: usize| {
            let gauge = ConstGauge::new(i64::try_from(count).unwrap_or(i64::MAX));
            gauge.encode(description.encode(&mut encoder)?)
        };
        gauge(&WATCHES, watches)?;
        gauge(&OBJECTS, objects)
    }
}
