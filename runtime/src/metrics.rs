//! Metrics: one registry per process, and the metrics of every controller.
//!
//! Names and labels are those of controller-runtime, for existing dashboards.

mod controllers;
mod description;
mod exposition;
mod owned;
mod process;

use std::sync::Arc;

use parking_lot::Mutex;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;

pub use controllers::{CONTROLLER_METRICS, ControllerMetrics};
pub(crate) use controllers::{Outcome, Worked};
pub use description::Description;
pub use exposition::CONTENT_TYPE;
pub use owned::OwnedFamily;
pub use process::PROCESS_METRICS;
pub(crate) use process::{closed, leads, requested, undecodable};

/// A registry; clones share it.
#[derive(Clone)]
pub struct Metrics(Arc<Mutex<Registry>>);

impl Default for Metrics {
    /// A registry with the metrics of the process.
    fn default() -> Self {
        let metrics = Self(Arc::default());
        process::register(&metrics);
        metrics
    }
}

impl Metrics {
    /// All metrics in Prometheus' text format 0.0.4: see [`CONTENT_TYPE`].
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail; a failing collector is left out of this scrape.
        if let Err(error) = encode(&mut text, &self.0.lock()) {
            tracing::error!(%error, "cannot encode metrics");
        }
        exposition::classic(&text)
    }
}
