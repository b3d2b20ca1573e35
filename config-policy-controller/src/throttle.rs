//! How often a policy is evaluated because of changes around it.
//!
//! Edits of a policy are never throttled. Changes of objects are, by a bucket per policy: the first few are looked at
//! at once, so that a single drift is undone at once, and a policy that keeps being woken (two controllers
//! fighting over a field) settles at a steady pace. An evaluation that wrote nothing gives most of its token
//! back: noticing that all is well is cheap.

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::Mutex;
use reeve_runtime::object::ObjectKey;
use tokio::time::Instant;

/// Evaluations at once after a pause.
const BURST: f64 = 3.0;
/// How much slower than the backoff the bucket fills, so that burst and refill together stay below one evaluation
/// per backoff over ten of them.
const SLACK: f64 = 1.3;
/// The part of a token that an evaluation without writes costs.
const CHEAP: f64 = 0.1;

/// The buckets of all policies.
pub struct Throttle {
    backoff: Duration,
    buckets: Mutex<HashMap<ObjectKey, Bucket>>,
}

#[derive(Debug, Clone, Copy)]
struct Bucket {
    tokens: f64,
    at: Instant,
    /// An evaluation is planned for this time and has its token.
    planned: Option<Instant>,
}

impl Throttle {
    /// Full buckets that refill once per `backoff`, roughly.
    #[must_use]
    pub fn new(backoff: Duration) -> Self {
        Self {
            backoff,
            buckets: Mutex::default(),
        }
    }

    /// How long to wait before the policy is evaluated for a change at `now`.
    pub fn wait(&self, policy: &ObjectKey, now: Instant) -> Duration {
        let refill = self.backoff.mul_f64(SLACK);
        let mut buckets = self.buckets.lock();
        let full = Bucket {
            tokens: BURST,
            at: now,
            planned: None,
        };
        let bucket = buckets.entry(policy.clone()).or_insert(full);
        if let Some(planned) = bucket.planned.filter(|planned| *planned > now) {
            // That evaluation will see this change too.
            return planned.duration_since(now);
        }
        bucket.fill(refill, now);
        bucket.tokens -= 1.0;
        let wait = if bucket.tokens >= 0.0 {
            Duration::ZERO
        } else {
            refill.mul_f64(-bucket.tokens)
        };
        bucket.planned = (!wait.is_zero()).then(|| now + wait);
        wait
    }

    /// The policy was evaluated and nothing was written.
    pub fn was_cheap(&self, policy: &ObjectKey) {
        if let Some(bucket) = self.buckets.lock().get_mut(policy) {
            bucket.tokens = (bucket.tokens + 1.0 - CHEAP).min(BURST);
        }
    }

    /// The policy is gone.
    pub fn forget(&self, policy: &ObjectKey) {
        self.buckets.lock().remove(policy);
    }
}

impl Bucket {
    fn fill(&mut self, refill: Duration, now: Instant) {
        let passed = now.saturating_duration_since(self.at);
        let gained = if refill.is_zero() {
            BURST
        } else {
            passed.div_duration_f64(refill)
        };
        self.tokens = (self.tokens + gained).min(BURST);
        self.at = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn throttle(backoff: u64) -> (Throttle, ObjectKey, Instant) {
        let policy = ObjectKey::new("managed", "p");
        (
            Throttle::new(Duration::from_secs(backoff)),
            policy,
            Instant::now(),
        )
    }

    #[test]
    fn single_changes_are_not_delayed() {
        let (throttle, policy, start) = throttle(5);
        for minute in 0..10 {
            let now = start + Duration::from_mins(minute);
            // A drift, and the echo of its repair.
            assert_eq!(throttle.wait(&policy, now), Duration::ZERO);
            assert_eq!(throttle.wait(&policy, now), Duration::ZERO);
            throttle.was_cheap(&policy);
        }
    }

    #[test]
    fn a_storm_is_evaluated_at_most_once_per_backoff() {
        let (throttle, policy, start) = throttle(2);
        let mut evaluated = 0;
        let mut due = None;
        for tick in 0..133 {
            let now = start + Duration::from_millis(150 * tick);
            if due.is_some_and(|due| due <= now) {
                (evaluated, due) = (evaluated + 1, None);
            }
            let wait = throttle.wait(&policy, now);
            if wait.is_zero() {
                evaluated += 1;
            } else {
                due = Some(now + wait);
            }
        }
        assert!(
            (8..12).contains(&evaluated),
            "{evaluated} evaluations in 20 s"
        );
    }

    #[test]
    fn a_wake_during_the_wait_is_not_lost_and_costs_nothing() {
        let (throttle, policy, now) = throttle(5);
        for _ in 0..3 {
            assert_eq!(throttle.wait(&policy, now), Duration::ZERO);
        }
        let first = throttle.wait(&policy, now);
        assert!(!first.is_zero());
        let later = now + Duration::from_secs(1);
        assert_eq!(
            throttle.wait(&policy, later),
            first.saturating_sub(Duration::from_secs(1))
        );
    }

    #[test]
    fn without_a_backoff_nothing_waits() {
        let (throttle, policy, now) = throttle(0);
        assert!((0..50).all(|_| throttle.wait(&policy, now).is_zero()));
    }

    #[test]
    fn policies_do_not_share_a_bucket() {
        let (throttle, policy, now) = throttle(5);
        for _ in 0..4 {
            let _ = throttle.wait(&policy, now);
        }
        assert!(
            throttle
                .wait(&ObjectKey::new("managed", "q"), now)
                .is_zero()
        );
    }
}
