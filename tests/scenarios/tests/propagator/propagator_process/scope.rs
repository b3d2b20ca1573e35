//! What the process looks at: namespaces, and the kinds that choose clusters.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use reeve_testkit::world::{decide, register};
use reeve_testkit::{SOON, eventually};

use crate::propagator_process::{Hubs, Running, WRITER, reader};

const API: &str = "policy.open-cluster-management.io/v1";
const CLUSTER: &str = "scoped";

fn bound_policy(namespace: &str) -> String {
    format!(
        "
apiVersion: v1
kind: Namespace
metadata: {{name: {namespace}}}
---
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {{name: chosen, namespace: {namespace}}}
spec: {{}}
---
apiVersion: policy.open-cluster-management.io/v1
kind: Policy
metadata: {{name: p, namespace: {namespace}}}
spec: {{disabled: false, remediationAction: inform, policy-templates: []}}
---
apiVersion: policy.open-cluster-management.io/v1
kind: PlacementBinding
metadata: {{name: p, namespace: {namespace}}}
placementRef: {{apiGroup: cluster.open-cluster-management.io, kind: Placement, name: chosen}}
subjects: [{{apiGroup: policy.open-cluster-management.io, kind: Policy, name: p}}]
"
    )
}

pub(crate) async fn namespaces(hubs: Arc<Hubs>) -> Result<()> {
    let _turn = WRITER.lock().await;
    let hub = &hubs.plain;
    register(hub, CLUSTER).await?;
    // Those that are not watched come first.
    let all = ["scope-c", "scope-a", "scope-b"];
    for namespace in all {
        hub.apply(&bound_policy(namespace)).await?;
        decide(hub, namespace, "chosen", &[CLUSTER]).await?;
    }
    let find = async |namespace: &str| {
        let name = format!("{namespace}.p");
        hub.get(API, "Policy", Some(CLUSTER), &name).await
    };
    let replicated = async |namespace: &str| {
        let what = format!("the policy of {namespace} is replicated");
        let look = || async { find(namespace).await?.map(|_| ()).context("absent") };
        eventually(what, SOON, look).await
    };
    // One namespace, several, all.
    let steps: [(&str, &[&str], &[&str]); 3] = [
        ("scope-a", &["scope-a"], &["scope-b", "scope-c"]),
        ("scope-a, scope-b", &["scope-b"], &["scope-c"]),
        ("", &["scope-c"], &[]),
    ];
    for (watched, now, not_now) in steps {
        let env = [("WATCH_NAMESPACE", watched)];
        let mut running = Running::start(hub.kubeconfig(), &[], &env).await?;
        for namespace in now {
            replicated(namespace).await?;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        for namespace in not_now {
            let found = find(namespace).await?;
            ensure!(found.is_none(), "{namespace} is watched with {watched:?}");
        }
        running.component.stop().await?;
        // What is no longer looked at is not cleaned up either.
        ensure!(find("scope-a").await?.is_some(), "gone with {watched:?}");
    }
    Ok(())
}

pub(crate) async fn placement_rules(hubs: Arc<Hubs>) -> Result<()> {
    let text = "PlacementRule CRD not found. Disabling PlacementRule watches. Restart the container if the CRD is installed later.";
    let tls = "--tls-min-version=VersionTLS12";
    let cases: [(_, &[&str], bool); 3] = [
        (&hubs.plain, &[tls], true),
        (&hubs.plain, &[tls, "--disable-placementrule"], false),
        (&hubs.openshift, &[tls], false),
    ];
    for (hub, flags, reports) in cases {
        let kubeconfig = reader(hub, "rules")?;
        let mut running = Running::start(&kubeconfig, flags, &[]).await?;
        let log = running.component.log();
        ensure!(log.contains(text) == reports, "{flags:?}: {log}");
        running.component.stop().await?;
    }
    Ok(())
}
