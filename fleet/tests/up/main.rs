//! A fleet in one process enforces policies on its clusters.

mod authorities;
mod operators;
mod results;

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use futures::TryStreamExt as _;
use k8s_openapi::api::core::v1::Pod;
use kube::Client;
use kube::api::{Api, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use reeve_api::Policy;
use reeve_fleet::{
    Access, Constraints, ExternalData, Fleet, FleetOptions, Pods, RateLimits, Target, apply,
};
use reeve_manifests::{Input, Object};
use reeve_runtime::CancellationToken;
use reeve_testkit::{eventually, workspace};
use serde_json::json;

const SOON: Duration = Duration::from_secs(30);

/// Waits until every cluster reports the same compliance of a policy.
async fn wait_for_compliance(
    hub: &Client,
    policy: &str,
    clusters: usize,
    wanted: &str,
) -> Result<()> {
    let policies: Api<Policy> = Api::namespaced(hub.clone(), "policies");
    eventually(format!("{policy} is {wanted} everywhere"), SOON, || async {
        let policy = policies.get(policy).await?;
        let status = policy.status.context("no status")?;
        let statuses = status.status.context("no cluster")?;
        ensure!(statuses.len() == clusters, "{} clusters", statuses.len());
        for one in &statuses {
            ensure!(one.compliant.as_deref() == Some(wanted), "{one:?}");
        }
        ensure!(
            status.compliant.as_deref() == Some(wanted),
            "{:?}",
            status.compliant
        );
        Ok(())
    })
    .await
}

async fn fleet(clusters: &[&str], folder: &std::path::Path) -> Result<Fleet> {
    let options = FleetOptions {
        clusters: clusters.iter().map(|name| (*name).into()).collect(),
        folder: folder.to_owned(),
        access: Access::Ports(0),
        data: None,
        pods: Pods::Settled,
        limits: RateLimits::Lifted,
        constraints: Constraints::Ignored,
        external_data: ExternalData::default(),
    };
    Ok(Fleet::start(options).await?)
}

/// The objects of a file.
fn read(path: std::path::PathBuf) -> Result<Vec<Object>> {
    let found = reeve_manifests::read(&[Input::Path(path)]);
    ensure!(found.errors.is_empty(), "{:?}", found.errors);
    Ok(found.objects)
}

/// Runs the fleet's controllers until `story` ends.
async fn run_during(fleet: &Fleet, story: impl Future<Output = Result<()>>) -> Result<()> {
    let stop = CancellationToken::new();
    let (ran, result) = tokio::join!(fleet.run(stop.clone()), async {
        let result = story.await;
        stop.cancel();
        result
    });
    result?;
    ran?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn policy_is_violated_then_enforced_then_deleted() -> Result<()> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let folder = tempfile::tempdir()?;
    let fleet = fleet(&["east", "west"], folder.path()).await?;
    let hub = fleet.hub.client();
    let story = async {
        let policies = workspace().join("policies/namespace.yaml");
        let applied = apply(&Target::hub(hub.clone()), &read(policies)?).await;
        ensure!(
            applied.count == 3 && applied.errors.is_empty(),
            "{applied:?}"
        );
        wait_for_compliance(&hub, "policy-namespace", 2, "NonCompliant").await?;

        let api: Api<Policy> = Api::namespaced(hub.clone(), "policies");
        let enforce = json!({ "spec": { "remediationAction": "enforce" } });
        api.patch(
            "policy-namespace",
            &PatchParams::default(),
            &Patch::Merge(&enforce),
        )
        .await?;
        wait_for_compliance(&hub, "policy-namespace", 2, "Compliant").await?;
        for cluster in &fleet.clusters {
            let namespaces: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(cluster.client());
            namespaces
                .get("prod")
                .await
                .with_context(|| format!("on {}", cluster.name))?;
        }

        api.delete("policy-namespace", &kube::api::DeleteParams::default())
            .await?;
        for cluster in &fleet.clusters {
            eventually(
                format!("nothing of it is left on {}", cluster.name),
                SOON,
                || async {
                    let left: Vec<Policy> = Api::all(cluster.client())
                        .list(&kube::api::ListParams::default())
                        .await?
                        .items;
                    ensure!(left.is_empty(), "{left:?}");
                    let count = cluster
                        .server
                        .count("policy.open-cluster-management.io", "configurationpolicies");
                    ensure!(count == 0, "{count} configuration policies");
                    Ok(())
                },
            )
            .await?;
        }
        Ok(())
    };
    run_during(&fleet, story).await
}

#[tokio::test(flavor = "multi_thread")]
async fn clusters_join_their_set_and_their_taints_have_times() -> Result<()> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let folder = tempfile::tempdir()?;
    let fleet = fleet(&["east"], folder.path()).await?;
    let hub = fleet.hub.client();
    let path = "/apis/cluster.open-cluster-management.io/v1/managedclusters/east";
    let get = || async {
        let request = http::Request::get(path).body(Vec::new())?;
        anyhow::Ok(hub.request::<serde_json::Value>(request).await?)
    };
    let cluster = get().await?;
    ensure!(
        cluster["metadata"]["labels"]["cluster.open-cluster-management.io/clusterset"] == "default"
    );
    let taint = json!({ "spec": { "taints": [{ "key": "a/b", "effect": "NoSelect" }] } });
    let request = http::Request::patch(path)
        .header("content-type", "application/merge-patch+json")
        .body(taint.to_string().into_bytes())?;
    let cluster: serde_json::Value = hub.request(request).await?;
    ensure!(
        cluster["spec"]["taints"][0]["timeAdded"].is_string(),
        "{cluster}"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn pods_settle_only_where_requested() -> Result<()> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let folder = tempfile::tempdir()?;
    let fleet = fleet(&["east"], folder.path()).await?;
    let story = async {
        let cluster = fleet.clusters[0].client();
        let pods: Api<Pod> = Api::namespaced(cluster, "default");
        let pod = json!({
            "metadata": { "name": "web" },
            "spec": { "containers": [{ "name": "main", "image": "example.com/web:1" }] },
        });
        let pod = serde_json::from_value(pod)?;
        pods.create(&PostParams::default(), &pod).await?;
        eventually("the pod runs", SOON, || async {
            let status = pods.get("web").await?.status.context("no status")?;
            ensure!(status.phase.as_deref() == Some("Running"), "{status:?}");
            // The status that the server computed from it stays.
            ensure!(
                status.qos_class.as_deref() == Some("BestEffort"),
                "{status:?}"
            );
            Ok(())
        })
        .await
    };
    run_during(&fleet, story).await
}

/// A policy with so many templates that its status is large, bound to all clusters.
fn policy_with_templates(count: usize) -> String {
    use std::fmt::Write as _;

    let mut text = "apiVersion: policy.open-cluster-management.io/v1
kind: Policy
metadata: {name: large}
spec:
  disabled: false
  remediationAction: inform
  policy-templates:
"
    .to_owned();
    for number in 0..count {
        let _ = writeln!(
            text,
            "  - objectDefinition:
      apiVersion: policy.open-cluster-management.io/v1
      kind: ConfigurationPolicy
      metadata: {{name: large-{number}}}
      spec:
        severity: low
        object-templates:
        - complianceType: musthave
          objectDefinition: {{apiVersion: v1, kind: Namespace, metadata: {{name: default}}}}"
        );
    }
    text.push_str(
        "---
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: all}
spec: {clusterSets: [global]}
---
apiVersion: policy.open-cluster-management.io/v1
kind: PlacementBinding
metadata: {name: all}
placementRef: {apiGroup: cluster.open-cluster-management.io, kind: Placement, name: all}
subjects: [{apiGroup: policy.open-cluster-management.io, kind: Policy, name: large}]
",
    );
    text
}

