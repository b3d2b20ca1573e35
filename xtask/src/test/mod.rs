//! The whole test, and at its end what failed: a log is read from its end, and may have lost its beginning.

mod failures;
mod flakes;
mod go_build;
mod jobs;
mod processor;
mod programs;
mod scenarios;
mod selection;
mod suites;
mod timings;
mod usage;

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use clap::Args;

use crate::run;
use failures::Failures;
pub(crate) use flakes::{Options as FlakeOptions, run as run_flakes};
use go_build::GoBuild;
use jobs::{Job, Lane};
use programs::{Built, Program};
use scenarios::Choice;
use selection::Selection;
use timings::{COMMANDS, Timings};

/// What `cargo xtask test` runs.
#[derive(Args)]
pub(crate) struct Options {
    /// Only these suites of scenarios and packages, without the check: `hub`, `policy-generator`.
    names: Vec<String>,
    /// Only the scenarios, each suite that can on the API server in memory.
    #[arg(long)]
    embedded: bool,
    /// Each suite of scenarios on both kinds of API server, as before a release.
    #[arg(long, conflicts_with = "embedded")]
    both: bool,
    /// Only the tests of what depends on the files that differ from this commit, without the check.
    #[arg(long, value_name = "COMMIT", num_args = 0..=1, default_missing_value = "main", conflicts_with = "names")]
    changed: Option<String>,
    /// Write the table of seconds, processor time and memory to this file, too.
    #[arg(long, value_name = "FILE")]
    timings: Option<PathBuf>,
}

/// Which tests are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Which {
    /// All, each suite of scenarios on its kind of API server.
    All,
    /// All, each suite of scenarios on both kinds of API server.
    Both,
    /// The scenarios on the embedded server.
    Embedded,
}

/// Runs tests. What failed is printed again at the end, after what each program used.
pub(crate) fn run(options: &Options) -> Result<()> {
    let which = match (options.embedded, options.both) {
        (true, _) => Which::Embedded,
        (_, true) => Which::Both,
        _ => Which::All,
    };
    let selection = match (&options.changed, &options.names[..]) {
        (Some(commit), _) => Selection::changed_since(commit)?,
        (None, []) => Selection::All,
        (None, names) => Selection::named(names)?,
    };
    let mut timings = Timings::start();
    let mut failures = Failures::default();
    let folder = run::target_folder().join("test");
    fs::create_dir_all(&folder).with_context(|| format!("creating {}", folder.display()))?;
    let is_whole = selection.is_all() && which != Which::Embedded;
    // The control plane is ready when the test programs are: the longest suites need it.
    let go = is_whole.then(|| GoBuild::start(&folder)).transpose()?;
    if is_whole {
        let mut check = run::cargo_command(&["xtask", "check"]);
        if programs::build_lints() {
            check.arg("--without-clippy");
        }
        run_first("cargo xtask check", check, &mut timings)?;
    }
    let built = Built::new(&mut timings)?;
    let (real, others) = lanes(which, &selection, &built)?;
    let lanes = vec![real, others];
    let mut passed = jobs::run(lanes, &folder, &mut failures, &mut timings)?;
    if let Some(go) = go {
        passed &= go.finish(&mut failures, &mut timings)?;
    }
    let mut out = std::io::stdout().lock();
    let table = timings.table();
    // A reader that has closed the pipe wants the exit code at least.
    let _ = writeln!(out, "\n{table}");
    if let Some(file) = &options.timings {
        fs::write(file, &table).with_context(|| format!("writing {}", file.display()))?;
    }
    let _ = write!(out, "{failures}");
    ensure!(passed, "tests failed");
    Ok(())
}

/// What is run: with real API servers, and without.
fn lanes(which: Which, selection: &Selection, built: &Built) -> Result<(Lane, Lane)> {
    let (with_crates, choice) = match which {
        Which::All => (true, Choice::Own),
        Which::Both => (true, Choice::Both),
        Which::Embedded => (false, Choice::Embedded),
    };
    // Most of the time, these wait.
    let mut real = Lane::new("real servers", 3);
    let mut others = Lane::new("others", 2);
    if with_crates {
        add_unit_tests(selection, built, &mut others);
    }
    scenarios::add(choice, selection, built, &mut real, &mut others)?;
    if with_crates {
        add_integration_tests(selection, built, &mut real, &mut others);
    }
    Ok((real, others))
}

/// Runs a command before all programs, its output going where ours goes.
fn run_first(title: &str, mut command: Command, timings: &mut Timings) -> Result<()> {
    let started = Instant::now();
    let child = command.spawn();
    let mut child = child.with_context(|| format!("cannot run {title}"))?;
    let (status, used) = usage::wait(&mut child, started)?;
    timings.add_command(title, COMMANDS, used);
    ensure!(status.success(), "{title} failed");
    Ok(())
}

/// The packages whose integration tests start real API servers.
const WITH_REAL_SERVERS: [&str; 4] = [
    "reeve-conformance",
    "reeve-demo",
    "reeve-fleet",
    "reeve-testkit",
];

/// The integration tests that take as long as the longest suites. They start first, so that none of them runs alone at the end.
const LONGEST: [&str; 4] = [
    "cli: commands",
    "conformance: clients",
    "conformance: conformance",
    "fuzz: seeds",
];

/// Adds the tests of the modules and of the docs.
fn add_unit_tests(selection: &Selection, built: &Built, lane: &mut Lane) {
    let programs = built
        .programs
        .iter()
        .filter(|program| !program.is_integration && selection.has_program(program));
    lane.jobs
        .extend(programs.map(|program| job(built, program)));
    if selection.is_all() {
        lane.jobs.push_back(Job {
            title: "examples in the docs".to_owned(),
            server: None,
            command: run::cargo_command(&["test", "--workspace", "--doc", "--no-fail-fast"]),
        });
    }
}

/// Adds the integration tests of each package but the scenarios.
fn add_integration_tests(selection: &Selection, built: &Built, real: &mut Lane, others: &mut Lane) {
    let programs = built.programs.iter().filter(|program| {
        program.is_integration && !scenarios::has_suites(program) && selection.has_program(program)
    });
    for program in programs {
        let needs_real_server = WITH_REAL_SERVERS.contains(&program.package.as_str());
        let lane = if needs_real_server {
            &mut *real
        } else {
            &mut *others
        };
        let job = job(built, program);
        if LONGEST.contains(&job.title.as_str()) {
            lane.jobs.push_front(job);
        } else {
            lane.jobs.push_back(job);
        }
    }
}

fn job(built: &Built, program: &Program) -> Job {
    Job {
        title: program.title(),
        server: None,
        command: built.command(program),
    }
}
