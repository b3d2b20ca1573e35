//! One of Reeve's components as a process.

use std::env;
use std::ffi::OsString;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::process::Signal;
use tempfile::TempDir;

use crate::child::{Child, Launch, tail};
use crate::{cargo_command, eventually, http_get, target_folder};

/// How long a component may take to end when asked to.
const GRACE: Duration = Duration::from_secs(30);

/// A component running as a process, called by its own name. Dropping it kills it; when that happens
/// in a panic, the end of its log is printed.
pub struct Component {
    child: Child,
    launch: Launch,
    _dir: TempDir,
}

impl Component {
    /// Starts `name` (such as `governance-policy-propagator`) with `args` and `env`. Of this process's own environment
    /// it gets the search path and what developers set to see more, such as `RUST_LOG`.
    ///
    /// The first call builds the `reeve` program unless `REEVE_BIN` names one.
    pub fn spawn(name: &str, args: &[&str], env: &[(&str, &str)]) -> Result<Self> {
        Self::spawn_program(&reeve_binary()?, name, args, env)
    }

    /// Like [`Component::spawn`], for any program: it is called by `name`.
    pub fn spawn_program(
        program: &Path,
        name: &str,
        args: &[&str],
        env: &[(&str, &str)],
    ) -> Result<Self> {
        let dir = tempfile::Builder::new()
            .prefix(&format!("{name}-"))
            .tempdir();
        let dir = dir.context("creating the folder of a component")?;
        // The program reads the name that it is called by.
        let link = dir.path().join(name);
        symlink(program, &link).with_context(|| format!("linking {}", link.display()))?;
        let launch = Launch {
            name: name.to_owned(),
            program: link,
            args: args.iter().map(OsString::from).collect(),
            env: env
                .iter()
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                .collect(),
            home: dir.path().to_path_buf(),
            log: dir.path().join("log"),
        };
        Ok(Self {
            child: launch.start()?,
            launch,
            _dir: dir,
        })
    }

    /// The process id of the current start.
    pub fn pid(&self) -> u32 {
        self.child.pid()
    }

    /// Everything written to stdout and stderr so far, over all starts.
    pub fn log(&self) -> String {
        self.launch.log()
    }

    /// The exit status, if it has ended.
    pub fn status(&mut self) -> Result<Option<ExitStatus>> {
        self.child.status()
    }

    /// `kill -9`, and waits until it is gone.
    pub async fn kill(&mut self) {
        self.child.kill();
        // Async like its siblings, so that a test reads the same whichever end it chooses.
        tokio::task::yield_now().await;
    }

    /// Asks it to end (`SIGTERM`) and waits for that.
    ///
    /// # Errors
    /// When it is still there after 30 s: then it is killed.
    pub async fn stop(&mut self) -> Result<ExitStatus> {
        self.child.signal(Signal::TERM)?;
        let outcome = self.child.wait(GRACE).await;
        self.child.kill();
        outcome.with_context(|| format!("its log:\n{}", tail(&self.log(), 30)))
    }

    /// Waits until it ends by itself.
    pub async fn wait(&mut self, deadline: Duration) -> Result<ExitStatus> {
        let outcome = self.child.wait(deadline).await;
        outcome.with_context(|| format!("its log:\n{}", tail(&self.log(), 30)))
    }

    /// Starts it again with the same arguments, killing it first if it still runs.
    pub fn restart(&mut self) -> Result<()> {
        self.child.kill();
        self.child = self.launch.start()?;
        Ok(())
    }

    /// Freezes it (`SIGSTOP`): it keeps its connections and its lease, and does nothing.
    pub fn pause(&mut self) -> Result<()> {
        self.child.signal(Signal::STOP)
    }

    /// Ends [`Component::pause`].
    pub fn resume(&mut self) -> Result<()> {
        self.child.signal(Signal::CONT)
    }

    /// Waits until the page at `url` (`http://127.0.0.1:port/healthz`) answers 200.
    ///
    /// # Errors
    /// After `deadline`, or as soon as the process has ended.
    pub async fn healthy(&mut self, url: &str, deadline: Duration) -> Result<()> {
        let child = &mut self.child;
        let ended = eventually(format!("{url} answers 200"), deadline, || {
            let status = child.status();
            async move {
                if let Some(status) = status? {
                    return Ok(Some(status));
                }
                let (code, body) = http_get(url).await?;
                if code != 200 {
                    bail!("it answers {code}: {body}");
                }
                Ok(None)
            }
        })
        .await;
        let log = || {
            format!(
                "{}; its log:\n{}",
                self.launch.name,
                tail(&self.launch.log(), 30)
            )
        };
        match ended.with_context(log)? {
            None => Ok(()),
            Some(status) => bail!("ended with {status}: {}", log()),
        }
    }
}

impl Drop for Component {
    fn drop(&mut self) {
        self.child.kill();
        if std::thread::panicking() {
            eprintln!(
                "--- the log of {} ends:\n{}",
                self.launch.name,
                tail(&self.log(), 60)
            );
        }
    }
}

/// The `reeve` program: `REEVE_BIN`, or else built once per process in the dev profile.
pub fn reeve_binary() -> Result<PathBuf> {
    static REEVE: Mutex<Option<PathBuf>> = Mutex::new(None);
    built(&REEVE, "REEVE_BIN", "reeve-cli", "reeve")
}

/// The helper inside every Pod of a process kubelet: `REEVE_POD_BIN`, or else built once per process.
pub(crate) fn pod_binary() -> Result<PathBuf> {
    static POD: Mutex<Option<PathBuf>> = Mutex::new(None);
    built(&POD, "REEVE_POD_BIN", "reeve-testkit", "reeve-pod")
}

fn built(
    known: &Mutex<Option<PathBuf>>,
    variable: &str,
    package: &str,
    name: &str,
) -> Result<PathBuf> {
    if let Some(path) = env::var_os(variable).filter(|path| !path.is_empty()) {
        let path = PathBuf::from(path);
        let full = path.canonicalize();
        return full.with_context(|| format!("{variable}={} is not there", path.display()));
    }
    let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(path) = &*known {
        return Ok(path.clone());
    }
    let path = build(package, name)?;
    *known = Some(path.clone());
    Ok(path)
}

fn build(package: &str, name: &str) -> Result<PathBuf> {
    let args = ["build", "--quiet", "--package", package, "--bin", name];
    let output = cargo_command(&args).output();
    let output = output.with_context(|| format!("starting `cargo {}`", args.join(" ")))?;
    if !output.status.success() {
        bail!(
            "`cargo {}` failed: {}",
            args.join(" "),
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(target_folder().join("debug").join(name))
}