/// Each report of a template makes a status with all of them: writing each one would be quadratic.
#[tokio::test(flavor = "multi_thread")]
async fn status_of_many_templates_is_not_written_for_each_template() -> Result<()> {
    const TEMPLATES: usize = 60;
    /// The interval between two writes of the status of so many templates.
    const PAUSE: Duration = Duration::from_millis(120);

    let _ = rustls::crypto::ring::default_provider().install_default();
    let folder = tempfile::tempdir()?;
    let fleet = fleet(&["east"], folder.path()).await?;
    let hub = fleet.hub.client();
    let file = folder.path().join("large.yaml");
    std::fs::write(&file, policy_with_templates(TEMPLATES))?;
    let replicas: Api<Policy> = Api::namespaced(fleet.clusters[0].client(), "east");
    let story = async {
        let mut events = Box::pin(replicas.watch(&WatchParams::default(), "0").await?);
        let applied = apply(&Target::hub(hub.clone()), &read(file)?).await;
        ensure!(applied.errors.is_empty(), "{applied:?}");
        let (mut last, mut writes) = (None, Vec::new());
        while let Some(event) = events.try_next().await? {
            let (WatchEvent::Added(policy) | WatchEvent::Modified(policy)) = event else {
                continue;
            };
            if policy.status == last {
                continue;
            }
            writes.push(Instant::now());
            last = policy.status;
            let status = last.as_ref().and_then(|status| status.compliant.as_deref());
            if status == Some("Compliant") {
                break;
            }
        }
        // The number of writes depends on the machine; their intervals do not, except the first and the last.
        let gaps = writes.windows(2).map(|pair| pair[1] - pair[0]);
        let close = gaps.filter(|gap| *gap < PAUSE / 2).count();
        // A slow test process may receive several together.
        let most = 2 + writes.len() / 3;
        ensure!(close <= most, "{close} of {} follow at once", writes.len());
        wait_for_compliance(&hub, "large", 1, "Compliant").await
    };
    run_during(&fleet, story).await
}
