//! Gauges of the watches, computed at each scrape.

use std::fmt;
use std::sync::Weak;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::gauge::ConstGauge;

use super::Inner;
use crate::metrics::Description;
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

/// Encodes the gauges; nothing once the watches are dropped.
pub(super) struct Gauges<R>(pub(super) Weak<Inner<R>>);

impl<R> fmt::Debug for Gauges<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Gauges")
    }
}

impl<R: Key> Collector for Gauges<R> {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let Some(inner) = self.0.upgrade() else {
            return Ok(());
        };
        let (watches, objects) = {
            let state = inner.state.lock();
            (state.running.len(), state.index.objects())
        };
        let mut gauge = |description: &Description, count: usize| {
            let gauge = ConstGauge::new(i64::try_from(count).unwrap_or(i64::MAX));
            gauge.encode(description.encode(&mut encoder)?)
        };
        gauge(&WATCHES, watches)?;
        gauge(&OBJECTS, objects)
    }
}
