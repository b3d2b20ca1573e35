//! Leader election.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use reeve_runtime::CancellationToken;
use reeve_runtime::leader::acquire;
use reeve_testkit::Plane;

const LEASE: &str = "election.open-cluster-management.io";

pub(crate) async fn two(plane: Arc<Plane>) -> Result<()> {
    let first_stops = CancellationToken::new();
    let first = acquire(plane.client(), "default", LEASE, &first_stops).await?;
    let first = first.context("the first candidate was stopped")?;
    let leads = tokio::spawn(first.keep(first_stops.clone()));

    let second_stops = CancellationToken::new();
    let waits = acquire(plane.client(), "default", LEASE, &second_stops);
    tokio::pin!(waits);
    // The lease lasts 15 s: a candidate that would take it over at once shows in less.
    let early = tokio::time::timeout(Duration::from_secs(3), &mut waits).await;
    ensure!(early.is_err(), "two candidates lead at once");

    first_stops.cancel();
    leads.await??;
    let second = tokio::time::timeout(Duration::from_secs(30), waits).await;
    ensure!(second.context("nobody took over")??.is_some());
    Ok(())
}
