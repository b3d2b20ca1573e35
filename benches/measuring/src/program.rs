//! The program under measurement, as a process.

use std::path::PathBuf;

use anyhow::{Context, Result};
use reeve_testkit::{Component, Plane, free_port};

use crate::Used;

/// The program, running or not.
pub struct Program {
    path: PathBuf,
    /// The name it is called by, which is that of its `User-Agent`, too.
    name: &'static str,
    args: Vec<String>,
    env: Vec<(&'static str, String)>,
    has_common_flags: bool,
    process: Option<Component>,
}

impl Program {
    /// A program, called by `name`, that talks to a plane.
    pub fn new(plane: &Plane, path: PathBuf, name: &'static str) -> Self {
        let kubeconfig = plane.kubeconfig().display().to_string();
        Self {
            path,
            name,
            args: Vec::new(),
            env: vec![
                ("KUBECONFIG", kubeconfig),
                ("OSDK_FORCE_RUN_MODE", "local".to_owned()),
            ],
            has_common_flags: true,
            process: None,
        }
    }

    /// More flags.
    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item = String>) -> Self {
        self.args.extend(args);
        self
    }

    /// One more variable.
    #[must_use]
    pub fn env(mut self, name: &'static str, value: &str) -> Self {
        self.env.push((name, value.to_owned()));
        self
    }

    /// Without the flags for ports and the lease, which it does not have.
    #[must_use]
    pub fn without_common_flags(mut self) -> Self {
        self.has_common_flags = false;
        self
    }

    /// The name it is called by.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Starts it, on ports of its own and without a lease.
    pub fn start(&mut self) -> Result<()> {
        let (health, metrics) = (free_port()?, free_port()?);
        let health = format!("--health-probe-bind-address=127.0.0.1:{health}");
        let metrics = format!("--metrics-bind-address=127.0.0.1:{metrics}");
        let mut args: Vec<&str> = self.args.iter().map(String::as_str).collect();
        if self.has_common_flags {
            args.extend(["--leader-elect=false", &health, &metrics]);
        }
        let env = self.env.iter().map(|(name, value)| (*name, value.as_str()));
        let env: Vec<_> = env.collect();
        let started = Component::spawn_program(&self.path, self.name, &args, &env)?;
        self.process = Some(started);
        Ok(())
    }

    /// Asks the process to end, as a kubelet does, and waits until it has. Nothing if it is not running.
    ///
    /// # Errors
    /// When it does not end by itself: then it is killed.
    pub async fn stop(&mut self) -> Result<()> {
        if let Some(mut process) = self.process.take() {
            process.stop().await?;
        }
        Ok(())
    }

    /// What the process has used so far.
    pub fn used(&self) -> Result<Used> {
        let process = self
            .process
            .as_ref()
            .context("the program is not running")?;
        Used::by(process.pid())
    }
}
