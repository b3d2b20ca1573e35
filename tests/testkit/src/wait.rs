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
/// After `deadline`, stretched by the [`Patience`] of this process: names `what` was waited for and the last error of
/// `check`. A check that hangs is cut then too.
pub async fn eventually<T, E, F, Fut>(what: impl Display, deadline: Duration, check: F) -> Result<T>
where
    E: Display,
    F: FnMut() -> Fut,
    Fut: Future<Output = Result<T, E>>,
{
    static OF_PROCESS: Patience = Patience::new();
    OF_PROCESS.eventually(what, deadline, check).await
}

/// How far the waits of a process stretch their deadlines.
///
/// The same test takes several times longer on a machine whose cores are shared or slow, so a wait lasts longer than its deadline.
/// But one fault fails many tests, and a test run that is cut off says nothing about any of them: after the first wait in
/// vain, all deadlines are as written.
#[derive(Debug)]
pub struct Patience {
    is_lost: AtomicBool,
}

impl Patience {
    /// How many times longer than its deadline a wait lasts.
    const STRETCH: u32 = 4;

    /// That of a process in which no wait was in vain.
    pub const fn new() -> Self {
        Self {
            is_lost: AtomicBool::new(false),
        }
    }

    /// How long a wait with this deadline lasts at most.
    fn stretch(&self, deadline: Duration) -> Duration {
        if self.is_lost.load(Ordering::Relaxed) {
            deadline
        } else {
            deadline * Self::STRETCH
        }
    }

    /// [`eventually`] with this patience.
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
            // Another wait of this process may end in vain meanwhile.
            let limit = self.stretch(deadline);
            let left = limit.saturating_sub(start.elapsed());
            match tokio::time::timeout(left, check()).await {
                Ok(Ok(value)) => return Ok(value),
                // `:#` so that an anyhow error prints its causes.
                Ok(Err(error)) => last = format!("{error:#}"),
                Err(_) => {}
            }
            let limit = self.stretch(deadline);
            if start.elapsed() >= limit {
                self.is_lost.store(true, Ordering::Relaxed);
                bail!("not within {limit:?}: {what}; last answer: {last}");
            }
            let [shortest, longest] = PAUSE;
            tokio::time::sleep((start.elapsed() / 10).clamp(shortest, longest)).await;
        }
    }
}

impl Default for Patience {
    fn default() -> Self {
        Self::new()
    }
}
