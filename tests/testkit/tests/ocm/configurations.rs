//! The add-on manager: owners, configurations, progress.

use anyhow::{Result, ensure};
use reeve_testkit::Object;
use reeve_testkit::ocm::spec_hash;
use serde_json::{Value, json};

use crate::{ADDON_API, Site, WORK_API, condition, offer_and_addon, until};

const ADDON: (&str, &str) = (ADDON_API, "ManagedClusterAddOn");
const EAST: &str = "east";
const NAME: &str = "teapot";

pub(crate) async fn all(site: &Site) -> Result<()> {
    offer_and_addon(site, EAST, NAME).await?;
    let offer = site
        .hub
        .get(ADDON_API, "ClusterManagementAddOn", None, NAME)
        .await?;
    let uid = offer.and_then(|offer| offer.metadata.uid);
    until(&site.hub, ADDON, EAST, NAME, |addon| {
        let owners = addon.metadata.owner_references.as_deref();
        owners.is_some_and(|owners| {
            owners.len() == 1
                && owners[0].api_version == ADDON_API
                && owners[0].kind == "ClusterManagementAddOn"
                && owners[0].name == NAME
                && Some(&owners[0].uid) == uid.as_ref()
        }) && condition(addon, "Configured")["status"] == "True"
    })
    .await?;

    // The default, by the server's own view of it: it fills in a namespace.
    default_config(site, "plain").await?;
    until(&site.hub, ADDON, EAST, NAME, |addon| {
        condition(addon, "Configured")["reason"] == "ConfigurationsNotConfigured"
            && addon.data["status"]["configReferences"][0]["desiredConfig"]["specHash"] == ""
    })
    .await?;
    let plain = config(site, "plain", json!({})).await?;
    ensure!(plain.data["spec"]["agentInstallNamespace"].is_string());
    configured(site, "plain", &plain.data).await?;
    let changed = config(site, "plain", json!({ "agentInstallNamespace": "a" })).await?;
    configured(site, "plain", &changed.data).await?;

    // Its own wins.
    let variables = json!([{ "name": "a", "value": "<b>" }]);
    let own = config(site, "own", json!({ "customizedVariables": variables })).await?;
    let configs = json!([{ "group": "addon.open-cluster-management.io",
        "resource": "addondeploymentconfigs", "namespace": EAST, "name": "own" }]);
    let patch = json!({ "spec": { "configs": configs } });
    site.hub
        .patch(ADDON.0, ADDON.1, Some(EAST), NAME, patch)
        .await?;
    let addon = configured(site, "own", &own.data).await?;
    ensure!(condition(&addon, "Progressing")["reason"] == "WaitingForManifestApplied");
    applied(site, &spec_hash(&own.data)?).await
}

async fn default_config(site: &Site, name: &str) -> Result<()> {
    let configs = json!([{ "group": "addon.open-cluster-management.io",
        "resource": "addondeploymentconfigs",
        "defaultConfig": { "namespace": EAST, "name": name } }]);
    let patch = json!({ "spec": { "supportedConfigs": configs } });
    site.hub
        .patch(ADDON_API, "ClusterManagementAddOn", None, NAME, patch)
        .await?;
    Ok(())
}

async fn config(site: &Site, name: &str, spec: Value) -> Result<Object> {
    let object = json!({ "apiVersion": ADDON_API, "kind": "AddOnDeploymentConfig",
        "metadata": { "name": name, "namespace": EAST }, "spec": spec });
    let mut applied = site.hub.apply(&object.to_string()).await?;
    Ok(applied.remove(0))
}

/// Waits until the add-on has this configuration in this state, and no other.
async fn configured(site: &Site, name: &str, data: &Value) -> Result<Object> {
    let hash = spec_hash(data)?;
    until(&site.hub, ADDON, EAST, NAME, |addon| {
        let references = addon.data["status"]["configReferences"].as_array();
        references.is_some_and(|all| {
            all.len() == 1
                && all[0]["name"] == name
                && all[0]["desiredConfig"]
                    == json!({ "name": name, "namespace": EAST, "specHash": hash })
                && all[0]["lastObservedGeneration"].is_i64()
        })
    })
    .await
}

/// Progress ends when works of this state are applied.
async fn applied(site: &Site, hash: &str) -> Result<()> {
    let key = format!("addondeploymentconfigs.addon.open-cluster-management.io/{EAST}/own");
    let work = |hash: &str| {
        json!({ "apiVersion": WORK_API, "kind": "ManifestWork",
            "metadata": { "name": format!("addon-{NAME}-deploy-0"), "namespace": EAST,
                "labels": { "open-cluster-management.io/addon-name": NAME },
                "annotations": { "open-cluster-management.io/config-spec-hash":
                    json!({ key.clone(): hash }).to_string() } },
            "spec": { "workload": { "manifests": [] } } })
        .to_string()
    };
    site.hub.apply(&work("old")).await?;
    let kind = (WORK_API, "ManifestWork");
    let name = format!("addon-{NAME}-deploy-0");
    until(&site.hub, kind, EAST, &name, |work| {
        condition(work, "Applied")["status"] == "True"
    })
    .await?;
    let waiting = until(&site.hub, ADDON, EAST, NAME, |_| true).await?;
    let reason = &condition(&waiting, "Progressing")["reason"];
    ensure!(*reason == "WaitingForManifestApplied", "{reason}");
    site.hub.apply(&work(hash)).await?;
    until(&site.hub, ADDON, EAST, NAME, |addon| {
        let last = &addon.data["status"]["configReferences"][0]["lastAppliedConfig"];
        let progressing = condition(addon, "Progressing");
        progressing["status"] == "False"
            && progressing["reason"] == "Completed"
            && last["specHash"] == hash
    })
    .await?;
    Ok(())
}
