//! Decides who may take the lease, and until when it may lead: pure, all times are of this process's own monotonic
//! clock. No clock is compared with another machine's.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::LeaseSpec;
use tokio::time::Instant;

use super::record;
use super::timings::LeaseTimings;

/// The possible leader of a deleted Lease.
const DELETED: &str = "the last holder of a Lease that was deleted";

/// What to do after the record was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// Write our record.
    Claim,
    /// Another process leads, or may do so.
    Wait {
        /// Who it is.
        holder: String,
        /// When the lease runs out, if the record does not change again.
        until: Instant,
    },
}

/// One candidate's view of the election.
pub(super) struct Elector {
    identity: String,
    timings: LeaseTimings,
    seen: Option<Seen>,
    give_up: Option<Instant>,
}

/// The record as it was last read.
struct Seen {
    record: Option<LeaseSpec>,
    /// The possible leader by it.
    holder: Option<String>,
    /// How long the holder may lead after it has written the record.
    valid: Duration,
    /// When the holder's time is over, if the record does not change again.
    over: Instant,
}

impl Elector {
    pub(super) fn new(identity: String, timings: LeaseTimings) -> Self {
        Self {
            identity,
            timings,
            seen: None,
            give_up: None,
        }
    }

    pub(super) fn identity(&self) -> &str {
        &self.identity
    }

    /// When this process must stop leading; `None` while it does not lead.
    pub(super) fn give_up(&self) -> Option<Instant> {
        self.give_up
    }

    /// Records the Lease as the API server has it. `now` is a time after its response.
    ///
    /// The lease runs on our own clock from the moment in which we saw the record change: the holder sent that renewal
    /// before, so its own deadline, which is shorter, is over first.
    pub(super) fn observe(&mut self, record: Option<&LeaseSpec>, now: Instant) -> Decision {
        let is_same = |seen: &Seen| seen.record.as_ref() == record;
        if !self.seen.as_ref().is_some_and(is_same) {
            let before = self.seen.take();
            let (holder, valid) = self.read(record, before.as_ref());
            self.seen = Some(Seen {
                record: record.cloned(),
                holder,
                valid,
                over: now + valid,
            });
        }
        match &self.seen {
            Some(Seen {
                holder: Some(holder),
                over,
                ..
            }) if now < *over && *holder != self.identity => Decision::Wait {
                holder: holder.clone(),
                until: *over,
            },
            Some(_) | None => Decision::Claim,
        }
    }

    /// The possible leader by a record that has just appeared, and for how long from now on.
    fn read(
        &self,
        record: Option<&LeaseSpec>,
        before: Option<&Seen>,
    ) -> (Option<String>, Duration) {
        match record {
            Some(record) => {
                let holder = record::holder(record).map(str::to_owned);
                (holder, record::duration(record, &self.timings))
            }
            // A user deleted the Lease. Its holder, which need not be the last one that was seen, does not know that
            // before its next renewal, and leads until then.
            None => match before {
                Some(seen) if self.give_up.is_none() => {
                    let valid = seen.valid.max(self.timings.lease());
                    (Some(DELETED.to_owned()), valid)
                }
                Some(_) | None => (None, Duration::ZERO),
            },
        }
    }

