//! Two propagators, one lease.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use reeve_testkit::world::{decide, register};
use reeve_testkit::{AuditEvent, Plane, eventually};

use crate::{Hubs, Running, SOON};

const LEASE: &str = "policy-propagator.open-cluster-management.io";
const CLUSTER: &str = "elected";
const NAMESPACE: &str = "election";

fn policy(name: &str) -> String {
    format!(
        "
apiVersion: policy.open-cluster-management.io/v1
kind: Policy
metadata: {{name: {name}, namespace: {NAMESPACE}}}
spec: {{disabled: false, remediationAction: inform, policy-templates: []}}
---
apiVersion: policy.open-cluster-management.io/v1
kind: PlacementBinding
metadata: {{name: {name}, namespace: {NAMESPACE}}}
placementRef: {{apiGroup: cluster.open-cluster-management.io, kind: Placement, name: chosen}}
subjects: [{{apiGroup: policy.open-cluster-management.io, kind: Policy, name: {name}}}]
"
    )
}

const PLACEMENT: &str = "
apiVersion: v1
kind: Namespace
metadata: {name: election}
---
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: chosen, namespace: election}
spec: {}
";

/// Applies a policy and waits for its replica.
async fn replicated(hub: &Plane, name: &str) -> Result<()> {
    hub.apply(&policy(name)).await?;
    let api = "policy.open-cluster-management.io/v1";
    let replica = format!("{NAMESPACE}.{name}");
    eventually(format!("{replica} in {CLUSTER}"), SOON, || async {
        let found = hub.get(api, "Policy", Some(CLUSTER), &replica).await?;
        found.context("absent").map(|_| ())
    })
    .await
}

/// The users that wrote policies or their statuses.
fn writers(events: &[AuditEvent], users: &[&str]) -> Vec<String> {
    let writes = events.iter().filter(|event| {
        let about = (event.namespace.as_str(), event.resource.as_str());
        matches!(
            event.verb.as_str(),
            "create" | "update" | "patch" | "delete"
        ) && matches!(about.0, CLUSTER | NAMESPACE)
            && about.1.starts_with("policies")
            && users.contains(&event.user.as_str())
    });
    let mut users: Vec<String> = writes.map(|event| event.user.clone()).collect();
    users.sort_unstable();
    users.dedup();
    users
}

pub(crate) async fn failover(hubs: Arc<Hubs>) -> Result<()> {
    let hub = &hubs.plain;
    register(hub, CLUSTER).await?;
    hub.apply(PLACEMENT).await?;
    decide(hub, NAMESPACE, "chosen", &[CLUSTER]).await?;
    let users = ["first-candidate", "second-candidate"];
    let namespace = format!("--leader-election-namespace={NAMESPACE}");
    let flags = ["--leader-elect", namespace.as_str()];
    let start = async |user: &str| {
        let kubeconfig = hub.kubeconfig_for(user, Some("system:masters"))?;
        // A standby is ready too.
        Running::start(&kubeconfig, &flags, &[]).await
    };
    let mark = hub.audit()?.mark()?;
    let mut first = start(users[0]).await?;
    eventually("the first candidate leads", SOON, || async {
        let api = "coordination.k8s.io/v1";
        let lease = hub.get(api, "Lease", Some(NAMESPACE), LEASE).await?;
        let lease = lease.context("no lease")?;
        ensure!(lease.data["spec"]["holderIdentity"].is_string());
        Ok(())
    })
    .await?;
    let mut second = start(users[1]).await?;
    replicated(hub, "before").await?;
    let wrote = writers(&hub.audit()?.since(mark)?, &users);
    ensure!(wrote == users[..1], "{wrote:?} wrote");

    first.component.kill().await;
    let mark = hub.audit()?.mark()?;
    replicated(hub, "after").await?;
    let wrote = writers(&hub.audit()?.since(mark)?, &users);
    ensure!(wrote == users[1..], "{wrote:?} wrote");
    ensure!(
        second.component.status()?.is_none(),
        "{}",
        second.component.log()
    );
    second.component.stop().await?;
    Ok(())
}
