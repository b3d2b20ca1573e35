//! Gauges of the watches, computed at each scrape.

use std::fmt;
use std::sync::Weak;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::gauge::ConstGauge;

use super::Inner;
use crate::queue::Key;

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
        let mut gauge = |name, help, count: usize| {
            let gauge = ConstGauge::new(i64::try_from(count).unwrap_or(i64::MAX));
            let encoder = encoder.encode_descriptor(name, help, None, gauge.metric_type())?;
            gauge.encode(encoder)
        };
        gauge(
            "reeve_dependency_watches",
            "Watches that are open for objects that policies read",
            watches,
        )?;
        gauge(
            "reeve_dependency_objects",
            "Objects that are kept because policies read them or others of their kind",
            objects,
        )
    }
}
