//! What the evaluation of constraints costs: all pods of a cluster by all constraints, in turn by Reeve and by the libraries of
//! Gatekeeper, and one pod that changes among all.

mod change;
mod evaluate;
mod workload;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;
use reeve_testkit::gatekeeper_oracle;

/// Measures the evaluation of constraints.
#[derive(Parser)]
struct Args {
    /// Pods of the cluster.
    #[arg(long, default_value_t = 10_000)]
    pods: usize,
    /// How many times each engine evaluates all of them, in turn.
    #[arg(long, default_value_t = 2)]
    rounds: usize,
    /// Pods that change, one after the other.
    #[arg(long, default_value_t = 200)]
    changes: usize,
    /// Do not compare with the libraries of Gatekeeper, which need Go.
    #[arg(long)]
    alone: bool,
    /// Evaluate the pods of a file by the templates and constraints of another: what this program starts itself for.
    #[arg(long, num_args = 2, value_names = ["SETUP", "PODS"], hide = true)]
    evaluate: Option<Vec<PathBuf>>,
    /// The same in processes that can be killed, as the components do.
    #[arg(long, num_args = 2, value_names = ["SETUP", "PODS"], hide = true)]
    evaluate_in_workers: Option<Vec<PathBuf>>,
    #[command(subcommand)]
    worker: Option<Worker>,
}

/// This program as a process that evaluates constraints.
#[derive(clap::Subcommand)]
enum Worker {
    #[command(name = reeve_constraint_worker::COMMAND, hide = true)]
    Run {
        #[arg(long)]
        memory: u64,
    },
}

fn main() -> Result<ExitCode> {
    let args = Args::parse();
    if let Some(Worker::Run { memory }) = args.worker {
        return Ok(reeve_constraint_worker::run(memory));
    }
    if let Some([setup, pods]) = args.evaluate_in_workers.as_deref() {
        reeve_constraint_worker::enable();
        evaluate::run(setup, pods)?;
    } else if let Some([setup, pods]) = args.evaluate.as_deref() {
        evaluate::run(setup, pods)?;
    } else {
        compare(&args)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn compare(args: &Args) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (setup, pods) = (folder.path().join("setup"), folder.path().join("pods"));
    let constraints = workload::write(&setup, &pods, args.pods)?;
    println!(
        "{} pods, {constraints} constraints, {} KiB of JSON",
        args.pods,
        fs::metadata(&pods)?.len() / 1024
    );
    let own = std::env::current_exe().context("the path of this program")?;
    let oracle = (!args.alone).then(gatekeeper_oracle).transpose()?;
    let mut counts = Vec::new();
    for _ in 0..args.rounds {
        for (name, action) in [
            ("reeve", "--evaluate"),
            ("workers", "--evaluate-in-workers"),
        ] {
            counts.push(evaluation(name, &own, action, (&setup, &pods))?);
        }
        if let Some(oracle) = &oracle {
            counts.push(evaluation(
                "gatekeeper",
                oracle,
                "evaluate",
                (&setup, &pods),
            )?);
        }
    }
    ensure!(
        counts.windows(2).all(|pair| pair[0] == pair[1]),
        "the engines do not agree: {counts:?} violations"
    );
    change::run(&setup, &pods, args.changes)
}

/// Runs a program on one processor, prints what it used and returns how many violations it has found.
fn evaluation(
    name: &str,
    program: &Path,
    action: &str,
    (setup, pods): (&Path, &Path),
) -> Result<u64> {
    let output = Command::new(program)
        .env("GOMAXPROCS", "1")
        .args([action.as_ref(), setup, pods])
        .output()
        .with_context(|| format!("starting {}", program.display()))?;
    if !output.status.success() {
        bail!("{name}: {}", String::from_utf8_lossy(&output.stderr));
    }
    let line = String::from_utf8(output.stdout)?;
    println!("{name:<10} {}", line.trim());
    let count = line.split_whitespace().next();
    count
        .and_then(|count| count.parse().ok())
        .with_context(|| format!("{name} printed {line:?}"))
}
