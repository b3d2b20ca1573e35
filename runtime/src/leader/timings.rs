//! How long a lease is valid, and how often it is renewed.

use std::time::Duration;

use tokio::time::Instant;

/// A candidate waits the retry period and up to this many times the retry period more, at random: candidates that
/// were started together do not write together.
const JITTER: f64 = 1.2;

/// The three periods of leader election. The lease outlives the leader's work: a leader stops at the renew deadline,
/// and no other process starts before the lease has run out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseTimings {
    lease: Duration,
    renew_deadline: Duration,
    retry: Duration,
}

/// Why three periods are invalid.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTimings {
    /// The API server keeps seconds.
    #[error("the lease duration must be a number of whole seconds, at least one: {0:?}")]
    Seconds(Duration),
    /// The leader would continue after its lease has run out.
    #[error(
        "the lease duration {lease:?} must be longer than the renew deadline {renew_deadline:?}"
    )]
    Deadline {
        /// How long the lease is valid.
        lease: Duration,
        /// When the leader gives up.
        renew_deadline: Duration,
    },
    /// The leader would give up before its second try.
    #[error(
        "the renew deadline {renew_deadline:?} must be longer than 1.2 times the retry period {retry:?}, which must not be zero"
    )]
    Retry {
        /// When the leader gives up.
        renew_deadline: Duration,
        /// The time between two tries.
        retry: Duration,
    },
}

impl LeaseTimings {
    /// The periods of controller-runtime: 15 s, 10 s, 2 s.
    pub const CONTROLLER_RUNTIME: Self = Self::seconds(15, 10, 2);
    /// The periods of library-go, for components that must survive an API server's restart: 137 s, 107 s, 26 s.
    pub const LIBRARY_GO: Self = Self::seconds(137, 107, 26);

    /// The periods of library-go where one node has the whole control plane, which is unavailable for minutes during
    /// an update.
    pub const SINGLE_NODE: Self = Self::seconds(270, 240, 60);

    const fn seconds(lease: u64, renew_deadline: u64, retry: u64) -> Self {
        Self {
            lease: Duration::from_secs(lease),
            renew_deadline: Duration::from_secs(renew_deadline),
            retry: Duration::from_secs(retry),
        }
    }

    /// Checks that the lease outlives the renew deadline, and the deadline a repeated try.
    pub fn new(
        lease: Duration,
        renew_deadline: Duration,
        retry: Duration,
    ) -> Result<Self, InvalidTimings> {
        let whole = lease.subsec_nanos() == 0 && i32::try_from(lease.as_secs()).is_ok();
        if !whole || lease.is_zero() {
            return Err(InvalidTimings::Seconds(lease));
        }
        if lease <= renew_deadline {
            return Err(InvalidTimings::Deadline {
                lease,
                renew_deadline,
            });
        }
        if retry.is_zero() || renew_deadline <= retry.mul_f64(JITTER) {
            return Err(InvalidTimings::Retry {
                renew_deadline,
                retry,
            });
        }
        Ok(Self {
            lease,
            renew_deadline,
            retry,
        })
    }

    /// How long a candidate waits after the last change of the record.
    pub(super) fn lease(&self) -> Duration {
        self.lease
    }

    /// How long after the last successful renewal the leader gives up.
    pub(super) fn renew_deadline(&self) -> Duration {
        self.renew_deadline
    }

    /// The time between two renewals.
    pub(super) fn retry(&self) -> Duration {
        self.retry
    }

    /// The time until a candidate's next try, where `fraction` is a random number of 0 to 1.
    pub(super) fn jittered(&self, fraction: f64) -> Duration {
        self.retry + self.retry.mul_f64(JITTER * fraction.clamp(0.0, 1.0))
    }

    /// The timeout of one request: half of the renew deadline, so that a dead connection leaves time for a try on a
    /// new one; less if the leader has to give up before.
    pub(super) fn request(&self, give_up: Option<Instant>, now: Instant) -> Duration {
        let half = self.renew_deadline / 2;
        give_up.map_or(half, |at| half.min(at.saturating_duration_since(now)))
    }
}

impl Default for LeaseTimings {
    fn default() -> Self {
        Self::CONTROLLER_RUNTIME
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(lease: u64, renew_deadline: u64, retry: u64) -> Result<LeaseTimings, InvalidTimings> {
        let millis = Duration::from_millis;
        LeaseTimings::new(millis(lease), millis(renew_deadline), millis(retry))
    }

    #[test]
    fn timings_that_allow_two_leaders_are_rejected() {
        assert_eq!(
            made(15_000, 10_000, 2_000),
            Ok(LeaseTimings::CONTROLLER_RUNTIME)
        );
        assert_eq!(made(137_000, 107_000, 26_000), Ok(LeaseTimings::LIBRARY_GO));
        for (lease, deadline, retry, want) in [
            (10_000, 10_000, 2_000, "longer than the renew deadline"),
            (15_000, 2_400, 2_000, "longer than 1.2 times"),
            (15_000, 10_000, 0, "must not be zero"),
            (15_500, 10_000, 2_000, "whole seconds"),
            (0, 0, 0, "whole seconds"),
        ] {
            let error = made(lease, deadline, retry).unwrap_err().to_string();
            assert!(error.contains(want), "{error}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn no_request_outlives_the_renew_deadline() {
        let (timings, now) = (LeaseTimings::default(), Instant::now());
        let at = |seconds| Some(now + Duration::from_secs(seconds));
        assert_eq!(timings.request(None, now).as_secs(), 5);
        assert_eq!(timings.request(at(9), now).as_secs(), 5);
        assert_eq!(timings.request(at(3), now).as_secs(), 3);
        assert_eq!(
            timings.request(at(0), now + timings.lease()),
            Duration::ZERO
        );
        assert_eq!(timings.jittered(0.0).as_secs(), 2);
        assert_eq!(timings.jittered(1.0).as_millis(), 4_400);
    }
}
