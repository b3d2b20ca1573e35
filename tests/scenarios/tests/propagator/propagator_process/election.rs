//! Two propagators, one lease.

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use jiff::Timestamp;
use reeve_testkit::world::{decide, register};
use reeve_testkit::{AuditEvent, AuditLog, Mark, Plane, SOON, eventually};

use crate::propagator_process::{Hubs, Running, WRITER};

const LEASE: &str = "policy-propagator.open-cluster-management.io";
const CLUSTER: &str = "elected";
const NAMESPACE: &str = "election";
const CANDIDATES: [&str; 2] = ["first-candidate", "second-candidate"];

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

/// That of the candidates only one has written policies or their statuses, as far as that was asked for after a time.
async fn assert_only_writer(
    audit: &AuditLog,
    beginning: (Mark, Timestamp),
    user: &str,
) -> Result<()> {
    let (mark, time) = beginning;
    // What is written is seen a moment before it is in the log.
    eventually(
        format!("the audit log has requests of {user}"),
        SOON,
        || async {
            let events = audit.since(mark)?;
            let wrote = writers(&events, time);
            ensure!(wrote.iter().eq([&user]), "{wrote:?} wrote");
            Ok(())
        },
    )
    .await
}

/// The candidates that wrote policies or their statuses.
fn writers(events: &[AuditEvent], after: Timestamp) -> BTreeSet<&str> {
    let writes = events.iter().filter(|event| {
        let about = (event.namespace.as_str(), event.resource.as_str());
        matches!(
            event.verb.as_str(),
            "create" | "update" | "patch" | "delete"
        ) && matches!(about.0, CLUSTER | NAMESPACE)
            && about.1.starts_with("policies")
            && event.request_received > after
    });
    let users = writes.map(|event| event.user.as_str());
    users.filter(|user| CANDIDATES.contains(user)).collect()
}

pub(crate) async fn failover(hubs: Arc<Hubs>) -> Result<()> {
    let _turn = WRITER.lock().await;
    let hub = &hubs.plain;
    register(hub, CLUSTER).await?;
    hub.apply(PLACEMENT).await?;
    decide(hub, NAMESPACE, "chosen", &[CLUSTER]).await?;
    let namespace = format!("--leader-election-namespace={NAMESPACE}");
    let flags = ["--leader-elect", namespace.as_str()];
    let start = async |user: &str| {
        let kubeconfig = hub.kubeconfig_for(user, Some("system:masters"))?;
        // A standby is ready too.
        Running::start(&kubeconfig, &flags, &[]).await
    };
    let [first_user, second_user] = CANDIDATES;
    let audit = hub.audit()?;
    let beginning = (audit.mark()?, Timestamp::now());
    let mut first = start(first_user).await?;
    eventually("the first candidate leads", SOON, || async {
        let api = "coordination.k8s.io/v1";
        let lease = hub.get(api, "Lease", Some(NAMESPACE), LEASE).await?;
        let lease = lease.context("no lease")?;
        ensure!(lease.data["spec"]["holderIdentity"].is_string());
        Ok(())
    })
    .await?;
    let mut second = start(second_user).await?;
    replicated(hub, "before").await?;
    assert_only_writer(audit, beginning, first_user).await?;

    first.component.kill().await;
    // What it had asked for may still be answered, and be reported of later.
    let killed = (audit.mark()?, Timestamp::now());
    replicated(hub, "after").await?;
    assert_only_writer(audit, killed, second_user).await?;
    ensure!(
        second.component.status()?.is_none(),
        "{}",
        second.component.log()
    );
    second.component.stop().await?;
    Ok(())
}
