//! What a `config-policy-controller` costs on one cluster: time, requests, CPU and memory. Any program that takes the
//! same flags can be measured, so that two can be compared on one machine.

mod measure;
mod objects;
mod operators;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::Parser;
use reeve_benches_measuring::{Program, start};

/// Measures a config-policy-controller on a real API server.
#[derive(Parser)]
struct Args {
    /// The program. It is called by the name config-policy-controller. Absent: Reeve.
    #[arg(long)]
    binary: Option<PathBuf>,
    /// Policies that only look.
    #[arg(long, default_value_t = 500)]
    policies: usize,
    /// Objects of each of them.
    #[arg(long, default_value_t = 10)]
    objects: usize,
    /// Seconds of the steady state.
    #[arg(long, default_value_t = 60)]
    idle: u64,
    /// Policies that enforce one object each.
    #[arg(long, default_value_t = 100)]
    enforce_policy: usize,
    /// Drifts, one after the other.
    #[arg(long, default_value_t = 200)]
    drifts: usize,
    /// Milliseconds between two drifts. At the default rate limit of 30 requests a second, a program that needs five
    /// for a drift has caught up after 170.
    #[arg(long, default_value_t = 250)]
    pause: u64,
    /// Policies for operators, one each. With 0 these measurements are left out.
    #[arg(long, default_value_t = 50)]
    operators: usize,
    /// Flags for the program, besides those it is always given.
    #[arg(last = true)]
    flags: Vec<String>,
}

#[tokio::main]
async fn main() -> Result<()> {
    let args = Args::parse();
    let (plane, program) = start(args.binary.as_deref()).await?;
    objects::namespaces(&plane).await?;

    println!(
        "\n# {} policies of {} objects each, looking",
        args.policies, args.objects
    );
    objects::existing(&plane, args.policies * args.objects).await?;
    objects::inform_policy(&plane, args.policies, args.objects).await?;
    let mut controller = Program::new(&plane, program.clone(), "config-policy-controller")
        .args(["controller".to_owned()])
        .args(args.flags.clone())
        .env("WATCH_NAMESPACE", objects::POLICIES);
    measure::first_status(&plane, &mut controller, args.policies).await?;
    measure::idle(&plane, &controller, args.idle).await?;

    println!("\n# a restart over all of it");
    measure::restart(&plane, &mut controller).await?;

    println!(
        "\n# {} policies that enforce a missing object",
        args.enforce_policy
    );
    measure::enforce(&plane, &controller, args.enforce_policy).await?;
    println!("\n# {} drifts, one after the other", args.drifts);
    let drifts = (args.drifts, Duration::from_millis(args.pause));
    measure::drift(&plane, &controller, args.enforce_policy, drifts).await?;
    controller.stop().await?;
    if args.operators == 0 {
        return Ok(());
    }

    println!("\n# {} policies for operators", args.operators);
    operators::install(&plane, args.operators).await?;
    let mut controller = Program::new(&plane, program, "config-policy-controller")
        .args([
            "controller".to_owned(),
            "--enable-operator-policy=true".to_owned(),
        ])
        .args(args.flags)
        .env("WATCH_NAMESPACE", operators::POLICIES);
    operators::first_status(&plane, &mut controller, args.operators).await?;
    measure::idle(&plane, &controller, args.idle).await?;
    operators::version_changed(&plane, &controller).await?;
    controller.stop().await
}
