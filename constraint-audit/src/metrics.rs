//! The metrics of an audit.

use prometheus_client::metrics::gauge::Gauge;
use reeve_runtime::metrics::{Description, Metrics};

const QUARANTINED: Description = Description::gauge(
    "reeve_constraint_templates_quarantined",
    &[],
    "Constraint templates that are not evaluated any more, because a process had to be killed for them",
);

/// The metrics of an audit.
pub const METRICS: &[Description] = &[QUARANTINED];

/// The gauges of an audit. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct AuditGauges {
    pub(crate) quarantined: Gauge,
}

impl AuditGauges {
    /// Gauges that are registered. A registry has them once.
    pub fn register(metrics: &Metrics) -> Self {
        let gauges = Self::default();
        metrics.register(&QUARANTINED, gauges.quarantined.clone());
        gauges
    }
}
