//! The metrics page, as scripts read it.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use reeve_scenarios::all_metrics_are_documented;
use reeve_testkit::world::{decide, register};
use reeve_testkit::{SOON, eventually, http_get};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::propagator_process::{Hubs, Running, reader};

const API: &str = "policy.open-cluster-management.io/v1";
const CLUSTER: &str = "measured";
const NAMESPACE: &str = "metrics";
const POLICY: &str = "
apiVersion: v1
kind: Namespace
metadata: {name: metrics}
---
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: chosen, namespace: metrics}
spec: {}
---
apiVersion: policy.open-cluster-management.io/v1
kind: PlacementBinding
metadata: {name: bound, namespace: metrics}
placementRef: {apiGroup: cluster.open-cluster-management.io, kind: Placement, name: chosen}
subjects: [{apiGroup: policy.open-cluster-management.io, kind: Policy, name: p}]
---
apiVersion: policy.open-cluster-management.io/v1
kind: Policy
metadata: {name: p, namespace: metrics}
spec: {disabled: false, remediationAction: inform, policy-templates: []}
";

/// The answer to a scrape, with its head.
async fn raw(port: u16) -> Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
    let request = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}

/// The lines of this policy's compliance, without the name they all have.
async fn series(port: u16) -> Result<Vec<String>> {
    let (code, page) = http_get(&format!("http://127.0.0.1:{port}/metrics")).await?;
    ensure!(code == 200, "{code}: {page}");
    let ours = page.lines().filter_map(|line| {
        let labels = line.strip_prefix("policy_governance_info")?;
        labels
            .contains("policy_namespace=\"metrics\"")
            .then_some(labels)
    });
    let mut ours: Vec<String> = ours.map(str::to_owned).collect();
    ours.sort_unstable();
    Ok(ours)
}

/// The value of a series that has no labels of ours.
async fn single(port: u16, series: &str) -> Result<u64> {
    let (_, page) = http_get(&format!("http://127.0.0.1:{port}/metrics")).await?;
    let found = page.lines().find_map(|line| {
        let value = line.strip_prefix(series)?.strip_prefix(' ')?;
        value.parse().ok()
    });
    found.with_context(|| format!("no {series} in {page}"))
}

/// Waits until the series of the policy and of its replica say so; `None` is no series.
async fn reports(port: u16, root: Option<i8>, replica: Option<i8>) -> Result<()> {
    let line = |cluster: &str, kind: &str, value: Option<i8>| {
        let rest = "policy=\"p\",policy_namespace=\"metrics\"";
        let labels = format!("{{cluster_namespace=\"{cluster}\",{rest},type=\"{kind}\"}}");
        value.map(|value| format!("{labels} {value}"))
    };
    let root = line("<null>", "root", root);
    let want: Vec<String> = root
        .into_iter()
        .chain(line(CLUSTER, "propagated", replica))
        .collect();
    eventually(format!("the series are {want:?}"), SOON, || async {
        let found = series(port).await?;
        ensure!(found == want, "{found:#?}");
        Ok(())
    })
    .await
}

pub(crate) async fn compliance(hubs: Arc<Hubs>) -> Result<()> {
    let hub = &hubs.openshift;
    register(hub, CLUSTER).await?;
    let kubeconfig = hub.kubeconfig();
    // The TLS profile of this hub is the business of other scenarios.
    let flags = ["--tls-min-version=VersionTLS12"];
    let running = Running::start(kubeconfig, &flags, &[]).await?;
    let reader = reader(hub, "silent")?;
    let silent = Running::start(&reader, &flags, &[("DISABLE_REPORT_METRICS", "True")]).await?;
    let answer = raw(running.metrics).await?.to_lowercase();
    let kind = "content-type: text/plain; version=0.0.4; charset=utf-8\r\n";
    ensure!(answer.contains(kind), "{answer}");
    ensure!(!answer.contains("# eof"), "{answer}");

    // PROP-176: there from the start, and counting.
    let took = "ocm_handle_root_policy_duration_seconds_bucket_bucket{le=\"10\"}";
    let before = single(running.metrics, took).await?;
    ensure!(single(running.metrics, "hub_templates_active_watches").await? == 0);
    hub.apply(POLICY).await?;
    decide(hub, NAMESPACE, "chosen", &[CLUSTER]).await?;
    reports(running.metrics, Some(-1), Some(-1)).await?;
    eventually("handling the policy is counted", SOON, || async {
        let after = single(running.metrics, took).await?;
        ensure!(after > before, "{before} and then {after}");
        Ok(())
    })
    .await?;
    let answers = async |state: &str| {
        let status = json!({ "status": { "compliant": state } });
        hub.patch_status(API, "Policy", Some(CLUSTER), "metrics.p", status)
            .await
    };
    for (state, value) in [("Compliant", 0), ("NonCompliant", 1), ("Pending", -1)] {
        answers(state).await?;
        reports(running.metrics, Some(value), Some(value)).await?;
    }
    // A disabled policy has no series, neither its own nor those of its replicas.
    let disable = async |disabled: bool| {
        let spec = json!({ "spec": { "disabled": disabled } });
        hub.patch(API, "Policy", Some(NAMESPACE), "p", spec).await
    };
    let page = format!("http://127.0.0.1:{}/metrics", running.metrics);
    all_metrics_are_documented(&http_get(&page).await?.1)?;
    disable(true).await?;
    reports(running.metrics, None, None).await?;
    disable(false).await?;
    reports(running.metrics, Some(-1), Some(-1)).await?;
    // PROP-178: the cluster goes before the replica does, which then lies in a namespace
    // like any other. It is a replica all the same, and its series ends with it.
    let cluster = "{apiVersion: cluster.open-cluster-management.io/v1, kind: ManagedCluster, metadata: {name: measured}}";
    hub.delete(cluster).await?;
    hub.delete(POLICY.split_once("---").context("one document")?.1)
        .await?;
    reports(running.metrics, None, Some(-1)).await?;
    let replica = format!(
        "{{apiVersion: {API}, kind: Policy, metadata: {{name: metrics.p, namespace: {CLUSTER}}}}}"
    );
    hub.delete(&replica).await?;
    reports(running.metrics, None, None).await?;
    ensure!(series(silent.metrics).await?.is_empty());
    Ok(())
}
