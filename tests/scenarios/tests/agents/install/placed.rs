//! What both add-ons have in common: where their agents are, on which nodes, and how large.

use anyhow::{Context, Result, ensure};
use futures::future::try_join_all;
use reeve_testkit::ocm::spec_hash;
use reeve_testkit::{SOON, eventually};
use serde_json::{Value, json};

use crate::install::addon::AddOn;
use crate::install::site::{ADDON_API, CONFIG_POLICY, Cluster, Site, offer};

/// By the default of all clusters, the agents are in a namespace of their own.
pub(crate) async fn installed_elsewhere(
    site: &Site,
    name: &'static str,
    on: &[Cluster],
) -> Result<()> {
    // The default is that of all clusters, also of those that are not looked at.
    let _lock = site
        .locks
        .wait(&Cluster::ALL.map(|cluster| (name, cluster)))
        .await?;
    let namespace = "test-install-ns";
    let config = json!({ "apiVersion": ADDON_API, "kind": "AddOnDeploymentConfig",
        "metadata": { "name": format!("{name}-place"), "namespace": "default" },
        "spec": { "agentInstallNamespace": namespace } });
    let applied = site.hub.apply(&config.to_string()).await?;
    let hash = spec_hash(&applied.first().context("nothing applied")?.data)?;
    let supported = json!([{ "group": "addon.open-cluster-management.io", "resource": "addondeploymentconfigs",
        "defaultConfig": { "name": format!("{name}-place"), "namespace": "default" } }]);
    let patch = json!({ "spec": { "supportedConfigs": supported } });
    site.hub
        .patch(ADDON_API, "ClusterManagementAddOn", None, name, patch)
        .await?;
    let agents = try_join_all(on.iter().map(|cluster| async {
        let addon = AddOn::new(site, name, *cluster).inside(namespace);
        addon.enable(json!({}), &[]).await?;
        addon
            .container("a name", |container| container["name"].is_string())
            .await?;
        if name == CONFIG_POLICY {
            addon.runs().await?;
        }
        addon.disable().await
    }));
    let outcome = tokio::try_join!(reported_of_version(site, name, &hash), agents);
    let patch = json!({ "spec": { "supportedConfigs": null } });
    site.hub
        .patch(ADDON_API, "ClusterManagementAddOn", None, name, patch)
        .await?;
    site.hub.apply(&offer(name)).await?;
    outcome?;
    Ok(())
}

/// Waits until the definition of the add-on reports which version of its default is wanted.
async fn reported_of_version(site: &Site, name: &str, hash: &str) -> Result<()> {
    let kind = "ClusterManagementAddOn";
    eventually(
        format!("the default of {name} has its hash"),
        SOON,
        || async {
            let offer = site.hub.get(ADDON_API, kind, None, name).await?;
            let status = offer.context("absent")?.data["status"].clone();
            let desired = &status["defaultconfigReferences"][0]["desiredConfig"];
            ensure!(desired["specHash"] == hash, "{status}");
            Ok(())
        },
    )
    .await
}

/// The given nodes replace the defaults.
pub(crate) async fn placed_on_nodes(addon: &AddOn<'_>) -> Result<()> {
    let selector = json!({ "kubernetes.io/os": "linux" });
    let tolerations = json!([{ "key": "dedicated", "operator": "Equal", "value": "something-else",
        "effect": "NoSchedule" }]);
    let name = format!("{}-nodes", addon.name);
    let placement =
        json!({ "nodePlacement": { "nodeSelector": selector, "tolerations": tolerations } });
    addon.configure(&name, placement).await?;
    addon.enable(json!({}), &[&name]).await?;
    addon.runs().await?;
    let spec = addon.deployment().await?.data["spec"]["template"]["spec"].clone();
    ensure!(spec["nodeSelector"] == selector, "{}", spec["nodeSelector"]);
    ensure!(
        spec["tolerations"] == tolerations,
        "{}",
        spec["tolerations"]
    );
    addon.disable().await
}

/// The container's resources follow the configuration, whatever its states and their order.
pub(crate) async fn sized(
    addon: &AddOn<'_>,
    defaults: [&str; 2],
    by_name: [&str; 2],
) -> Result<()> {
    let name = format!("{}-size", addon.name);
    let sizes = |container: &str, [request, limit]: [&str; 2]| {
        json!({ "resourceRequirements": [{ "containerID": container,
            "resources": { "requests": { "memory": request }, "limits": { "memory": limit } } }] })
    };
    let own = format!("deployments:{}:*", addon.name);
    let states: [(Value, [&str; 2]); 4] = [
        (json!({}), defaults),
        (sizes(&own, by_name), by_name),
        (sizes("*:*:*", ["32Mi", "128Mi"]), ["32Mi", "128Mi"]),
        (sizes("*:*:*", ["512Mi", "1Gi"]), ["512Mi", "1Gi"]),
    ];
    addon.configure(&name, json!({})).await?;
    addon.enable(json!({}), &[&name]).await?;
    // The last one again before the first, so that each state follows each kind of state.
    for (spec, [request, limit]) in states.iter().chain(&states[..2]) {
        addon.configure(&name, spec.clone()).await?;
        let wanted = json!({ "requests": request, "limits": limit });
        addon
            .container(&wanted.to_string(), |container| {
                let resources = &container["resources"];
                resources["requests"]["memory"] == *request
                    && resources["limits"]["memory"] == *limit
            })
            .await?;
    }
    addon.runs().await?;
    addon.disable().await
}
