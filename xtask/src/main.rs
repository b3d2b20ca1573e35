//! Generates what is generated, checks what is promised, and runs the whole test.

mod arrows;
mod files;
mod generate;
mod run;

use anyhow::Result;
use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Write every generated file: the CRDs and the reference of all flags.
    Gen,
    /// Formatting, clippy, fresh generated files, arrows between rooms, reachable and short files.
    Check {
        /// Leave out the two slow ones, formatting and clippy.
        #[arg(long)]
        quick: bool,
    },
    /// Everything: the check, then all tests, those on real API servers included.
    Test,
    /// A hub, two clusters, the three components, and a policy that becomes Compliant on both.
    Demo,
    /// The figures in the README.
    Bench,
}

fn main() -> Result<()> {
    match Arguments::parse().task {
        Task::Gen => generate::write(),
        Task::Check { quick } => {
            if !quick {
                run::cargo(&["fmt", "--all", "--check"])?;
                run::cargo(&[
                    "clippy",
                    "--workspace",
                    "--all-targets",
                    "--quiet",
                    "--",
                    "-D",
                    "warnings",
                ])?;
            }
            generate::check()?;
            arrows::check()?;
            files::check()?;
            println!("all checks passed");
            Ok(())
        }
        Task::Test => {
            run::cargo(&["xtask", "check"])?;
            run::cargo(&["build", "--bin", "reeve"])?;
            run::cargo(&["test", "--workspace", "--no-fail-fast"])
        }
        Task::Demo => run::cargo(&["run", "--quiet", "--package", "reeve-demo"]),
        Task::Bench => {
            run::cargo(&["build", "--release", "--bin", "reeve"])?;
            let program = run::target()?.join("release/reeve");
            let arguments = ["run", "--quiet", "--package", "reeve-benches"];
            run::cargo_with(&arguments, &[("REEVE_BIN", program.as_os_str())])
        }
    }
}
