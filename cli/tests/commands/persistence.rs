//! `reeve apiserver --data`, killed while clients write: acknowledged writes are there after a restart.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, PostParams, ResourceExt as _};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Client, Config};
use serde_json::{Value, json};

const CLIENTS: usize = 4;
const ROUNDS: usize = 5;
/// The least number of objects of all rounds together.
const OBJECTS: usize = 1000;
/// Large enough that the server replaces logs with snapshots in the meantime.
const LENGTH: usize = 3000;

/// A server that is killed on drop.
struct Running(Child);

impl Running {
    /// Starts the program and waits until it listens.
    fn start(folder: &Path) -> Result<Self> {
        let mut child = Command::new(env!("CARGO_BIN_EXE_reeve"))
            .current_dir(folder)
            .args(["apiserver", "--log-level=error", "--data=data"])
            .stdout(Stdio::piped())
            .spawn()?;
        let out = child.stdout.take().context("no output")?;
        let running = Self(child);
        let mut line = String::new();
        BufReader::new(out).read_line(&mut line)?;
        ensure!(line.contains("Kubernetes API at"), "the line is {line:?}");
        Ok(running)
    }

    /// Kills it with SIGKILL, which it cannot handle.
    fn kill(mut self) -> Result<()> {
        self.0.kill()?;
        self.0.wait()?;
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

async fn client(folder: &Path) -> Result<Client> {
    let config = Kubeconfig::read_from(folder.join("reeve-apiserver.kubeconfig"))?;
    let config = Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await?;
    Ok(Client::try_from(config)?)
}

fn resource() -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "ConfigMap"))
}

fn maps(client: &Client) -> Api<DynamicObject> {
    Api::namespaced_with(client.clone(), "default", &resource())
}

/// The object in its first or second state.
fn map(name: &str, state: u8) -> DynamicObject {
    let mut map = DynamicObject::new(name, &resource());
    let filler = char::from(b'a' + state).to_string().repeat(LENGTH);
    map.data = json!({ "data": { "state": state.to_string(), "filler": filler } });
    map
}

/// The state of an object that a client expects: after the last acknowledged write, and after the last sent one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Known {
    is: Option<u8>,
    asked: bool,
    wanted: Option<u8>,
}

type All = BTreeMap<String, Known>;

/// Creates, updates and deletes objects until the server is killed.
async fn write(client: Client, prefix: String, acknowledged: Arc<AtomicUsize>) -> Result<All> {
    let api = maps(&client);
    let mut all = All::new();
    let post = PostParams::default();
    for number in 0.. {
        let name = format!("{prefix}-{number}");
        // Every third is updated, every third is updated and deleted.
        for step in 0..=number % 3 {
            let wanted = [Some(0), Some(1), None][step];
            let known = all.entry(name.clone()).or_default();
            (known.asked, known.wanted) = (true, wanted);
            let done = match wanted {
                Some(0) => api.create(&post, &map(&name, 0)).await.map(|_| ()),
                Some(state) => api
                    .replace(&name, &post, &map(&name, state))
                    .await
                    .map(|_| ()),
                None => api
                    .delete(&name, &DeleteParams::default())
                    .await
                    .map(|_| ()),
            };
            match done {
                Ok(()) => {
                    *known = Known {
                        is: wanted,
                        asked: false,
                        wanted,
                    };
                    acknowledged.fetch_add(1, Ordering::Relaxed);
                }
                Err(kube::Error::Api(status)) => bail!("{name}: {status}"),
                // The server was killed.
                Err(_) => return Ok(all),
            }
        }
    }
    Ok(all)
}

/// Compares the server's objects with the expected ones.
async fn check(client: &Client, known: &All) -> Result<()> {
    let mut found = BTreeMap::new();
    for object in maps(client).list(&ListParams::default()).await? {
        found.insert(object.name_any(), object);
    }
    for (name, known) in known {
        let state = match found.get(name) {
            None => None,
            Some(object) => {
                let text = |field: &str| object.data["data"][field].as_str().unwrap_or_default();
                let state: u8 = text("state").parse()?;
                let whole: Value = map(name, state).data;
                ensure!(object.data == whole, "{name} is half of something");
                Some(state)
            }
        };
        ensure!(
            state == known.is || (known.asked && state == known.wanted),
            "{name} is in state {state:?}: {known:?}"
        );
    }
    Ok(())
}

/// A number from 200 to 599, so that the server is killed at a random moment.
fn some() -> usize {
    use std::hash::{BuildHasher as _, RandomState};
    200 + usize::try_from(RandomState::new().hash_one(0) % 400).unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn acknowledged_writes_survive_a_killed_server() -> Result<()> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let folder = tempfile::tempdir()?;
    let mut known = All::new();
    let mut round = 0;
    while round < ROUNDS || known.len() < OBJECTS {
        let server = Running::start(folder.path())?;
        let client = client(folder.path()).await?;
        check(&client, &known)
            .await
            .with_context(|| format!("round {round}"))?;
        let acknowledged = Arc::new(AtomicUsize::new(0));
        let writers: Vec<_> = (0..CLIENTS)
            .map(|writer| {
                let prefix = format!("r{round}-w{writer}");
                tokio::spawn(write(client.clone(), prefix, Arc::clone(&acknowledged)))
            })
            .collect();
        let end = some();
        let reached = async {
            while acknowledged.load(Ordering::Relaxed) < end {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::time::timeout(Duration::from_mins(1), reached)
            .await
            .with_context(|| format!("round {round}: waiting for {end} answers"))?;
        server.kill()?;
        for writer in writers {
            known.extend(writer.await??);
        }
        round += 1;
    }
    let server = Running::start(folder.path())?;
    check(&client(folder.path()).await?, &known).await?;
    let started_data = folder.path().join("data/apiserver");
    let snapshots = std::fs::read_dir(&started_data)?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.starts_with("snapshot."))
        .count();
    ensure!(snapshots > 0, "no log was followed by a snapshot");

    // No other process may use the folder in the meantime.
    let second = Command::new(env!("CARGO_BIN_EXE_reeve"))
        .current_dir(folder.path())
        .args(["apiserver", "--data=data", "--kubeconfig=other"])
        .output()?;
    let stderr = String::from_utf8_lossy(&second.stderr);
    ensure!(!second.status.success(), "two servers have one folder");
    ensure!(
        stderr.contains("data is in use by another process"),
        "{stderr}"
    );
    server.kill()
}

#[tokio::test(flavor = "multi_thread")]
async fn certificate_is_valid_after_restart() -> Result<()> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let folder = tempfile::tempdir()?;
    Running::start(folder.path())?.kill()?;
    let path = folder.path().join("reeve-apiserver.kubeconfig");
    let old = Kubeconfig::read_from(&path)?;
    let _server = Running::start(folder.path())?;
    let mut config = Config::from_custom_kubeconfig(old, &KubeConfigOptions::default()).await?;
    let new = Config::from_custom_kubeconfig(
        Kubeconfig::read_from(&path)?,
        &KubeConfigOptions::default(),
    )
    .await?;
    // Only the port differs.
    config.cluster_url = new.cluster_url;
    let client = Client::try_from(config)?;
    maps(&client).list(&ListParams::default()).await?;
    Ok(())
}
