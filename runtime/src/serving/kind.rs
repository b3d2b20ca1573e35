//! The servers of a process, and their limits.

use reeve_serving::Limits;

/// A server of a process, which decides its limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ServerKind {
    /// `/healthz` and `/readyz`. The kubelet restarts a container whose probes fail.
    Health,
    /// `/metrics`.
    Metrics,
    /// What a component serves itself, by its name in messages.
    Own(&'static str),
}

impl ServerKind {
    /// The name in the log and in metrics.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Health => "health",
            Self::Metrics => "metrics",
            Self::Own(name) => name,
        }
    }

    /// Health and metrics have a few clients, a component's own server those of an API server. All of them together
    /// leave most of 1,024 file descriptors to the rest of the process.
    pub(super) fn limits(self) -> Limits {
        let connections = match self {
            Self::Health | Self::Metrics => 64,
            Self::Own(_) => 256,
        };
        Limits {
            connections,
            ..Limits::default()
        }
    }
}
