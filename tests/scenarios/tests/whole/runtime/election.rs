//! Leader election.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use reeve_runtime::CancellationToken;
use reeve_runtime::fence::Fence;
use reeve_runtime::leader::{Election, LeaseTimings, acquire};
use reeve_runtime::supervisor::Supervisor;
use reeve_testkit::Plane;

const LEASE: &str = "election.open-cluster-management.io";

fn candidate(plane: &Plane) -> Election {
    Election {
        client: plane.client(),
        namespace: "default".to_owned(),
        lease: LEASE,
        timings: LeaseTimings::default(),
        fence: Fence::default(),
    }
}

pub(crate) async fn two(plane: Arc<Plane>) -> Result<()> {
    let first_stops = CancellationToken::new();
    let first = acquire(candidate(&plane), &first_stops).await?;
    let mut tasks = Supervisor::new(first_stops.clone());
    tasks.lead(first.context("the first candidate was stopped")?);
    let leads = tokio::spawn(tasks.run());

    let second_stops = CancellationToken::new();
    let waits = acquire(candidate(&plane), &second_stops);
    tokio::pin!(waits);
    // The lease lasts 15 s: a candidate that would take it over at once shows in less.
    let early = tokio::time::timeout(Duration::from_secs(3), &mut waits).await;
    ensure!(early.is_err(), "two candidates lead at once");

    first_stops.cancel();
    leads.await??;
    // Released, it is taken at the next try: no candidate waits longer than 4.4 s between two.
    let second = tokio::time::timeout(Duration::from_secs(8), waits).await;
    ensure!(second.context("nobody took over")??.is_some());
    Ok(())
}
