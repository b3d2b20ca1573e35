//! The health and readiness probes of the propagator.

use std::sync::Arc;

use anyhow::{Result, ensure};
use reeve_testkit::{SOON, eventually, http_get};

use crate::propagator_process::{Hubs, Running};

const USER: &str = "kept-waiting";

const BINDING: &str = "
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: kept-waiting}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reader}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: kept-waiting}]
";

pub(crate) async fn readiness(hubs: Arc<Hubs>) -> Result<()> {
    let hub = &hubs.plain;
    let kubeconfig = hub.kubeconfig_for(USER, None)?;
    // Given at all, the flag keeps the process from asking what it may not.
    let flags = ["--disable-placementrule"];
    let mut running = Running::spawn(&kubeconfig, &flags, &[])?;
    let health = running.health.clone();
    eventually(
        "a process that may read nothing is unready",
        SOON,
        || async {
            let (ready, page) = http_get(&format!("{health}/readyz")).await?;
            ensure!(ready == 500, "{ready}: {page}");
            let (alive, page) = http_get(&format!("{health}/healthz")).await?;
            ensure!(alive == 200, "{alive}: {page}");
            Ok::<_, anyhow::Error>(())
        },
    )
    .await?;
    hub.apply(BINDING).await?;
    running.ready().await
}
