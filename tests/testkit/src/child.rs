//! A process we started: its log, its signals, its end.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process};

use crate::{eventually, evidence, reaper};

/// The variables of this process's environment that a process gets. It gets no other one: a developer's own cluster
/// (`KUBECONFIG`) must be out of reach, and programs must behave the same everywhere. Where `CI` is set, for example, OLM
/// refuses every `CustomResourceDefinition` that it has to create.
const INHERITED: [&str; 6] = [
    "PATH",
    "TMPDIR",
    "LD_LIBRARY_PATH",
    "RUST_LOG",
    "RUST_BACKTRACE",
    "LLVM_PROFILE_FILE",
];

/// How much garbage a program in Go may make before it collects, in percent of what it uses. At Go's own 100, a fifth of its processor
/// time is the collection.
pub(crate) const GOGC: (&str, &str) = ("GOGC", "400");

/// How to start a process; kept, so that it can be started again.
#[derive(Debug, Clone)]
pub(crate) struct Launch {
    pub(crate) name: String,
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<OsString>,
    pub(crate) env: Vec<(String, String)>,
    /// Where the process finds its home: an empty folder, never the developer's.
    pub(crate) home: PathBuf,
    /// Receives stdout and stderr of every start, one after the other.
    pub(crate) log: PathBuf,
}

impl Launch {
    pub(crate) fn start(&self) -> Result<Child> {
        evidence::keep_log(&self.name, &self.log)?;
        let log = File::options().create(true).append(true).open(&self.log);
        let log = log.with_context(|| format!("opening {}", self.log.display()))?;
        let stderr = log.try_clone().context("sharing the log")?;
        let inner = Command::new(&self.program)
            .args(&self.args)
            .env_clear()
            .envs(
                INHERITED
                    .iter()
                    .filter_map(|name| Some((name, env::var_os(name)?))),
            )
            .env("HOME", &self.home)
            .env(GOGC.0, GOGC.1)
            .envs(self.env.iter().map(|(key, value)| (key, value)))
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(stderr)
            .spawn()
            .with_context(|| format!("starting {} ({})", self.name, self.program.display()))?;
        let child = Child {
            name: self.name.clone(),
            inner,
            status: None,
        };
        reaper::watch(child.pid())?;
        Ok(child)
    }

    pub(crate) fn log(&self) -> String {
        read_lossy(&self.log)
    }
}

/// A running (or ended) process. Dropping it kills and reaps it.
#[derive(Debug)]
pub(crate) struct Child {
    name: String,
    inner: std::process::Child,
    status: Option<ExitStatus>,
}

impl Child {
    pub(crate) fn pid(&self) -> u32 {
        self.inner.id()
    }

    /// The exit status, if the process has ended.
    pub(crate) fn status(&mut self) -> Result<Option<ExitStatus>> {
        if self.status.is_none() {
            let status = self.inner.try_wait();
            self.status = status.with_context(|| format!("asking how {} is", self.name))?;
            if self.status.is_some() {
                reaper::forget(self.pid());
            }
        }
        Ok(self.status)
    }

    pub(crate) fn signal(&mut self, signal: Signal) -> Result<()> {
        if self.status()?.is_some() {
            return Ok(());
        }
        let pid = i32::try_from(self.pid()).ok().and_then(Pid::from_raw);
        let pid = pid.with_context(|| format!("{} has no process id", self.name))?;
        kill_process(pid, signal).with_context(|| format!("sending {signal:?} to {}", self.name))
    }

    pub(crate) async fn wait(&mut self, deadline: Duration) -> Result<ExitStatus> {
        let what = format!("{} (process {}) ends", self.name, self.pid());
        let this = std::sync::Mutex::new(self);
        eventually(what, deadline, || {
            let status = this
                .lock()
                .map_err(|_| "poisoned".to_owned())
                .and_then(|mut child| child.status().map_err(|error| format!("{error:#}")));
            std::future::ready(status.and_then(|status| status.ok_or("still running".to_owned())))
        })
        .await
    }

    /// Kills with `SIGKILL` and reaps. Short: the kernel does not ask the process.
    pub(crate) fn kill(&mut self) {
        if self.status.is_none() {
            // Both fail only when the process is gone already, which is what is wanted.
            let _ = self.inner.kill();
            reaper::forget(self.pid());
            self.status = self.inner.wait().ok();
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.kill();
    }
}

pub(crate) fn read_lossy(path: &Path) -> String {
    fs::read(path)
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .unwrap_or_default()
}

/// The last `count` lines, for error messages.
pub(crate) fn tail(text: &str, count: usize) -> String {
    let lines: Vec<_> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_process_inherits_only_what_is_listed() {
        let dir = tempfile::tempdir().unwrap();
        let launch = Launch {
            name: "env".to_owned(),
            program: "env".into(),
            args: Vec::new(),
            env: vec![("GIVEN".to_owned(), "1".to_owned())],
            home: dir.path().to_owned(),
            log: dir.path().join("log"),
        };
        // Cargo sets it for every test.
        assert!(env::var_os("CARGO_MANIFEST_DIR").is_some());
        launch.start().unwrap().wait(crate::SOON).await.unwrap();
        let log = launch.log();
        let names: Vec<_> = log
            .lines()
            .filter_map(|line| line.split('=').next())
            .collect();
        assert!(names.contains(&"PATH") && names.contains(&"GIVEN"), "{log}");
        let known =
            |name: &&str| INHERITED.contains(name) || ["HOME", GOGC.0, "GIVEN"].contains(name);
        assert!(names.iter().all(known), "{log}");
    }
}