    /// Records that the API server has stored our record, which was sent at `sent`. Returns whether we lead by it.
    ///
    /// The deadline counts from when the renewal was sent, not from when it was answered: candidates may have seen it
    /// any time after that, and their clocks run from then.
    pub(super) fn stored(&mut self, record: &LeaseSpec, sent: Instant, now: Instant) -> bool {
        let give_up = sent + self.timings.renew_deadline();
        self.seen = Some(Seen {
            record: Some(record.clone()),
            holder: Some(self.identity.clone()),
            valid: self.timings.lease(),
            over: now,
        });
        // The process may have been suspended in the meantime. The next round reads the record and renews it.
        let leads = now < give_up;
        if leads {
            self.give_up = Some(give_up);
        }
        leads
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn record(holder: &str, transitions: i32) -> LeaseSpec {
        LeaseSpec {
            holder_identity: Some(holder.to_owned()),
            lease_duration_seconds: Some(15),
            lease_transitions: Some(transitions),
            ..LeaseSpec::default()
        }
    }

    fn elector() -> (Elector, Instant) {
        let timings = LeaseTimings::CONTROLLER_RUNTIME;
        (Elector::new("us".to_owned(), timings), Instant::now())
    }

    fn waits(decision: &Decision) -> bool {
        matches!(decision, Decision::Wait { holder, .. } if holder == "them")
    }

    #[tokio::test(start_paused = true)]
    async fn candidate_waits_whole_lease_from_last_change_it_saw() {
        let (mut elector, start) = elector();
        let first = record("them", 0);
        assert!(waits(&elector.observe(Some(&first), start)));
        assert!(waits(&elector.observe(Some(&first), start + 14 * SECOND)));
        let second = record("them", 1);
        assert!(waits(&elector.observe(Some(&second), start + 14 * SECOND)));
        assert!(waits(&elector.observe(Some(&second), start + 28 * SECOND)));
        let decision = elector.observe(Some(&second), start + 29 * SECOND);
        assert_eq!(decision, Decision::Claim);
    }

    #[tokio::test(start_paused = true)]
    async fn candidate_waits_as_long_as_holder_says() {
        let (mut elector, start) = elector();
        let long = LeaseSpec {
            lease_duration_seconds: Some(137),
            ..record("them", 0)
        };
        assert!(waits(&elector.observe(Some(&long), start)));
        assert!(waits(&elector.observe(Some(&long), start + 136 * SECOND)));
        let decision = elector.observe(Some(&long), start + 137 * SECOND);
        assert_eq!(decision, Decision::Claim);
    }

    #[tokio::test(start_paused = true)]
    async fn released_and_absent_leases_are_claimed_at_once() {
        let (mut fresh, start) = elector();
        assert_eq!(fresh.observe(None, start), Decision::Claim);
        let (mut waiting, start) = elector();
        waiting.observe(Some(&record("them", 0)), start);
        let free = LeaseSpec::default();
        assert_eq!(
            waiting.observe(Some(&free), start + SECOND),
            Decision::Claim
        );
    }

    #[tokio::test(start_paused = true)]
    async fn deleted_lease_is_left_to_holder_that_does_not_know_yet() {
        let (mut elector, start) = elector();
        elector.observe(Some(&record("them", 0)), start);
        let wait = Decision::Wait {
            holder: DELETED.to_owned(),
            until: start + 25 * SECOND,
        };
        assert_eq!(elector.observe(None, start + 10 * SECOND), wait);
        assert_eq!(elector.observe(None, start + 24 * SECOND), wait);
        let decision = elector.observe(None, start + 25 * SECOND);
        assert_eq!(decision, Decision::Claim);
    }

    #[tokio::test(start_paused = true)]
    async fn leader_gives_up_from_when_renewal_was_sent() {
        let (mut elector, start) = elector();
        let ours = record("us", 0);
        assert!(elector.stored(&ours, start, start + 4 * SECOND));
        assert_eq!(elector.give_up(), Some(start + 10 * SECOND));
        // Its own record needs no wait, nor does its deletion.
        assert_eq!(
            elector.observe(Some(&ours), start + 5 * SECOND),
            Decision::Claim
        );
        assert_eq!(elector.observe(None, start + 6 * SECOND), Decision::Claim);
        let theirs = record("them", 1);
        assert!(waits(&elector.observe(Some(&theirs), start + 7 * SECOND)));
    }

    #[tokio::test(start_paused = true)]
    async fn response_after_deadline_does_not_make_a_leader() {
        let (mut elector, start) = elector();
        assert!(!elector.stored(&record("us", 0), start, start + 10 * SECOND));
        assert_eq!(elector.give_up(), None);
    }
}
