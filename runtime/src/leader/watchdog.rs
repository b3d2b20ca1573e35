//! Ends a process that still leads when its lease has run out, because its runtime is stuck.
//!
//! The renewal is a task of the runtime, and so is what stops the work of a lost leader. When all threads of the runtime are
//! busy with work that does not yield, neither runs: the process would lead on beside the next leader. A thread of the
//! operating system does not depend on them.

use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use tokio::time::Instant;

use crate::fence::Fence;

/// The time between two looks at the clock.
const INTERVAL: Duration = Duration::from_millis(500);

/// How long the runtime may take to notice by itself that the lease has run out. A process that was suspended needs it, too.
const GRACE: Duration = Duration::from_secs(2);

/// The thread that watches one lease. It ends when this is dropped.
pub(super) struct Watchdog {
    _alive: mpsc::Sender<()>,
}

impl Watchdog {
    /// Watches the lease of a leader whose fence closes when the lease runs out.
    ///
    /// # Errors
    /// When the operating system starts no thread.
    pub(super) fn start(lease: Arc<str>, fence: Fence) -> std::io::Result<Self> {
        Self::start_with(fence, move || {
            tracing::error!(
                %lease,
                "leader election lost: the lease has run out and this process is too busy to stop its work"
            );
            std::process::exit(1);
        })
    }

    fn start_with(fence: Fence, end: impl FnOnce() + Send + 'static) -> std::io::Result<Self> {
        let (alive, dropped) = mpsc::channel::<()>();
        std::thread::Builder::new()
            .name("lease-watchdog".to_owned())
            .spawn(move || {
                let mut expired_since = None;
                while dropped.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
                    if is_stuck(&mut expired_since, fence.closes_at(), Instant::now()) {
                        end();
                        return;
                    }
                }
            })?;
        Ok(Self { _alive: alive })
    }
}

/// Whether a lease that closes at `closes_at` has been seen expired for longer than the grace. `expired_since` is the memory
/// between two calls.
fn is_stuck(expired_since: &mut Option<Instant>, closes_at: Option<Instant>, now: Instant) -> bool {
    // A closed fence is that of a leader which has stopped.
    if closes_at.is_none_or(|closes_at| now < closes_at) {
        *expired_since = None;
        return false;
    }
    now >= *expired_since.get_or_insert(now) + GRACE
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn renewed_or_closed_lease_is_not_stuck() {
        let (mut since, start) = (None, Instant::now());
        assert!(!is_stuck(&mut since, None, start + 100 * SECOND));
        assert!(!is_stuck(&mut since, Some(start + 10 * SECOND), start));
        // Expired, and then renewed within the grace.
        assert!(!is_stuck(&mut since, Some(start), start + SECOND));
        assert!(!is_stuck(
            &mut since,
            Some(start + 9 * SECOND),
            start + 2 * SECOND
        ));
        assert_eq!(since, None);
    }

    #[test]
    fn process_that_was_suspended_has_its_grace() {
        let (mut since, start) = (None, Instant::now());
        let resumed = start + 1_000 * SECOND;
        assert!(!is_stuck(&mut since, Some(start), resumed));
        assert!(!is_stuck(&mut since, Some(start), resumed + SECOND));
        assert!(is_stuck(&mut since, Some(start), resumed + GRACE));
    }

    #[test]
    fn stuck_leader_is_ended_without_any_runtime() {
        let fence = Fence::default();
        fence.open_until(Instant::now());
        let (ended, end) = mpsc::channel();
        let watchdog = Watchdog::start_with(fence, move || ended.send(()).unwrap()).unwrap();
        end.recv_timeout(Duration::from_mins(1)).unwrap();
        drop(watchdog);
    }

    #[test]
    fn dropped_watchdog_ends_nothing() {
        let fence = Fence::default();
        fence.open_until(Instant::now());
        let (ended, end) = mpsc::channel::<()>();
        drop(Watchdog::start_with(fence, move || ended.send(()).unwrap()).unwrap());
        // The thread has ended, and with it the sender.
        let outcome = end.recv_timeout(Duration::from_mins(1));
        assert_eq!(outcome, Err(RecvTimeoutError::Disconnected));
    }
}
