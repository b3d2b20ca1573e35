//! The framework add-on on managed clusters.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, ensure};
use reeve_testkit::{SOON, eventually};
use serde_json::{Value, json};

use crate::install::addon::{AddOn, CRD, POLICIES_CRD, has_namespace, policies_crd, variables};
use crate::install::placed::{installed_elsewhere, placed_on_nodes, sized};
use crate::install::site::{Cluster, FRAMEWORK, Site};
use reeve_scenarios::steadily;

const THREE_MINUTES: Duration = Duration::from_mins(3);
/// Where users keep policies; made by the framework.
const POLICIES: &str = "open-cluster-management-policies";

fn framework(site: &Site, cluster: Cluster) -> AddOn<'_> {
    AddOn::new(site, FRAMEWORK, cluster)
}
pub(crate) async fn elsewhere(site: Arc<Site>) -> Result<()> {
    installed_elsewhere(&site, FRAMEWORK, &Cluster::ALL).await
}
pub(crate) async fn default(site: Arc<Site>) -> Result<()> {
    let _lock = site
        .locks
        .wait(&[(FRAMEWORK, Cluster::Two), (FRAMEWORK, Cluster::Three)])
        .await?;
    let on = |cluster: Cluster| {
        let addon = framework(&site, cluster);
        async move {
            addon.enable(json!({}), &[]).await?;
            addon.runs().await?;
            let namespace = format!("--cluster-namespace={}", cluster.name());
            addon
                .args(&[
                    &namespace,
                    "--leader-elect=false",
                    "--evaluation-concurrency=2",
                    "--client-max-qps=30",
                    "--client-burst=45",
                ])
                .await?;
            addon.disable().await
        }
    };
    tokio::try_join!(on(Cluster::Two), on(Cluster::Three))?;
    Ok(())
}

