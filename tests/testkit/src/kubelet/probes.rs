//! Whether a container has started, is ready, and lives.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use k8s_openapi::api::core::v1::{Container, Probe as Spec};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use tokio::io::AsyncWriteExt as _;
use tokio::net::UnixStream;

use crate::net;

/// How much faster than in a real cluster probes run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    pub(super) divided_by: u32,
    pub(super) at_least: Duration,
}

impl Pace {
    fn of(self, seconds: i32) -> Duration {
        let seconds = u64::try_from(seconds).unwrap_or_default();
        Duration::from_secs(seconds) / self.divided_by.max(1)
    }
}

/// One probe of a running container.
#[derive(Debug)]
pub(super) struct Probe {
    /// Absent for one that the kubelet cannot ask: it fails.
    target: Option<(u16, String)>,
    period: Duration,
    timeout: Duration,
    failures_allowed: i32,
    successes_wanted: i32,
    failures: i32,
    successes: i32,
    next: Instant,
}

/// The result of a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Not enough results in a row.
    Open,
    Good,
    Bad,
}

impl Probe {
    fn new(container: &Container, spec: &Spec, pace: Pace) -> Self {
        let wait = pace.of(spec.initial_delay_seconds.unwrap_or(0));
        Self {
            target: target(container, spec),
            period: pace
                .of(spec.period_seconds.unwrap_or(10))
                .max(pace.at_least),
            timeout: Duration::from_secs(
                u64::try_from(spec.timeout_seconds.unwrap_or(1)).unwrap_or(1),
            ),
            failures_allowed: spec.failure_threshold.unwrap_or(3),
            successes_wanted: spec.success_threshold.unwrap_or(1),
            failures: 0,
            successes: 0,
            next: Instant::now() + wait,
        }
    }

    /// Asks if it is time to.
    async fn probe(&mut self, socket_in: &Path) -> Verdict {
        if Instant::now() < self.next {
            return Verdict::Open;
        }
        self.next = Instant::now() + self.period;
        let asked = async {
            let (port, path) = self.target.as_ref().context("no such probe")?;
            let (code, _) = http_get(socket_in, *port, path).await?;
            ensure!((200..400).contains(&code), "it answers {code}");
            anyhow::Ok(())
        };
        let answer = tokio::time::timeout(self.timeout, asked).await;
        if matches!(answer, Ok(Ok(()))) {
            (self.failures, self.successes) = (0, self.successes.saturating_add(1));
        } else {
            (self.failures, self.successes) = (self.failures.saturating_add(1), 0);
        }
        if self.successes >= self.successes_wanted {
            Verdict::Good
        } else if self.failures >= self.failures_allowed {
            Verdict::Bad
        } else {
            Verdict::Open
        }
    }
}

fn target(container: &Container, spec: &Spec) -> Option<(u16, String)> {
    let get = spec.http_get.as_ref()?;
    if get.scheme.as_deref().is_some_and(|scheme| scheme != "HTTP") {
        return None;
    }
    let port = match &get.port {
        IntOrString::Int(port) => *port,
        IntOrString::String(name) => {
            let mut ports = container.ports.iter().flatten();
            ports
                .find(|port| port.name.as_ref() == Some(name))?
                .container_port
        }
    };
    let path = get.path.clone().unwrap_or_else(|| "/".to_owned());
    Some((u16::try_from(port).ok()?, path))
}

/// The probes of one start of a container.
#[derive(Debug)]
pub(super) struct Probes {
    startup: Option<Probe>,
    readiness: Option<Probe>,
    liveness: Option<Probe>,
    pub(super) started: bool,
    pub(super) ready: bool,
}

impl Probes {
    pub(super) fn new(container: &Container, pace: Pace) -> Self {
        let probe = |spec: &Option<Spec>| {
            let spec = spec.as_ref();
            spec.map(|spec| Probe::new(container, spec, pace))
        };
        let startup = probe(&container.startup_probe);
        let readiness = probe(&container.readiness_probe);
        Self {
            started: startup.is_none(),
            ready: startup.is_none() && readiness.is_none(),
            liveness: probe(&container.liveness_probe),
            startup,
            readiness,
        }
    }

    /// Asks what is due. False if the container has to be started anew.
    pub(super) async fn probe(&mut self, socket_in: &Path) -> bool {
        if let Some(startup) = self.startup.as_mut().filter(|_| !self.started) {
            match startup.probe(socket_in).await {
                Verdict::Good => {
                    self.started = true;
                    self.ready = self.readiness.is_none();
                }
                Verdict::Open => return true,
                Verdict::Bad => return false,
            }
        }
        if let Some(readiness) = &mut self.readiness {
            match readiness.probe(socket_in).await {
                Verdict::Good => self.ready = true,
                Verdict::Bad => self.ready = false,
                Verdict::Open => {}
            }
        }
        match &mut self.liveness {
            Some(liveness) => liveness.probe(socket_in).await != Verdict::Bad,
            None => true,
        }
    }
}

/// A page of a Pod.
pub(super) async fn http_get(socket_in: &Path, port: u16, path: &str) -> Result<(u16, String)> {
    let url = format!("http://127.0.0.1:{port}/{}", path.trim_start_matches('/'));
    let mut stream = UnixStream::connect(socket_in)
        .await
        .context("the Pod has no network yet")?;
    stream
        .write_all(format!("{port}\n").as_bytes())
        .await
        .context("going into the Pod")?;
    match net::get_through(stream, &url).await {
        Ok(answer) => Ok(answer),
        Err(error) => bail!("in the Pod: {error:#}"),
    }
}
