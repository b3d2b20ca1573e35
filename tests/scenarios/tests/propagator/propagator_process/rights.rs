//! The rights that the shipped manifest gives.

use std::fs;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use reeve_testkit::world::{decide, register};
use reeve_testkit::{SOON, eventually, workspace};
use serde_json::json;

use crate::propagator_process::{Hubs, Running, WRITER};

const MANIFEST: &str = "deploy/rbac/governance-policy-propagator.yaml";
const API: &str = "policy.open-cluster-management.io/v1";
const USER: &str = "shipped";
const CLUSTER: &str = "governed";
const NAMESPACE: &str = "rights";

const ROLE: &str = "governance-policy-propagator-leader-election-role";

const OBJECTS: &str = "
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: governance-policy-propagator-global}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: governance-policy-propagator}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: shipped}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: governance-policy-propagator-leader-election-rolebinding, namespace: rights}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: governance-policy-propagator-leader-election-role}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: shipped}]
---
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: chosen, namespace: rights}
spec: {}
---
apiVersion: policy.open-cluster-management.io/v1
kind: Policy
metadata: {name: p, namespace: rights}
spec: {disabled: false, remediationAction: inform, policy-templates: []}
---
apiVersion: policy.open-cluster-management.io/v1
kind: PlacementBinding
metadata: {name: p, namespace: rights}
placementRef: {apiGroup: cluster.open-cluster-management.io, kind: Placement, name: chosen}
subjects: [{apiGroup: policy.open-cluster-management.io, kind: Policy, name: p}]
";

pub(crate) async fn suffice(hubs: Arc<Hubs>) -> Result<()> {
    let _turn = WRITER.lock().await;
    let hub = &hubs.plain;
    register(hub, CLUSTER).await?;
    hub.apply(&format!(
        "{{apiVersion: v1, kind: Namespace, metadata: {{name: {NAMESPACE}}}}}"
    ))
    .await?;
    // The Role belongs into the namespace of the propagator, whichever that is.
    let manifest = fs::read_to_string(workspace().join(MANIFEST))?;
    let name = format!("name: {ROLE}\n");
    ensure!(manifest.contains(&name), "no {ROLE} in {manifest}");
    let placed = format!("{name}  namespace: {NAMESPACE}\n");
    hub.apply(&manifest.replace(&name, &placed)).await?;
    hub.apply(OBJECTS).await?;
    decide(hub, NAMESPACE, "chosen", &[CLUSTER]).await?;

    let mark = hub.audit()?.mark()?;
    let kubeconfig = hub.kubeconfig_for(USER, None)?;
    let lease = format!("--leader-election-namespace={NAMESPACE}");
    let mut running = Running::start(&kubeconfig, &["--leader-elect", &lease], &[]).await?;
    let replica = format!("{NAMESPACE}.p");
    let find = || async {
        let found = hub.get(API, "Policy", Some(CLUSTER), &replica).await?;
        found.map(|_| ()).context("absent")
    };
    eventually("the policy is replicated", SOON, find).await?;
    let status = json!({ "status": { "compliant": "NonCompliant" } });
    hub.patch_status(API, "Policy", Some(CLUSTER), &replica, status)
        .await?;
    eventually("the root policy has its answer", SOON, || async {
        let root = hub.get(API, "Policy", Some(NAMESPACE), "p").await?;
        let root = root.context("absent")?;
        ensure!(
            root.data["status"]["compliant"] == "NonCompliant",
            "{:#}",
            root.data
        );
        Ok(())
    })
    .await?;
    let events = || async {
        let events = hub
            .list("events.k8s.io/v1", "Event", Some(NAMESPACE))
            .await?;
        ensure!(!events.is_empty(), "no events");
        Ok::<_, anyhow::Error>(())
    };
    eventually("the propagation is an event", SOON, events).await?;
    hub.patch(
        API,
        "Policy",
        Some(NAMESPACE),
        "p",
        json!({ "spec": { "disabled": true } }),
    )
    .await?;
    hub.gone(API, "Policy", Some(CLUSTER), &replica, SOON)
        .await?;
    running.component.stop().await?;

    let asked = hub.audit()?.since(mark)?;
    let denied = asked
        .iter()
        .filter(|event| event.user == USER && matches!(event.code, 401 | 403));
    let denied: Vec<_> = denied.collect();
    ensure!(denied.is_empty(), "{denied:#?}");
    Ok(())
}