/// The work agent itself would look at the work after four minutes or more.
pub(crate) async fn vanished_crd(site: Arc<Site>) -> Result<()> {
    let _lock = site.locks.wait(&[(FRAMEWORK, Cluster::Two)]).await?;
    let addon = framework(&site, Cluster::Two);
    addon.enable(json!({}), &[]).await?;
    addon.runs().await?;
    let before = policies_crd(&site.two).await?;
    let finalizers = |all: Value| json!({ "metadata": { "finalizers": all } });
    let held = finalizers(json!(["example.com/held"]));
    site.two
        .patch(CRD.0, CRD.1, None, POLICIES_CRD, held)
        .await?;
    let object =
        json!({ "apiVersion": CRD.0, "kind": CRD.1, "metadata": { "name": POLICIES_CRD } });
    site.two.delete(&object.to_string()).await?;
    // Another work, which is applied at once.
    addon.annotate(json!({ "log-level": "5" })).await?;
    addon.args(&["--log-level=5"]).await?;
    addon.deploy_work().await?;
    let going = policies_crd(&site.two).await?;
    ensure!(
        going.metadata.deletion_timestamp.is_some(),
        "it was replaced"
    );
    let free = finalizers(Value::Null);
    site.two
        .patch(CRD.0, CRD.1, None, POLICIES_CRD, free)
        .await?;
    eventually("the CRD is there again", THREE_MINUTES, || async {
        let now = policies_crd(&site.two).await?;
        let is_new = now.metadata.uid != before.metadata.uid;
        ensure!(is_new, "it is the one that goes");
        Ok(())
    })
    .await?;
    addon.runs().await?;
    addon.disable().await
}
pub(crate) async fn annotations(site: Arc<Site>) -> Result<()> {
    let _lock = site
        .locks
        .wait(&Cluster::ALL.map(|cluster| (FRAMEWORK, cluster)))
        .await?;
    let on = |cluster: Cluster| {
        let addon = framework(&site, cluster);
        async move {
            addon.enable(json!({}), &[]).await?;
            addon.runs().await?;
            let annotations = json!({
                "log-level": "8", "policy-evaluation-concurrency": "5", "client-qps": "50",
            });
            addon.annotate(annotations).await?;
            addon
                .args(&[
                    "--log-encoder=console",
                    "--log-level=8",
                    "--v=6",
                    "--evaluation-concurrency=5",
                    "--client-max-qps=50",
                    "--client-burst=111",
                ])
                .await?;
            addon.runs().await?;
            addon.disable().await
        }
    };
    tokio::try_join!(on(Cluster::One), on(Cluster::Two), on(Cluster::Three))?;
    Ok(())
}
pub(crate) async fn customized(site: Arc<Site>) -> Result<()> {
    let _lock = site.locks.wait(&[(FRAMEWORK, Cluster::Two)]).await?;
    let addon = framework(&site, Cluster::Two);
    let wanted = [
        ("logLevel", "2"),
        ("logEncoder", "json"),
        ("evaluationConcurrency", "1"),
        ("clientQPS", "15"),
        ("clientBurst", "30"),
        ("tlsMinVersion", "VersionTLS12"),
        ("tlsCipherSuites", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"),
    ];
    addon
        .configure("framework-variables", variables(&wanted))
        .await?;
    addon.enable(json!({}), &["framework-variables"]).await?;
    addon
        .args(&[
            "--log-encoder=json",
            "--log-level=2",
            "--v=0",
            "--evaluation-concurrency=1",
            "--client-max-qps=15",
            "--client-burst=30",
            "--tls-min-version=VersionTLS12",
            "--tls-cipher-suites=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
        ])
        .await?;
    addon.runs().await?;
    has_namespace(addon.plane, POLICIES).await?;
    addon.reports("Progressing", "False", "Completed").await?;
    addon.disable().await
}
pub(crate) async fn nodes(site: Arc<Site>) -> Result<()> {
    let _lock = site.locks.wait(&[(FRAMEWORK, Cluster::Three)]).await?;
    placed_on_nodes(&framework(&site, Cluster::Three)).await
}
pub(crate) async fn resources(site: Arc<Site>) -> Result<()> {
    let _lock = site.locks.wait(&[(FRAMEWORK, Cluster::Two)]).await?;
    let addon = framework(&site, Cluster::Two);
    sized(&addon, ["64Mi", "512Mi"], ["50Mi", "100Mi"]).await
}
pub(crate) async fn cluster_namespace(site: Arc<Site>) -> Result<()> {
    let _lock = site.locks.wait(&[(FRAMEWORK, Cluster::Two)]).await?;
    let addon = framework(&site, Cluster::Two);
    let name = addon.cluster.name();
    let before = addon.plane.get("v1", "Namespace", None, name).await?;
    ensure!(before.is_none(), "{before:?}");
    addon.enable(json!({}), &[]).await?;
    addon
        .container("a name", |container| container["name"].is_string())
        .await?;
    let short = Duration::from_secs(15);
    eventually("the cluster's namespace is there", short, || {
        has_namespace(addon.plane, name)
    })
    .await?;
    addon.disable().await?;
    addon.plane.gone("v1", "Namespace", None, name, short).await
}
pub(crate) async fn orphaned_namespace(site: Arc<Site>) -> Result<()> {
    let _lock = site.locks.wait(&[(FRAMEWORK, Cluster::Three)]).await?;
    let addon = framework(&site, Cluster::Three);
    let name = addon.cluster.name();
    addon
        .configure("orphan", variables(&[("orphanClusterNamespace", "true")]))
        .await?;
    addon.enable(json!({}), &["orphan"]).await?;
    addon.runs().await?;
    has_namespace(addon.plane, name).await?;
    addon.disable().await?;
    steadily("the cluster's namespace stays", || {
        has_namespace(addon.plane, name)
    })
    .await?;
    let namespace =
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
    addon.plane.delete(&namespace.to_string()).await?;
    addon.plane.gone("v1", "Namespace", None, name, SOON).await
}
pub(crate) async fn probes(site: Arc<Site>) -> Result<()> {
    let _lock = site.locks.wait(&[(FRAMEWORK, Cluster::Three)]).await?;
    let addon = framework(&site, Cluster::Three);
    let version = addon.plane.client().apiserver_version().await?;
    let minor: u32 = version.minor.trim_end_matches('+').parse()?;
    addon.enable(json!({}), &[]).await?;
    let container = addon
        .container("a liveness probe", |it| it["livenessProbe"].is_object())
        .await?;
    if minor >= 20 {
        ensure!(container["startupProbe"].is_object(), "{container}");
    } else {
        ensure!(
            container["livenessProbe"]["initialDelaySeconds"].is_i64(),
            "{container}"
        );
    }
    addon.disable().await
}
