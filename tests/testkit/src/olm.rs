//! The Operator Lifecycle Manager: its kinds, and the real one as processes.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use futures::future::try_join_all;
use kube::api::DynamicObject;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::Mutex;

use crate::crds::{install, read};
use crate::golang::GoProgram;
use crate::{Component, Plane, eventually, free_port, workspace};

const MODULE: &str = "github.com/operator-framework/api";

const ADVICE: &str = "the tests need the Operator Lifecycle Manager: install Go 1.26 or later (https://go.dev/dl) so \
    that it can be built from tests/olm";

/// The namespace of OLM, and of the catalogs that all namespaces may use.
pub const OLM_NAMESPACE: &str = "olm";

/// The role, and the `Service`, of the API server of `PackageManifests`.
const PACKAGE_SERVER: &str = "package-server";

const READY: Duration = Duration::from_mins(2);

/// Every CRD of OLM, as its release brings them.
fn olm_crds() -> Result<Vec<DynamicObject>> {
    let folder = workspace().join("tests/olm");
    // Downloads it when that is needed, with the checksum of `go.sum`.
    let output = program(&folder).go(&["mod", "download", "-json", MODULE].map(AsRef::as_ref))?;
    let output: Value =
        serde_json::from_str(&output).context("reading the output of `go` about OLM")?;
    let root = output["Dir"]
        .as_str()
        .context("the module of OLM's kinds has no folder")?;
    read(&PathBuf::from(root).join("crds"))
}

/// OLM on a plane: its controllers, its API server of `PackageManifests`, and catalogs that are served on 127.0.0.1.
/// Dropping it ends them. Operators' Deployments are up to a [`Kubelet`](crate::Kubelet).
///
/// Outside of a cluster the API server of `PackageManifests` cannot ask this one about its callers: it answers
/// everybody on this machine. Nobody but the API server of the plane is told its port.
pub struct Olm {
    /// The controllers and the package server.
    controllers: Vec<Component>,
    catalogs: Mutex<BTreeMap<String, Catalog>>,
    binary: PathBuf,
    dir: TempDir,
}

/// A catalog that is served.
struct Catalog {
    server: Component,
    port: u16,
}

impl Olm {
    /// Starts OLM on a plane, with its CRDs and no catalog. Builds it first when that is needed (minutes, once).
    pub async fn start(plane: &Plane) -> Result<Self> {
        let built = tokio::task::spawn_blocking(|| anyhow::Ok((olm()?, olm_crds()?)));
        let (binary, crds) = built.await.context("building OLM")??;
        try_join_all(crds.iter().map(|crd| install(plane, crd))).await?;
        let port = free_port()?;
        plane.apply(&own_objects(port)).await?;
        let kubeconfig = format!("--kubeconfig={}", plane.kubeconfig().display());
        let dir = tempfile::Builder::new().prefix("olm-").tempdir();
        let dir = dir.context("creating the folder of OLM")?;
        let serving = plane.serving();
        let package_server = [
            PACKAGE_SERVER.to_owned(),
            kubeconfig.clone(),
            format!("--global-namespace={OLM_NAMESPACE}"),
            "--bind-address=127.0.0.1".to_owned(),
            format!("--secure-port={port}"),
            format!("--tls-cert-file={}", serving.cert.display()),
            format!("--tls-private-key-file={}", serving.key.display()),
        ];
        let catalog = [
            "catalog".to_owned(),
            kubeconfig.clone(),
            format!("--namespace={OLM_NAMESPACE}"),
        ];
        let olm = ["olm".to_owned(), kubeconfig];
        let controllers = [&olm[..], &catalog[..], &package_server[..]]
            .map(|args| spawn(&binary, args))
            .into_iter()
            .collect::<Result<Vec<Component>>>()?;
        let mut running = Self {
            controllers,
            catalogs: Mutex::default(),
            binary,
            dir,
        };
        running.ready(plane).await?;
        Ok(running)
    }

