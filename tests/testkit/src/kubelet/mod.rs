//! A kubelet without containers: it runs the commands of Pods as processes.
//!
//! Every Pod has mounts, a network and a host name of its own, so that its paths (`/var/run/secrets/...`), its ports
//! and its name are those of its manifest, however many Pods there are. Its containers run as the image's user with
//! no more than the manifest gives them: environment, volumes, and the token of their `ServiceAccount`. From inside,
//! nothing can be reached but the API servers that the test names, on 127.0.0.1.
//!
//! Not there: images, init containers, resource limits, `exec` and `https` probes, DNS.

mod environment;
mod node;
mod port_forward;
mod probes;
mod processes;
mod sandbox;
mod sources;
mod status;
mod volumes;
mod worker;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use http::header::{HeaderValue, USER_AGENT};
use k8s_openapi::api::core::v1::{Container, Pod};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config, ResourceExt as _};
use rustix::process::Signal;
use tempfile::TempDir;
use tokio::task::JoinSet;

use crate::child::{read_lossy, tail};
use crate::process::pod_binary;
use crate::{Objects, Plane, reeve_binary};
use probes::Pace;
use processes::{ProcessId, Processes};
use sandbox::Machine;
use sources::Sources;
use status::{Seen, State};

/// How often new Pods are looked for.
const SYNC_INTERVAL: Duration = Duration::from_millis(100);

/// The components that the `reeve` program is.
const COMPONENTS: &[&str] = &[
    "reeve",
    "governance-policy-propagator",
    "governance-policy-framework-addon",
    "config-policy-controller",
    "governance-policy-addon-controller",
];

/// How a [`Kubelet`] runs Pods.
#[derive(Debug, Clone)]
pub struct KubeletOptions {
    /// The name of its node.
    pub node: String,
    /// Ports of 127.0.0.1 that Pods reach beside the API server of their own plane: see [`Plane::port`].
    pub reach: Vec<u16>,
    /// More programs than Reeve's components, by the name that a container calls: its command, or its image without
    /// registry and tag.
    pub programs: BTreeMap<String, PathBuf>,
    /// Names of programs or images that cannot be pulled: see [`Kubelet::set_unpullable`].
    pub unpullable: BTreeSet<String>,
    /// Who containers run as that name no user: the image's user. Has no effect where tests do not run as root.
    pub user: i64,
    /// By how much probes are faster than in their manifest.
    pub probes_divided_by: u32,
    /// The shortest time between two probes.
    pub probes_at_least: Duration,
    /// How long the first restart of a container waits. Doubles with each, up to ten times this.
    pub back_off: Duration,
    /// The longest time that a container has to end, whatever its manifest has.
    pub grace_cap: Duration,
}

impl Default for KubeletOptions {
    fn default() -> Self {
        Self {
            node: "node".to_owned(),
            reach: Vec::new(),
            programs: BTreeMap::new(),
            unpullable: BTreeSet::new(),
            user: 65532,
            probes_divided_by: 10,
            probes_at_least: Duration::from_millis(100),
            back_off: Duration::from_millis(200),
            grace_cap: Duration::from_secs(30),
        }
    }
}

impl KubeletOptions {
    fn pace(&self) -> Pace {
        Pace {
            divided_by: self.probes_divided_by,
            at_least: self.probes_at_least,
        }
    }

    fn back_off(&self, restarts: u32) -> Duration {
        let factor = 2_u32.saturating_pow(restarts.min(8)).min(10);
        self.back_off * factor
    }
}

/// Why a container does not run.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Blocked {
    reason: &'static str,
    message: String,
}

impl Blocked {
    fn new(reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            reason,
            message: message.into(),
        }
    }

    fn creating(message: impl Into<String>) -> Self {
        Self::new("ContainerCreating", message)
    }

    fn config(message: impl Into<String>) -> Self {
        Self::new("CreateContainerConfigError", message)
    }
}

/// Runs the Pods of a plane. Dropping it kills them all, without an update of their statuses.
pub struct Kubelet {
    inner: Arc<Inner>,
    tasks: JoinSet<()>,
}

struct Inner {
    options: KubeletOptions,
    client: Client,
    /// Host and port of the API server.
    server: (String, String),
    sources: Sources,
    processes: Processes,
    machine: Machine,
    unpullable: Mutex<BTreeSet<String>>,
    running: Mutex<BTreeMap<(String, String), RunningPod>>,
    dir: TempDir,
}

/// What is known of a Pod that has been started.
struct RunningPod {
    folder: PathBuf,
    processes: Vec<ProcessId>,
}

