//! The gauge of objects that hub templates watch, computed when metrics are scraped.

use std::fmt;
use std::sync::Weak;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::gauge::ConstGauge;

use super::Inner;
use crate::metrics::ACTIVE_WATCHES;

/// The collector of the gauge.
pub(super) struct WatchedObjects(pub(super) Weak<Inner>);

impl fmt::Debug for WatchedObjects {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("WatchedObjects")
    }
}

impl Collector for WatchedObjects {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let count = self.0.upgrade().map_or(0, |inner| inner.watched_objects());
        let gauge = ConstGauge::new(i64::try_from(count).unwrap_or(i64::MAX));
        gauge.encode(ACTIVE_WATCHES.encode(&mut encoder)?)
    }
}
