//! Waiting for a condition, with a deadline and a reason.

use std::fmt::Display;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

/// Asks `check` every 50 ms until it answers `Ok`, and returns that answer.
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
    let end = Instant::now() + deadline;
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
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
