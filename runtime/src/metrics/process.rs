//! The metrics of the process, whichever controllers it has: requests to API servers, and leadership.

use std::sync::LazyLock;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;

use super::{Description, Metrics};

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Request {
    code: String,
    host: String,
    method: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Lease {
    name: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Watched {
    kind: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Closed {
    reason: &'static str,
    server: &'static str,
}

/// Clients and leases exist before and apart from any registry, so these belong to the process.
static REQUESTS: LazyLock<Family<Request, Counter>> = LazyLock::new(Family::default);
static LEADING: LazyLock<Family<Lease, Gauge>> = LazyLock::new(Family::default);
static UNDECODABLE: LazyLock<Family<Watched, Counter>> = LazyLock::new(Family::default);

static CLOSED: LazyLock<Family<Closed, Counter>> = LazyLock::new(Family::default);

const REQUESTS_TOTAL: Description = Description::counter(
    "rest_client_requests",
    &["code", "host", "method"],
    "Number of HTTP requests, partitioned by status code, method, and host",
);
const MASTER_STATUS: Description = Description::gauge(
    "leader_election_master_status",
    &["name"],
    "Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 indicates master",
);
const WATCH_UNDECODABLE: Description = Description::counter(
    "reeve_watch_undecodable",
    &["kind"],
    "Number of objects and events of watches that could not be decoded, partitioned by kind",
);
const SERVER_CLOSED: Description = Description::counter(
    "reeve_server_closed",
    &["reason", "server"],
    "Connections and requests that a limit of a server ended: evicted, idle, refused, slow_body, slow_handshake or slow_head",
);

/// The metrics of the process, whichever controllers it has.
pub const PROCESS_METRICS: &[Description] = &[
    REQUESTS_TOTAL,
    MASTER_STATUS,
    WATCH_UNDECODABLE,
    SERVER_CLOSED,
];

pub(super) fn register(metrics: &Metrics) {
    metrics.register(&REQUESTS_TOTAL, REQUESTS.clone());
    metrics.register(&MASTER_STATUS, LEADING.clone());
    metrics.register(&WATCH_UNDECODABLE, UNDECODABLE.clone());
    metrics.register(&SERVER_CLOSED, CLOSED.clone());
}

/// Counts what a limit of a server ended.
pub(crate) fn closed(server: &'static str, reason: &'static str) {
    CLOSED.get_or_create(&Closed { reason, server }).inc();
}

/// Counts a request to `host` (`name:port`); `code` is absent when no answer came.
pub(crate) fn requested(host: &str, method: &http::Method, code: Option<http::StatusCode>) {
    let code = code.map_or_else(|| "<error>".to_owned(), |code| code.as_str().to_owned());
    let request = Request {
        code,
        host: host.to_owned(),
        method: method.to_string(),
    };
    REQUESTS.get_or_create(&request).inc();
}

/// Counts an object or an event of a watch that cannot be decoded.
pub(crate) fn undecodable(kind: &str) {
    let watched = Watched {
        kind: kind.to_owned(),
    };
    UNDECODABLE.get_or_create(&watched).inc();
}

/// Records whether this process leads.
pub(crate) fn leads(lease: &str, leads: bool) {
    let gauge = LEADING.get_or_create(&Lease {
        name: lease.to_owned(),
    });
    gauge.set(i64::from(leads));
}

#[cfg(test)]
mod tests {
    use crate::metrics::Metrics;

    #[test]
    fn every_registry_has_process_metrics() {
        let metrics = Metrics::default();
        super::requested("127.0.0.1:6443", &http::Method::GET, None);
        super::requested(
            "127.0.0.1:6443",
            &http::Method::PUT,
            Some(http::StatusCode::CONFLICT),
        );
        super::leads("test-lease", true);
        let text = metrics.text();
        for line in [
            r#"rest_client_requests_total{code="<error>",host="127.0.0.1:6443",method="GET"} 1"#,
            r#"rest_client_requests_total{code="409",host="127.0.0.1:6443",method="PUT"} 1"#,
            r#"leader_election_master_status{name="test-lease"} 1"#,
        ] {
            assert!(text.lines().any(|found| found == line), "{text}");
        }
    }
}
