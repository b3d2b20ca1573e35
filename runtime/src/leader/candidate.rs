//! One candidate's rounds: read, decide, write.

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use tokio::time::{Instant, timeout};

use super::elector::{Decision, Elector};
use super::lock::{Lock, LockError};
use super::record;
use super::timings::LeaseTimings;
use crate::fence::Fence;

/// The result of a round.
#[derive(Debug)]
pub(super) enum Round {
    /// The record is ours, and this process leads.
    Led,
    /// Another process leads, or may do so.
    Held {
        /// Who it is.
        holder: String,
        /// When the lease runs out, if the holder does not renew it.
        until: Instant,
    },
}

/// The sources of time and randomness, which tests replace.
pub(super) struct Ambient {
    /// The wall clock.
    pub(super) wall: Box<dyn Fn() -> Timestamp + Send + Sync>,
    /// A random number of 0 to 1.
    pub(super) fraction: Box<dyn Fn() -> f64 + Send + Sync>,
}

impl Ambient {
    /// The clock and the random numbers of the machine.
    pub(super) fn real() -> Self {
        Self {
            wall: Box::new(Timestamp::now),
            fraction: Box::new(super::fraction),
        }
    }
}

/// A process that takes part in an election.
pub(super) struct Candidate<L> {
    lock: L,
    elector: Elector,
    timings: LeaseTimings,
    fence: Fence,
    ambient: Ambient,
    /// The Lease as this process has written it last, with its resource version.
    written: Option<Lease>,
}

impl<L: Lock> Candidate<L> {
    pub(super) fn new(
        lock: L,
        identity: String,
        timings: LeaseTimings,
        fence: Fence,
        ambient: Ambient,
    ) -> Self {
        Self {
            lock,
            elector: Elector::new(identity, timings),
            timings,
            fence,
            ambient,
            written: None,
        }
    }

    /// When this process must stop leading.
    pub(super) fn give_up(&self) -> Option<Instant> {
        self.elector.give_up()
    }

    /// When a candidate tries next: after a retry period, or as soon as the lease of another process can run out. A
    /// candidate waits for a dead leader no longer than its lease.
    pub(super) fn next_try(&self, runs_out: Option<Instant>) -> Instant {
        let retry = Instant::now() + self.timings.jittered((self.ambient.fraction)());
        runs_out.map_or(retry, |runs_out| runs_out.min(retry))
    }

    /// Tries once to take the lease, or to renew it.
    pub(super) async fn round(&mut self) -> Result<Round, LockError> {
        if self.give_up().is_some()
            && let Some(written) = self.written.clone()
        {
            // Usually nothing has changed since. A lost response, an edit or a deletion shows as a conflict.
            match self.claim(Some(written)).await {
                Err(LockError::Conflict) => self.written = None,
                Err(error) => {
                    // After any error the next round reads the Lease.
                    self.written = None;
                    return Err(error);
                }
                led => return led,
            }
        }
        let found = self.bounded(self.lock.read()).await?;
        let record = found.as_ref().map(|lease| lease.spec.clone());
        let record = record.map(Option::unwrap_or_default);
        match self.elector.observe(record.as_ref(), Instant::now()) {
            Decision::Claim => self.claim(found).await,
            Decision::Wait { holder, until } => Ok(Round::Held { holder, until }),
        }
    }

    /// Writes our record over the one that was read.
    async fn claim(&mut self, before: Option<Lease>) -> Result<Round, LockError> {
        let record = before
            .as_ref()
            .map(|lease| lease.spec.clone().unwrap_or_default());
        let identity = self.elector.identity();
        let ours = record::held(
            record.as_ref(),
            identity,
            &self.timings,
            (self.ambient.wall)(),
        );
        let lease = Lease {
            spec: Some(ours.clone()),
            ..before.unwrap_or_default()
        };
        let sent = Instant::now();
        let stored = self.bounded(self.lock.write(lease)).await?;
        // Other rounds will read the record as the API server returns it.
        let ours = stored.spec.clone().unwrap_or(ours);
        let leads = self.elector.stored(&ours, sent, Instant::now());
        self.written = Some(stored);
        match self.give_up() {
            Some(at) if leads => self.fence.open_until(at),
            Some(_) | None => {
                let late = sent.elapsed().as_millis();
                return Err(LockError::NoAnswer(late));
            }
        }
        Ok(Round::Led)
    }

    /// Gives the lease up, so that the next candidate need not wait until it has run out.
    pub(super) async fn release(&mut self) -> Result<(), LockError> {
        self.fence.close();
        let known = self.written.take();
        if let Some(known) = known {
            match self.free(known).await {
                // A renewal may have been in flight.
                Err(LockError::Conflict) => {}
                outcome => return outcome,
            }
        }
        let Some(found) = self.lock.read().await? else {
            return Ok(());
        };
        let spec = found.spec.clone().unwrap_or_default();
        if record::holder(&spec) == Some(self.elector.identity()) {
            return self.free(found).await;
        }
        Ok(())
    }

    /// Hands the lease over: `to` leads from its next round on, and nobody else before the lease has run out.
    pub(super) async fn hand_over(&mut self, to: &str) -> Result<(), LockError> {
        self.fence.close();
        self.written = None;
        let Some(mut found) = self.lock.read().await? else {
            return Ok(());
        };
        let spec = found.spec.unwrap_or_default();
        if record::holder(&spec) != Some(self.elector.identity()) {
            return Ok(());
        }
        let theirs = record::held(Some(&spec), to, &self.timings, (self.ambient.wall)());
        found.spec = Some(theirs);
        self.lock.write(found).await.map(|_| ())
    }

    async fn free(&self, mut lease: Lease) -> Result<(), LockError> {
        let record = lease.spec.unwrap_or_default();
        lease.spec = Some(record::released(&record, (self.ambient.wall)()));
        self.lock.write(lease).await.map(|_| ())
    }

    /// A request, limited to its share of the renew deadline.
    async fn bounded<T>(
        &self,
        request: impl Future<Output = Result<T, LockError>> + Send,
    ) -> Result<T, LockError> {
        let limit = self.timings.request(self.give_up(), Instant::now());
        match timeout(limit, request).await {
            Ok(answer) => answer,
            Err(_) => Err(LockError::NoAnswer(limit.as_millis())),
        }
    }
}
