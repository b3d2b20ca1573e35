//! A running control plane: etcd, kube-apiserver and kube-controller-manager as child processes.

use std::ffi::OsString;
use std::fs;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tempfile::TempDir;

use crate::assets::{self, Assets, Program};
use crate::audit::{self, AuditLog};
use crate::child::{Child, Launch, tail};
use crate::net::free_ports;
use crate::pki::Pki;
use crate::{Objects, dump, eventually, install_crds};

/// How to start a [`Plane`].
#[derive(Debug, Clone)]
pub struct PlaneOptions {
    /// Names the plane in error messages.
    pub name: &'static str,
    /// Keep an audit log: see [`Plane::audit`].
    pub audit: bool,
    /// Run kube-controller-manager, if it is there: namespaces are emptied, owned objects collected.
    pub controller_manager: bool,
    /// How long each program may take to become ready.
    pub deadline: Duration,
}

impl Default for PlaneOptions {
    fn default() -> Self {
        Self {
            name: "plane",
            audit: false,
            controller_manager: true,
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
    // Fields drop in this order: the processes end, clients first, before their folder goes.
    controller_manager: Option<Child>,
    apiserver: Child,
    etcd: Child,
    apiserver_launch: Launch,
    objects: Objects,
    kubeconfig: PathBuf,
    server: String,
    audit: Option<AuditLog>,
    pki: Pki,
    options: PlaneOptions,
    dir: TempDir,
}

impl Deref for Plane {
    type Target = Objects;

    fn deref(&self) -> &Objects {
        &self.objects
    }
}

impl Plane {
    /// Starts a plane; it is ready when this returns. Builds the programs first when that is needed
    /// (minutes, once). Several may be started at once.
    pub async fn start(options: PlaneOptions) -> Result<Self> {
        let assets = tokio::task::spawn_blocking(assets::locate)
            .await
            .context("locating")??;
        // Another process may take one of our ports before our programs do: then with new ports.
        for _ in 0..4 {
            match Self::attempt(&assets, &options).await {
                Err(error) if port_was_taken(&error) => {}
                outcome => return outcome,
            }
        }
        Self::attempt(&assets, &options).await
    }

    async fn attempt(assets: &Assets, options: &PlaneOptions) -> Result<Self> {
        let name = options.name;
        let dir = tempfile::Builder::new()
            .prefix(&format!("reeve-{name}-"))
            .tempdir();
        let dir = dir.context("creating the folder of a plane")?;
        let pki = Pki::create(dir.path()).context("creating certificates")?;
        let [etcd_port, peer_port, api_port, manager_port] = free_ports()?;
        let etcd_url = format!("http://127.0.0.1:{etcd_port}");
        let peer_url = format!("http://127.0.0.1:{peer_port}");
        let server = format!("https://127.0.0.1:{api_port}");
        let launch = |program: &Program, role, args| launch(dir.path(), name, program, role, args);

        let etcd_launch = launch(
            &assets.etcd,
            "etcd",
            etcd_args(dir.path(), &etcd_url, &peer_url),
        );
        let mut etcd = etcd_launch.start()?;
        let health = format!("{etcd_url}/health");
        ready(&etcd_launch, &mut etcd, options.deadline, || {
            crate::http_get(&health)
        })
        .await?;

        let audit = options.audit.then(|| dir.path().join("audit.log"));
        let mut args = apiserver_args(&pki, &etcd_url, api_port);
        if let Some(log) = &audit {
            args.extend(audit_args(dir.path(), log)?);
        }
        let apiserver_launch = launch(&assets.apiserver, "kube-apiserver", args);
        let mut apiserver = apiserver_launch.start()?;
        let kubeconfig = dir.path().join("kubeconfig");
        let text = pki.kubeconfig(&server, "admin", &["system:masters"])?;
        fs::write(&kubeconfig, &text).context("writing the kubeconfig")?;
        let client = client(&text).await?;
        let asked = || async { readyz(&client).await };
        ready(&apiserver_launch, &mut apiserver, options.deadline, asked).await?;

        let mut plane = Self {
            controller_manager: None,
            apiserver,
            etcd,
            apiserver_launch,
            objects: Objects::new(client),
            kubeconfig,
            server,
            audit: audit.map(AuditLog::new),
            pki,
            options: options.clone(),
            dir,
        };
        if let Some(program) = assets
            .controller_manager
            .as_ref()
            .filter(|_| options.controller_manager)
        {
            plane
                .start_controller_manager(program, manager_port)
                .await?;
        }
        Ok(plane)
    }

    async fn start_controller_manager(&mut self, program: &Program, port: u16) -> Result<()> {
        let args = controller_manager_args(&self.pki, &self.kubeconfig, port);
        let role = "kube-controller-manager";
        let launch = launch(self.dir.path(), self.options.name, program, role, args);
        let mut child = launch.start()?;
        // Its first visible work, and the one that tests need: every namespace's default account.
        let objects = self.objects.clone();
        let account = || async {
            let account = objects
                .get("v1", "ServiceAccount", Some("default"), "default")
                .await?;
            account.context("the namespace `default` has no default service account")
        };
        ready(&launch, &mut child, self.options.deadline, account).await?;
        self.controller_manager = Some(child);
        Ok(())
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
        &self.kubeconfig
    }

    /// `("KUBECONFIG", path)`, for the environment of a component.
    pub fn kubeconfig_env(&self) -> (&'static str, &str) {
        // The path is of our making; a system whose temporary folder is not UTF-8 gets no cluster.
        ("KUBECONFIG", self.kubeconfig.to_str().unwrap_or_default())
    }

    /// Writes a kubeconfig for another user, by client certificate, and returns its path. What the
    /// user may do is up to the RBAC objects of the test.
    pub fn kubeconfig_for(&self, user: &str, group: Option<&str>) -> Result<PathBuf> {
        let path = self
            .dir
            .path()
            .join(format!("kubeconfig-{}", user.replace(['/', ':'], "-")));
        let text = self.pki.kubeconfig(&self.server, user, group.as_slice())?;
        fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
        Ok(path)
    }

    /// A client that the server takes for `user`, a member of `groups`: two at most.
    pub(crate) async fn client_as(&self, user: &str, groups: &[&str]) -> Result<Client> {
        client(&self.pki.kubeconfig(&self.server, user, groups)?).await
    }

    /// The certificate of the authority that has signed the server's, in PEM.
    pub(crate) fn ca_pem(&self) -> String {
        self.pki.ca_pem()
    }

    /// The files of a certificate for 127.0.0.1, for a webhook that this plane asks.
    pub(crate) fn serving(&self) -> Serving<'_> {
        Serving {
            ca: &self.pki.ca_cert,
            cert: &self.pki.server_cert,
            key: &self.pki.server_key,
        }
    }

    /// `https://127.0.0.1:port`.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// The port of the API server on 127.0.0.1.
    pub fn port(&self) -> Result<u16> {
        let port = self
            .server
            .rsplit(':')
            .next()
            .and_then(|port| port.parse().ok());
        port.context("the API server has no port")
    }

    /// Whether namespaces are emptied and owned objects collected: false when the programs come from
    /// a `KUBEBUILDER_ASSETS` without kube-controller-manager.
    pub fn has_controller_manager(&self) -> bool {
        self.controller_manager.is_some()
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

    /// See [`dump`].
    pub async fn dump(&self, namespaces: &[&str]) -> String {
        dump(&self.objects, namespaces).await
    }

    /// Kills kube-apiserver; its data stays in etcd. Clients see refused connections.
    pub fn kill_apiserver(&mut self) {
        self.apiserver.kill();
    }

    /// Starts kube-apiserver again on the same port, after [`Plane::kill_apiserver`] or instead of
    /// it; ready when this returns.
    pub async fn restart_apiserver(&mut self) -> Result<()> {
        self.apiserver.kill();
        self.apiserver = self.apiserver_launch.start()?;
        let client = self.objects.client();
        let asked = || async { readyz(&client).await };
        ready(
            &self.apiserver_launch,
            &mut self.apiserver,
            self.options.deadline,
            asked,
        )
        .await
    }

    /// What `etcd`, `kube-apiserver` or `kube-controller-manager` has logged.
    pub fn log(&self, role: &str) -> String {
        crate::child::read_lossy(&self.dir.path().join(format!("{role}.log")))
    }

    /// The ids of the plane's processes.
    pub fn pids(&self) -> Vec<u32> {
        let manager = self.controller_manager.as_ref();
        [Some(&self.etcd), Some(&self.apiserver), manager]
            .into_iter()
            .flatten()
            .map(Child::pid)
            .collect()
    }
}

fn launch(dir: &Path, plane: &str, program: &Program, role: &str, args: Vec<OsString>) -> Launch {
    Launch {
        name: format!("{role} of the plane {plane}"),
        program: program.path.clone(),
        args: program
            .role
            .map(OsString::from)
            .into_iter()
            .chain(args)
            .collect(),
        env: Vec::new(),
        home: dir.to_path_buf(),
        log: dir.join(format!("{role}.log")),
    }
}

/// Waits until `check` is content, or the process has ended, which it should not.
async fn ready<T, F, Fut>(
    launch: &Launch,
    child: &mut Child,
    deadline: Duration,
    mut check: F,
) -> Result<()>
where
    F: FnMut() -> Fut,
    Fut: Future<Output = Result<T>>,
{
    let what = format!("{} is ready", launch.name);
    let outcome = eventually(what, deadline, || {
        let ended = child.status();
        let checked = check();
        async move {
            match ended {
                // Not an error of the check: waiting longer would not help.
                Ok(Some(status)) => Ok(Some(status)),
                Ok(None) => checked.await.map(|_| None),
                Err(error) => Err(error),
            }
        }
    })
    .await;
    let log = || tail(&launch.log(), 30);
    match outcome {
        Ok(None) => Ok(()),
        Ok(Some(status)) => bail!("{} ended with {status}; its log:\n{}", launch.name, log()),
        Err(error) => Err(error.context(format!("the log of {}:\n{}", launch.name, log()))),
    }
}

fn port_was_taken(error: &anyhow::Error) -> bool {
    format!("{error:#}").contains("address already in use")
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

fn flag(name: &str, path: &Path) -> OsString {
    let mut flag = OsString::from(format!("--{name}="));
    flag.push(path);
    flag
}

fn etcd_args(dir: &Path, client_url: &str, peer_url: &str) -> Vec<OsString> {
    vec![
        flag("data-dir", &dir.join("etcd")),
        format!("--listen-client-urls={client_url}").into(),
        format!("--advertise-client-urls={client_url}").into(),
        format!("--listen-peer-urls={peer_url}").into(),
        format!("--initial-advertise-peer-urls={peer_url}").into(),
        format!("--initial-cluster=default={peer_url}").into(),
        // The data is thrown away: no need to survive a power cut.
        "--unsafe-no-fsync=true".into(),
        "--log-level=warn".into(),
    ]
}

fn apiserver_args(pki: &Pki, etcd_url: &str, port: u16) -> Vec<OsString> {
    vec![
        format!("--etcd-servers={etcd_url}").into(),
        format!("--secure-port={port}").into(),
        "--bind-address=127.0.0.1".into(),
        "--advertise-address=127.0.0.1".into(),
        flag("tls-cert-file", &pki.server_cert),
        flag("tls-private-key-file", &pki.server_key),
        flag("client-ca-file", &pki.ca_cert),
        "--service-cluster-ip-range=10.0.0.0/24".into(),
        "--service-account-issuer=https://kubernetes.default.svc".into(),
        flag("service-account-key-file", &pki.accounts_public),
        flag("service-account-signing-key-file", &pki.accounts_key),
        "--authorization-mode=RBAC".into(),
        "--allow-privileged=true".into(),
        "--endpoint-reconciler-type=none".into(),
        "--enable-bootstrap-token-auth".into(),
    ]
}

fn audit_args(dir: &Path, log: &Path) -> Result<Vec<OsString>> {
    let policy = dir.join("audit-policy.yaml");
    fs::write(&policy, audit::POLICY).context("writing the audit policy")?;
    // The size (in MiB) at which the log would be rotated away under our marks.
    Ok(vec![
        flag("audit-policy-file", &policy),
        flag("audit-log-path", log),
        "--audit-log-maxsize=65536".into(),
    ])
}

fn controller_manager_args(pki: &Pki, kubeconfig: &Path, port: u16) -> Vec<OsString> {
    vec![
        flag("kubeconfig", kubeconfig),
        "--bind-address=127.0.0.1".into(),
        format!("--secure-port={port}").into(),
        "--leader-elect=false".into(),
        flag("service-account-private-key-file", &pki.accounts_key),
        flag("root-ca-file", &pki.ca_cert),
        flag("cluster-signing-cert-file", &pki.ca_cert),
        flag("cluster-signing-key-file", &pki.ca_key),
        "--use-service-account-credentials".into(),
        "--controllers=*,bootstrapsigner,tokencleaner".into(),
    ]
}
