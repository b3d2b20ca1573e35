//! Builds the programs of Go beside everything else.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::Instant;

use anyhow::{Context as _, Result, anyhow};

use super::failures::Failures;
use super::jobs::log_file;
use super::timings::Timings;
use super::usage::{self, Usage};

const TITLE: &str = "cargo xtask go-programs";

/// The build, in a process of its own. Tests that need a program before it is built wait for it.
pub(super) struct GoBuild {
    log: PathBuf,
    waiter: JoinHandle<Result<(ExitStatus, Usage)>>,
}

impl GoBuild {
    /// Starts it; its output goes into a file of the folder.
    pub(super) fn start(folder: &Path) -> Result<Self> {
        let program = std::env::current_exe().context("where is this program?")?;
        let log = log_file(folder, TITLE);
        let output = File::create(&log).with_context(|| format!("creating {}", log.display()))?;
        let errors = output.try_clone().context("sharing the log")?;
        let started = Instant::now();
        let mut child = Command::new(program)
            .arg("go-programs")
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors)
            .spawn()
            .with_context(|| format!("cannot run {TITLE}"))?;
        let waiter = std::thread::spawn(move || usage::wait(&mut child, started));
        Ok(Self { log, waiter })
    }

    /// Waits for its end. Returns whether everything was built.
    pub(super) fn finish(self, failures: &mut Failures, timings: &mut Timings) -> Result<bool> {
        let ended = self.waiter.join();
        let ended = ended.unwrap_or_else(|_| Err(anyhow!("the thread that waits for Go panicked")));
        let (status, used) = ended.context(TITLE)?;
        timings.add_command(TITLE, "beside", used);
        if !status.success() {
            let printed = fs::read_to_string(&self.log).unwrap_or_default();
            failures.add(format!("{TITLE} ended with {status}: {printed}"));
        }
        Ok(status.success())
    }
}
