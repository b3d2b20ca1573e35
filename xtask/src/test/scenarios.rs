//! The suites of scenarios, each on the kind of API server that it is about.
//!
//! A real control plane proves what only it can: the semantics of writes, admission, rights, elections, kills and restarts. It
//! costs so much that its suites run one after the other. What is about Reeve's own decisions runs on the API server of
//! this workspace, several suites at once.

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

/// The kind of API server that a suite runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Server {
    /// kube-apiserver with etcd.
    Real,
    /// The API server of this workspace.
    Embedded,
}

/// Which suites are run, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// Each on its own kind of server.
    Own,
    /// Those that run on the embedded server, and all others that can.
    Embedded,
    /// Each on both kinds, before a release.
    Both,
}

/// All suites, each with its kind of server; of each kind those that take longest first.
const SUITES: [(&str, Server); 23] = [
    ("lifecycle", Server::Real),
    ("hub_guarantees", Server::Real),
    ("guarantees", Server::Real),
    ("install", Server::Real),
    ("crashes", Server::Real),
    ("configuration", Server::Real),
    ("process", Server::Real),
    ("addon_process", Server::Real),
    ("propagator_process", Server::Real),
    ("runtime", Server::Real),
    ("crds", Server::Real),
    (PACKAGING, Server::Real),
    ("corpus", Server::Embedded),
    ("addon_guarantees", Server::Embedded),
    ("addon", Server::Embedded),
    ("automation", Server::Embedded),
    ("hub", Server::Embedded),
    ("hostile", Server::Embedded),
    ("apart", Server::Embedded),
    ("gatekeeper", Server::Embedded),
    ("flows", Server::Embedded),
    ("unattended", Server::Embedded),
    ("approvals", Server::Embedded),
];

/// The suite that needs no API server.
const PACKAGING: &str = "packaging";

/// The folder of the package that they are in.
const PACKAGE: &str = "scenarios";

/// Embedded suites that run at once. Each waits more than it computes; so many fill two cores.
const AT_ONCE: usize = 4;

/// A built suite.
#[derive(Clone)]
struct Suite {
    name: String,
    server: Server,
    program: PathBuf,
    /// The folder of its package, where cargo runs it.
    folder: PathBuf,
}

/// The results of the suites that have ended.
struct Finished<'a> {
    passed: bool,
    /// How long they would have taken one after the other.
    took: Duration,
    failures: &'a mut Failures,
}

/// Runs the suites. What failed is added to `failures`; whether nothing did is returned.
pub(super) fn run(choice: Choice, failures: &mut Failures) -> Result<bool> {
    let suites = built()?;
    let on = |server: Server| -> VecDeque<Suite> {
        let is_chosen = |suite: &&Suite| match choice {
            Choice::Own => suite.server == server,
            Choice::Embedded => server == Server::Embedded && suite.name != PACKAGING,
            Choice::Both => server == Server::Real || suite.name != PACKAGING,
        };
        suites.iter().filter(is_chosen).cloned().collect()
    };
    let real = run_on(Server::Real, 1, on(Server::Real), failures)?;
    let embedded = run_on(Server::Embedded, AT_ONCE, on(Server::Embedded), failures)?;
    Ok(real && embedded)
}

fn run_on(
    server: Server,
    at_once: usize,
    suites: VecDeque<Suite>,
    failures: &mut Failures,
) -> Result<bool> {
    let (begun, count) = (Instant::now(), suites.len());
    let suites = Mutex::new(suites);
    let finished = Mutex::new(Finished {
        passed: true,
        took: Duration::ZERO,
        failures,
    });
    let work = || -> Result<()> {
        while let Some(suite) = next(&suites) {
            let started = Instant::now();
            let output = suite.run(server)?;
            lock(&finished).add(&suite.name, server, &output, started.elapsed());
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..at_once).map(|_| scope.spawn(work)).collect();
        let ended = workers.into_iter().map(std::thread::ScopedJoinHandle::join);
        let ended: Vec<_> = ended.collect();
        ended
            .into_iter()
            .try_for_each(|worker| worker.unwrap_or_else(|_| Err(anyhow!("a worker panicked"))))
    })?;
    let finished = lock(&finished);
    println!(
        "\n{server:?}: {count} suites in {:.0} s, one after the other {:.0} s",
        begun.elapsed().as_secs_f64(),
        finished.took.as_secs_f64()
    );
    Ok(finished.passed)
}

fn next(suites: &Mutex<VecDeque<Suite>>) -> Option<Suite> {
    lock(suites).pop_front()
}

/// A worker that panicked while it held the lock has printed why.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Suite {
    fn run(&self, server: Server) -> Result<Output> {
        let mut command = Command::new(&self.program);
        match server {
            Server::Real => command.env_remove("REEVE_PLANE"),
            Server::Embedded => command.env("REEVE_PLANE", "embedded"),
        };
        command
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .output()
            .with_context(|| format!("cannot run the suite {}", self.name))
    }
}

impl Finished<'_> {
    fn add(&mut self, name: &str, server: Server, output: &Output, took: Duration) {
        let printed = String::from_utf8_lossy(&output.stdout);
        let mut out = std::io::stdout().lock();
        // A reader that has closed the pipe wants the exit code at least.
        let _ = writeln!(out, "\n     {server:?} {name}\n{printed}");
        let _ = out.write_all(&output.stderr);
        let _ = writeln!(out, "{name} ended after {:.1} s", took.as_secs_f64());
        printed.lines().for_each(|line| self.failures.take(line));
        self.took += took;
        self.passed &= output.status.success();
    }
}

/// Builds the suites.
fn built() -> Result<Vec<Suite>> {
    let mut arguments = vec!["test", "--workspace", "--no-run"];
    arguments.push("--message-format=json-render-diagnostics");
    arguments.extend(SUITES.iter().flat_map(|(name, _)| ["--test", name]));
    let mut child = run::cargo_command(&arguments)?
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot run cargo test")?;
    let output = child.stdout.take().context("cargo test has no output")?;
    let mut suites = Vec::new();
    for message in Message::parse_stream(BufReader::new(output)) {
        let message = message.context("reading what cargo prints")?;
        let Message::CompilerArtifact(artifact) = message else {
            continue;
        };
        let folder = artifact.manifest_path.parent();
        let folder = folder.context("a manifest in no folder")?;
        // A test of another package may have the same name.
        if folder.file_name() != Some(PACKAGE) {
            continue;
        }
        let mut known = SUITES.iter().enumerate();
        let known = known.find(|(_, (name, _))| *name == artifact.target.name);
        let (Some((place, (_, server))), Some(program)) = (known, artifact.executable) else {
            continue;
        };
        let suite = Suite {
            name: artifact.target.name,
            server: *server,
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
