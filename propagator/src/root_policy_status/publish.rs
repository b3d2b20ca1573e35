//! Writes the status of a root policy.

use json_patch::jsonptr::PointerBuf;
use json_patch::{AddOperation, PatchOperation, RemoveOperation};
use kube::Client;
use kube::api::Patch;
use reeve_api::Policy;
use reeve_api::names::RootPolicyName;
use reeve_api::policy::PolicyStatus;
use reeve_runtime::object::StatusReason;
use reeve_runtime::writes;
use serde_json::{Value, json};

use crate::root::{CachedRoot, StatusDigest};

/// Writes the status. No other writer owns its four fields, so the resource version is not tested; other fields stay.
pub(super) async fn write_status(
    client: &Client,
    root: &RootPolicyName,
    current: &CachedRoot,
    desired: &PolicyStatus,
) -> Result<(), kube::Error> {
    let location_key = (root.namespace.as_str(), root.name.as_str());
    if let Some(patch) = json_patch(current, desired) {
        let patch = Patch::<()>::Json(patch);
        match writes::patch_status::<Policy>(client, location_key, &patch).await {
            // The live status is not the cached one, or the status is refused: then the merge patch is, too.
            Err(error) if StatusReason::of(&error) == StatusReason::Invalid => {}
            written => return written,
        }
    }
    let patch = Patch::Merge(merge_patch(desired));
    writes::patch_status::<Policy>(client, location_key, &patch).await
}

/// A patch that applies to whatever the live status is.
pub(super) fn merge_patch(desired: &PolicyStatus) -> Value {
    json!({ "status": {
        "compliant": desired.compliant,
        "conditions": desired.conditions,
        "placement": desired.placement,
        "status": desired.status,
    } })
}

/// A patch that applies if the live status has the fields of the cached one. For 300 clusters it costs the API server two thirds
/// of a merge patch, which it merges field by field (`cargo xtask bench hub --status-writes 40`). `None` if the live policy may
/// have no status, or if a list has to go.
pub(super) fn json_patch(
    current: &CachedRoot,
    desired: &PolicyStatus,
) -> Option<json_patch::Patch> {
    if current.status == StatusDigest::default() {
        return None;
    }
    let add = |field, value: Value| {
        PatchOperation::Add(AddOperation {
            path: path(field),
            value,
        })
    };
    let remove = |field| PatchOperation::Remove(RemoveOperation { path: path(field) });
    let mut operations = vec![
        add("placement", json!(desired.placement.as_ref()?)),
        add("status", json!(desired.status.as_ref()?)),
    ];
    let cached = current.policy.status.as_ref();
    let had_conditions = cached.is_some_and(|status| status.conditions.is_some());
    match &desired.conditions {
        Some(conditions) => operations.push(add("conditions", json!(conditions))),
        None if had_conditions => operations.push(remove("conditions")),
        None => {}
    }
    let had_compliance = cached.is_some_and(|status| status.compliant.is_some());
    match &desired.compliant {
        Some(compliance) => operations.push(add("compliant", json!(compliance))),
        None if had_compliance => operations.push(remove("compliant")),
        None => {}
    }
    Some(json_patch::Patch(operations))
}

fn path(field: &str) -> PointerBuf {
    PointerBuf::from_tokens(["status", field])
}
