//! One Pod, from its binding to its end.

use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use jiff::Timestamp;
use k8s_openapi::api::authentication::v1::{BoundObjectReference, TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{Container, Pod, ServiceAccount};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::runtime::reflector::ObjectRef;
use kube::{Api, ResourceExt as _};
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::net::UnixStream;

use super::probes::Probes;
use super::processes::ProcessId;
use super::sandbox::{Process, containers};
use super::status::{Changes, Ended, Seen, State, status};
use super::volumes::{self, Content, Tokens};
use super::{Blocked, Inner, environment};
use crate::child::{read_lossy, tail};

/// How often a Pod is synced.
const TICK: Duration = Duration::from_millis(100);

#[derive(Debug)]
enum Sandbox {
    Absent,
    Starting(ProcessId),
    Ready(ProcessId),
}

/// See the module.
pub(super) struct Worker {
    inner: Arc<Inner>,
    pod: Arc<Pod>,
    namespace: String,
    name: String,
    uid: String,
    folder: PathBuf,
    sandbox: Sandbox,
    tokens: Tokens,
    /// What was last written into each volume.
    written: Vec<(String, Content)>,
    version: u64,
    seen: Vec<Seen>,
    /// When each container may be started.
    not_before: Vec<Instant>,
    changes: Changes,
    reported: Option<Value>,
}

impl Worker {
    pub(super) fn new(inner: Arc<Inner>, pod: Arc<Pod>, number: u64) -> Self {
        let seen: Vec<Seen> = containers(&pod)
            .map(|container| Seen {
                name: container.name.clone(),
                image: container.image.clone().unwrap_or_default(),
                state: State::Waiting(Blocked::creating("")),
                last: None,
                restarts: 0,
            })
            .collect();
        Self {
            // The path of a socket may not be long.
            folder: inner.dir.path().join(number.to_string()),
            namespace: pod.namespace().unwrap_or_default(),
            name: pod.name_any(),
            uid: pod.uid().unwrap_or_default(),
            sandbox: Sandbox::Absent,
            tokens: Tokens::new(),
            written: Vec::new(),
            version: 0,
            not_before: vec![Instant::now(); seen.len()],
            seen,
            changes: Changes::new(),
            reported: None,
            inner,
            pod,
        }
    }

    /// Goes on until the Pod is gone.
    pub(super) async fn run(mut self) {
        loop {
            let found = ObjectRef::new(&self.name).within(&self.namespace);
            let found = self.inner.sources.pods.get(&found);
            let Some(pod) = found.filter(|pod| pod.uid().as_ref() == Some(&self.uid)) else {
                break;
            };
            self.pod = pod;
            let outcome = if self.pod.metadata.deletion_timestamp.is_some() {
                let outcome = self.remove().await;
                if outcome.is_ok() {
                    break;
                }
                outcome
            } else {
                self.step().await
            };
            if let Err(error) = outcome {
                self.inner
                    .note(&format!("{}/{}: {error:#}", self.namespace, self.name));
            }
            tokio::time::sleep(TICK).await;
        }
        self.end();
    }

    async fn step(&mut self) -> Result<()> {
        let spec = self.pod.spec.as_ref().context("a Pod without a spec")?;
        match spec.node_name.as_deref() {
            None | Some("") => return self.bind().await,
            Some(node) if node != self.inner.options.node => return Ok(()),
            Some(_) => {}
        }
        match self.set_up().await? {
            Ok(pause_process) => {
                for index in 0..self.seen.len() {
                    self.sync_container(index, pause_process).await?;
                }
            }
            Err(blocked) => {
                for seen in &mut self.seen {
                    seen.state = State::Waiting(blocked.clone());
                }
            }
        }
        self.report().await
    }

    /// Does what a scheduler would do, on a cluster of one node.
    async fn bind(&self) -> Result<()> {
        let wanted = self.pod.spec.as_ref();
        let wanted = wanted.and_then(|spec| spec.node_selector.clone());
        let labels = super::node::labels(&self.inner.options);
        let fits = wanted.iter().flatten().all(|(key, value)| {
            labels
                .iter()
                .any(|(with_running, has)| with_running == key && has == value)
        });
        if !fits {
            return Ok(());
        }
        let binding = json!({
            "apiVersion": "v1", "kind": "Binding", "metadata": { "name": self.name },
            "target": { "apiVersion": "v1", "kind": "Node", "name": self.inner.options.node },
        });
        let bound: kube::Result<Value> = self
            .pods()
            .create_subresource("binding", &self.name, &PostParams::default(), &binding)
            .await;
        match bound {
            Ok(_) => Ok(()),
            // The watch has not delivered the binding yet.
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
            Err(error) => Err(error).context("binding it"),
        }
    }

    /// Brings volumes and namespaces into being, and keeps the volumes up to date.
    async fn set_up(&mut self) -> Result<Result<ProcessId, Blocked>> {
        if let Err(blocked) = self.volumes().await? {
            // What has been mounted stays as it is.
            if matches!(self.sandbox, Sandbox::Absent) {
                return Ok(Err(blocked));
            }
        }
        let log = self.folder.join("sandbox.log");
        match self.sandbox {
            Sandbox::Ready(pause_process) => Ok(Ok(pause_process)),
            Sandbox::Absent => {
                let machine = &self.inner.machine;
                machine.prepare(&self.pod, &self.folder, &self.inner.options.programs)?;
                let pause_process = self
                    .inner
                    .processes
                    .start(&machine.pause_process(&self.folder, log))?;
                self.sandbox = Sandbox::Starting(pause_process);
                Ok(Err(Blocked::creating("")))
            }
            Sandbox::Starting(pause_process) => {
                if UnixStream::connect(self.folder.join("in")).await.is_ok() {
                    self.sandbox = Sandbox::Ready(pause_process);
                    return Ok(Ok(pause_process));
                }
                if self.inner.processes.status(pause_process)?.is_some() {
                    let output = tail(&read_lossy(&log), 5);
                    return Ok(Err(Blocked::new("CreateContainerError", output)));
                }
                Ok(Err(Blocked::creating("")))
            }
        }
    }

    async fn volumes(&mut self) -> Result<Result<(), Blocked>> {
        for (volume, wanted) in volumes::wanted_tokens(&self.pod) {
            let key = (volume, wanted.path.clone());
            if !self.tokens.contains_key(&key) {
                let audiences = wanted.audience.into_iter().collect();
                let token = self.token(audiences, wanted.expiration_seconds).await?;
                self.tokens.insert(key, token);
            }
        }
        let pod = Arc::clone(&self.pod);
        for volume in volumes::volumes(&pod) {
            let content = volumes::content(&pod, volume, &self.inner.sources, &self.tokens);
            let content = match content {
                Ok(content) => content,
                Err(blocked) => return Ok(Err(blocked)),
            };
            let name = &volume.name;
            if self
                .written
                .iter()
                .any(|(with_running, before)| with_running == name && *before == content)
            {
                continue;
            }
            self.version += 1;
            let place = self.folder.join("volumes").join(name);
            volumes::write(&place, &content, self.version)?;
            self.written
                .retain(|(with_running, _)| with_running != name);
            self.written.push((name.clone(), content));
        }
        Ok(Ok(()))
    }

    async fn token(&self, audiences: Vec<String>, seconds: Option<i64>) -> Result<String> {
        let spec = self.pod.spec.as_ref();
        let account = spec.and_then(|spec| spec.service_account_name.clone());
        let account = account.unwrap_or_else(|| "default".to_owned());
        let request = TokenRequest {
            spec: Some(TokenRequestSpec {
                audiences: Some(audiences),
                expiration_seconds: seconds,
                bound_object_ref: Some(BoundObjectReference {
                    api_version: Some("v1".to_owned()),
                    kind: Some("Pod".to_owned()),
                    name: Some(self.name.clone()),
                    uid: Some(self.uid.clone()),
                }),
                ..TokenRequestSpec::default()
            }),
            ..TokenRequest::default()
        };
        let accounts: Api<ServiceAccount> =
            Api::namespaced(self.inner.client.clone(), &self.namespace);
        let answer = accounts
            .create_token_request(&account, &PostParams::default(), &request)
            .await;
        let answer = answer.with_context(|| format!("asking for a token of {account}"))?;
        let default_environment = answer.status.and_then(|status| status.token);
        default_environment.context("no token was given")
    }

    async fn sync_container(&mut self, index: usize, pause_process: ProcessId) -> Result<()> {
        let socket_in = self.folder.join("in");
        let Some(seen) = self.seen.get_mut(index) else {
            return Ok(());
        };
        match &mut seen.state {
            State::Waiting(_) => {
                if self
                    .not_before
                    .get(index)
                    .is_none_or(|at| Instant::now() >= *at)
                {
                    self.start(index, pause_process)?;
                }
            }
            State::Running {
                since,
                process,
                probes,
            } => {
                let (since, process) = (*since, *process);
                if let Some(code) = self.inner.exit_code(process)? {
                    self.ended(index, process, code, since);
                } else if !probes.probe(&socket_in).await {
                    let code = self
                        .inner
                        .stop(process, self.inner.options.grace_cap)
                        .await?;
                    self.ended(index, process, code, since);
                }
            }
            State::Ended(_) => {}
        }
        Ok(())
    }

    fn start(&mut self, index: usize, pause_process: ProcessId) -> Result<()> {
        let pod = Arc::clone(&self.pod);
        let Some(container) = containers(&pod).nth(index) else {
            return Ok(());
        };
        let started = self.process(container, pause_process)?;
        if let Some(seen) = self.seen.get_mut(index) {
            seen.state = match started {
                Ok(process) => State::Running {
                    since: Timestamp::now(),
                    process,
                    probes: Box::new(Probes::new(container, self.inner.options.pace())),
                },
                Err(blocked) => State::Waiting(blocked),
            };
        }
        self.inner
            .record_running(&self.namespace, &self.name, &self.folder, &self.seen);
        Ok(())
    }

    fn process(
        &self,
        container: &Container,
        pause_process: ProcessId,
    ) -> Result<Result<ProcessId, Blocked>> {
        let program = match self.inner.program(container) {
            Ok(program) => program,
            Err(blocked) => return Ok(Err(blocked)),
        };
        let default_environment = self.inner.default_environment(&self.name);
        let env = environment::variables(
            &self.pod,
            container,
            &self.inner.sources,
            default_environment,
        );
        let env = match env {
            Ok(env) => env,
            Err(blocked) => return Ok(Err(blocked)),
        };
        let user = match self.user(container) {
            Ok(user) => user,
            Err(blocked) => return Ok(Err(blocked)),
        };
        let words = container.command.iter().flatten().skip(1);
        let words = words.chain(container.args.iter().flatten());
        let args: Vec<String> = words.map(|word| environment::expand(word, &env)).collect();
        let log = self.inner.log(&self.namespace, &self.name, &container.name);
        let pause_process = self.inner.processes.pid(pause_process);
        let launch = self.inner.machine.inside(
            pause_process.context("the namespaces are gone")?,
            &Process {
                container: &container.name,
                program: &program,
                args: &args,
                env: &env,
                user,
                log: &log,
            },
        );
        self.inner.processes.start(&launch).map(Ok)
    }

    fn user(&self, container: &Container) -> Result<i64, Blocked> {
        let own = container.security_context.as_ref();
        let pod = self.pod.spec.as_ref();
        let pod = pod.and_then(|spec| spec.security_context.as_ref());
        let user = own
            .and_then(|own| own.run_as_user)
            .or_else(|| pod.and_then(|pod| pod.run_as_user))
            .unwrap_or(self.inner.options.user);
        let not_root = own
            .and_then(|own| own.run_as_non_root)
            .or_else(|| pod.and_then(|pod| pod.run_as_non_root));
        if user == 0 && not_root == Some(true) {
            return Err(Blocked::config(
                "container has runAsNonRoot and image will run as root",
            ));
        }
        Ok(user)
    }

    fn ended(&mut self, index: usize, process: ProcessId, code: i32, started: Timestamp) {
        self.inner.processes.end(process);
        let ended = Ended {
            code,
            started,
            finished: Timestamp::now(),
        };
        let policy = self.pod.spec.as_ref();
        let policy = policy.and_then(|spec| spec.restart_policy.as_deref());
        let again = match policy.unwrap_or("Always") {
            "Never" => false,
            "OnFailure" => code != 0,
            _ => true,
        };
        let Some(seen) = self.seen.get_mut(index) else {
            return;
        };
        if again {
            let wait = self.inner.options.back_off(seen.restarts);
            seen.restarts += 1;
            seen.last = Some(ended);
            seen.state = State::Waiting(Blocked::new(
                "CrashLoopBackOff",
                format!("back-off {wait:?} restarting failed container"),
            ));
            if let Some(at) = self.not_before.get_mut(index) {
                *at = Instant::now() + wait;
            }
        } else {
            seen.state = State::Ended(ended);
        }
    }

    async fn report(&mut self) -> Result<()> {
        let status = status(&self.pod, &self.seen, &mut self.changes, Timestamp::now());
        if self.reported.as_ref() == Some(&status) {
            return Ok(());
        }
        let patch = Patch::Merge(json!({ "metadata": { "uid": self.uid }, "status": status }));
        let params = PatchParams::default();
        let answer = self.pods().patch_status(&self.name, &params, &patch).await;
        match answer {
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(()),
            Err(error) => Err(error).context("writing its status"),
            Ok(_) => {
                self.reported = Some(status);
                Ok(())
            }
        }
    }

    /// Ends the containers as the deletion wants, and then the Pod.
    async fn remove(&mut self) -> Result<()> {
        let seconds = self.pod.metadata.deletion_grace_period_seconds.unwrap_or(0);
        let grace = Duration::from_secs(u64::try_from(seconds).unwrap_or_default());
        let grace = grace.min(self.inner.options.grace_cap);
        let mut running = Vec::new();
        for (index, seen) in self.seen.iter().enumerate() {
            if let State::Running { process, since, .. } = &seen.state {
                running.push((index, *process, *since));
            }
        }
        let stops = running
            .iter()
            .map(|(_, process, _)| self.inner.stop(*process, grace));
        let codes = futures::future::join_all(stops).await;
        for ((index, process, started), code) in running.into_iter().zip(codes) {
            self.inner.processes.end(process);
            if let Some(seen) = self.seen.get_mut(index) {
                seen.state = State::Ended(Ended {
                    code: code?,
                    started,
                    finished: Timestamp::now(),
                });
            }
        }
        self.report().await?;
        let params = DeleteParams {
            grace_period_seconds: Some(0),
            preconditions: Some(Preconditions {
                uid: Some(self.uid.clone()),
                resource_version: None,
            }),
            ..DeleteParams::default()
        };
        match self.pods().delete(&self.name, &params).await {
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(()),
            Err(error) => Err(error).context("deleting it"),
            Ok(_) => Ok(()),
        }
    }

    fn pods(&self) -> Api<Pod> {
        Api::namespaced(self.inner.client.clone(), &self.namespace)
    }

    fn end(&mut self) {
        for seen in &self.seen {
            if let State::Running { process, .. } = &seen.state {
                self.inner.processes.end(*process);
            }
        }
        if let Sandbox::Starting(pause_process) | Sandbox::Ready(pause_process) = self.sandbox {
            self.inner.processes.end(pause_process);
        }
        self.inner.forget(&self.namespace, &self.name, &self.folder);
        // What cannot be removed now goes with the kubelet's folder.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Inner {
    fn exit_code(&self, process: ProcessId) -> Result<Option<i32>> {
        let status = self.processes.status(process)?;
        Ok(status.map(|status| {
            let signal = status.signal().map(|signal| 128 + signal);
            status.code().or(signal).unwrap_or(-1)
        }))
    }

    /// Sends SIGTERM to a process, kills it after `grace`, and returns its exit code.
    async fn stop(&self, process: ProcessId, grace: Duration) -> Result<i32> {
        self.processes.signal(process, Signal::TERM)?;
        let end = Instant::now() + grace;
        loop {
            if let Some(code) = self.exit_code(process)? {
                return Ok(code);
            }
            if Instant::now() >= end {
                self.processes.signal(process, Signal::KILL)?;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}
