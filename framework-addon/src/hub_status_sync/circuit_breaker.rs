//! A circuit breaker for the connection to the hub: while it is open, one write in a while probes whether the hub is back.
//!
//! Without it every policy with a pending status would retry on its own during an outage, and all at once after it.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// How long the breaker is open after the first failure.
const MIN_OPEN_TIME: Duration = Duration::from_millis(250);
/// The longest time that it is open: so long after the end of an outage the hub may get no status.
const MAX_OPEN_TIME: Duration = Duration::from_secs(15);

#[derive(Debug, Default)]
struct State {
    open_until: Option<Instant>,
    open_time: Duration,
}

/// The breaker; clones share it.
#[derive(Clone, Debug, Default)]
pub struct CircuitBreaker(Arc<Mutex<State>>);

impl CircuitBreaker {
    /// How long to wait before the next write; `None` to write now. While the breaker is open one caller in a while gets
    /// `None`, and the others wait for the outcome.
    pub fn wait(&self) -> Option<Duration> {
        let mut state = self.0.lock();
        let now = Instant::now();
        match state.open_until {
            None => None,
            Some(until) if until > now => Some(until.duration_since(now)),
            Some(_) => {
                let open_time = state.open_time;
                state.open_until = now.checked_add(open_time);
                None
            }
        }
    }

    /// A write succeeded, so the breaker closes. Returns whether it was open.
    pub fn record_success(&self) -> bool {
        let closed = std::mem::take(&mut *self.0.lock());
        closed.open_until.is_some()
    }

    /// A write failed, so the breaker opens.
    pub fn record_failure(&self) {
        let mut state = self.0.lock();
        state.open_time = (state.open_time * 2).clamp(MIN_OPEN_TIME, MAX_OPEN_TIME);
        state.open_until = Instant::now().checked_add(state.open_time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn open_breaker_lets_one_probe_through_per_interval() {
        let breaker = CircuitBreaker::default();
        assert_eq!(breaker.wait(), None);
        let mut attempts = 0;
        let start = Instant::now();
        breaker.record_failure();
        while start.elapsed() < Duration::from_mins(10) {
            match breaker.wait() {
                None => {
                    attempts += 1;
                    assert!(breaker.wait().is_some(), "the others wait");
                    breaker.record_failure();
                }
                Some(left) => {
                    assert!(left <= MAX_OPEN_TIME);
                    tokio::time::sleep(left).await;
                }
            }
        }
        assert!(
            (40..60).contains(&attempts),
            "{attempts} tries in ten minutes"
        );
        tokio::time::sleep(MAX_OPEN_TIME).await;
        assert_eq!(breaker.wait(), None);
        assert!(breaker.record_success() && !breaker.record_success());
        assert_eq!((breaker.wait(), breaker.wait()), (None, None));
    }
}
