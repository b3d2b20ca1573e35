//! The scenarios on the API server of this workspace: it takes so little that several suites are played at once.

use std::collections::VecDeque;
use std::io::{BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, ensure};
use cargo_metadata::Message;

use super::Failures;
use crate::run;

/// The suites that need a plane, those that take longest first.
const SUITES: [&str; 22] = [
    "lifecycle",
    "hub_guarantees",
    "guarantees",
    "install",
    "corpus",
    "addon_guarantees",
    "addon",
    "automation",
    "configuration",
    "hub",
    "process",
    "crashes",
    "hostile",
    "apart",
    "addon_process",
    "propagator_process",
    "gatekeeper",
    "runtime",
    "flows",
    "unattended",
    "approvals",
    "crds",
];

/// The folder of the package that they are in.
const PACKAGE: &str = "scenarios";

/// Suites that are played at once. Each waits more than it computes; so many fill two cores.
const AT_ONCE: usize = 4;

/// A built suite.
struct Suite {
    name: String,
    program: PathBuf,
    /// The folder of its package, where cargo runs it.
    folder: PathBuf,
}

/// What has become of the suites that have ended.
struct Played<'a> {
    passed: bool,
    /// How long they would have taken one after the other.
    took: Duration,
    failures: &'a mut Failures,
}

/// Plays the suites. What failed is added to `failures`; whether nothing did is returned.
pub(super) fn play(failures: &mut Failures) -> Result<bool> {
    let suites = Mutex::new(VecDeque::from(built()?));
    let begun = Instant::now();
    let played = Mutex::new(Played {
        passed: true,
        took: Duration::ZERO,
        failures,
    });
    let work = || -> Result<()> {
        while let Some(suite) = next(&suites) {
            let started = Instant::now();
            let output = suite.play()?;
            lock(&played).add(&suite.name, &output, started.elapsed());
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(work)).collect();
        let ended = workers.into_iter().map(std::thread::ScopedJoinHandle::join);
        let ended: Vec<_> = ended.collect();
        ended
            .into_iter()
            .try_for_each(|worker| worker.unwrap_or_else(|_| Err(anyhow!("a worker panicked"))))
    })?;
    let played = lock(&played);
    println!(
        "\n{} suites on the embedded server: {:.0} s, one after the other {:.0} s",
        SUITES.len(),
        begun.elapsed().as_secs_f64(),
        played.took.as_secs_f64()
    );
    Ok(played.passed)
}

fn next(suites: &Mutex<VecDeque<Suite>>) -> Option<Suite> {
    lock(suites).pop_front()
}

/// Whoever panicked while holding it has told so.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Suite {
    fn play(&self) -> Result<Output> {
        Command::new(&self.program)
            .current_dir(&self.folder)
            .env("REEVE_PLANE", "embedded")
            .stdin(Stdio::null())
            .output()
            .with_context(|| format!("cannot run the suite {}", self.name))
    }
}

impl Played<'_> {
    fn add(&mut self, name: &str, output: &Output, took: Duration) {
        let told = String::from_utf8_lossy(&output.stdout);
        let mut out = std::io::stdout().lock();
        // Whoever does not listen any more wants the exit code at least.
        let _ = writeln!(out, "\n     Embedded {name}\n{told}");
        let _ = out.write_all(&output.stderr);
        let _ = writeln!(out, "{name} ended after {:.1} s", took.as_secs_f64());
        told.lines().for_each(|line| self.failures.take(line));
        self.took += took;
        self.passed &= output.status.success();
    }
}

/// Builds the suites.
fn built() -> Result<Vec<Suite>> {
    let mut arguments = vec!["test", "--workspace", "--no-run"];
    arguments.push("--message-format=json-render-diagnostics");
    arguments.extend(SUITES.iter().flat_map(|name| ["--test", name]));
    let mut child = run::cargo_command(&arguments)?
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot run cargo test")?;
    let output = child.stdout.take().context("cargo test has no output")?;
    let mut suites = Vec::new();
    for message in Message::parse_stream(BufReader::new(output)) {
        let message = message.context("reading what cargo says")?;
        let Message::CompilerArtifact(artifact) = message else {
            continue;
        };
        let folder = artifact.manifest_path.parent();
        let folder = folder.context("a manifest lies nowhere")?;
        // A test of another package may have the same name.
        if folder.file_name() != Some(PACKAGE) {
            continue;
        }
        let place = SUITES.iter().position(|name| *name == artifact.target.name);
        let (Some(place), Some(program)) = (place, artifact.executable) else {
            continue;
        };
        let suite = Suite {
            name: artifact.target.name,
            program: program.into(),
            folder: folder.into(),
        };
        suites.push((place, suite));
    }
    let status = child.wait().context("waiting for cargo test")?;
    ensure!(status.success(), "cargo {} failed", arguments.join(" "));
    let (count, all) = (suites.len(), SUITES.len());
    ensure!(count == all, "{count} suites of {all} were built");
    suites.sort_by_key(|(place, _)| *place);
    Ok(suites.into_iter().map(|(_, suite)| suite).collect())
}
