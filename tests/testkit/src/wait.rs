//! Waiting for a condition, with a deadline and a reason.

use std::fmt::Display;
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
/// After `deadline`: names `what` was waited for and the last error of `check`. A check
/// that hangs is cut at the deadline too.
pub async fn eventually<T, E, F, Fut>(
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
    let end = start + deadline;
    let mut last = "the first check never answered".to_owned();
    loop {
        let left = end.saturating_duration_since(Instant::now());
        match tokio::time::timeout(left, check()).await {
            Ok(Ok(value)) => return Ok(value),
            // `:#` so that an anyhow error prints its causes.
            Ok(Err(error)) => last = format!("{error:#}"),
            Err(_) => bail!("not within {deadline:?}: {what}; last answer: {last}"),
        }
        if Instant::now() >= end {
            bail!("not within {deadline:?}: {what}; last answer: {last}");
        }
        let [shortest, longest] = PAUSE;
        tokio::time::sleep((start.elapsed() / 10).clamp(shortest, longest)).await;
    }
}