impl Kubelet {
    /// Starts a kubelet for all Pods of a plane that have no node. Builds its helper first when that is needed.
    ///
    /// # Errors
    /// When this machine gives no namespaces, with what to do about it.
    pub async fn start(plane: &Plane, mut options: KubeletOptions) -> Result<Self> {
        let built = tokio::task::spawn_blocking(|| anyhow::Ok((reeve_binary()?, pod_binary()?)));
        let (reeve, helper) = built.await.context("building")??;
        for name in COMPONENTS {
            let program = options.programs.entry((*name).to_owned());
            program.or_insert_with(|| reeve.clone());
        }
        let dir = tempfile::Builder::new().prefix("kubelet-").tempdir();
        let dir = dir.context("creating the folder of a kubelet")?;
        for part in ["ways", "logs"] {
            fs::create_dir(dir.path().join(part)).context("creating the folder of a kubelet")?;
        }
        let own = plane.port()?;
        let mut ports = options.reach.clone();
        ports.push(own);
        ports.sort_unstable();
        ports.dedup();
        let mut tasks = JoinSet::new();
        let port_forward = dir.path().join("ways");
        port_forward::open(&port_forward, &ports, &mut tasks)?;
        let machine = Machine::new(helper, port_forward, ports)?;
        let client = client(plane.kubeconfig()).await?;
        let sources = Sources::watch(&client, &mut tasks);
        sources.ready().await.context("listing Pods")?;
        let objects = Objects::new(client.clone());
        node::register(&objects, &options).await?;
        tasks.spawn(node::keep_alive(objects, options.clone()));
        let inner = Arc::new(Inner {
            unpullable: Mutex::new(options.unpullable.clone()),
            options,
            client,
            server: ("127.0.0.1".to_owned(), own.to_string()),
            sources,
            processes: Processes::default(),
            machine,
            running: Mutex::default(),
            dir,
        });
        tasks.spawn(spawn_workers(Arc::clone(&inner)));
        Ok(Self { inner, tasks })
    }

    /// Sets the programs or images that cannot be pulled from now on. Running containers continue.
    pub fn set_unpullable<'a>(&self, names: impl IntoIterator<Item = &'a str>) {
        let names = names.into_iter().map(str::to_owned).collect();
        *self
            .inner
            .unpullable
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = names;
    }

    /// What the containers of a Pod have written, over all starts; also after its end.
    pub fn logs(&self, namespace: &str, pod: &str) -> String {
        let prefix = format!("{namespace}_{pod}_");
        let logs = self.inner.log_files();
        let own = logs
            .into_iter()
            .filter(|(name, _)| name.starts_with(&prefix));
        own.map(|(_, path)| read_lossy(&path)).collect()
    }

    /// The ends of all logs, the kubelet's own first, for a failed test to print.
    pub fn dump(&self) -> String {
        let own = ("kubelet".to_owned(), self.inner.dir.path().join("log"));
        let logs = std::iter::once(own).chain(self.inner.log_files());
        let parts = logs.map(|(name, path)| {
            format!(
                "--- the log of {name} ends:\n{}\n",
                tail(&read_lossy(&path), 60)
            )
        });
        parts.collect()
    }

    /// The Pods of a namespace that have been started and whose names begin so, such as those of a Deployment.
    pub fn pods(&self, namespace: &str, prefix: &str) -> Vec<String> {
        let running = self
            .inner
            .running
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let names = running.keys();
        let names = names.filter(|(of, name)| of == namespace && name.starts_with(prefix));
        names.map(|(_, name)| name.clone()).collect()
    }

    /// A page of a container, such as its metrics: status code and body.
    pub async fn http_get(
        &self,
        namespace: &str,
        pod: &str,
        port: u16,
        path: &str,
    ) -> Result<(u16, String)> {
        let folder = self
            .inner
            .with_running(namespace, pod, |with_running| with_running.folder.clone())?;
        probes::http_get(&folder.join("in"), port, path).await
    }

    /// `kill -9` of a Pod's containers, as when the machine runs out of memory. They are restarted if the policy
    /// of their Pod requires it.
    pub fn kill(&self, namespace: &str, pod: &str) -> Result<()> {
        let processes = self.inner.with_running(namespace, pod, |with_running| {
            with_running.processes.clone()
        })?;
        for process in processes {
            self.inner.processes.signal(process, Signal::KILL)?;
        }
        Ok(())
    }

    /// The process id of a Pod's first running container: its memory and time can be read from `/proc`.
    pub fn pid(&self, namespace: &str, pod: &str) -> Result<u32> {
        let processes = self.inner.with_running(namespace, pod, |with_running| {
            with_running.processes.clone()
        })?;
        let mut pids = processes
            .into_iter()
            .filter_map(|process| self.inner.processes.pid(process));
        pids.next()
            .with_context(|| format!("no container of {namespace}/{pod} runs"))
    }
}

impl Drop for Kubelet {
    fn drop(&mut self) {
        self.tasks.abort_all();
        self.inner.processes.close();
        if std::thread::panicking() {
            eprintln!("{}", self.dump());
        }
    }
}

impl Inner {
    /// By which name the program of a container is called.
    fn program(&self, container: &Container) -> Result<String, Blocked> {
        let image = container.image.as_deref().unwrap_or_default();
        let of_image = base_name(image);
        let command = container.command.iter().flatten().next();
        let name = command.map_or(of_image, |command| last_part(command));
        let unpullable = self
            .unpullable
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if [image, of_image, name]
            .iter()
            .any(|with_running| unpullable.contains(*with_running))
        {
            return Err(Blocked::new(
                "ImagePullBackOff",
                format!("Back-off pulling image {image:?}"),
            ));
        }
        if !self.options.programs.contains_key(name) {
            return Err(Blocked::new(
                "ImagePullBackOff",
                format!("Back-off pulling image {image:?}: there is no program {name}"),
            ));
        }
        Ok(name.to_owned())
    }

