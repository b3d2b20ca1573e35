//! Reports of what the limits end.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::limits::ClosedBecause;

/// The interval of log lines about closed connections.
const LOG_AT_MOST_EVERY: Duration = Duration::from_secs(30);

/// Reports what the limits end.
#[derive(Clone)]
pub(crate) struct Reporter(Arc<dyn Fn(ClosedBecause) + Send + Sync>);

impl Reporter {
    pub(crate) fn new(report: impl Fn(ClosedBecause) + Send + Sync + 'static) -> Self {
        Self(Arc::new(report))
    }

    pub(crate) fn report(&self, because: ClosedBecause) {
        (self.0)(because);
    }
}

/// Writes at most one line per interval, whatever the number of clients.
#[derive(Default)]
pub(crate) struct LimitLog {
    written: Option<Instant>,
    /// Since then.
    closed: u64,
}

impl LimitLog {
    pub(crate) fn write(&mut self, name: &str, reason: &dyn std::fmt::Display) {
        self.closed += 1;
        let now = Instant::now();
        if self.written.is_some_and(|at| now < at + LOG_AT_MOST_EVERY) {
            return;
        }
        let closed = std::mem::take(&mut self.closed);
        self.written = Some(now);
        tracing::warn!(server = name, %reason, closed, "connections were closed");
    }
}
