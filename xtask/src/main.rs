//! Generates what is generated, checks what is promised, and runs the whole test.

mod arrows;
mod files;
mod generate;
mod hub;
mod image;
mod metrics;
mod modules;
mod rbac;
mod readme;
mod record;
mod rules;
mod run;
mod test;
mod tools;
mod workflows;

use std::path::PathBuf;

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
    /// Write every generated file: the CRDs, the rights, the reference of all flags, and the manual pages.
    Gen,
    /// Formatting, clippy, fresh generated files, arrows between rooms, reachable and short files, no circles of
    /// modules, no citation of a rule that there is not.
    Check {
        /// Leave out formatting, clippy, and the checks of licences and spelling.
        #[arg(long)]
        quick: bool,
        /// Leave out clippy, where the build of the tests lints.
        #[arg(long)]
        without_clippy: bool,
    },
    /// Print the graph of the modules of each crate: how many there are, and how they use each other.
    Modules,
    /// List the rules of the behaviour reference that no test cites.
    Rules,
    /// Everything: the check, then all tests, each suite of scenarios on the kind of API server that it is about.
    Test(test::Options),
    /// Build the programs that tests start and that are written in Go: a control plane, Gatekeeper and others.
    GoPrograms,
    /// Tests again and again on a loaded machine: which of them fail sometimes?
    Flakes(test::FlakeOptions),
    /// The image of all components, as an OCI archive.
    Image(image::Options),
    /// A hub, two clusters, the three components, and a policy that becomes Compliant on both.
    Demo,
    /// The figures in `docs/benchmarks.md`.
    Bench {
        /// Only this part.
        #[command(subcommand)]
        part: Option<Part>,
    },
    /// Ask Go again what the template tests expect, and write it into their fixtures.
    Record {
        /// Only this program.
        program: Option<String>,
    },
    /// Throw damaged input at templates, YAML, encrypted values and the API server for a given time.
    Fuzz {
        /// How long.
        #[arg(long, default_value_t = 10)]
        minutes: u64,
    },
}

/// One part of the figures.
#[derive(Subcommand)]
enum Part {
    /// The templates, against Go's. Needs no control plane.
    Templates,
    /// The config-policy-controller on one cluster, or another program by the same flags.
    Policies {
        /// For the bench: `--binary PATH`, sizes, and flags for the program after `--`.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// The governance-policy-framework-addon between a hub and a cluster, or another program by the same flags.
    Addon {
        /// For the bench: `--binary PATH`, sizes, and flags for the program after `--`.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// The evaluation of Gatekeeper's constraints, beside Gatekeeper's own libraries.
    Gatekeeper {
        /// For the bench: `--pods N`, `--changes N`, `--alone`.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// The governance-policy-addon-controller on a hub, or another program by the same flags.
    Installs {
        /// For the bench: `--binary PATH`, sizes, and flags for the program after `--`.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// The API server in memory beside a kube-apiserver with etcd, by the same requests.
    Apiserver {
        /// For the bench: sizes.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// A whole fleet in one process, until all policies are Compliant.
    Fleet {
        /// For the bench: sizes.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// The governance-policy-propagator on a hub, or another program by the same flags.
    Hub {
        /// For the bench: `--binary PATH`, sizes, and flags for the program after `--`.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
}

/// Runs a bench of one program, ours unless its arguments name another.
fn bench(package: &str, arguments: &[String]) -> Result<()> {
    bench_by(&["--quiet", "--package", package], arguments)
}

/// Runs a bench with flags for cargo.
fn bench_by(flags: &[&str], arguments: &[String]) -> Result<()> {
    let mut command = vec!["run"];
    command.extend(flags);
    command.push("--");
    command.extend(arguments.iter().map(String::as_str));
    run::cargo_with(&command, &[("REEVE_BIN", release()?.as_os_str())])
}

/// Reeve as users run it.
fn release() -> Result<PathBuf> {
    run::cargo(&["build", "--release", "--bin", "reeve"])?;
    Ok(run::target_folder().join("release/reeve"))
}

fn main() -> Result<()> {
    match Arguments::parse().task {
        Task::Gen => generate::write(),
        Task::Check {
            quick,
            without_clippy,
        } => {
            if !quick {
                run::cargo(&["fmt", "--all", "--check"])?;
                if !without_clippy {
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
                tools::check()?;
            }
            generate::check()?;
            arrows::check()?;
            files::check()?;
            modules::check()?;
            rules::check()?;
            workflows::check()?;
            println!("all checks passed");
            Ok(())
        }
        Task::Test(options) => test::run(&options),
        Task::GoPrograms => reeve_testkit::build_go_programs(|name, took| {
            println!("{name}: {:.1} s", took.as_secs_f64());
        }),
        Task::Flakes(options) => test::run_flakes(&options),
        Task::Modules => modules::print(),
        Task::Rules => rules::print(),
        Task::Image(options) => image::build(options),
        Task::Demo => run::cargo(&["run", "--quiet", "--package", "reeve-demo"]),
        Task::Record { program } => record::record(program.as_deref()),
        Task::Fuzz { minutes } => {
            let minutes = minutes.to_string();
            run::cargo(&[
                "run",
                "--release",
                "--package",
                "reeve-fuzz",
                "--",
                &minutes,
            ])
        }
        Task::Bench {
            part: Some(Part::Templates),
        } => run::cargo(&["run", "--release", "--package", "reeve-benches-templates"]),
        Task::Bench {
            part: Some(Part::Policies { arguments }),
        } => bench("reeve-benches-policies", &arguments),
        Task::Bench {
            part: Some(Part::Hub { arguments }),
        } => bench("reeve-benches-hub", &arguments),
        Task::Bench {
            part: Some(Part::Addon { arguments }),
        } => bench("reeve-benches-addon", &arguments),
        Task::Bench {
            part: Some(Part::Installs { arguments }),
        } => bench("reeve-benches-installs", &arguments),
        Task::Bench {
            part: Some(Part::Gatekeeper { arguments }),
        } => bench_by(
            &["--release", "--package", "reeve-benches-gatekeeper"],
            &arguments,
        ),
        // What asks must not be slower than what answers.
        Task::Bench {
            part: Some(Part::Apiserver { arguments }),
        } => bench_by(
            &["--release", "--package", "reeve-benches-apiserver"],
            &arguments,
        ),
        Task::Bench {
            part: Some(Part::Fleet { arguments }),
        } => bench("reeve-benches-fleet", &arguments),
        Task::Bench { part: None } => {
            let arguments = ["run", "--quiet", "--package", "reeve-benches"];
            run::cargo_with(&arguments, &[("REEVE_BIN", release()?.as_os_str())])
        }
    }
}
