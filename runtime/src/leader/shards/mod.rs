//! Shards: several processes share the work, and each key has one process that works on it.
//!
//! A key belongs to a shard by consistent hashing (`ring`). Each shard has a Lease, and only its holder works on the shard
//! (`ownership`). Every process competes for all of them, so the shards of a dead process are taken over once their leases
//! have run out. A process that holds two fewer than another asks for one, by an annotation of the Lease (`assignment`); the
//! holder ends the work under way, and writes the name of the other into the Lease. Which processes there are need not be
//! known to anybody, and the rules that keep two processes from working at once are those of leader election.

mod assignment;
mod lock;
mod ownership;
mod ring;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use futures::future::try_join_all;
use jiff::Timestamp;
use kube::Client;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::candidate::{Ambient, Candidate};
use super::lock::{ApiLock, Lock, LockError};
use super::{LeaderError, LeaseTimings, RELEASE, campaign, identity, renew};
use crate::fence::Fence;
use crate::metrics;

use assignment::SeenLeases;
use lock::ShardLock;
pub use ownership::{Ownership, Turn};

/// The leases of shards that a process competes for.
pub struct ShardElection {
    /// Reaches the API server of the leases.
    pub client: Client,
    /// The namespace of the leases.
    pub namespace: String,
    /// What the name of each lease begins with.
    pub lease: &'static str,
    /// How many shards there are, the same for all processes: another number means other leases.
    pub count: u16,
    /// The periods of the leases, the same for all processes.
    pub timings: LeaseTimings,
    /// Holds back the requests of a process that has lost a lease.
    pub fence: Fence,
}

/// Called with the number of a shard after this process has begun or ended to work on it.
pub type OnChange = Arc<dyn Fn(u16) + Send + Sync>;

/// What the tasks of one process's shards share.
struct Process {
    identity: Arc<str>,
    ownership: Ownership,
    on_change: OnChange,
    timings: LeaseTimings,
    fence: Fence,
    seen: watch::Sender<SeenLeases>,
}

/// Competes for the shards until `stop`, and then gives them up one by one, each when its work has ended. An error means that a
/// lease was lost: the process must end, because another one may work on the shard.
pub async fn run(
    election: ShardElection,
    ownership: Ownership,
    on_change: OnChange,
    stop: CancellationToken,
) -> Result<(), LeaderError> {
    let identity: Arc<str> = identity().map_err(LeaderError::Identity)?.into();
    let ShardElection {
        client,
        namespace,
        lease,
        count,
        timings,
        fence,
    } = election;
    tracing::info!(
        lease,
        namespace,
        shards = count,
        %identity,
        "competing for the shards"
    );
    let locks = (0..count).map(|shard| {
        let name: Arc<str> = format!("{lease}-shard-{shard}-of-{count}").into();
        let lock = ApiLock::new(client.clone(), &namespace, Arc::clone(&name));
        (name, lock)
    });
    let process = Process {
        identity,
        ownership,
        on_change,
        timings,
        fence,
        seen: watch::Sender::new(SeenLeases::of(count)),
    };
    process.run(locks.collect(), stop).await
}

/// Why a process stops working on a shard.
enum End {
    Stop,
    HandOver(String),
}

impl Process {
    async fn run<L: Lock + Clone>(
        &self,
        locks: Vec<(Arc<str>, L)>,
        stop: CancellationToken,
    ) -> Result<(), LeaderError> {
        let lock = |(shard, (name, inner)): (u16, (Arc<str>, L))| {
            let identity = Arc::clone(&self.identity);
            let lock = ShardLock::new(inner, shard, identity, self.seen.clone());
            (name, lock)
        };
        let locks: Vec<_> = (0..).zip(locks).map(lock).collect();
        let shards = (0..).zip(&locks);
        let shards = shards.map(|(shard, (name, lock))| self.shard(shard, name, lock, &stop));
        tokio::select! {
            ended = try_join_all(shards) => ended.map(drop),
            () = self.request_shards(&locks) => Ok(()),
        }
    }

