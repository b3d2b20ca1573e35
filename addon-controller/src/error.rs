//! What can go wrong in the process.

use reeve_runtime::client::ClientError;
use reeve_runtime::leader::LeaderError;
use reeve_runtime::logging::InvalidLevel;
use reeve_runtime::serving::ServeError;
use reeve_runtime::supervisor::TaskError;

/// Why the process ends.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// `--log-level` is no level.
    #[error(transparent)]
    LogLevel(#[from] InvalidLevel),
    /// There is no way to the hub.
    #[error("cannot connect to the hub")]
    Client(#[from] ClientError),
    /// Probes or metrics cannot be served.
    #[error("cannot serve probes or metrics")]
    Serve(#[from] ServeError),
    /// There is no leadership to be had, or it is lost.
    #[error(transparent)]
    Leader(#[from] LeaderError),
    /// A task ended that must not.
    #[error(transparent)]
    Task(#[from] TaskError),
}
