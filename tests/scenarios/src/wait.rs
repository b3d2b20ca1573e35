//! Waiting for a condition, and for its absence.

use std::fmt::Display;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use reeve_testkit::{SOON, eventually};

/// How long something must not happen before a scenario believes that it does not. The controllers are
/// started with an evaluation backoff of 2 s, which is also their longest period: whatever they would
/// do wrongly again and again, they do within three of them.
const STEADY: Duration = Duration::from_secs(6);

/// Waits for a condition as long as a scenario waits for anything.
pub async fn within<T, F, Fut>(what: impl Display, check: F) -> Result<T>
where
    F: FnMut() -> Fut,
    Fut: Future<Output = Result<T>>,
{
    eventually(what, SOON, check).await
}

/// Asks again and again for a while; every answer must be `Ok`.
pub async fn steadily<F, Fut>(what: impl Display, check: F) -> Result<()>
where
    F: FnMut() -> Fut,
    Fut: Future<Output = Result<()>>,
{
    steadily_for(STEADY, what, check).await
}

/// Like [`steadily`], for another while.
pub async fn steadily_for<F, Fut>(time: Duration, what: impl Display, mut check: F) -> Result<()>
where
    F: FnMut() -> Fut,
    Fut: Future<Output = Result<()>>,
{
    let end = Instant::now() + time;
    while Instant::now() < end {
        check()
            .await
            .with_context(|| format!("it did not stay so: {what}"))?;
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    Ok(())
}
