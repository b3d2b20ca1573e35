//! Measures a program on a real API server: how long things take, what it asks of the server, how much CPU and memory it
//! uses. The program is any that takes the same flags, so that two can be compared on one machine.

mod observed;
mod process;
mod program;
mod requests;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use reeve_testkit::{Plane, PlaneOptions, reeve_binary};

pub use observed::{Observed, Seen};
pub use process::{Machine, Used, resident_kib};
pub use program::Program;
pub use requests::{print_requests, until_quiet};

/// Starts an API server with our CRDs that writes down every request, and prints which program is measured: the given one,
/// or Reeve.
pub async fn start(binary: Option<&Path>) -> Result<(Plane, PathBuf)> {
    let program = match binary {
        Some(program) => program.canonicalize()?,
        None => reeve_binary()?,
    };
    println!("program: {}", program.display());
    Ok((plane("bench").await?, program))
}

/// Starts an API server with our CRDs that writes down every request.
pub async fn plane(name: &'static str) -> Result<Plane> {
    let plane = Plane::start(PlaneOptions {
        name,
        audit: true,
        ..PlaneOptions::default()
    })
    .await?;
    plane.install_crds().await?;
    Ok(plane)
}

/// Prints what was used since `before`, and the peak so far.
pub fn print_used(now: Used, before: Used) {
    println!(
        "CPU {:.2} s, peak RSS {:.1} MiB",
        (now.cpu.saturating_sub(before.cpu)).as_secs_f64(),
        // Only for people to read.
        f64::from(u32::try_from(now.peak_kib).unwrap_or(u32::MAX)) / 1024.0
    );
}

/// The time that the processes of a plane, the API server and etcd, have spent on a processor so far.
pub fn servers_cpu(plane: &Plane) -> Result<Duration> {
    let used = plane.pids().into_iter().map(Used::by);
    used.map(|used| Ok(used?.cpu)).sum()
}

/// Prints the time that the API server and etcd have spent on a processor since `before`.
pub fn print_servers_cpu(plane: &Plane, before: Duration) -> Result<()> {
    let used = servers_cpu(plane)?.saturating_sub(before);
    println!("API server and etcd: CPU {:.2} s", used.as_secs_f64());
    Ok(())
}

/// Prints the usual percentiles.
pub fn print_latencies(what: &str, mut took: Vec<Duration>) {
    took.sort();
    let at = |part: usize| {
        let at = took.len().saturating_sub(1) * part / 100;
        took.get(at).map_or(0.0, |took| took.as_secs_f64() * 1000.0)
    };
    println!(
        "{what} p50 {:.1} ms, p90 {:.1} ms, p99 {:.1} ms, slowest {:.1} ms",
        at(50),
        at(90),
        at(99),
        at(100)
    );
}
