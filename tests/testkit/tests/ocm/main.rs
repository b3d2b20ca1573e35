//! Proves the stand-ins for Open Cluster Management on real control planes.

mod absence;
mod configurations;
mod credentials;
mod schemas;
mod works;

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use reeve_testkit::ocm::{AddonManager, ClusterPlanes, Klusterlet, KlusterletOptions};
use reeve_testkit::{Object, Objects, Plane, PlaneOptions, SOON, eventually, install_addon_crds};
use serde_json::{Value, json};

pub(crate) const ADDON_API: &str = "addon.open-cluster-management.io/v1alpha1";
pub(crate) const WORK_API: &str = "work.open-cluster-management.io/v1";

/// A hub with two managed clusters, one of which may be taken away.
pub(crate) struct Site {
    pub(crate) hub: Plane,
    pub(crate) managed: Plane,
}

#[tokio::test(flavor = "multi_thread")]
async fn stand_ins_behave_like_open_cluster_management() -> Result<()> {
    let plane = |name| {
        Plane::start(PlaneOptions {
            name,
            ..PlaneOptions::default()
        })
    };
    let (hub, managed) = futures::try_join!(plane("hub"), plane("managed"))?;
    for plane in [&hub, &managed] {
        plane.install_crds().await?;
        install_addon_crds(plane).await?;
    }
    let site = Site { hub, managed };
    let addons = AddonManager::start(&site.hub).await?;
    let planes = ClusterPlanes {
        hub: &site.hub,
        managed: &site.managed,
        agent: &site.managed,
    };
    site.managed
        .apply(
            "{apiVersion: cluster.open-cluster-management.io/v1alpha1, kind: ClusterClaim,
              metadata: {name: id.k8s.io}, spec: {value: the-id}}",
        )
        .await?;
    let klusterlet = Klusterlet::join(planes, KlusterletOptions::named("east")).await?;
    let unowned = KlusterletOptions {
        cluster_grace: Duration::from_secs(3),
        ..KlusterletOptions::named("west")
    };
    let unowned = Klusterlet::join(planes, unowned).await?;
    let outcome = futures::try_join!(
        works::all(&site),
        credentials::all(&site),
        configurations::all(&site),
        absence::all(&site, &unowned),
        schemas::all(&site),
    );
    let logs = format!(
        "the add-on manager: {}\neast: {}\nwest: {}",
        addons.log(),
        klusterlet.log(),
        unowned.log()
    );
    outcome.context(logs)?;
    Ok(())
}

/// Waits until `check` is content with an object.
pub(crate) async fn until(
    objects: &Objects,
    (api_version, kind): (&str, &str),
    namespace: &str,
    name: &str,
    check: impl Fn(&Object) -> bool,
) -> Result<Object> {
    let what = format!("{kind} {namespace}/{name} is as wanted");
    eventually(what, SOON, || async {
        let namespace = Some(namespace).filter(|it| !it.is_empty());
        let object = objects.get(api_version, kind, namespace, name).await?;
        let object = object.context("absent")?;
        ensure!(check(&object), "{}", reeve_testkit::render(&object)?);
        Ok(object)
    })
    .await
}

pub(crate) fn condition<'a>(object: &'a Object, kind: &str) -> &'a Value {
    let conditions = object.data["status"]["conditions"].as_array();
    conditions
        .into_iter()
        .flatten()
        .find(|condition| condition["type"] == kind)
        .unwrap_or(&Value::Null)
}

/// Makes an add-on and its offer.
pub(crate) async fn offer_and_addon(site: &Site, cluster: &str, name: &str) -> Result<Object> {
    let offer = json!({
        "apiVersion": ADDON_API,
        "kind": "ClusterManagementAddOn",
        "metadata": { "name": name },
        "spec": {},
    });
    let addon = json!({
        "apiVersion": ADDON_API,
        "kind": "ManagedClusterAddOn",
        "metadata": { "name": name, "namespace": cluster },
        "spec": { "installNamespace": "agents" },
    });
    site.hub.apply(&offer.to_string()).await?;
    let addons = site.hub.apply(&addon.to_string()).await?;
    addons.into_iter().next().context("nothing applied")
}
