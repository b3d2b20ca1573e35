//! A running control plane: that of Kubernetes in child processes, or the one of this workspace in this process.

mod embedded;
mod processes;

use std::fs;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tempfile::TempDir;

use self::embedded::Embedded;
use self::processes::Processes;
use crate::assets::{self, Assets};
use crate::audit::AuditLog;
use crate::child::Child;
use crate::net::free_ports;
use crate::pki::{CertificateAuthority, Pki};
use crate::{Objects, dump, evidence, install_crds, install_crds_without_rules};

/// Names what planes are: `embedded`, or else real ones.
const VARIABLE: &str = "REEVE_PLANE";

/// How to start a [`Plane`].
#[derive(Debug, Clone)]
pub struct PlaneOptions {
    /// Names the plane in error messages.
    pub name: &'static str,
    /// Keep an audit log: see [`Plane::audit`].
    pub audit: bool,
    /// Run kube-controller-manager, if it is there: namespaces are emptied, owned objects collected.
    pub controller_manager: bool,
    /// Work on Deployments, Jobs and their like, also on an embedded plane: there kube-controller-manager does only that. A
    /// real plane does it with all else.
    pub workloads: bool,
    /// Who signs the plane's certificates: an authority of its own where none is given. Planes whose objects are compared
    /// share one: each publishes it in a `ConfigMap` of every namespace, and the lengths of certificates differ.
    pub authority: Option<CertificateAuthority>,
    /// How long each program may take to become ready.
    pub deadline: Duration,
}

impl Default for PlaneOptions {
    fn default() -> Self {
        Self {
            name: "plane",
            audit: false,
            controller_manager: true,
            workloads: false,
            authority: None,
            deadline: Duration::from_mins(2),
        }
    }
}

/// The files of a certificate.
pub(crate) struct Serving<'a> {
    pub(crate) ca: &'a Path,
    pub(crate) cert: &'a Path,
    pub(crate) key: &'a Path,
}

/// A control plane of its own, empty, administered by [`Plane::client`]. Dropping it ends its
/// processes and removes its data. Its objects are reached through [`Objects`], to which it derefs.
pub struct Plane {
    // Dropped before the folder that it works in.
    backend: Backend,
    objects: Objects,
    _registration: evidence::Registration,
    audit: Option<AuditLog>,
    options: PlaneOptions,
    site: Site,
}

/// Who serves.
enum Backend {
    /// The programs of Kubernetes.
    Processes(Box<Processes>),
    /// The API server of this workspace, in this process, and what works on Deployments beside it.
    Embedded(Box<Embedded>, Option<Child>),
}

/// Where a plane is, and who may use it.
pub(crate) struct Site {
    pki: Pki,
    /// Of etcd, its peers, the API server and the controller manager.
    ports: [u16; 4],
    server: String,
    kubeconfig: PathBuf,
    dir: TempDir,
}

impl Site {
    fn make(options: &PlaneOptions) -> Result<Self> {
        let dir = tempfile::Builder::new()
            .prefix(&format!("reeve-{}-", options.name))
            .tempdir();
        let dir = dir.context("creating the folder of a plane")?;
        let authority = match &options.authority {
            Some(shared) => shared.clone(),
            None => CertificateAuthority::generate().context("creating the authority")?,
        };
        let pki = Pki::create(dir.path(), authority).context("creating certificates")?;
        let ports = free_ports()?;
        let [_, _, port, _] = ports;
        let server = format!("https://127.0.0.1:{port}");
        let kubeconfig = dir.path().join("kubeconfig");
        let text = pki.kubeconfig(&server, "admin", &["system:masters"])?;
        fs::write(&kubeconfig, text).context("writing the kubeconfig")?;
        Ok(Self {
            pki,
            ports,
            server,
            kubeconfig,
            dir,
        })
    }

    fn api_port(&self) -> u16 {
        let [_, _, port, _] = self.ports;
        port
    }

