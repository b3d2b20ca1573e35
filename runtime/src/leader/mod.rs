//! Leader election: one process works, the others wait.
//!
//! The rules are those of client-go, whose components take part in the same elections: a Lease is written only over the
//! version that was read; a candidate takes it over after it has seen no change of the record for a whole lease
//! duration, by its own monotonic clock; a leader whose renewals fail stops at the renew deadline, which is earlier.
//! Two things are stricter: the deadline counts from when a renewal was sent, and a [`Fence`] keeps requests back that
//! would leave after it.
//!
//! [`LeaseTimings`] are the periods, `record` is the content of a Lease, `elector` decides, `candidate` does one round of
//! reading and writing, `lock` is the API server, and this file repeats rounds.

mod candidate;
mod elector;
mod lock;
#[cfg(test)]
mod model;
mod record;
pub mod shards;
mod timings;
mod watchdog;

use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::client::{self, ClientError, ClientOptions};
use crate::fence::Fence;
use crate::hostname::hostname;
use crate::metrics;

use candidate::{Ambient, Candidate, Round};
use lock::{ApiLock, Lock, LockError};
pub use timings::{InvalidTimings, LeaseTimings};
use watchdog::Watchdog;

/// The timeout of the release: like the renew deadline of client-go, with which it releases. With the ten seconds that reconciles have
/// to end it is less than the grace period of a Pod.
const RELEASE: Duration = Duration::from_secs(10);
/// Requests a second of an election's client: a round has three at most.
const QPS: f32 = 5.0;
const BURST: u32 = 10;

/// Why leadership was not acquired or was lost.
#[derive(Debug, thiserror::Error)]
pub enum LeaderError {
    /// There is no namespace to keep the lease in.
    #[error(
        "leader election needs a namespace for its lease: run in a Pod, or pass --leader-elect=false"
    )]
    NoNamespace,
    /// There are no random numbers for the identity of this candidate.
    #[error("cannot choose an identity for the leader election: {0}")]
    Identity(getrandom::Error),
    /// The lease was not renewed in time. Another process may lead from now on.
    #[error("leader election lost: the lease {lease} was not renewed within {seconds} s: {reason}")]
    NotRenewed {
        /// The lease's name.
        lease: Arc<str>,
        /// The renew deadline.
        seconds: u64,
        /// Why the last try failed.
        reason: String,
    },
    /// Another process leads now.
    #[error("leader election lost: the lease {lease} is held by {holder}")]
    Taken {
        /// The lease's name.
        lease: Arc<str>,
        /// The identity of the new leader.
        holder: String,
    },
    /// No thread can watch over the lease.
    #[error("cannot start the thread that watches over the lease {lease}: {source}")]
    Watchdog {
        /// The lease's name.
        lease: Arc<str>,
        /// Why.
        source: std::io::Error,
    },
    /// The task that renews the lease ended.
    #[error("leader election lost: the renewal of the lease {0} ended")]
    Ended(Arc<str>),
}

/// The election that a process takes part in.
pub struct Election {
    /// Reaches the API server of the lease: see [`connect`].
    pub client: Client,
    /// The lease's namespace.
    pub namespace: String,
    /// The lease's name.
    pub lease: &'static str,
    /// Its periods, the same for all candidates.
    pub timings: LeaseTimings,
    /// Holds back the requests of a lost leader.
    pub fence: Fence,
}

/// A separate client for the elections of so many leases: renewals do not wait behind the controllers' requests.
pub async fn connect(options: &ClientOptions, leases: u16) -> Result<Client, ClientError> {
    let options = ClientOptions {
        qps: QPS * f32::from(leases),
        burst: BURST * u32::from(leases),
        ..options.clone()
    };
    client::connect(&options).await
}

/// Leadership, renewed in the background until it is lost, released or dropped. A lease that is only dropped expires.
pub struct Leadership {
    lease: Arc<str>,
    renewal: AbortOnDropHandle<LeaderError>,
    release: Option<oneshot::Sender<()>>,
    _watchdog: Option<Watchdog>,
}

