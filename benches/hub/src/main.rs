//! What a `governance-policy-propagator` costs on a hub: time, requests, CPU and memory. Any program that takes the same
//! flags can be measured, so that two can be compared on one machine.

mod cost;
mod measure;
mod objects;
mod replica_writes;
mod status_writes;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::Parser;
use reeve_benches_measuring::{Program, start};

use measure::Flips;
use objects::Size;

/// Measures a governance-policy-propagator on a real API server.
#[derive(Parser)]
struct Args {
    /// The program. It is called by the name governance-policy-propagator. Absent: Reeve.
    #[arg(long)]
    binary: Option<PathBuf>,
    /// Managed clusters.
    #[arg(long, default_value_t = 300)]
    clusters: usize,
    /// Root policies, each of two `ConfigurationPolicy`s of two objects, all placed on all clusters.
    #[arg(long, default_value_t = 10)]
    policies: usize,
    /// Put three hub-template values into every policy: the cluster's name, one of its labels, an entry of a
    /// `ConfigMap`.
    #[arg(long)]
    templates: bool,
    /// Statuses that flip, one after the other.
    #[arg(long, default_value_t = 40)]
    flips: usize,
    /// Milliseconds between two of them. The propagator writes a status that changes without a pause less often.
    #[arg(long, default_value_t = 2500)]
    pause: u64,
    /// Other statuses that change in each second meanwhile.
    #[arg(long, default_value_t = 20)]
    load: u32,
    /// The program's `CONTROLLER_CONFIG_QPS`; twice as many at once.
    #[arg(long)]
    qps: Option<u32>,
    /// Instead, compare ways to write the status of a root policy, by so many writes each in three rounds.
    #[arg(long)]
    status_writes: Option<usize>,
    /// Instead, compare what replicas cost the API server as the propagator writes them and as client-go does, by so many creations
    /// and updates each in three rounds.
    #[arg(long, conflicts_with = "status_writes")]
    replica_writes: Option<usize>,
    /// Flags for the program, besides those it is always given.
    #[arg(last = true)]
    flags: Vec<String>,
}

#[tokio::main]
async fn main() -> Result<()> {
    let args = Args::parse();
    let (plane, program) = start(args.binary.as_deref()).await?;
    if let Some(count) = args.status_writes {
        objects::roots_namespace(&plane).await?;
        return status_writes::compare(&plane, count).await;
    }
    if let Some(count) = args.replica_writes {
        objects::roots_namespace(&plane).await?;
        return replica_writes::compare(&plane, count).await;
    }
    let size = Size {
        clusters: args.clusters,
        policies: args.policies,
        templates: args.templates,
    };
    println!("{} clusters x {} policies", size.clusters, size.policies);
    objects::fleet(&plane, size).await?;
    let mut propagator = Program::new(&plane, program, "governance-policy-propagator")
        .args(["--enable-webhooks=false".to_owned()])
        .args(args.flags)
        .env("WATCH_NAMESPACE", "");
    if let Some(qps) = args.qps {
        propagator = propagator
            .env("CONTROLLER_CONFIG_QPS", &qps.to_string())
            .env("CONTROLLER_CONFIG_BURST", &(2 * qps).to_string());
    }
    propagator.start()?;
    println!("\n# nothing bound yet");
    measure::settle(&plane, &propagator).await?;
    println!("\n# from the binding to the last replica");
    let propagated = measure::propagate(&plane, &propagator, size).await?;
    println!("\n# all roots edited, to the last replica");
    let edited = measure::edit(&plane, &propagator, size).await?;
    println!("\n# all replicas answer, to the last root that is Compliant");
    let answered = measure::answer(&plane, &propagator, size).await?;
    let peak = propagator.used()?.peak_kib;
    println!("\n# CPU and memory of the propagator a pair of policy and cluster");
    per_pair("created", propagated, size);
    per_pair("edited", edited, size);
    per_pair("answered", answered, size);
    println!("peak RSS {:.2} KiB", ratio(peak, size.pairs()));
    println!(
        "a root policy: {} bytes",
        measure::root_length(&plane).await?
    );
    println!(
        "\n# one answer every {} ms, {} others in each second",
        args.pause, args.load
    );
    let flips = Flips {
        count: args.flips,
        pause: Duration::from_millis(args.pause),
        load: args.load,
    };
    measure::flips(&plane, &propagator, size, flips).await?;
    println!("\n# a restart over all of it");
    measure::restart(&plane, &mut propagator).await?;
    println!("\n# the binding goes, to the last replica");
    measure::withdraw(&plane, &propagator, size).await?;
    propagator.stop().await
}

fn per_pair(what: &str, cpu: Duration, size: Size) {
    let micros = u64::try_from(cpu.as_micros()).unwrap_or(u64::MAX);
    println!("{what}: CPU {:.0} us", ratio(micros, size.pairs()));
}

fn ratio(sum: u64, count: usize) -> f64 {
    // Only for people to read.
    let sum = u32::try_from(sum).unwrap_or(u32::MAX);
    f64::from(sum) / f64::from(u32::try_from(count.max(1)).unwrap_or(u32::MAX))
}
