//! Add-ons whose agents run on another cluster than the one they are for.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, ensure};
use reeve_testkit::{SOON, eventually};
use serde_json::{Value, json};

use crate::install::addon::{
    AddOn, CRD, HOSTED_ON, POLICIES_CRD, args_of, has_namespace, policies_crd, variables,
};
use crate::install::cluster_locks::Place;
use crate::install::site::{CLUSTER, CONFIG_POLICY, Cluster, FRAMEWORK, ON_HUB, Site};
use reeve_scenarios::{same, steadily};

const ORPHAN: &str = "addon.open-cluster-management.io/deletion-orphan";
const TWO_MINUTES: Duration = Duration::from_mins(2);

/// Hosted add-ons for the third cluster, one scenario at a time: they change the cluster itself.
const BOTH: [Place; 2] = [(FRAMEWORK, Cluster::Three), (CONFIG_POLICY, Cluster::Three)];

fn hosted() -> Value {
    json!({ HOSTED_ON: Cluster::One.name(), ON_HUB: "true" })
}

async fn label_vendor(site: &Site, vendor: Value) -> Result<()> {
    let patch = json!({ "metadata": { "labels": { "vendor": vendor } } });
    let name = Cluster::Three.name();
    site.hub
        .patch(CLUSTER.0, CLUSTER.1, None, name, patch)
        .await?;
    Ok(())
}
pub(crate) async fn framework(site: Arc<Site>) -> Result<()> {
    let _lock = site.locks.wait(&BOTH).await?;
    label_vendor(&site, "OpenShift".into()).await?;
    let outcome = framework_of_openshift(&site).await;
    label_vendor(&site, Value::Null).await?;
    outcome
}

async fn framework_of_openshift(site: &Site) -> Result<()> {
    let addon = AddOn::new(site, FRAMEWORK, Cluster::Three).hosted();
    // It may be there from when the add-on was not hosted.
    let policies = "open-cluster-management-policies";
    let namespace =
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": policies } });
    site.three.delete(&namespace.to_string()).await?;
    site.three
        .gone("v1", "Namespace", None, policies, TWO_MINUTES)
        .await?;
    addon.enable(hosted(), &[]).await?;
    addon.runs().await?;
    addon
        .args(&[
            "--cluster-namespace=klusterlet-cluster3",
            "--cluster-namespace-on-hub=cluster3",
            "--disable-gatekeeper-sync=true",
        ])
        .await?;
    let there = site.three.get("v1", "Namespace", None, policies).await?;
    ensure!(there.is_none(), "{there:?}");
    is_marked(site).await?;
    addon.disable().await?;
    let crd = policies_crd(&site.hub).await?;
    ensure!(
        crd.metadata.deletion_timestamp.is_none(),
        "the hub's CRD is going"
    );
    Ok(())
}

async fn is_marked(site: &Site) -> Result<()> {
    eventually("the hub's own CRD is marked to stay", SOON, || async {
        let annotations = policies_crd(&site.hub).await?.metadata.annotations;
        let annotations = annotations.unwrap_or_default();
        ensure!(annotations.contains_key(ORPHAN), "{annotations:?}");
        Ok(())
    })
    .await
}

/// Whatever has become of the mark since a work agent has applied it for another installation.
pub(crate) async fn marked_again(site: Arc<Site>) -> Result<()> {
    let _lock = site.locks.wait(&BOTH).await?;
    let addon = AddOn::new(&site, FRAMEWORK, Cluster::Three).hosted();
    let before = policies_crd(&site.hub).await?.data["spec"].clone();
    for _ in 0..2 {
        let patch = json!({ "metadata": { "annotations": { ORPHAN: null } } });
        site.hub
            .patch(CRD.0, CRD.1, None, POLICIES_CRD, patch)
            .await?;
        addon.enable(hosted(), &[]).await?;
        addon.runs().await?;
        is_marked(&site).await?;
        addon.disable().await?;
    }
    same(
        "its spec",
        &policies_crd(&site.hub).await?.data["spec"],
        &before,
    )
}
pub(crate) async fn framework_configured(site: Arc<Site>) -> Result<()> {
    let _lock = site.locks.wait(&BOTH).await?;
    let addon = AddOn::new(&site, FRAMEWORK, Cluster::Three).hosted();
    let variables = variables(&[("managedKubeConfigSecret", "external-managed-kubeconfig")]);
    addon.configure("hosted-framework", variables).await?;
    addon.enable(hosted(), &["hosted-framework"]).await?;
    addon.runs().await?;
    addon.disable().await?;
    steadily("the hosting namespace stays", || {
        has_namespace(&site.hub, &addon.namespace)
    })
    .await
}
pub(crate) async fn config_policy(site: Arc<Site>) -> Result<()> {
    let _lock = site.locks.wait(&BOTH).await?;
    label_vendor(&site, "OpenShift".into()).await?;
    let addon = AddOn::new(&site, CONFIG_POLICY, Cluster::Three).hosted();
    let outcome = with_secret(&addon, "config-policy-controller-managed-kubeconfig", &[]).await;
    label_vendor(&site, Value::Null).await?;
    outcome
}
pub(crate) async fn config_policy_configured(site: Arc<Site>) -> Result<()> {
    let _lock = site.locks.wait(&BOTH).await?;
    let addon = AddOn::new(&site, CONFIG_POLICY, Cluster::Three).hosted();
    let secret = "external-managed-kubeconfig";
    addon
        .configure(
            "hosted-config-policy",
            variables(&[("managedKubeConfigSecret", secret)]),
        )
        .await?;
    with_secret(&addon, secret, &["hosted-config-policy"]).await?;
    steadily("the hosting namespace stays", || {
        has_namespace(&site.hub, &addon.namespace)
    })
    .await
}

/// A user gives the agent access to the managed cluster by a secret beside it.
async fn with_secret(addon: &AddOn<'_>, name: &str, configs: &[&str]) -> Result<()> {
    let kubeconfig = std::fs::read_to_string(addon.site.three.kubeconfig())?;
    let secret = json!({ "apiVersion": "v1", "kind": "Secret",
        "metadata": { "name": name, "namespace": addon.namespace },
        "stringData": { "kubeconfig": kubeconfig } })
    .to_string();
    addon.site.hub.apply(&secret).await?;
    addon.enable(hosted(), configs).await?;
    addon.runs().await?;
    let container = addon
        .container("a name", |container| container["name"].is_string())
        .await?;
    let path = "--target-kubeconfig-path=/var/run/managed-kubeconfig/kubeconfig";
    ensure!(args_of(&container).contains(&path), "{container}");
    addon.disable().await?;
    addon.site.hub.delete(&secret).await?;
    let namespace = Some(addon.namespace.as_str());
    addon
        .site
        .hub
        .gone("v1", "Secret", namespace, name, TWO_MINUTES)
        .await
}
