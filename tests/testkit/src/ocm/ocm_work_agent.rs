//! Open Cluster Management's own work agent, as a process.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, ensure};
use tokio::net::TcpStream;

use super::agents::ClusterPlanes;
use crate::golang::GoProgram;
use crate::{Component, SOON, eventually, free_port, workspace};

const ADVICE: &str = "the tests need the work agent of Open Cluster Management: install Go 1.26 or later \
    (https://go.dev/dl) so that it can be built from tests/ocm";

/// The work agent of one cluster. Dropping it ends it.
pub(super) struct OcmWorkAgent {
    component: Mutex<Component>,
}

/// The program, of the module in a folder.
pub(super) fn go_program(module: &Path) -> GoProgram<'_> {
    GoProgram {
        module,
        name: "work",
        package: ".",
        ldflags: "",
        advice: ADVICE,
    }
}

/// The program, built first when that is needed.
pub(crate) fn work_agent() -> Result<PathBuf> {
    go_program(&workspace().join("tests/ocm")).locate()
}

impl OcmWorkAgent {
    /// Starts it for a cluster: as a user of the hub and member of the cluster's group, and as an account of the
    /// cluster. Builds it first when that is needed (minutes, once).
    pub(super) async fn start(
        planes: ClusterPlanes<'_>,
        cluster: &str,
        user: &str,
        group: &str,
        account: &str,
    ) -> Result<Self> {
        let binary = tokio::task::spawn_blocking(work_agent)
            .await
            .context("building the work agent")??;
        let hub = planes.hub.kubeconfig_for(user, Some(group))?;
        let spoke = planes.managed.kubeconfig_for(account, None)?;
        let address = format!("127.0.0.1:{}", free_port()?);
        let flags = [
            format!("--spoke-cluster-name={cluster}"),
            format!("--hub-kubeconfig={}", hub.display()),
            format!("--workload-source-config={}", hub.display()),
            format!("--kubeconfig={}", planes.agent.kubeconfig().display()),
            format!("--spoke-kubeconfig={}", spoke.display()),
            "--namespace=open-cluster-management-agent".to_owned(),
            "--disable-leader-election".to_owned(),
            format!("--listen={address}"),
            "--v=2".to_owned(),
        ];
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let mut component = Component::spawn_program(&binary, "work", &flags, &[])?;
        let serves = eventually("the work agent serves", SOON, || {
            let status = component.status();
            let address = &address;
            async move {
                if status?.is_none() {
                    TcpStream::connect(address).await?;
                }
                anyhow::Ok(())
            }
        })
        .await;
        serves.with_context(|| component.log())?;
        let status = component.status()?;
        ensure!(status.is_none(), "{status:?}: {}", component.log());
        Ok(Self {
            component: Mutex::new(component),
        })
    }

    /// Freezes it.
    pub(super) fn pause(&self) -> Result<()> {
        self.with(Component::pause)
    }

    /// Ends [`OcmWorkAgent::pause`].
    pub(super) fn resume(&self) -> Result<()> {
        self.with(Component::resume)
    }

    /// Everything it has logged.
    pub(super) fn log(&self) -> String {
        self.with(|component| component.log())
    }

    fn with<T>(&self, act: impl FnOnce(&mut Component) -> T) -> T {
        let mut component = self
            .component
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        act(&mut component)
    }
}