/// Waits until this process leads. `None` if `stop` came first. Errors of the API server are retried.
pub async fn acquire(
    election: Election,
    stop: &CancellationToken,
) -> Result<Option<Leadership>, LeaderError> {
    let Election {
        client,
        namespace,
        lease,
        timings,
        fence,
    } = election;
    let identity = identity().map_err(LeaderError::Identity)?;
    let lease: Arc<str> = lease.into();
    let lock = ApiLock::new(client, &namespace, Arc::clone(&lease));
    metrics::leads(&lease, false);
    let watched = fence.clone();
    tracing::info!(%lease, namespace, identity, "waiting to become the leader");
    let mut candidate = Candidate::new(lock, identity, timings, fence, Ambient::real());
    tokio::select! {
        () = stop.cancelled() => {
            // A claim may have been in flight.
            within_timeout(&lease, candidate.release()).await;
            return Ok(None);
        }
        () = campaign(&mut candidate, &lease) => {}
    }
    let watchdog = Watchdog::start(Arc::clone(&lease), watched);
    let watchdog = watchdog.map_err(|source| LeaderError::Watchdog {
        lease: Arc::clone(&lease),
        source,
    })?;
    metrics::leads(&lease, true);
    tracing::info!(%lease, "leading");
    let (release, released) = oneshot::channel();
    let renewed = Arc::clone(&lease);
    let renewal = tokio::spawn(async move {
        let outcome = lead(candidate, Arc::clone(&renewed), timings, released).await;
        metrics::leads(&renewed, false);
        outcome
    });
    Ok(Some(Leadership {
        lease,
        renewal: AbortOnDropHandle::new(renewal),
        release: Some(release),
        _watchdog: Some(watchdog),
    }))
}

impl Leadership {
    /// One that is lost when `lost` ends, and released when its sender is dropped.
    #[cfg(test)]
    pub(crate) fn of<F>(lost: impl FnOnce(oneshot::Receiver<()>) -> F) -> Self
    where
        F: Future<Output = LeaderError> + Send + 'static,
    {
        let (release, released) = oneshot::channel();
        Self {
            lease: "test".into(),
            renewal: AbortOnDropHandle::new(tokio::spawn(lost(released))),
            release: Some(release),
            _watchdog: None,
        }
    }

    /// Ends when this process must stop leading, at once and with all its work. Can be called again when its future
    /// was dropped.
    pub async fn lost(&mut self) -> LeaderError {
        match (&mut self.renewal).await {
            Ok(error) => error,
            Err(_) => LeaderError::Ended(Arc::clone(&self.lease)),
        }
    }

    /// Releases the lease, so that another process leads at its next try. All work of the leader must have ended.
    pub async fn release(mut self) {
        drop(self.release.take());
        within_timeout(&self.lease, self.renewal).await;
    }
}

/// Waits for a release as long as it may take. One that fails has logged why.
async fn within_timeout(lease: &str, release: impl Future) {
    if tokio::time::timeout(RELEASE, release).await.is_err() {
        let seconds = RELEASE.as_secs();
        tracing::warn!(%lease, seconds, "the leader lease was not released in time, it runs out");
    }
}

/// Tries until this process leads.
async fn campaign<L: Lock>(candidate: &mut Candidate<L>, lease: &Arc<str>) {
    let mut last = None;
    loop {
        let mut runs_out = None;
        match candidate.round().await {
            Ok(Round::Led) => return,
            Ok(Round::Held { holder, until }) => {
                runs_out = Some(until);
                if last.as_ref() != Some(&holder) {
                    tracing::info!(%lease, holder, "another process leads");
                    last = Some(holder);
                }
            }
            Err(LockError::Conflict) => tracing::debug!(%lease, "another candidate was faster"),
            Err(error) => {
                tracing::error!(%lease, %error, "cannot acquire the leader lease, trying again");
            }
        }
        tokio::time::sleep_until(candidate.next_try(runs_out)).await;
    }
}

