//! The framework add-on on a hub that manages itself.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use reeve_testkit::{Object, SOON, eventually};
use serde_json::{Value, json};

use crate::install::addon::{ADDON, AddOn, WORK, args_of, has_namespace};
use crate::install::site::{CLUSTER, Cluster, FRAMEWORK, ON_HUB, Site, image};
use reeve_scenarios::steadily;

const SYNC: &str = "policy.open-cluster-management.io/sync-policies-on-multicluster-hub";
const VALUES: &str = "addon.open-cluster-management.io/values";
const PAUSE: &str = "policy-addon-pause";
const ARG: &str = "--on-multicluster-hub=true";
/// As long as upstream's specification waits.
const HALF_A_MINUTE: Duration = Duration::from_secs(30);

async fn annotate_cluster(site: &Site, annotations: Value) -> Result<()> {
    let patch = json!({ "metadata": { "annotations": annotations } });
    let name = Cluster::One.name();
    site.hub
        .patch(CLUSTER.0, CLUSTER.1, None, name, patch)
        .await?;
    Ok(())
}
pub(crate) async fn by_values(site: Arc<Site>) -> Result<()> {
    let values = json!({
        "onMulticlusterHub": true,
        "global": { "imageOverrides": { "governance_policy_framework_addon": "ineffective" } },
    });
    by_annotation(&site, json!({ VALUES: values.to_string() })).await
}
pub(crate) async fn by_addon(site: Arc<Site>) -> Result<()> {
    by_annotation(&site, json!({ ON_HUB: "true" })).await
}

/// The cluster does not say that it is the hub, but the add-on does.
async fn by_annotation(site: &Site, annotations: Value) -> Result<()> {
    let _lock = site.locks.wait(&[(FRAMEWORK, Cluster::One)]).await?;
    annotate_cluster(site, json!({ ON_HUB: null })).await?;
    let addon = AddOn::new(site, FRAMEWORK, Cluster::One);
    let outcome = is_on_hub(&addon, annotations).await;
    annotate_cluster(site, json!({ ON_HUB: "true" })).await?;
    outcome
}

async fn is_on_hub(addon: &AddOn<'_>, annotations: Value) -> Result<()> {
    addon.enable(annotations, &[]).await?;
    addon.runs().await?;
    addon.args(&[ARG]).await?;
    addon.annotate(json!({ "log-level": "8" })).await?;
    addon.args(&[ARG, "--log-level=8"]).await?;
    addon.runs().await?;
    // The values have no effect on it.
    let image = image("governance-policy-framework-addon");
    addon
        .container(&image, |container| container["image"] == *image)
        .await?;
    addon.disable().await?;
    let (hub, name) = (&addon.site.hub, addon.cluster.name());
    steadily("the hub's own namespace stays", || has_namespace(hub, name)).await
}
pub(crate) async fn by_cluster(site: Arc<Site>) -> Result<()> {
    let _lock = site.locks.wait(&[(FRAMEWORK, Cluster::One)]).await?;
    let addon = AddOn::new(&site, FRAMEWORK, Cluster::One);
    let outcome = syncs(&addon).await;
    annotate_cluster(&site, json!({ SYNC: null })).await?;
    outcome
}

async fn syncs(addon: &AddOn<'_>) -> Result<()> {
    let (site, name) = (addon.site, addon.cluster.name());
    addon.enable(json!({}), &[]).await?;
    addon.runs().await?;
    addon.args(&[ARG]).await?;
    ensure!(
        !lists_namespace(addon).await?,
        "the hub's own namespace is managed"
    );
    stops_to_sync(addon, Agent::Late).await?;
    stops_to_sync(addon, Agent::Prompt).await?;
    addon.disable().await?;
    steadily("the hub's own namespace stays", || {
        has_namespace(&site.hub, name)
    })
    .await
}

/// When the work agent applies the work that a user has changed.
#[derive(Clone, Copy, PartialEq)]
enum Agent {
    /// Before the controller changes it back, and not again until that is over.
    Late,
    /// Whenever it is changed: it may be before or after the controller.
    Prompt,
}

/// Has policies synced, and no longer, with the work set to orphan everything in between.
async fn stops_to_sync(addon: &AddOn<'_>, agent: Agent) -> Result<()> {
    let (site, name) = (addon.site, addon.cluster.name());
    annotate_cluster(site, json!({ SYNC: "true" })).await?;
    addon
        .annotate(json!({ "touched": (agent == Agent::Late).to_string() }))
        .await?;
    addon
        .container("no argument", |container| {
            !args_of(container).contains(&ARG)
        })
        .await?;
    ensure!(
        lists_namespace(addon).await?,
        "the hub's own namespace is not managed"
    );

    // Or else the namespace would go with its line in the work.
    addon.annotate(json!({ PAUSE: "true" })).await?;
    addon
        .reports("ManifestApplied", "False", "ManifestWorkApplyFailed")
        .await?;
    let orphan = json!({ "spec": { "deleteOption": { "propagationPolicy": "Orphan" } } });
    let work = format!("addon-{FRAMEWORK}-deploy-0");
    site.hub
        .patch(WORK.0, WORK.1, Some(name), &work, orphan)
        .await?;
    let klusterlet = site.klusterlet(addon.cluster)?;
    if agent == Agent::Late {
        addon.deploy_work().await?;
        // Nothing is applied that the controller reports before it knows of both changes.
        klusterlet.pause()?;
    }
    let outcome = goes_without_namespace(addon, &work).await;
    klusterlet.resume()?;
    outcome?;
    addon.args(&[ARG]).await
}

