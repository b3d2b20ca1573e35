//! A way that may be cut off: while it is, one try in a while finds out whether it is open again.
//!
//! Without this every policy with news for the hub would try on its own, all through an outage and all at once after it.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// How long the way is given up after the first failure.
const FIRST: Duration = Duration::from_millis(250);
/// The longest it is given up at a time: so long after the end of an outage the hub may hear nothing.
const LONGEST: Duration = Duration::from_secs(15);

#[derive(Debug, Default)]
struct State {
    closed_until: Option<Instant>,
    pause: Duration,
}

/// The way; clones share it.
#[derive(Clone, Debug, Default)]
pub struct Gate(Arc<Mutex<State>>);

impl Gate {
    /// How long to wait before the way is tried again; `None` to try now. While it is closed one caller in a while is let
    /// through, and the others wait for what becomes of it.
    pub fn wait(&self) -> Option<Duration> {
        let mut state = self.0.lock();
        let now = Instant::now();
        match state.closed_until {
            None => None,
            Some(until) if until > now => Some(until.duration_since(now)),
            Some(_) => {
                let pause = state.pause;
                state.closed_until = now.checked_add(pause);
                None
            }
        }
    }

    /// The way is open. Returns whether it was closed until now.
    pub fn passed(&self) -> bool {
        let closed = std::mem::take(&mut *self.0.lock());
        closed.closed_until.is_some()
    }

    /// The way is cut off.
    pub fn failed(&self) {
        let mut state = self.0.lock();
        state.pause = (state.pause * 2).clamp(FIRST, LONGEST);
        state.closed_until = Instant::now().checked_add(state.pause);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn one_try_in_a_while_goes_through() {
        let gate = Gate::default();
        assert_eq!(gate.wait(), None);
        let mut tries = 0;
        let start = Instant::now();
        gate.failed();
        while start.elapsed() < Duration::from_mins(10) {
            match gate.wait() {
                None => {
                    tries += 1;
                    assert!(gate.wait().is_some(), "the others wait");
                    gate.failed();
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
        assert!(gate.passed() && !gate.passed());
        assert_eq!((gate.wait(), gate.wait()), (None, None));
    }
}
