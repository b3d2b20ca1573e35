//! `reeve up` as a process.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use kube::api::{Api, DynamicObject, ListParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Client, Config};
use reeve_benches_measuring::{Used, resident_kib};
use reeve_testkit::{Component, reeve_binary};
use tempfile::TempDir;

/// How long the hub may take to be there.
const TIMEOUT: Duration = Duration::from_mins(5);
/// How often is looked whether it is.
const AWAITED: Duration = Duration::from_millis(5);
/// How often the hub is asked what the clusters say.
const PAUSE: Duration = Duration::from_millis(250);

/// A fleet, which ends when this is dropped.
pub(crate) struct Fleet {
    process: Component,
    kubeconfig: PathBuf,
    _folder: TempDir,
}

impl Fleet {
    pub(crate) fn start(clusters: usize, policies: Option<&Path>) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let kubeconfig = folder.path().join("kubeconfig");
        let mut args = vec![
            "up".to_owned(),
            "--log-level=error".to_owned(),
            format!("--clusters={clusters}"),
            format!("--kubeconfig={}", kubeconfig.display()),
        ];
        args.extend(policies.map(|path| format!("--policies={}", path.display())));
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        Ok(Self {
            process: Component::spawn_program(&reeve_binary()?, "reeve", &args, &[])?,
            kubeconfig,
            _folder: folder,
        })
    }

    /// A client of the hub, as soon as that answers.
    pub(crate) async fn ready(&mut self) -> Result<Client> {
        let started = Instant::now();
        loop {
            match hub(&self.kubeconfig).await {
                Ok(client) => return Ok(client),
                Err(error) if started.elapsed() > TIMEOUT => return Err(error),
                Err(_) => self.check_running()?,
            }
            tokio::time::sleep(AWAITED).await;
        }
    }

    /// Waits until the root policies report so many clusters, each counted for each policy, that are Compliant.
    pub(crate) async fn compliant(
        &mut self,
        hub: &Client,
        pairs: usize,
        timeout: Duration,
    ) -> Result<()> {
        let kind = GroupVersionKind::gvk("policy.open-cluster-management.io", "v1", "Policy");
        let kind = ApiResource::from_gvk_with_plural(&kind, "policies");
        let roots: Api<DynamicObject> = Api::namespaced_with(hub.clone(), "policies", &kind);
        let started = Instant::now();
        loop {
            let listed = roots.list(&ListParams::default()).await?;
            let compliant: usize = listed.items.iter().map(compliant_clusters).sum();
            if compliant == pairs {
                return Ok(());
            }
            ensure!(
                started.elapsed() < timeout,
                "{compliant} of {pairs} are Compliant after {} s",
                timeout.as_secs()
            );
            self.check_running()?;
            tokio::time::sleep(PAUSE).await;
        }
    }

    fn check_running(&mut self) -> Result<()> {
        if let Some(status) = self.process.status()? {
            bail!("the fleet ended with {status}: {}", self.process.log());
        }
        Ok(())
    }

    pub(crate) fn used(&self) -> Result<Used> {
        Used::by(self.process.pid())
    }

    /// In bytes.
    pub(crate) fn resident(&self) -> Result<u64> {
        Ok(resident_kib(self.process.pid())? * 1024)
    }
}

async fn hub(kubeconfig: &Path) -> Result<Client> {
    let options = KubeConfigOptions {
        context: Some("hub".to_owned()),
        ..KubeConfigOptions::default()
    };
    let config = Kubeconfig::read_from(kubeconfig)?;
    let client = Client::try_from(Config::from_custom_kubeconfig(config, &options).await?)?;
    let request = http::Request::get("/readyz").body(Vec::new())?;
    client.request_text(request).await?;
    Ok(client)
}

/// How many clusters comply with a policy.
fn compliant_clusters(root: &DynamicObject) -> usize {
    let clusters = root.data["status"]["status"].as_array();
    let complies = |cluster: &&serde_json::Value| cluster["compliant"] == "Compliant";
    clusters.into_iter().flatten().filter(complies).count()
}