    /// Waits until `PackageManifests` are served.
    async fn ready(&mut self, plane: &Plane) -> Result<()> {
        let controllers = &mut self.controllers;
        let served = eventually("PackageManifests are served", READY, || {
            let ended = controllers.iter_mut().find_map(|one| {
                let ended = one.status().ok().flatten();
                ended.map(|status| format!("ended with {status}: {}", one.log()))
            });
            async move {
                if let Some(ended) = ended {
                    return anyhow::Ok(Some(ended));
                }
                let (api, kind) = ("packages.operators.coreos.com/v1", "PackageManifest");
                plane.list(api, kind, Some("default")).await?;
                Ok(None)
            }
        })
        .await;
        let ended = served.with_context(|| self.log())?;
        ensure!(ended.is_none(), "{}", ended.unwrap_or_default());
        Ok(())
    }

    /// Serves a catalog of a name, or serves other content under it. The content is a file-based catalog: the
    /// documents of `opm`. Returns the port.
    pub async fn serve(&self, name: &str, documents: &[Value]) -> Result<u16> {
        let mut catalogs = self.catalogs.lock().await;
        let folder = self.dir.path().join(name);
        fs::create_dir_all(&folder).context("creating the folder of a catalog")?;
        let cache = self.dir.path().join(format!("{name}.cache"));
        let lines: Vec<String> = documents.iter().map(Value::to_string).collect();
        fs::write(folder.join("catalog.json"), lines.join("\n")).context("writing a catalog")?;
        let port = match catalogs.remove(name) {
            // Its address is in the CatalogSource.
            Some(catalog) => catalog.port,
            None => free_port()?,
        };
        let args = [
            "opm-serve".to_owned(),
            folder.display().to_string(),
            format!("--port={port}"),
            "--pprof-addr=".to_owned(),
            // In its own folder a cache is not left behind; it is written again when the documents change.
            format!("--cache-dir={}", cache.display()),
            "--cache-enforce-integrity=false".to_owned(),
            format!("--termination-log={}", folder.join("end.log").display()),
        ];
        let server = spawn(&self.binary, &args)?;
        let catalog = Catalog { server, port };
        let catalog = catalogs.entry(name.to_owned()).or_insert(catalog);
        let server = &mut catalog.server;
        let answered = eventually("the catalog is served", READY, || {
            let ended = server.status();
            async move {
                ensure!(ended?.is_none(), "it has ended");
                tokio::net::TcpStream::connect(("127.0.0.1", port)).await?;
                Ok(())
            }
        });
        answered.await.with_context(|| catalog.server.log())?;
        Ok(port)
    }

    /// Ends the server of a catalog. [`Olm::serve`] starts it again.
    pub async fn stop_catalog(&self, name: &str) -> Result<()> {
        let mut catalogs = self.catalogs.lock().await;
        let catalog = catalogs.get_mut(name);
        catalog
            .with_context(|| format!("there is no catalog {name}"))?
            .server
            .kill()
            .await;
        Ok(())
    }

    /// Everything that the controllers and the package server have logged.
    pub fn log(&self) -> String {
        let logs = self.controllers.iter().map(Component::log);
        logs.collect::<Vec<_>>().join("\n")
    }
}

fn spawn(binary: &Path, args: &[String]) -> Result<Component> {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    Component::spawn_program(binary, "olm", &args, &[])
}

/// OLM, built first when that is needed. It is each of its programs, by its first argument.
pub(crate) fn olm() -> Result<PathBuf> {
    program(&workspace().join("tests/olm")).locate()
}

fn program(folder: &Path) -> GoProgram<'_> {
    GoProgram {
        module: folder,
        name: "olm",
        package: ".",
        ldflags: "",
        advice: ADVICE,
    }
}

/// Its namespace, and the way from the API server to the package server.
fn own_objects(port: u16) -> String {
    let namespace = json!({
        "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": OLM_NAMESPACE }
    });
    let service = json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": { "name": PACKAGE_SERVER, "namespace": OLM_NAMESPACE },
        "spec": { "type": "ExternalName", "externalName": "localhost" }
    });
    let api = json!({
        "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
        "metadata": { "name": "v1.packages.operators.coreos.com" },
        "spec": {
            "group": "packages.operators.coreos.com", "version": "v1",
            "groupPriorityMinimum": 2000, "versionPriority": 15,
            // The certificate names this machine, and the API server asks for the name of the Service.
            "insecureSkipTLSVerify": true,
            "service": { "name": PACKAGE_SERVER, "namespace": OLM_NAMESPACE, "port": port }
        }
    });
    format!("{namespace}\n---\n{service}\n---\n{api}")
}
