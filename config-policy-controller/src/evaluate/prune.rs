//! Deleting objects with the policy that they belong to, or that no longer names them.

use std::collections::HashSet;

use kube::core::GroupVersionKind;
use reeve_api::RemediationAction;
use reeve_api::configuration_policy::{
    ConfigurationPolicy, ObjectProperties, ObjectReference, RelatedObject,
};
use reeve_runtime::discovery::group_version_kind;
use serde_json::Value;

use crate::evaluate::cluster::{Cluster, ReadError, WriteError, text};
use crate::evaluate::spec::mode;
use crate::messages;
use crate::status::finding::{Location, identity};

/// What field managers of created objects start with.
const MANAGER: &str = "config-policy-controller";

/// Which objects are deleted with their policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PruneBehavior {
    /// Nothing is pruned.
    None,
    /// Those that the policy created.
    DeleteIfCreated,
    /// Those that the policy created or enforced.
    DeleteAll,
}

impl PruneBehavior {
    /// Reads `spec.pruneObjectBehavior`. An unknown word counts as `None`.
    pub fn of(policy: &ConfigurationPolicy) -> Self {
        match policy.spec.prune_object_behavior.as_deref() {
            Some("DeleteIfCreated") => Self::DeleteIfCreated,
            Some("DeleteAll") => Self::DeleteAll,
            _ => Self::None,
        }
    }
}

/// The field manager under which the controller creates a policy's objects; `None` if the policy does not prune. The API
/// server stores it with the object, so a process that is killed before it writes the status leaves no object whose
/// origin is unknown.
pub fn field_manager(policy: &ConfigurationPolicy) -> Option<String> {
    let uid = policy.metadata.uid.as_deref()?;
    (PruneBehavior::of(policy) != PruneBehavior::None).then(|| format!("{MANAGER}:{uid}"))
}

/// Whether `field_manager` is among the field managers of the object.
pub fn is_created_by(object: &Value, field_manager: &str) -> bool {
    let managers = object
        .pointer("/metadata/managedFields")
        .and_then(Value::as_array);
    let mut managers = managers.into_iter().flatten();
    managers.any(|entry| entry.get("manager").and_then(Value::as_str) == Some(field_manager))
}

/// An object that still exists after pruning.
#[derive(Debug, Clone, PartialEq)]
pub struct RemainingObject {
    /// Its entry among the related objects.
    pub entry: RelatedObject,
    /// Its name in the message.
    pub described: String,
    /// Why the object still exists.
    pub reason: RemainingReason,
}

/// Why an object still exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RemainingReason {
    /// It has a deletion timestamp. The policy watches it, so its removal enqueues the policy.
    Terminating,
    /// It could not be read or deleted. No watch reports when this changes.
    Failed(String),
}

impl From<&str> for RemainingReason {
    fn from(text: &str) -> Self {
        Self::Failed(text.to_owned())
    }
}

/// The objects to delete: those of the status that are not among `kept`.
pub fn candidates<'b>(
    policy: &ConfigurationPolicy,
    before: &'b [RelatedObject],
    kept: &[RelatedObject],
) -> Vec<&'b RelatedObject> {
    let behavior = PruneBehavior::of(policy);
    if mode(policy) != RemediationAction::Enforce {
        return Vec::new();
    }
    let kept_objects: HashSet<[&str; 4]> = kept
        .iter()
        .filter_map(|kept| kept.object.as_ref())
        .map(identity)
        .collect();
    // The same object may be served by several groups.
    let kept_uids: HashSet<&str> = kept.iter().filter_map(uid).collect();
    let is_stale = |entry: &&RelatedObject| {
        let object = entry.object.as_ref();
        !object.is_some_and(|object| kept_objects.contains(&identity(object)))
            && !uid(entry).is_some_and(|uid| kept_uids.contains(uid))
    };
    before
        .iter()
        .filter(is_stale)
        .filter(|entry| may_prune(entry.properties.as_ref(), behavior))
        .collect()
}

/// The UID under which an object was recorded.
fn uid(entry: &RelatedObject) -> Option<&str> {
    let uid = entry.properties.as_ref()?.uid.as_deref();
    uid.filter(|uid| !uid.is_empty())
}

/// Whether the policy may delete the object. An entry without properties was never created: the object was to be absent, or
/// could not be created. An object that was found by its content is not deleted, as upstream.
fn may_prune(properties: Option<&ObjectProperties>, behavior: PruneBehavior) -> bool {
    let Some(properties) = properties else {
        return false;
    };
    let created = properties.created_by_policy == Some(true)
        && properties.uid.as_ref().is_some_and(|uid| !uid.is_empty());
    match behavior {
        PruneBehavior::None => false,
        PruneBehavior::DeleteIfCreated => created,
        PruneBehavior::DeleteAll => created || properties.found_by_content != Some(true),
    }
}

