//! The programs of a real control plane, as child processes.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use kube::Client;

use super::{PlaneOptions, Site, readyz};
use crate::assets::{Assets, Program};
use crate::audit;
use crate::child::{Child, Launch, tail};
use crate::pki::Pki;
use crate::{Objects, eventually};

/// etcd, kube-apiserver and kube-controller-manager.
pub(crate) struct Processes {
    // Clients end first.
    controller_manager: Option<Child>,
    apiserver: Child,
    etcd: Child,
    apiserver_launch: Launch,
    deadline: Duration,
}

impl Processes {
    /// Starts etcd and the API server; both are ready when this returns.
    pub(crate) async fn start(
        assets: &Assets,
        options: &PlaneOptions,
        site: &Site,
        audit: Option<&Path>,
    ) -> Result<Self> {
        let (name, dir) = (options.name, site.dir.path());
        let [etcd_port, peer_port, _, _] = site.ports;
        let etcd_url = format!("http://127.0.0.1:{etcd_port}");
        let peer_url = format!("http://127.0.0.1:{peer_port}");
        let etcd_launch = launch(
            dir,
            name,
            &assets.etcd,
            "etcd",
            etcd_args(dir, &etcd_url, &peer_url),
        );
        let mut etcd = etcd_launch.start()?;
        let health = format!("{etcd_url}/health");
        ready(&etcd_launch, &mut etcd, options.deadline, || {
            crate::http_get(&health)
        })
        .await?;

        let mut args = apiserver_args(&site.pki, &etcd_url, site.api_port());
        if let Some(log) = audit {
            args.extend(audit_args(dir, log)?);
        }
        let apiserver_launch = launch(dir, name, &assets.apiserver, "kube-apiserver", args);
        let mut apiserver = apiserver_launch.start()?;
        let client = site.admin().await?;
        let asked = || async { readyz(&client).await };
        ready(&apiserver_launch, &mut apiserver, options.deadline, asked).await?;
        Ok(Self {
            controller_manager: None,
            apiserver,
            etcd,
            apiserver_launch,
            deadline: options.deadline,
        })
    }

    pub(crate) async fn start_controller_manager(
        &mut self,
        program: &Program,
        name: &str,
        site: &Site,
        objects: &Objects,
    ) -> Result<()> {
        let args = controller_manager_args(&site.pki, &site.kubeconfig, site.manager_port());
        let role = "kube-controller-manager";
        let launch = launch(site.dir.path(), name, program, role, args);
        let mut child = launch.start()?;
        // Its first visible work, and the one that tests need: every namespace's default account.
        let account = || async {
            let account = objects
                .get("v1", "ServiceAccount", Some("default"), "default")
                .await?;
            account.context("the namespace `default` has no default service account")
        };
        ready(&launch, &mut child, self.deadline, account).await?;
        self.controller_manager = Some(child);
        Ok(())
    }

    pub(crate) fn has_controller_manager(&self) -> bool {
        self.controller_manager.is_some()
    }

    pub(crate) fn kill_apiserver(&mut self) {
        self.apiserver.kill();
    }

    pub(crate) async fn restart_apiserver(&mut self, client: &Client) -> Result<()> {
        self.apiserver.kill();
        self.apiserver = self.apiserver_launch.start()?;
        let asked = || async { readyz(client).await };
        ready(
            &self.apiserver_launch,
            &mut self.apiserver,
            self.deadline,
            asked,
        )
        .await
    }

    pub(crate) fn pids(&self) -> Vec<u32> {
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

/// Those controllers of kube-controller-manager that an API server of this workspace has none of.
const WORKLOADS: &str = "--controllers=deployment-controller,replicaset-controller,statefulset-controller,\
                         daemonset-controller,job-controller,cronjob-controller";

/// Starts what works on Deployments, Jobs and their like, beside an API server that is not of Kubernetes.
pub(crate) fn start_workloads(program: &Program, name: &str, site: &Site) -> Result<Child> {
    let args = vec![
        flag("kubeconfig", &site.kubeconfig),
        "--bind-address=127.0.0.1".into(),
        format!("--secure-port={}", site.manager_port()).into(),
        "--leader-elect=false".into(),
        WORKLOADS.into(),
    ];
    launch(
        site.dir.path(),
        name,
        program,
        "kube-controller-manager",
        args,
    )
    .start()
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
