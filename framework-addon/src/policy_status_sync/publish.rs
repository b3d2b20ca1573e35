//! Writes statuses that have changed, and emits events.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use k8s_openapi::api::core::v1::ObjectReference;
use kube::Resource;
use kube::api::Patch;
use parking_lot::Mutex;
use reeve_api::Policy;
use reeve_runtime::events::{EventRecorder, InformationalEvent};
use reeve_runtime::object::not_found_as_none;
use reeve_runtime::writes;
use serde_json::{Map, Value, json};

use super::error::StatusError;
use super::{StatusSync, messages};
use crate::cluster::Cluster;
use crate::replica::{Replica, same_status};

/// The outcome of writing a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StatusWrite {
    /// It was written.
    Written,
    /// The policy had it already.
    Unchanged,
}

impl StatusSync {
    /// Writes the status on the managed cluster.
    pub(super) async fn publish(
        &self,
        managed: &Replica,
        status: &Value,
    ) -> Result<StatusWrite, StatusError> {
        let name = managed.name();
        let cluster = &self.caches.managed;
        let written = self.written.write(cluster, managed, status).await;
        let written = written.map_err(|source| StatusError::Managed {
            policy: name.to_owned(),
            source,
        })?;
        if !written {
            return Ok(StatusWrite::Unchanged);
        }
        let note = messages::updated(name, &cluster.namespace);
        emit_status_event(&self.events, &managed.object_ref(&()), &note);
        Ok(StatusWrite::Written)
    }
}

/// The statuses written to one cluster, until its watch delivers them.
#[derive(Default)]
pub struct WrittenStatuses(Mutex<HashMap<String, WrittenStatus>>);

/// A status written on a version of a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
struct WrittenStatus {
    version: Option<String>,
    status: u64,
}

impl WrittenStatus {
    fn of(policy: &Replica, status: &Value) -> Self {
        let mut hasher = DefaultHasher::new();
        status.to_string().hash(&mut hasher);
        Self {
            version: policy.metadata.resource_version.clone(),
            status: hasher.finish(),
        }
    }
}

impl WrittenStatuses {
    /// Writes a policy's status; `false` if the policy has it already, or it was written and the watch lags. A policy that was
    /// changed since it was read is a conflict; the watch delivers the deletion of one that no longer exists.
    pub async fn write(
        &self,
        cluster: &Cluster,
        policy: &Replica,
        status: &Value,
    ) -> Result<bool, kube::Error> {
        let current = policy.status();
        if same_status(&current, status) {
            return Ok(false);
        }
        let write = WrittenStatus::of(policy, status);
        if self.0.lock().get(policy.name()) == Some(&write) {
            return Ok(false);
        }
        let place = (cluster.namespace.as_str(), policy.name());
        let patch = Patch::Merge(replacement(policy, current, status));
        let patched = writes::patch_status::<Policy>(&cluster.client, place, &patch).await;
        let written = not_found_as_none(patched)?.is_some();
        if written {
            self.0.lock().insert(policy.name().to_owned(), write);
        }
        Ok(written)
    }

    /// Drops the state of a deleted policy.
    pub fn forget(&self, policy: &str) {
        self.0.lock().remove(policy);
    }
}

/// A merge patch that replaces the whole status of the version that was read.
fn replacement(policy: &Replica, current: Value, status: &Value) -> Value {
    let mut fields = match current {
        Value::Object(previous) => previous,
        _ => Map::new(),
    };
    fields.values_mut().for_each(|gone| *gone = Value::Null);
    let new = status.as_object().into_iter().flatten();
    fields.extend(new.map(|(field, value)| (field.clone(), value.clone())));
    let version = &policy.metadata.resource_version;
    json!({ "metadata": { "resourceVersion": version }, "status": fields })
}

/// Emits an informational event about a status that was written.
pub fn emit_status_event(events: &EventRecorder, policy: &ObjectReference, note: &str) {
    tracing::info!(policy = policy.name, "{note}");
    let event = InformationalEvent {
        reason: messages::REASON,
        action: messages::REASON,
        note,
        warning: false,
    };
    events.emit_event(policy, &event);
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

    #[test]
    fn patch_removes_fields_that_the_new_status_lacks() {
        let metadata = ObjectMeta {
            resource_version: Some("7".to_owned()),
            ..ObjectMeta::default()
        };
        let mut policy = Replica::new(metadata, json!({}));
        policy.status =
            Some((&json!({"compliant": "Compliant", "details": [1], "odd": {}})).into());
        let patch = replacement(&policy, policy.status(), &json!({"details": [2]}));
        let expected = json!({
            "metadata": {"resourceVersion": "7"},
            "status": {"compliant": null, "details": [2], "odd": null}
        });
        assert_eq!(patch, expected);
    }
}
