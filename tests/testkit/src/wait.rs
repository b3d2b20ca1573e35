//! Waiting for a condition, with a deadline and a reason.

use std::fmt::Display;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

/// How long a test waits before it gives up. Only a failure takes that long: what takes a second alone takes a minute on
/// two cores that also compile and run other tests.
pub const SOON: Duration = Duration::from_mins(3);

/// The shortest and the longest pause between two checks.
const PAUSE: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(1)];

/// Asks `check` until it answers `Ok`, and returns that answer. The pause between two checks is a tenth of the time since
/// the first one: many tests wait at once, and what they ask takes the processor from what they wait for.
///
/// # Errors
/// After `deadline`, extended by the [`Deadlines`] of this process: names `what` was waited for and the last error of
/// `check`. A check that hangs is cut then too.
pub async fn eventually<T, E, F, Fut>(what: impl Display, deadline: Duration, check: F) -> Result<T>
where
    E: Display,
    F: FnMut() -> Fut,
    Fut: Future<Output = Result<T, E>>,
{
    static DEADLINES: Deadlines = Deadlines::new();
    DEADLINES.eventually(what, deadline, check).await
}

/// Extends the deadlines of the waits of a process.
///
/// The same test takes several times longer on a machine whose cores are shared or slow, so a wait lasts longer than its deadline.
/// But one fault fails many tests, and CI reports none of them when it runs out of time: after the first wait that fails, all
/// deadlines are as written.
#[derive(Debug)]
pub struct Deadlines {
    has_failed: AtomicBool,
}

impl Deadlines {
    /// How many times longer than its deadline a wait lasts.
    const FACTOR: u32 = 4;

    /// Those of a process in which no wait has failed.
    pub const fn new() -> Self {
        Self {
            has_failed: AtomicBool::new(false),
        }
    }

    /// How long a wait with this deadline lasts at most.
    fn limit(&self, deadline: Duration) -> Duration {
        if self.has_failed.load(Ordering::Relaxed) {
            deadline
        } else {
            deadline * Self::FACTOR
        }
    }

    /// [`eventually`] with these deadlines.
    ///
    /// # Errors
    /// As `eventually`.
    pub async fn eventually<T, E, F, Fut>(
        &self,
        what: impl Display,
        deadline: Duration,
        mut check: F,
    ) -> Result<T>
    where
        E: Display,
        F: FnMut() -> Fut,
        Fut: Future<Output = Result<T, E>>,
    {
        let start = Instant::now();
        let mut last = "the first check never answered".to_owned();
        loop {
            // Another wait of this process may fail meanwhile.
            let limit = self.limit(deadline);
            let left = limit.saturating_sub(start.elapsed());
            match tokio::time::timeout(left, check()).await {
                Ok(Ok(value)) => return Ok(value),
                // `:#` so that an anyhow error prints its causes.
                Ok(Err(error)) => last = format!("{error:#}"),
                Err(_) => {}
            }
            let limit = self.limit(deadline);
            if start.elapsed() >= limit {
                self.has_failed.store(true, Ordering::Relaxed);
                bail!("not within {limit:?}: {what}; last answer: {last}");
            }
            let [shortest, longest] = PAUSE;
            tokio::time::sleep((start.elapsed() / 10).clamp(shortest, longest)).await;
        }
    }
}

impl Default for Deadlines {
    fn default() -> Self {
        Self::new()
    }
}