/// Deletes objects and returns those that still exist.
pub async fn prune<C: Cluster>(
    cluster: &C,
    policy: &ConfigurationPolicy,
    objects: &[&RelatedObject],
) -> Vec<RemainingObject> {
    let behavior = PruneBehavior::of(policy);
    let mut remaining = Vec::new();
    for entry in objects {
        let Some((kind, location)) = entry.object.as_ref().and_then(identify) else {
            continue;
        };
        let created_uid = entry
            .properties
            .as_ref()
            .and_then(|known| known.uid.as_deref());
        let only = created_uid.filter(|_| behavior == PruneBehavior::DeleteIfCreated);
        if let Err(reason) = delete(cluster, &kind, &location, only).await {
            let at = (location.namespace.as_str(), location.name.as_str());
            let described = messages::pruned_object(&kind.group, &kind.version, &kind.kind, at);
            tracing::info!(object = described, ?reason, "the object is not deleted yet");
            remaining.push(RemainingObject {
                entry: (*entry).clone(),
                described,
                reason,
            });
        }
    }
    remaining
}

/// Deletes one object and makes sure that it is gone. `only` is the UID that it must have.
async fn delete<C: Cluster>(
    cluster: &C,
    kind: &GroupVersionKind,
    location: &Location,
    only: Option<&str>,
) -> Result<(), RemainingReason> {
    let served = match cluster.kind(kind).await {
        Ok(served) => served,
        // With the kind, all its objects are gone.
        Err(error) if error.is_absent() => return Ok(()),
        Err(error) => {
            return Err(RemainingReason::Failed(reeve_runtime::object::error_chain(
                &error,
            )));
        }
    };
    // The read is watched, so that the removal of the object enqueues the policy.
    let found = match cluster.get(&served, location).await {
        Err(ReadError::Unwatchable(_)) => {
            let now = cluster.get_uncached(&served, location).await;
            now.map(|object| object.map(std::sync::Arc::new))
        }
        read => read,
    };
    let Some(object) = found.map_err(|error| RemainingReason::from(error.text()))? else {
        return Ok(());
    };
    let uid = text(&object, "/metadata/uid");
    if only.is_some_and(|only| only != uid) {
        return Ok(());
    }
    if object.pointer("/metadata/deletionTimestamp").is_some() {
        return match cluster.get_uncached(&served, location).await {
            Ok(None) => Ok(()),
            _ => Err(RemainingReason::Terminating),
        };
    }
    match cluster.delete(&served, location, uid).await {
        Ok(_) | Err(WriteError::NotFound(_)) => {}
        Err(refused) => return Err(refused.text().into()),
    }
    match cluster.get_uncached(&served, location).await {
        Ok(None) => Ok(()),
        Ok(Some(_)) => Err(RemainingReason::Terminating),
        Err(error) => Err(error.text().into()),
    }
}

fn identify(object: &ObjectReference) -> Option<(GroupVersionKind, Location)> {
    let metadata = object.metadata.as_ref()?;
    let name = metadata.name.as_deref()?;
    let namespace = metadata.namespace.as_deref().unwrap_or_default();
    let kind = group_version_kind(object.api_version.as_deref()?, object.kind.as_deref()?);
    Some((kind, Location::new(namespace, name)))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn policy(behavior: &str, action: &str) -> ConfigurationPolicy {
        serde_json::from_value(json!({
            "apiVersion": "policy.open-cluster-management.io/v1", "kind": "ConfigurationPolicy",
            "metadata": {"name": "p", "namespace": "managed"},
            "spec": {"remediationAction": action, "pruneObjectBehavior": behavior},
        }))
        .unwrap()
    }

    fn related(name: &str, properties: serde_json::Value) -> RelatedObject {
        let object = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "n"}});
        let mut entry = json!({"object": object});
        if !properties.is_null() {
            entry["properties"] = properties;
        }
        serde_json::from_value(entry).unwrap()
    }

    #[rstest]
    #[case::none("None", "enforce", "")]
    #[case::emit_event("DeleteAll", "inform", "")]
    #[case::created("DeleteIfCreated", "enforce", "created")]
    #[case::all("DeleteAll", "Enforce", "created changed")]
    fn cfg_53_2_only_objects_of_the_policy_are_deleted(
        #[case] behavior: &str,
        #[case] action: &str,
        #[case] expected: &str,
    ) {
        let before = [
            related("created", json!({"createdByPolicy": true, "uid": "1"})),
            related("changed", json!({"createdByPolicy": false, "uid": "2"})),
            related(
                "found",
                json!({"createdByPolicy": false, "uid": "3", "foundByContent": true}),
            ),
            related("unwanted", json!(null)),
            related("kept", json!({"createdByPolicy": true, "uid": "4"})),
        ];
        let kept = [related("kept", json!(null))];
        let policy = policy(behavior, action);
        let names: Vec<String> = candidates(&policy, &before, &kept)
            .into_iter()
            .map(|entry| {
                let metadata = entry.object.as_ref().unwrap().metadata.as_ref().unwrap();
                metadata.name.clone().unwrap()
            })
            .collect();
        assert_eq!(names.join(" "), expected);
    }
}
