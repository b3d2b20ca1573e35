//! The program under measurement, as a process.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use reeve_testkit::{Component, Plane, free_port};

/// The program, running or not.
pub(crate) struct Controller {
    program: PathBuf,
    kubeconfig: String,
    flags: Vec<String>,
    process: Option<Component>,
}

/// What a process has used so far.
#[derive(Clone, Copy, Default)]
pub(crate) struct Used {
    /// Time on a processor.
    pub(crate) cpu: Duration,
    /// The most memory that was resident at once, in KiB.
    pub(crate) peak_kib: u64,
}

impl Controller {
    pub(crate) fn new(plane: &Plane, program: PathBuf, flags: Vec<String>) -> Self {
        Self {
            program,
            kubeconfig: plane.kubeconfig().display().to_string(),
            flags,
            process: None,
        }
    }

    pub(crate) fn start(&mut self) -> Result<()> {
        let (health, metrics) = (free_port()?, free_port()?);
        let health = format!("--health-probe-bind-address=127.0.0.1:{health}");
        let metrics = format!("--metrics-bind-address=127.0.0.1:{metrics}");
        let mut args = vec!["controller", "--leader-elect=false", &health, &metrics];
        args.extend(self.flags.iter().map(String::as_str));
        let env = [
            ("KUBECONFIG", self.kubeconfig.as_str()),
            ("WATCH_NAMESPACE", crate::objects::POLICIES),
            ("OSDK_FORCE_RUN_MODE", "local"),
        ];
        let name = "config-policy-controller";
        self.process = Some(Component::spawn_program(&self.program, name, &args, &env)?);
        Ok(())
    }

    /// Ends the process, not gently.
    pub(crate) fn stop(&mut self) {
        self.process = None;
    }

    pub(crate) fn used(&self) -> Result<Used> {
        let process = self
            .process
            .as_ref()
            .context("the program is not running")?;
        let pid = process.pid();
        let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
        // The name in parentheses may hold anything.
        let (_, fields) = stat.rsplit_once(')').context("no end of the name")?;
        let fields: Vec<&str> = fields.split_whitespace().collect();
        let ticks =
            |at: usize| -> Result<u64> { Ok(fields.get(at).context("a short line")?.parse()?) };
        // Fields 14 and 15 of the whole line, in hundredths of a second on Linux.
        let cpu = Duration::from_millis((ticks(11)? + ticks(12)?) * 10);
        let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let peak = peak.and_then(|text| text.trim().strip_suffix(" kB"));
        let peak_kib = peak.context("no VmHWM")?.trim().parse()?;
        Ok(Used { cpu, peak_kib })
    }
}