/// The cluster no longer syncs policies, and the add-on goes on.
async fn goes_without_namespace(addon: &AddOn<'_>, work: &str) -> Result<()> {
    let (site, name) = (addon.site, addon.cluster.name());
    annotate_cluster(site, json!({ SYNC: null })).await?;
    addon.annotate(json!({ PAUSE: null })).await?;
    let what = "the work does without the namespace";
    eventually(what, HALF_A_MINUTE, || async {
        let found = site.hub.get(WORK.0, WORK.1, Some(name), work).await?;
        ensure!(
            !has_namespace_of(&found.context("no work")?, name),
            "it is still there"
        );
        Ok(())
    })
    .await
}

/// Whether the work has the namespace that all of the cluster's add-ons are in.
async fn lists_namespace(addon: &AddOn<'_>) -> Result<bool> {
    Ok(has_namespace_of(
        &addon.deploy_work().await?,
        addon.cluster.name(),
    ))
}

fn has_namespace_of(work: &Object, cluster: &str) -> bool {
    let manifests = work.data["spec"]["workload"]["manifests"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    manifests
        .iter()
        .any(|it| it["kind"] == "Namespace" && it["metadata"]["name"] == cluster)
}

/// Not with the controller in the way of a hand that changes a work: cases 12 and 13.
pub(crate) mod works {
    use kube::Api;
    use kube::api::{Patch, PatchParams};

    use super::{
        ADDON, AddOn, Arc, Cluster, FRAMEWORK, Object, PAUSE, Result, SOON, Site, WORK, ensure,
        eventually, json, steadily,
    };
    pub(crate) async fn reverted(site: Arc<Site>) -> Result<()> {
        let _lock = site.locks.wait(&[(FRAMEWORK, Cluster::Two)]).await?;
        let addon = AddOn::new(&site, FRAMEWORK, Cluster::Two);
        addon.enable(json!({}), &[]).await?;
        let length = settled_length(&addon).await?;
        append(&addon, length).await?;
        eventually("the work is as it was", SOON, || has(&addon, length)).await?;
        addon.disable().await
    }
    pub(crate) async fn paused(site: Arc<Site>) -> Result<()> {
        let _lock = site.locks.wait(&[(FRAMEWORK, Cluster::Three)]).await?;
        let addon = AddOn::new(&site, FRAMEWORK, Cluster::Three);
        addon.enable(json!({}), &[]).await?;
        let length = settled_length(&addon).await?;
        addon.annotate(json!({ PAUSE: "true" })).await?;
        addon
            .reports("ManifestApplied", "False", "ManifestWorkApplyFailed")
            .await?;
        paused_message(&addon).await?;
        append(&addon, length).await?;
        steadily("the work stays changed", || has(&addon, length + 1)).await?;
        addon.annotate(json!({ PAUSE: null })).await?;
        eventually("the work is as it was", SOON, || has(&addon, length)).await?;
        addon.disable().await
    }

    async fn paused_message(addon: &AddOn<'_>) -> Result<()> {
        let namespace = Some(addon.cluster.name());
        let object = addon
            .site
            .hub
            .get(ADDON.0, ADDON.1, namespace, addon.name)
            .await?;
        let conditions = object.map(|object| object.data["status"]["conditions"].to_string());
        let message = "failed to get manifest from agent interface: the Policy Addon controller is paused due to the \
                       policy-addon-pause annotation";
        ensure!(
            conditions.as_ref().is_some_and(|it| it.contains(message)),
            "{conditions:?}"
        );
        Ok(())
    }

    /// The number of manifests, once the agent runs and the work no longer changes by itself.
    async fn settled_length(addon: &AddOn<'_>) -> Result<usize> {
        addon.runs().await?;
        Ok(length_of(&addon.deploy_work().await?))
    }

    fn length_of(work: &Object) -> usize {
        let manifests = work.data["spec"]["workload"]["manifests"].as_array();
        manifests.map_or(0, Vec::len)
    }

    async fn has(addon: &AddOn<'_>, length: usize) -> Result<()> {
        let name = format!("addon-{}-deploy-0", addon.name);
        let work = addon
            .site
            .hub
            .get(WORK.0, WORK.1, Some(addon.cluster.name()), &name)
            .await?;
        let found = work.as_ref().map(length_of);
        ensure!(
            found == Some(length),
            "{found:?} manifests instead of {length}"
        );
        Ok(())
    }

    async fn append(addon: &AddOn<'_>, length: usize) -> Result<()> {
        let (kind, _) = addon.site.hub.kind(WORK.0, WORK.1).await?;
        let api: Api<Object> =
            Api::namespaced_with(addon.site.hub.client(), addon.cluster.name(), &kind);
        let map = json!({ "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "name": "by-hand", "namespace": "default" } });
        let patch = json!([{ "op": "add", "path": "/spec/workload/manifests/-", "value": map }]);
        let patch: Patch<()> = Patch::Json(serde_json::from_value(patch)?);
        let name = format!("addon-{}-deploy-0", addon.name);
        let work = api.patch(&name, &PatchParams::default(), &patch).await?;
        ensure!(length_of(&work) == length + 1, "the change was not taken");
        Ok(())
    }
}
