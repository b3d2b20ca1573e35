//! The two servers, as processes.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use reeve_benches_measuring::{Used, resident_kib};
use reeve_testkit::{Component, Objects, Plane, PlaneOptions, eventually, install_crds};
use tempfile::TempDir;

use crate::table::number;

const DEADLINE: Duration = Duration::from_mins(2);

/// One of the servers, with our CRDs and a namespace `bench`.
pub(crate) struct Server {
    client: Client,
    /// All of its processes.
    pids: Vec<u32>,
    _process: Process,
}

/// Ends when it is dropped.
enum Process {
    Real {
        _plane: Box<Plane>,
    },
    InMemory {
        _child: Box<Component>,
        _folder: TempDir,
    },
}

impl Server {
    /// kube-apiserver with etcd, without controllers.
    pub(crate) async fn real() -> Result<Self> {
        let plane = Plane::start(PlaneOptions {
            name: "bench",
            controller_manager: false,
            ..PlaneOptions::default()
        })
        .await?;
        let pids = plane.pids();
        anyhow::ensure!(!pids.is_empty(), "the real server must be one of its own");
        let client = plane.client();
        let plane = Box::new(plane);
        Self::with_namespaces(client, pids, Process::Real { _plane: plane }).await
    }

    /// `reeve apiserver`.
    pub(crate) async fn in_memory(binary: &Path) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let kubeconfig = folder.path().join("kubeconfig");
        let path = kubeconfig.to_str().context("a folder that is not UTF-8")?;
        let args = ["apiserver", "--log-level=error", "--kubeconfig", path];
        let child = Component::spawn_program(binary, "reeve", &args, &[])?;
        let pids = vec![child.pid()];
        let client = eventually("the server in memory is ready", DEADLINE, || {
            ready(&kubeconfig)
        });
        let client = client.await?;
        let process = Process::InMemory {
            _child: Box::new(child),
            _folder: folder,
        };
        Self::with_namespaces(client, pids, process).await
    }

    async fn with_namespaces(client: Client, pids: Vec<u32>, process: Process) -> Result<Self> {
        let objects = Objects::new(client.clone());
        install_crds(&objects).await?;
        let namespace = "{apiVersion: v1, kind: Namespace, metadata: {name: bench}}";
        objects.apply(namespace).await?;
        Ok(Self {
            client,
            pids,
            _process: process,
        })
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// Sends a request; the body of the answer.
    pub(crate) async fn send(&self, method: &str, path: &str, body: Vec<u8>) -> Result<String> {
        let kind = if method == "PATCH" {
            "application/merge-patch+json"
        } else {
            "application/json"
        };
        let request = http::Request::builder()
            .method(method)
            .uri(path)
            .header(http::header::CONTENT_TYPE, kind)
            .header(http::header::ACCEPT, "application/json")
            .body(body)?;
        let answer = self.client.request_text(request).await;
        answer.with_context(|| format!("{method} {path}"))
    }

    /// The CPU time of all its processes.
    pub(crate) fn cpu(&self) -> Result<Duration> {
        let used = self.pids.iter().map(|pid| Ok(Used::by(*pid)?.cpu));
        used.sum()
    }

    /// The memory of all its processes that is resident now.
    pub(crate) fn mebibytes(&self) -> Result<f64> {
        let kib: Result<u64> = self.pids.iter().map(|pid| resident_kib(*pid)).sum();
        mebibytes(kib?)
    }

    /// The sum of what each of its processes had resident at most.
    pub(crate) fn peak_mebibytes(&self) -> Result<f64> {
        let used = self.pids.iter().map(|pid| Ok(Used::by(*pid)?.peak_kib));
        let kib: Result<u64> = used.sum();
        mebibytes(kib?)
    }
}

fn mebibytes(kib: u64) -> Result<f64> {
    Ok(number(usize::try_from(kib)?) / 1024.0)
}

async fn ready(kubeconfig: &Path) -> Result<Client> {
    let config = Kubeconfig::read_from(kubeconfig)?;
    let options = KubeConfigOptions::default();
    let client = Client::try_from(Config::from_custom_kubeconfig(config, &options).await?)?;
    let request = http::Request::get("/readyz").body(Vec::new())?;
    client.request_text(request).await?;
    Ok(client)
}