    fn manager_port(&self) -> u16 {
        let [_, _, _, port] = self.ports;
        port
    }

    /// A client with every right.
    async fn admin(&self) -> Result<Client> {
        let text = fs::read_to_string(&self.kubeconfig).context("reading the kubeconfig")?;
        client(&text).await
    }
}

/// Whether planes are those of this workspace: API servers in this process, with nothing beside them but what
/// [`PlaneOptions::workloads`] asks for.
pub fn planes_are_embedded() -> bool {
    std::env::var_os(VARIABLE).is_some_and(|value| value == "embedded")
}

async fn located() -> Result<Assets> {
    tokio::task::spawn_blocking(assets::locate)
        .await
        .context("locating")?
}

impl Deref for Plane {
    type Target = Objects;

    fn deref(&self) -> &Objects {
        &self.objects
    }
}

impl Plane {
    /// Starts a plane; it is ready when this returns. Builds the programs first when that is needed
    /// (minutes, once). Several may be started at once. With `REEVE_PLANE=embedded` in the environment it is an API
    /// server in this process.
    pub async fn start(options: PlaneOptions) -> Result<Self> {
        // Another process may take one of our ports before our programs do: then with new ports.
        for _ in 0..4 {
            match Self::attempt(&options).await {
                Err(error) if port_was_taken(&error) => {}
                outcome => return outcome,
            }
        }
        Self::attempt(&options).await
    }

    async fn attempt(options: &PlaneOptions) -> Result<Self> {
        let site = Site::make(options)?;
        let audit = options.audit.then(|| site.dir.path().join("audit.log"));
        let backend = if planes_are_embedded() {
            let embedded = Embedded::start(&site, audit.as_deref())?;
            let workloads = if options.workloads {
                located().await?.controller_manager
            } else {
                None
            };
            let workloads = workloads
                .map(|program| processes::start_workloads(&program, options.name, &site))
                .transpose()?;
            Backend::Embedded(Box::new(embedded), workloads)
        } else {
            let assets = located().await?;
            let mut processes = Processes::start(&assets, options, &site, audit.as_deref()).await?;
            let program = assets.controller_manager.as_ref();
            if let Some(program) = program.filter(|_| options.controller_manager) {
                let objects = Objects::new(site.admin().await?);
                processes
                    .start_controller_manager(program, options.name, &site, &objects)
                    .await?;
            }
            Backend::Processes(Box::new(processes))
        };
        let objects = Objects::new(site.admin().await?);
        Ok(Self {
            backend,
            _registration: evidence::Registration::new(options.name, objects.client()),
            objects,
            audit: audit.map(AuditLog::new),
            options: options.clone(),
            site,
        })
    }

    /// A client with every right.
    pub fn client(&self) -> Client {
        self.objects.client()
    }

    /// The objects of this plane.
    pub fn objects(&self) -> &Objects {
        &self.objects
    }

    /// The file of the administrator's kubeconfig.
    pub fn kubeconfig(&self) -> &Path {
        &self.site.kubeconfig
    }

    /// `("KUBECONFIG", path)`, for the environment of a component.
    pub fn kubeconfig_env(&self) -> (&'static str, &str) {
        // The path is of our making; a system whose temporary folder is not UTF-8 gets no cluster.
        (
            "KUBECONFIG",
            self.site.kubeconfig.to_str().unwrap_or_default(),
        )
    }

    /// Writes a kubeconfig for another user, by client certificate, and returns its path. What the
    /// user may do is up to the RBAC objects of the test.
    pub fn kubeconfig_for(&self, user: &str, group: Option<&str>) -> Result<PathBuf> {
        let path = self
            .site
            .dir
            .path()
            .join(format!("kubeconfig-{}", user.replace(['/', ':'], "-")));
        let text = self
            .site
            .pki
            .kubeconfig(&self.site.server, user, group.as_slice())?;
        fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
        Ok(path)
    }

