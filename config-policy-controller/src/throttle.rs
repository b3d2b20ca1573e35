//! Limits how often changes of objects trigger evaluations of a policy.
//!
//! Edits of a policy are never throttled. Changes of objects are, by a bucket per policy: the first few trigger evaluations
//! at once, so that a single drift is undone at once, and a policy that keeps being enqueued (two controllers
//! fighting over a field, an object that never rests) settles at a steady pace. What an evaluation costs is known at its
//! end: noticing that an object is as we just wrote it is cheap.

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::Mutex;
use reeve_runtime::object::ObjectKey;
use tokio::time::Instant;

/// Evaluations at once after a pause; more than three, because a drift is two with the echo of its repair.
const BURST: f64 = 3.25;
/// How much slower than the backoff the bucket fills, so that burst and refill together stay below one evaluation
/// per backoff over ten of them.
const SLACK: f64 = 1.8;
/// The part of a token that a cheap evaluation costs.
const CHEAP: f64 = 0.1;

/// The effect of an evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// Nothing: the policy was not due.
    None,
    /// It read objects, and nothing changed.
    Read,
    /// It changed the status.
    Status,
    /// It wrote objects, or sent a dry run.
    Write,
}

/// The buckets of all policies.
pub struct Throttle {
    backoff: Duration,
    buckets: Mutex<HashMap<ObjectKey, Bucket>>,
}

/// An evaluation that has started. Dropping this charges its cost to the bucket.
#[must_use = "dropping it ends the evaluation"]
pub struct RunningEvaluation<'t> {
    throttle: &'t Throttle,
    policy: ObjectKey,
    effect: Effect,
}

impl RunningEvaluation<'_> {
    /// Records an effect; the strongest one counts.
    pub fn record(&mut self, effect: Effect) {
        self.effect = self.effect.max(effect);
    }
}

impl Drop for RunningEvaluation<'_> {
    fn drop(&mut self) {
        self.throttle.finish(&self.policy, self.effect);
    }
}

#[derive(Debug, Clone, Copy)]
struct Bucket {
    tokens: f64,
    at: Instant,
    /// An evaluation is to start at this time and has its token.
    planned: Option<Instant>,
    /// The evaluation that is under way had to have a token.
    charged: bool,
    /// The effect of the last evaluation.
    last: Effect,
}

impl Throttle {
    /// Full buckets that refill once per `backoff`, roughly.
    pub fn new(backoff: Duration) -> Self {
        Self {
            backoff,
            buckets: Mutex::default(),
        }
    }

    /// How long to wait before the policy is evaluated for a change at `now`. Changes that come before that
    /// evaluation starts are seen by it and cost nothing.
    pub fn delay(&self, policy: &ObjectKey, now: Instant) -> Duration {
        let refill = self.backoff.mul_f64(SLACK);
        let mut buckets = self.buckets.lock();
        let bucket = buckets
            .entry(policy.clone())
            .or_insert_with(|| Bucket::full(now));
        let planned = bucket.planned.unwrap_or_else(|| {
            bucket.fill(refill, now);
            bucket.tokens -= 1.0;
            now + refill.mul_f64((-bucket.tokens).max(0.0))
        });
        bucket.planned = Some(planned);
        planned.saturating_duration_since(now)
    }

    /// An evaluation of the policy starts, for whatever reason.
    pub fn start(&self, policy: &ObjectKey) -> RunningEvaluation<'_> {
        if let Some(bucket) = self.buckets.lock().get_mut(policy) {
            bucket.charged = bucket.planned.take().is_some();
        }
        RunningEvaluation {
            throttle: self,
            policy: policy.clone(),
            effect: Effect::None,
        }
    }

    fn finish(&self, policy: &ObjectKey, effect: Effect) {
        let mut buckets = self.buckets.lock();
        let bucket = match effect {
            Effect::Write => buckets
                .entry(policy.clone())
                .or_insert_with(|| Bucket::full(Instant::now())),
            // Without a bucket nothing was charged; a deleted policy has none.
            _ => match buckets.get_mut(policy) {
                Some(bucket) => bucket,
                None => return,
            },
        };
        // The watch of an object that the controller wrote enqueues the policy once more; that evaluation is cheap.
        let is_cheap = match effect {
            Effect::None => true,
            Effect::Read | Effect::Status => bucket.last == Effect::Write,
            Effect::Write => false,
        };
        if bucket.charged && is_cheap {
            bucket.tokens = (bucket.tokens + 1.0 - CHEAP).min(BURST);
        }
        bucket.charged = false;
        bucket.last = effect;
    }

    /// Removes the bucket of a deleted policy.
    pub fn forget(&self, policy: &ObjectKey) {
        self.buckets.lock().remove(policy);
    }
}

