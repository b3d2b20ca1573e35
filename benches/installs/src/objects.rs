//! What the hub holds.

use anyhow::Result;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use kube::ResourceExt as _;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use reeve_testkit::Plane;
use serde_json::{Value, json};

const ADDONS: [&str; 2] = ["governance-policy-framework", "config-policy-controller"];
const TIME: &str = "2026-01-01T00:00:00Z";
/// Requests of this program under way at once.
const AT_ONCE: usize = 16;

fn resource(group: &str, version: &str, kind: &str) -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind))
}

fn addon_resource(kind: &str) -> ApiResource {
    resource("addon.open-cluster-management.io", "v1alpha1", kind)
}

/// The add-ons of all clusters.
pub(crate) fn addons(plane: &Plane) -> Api<DynamicObject> {
    Api::all_with(plane.client(), &addon_resource("ManagedClusterAddOn"))
}

fn addons_of(plane: &Plane, cluster: &str) -> Api<DynamicObject> {
    let resource = addon_resource("ManagedClusterAddOn");
    Api::namespaced_with(plane.client(), cluster, &resource)
}

fn cluster(number: usize) -> String {
    format!("cluster-{number}")
}

async fn create(api: &Api<DynamicObject>, object: Value) -> Result<DynamicObject> {
    let object: DynamicObject = serde_json::from_value(object)?;
    Ok(api.create(&PostParams::default(), &object).await?)
}

/// Clusters with both add-ons, of which OCM's addon-manager knows.
pub(crate) async fn fleet(plane: &Plane, clusters: usize) -> Result<()> {
    let definitions = Api::all_with(plane.client(), &addon_resource("ClusterManagementAddOn"));
    let mut uids = Vec::new();
    for addon in ADDONS {
        let definition = json!({
            "apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": "ClusterManagementAddOn",
            "metadata": { "name": addon }, "spec": {},
        });
        let definition = create(&definitions, definition).await?;
        uids.push(definition.uid().unwrap_or_default());
    }
    let uids = &uids;
    stream::iter(0..clusters)
        .map(|number| async move { join(plane, &cluster(number), uids).await })
        .buffer_unordered(AT_ONCE)
        .try_collect()
        .await
}

async fn join(plane: &Plane, name: &str, uids: &[String]) -> Result<()> {
    let namespaces = Api::all_with(plane.client(), &resource("", "v1", "Namespace"));
    let namespace =
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
    create(&namespaces, namespace).await?;
    let kind = resource("cluster.open-cluster-management.io", "v1", "ManagedCluster");
    let clusters: Api<DynamicObject> = Api::all_with(plane.client(), &kind);
    let cluster = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
        "metadata": { "name": name }, "spec": { "hubAcceptsClient": true },
    });
    create(&clusters, cluster).await?;
    let status = json!({ "status": { "version": { "kubernetes": "v1.36.1" } } });
    let parameters = PatchParams::default();
    clusters
        .patch_status(name, &parameters, &Patch::Merge(status))
        .await?;
    for (addon, uid) in ADDONS.iter().zip(uids) {
        let object = json!({
            "apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": "ManagedClusterAddOn",
            "metadata": { "namespace": name, "name": addon, "ownerReferences": [{
                "apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": "ClusterManagementAddOn",
                "name": addon, "uid": uid, "controller": true,
            }]},
            "spec": { "installNamespace": "open-cluster-management-agent-addon" },
        });
        create(&addons_of(plane, name), object).await?;
    }
    Ok(())
}

fn condition(kind: &str) -> Value {
    json!({ "type": kind, "status": "True", "reason": "Bench", "message": "", "lastTransitionTime": TIME })
}

/// What the work agents would say of all works.
pub(crate) async fn apply_works(plane: &Plane) -> Result<()> {
    let kind = resource("work.open-cluster-management.io", "v1", "ManifestWork");
    let works: Api<DynamicObject> = Api::all_with(plane.client(), &kind);
    let listed = works.list_metadata(&ListParams::default()).await?;
    let status =
        json!({ "status": { "conditions": [condition("Applied"), condition("Available")] } });
    let (kind, status) = (&kind, &status);
    stream::iter(listed.items)
        .map(|work| async move {
            let namespace = work.namespace().unwrap_or_default();
            let api: Api<DynamicObject> = Api::namespaced_with(plane.client(), &namespace, kind);
            let parameters = PatchParams::default();
            api.patch_status(&work.name_any(), &parameters, &Patch::Merge(status))
                .await?;
            anyhow::Ok(())
        })
        .buffer_unordered(AT_ONCE)
        .try_collect()
        .await
}

/// What the registration agents would say of all add-ons.
pub(crate) async fn publish_available(plane: &Plane, clusters: usize) -> Result<()> {
    stream::iter(0..clusters)
        .map(|number| async move {
            let api = addons_of(plane, &cluster(number));
            for addon in ADDONS {
                let mut conditions = api.get(addon).await?.data["status"]["conditions"].clone();
                if let Some(conditions) = conditions.as_array_mut() {
                    conditions.push(condition("Available"));
                }
                let status = json!({ "status": { "conditions": conditions } });
                api.patch_status(addon, &PatchParams::default(), &Patch::Merge(status))
                    .await?;
            }
            anyhow::Ok(())
        })
        .buffer_unordered(AT_ONCE)
        .try_collect()
        .await
}
