//! The limits of a listener.

use std::time::Duration;

/// The limits of a listener. The default is for few clients: probes and readers of metrics.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How many connections are open at once. One more closes the one that has been without a request for longest.
    pub connections: usize,
    /// The time for a TLS handshake.
    pub handshake: Duration,
    /// The time for the head of a request, from its first byte; for the first one from the beginning of the connection.
    pub head: Duration,
    /// The largest head of a request in bytes.
    pub head_bytes: u32,
    /// The time for the body of a request, from the end of its head.
    pub body: Duration,
    /// The time without a request, or with a response that the client does not read.
    pub idle: Duration,
    /// How many requests of one HTTP/2 connection are answered at once.
    pub streams: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 64,
            handshake: Duration::from_secs(10),
            // As in a kube-apiserver, the same for `idle` and `streams`.
            head: Duration::from_secs(32),
            // A bearer token and a selector in the path have some kilobytes at most.
            head_bytes: 64 << 10,
            body: Duration::from_secs(30),
            idle: Duration::from_secs(90),
            streams: 100,
        }
    }
}

/// Why a listener closed a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClosedBecause {
    /// The handshake took too long.
    SlowHandshake,
    /// The head of a request took too long.
    SlowHead,
    /// The body of a request took too long.
    SlowBody,
    /// There was no request, or the client did not read the response.
    Idle,
    /// There were too many connections, and this one was without a request for longest.
    Evicted,
    /// There were too many connections, and all others had requests.
    Refused,
}

impl ClosedBecause {
    /// Every reason.
    pub const ALL: [Self; 6] = [
        Self::SlowHandshake,
        Self::SlowHead,
        Self::SlowBody,
        Self::Idle,
        Self::Evicted,
        Self::Refused,
    ];

    /// The name of the reason, as the label of a metric.
    pub fn name(self) -> &'static str {
        match self {
            Self::SlowHandshake => "slow_handshake",
            Self::SlowHead => "slow_head",
            Self::SlowBody => "slow_body",
            Self::Idle => "idle",
            Self::Evicted => "evicted",
            Self::Refused => "refused",
        }
    }
}