/// Renews until that fails for too long, or until the sender of `release` is dropped: then the lease is released.
async fn lead<L: Lock>(
    mut candidate: Candidate<L>,
    lease: Arc<str>,
    timings: LeaseTimings,
    mut release: oneshot::Receiver<()>,
) -> LeaderError {
    let outcome = tokio::select! {
        // Dropped with the request that may be in flight: the release reads the Lease again.
        _ = &mut release => None,
        error = renew(&mut candidate, &lease, &timings) => Some(error),
    };
    if let Some(error) = outcome {
        tracing::error!(%lease, %error, "leader election lost");
        return error;
    }
    match candidate.release().await {
        Ok(()) => tracing::info!(%lease, "the leader lease was released"),
        Err(error) => {
            tracing::warn!(%lease, %error, "cannot release the leader lease, it runs out");
        }
    }
    LeaderError::Ended(lease)
}

/// Ends when this process must stop leading.
async fn renew<L: Lock>(
    candidate: &mut Candidate<L>,
    lease: &Arc<str>,
    timings: &LeaseTimings,
) -> LeaderError {
    let mut reason = "no request was sent".to_owned();
    loop {
        // Renewals move the deadline, so it is read again for every round.
        let give_up = candidate.give_up().unwrap_or_else(Instant::now);
        let round = async {
            tokio::time::sleep(timings.retry()).await;
            // The process may have been suspended: a renewal that is too late only makes the next leader wait.
            if Instant::now() >= give_up {
                std::future::pending::<()>().await;
            }
            candidate.round().await
        };
        match tokio::time::timeout_at(give_up, round).await {
            Ok(Ok(Round::Led)) => {}
            Ok(Ok(Round::Held { holder, .. })) => {
                return LeaderError::Taken {
                    lease: Arc::clone(lease),
                    holder,
                };
            }
            Ok(Err(error)) => {
                tracing::warn!(%lease, %error, "cannot renew the leader lease, trying again");
                reason = error.to_string();
            }
            Err(_) => {
                return LeaderError::NotRenewed {
                    lease: Arc::clone(lease),
                    seconds: timings.renew_deadline().as_secs(),
                    reason,
                };
            }
        }
    }
}

/// The identity of this candidate, in the form of client-go. A restarted Pod must not mistake itself for the old one,
/// nor one component of this process itself for another.
fn identity() -> Result<String, getrandom::Error> {
    let mut random = [0_u8; 16];
    getrandom::fill(&mut random)?;
    let number = u128::from_be_bytes(random);
    // The bits that mark a UUID of version 4.
    let number = number & !(0xf << 76) | (0x4 << 76);
    let number = number & !(0b11 << 62) | (0b10 << 62);
    let hex = format!("{number:032x}");
    let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| hex.get(part).unwrap_or_default());
    Ok(format!("{}_{}", hostname(), parts.join("-")))
}