    /// The variables that every container has.
    fn default_environment(&self, pod: &str) -> environment::Variables {
        let (host, port) = &self.server;
        [
            (
                "PATH",
                "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            ),
            ("HOME", "/"),
            ("HOSTNAME", pod),
            ("KUBERNETES_SERVICE_HOST", host),
            ("KUBERNETES_SERVICE_PORT", port),
            ("KUBERNETES_SERVICE_PORT_HTTPS", port),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into()
    }

    fn log(&self, namespace: &str, pod: &str, container: &str) -> PathBuf {
        let name = format!("{namespace}_{pod}_{container}");
        self.dir.path().join("logs").join(name)
    }

    fn log_files(&self) -> Vec<(String, PathBuf)> {
        let entries = fs::read_dir(self.dir.path().join("logs"));
        let entries = entries.into_iter().flatten().flatten();
        let mut logs: Vec<_> = entries
            .map(|entry| {
                (
                    entry.file_name().to_string_lossy().into_owned(),
                    entry.path(),
                )
            })
            .collect();
        logs.sort();
        logs
    }

    /// Writes into the kubelet's own log.
    fn note(&self, line: &str) {
        use std::io::Write as _;
        let path = self.dir.path().join("log");
        if let Ok(mut log) = fs::File::options().create(true).append(true).open(path) {
            let _ = writeln!(log, "{line}");
        }
    }

    fn record_running(&self, namespace: &str, name: &str, folder: &Path, seen: &[Seen]) {
        let processes = seen.iter().filter_map(|container| match &container.state {
            State::Running { process, .. } => Some(*process),
            _ => None,
        });
        let with_running = RunningPod {
            folder: folder.to_owned(),
            processes: processes.collect(),
        };
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.insert((namespace.to_owned(), name.to_owned()), with_running);
    }

    fn forget(&self, namespace: &str, name: &str, folder: &Path) {
        let key = (namespace.to_owned(), name.to_owned());
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        // A Pod of the same name may have come since.
        if running
            .get(&key)
            .is_some_and(|with_running| with_running.folder == folder)
        {
            running.remove(&key);
        }
    }

    fn with_running<T>(
        &self,
        namespace: &str,
        pod: &str,
        probe: impl FnOnce(&RunningPod) -> T,
    ) -> Result<T> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let with_running = running.get(&(namespace.to_owned(), pod.to_owned()));
        let with_running =
            with_running.with_context(|| format!("the Pod {namespace}/{pod} does not run"))?;
        Ok(probe(with_running))
    }
}

/// Gives every Pod a worker.
async fn spawn_workers(inner: Arc<Inner>) {
    // The workers end with this task.
    let mut workers = JoinSet::new();
    let mut adopted: HashSet<String> = HashSet::new();
    let mut number = 0;
    loop {
        let pods = inner.sources.pods.state();
        let uids: HashSet<String> = pods.iter().filter_map(|pod| pod.uid()).collect();
        adopted.retain(|uid| uids.contains(uid));
        for pod in pods {
            if pod.uid().is_some_and(|uid| adopted.insert(uid)) && is_ours(&pod, &inner.options) {
                number += 1;
                workers.spawn(worker::Worker::new(Arc::clone(&inner), pod, number).run());
            }
        }
        while workers.try_join_next().is_some() {}
        tokio::time::sleep(SYNC_INTERVAL).await;
    }
}

fn is_ours(pod: &Pod, options: &KubeletOptions) -> bool {
    let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref());
    node.is_none_or(|node| node.is_empty() || node == options.node)
}

async fn client(kubeconfig: &Path) -> Result<Client> {
    let kubeconfig = Kubeconfig::read_from(kubeconfig).context("reading the kubeconfig")?;
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
    let mut config = config.context("reading the kubeconfig")?;
    // So that an audit log distinguishes its requests from those of its Pods.
    let agent = HeaderValue::from_static("process-kubelet");
    config.headers.push((USER_AGENT, agent));
    Client::try_from(config).context("creating a client")
}

/// An image's name without registry, tag and digest.
fn base_name(image: &str) -> &str {
    let name = last_part(image);
    let name = name.split('@').next().unwrap_or(name);
    name.split(':').next().unwrap_or(name)
}

fn last_part(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_have_short_names() {
        for image in [
            "config-policy-controller",
            "quay.io/ocm/config-policy-controller:latest",
            "localhost:5000/config-policy-controller@sha256:00",
            "a/config-policy-controller:v1@sha256:00",
        ] {
            assert_eq!(base_name(image), "config-policy-controller");
        }
    }

    #[test]
    fn restarts_wait_longer_and_longer_up_to_a_limit() {
        let options = KubeletOptions::default();
        let waits = [0, 1, 2, 3, 4, 30].map(|restarts| options.back_off(restarts).as_millis());
        assert_eq!(waits, [200, 400, 800, 1600, 2000, 2000]);
    }
}