impl Bucket {
    fn full(now: Instant) -> Self {
        Self {
            tokens: BURST,
            at: now,
            planned: None,
            charged: false,
            last: Effect::None,
        }
    }

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

    fn evaluate(throttle: &Throttle, policy: &ObjectKey, effect: Effect) {
        throttle.start(policy).record(effect);
    }

    #[test]
    fn single_drifts_are_not_delayed() {
        let (throttle, policy, start) = throttle(5);
        for drift in 0..20 {
            let now = start + Duration::from_secs(10 * drift);
            assert_eq!(throttle.delay(&policy, now), Duration::ZERO);
            evaluate(&throttle, &policy, Effect::Write);
            // The echo of our own write.
            assert_eq!(throttle.delay(&policy, now), Duration::ZERO);
            evaluate(&throttle, &policy, Effect::Status);
        }
    }

    #[test]
    fn cfg_35_drift_right_after_an_edit_is_not_delayed() {
        let (throttle, policy, now) = throttle(5);
        evaluate(&throttle, &policy, Effect::Write);
        for effect in [Effect::Status, Effect::Read, Effect::Write, Effect::Status] {
            assert_eq!(throttle.delay(&policy, now), Duration::ZERO);
            evaluate(&throttle, &policy, effect);
        }
    }

    #[test]
    fn constant_drift_is_evaluated_at_most_once_per_backoff() {
        let (throttle, policy, start) = throttle(2);
        let mut evaluated = 0;
        for tick in 0..133 {
            let now = start + Duration::from_millis(150 * tick);
            if throttle.delay(&policy, now).is_zero() {
                evaluate(&throttle, &policy, Effect::Write);
                evaluated += 1;
            }
        }
        assert!(
            (8..12).contains(&evaluated),
            "{evaluated} evaluations in 20 s"
        );
    }

    #[test]
    fn constantly_changing_object_is_evaluated_at_most_once_per_backoff() {
        let (throttle, policy, start) = throttle(2);
        let mut evaluated = 0;
        for tick in 0..200 {
            let now = start + Duration::from_millis(100 * tick);
            if throttle.delay(&policy, now).is_zero() {
                evaluate(&throttle, &policy, Effect::Read);
                evaluated += 1;
            }
        }
        assert!(
            (8..12).contains(&evaluated),
            "{evaluated} evaluations in 20 s"
        );
    }

    #[test]
    fn change_before_the_evaluation_costs_nothing() {
        let (throttle, policy, now) = throttle(5);
        for _ in 0..10 {
            assert_eq!(throttle.delay(&policy, now), Duration::ZERO);
        }
        for _ in 0..4 {
            evaluate(&throttle, &policy, Effect::Write);
            let _ = throttle.delay(&policy, now);
        }
        let first = throttle.delay(&policy, now);
        assert!(!first.is_zero());
        let later = now + Duration::from_secs(1);
        assert_eq!(
            throttle.delay(&policy, later),
            first.saturating_sub(Duration::from_secs(1))
        );
    }

    #[test]
    fn nothing_is_delayed_without_backoff() {
        let (throttle, policy, now) = throttle(0);
        for _ in 0..50 {
            assert!(throttle.delay(&policy, now).is_zero());
            evaluate(&throttle, &policy, Effect::Write);
        }
    }

    #[test]
    fn dropped_evaluation_costs_little() {
        let (throttle, policy, now) = throttle(5);
        for _ in 0..20 {
            assert!(throttle.delay(&policy, now).is_zero());
            drop(throttle.start(&policy));
        }
    }

    #[test]
    fn finished_evaluation_of_deleted_policy_creates_no_bucket() {
        let (throttle, policy, now) = throttle(5);
        let _ = throttle.delay(&policy, now);
        let running = throttle.start(&policy);
        throttle.forget(&policy);
        drop(running);
        assert!(throttle.buckets.lock().is_empty());
    }

    #[test]
    fn policies_do_not_share_a_bucket() {
        let (throttle, policy, now) = throttle(5);
        for _ in 0..5 {
            let _ = throttle.delay(&policy, now);
            evaluate(&throttle, &policy, Effect::Write);
        }
        assert!(
            throttle
                .delay(&ObjectKey::new("managed", "q"), now)
                .is_zero()
        );
    }
}