/// A random number of 0 to 1. Without it candidates are only spread less.
fn fraction() -> f64 {
    let mut random = [0_u8; 2];
    let filled = getrandom::fill(&mut random);
    filled.map_or(0.5, |()| {
        f64::from(u16::from_be_bytes(random)) / f64::from(u16::MAX)
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use http::{Method, Request, Response, StatusCode};
    use kube::client::Body;
    use serde_json::json;
    use tower::BoxError;

    use super::*;

    /// An API server that rejects at first, then has no Lease, and stores the one that it gets. It hangs from the
    /// request with this number on.
    fn server(refusals: usize, hangs_from: usize) -> (Client, Arc<AtomicUsize>) {
        let asked = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&asked);
        let service = tower::service_fn(move |request: Request<Body>| {
            let number = counted.fetch_add(1, Ordering::SeqCst);
            async move {
                if number >= hangs_from {
                    std::future::pending::<()>().await;
                }
                let (head, body) = request.into_parts();
                let refused = |code: StatusCode, reason: &str| {
                    let body = json!({
                        "status": "Failure", "code": code.as_u16(), "message": "no", "reason": reason
                    });
                    (code, body.to_string().into_bytes())
                };
                let (code, body) = match head.method {
                    _ if number < refusals => refused(StatusCode::FORBIDDEN, "Forbidden"),
                    Method::GET => refused(StatusCode::NOT_FOUND, "NotFound"),
                    _ => (StatusCode::OK, body.collect_bytes().await?.to_vec()),
                };
                let mut answer = Response::new(Body::from(body));
                *answer.status_mut() = code;
                Ok::<_, BoxError>(answer)
            }
        });
        (Client::new(service, "default"), asked)
    }

    fn election(client: Client, lease: &'static str) -> Election {
        Election {
            client,
            namespace: "default".to_owned(),
            lease,
            timings: LeaseTimings::default(),
            fence: Fence::default(),
        }
    }

    fn status(lease: &str) -> String {
        let text = metrics::Metrics::default().text();
        let name = format!("leader_election_master_status{{name=\"{lease}\"}} ");
        let found = text.lines().find_map(|line| line.strip_prefix(&name));
        found.unwrap_or("absent").to_owned()
    }

    #[tokio::test(start_paused = true)]
    async fn rejected_candidate_retries_and_leads() {
        let (client, asked) = server(5, usize::MAX);
        let election = election(client, "refused");
        let fence = election.fence.clone();
        let leadership = acquire(election, &CancellationToken::new()).await.unwrap();
        assert!(leadership.is_some());
        assert_eq!(asked.load(Ordering::SeqCst), 5 + 2);
        assert_eq!(status("refused"), "1");
        let closes = fence.closes_at().unwrap().duration_since(Instant::now());
        assert_eq!(closes.as_secs(), 10);
    }

    #[tokio::test(start_paused = true)]
    async fn candidate_waits_for_no_longer_than_lease_of_dead_leader() {
        let service = tower::service_fn(|request: Request<Body>| async move {
            let (head, body) = request.into_parts();
            let lease = json!({
                "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": { "name": "dead" },
                "spec": { "holderIdentity": "dead", "leaseDurationSeconds": 137 },
            });
            let body = match head.method {
                Method::GET => lease.to_string().into_bytes(),
                _ => body.collect_bytes().await?.to_vec(),
            };
            Ok::<_, BoxError>(Response::new(Body::from(body)))
        });
        let election = Election {
            timings: LeaseTimings::LIBRARY_GO,
            ..election(Client::new(service, "default"), "dead")
        };
        let started = Instant::now();
        let leadership = acquire(election, &CancellationToken::new()).await.unwrap();
        assert!(leadership.is_some());
        // A retry period with its jitter is up to 57 s and would come later.
        assert_eq!(started.elapsed().as_secs(), 137);
    }

    #[tokio::test(start_paused = true)]
    async fn leader_whose_requests_hang_is_lost_at_renew_deadline() {
        let (client, asked) = server(0, 3);
        let election = election(client, "hangs");
        let fence = election.fence.clone();
        let stop = CancellationToken::new();
        let mut leadership = acquire(election, &stop).await.unwrap().unwrap();
        // Read, created, and renewed once after 2 s.
        let started = Instant::now();
        let error = leadership.lost().await.to_string();
        assert_eq!(started.elapsed().as_secs(), 12);
        assert!(!fence.is_open(Instant::now()));
        assert_eq!(status("hangs"), "0");
        let want = "leader election lost: the lease hangs was not renewed within 10 s: the API server did not answer";
        assert!(error.starts_with(want), "{error}");
        // A request that hangs leaves time for another one.
        assert_eq!(asked.load(Ordering::SeqCst), 5);
    }

    #[tokio::test(start_paused = true)]
    async fn stopped_candidate_does_not_lead() {
        let (client, _) = server(usize::MAX, usize::MAX);
        let stop = CancellationToken::new();
        let stopped = stop.clone();
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_mins(1)).await;
            stopped.cancel();
        });
        let leadership = acquire(election(client, "stopped"), &stop).await;
        assert!(leadership.unwrap().is_none());
    }

    #[test]
    fn identities_are_host_and_uuid_and_differ() {
        let (first, second) = (identity().unwrap(), identity().unwrap());
        assert_ne!(first, second);
        let (host, uuid) = first.rsplit_once('_').unwrap();
        assert_eq!(host, hostname());
        let lengths: Vec<_> = uuid.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12]);
        assert_eq!(uuid.get(14..15), Some("4"));
        assert!(matches!(uuid.get(19..20), Some("8" | "9" | "a" | "b")));
    }
}
