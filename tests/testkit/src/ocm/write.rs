//! Writes that do not overwrite what somebody else has written meanwhile.

use anyhow::{Context, Result};
use kube::ResourceExt as _;
use kube::api::{DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};

use super::names::Kind;
use crate::Objects;

/// Merge-patches the status of `seen`, unless that changes nothing. Refused by the server when the
/// object has changed since it was seen: lists are written whole, and other controllers write them
/// too.
pub(super) async fn status(
    objects: &Objects,
    kind: Kind,
    seen: &DynamicObject,
    patch: &Value,
) -> Result<()> {
    if covers(&seen.data["status"], patch) {
        return Ok(());
    }
    let body = json!({ "metadata": guard(seen), "status": patch });
    let namespace = seen.metadata.namespace.as_deref();
    objects
        .patch_status(
            kind.api_version,
            kind.kind,
            namespace,
            &seen.name_any(),
            body,
        )
        .await?;
    Ok(())
}

/// Merge-patches metadata of `seen`, with the same guard.
pub(super) async fn metadata(
    objects: &Objects,
    kind: Kind,
    seen: &DynamicObject,
    patch: Value,
) -> Result<DynamicObject> {
    let mut metadata = guard(seen);
    if let (Some(metadata), Value::Object(patch)) = (metadata.as_object_mut(), patch) {
        metadata.extend(patch);
    }
    let namespace = seen.metadata.namespace.as_deref();
    let (api, _) = objects.api(kind.api_version, kind.kind, namespace).await?;
    let patch = Patch::Merge(json!({ "metadata": metadata }));
    let name = seen.name_any();
    let answer = api.patch(&name, &PatchParams::default(), &patch).await;
    answer.with_context(|| format!("patching the metadata of {} {name}", kind.kind))
}

fn guard(seen: &DynamicObject) -> Value {
    json!({ "uid": seen.metadata.uid, "resourceVersion": seen.metadata.resource_version })
}

/// Whether a merge of `patch` into `live` would leave it as it is.
fn covers(live: &Value, patch: &Value) -> bool {
    match (live, patch) {
        (_, Value::Object(patch)) => patch.iter().all(|(key, value)| covers(&live[key], value)),
        (live, patch) => live == patch,
    }
}
