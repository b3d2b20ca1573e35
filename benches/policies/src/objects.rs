//! What the controller is given to do.

use anyhow::Result;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use kube::api::{Api, DynamicObject, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use reeve_testkit::Plane;
use serde_json::{Value, json};

/// Where the policies are.
pub(crate) const POLICIES: &str = "managed";
/// Where the objects are that they speak about.
pub(crate) const WORK: &str = "work";
/// Requests of this program under way at once.
const AT_ONCE: usize = 16;

pub(crate) fn policies(plane: &Plane) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk(
        "policy.open-cluster-management.io",
        "v1",
        "ConfigurationPolicy",
    );
    let resource = ApiResource::from_gvk_with_plural(&kind, "configurationpolicies");
    Api::namespaced_with(plane.client(), POLICIES, &resource)
}

pub(crate) fn config_maps(plane: &Plane) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("", "v1", "ConfigMap");
    let resource = ApiResource::from_gvk_with_plural(&kind, "configmaps");
    Api::namespaced_with(plane.client(), WORK, &resource)
}

pub(crate) async fn namespaces(plane: &Plane) -> Result<()> {
    let one = |name| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    let text = format!("{}\n---\n{}", one(POLICIES), one(WORK));
    plane.objects().apply(&text).await?;
    Ok(())
}

/// Objects that the policies will find as they want them.
pub(crate) async fn existing(plane: &Plane, count: usize) -> Result<()> {
    create(
        &config_maps(plane),
        (0..count).map(|number| config_map(&format!("look-{number}"))),
    )
    .await
}

/// Policies that look at the existing objects by name.
pub(crate) async fn inform_policy(plane: &Plane, count: usize, objects: usize) -> Result<()> {
    let policy = |number: usize| {
        let names = (0..objects).map(|object| format!("look-{}", number * objects + object));
        policy(&format!("look-{number}"), "inform", names)
    };
    create(&policies(plane), (0..count).map(policy)).await
}

/// Policies that create one object each.
pub(crate) async fn enforce_policy(plane: &Plane, count: usize) -> Result<()> {
    let policy = |number: usize| {
        let name = format!("enforce-{number}");
        policy(&name, "enforce", std::iter::once(name.clone()))
    };
    create(&policies(plane), (0..count).map(policy)).await
}

fn config_map(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": WORK}, "data": {"key": "value"},
    })
}

fn policy(name: &str, action: &str, objects: impl Iterator<Item = String>) -> Value {
    let template =
        |name: String| json!({"complianceType": "musthave", "objectDefinition": config_map(&name)});
    json!({
        "apiVersion": "policy.open-cluster-management.io/v1", "kind": "ConfigurationPolicy",
        "metadata": {"name": name, "namespace": POLICIES},
        "spec": {
            "remediationAction": action,
            "object-templates": objects.map(template).collect::<Vec<_>>(),
        },
    })
}

async fn create(api: &Api<DynamicObject>, objects: impl Iterator<Item = Value>) -> Result<()> {
    stream::iter(objects)
        .map(|object| async move {
            let object: DynamicObject = serde_json::from_value(object)?;
            api.create(&PostParams::default(), &object).await?;
            anyhow::Ok(())
        })
        .buffer_unordered(AT_ONCE)
        .try_collect()
        .await
}