    /// Competes for one shard, works on it, and gives it up, again and again.
    async fn shard<L: Lock + Clone>(
        &self,
        shard: u16,
        lease: &Arc<str>,
        lock: &ShardLock<L>,
        stop: &CancellationToken,
    ) -> Result<(), LeaderError> {
        metrics::leads(lease, false);
        loop {
            let fence = self.fence.attach();
            let identity = self.identity.to_string();
            let mut candidate = Candidate::new(
                lock.clone(),
                identity,
                self.timings,
                fence.clone(),
                Ambient::real(),
            );
            let end = tokio::select! {
                () = stop.cancelled() => End::Stop,
                () = campaign(&mut candidate, lease) => {
                    metrics::leads(lease, true);
                    tracing::info!(%lease, "working on the shard");
                    self.ownership.open(shard);
                    (self.on_change)(shard);
                    let end = tokio::select! {
                        () = stop.cancelled() => End::Stop,
                        to = self.hand_over_due(shard) => End::HandOver(to),
                        error = renew(&mut candidate, lease, &self.timings) => return Err(error),
                    };
                    tokio::select! {
                        () = self.ownership.drain(shard) => {}
                        error = renew(&mut candidate, lease, &self.timings) => return Err(error),
                    }
                    metrics::leads(lease, false);
                    (self.on_change)(shard);
                    end
                }
            };
            // No request of this shard is under way.
            self.fence.detach(&fence);
            let given_up = async {
                match &end {
                    End::Stop => candidate.release().await,
                    End::HandOver(to) => candidate.hand_over(to).await,
                }
            };
            match tokio::time::timeout(RELEASE, given_up).await {
                Ok(Ok(())) => tracing::info!(%lease, "the shard was given up"),
                Ok(Err(error)) => {
                    tracing::warn!(%lease, %error, "cannot give the shard's lease up, it runs out");
                }
                Err(_) => {
                    tracing::warn!(%lease, "cannot give the shard's lease up in time, it runs out");
                }
            }
            if let End::Stop = end {
                return Ok(());
            }
        }
    }

    /// Ends when a shard of this process has to go to another process, whose identity it returns.
    async fn hand_over_due(&self, shard: u16) -> String {
        let mut seen = self.seen.subscribe();
        loop {
            let to = seen.borrow_and_update().to_hand_over(
                shard,
                &self.identity,
                tokio::time::Instant::now(),
                self.timings.lease(),
            );
            match to {
                // Another shard's task may decide with the same leases: the count has to go down before it does.
                Some(to) if self.promise(shard, &to) => return to,
                Some(_) | None => {}
            }
            if seen.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Records that a shard goes to another process, unless that has become unfair meanwhile.
    fn promise(&self, shard: u16, to: &str) -> bool {
        let now = tokio::time::Instant::now();
        self.seen.send_if_modified(|seen| {
            let due = seen.to_hand_over(shard, &self.identity, now, self.timings.lease());
            due.as_deref() == Some(to) && seen.record(shard, Some(to), None, now)
        })
    }

    /// Requests shards while another process holds at least two more. Never ends.
    async fn request_shards<L: Lock + Clone>(&self, locks: &[(Arc<str>, ShardLock<L>)]) {
        loop {
            tokio::time::sleep(self.timings.jittered(super::fraction())).await;
            let (now, valid) = (tokio::time::Instant::now(), self.timings.lease());
            let due = {
                let seen = self.seen.borrow();
                let shard = seen.to_request(&self.identity, now, valid);
                shard.and_then(|shard| Some((shard, seen.holder(shard)?.to_owned())))
            };
            let Some((shard, holder)) = due else { continue };
            let Some((lease, lock)) = locks.get(usize::from(shard)) else {
                continue;
            };
            let limit = self.timings.renew_deadline();
            let requested = lock.request(&holder, Timestamp::now());
            match tokio::time::timeout(limit, requested).await {
                Ok(Ok(())) => tracing::info!(%lease, holder, "requested the shard"),
                Ok(Err(LockError::Conflict)) | Err(_) => {}
                Ok(Err(error)) => tracing::warn!(%lease, %error, "cannot request the shard"),
            }
        }
    }
}
