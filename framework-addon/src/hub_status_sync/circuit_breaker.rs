//! A circuit breaker for the connection to the hub: while it is open, one write in a while probes whether the hub is back.
//!
//! Without this every policy with news for the hub would try on its own, all through an outage and all at once after it.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// How long the breaker is open after the first failure.
const FIRST: Duration = Duration::from_millis(250);
/// The longest time that it is open: so long after the end of an outage the hub may get no status.
const LONGEST: Duration = Duration::from_secs(15);

#[derive(Debug, Default)]
struct State {
    open_until: Option<Instant>,
    pause: Duration,
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
                let pause = state.pause;
                state.open_until = now.checked_add(pause);
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
        state.pause = (state.pause * 2).clamp(FIRST, LONGEST);
        state.open_until = Instant::now().checked_add(state.pause);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn one_try_in_a_while_goes_through() {
        let gate = CircuitBreaker::default();
        assert_eq!(gate.wait(), None);
        let mut tries = 0;
        let start = Instant::now();
        gate.record_failure();
        while start.elapsed() < Duration::from_mins(10) {
            match gate.wait() {
                None => {
                    tries += 1;
                    assert!(gate.wait().is_some(), "the others wait");
                    gate.record_failure();
                }
                Some(left) => {
                    assert!(left <= LONGEST);
                    tokio::time::sleep(left).await;
                }
            }
        }
        assert!((40..60).contains(&tries), "{tries} tries in ten minutes");
        tokio::time::sleep(LONGEST).await;
        assert_eq!(gate.wait(), None);
        assert!(gate.record_success() && !gate.record_success());
        assert_eq!((gate.wait(), gate.wait()), (None, None));
    }
}
