//! Leader election: one process works, the others wait.

use std::time::Duration;

use kube::Client;
use kube_lease_manager::{LeaseManager, LeaseManagerBuilder, LeaseManagerError};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::{events, metrics};

/// How long a lease holds without renewal, in seconds, as in controller-runtime.
const LEASE_SECONDS: u64 = 15;
/// How long before its end it is renewed, in seconds: every 10 s of 15.
const GRACE_SECONDS: u64 = 5;
/// How long giving the lease back may take.
const RELEASE: Duration = Duration::from_secs(2);

/// Why leadership could not be had or ended.
#[derive(Debug, thiserror::Error)]
pub enum LeaderError {
    /// There is no namespace to keep the lease in.
    #[error(
        "leader election needs a namespace for its lease: run in a Pod, or pass --leader-elect=false"
    )]
    NoNamespace,
    /// The lease cannot be read or created.
    #[error("cannot take part in the election for lease {lease}: {reason}")]
    Lease {
        /// The lease's name.
        lease: &'static str,
        /// Why.
        reason: String,
    },
    /// Another process leads now.
    #[error("leadership of lease {0} was lost")]
    Lost(&'static str),
}

/// Leadership, held until dropped.
pub struct Leadership {
    lease: &'static str,
    leading: watch::Receiver<bool>,
    manager: JoinHandle<Result<LeaseManager, LeaseManagerError>>,
}

/// Waits until this process leads. `None` if `stop` came first.
pub async fn acquire(
    client: Client,
    namespace: &str,
    lease: &'static str,
    stop: &CancellationToken,
) -> Result<Option<Leadership>, LeaderError> {
    let failed = |reason: &dyn std::fmt::Display| LeaderError::Lease {
        lease,
        reason: reason.to_string(),
    };
    // Unique per candidate: a restarted Pod must not take itself for the old one, nor one component
    // of this process itself for another.
    let identity = events::event_name(events::host(), events::unique_now()).replace('.', "_");
    let manager = LeaseManagerBuilder::new(client, lease)
        .with_namespace(namespace)
        .with_identity(identity)
        .with_duration(LEASE_SECONDS)
        .with_grace(GRACE_SECONDS)
        .build()
        .await
        .map_err(|error| failed(&error))?;
    metrics::leads(lease, false);
    tracing::info!(lease, namespace, "waiting to become the leader");
    let (mut leading, manager) = manager.watch().await;
    tokio::select! {
        () = stop.cancelled() => return Ok(None),
        became = leading.wait_for(|leading| *leading) => {
            became.map_err(|error| failed(&error))?;
        }
    }
    metrics::leads(lease, true);
    tracing::info!(lease, "leading");
    Ok(Some(Leadership {
        lease,
        leading,
        manager,
    }))
}

impl Leadership {
    /// Ends with an error when another process may lead, and well when `stop` comes.
    pub async fn keep(mut self, stop: CancellationToken) -> Result<(), LeaderError> {
        tokio::select! {
            () = stop.cancelled() => {}
            _ = self.leading.wait_for(|leading| !*leading) => {
                metrics::leads(self.lease, false);
                return Err(LeaderError::Lost(self.lease));
            }
        }
        // The manager gives the lease back once nobody listens. Wait for it, but not for a hub
        // that does not answer.
        drop(self.leading);
        let _ = tokio::time::timeout(RELEASE, self.manager).await;
        Ok(())
    }
}
