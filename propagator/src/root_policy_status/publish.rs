//! Writes the status of a root policy.

use kube::Client;
use kube::api::Patch;
use reeve_api::Policy;
use reeve_api::names::RootPolicyName;
use reeve_api::policy::{CompliancePerCluster, PolicyCondition, PolicyPlacement, PolicyStatus};
use reeve_runtime::object::StatusReason;
use reeve_runtime::writes;
use serde::Serialize;
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
        match writes::json_patch_status::<Policy>(client, location_key, &patch).await {
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

/// An operation of a JSON patch of a status.
#[derive(Debug, Serialize)]
#[serde(tag = "op", rename_all = "lowercase")]
pub(super) enum Operation<'a> {
    /// Sets a field.
    Add {
        path: &'static str,
        value: Field<'a>,
    },
    /// Removes a field, which has to be there.
    Remove { path: &'static str },
}

/// The value of a field.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Field<'a> {
    Placement(&'a [PolicyPlacement]),
    Clusters(&'a [CompliancePerCluster]),
    Conditions(&'a [PolicyCondition]),
    Compliance(&'a str),
}

/// A patch that applies if the live status has the fields of the cached one. For 300 clusters it costs the API server three
/// quarters of a merge patch, which it merges field by field (`cargo xtask bench hub --status-writes 40`). `None` if the live
/// policy may have no status, or if a list has to go.
pub(super) fn json_patch<'a>(
    current: &CachedRoot,
    desired: &'a PolicyStatus,
) -> Option<Vec<Operation<'a>>> {
    if current.status == StatusDigest::default() {
        return None;
    }
    let add = |path, value| Operation::Add { path, value };
    let placement = desired.placement.as_deref()?;
    let clusters = desired.status.as_deref()?;
    let mut operations = vec![
        add("/status/placement", Field::Placement(placement)),
        add("/status/status", Field::Clusters(clusters)),
    ];
    let cached = current.policy.status.as_ref();
    let had_conditions = cached.is_some_and(|status| status.conditions.is_some());
    let path = "/status/conditions";
    match desired.conditions.as_deref() {
        Some(conditions) => operations.push(add(path, Field::Conditions(conditions))),
        None if had_conditions => operations.push(Operation::Remove { path }),
        None => {}
    }
    let had_compliance = cached.is_some_and(|status| status.compliant.is_some());
    let path = "/status/compliant";
    match desired.compliant.as_deref() {
        Some(compliance) => operations.push(add(path, Field::Compliance(compliance))),
        None if had_compliance => operations.push(Operation::Remove { path }),
        None => {}
    }
    Some(operations)
}
