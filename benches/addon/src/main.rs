//! What a `governance-policy-framework-addon` costs between a hub and one cluster: time, requests, CPU and memory. Any
//! program that takes the same flags can be measured, so that two can be compared on one machine. Nothing evaluates: this
//! program plays the evaluators.

mod measure;
mod objects;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::Parser;
use reeve_benches_measuring::{Program, plane, start};

use measure::Bench;

/// Measures a governance-policy-framework-addon between two real API servers.
#[derive(Parser)]
struct Args {
    /// The program. It is called by the name governance-policy-framework-addon. Absent: Reeve.
    #[arg(long)]
    binary: Option<PathBuf>,
    /// How many policies.
    #[arg(long, default_value_t = 200)]
    policies: usize,
    /// Templates of each of them.
    #[arg(long, default_value_t = 3)]
    templates: usize,
    /// Seconds of the steady state.
    #[arg(long, default_value_t = 60)]
    idle: u64,
    /// Edits on the hub, and answers on the cluster, one after the other.
    #[arg(long, default_value_t = 100)]
    changes: usize,
    /// Milliseconds between two of them. At the default limit of 5 requests a second to the hub, a program that needs two
    /// for a change has caught up after 400.
    #[arg(long, default_value_t = 500)]
    pause: u64,
    /// Flags for the program, besides those it is always given.
    #[arg(last = true)]
    flags: Vec<String>,
}

#[tokio::main]
async fn main() -> Result<()> {
    let args = Args::parse();
    let (managed, program) = start(args.binary.as_deref()).await?;
    let hub = plane("hub").await?;
    let files = [
        format!("--cluster-namespace={}", objects::NAMESPACE),
        format!("--hub-cluster-configfile={}", hub.kubeconfig().display()),
        format!(
            "--managed-cluster-configfile={}",
            managed.kubeconfig().display()
        ),
        "--disable-gatekeeper-sync=true".to_owned(),
    ];
    let program = Program::new(&managed, program, "governance-policy-framework-addon");
    let mut bench = Bench {
        program: program.args(files).args(args.flags),
        hub,
        managed,
        policies: args.policies,
        templates: args.templates,
    };
    let (policies, templates) = (args.policies, args.templates);
    println!("\n# {policies} policies of {templates} templates each, from the start");
    bench.first().await?;
    println!("\n# all {} templates answer", policies * templates);
    bench.answers().await?;
    let changes = (args.changes, Duration::from_millis(args.pause));
    println!("\n# {} edits on the hub, one after the other", args.changes);
    bench.edits(changes).await?;
    println!("\n# {} answers, one after the other", args.changes);
    bench.flips(changes).await?;
    println!("\n# {} s of nothing", args.idle);
    bench.idle(Duration::from_secs(args.idle)).await?;
    println!("\n# a restart over all of it");
    bench.restart().await?;
    bench.program.stop().await
}
