//! Deleting objects with the policy that they belong to, or that no longer names them.

use std::collections::HashSet;

use kube::core::GroupVersionKind;
use reeve_api::RemediationAction;
use reeve_api::configuration_policy::{
    ConfigurationPolicy, ObjectProperties, ObjectReference, RelatedObject,
};
use reeve_runtime::discovery::group_version_kind;
use serde_json::Value;

use crate::evaluate::cluster::{Cluster, Refused, Unreadable, text};
use crate::evaluate::spec::mode;
use crate::messages;
use crate::status::finding::{Place, identity};

/// What field managers of created objects start with.
const MANAGER: &str = "config-policy-controller";

/// Which objects are deleted with their policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behavior {
    /// Nothing is pruned.
    None,
    /// Those that the policy created.
    DeleteIfCreated,
    /// Those that the policy created or was to change.
    DeleteAll,
}

impl Behavior {
    /// What the policy asks for. An unknown word is read as "none".
    pub fn of(policy: &ConfigurationPolicy) -> Self {
        match policy.spec.prune_object_behavior.as_deref() {
            Some("DeleteIfCreated") => Self::DeleteIfCreated,
            Some("DeleteAll") => Self::DeleteAll,
            _ => Self::None,
        }
    }
}

/// The name by which objects remember the policy that created them; `None` if it does not matter who did. It is their
/// field manager, so it comes into being with the object: a process that is killed before it has written the status
/// leaves no object behind that nobody knows to be the policy's.
pub fn maker(policy: &ConfigurationPolicy) -> Option<String> {
    let uid = policy.metadata.uid.as_deref()?;
    (Behavior::of(policy) != Behavior::None).then(|| format!("{MANAGER}:{uid}"))
}

/// Whether an object remembers that it was created by this maker.
pub fn was_made_by(object: &Value, maker: &str) -> bool {
    let managers = object
        .pointer("/metadata/managedFields")
        .and_then(Value::as_array);
    let mut managers = managers.into_iter().flatten();
    managers.any(|entry| entry.get("manager").and_then(Value::as_str) == Some(maker))
}

/// An object that could not be deleted, or is not gone yet.
#[derive(Debug, Clone, PartialEq)]
pub struct Left {
    /// As the status has it.
    pub entry: RelatedObject,
    /// As the message names it.
    pub described: String,
    /// Why the object was left.
    pub because: Because,
}

/// Why an object is left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Because {
    /// It is being deleted. It is watched, so the policy hears of its end.
    Going,
    /// It could not be read or deleted. Nobody tells when that may be otherwise.
    Failed(String),
}

impl From<&str> for Because {
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
    let behavior = Behavior::of(policy);
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
    let gone = |entry: &&RelatedObject| {
        let object = entry.object.as_ref();
        !object.is_some_and(|object| kept_objects.contains(&identity(object)))
            && !uid(entry).is_some_and(|uid| kept_uids.contains(uid))
    };
    before
        .iter()
        .filter(gone)
        .filter(|entry| is_ours(entry.properties.as_ref(), behavior))
        .collect()
}

/// The UID under which an object was recorded.
fn uid(entry: &RelatedObject) -> Option<&str> {
    let uid = entry.properties.as_ref()?.uid.as_deref();
    uid.filter(|uid| !uid.is_empty())
}

/// Whether the policy may delete the object. One without properties was never the policy's: it was to be absent, or
/// could not be created. One that was found by its content is left alone, as it always was.
fn is_ours(properties: Option<&ObjectProperties>, behavior: Behavior) -> bool {
    let Some(properties) = properties else {
        return false;
    };
    let created = properties.created_by_policy == Some(true)
        && properties.uid.as_ref().is_some_and(|uid| !uid.is_empty());
    match behavior {
        Behavior::None => false,
        Behavior::DeleteIfCreated => created,
        Behavior::DeleteAll => created || properties.found_by_content != Some(true),
    }
}

/// Deletes objects. What is left is returned.
pub async fn prune<C: Cluster>(
    cluster: &C,
    policy: &ConfigurationPolicy,
    objects: &[&RelatedObject],
) -> Vec<Left> {
    let behavior = Behavior::of(policy);
    let mut left = Vec::new();
    for entry in objects {
        let Some((kind, place)) = entry.object.as_ref().and_then(identify) else {
            continue;
        };
        let created_uid = entry
            .properties
            .as_ref()
            .and_then(|known| known.uid.as_deref());
        let only = created_uid.filter(|_| behavior == Behavior::DeleteIfCreated);
        if let Err(because) = delete(cluster, &kind, &place, only).await {
            let at = (place.namespace.as_str(), place.name.as_str());
            let described = messages::pruned_object(&kind.group, &kind.version, &kind.kind, at);
            tracing::info!(
                object = described,
                ?because,
                "the object is not deleted yet"
            );
            left.push(Left {
                entry: (*entry).clone(),
                described,
                because,
            });
        }
    }
    left
}

/// Deletes one object and makes sure that it is gone. `only` is the UID that it must have.
async fn delete<C: Cluster>(
    cluster: &C,
    kind: &GroupVersionKind,
    place: &Place,
    only: Option<&str>,
) -> Result<(), Because> {
    let served = match cluster.kind(kind).await {
        Ok(served) => served,
        // With the kind, all its objects are gone.
        Err(error) if error.is_absent() => return Ok(()),
        Err(error) => return Err(Because::Failed(reeve_runtime::object::chain(&error))),
    };
    // Watched, so that the policy is looked at again when the object goes.
    let found = match cluster.get(&served, place).await {
        Err(Unreadable::Unwatchable(_)) => {
            let now = cluster.get_now(&served, place).await;
            now.map(|object| object.map(std::sync::Arc::new))
        }
        read => read,
    };
    let Some(object) = found.map_err(|error| Because::from(error.text()))? else {
        return Ok(());
    };
    let uid = text(&object, "/metadata/uid");
    if only.is_some_and(|only| only != uid) {
        return Ok(());
    }
    if object.pointer("/metadata/deletionTimestamp").is_some() {
        return match cluster.get_now(&served, place).await {
            Ok(None) => Ok(()),
            _ => Err(Because::Going),
        };
    }
    match cluster.delete(&served, place, uid).await {
        Ok(()) | Err(Refused::NotFound(_)) => {}
        Err(refused) => return Err(refused.text().into()),
    }
    match cluster.get_now(&served, place).await {
        Ok(None) => Ok(()),
        Ok(Some(_)) => Err(Because::Going),
        Err(error) => Err(error.text().into()),
    }
}

fn identify(object: &ObjectReference) -> Option<(GroupVersionKind, Place)> {
    let metadata = object.metadata.as_ref()?;
    let name = metadata.name.as_deref()?;
    let namespace = metadata.namespace.as_deref().unwrap_or_default();
    let kind = group_version_kind(object.api_version.as_deref()?, object.kind.as_deref()?);
    Some((kind, Place::new(namespace, name)))
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
    #[case::inform("DeleteAll", "inform", "")]
    #[case::created("DeleteIfCreated", "enforce", "created")]
    #[case::all("DeleteAll", "Enforce", "created changed")]
    fn rough_edge_3_only_objects_that_were_the_policys_are_deleted(
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
