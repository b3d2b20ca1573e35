//! The config-policy add-on, and what the standalone templating add-on does to it.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use reeve_testkit::{SOON, eventually};
use serde_json::{Value, json};

use crate::install::addon::{AGENTS, AddOn, args_of, variables};
use crate::install::placed::{installed_elsewhere, placed_on_nodes, sized};
use crate::install::site::{CLUSTER, CONFIG_POLICY, Cluster, FRAMEWORK, STANDALONE, Site};

const MONITOR: (&str, &str) = ("monitoring.coreos.com/v1", "ServiceMonitor");
const MONITOR_NAME: &str = "ocm-config-policy-controller-metrics";
const SERVICE_NAME: &str = "config-policy-controller-metrics";

fn config_policy(site: &Site, cluster: Cluster) -> AddOn<'_> {
    AddOn::new(site, CONFIG_POLICY, cluster)
}
pub(crate) async fn elsewhere(site: Arc<Site>) -> Result<()> {
    installed_elsewhere(&site, CONFIG_POLICY, &[Cluster::Two, Cluster::Three]).await
}
pub(crate) async fn default(site: Arc<Site>) -> Result<()> {
    let _lock = site
        .locks
        .wait(&Cluster::ALL.map(|cluster| (CONFIG_POLICY, cluster)))
        .await?;
    let on = |cluster: Cluster| {
        let addon = config_policy(&site, cluster);
        async move {
            addon.enable(json!({}), &[]).await?;
            addon.runs().await?;
            addon.disable().await
        }
    };
    tokio::try_join!(on(Cluster::One), on(Cluster::Two), on(Cluster::Three))?;
    Ok(())
}
pub(crate) async fn nodes(site: Arc<Site>) -> Result<()> {
    let _lock = site.locks.wait(&[(CONFIG_POLICY, Cluster::One)]).await?;
    placed_on_nodes(&config_policy(&site, Cluster::One)).await
}
pub(crate) async fn resources(site: Arc<Site>) -> Result<()> {
    let _lock = site.locks.wait(&[(CONFIG_POLICY, Cluster::Three)]).await?;
    let addon = config_policy(&site, Cluster::Three);
    sized(&addon, ["128Mi", "512Mi"], ["75Mi", "150Mi"]).await
}
pub(crate) async fn annotations(site: Arc<Site>) -> Result<()> {
    let _lock = site.locks.wait(&[(CONFIG_POLICY, Cluster::Two)]).await?;
    let addon = config_policy(&site, Cluster::Two);
    addon.enable(json!({}), &[]).await?;
    addon
        .args(&[
            "--log-encoder=console",
            "--evaluation-concurrency=2",
            "--client-max-qps=30",
            "--enable-operator-policy=true",
        ])
        .await?;
    let annotations = json!({
        "log-level": "8",
        "policy-evaluation-concurrency": "5",
        "prometheus-metrics-enabled": "true",
        "client-qps": "50",
        "operator-policy-disabled": "false",
    });
    addon.annotate(annotations).await?;
    addon
        .args(&[
            "--log-level=8",
            "--v=6",
            "--evaluation-concurrency=5",
            "--client-max-qps=50",
            "--leader-elect=false",
            "--enable-operator-policy=true",
        ])
        .await?;
    no_default_namespace(&addon).await?;
    monitored(&addon, "http", &json!({ "port": 8080, "targetPort": 8383 })).await?;
    addon.runs().await?;
    addon.disable().await
}

async fn no_default_namespace(addon: &AddOn<'_>) -> Result<()> {
    let container = addon
        .container("a name", |it| it["name"].is_string())
        .await?;
    let args = args_of(&container);
    ensure!(
        !args
            .iter()
            .any(|arg| arg.contains("operator-policy-default-namespace")),
        "{args:?}"
    );
    Ok(())
}

