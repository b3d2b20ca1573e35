//! What a whole fleet in one process takes: time until its hub answers and until all policies are Compliant on all
//! clusters, CPU and memory.

mod fleet;
mod policies;

use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Parser;
use reeve_benches_measuring::{Machine, Used, print_used};
use reeve_testkit::reeve_binary;

use fleet::Fleet;

/// The clusters of the small fleet.
const FEW: usize = 2;
/// How soon a small fleet is to be there.
const SOON: Duration = Duration::from_secs(1);
/// What a small fleet may have resident, in bytes.
const MAX_RESIDENT_BYTES: u64 = 100_000_000;
/// How long to wait before the memory is measured.
const SETTLE_TIME: Duration = Duration::from_secs(5);

/// Measures `reeve up`.
#[derive(Parser)]
struct Args {
    /// Managed clusters of the large fleet.
    #[arg(long, default_value_t = 200)]
    clusters: usize,
    /// Policies of one enforced `ConfigMap` each, all placed on all clusters.
    #[arg(long, default_value_t = 20)]
    policies: usize,
    /// How long to wait until all are Compliant, in seconds.
    #[arg(long, default_value_t = 1800)]
    timeout: u64,
}

#[tokio::main]
async fn main() -> Result<()> {
    let args = Args::parse();
    println!("program: {}", reeve_binary()?.display());
    let machine = Machine::now()?;
    let large = large(&args).await?;
    let small = small().await?;
    println!();
    machine.print(large + small)
}

async fn large(args: &Args) -> Result<Duration> {
    let pairs = args.clusters * args.policies;
    println!("\n# {} clusters, {} policies", args.clusters, args.policies);
    let folder = tempfile::tempdir()?;
    policies::write(folder.path(), args.policies)?;
    let started = Instant::now();
    let mut fleet = Fleet::start(args.clusters, Some(folder.path()))?;
    let hub = fleet.ready().await?;
    print_step("the kubeconfig is there, and the hub answers", started);
    print_used(fleet.used()?, Used::default());
    fleet
        .compliant(&hub, pairs, Duration::from_secs(args.timeout))
        .await?;
    print_step(&format!("all {pairs} are Compliant on the hub"), started);
    let used = fleet.used()?;
    print_used(used, Used::default());
    print_memory("resident", fleet.resident()?);
    Ok(used.cpu)
}

async fn small() -> Result<Duration> {
    println!("\n# {FEW} clusters, no policies");
    let started = Instant::now();
    let mut fleet = Fleet::start(FEW, None)?;
    fleet.ready().await?;
    let took = started.elapsed();
    print_step("the kubeconfig is there, and the hub answers", started);
    verdict(took < SOON, "less than 1 s");
    tokio::time::sleep(SETTLE_TIME).await;
    let resident = fleet.resident()?;
    print_memory("resident 5 s later", resident);
    verdict(resident < MAX_RESIDENT_BYTES, "less than 100 MB");
    let used = fleet.used()?;
    print_used(used, Used::default());
    Ok(used.cpu)
}

fn print_step(what: &str, started: Instant) {
    println!("{:.2} s: {what}", started.elapsed().as_secs_f64());
}

fn print_memory(what: &str, bytes: u64) {
    // Only for people to read.
    let kib = u32::try_from(bytes / 1024).unwrap_or(u32::MAX);
    let megabytes = f64::from(kib) * 1.024 / 1000.0;
    let mebibytes = f64::from(kib) / 1024.0;
    println!("{what}: {megabytes:.1} MB ({mebibytes:.1} MiB)");
}

fn verdict(holds: bool, limit: &str) {
    let verdict = if holds { "holds" } else { "DOES NOT HOLD" };
    println!("  the limit, {limit}: {verdict}");
}
