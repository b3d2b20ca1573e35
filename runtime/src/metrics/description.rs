//! What a metric is called, counts and is labelled with: a metric is registered by its description, and
//! `docs/reference/metrics.md` is generated from the same ones.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Metric;

use super::Metrics;

/// A metric of a process.
#[derive(Clone, Copy, Debug)]
pub struct Description {
    /// The name as the library takes it: a counter's is without `_total`.
    name: &'static str,
    kind: Kind,
    /// In the order of the alphabet, in which scripts expect them; without the `le` of a histogram's buckets.
    labels: &'static [&'static str],
    help: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Counter,
    Gauge,
    Histogram,
}

impl Description {
    /// A counter; `name` is without `_total`, which the encoder appends.
    pub const fn counter(
        name: &'static str,
        labels: &'static [&'static str],
        help: &'static str,
    ) -> Self {
        Self {
            name,
            kind: Kind::Counter,
            labels,
            help,
        }
    }

    /// A gauge.
    pub const fn gauge(
        name: &'static str,
        labels: &'static [&'static str],
        help: &'static str,
    ) -> Self {
        Self {
            name,
            kind: Kind::Gauge,
            labels,
            help,
        }
    }

    /// A histogram; its samples are `name` with `_bucket`, `_sum` and `_count`.
    pub const fn histogram(
        name: &'static str,
        labels: &'static [&'static str],
        help: &'static str,
    ) -> Self {
        Self {
            name,
            kind: Kind::Histogram,
            labels,
            help,
        }
    }

    /// The name under which the metric is read.
    pub fn exposed_name(&self) -> String {
        match self.kind {
            Kind::Counter => format!("{}_total", self.name),
            Kind::Gauge | Kind::Histogram => self.name.to_owned(),
        }
    }

    /// `counter`, `gauge` or `histogram`.
    pub fn kind(&self) -> &'static str {
        match self.kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        }
    }

    /// The names of the labels, without the `le` of a histogram's buckets.
    pub fn labels(&self) -> &'static [&'static str] {
        self.labels
    }

    /// What the metric counts.
    pub fn help(&self) -> &'static str {
        self.help
    }

    /// Encodes the metric's descriptor, for a [`Collector`].
    pub fn encode<'e>(
        &self,
        encoder: &'e mut DescriptorEncoder<'_>,
    ) -> Result<MetricEncoder<'e>, fmt::Error> {
        let kind = match self.kind {
            Kind::Counter => MetricType::Counter,
            Kind::Gauge => MetricType::Gauge,
            Kind::Histogram => MetricType::Histogram,
        };
        encoder.encode_descriptor(self.name, self.help, None, kind)
    }
}

impl Metrics {
    /// Adds a metric to the registry.
    pub fn register(&self, description: &Description, metric: impl Metric) {
        let mut registry = self.0.lock();
        registry.register(description.name, description.help, metric);
    }

    /// Adds metrics that are computed at each scrape.
    pub fn register_collector(&self, collector: impl Collector) {
        self.0.lock().register_collector(Box::new(collector));
    }
}