/// Waits until metrics are offered in this way, and at one port only.
async fn monitored(addon: &AddOn<'_>, scheme: &str, port: &Value) -> Result<()> {
    let namespace = Some(addon.namespace.as_str());
    eventually(
        format!("metrics are monitored by {scheme}"),
        SOON,
        || async {
            let monitor = addon
                .plane
                .get(MONITOR.0, MONITOR.1, namespace, MONITOR_NAME)
                .await?;
            let monitor = monitor.context("no ServiceMonitor")?;
            let endpoints = &monitor.data["spec"]["endpoints"];
            ensure!(endpoints[0]["scheme"] == scheme, "{endpoints}");
            let service = addon
                .plane
                .get("v1", "Service", namespace, SERVICE_NAME)
                .await?;
            let ports = service.context("no Service")?.data["spec"]["ports"].clone();
            ensure!(
                ports.as_array().is_some_and(|all| all.len() == 1),
                "{ports}"
            );
            let same = |key: &str| ports[0][key] == port[key];
            ensure!(same("port") && same("targetPort"), "{ports}");
            Ok(())
        },
    )
    .await
}
pub(crate) async fn customized(site: Arc<Site>) -> Result<()> {
    let _lock = site.locks.wait(&[(CONFIG_POLICY, Cluster::Two)]).await?;
    let addon = config_policy(&site, Cluster::Two);
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
        .configure("config-policy-variables", variables(&wanted))
        .await?;
    addon
        .enable(json!({}), &["config-policy-variables"])
        .await?;
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
            "--leader-elect=false",
            "--enable-operator-policy=true",
        ])
        .await?;
    no_default_namespace(&addon).await?;
    addon.runs().await?;
    addon.disable().await
}
pub(crate) async fn openshift(site: Arc<Site>) -> Result<()> {
    // The claim is that of the cluster, and changes both add-ons.
    let _lock = site
        .locks
        .wait(&[(CONFIG_POLICY, Cluster::Two), (FRAMEWORK, Cluster::Two)])
        .await?;
    let claim = json!({ "apiVersion": "cluster.open-cluster-management.io/v1alpha1", "kind": "ClusterClaim",
        "metadata": { "name": "product.open-cluster-management.io" }, "spec": { "value": "OpenShift" } })
    .to_string();
    site.two.apply(&claim).await?;
    let outcome = on_openshift(&site).await;
    site.two.delete(&claim).await?;
    product(&site, None).await?;
    outcome
}

/// Waits until the hub knows of this product, or of none.
async fn product(site: &Site, wanted: Option<&str>) -> Result<()> {
    eventually(format!("the product is {wanted:?}"), SOON, || async {
        let cluster = site
            .hub
            .get(CLUSTER.0, CLUSTER.1, None, Cluster::Two.name())
            .await?;
        let claims = cluster.context("absent")?.data["status"]["clusterClaims"].clone();
        let claims = claims.as_array().cloned().unwrap_or_default();
        let found = claims
            .iter()
            .find(|claim| claim["name"] == "product.open-cluster-management.io");
        let found = found.and_then(|claim| claim["value"].as_str());
        ensure!(found == wanted, "{claims:?}");
        Ok(())
    })
    .await
}

async fn on_openshift(site: &Site) -> Result<()> {
    product(site, Some("OpenShift")).await?;
    let addon = config_policy(site, Cluster::Two);
    addon.enable(json!({}), &[]).await?;
    monitored(
        &addon,
        "https",
        &json!({ "port": 8443, "targetPort": 8443 }),
    )
    .await?;
    let namespace = site.two.get("v1", "Namespace", None, AGENTS).await?;
    let labels = namespace
        .and_then(|it| it.metadata.labels)
        .unwrap_or_default();
    let label = labels
        .get("openshift.io/cluster-monitoring")
        .map(String::as_str);
    ensure!(label == Some("true"), "{labels:?}");
    // The Pod has no certificate to serve with, and never starts; the hook does without.
    addon.disable().await
}
pub(crate) async fn standalone(site: Arc<Site>) -> Result<()> {
    let _lock = site.locks.wait(&[(CONFIG_POLICY, Cluster::One)]).await?;
    let addon = config_policy(&site, Cluster::One);
    addon.enable(json!({}), &[]).await?;
    addon.runs().await?;
    let templating = |container: &Value| {
        args_of(container)
            .iter()
            .any(|arg| arg.contains("standalone-hub-templates"))
    };
    let container = addon
        .container("a name", |it| it["name"].is_string())
        .await?;
    ensure!(!templating(&container), "{container}");

    let extra = AddOn::new(&site, STANDALONE, Cluster::One);
    extra.enable(json!({}), &[]).await?;
    addon.container("templates of the hub", templating).await?;
    let name = "governance-standalone-hub-templating-info";
    eventually(format!("the secret {name} is there"), SOON, || async {
        let secret = addon.plane.get("v1", "Secret", Some(AGENTS), name).await?;
        let secret = secret.context("absent")?;
        ensure!(
            secret.data["data"]["hub.group"].is_string(),
            "{:?}",
            secret.data
        );
        Ok(())
    })
    .await?;
    // The agent starts anew with the other credentials, and keeps the lease of both.
    addon.runs().await?;
    extra
        .reports("Available", "True", "ManagedClusterAddOnLeaseUpdated")
        .await?;
    extra.disable().await?;
    addon.disable().await
}