    /// A client that the server takes for `user`, a member of `groups`: two at most.
    pub(crate) async fn client_as(&self, user: &str, groups: &[&str]) -> Result<Client> {
        client(&self.site.pki.kubeconfig(&self.site.server, user, groups)?).await
    }

    /// The certificate of the authority that has signed the server's, in PEM.
    pub(crate) fn ca_pem(&self) -> String {
        self.site.pki.ca_pem()
    }

    /// The files of a certificate for 127.0.0.1, for a webhook that this plane asks.
    pub(crate) fn serving(&self) -> Serving<'_> {
        Serving {
            ca: &self.site.pki.ca_cert,
            cert: &self.site.pki.server_cert,
            key: &self.site.pki.server_key,
        }
    }

    /// `https://127.0.0.1:port`.
    pub fn server(&self) -> &str {
        &self.site.server
    }

    /// The port of the API server on 127.0.0.1.
    pub fn port(&self) -> Result<u16> {
        Ok(self.site.api_port())
    }

    /// Whether namespaces are emptied and owned objects collected: false when the programs come from
    /// a `KUBEBUILDER_ASSETS` without kube-controller-manager.
    pub fn has_controller_manager(&self) -> bool {
        match &self.backend {
            Backend::Processes(processes) => processes.has_controller_manager(),
            Backend::Embedded(..) => true,
        }
    }

    /// The audit log.
    ///
    /// # Errors
    /// When the plane was started without [`PlaneOptions::audit`].
    pub fn audit(&self) -> Result<&AuditLog> {
        self.audit.as_ref().with_context(|| {
            format!(
                "the plane {} was started without an audit log",
                self.options.name
            )
        })
    }

    /// See [`install_crds`].
    pub async fn install_crds(&self) -> Result<Vec<String>> {
        install_crds(&self.objects).await
    }

    /// See [`install_crds_without_rules`].
    pub async fn install_crds_without_rules(&self) -> Result<Vec<String>> {
        install_crds_without_rules(&self.objects).await
    }

    /// See [`dump`].
    pub async fn dump(&self, namespaces: &[&str]) -> String {
        dump(&self.objects, namespaces).await
    }

    /// Kills the API server; its data stays. Clients see refused connections.
    pub fn kill_apiserver(&mut self) {
        match &mut self.backend {
            Backend::Processes(processes) => processes.kill_apiserver(),
            Backend::Embedded(embedded, _) => embedded.close_listener(),
        }
    }

    /// Starts the API server again on the same port, after [`Plane::kill_apiserver`] or instead of
    /// it; ready when this returns.
    pub async fn restart_apiserver(&mut self) -> Result<()> {
        match &mut self.backend {
            Backend::Processes(processes) => {
                processes.restart_apiserver(&self.objects.client()).await
            }
            Backend::Embedded(embedded, _) => embedded.listen(&self.site),
        }
    }

    /// What `etcd`, `kube-apiserver` or `kube-controller-manager` has logged.
    pub fn log(&self, role: &str) -> String {
        crate::child::read_lossy(&self.site.dir.path().join(format!("{role}.log")))
    }

    /// The ids of the plane's own processes; none of one that is in this process.
    pub fn pids(&self) -> Vec<u32> {
        match &self.backend {
            Backend::Processes(processes) => processes.pids(),
            Backend::Embedded(_, workloads) => workloads.iter().map(Child::pid).collect(),
        }
    }
}

fn port_was_taken(error: &anyhow::Error) -> bool {
    format!("{error:#}")
        .to_lowercase()
        .contains("address already in use")
}

async fn client(kubeconfig: &str) -> Result<Client> {
    let kubeconfig = Kubeconfig::from_yaml(kubeconfig).context("reading the kubeconfig")?;
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
    Client::try_from(config.context("reading the kubeconfig")?).context("creating a client")
}

async fn readyz(client: &Client) -> Result<()> {
    let request = http::Request::get("/readyz")
        .body(Vec::new())
        .context("building a request")?;
    client
        .request_text(request)
        .await
        .context("asking /readyz")?;
    Ok(())
}
