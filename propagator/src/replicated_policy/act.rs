//! Writes replicas with one request each. The body of the answer is not decoded.

use kube::Client;
use kube::api::{Api, DeleteParams, Patch, Preconditions};
use reeve_api::Policy;
use reeve_runtime::decode::AnyDepth;
use reeve_runtime::object::{ObjectKey, StatusReason, is_about_namespace, not_found_as_none};
use reeve_runtime::writes;
use serde_json::{Value, json};

use crate::error::ReplicaError;
use crate::replica::Digest;

/// The outcome of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteOutcome {
    /// There was nothing to write.
    Nothing,
    /// The replica was created.
    Created,
    /// It was changed.
    Updated,
    /// The cluster's namespace does not exist or is being deleted.
    NoNamespace,
    /// It was deleted while it was being updated.
    Vanished,
    /// It was changed since the watch delivered it.
    Conflict,
}

/// Creates a replica. One that exists without the label, or that the watch has not delivered yet, is updated instead.
pub async fn create(
    client: &Client,
    key: &ObjectKey,
    desired: &Policy,
) -> Result<WriteOutcome, ReplicaError> {
    let failed = |source| ReplicaError::Create {
        replica: key.clone(),
        source,
    };
    match writes::create(client, &key.namespace, desired).await {
        Ok(()) => Ok(WriteOutcome::Created),
        Err(error) if is_about_namespace(&error) => {
            tracing::warn!(replica = %key, %error, "the cluster namespace is not there");
            Ok(WriteOutcome::NoNamespace)
        }
        Err(error) if StatusReason::of(&error) == StatusReason::AlreadyExists => {
            update_existing(client, key, desired).await
        }
        Err(source) => Err(failed(source)),
    }
}

/// Updates a replica that the watch has not delivered. Another propagator may have created it a moment ago, as desired.
async fn update_existing(
    client: &Client,
    key: &ObjectKey,
    desired: &Policy,
) -> Result<WriteOutcome, ReplicaError> {
    let replicas: Api<AnyDepth<Policy>> = Api::namespaced(client.clone(), &key.namespace);
    let existing = replicas.get_opt(&key.name).await;
    let existing = existing.map_err(|source| ReplicaError::Update {
        replica: key.clone(),
        source,
    })?;
    let Some(AnyDepth(existing)) = existing else {
        return Ok(WriteOutcome::Vanished);
    };
    if Digest::of(&existing) == Digest::of(desired) {
        return Ok(WriteOutcome::Nothing);
    }
    let replaced = ReplacedReplica {
        uid: existing.metadata.uid.as_deref(),
        version: existing.metadata.resource_version.as_deref(),
    };
    update(client, key, replaced, desired).await
}

/// The replica that an update may replace.
#[derive(Clone, Copy, Default)]
pub struct ReplacedReplica<'a> {
    /// Its UID; absent, any.
    pub uid: Option<&'a str>,
    /// Its resource version; absent, any.
    pub version: Option<&'a str>,
}

/// Updates a replica. Labels, annotations and spec are overwritten; other fields, such as finalizers, stay. The resource version
/// matters only where other propagators write, too: nobody else owns the overwritten fields.
pub async fn update(
    client: &Client,
    key: &ObjectKey,
    replaced: ReplacedReplica<'_>,
    desired: &Policy,
) -> Result<WriteOutcome, ReplicaError> {
    let failed = |source| ReplicaError::Update {
        replica: key.clone(),
        source,
    };
    let spec = serde_json::to_value(&desired.spec).map_err(kube::Error::SerdeError);
    let mut changes = Vec::new();
    if let Some(uid) = replaced.uid {
        changes.push(json!({ "op": "test", "path": "/metadata/uid", "value": uid }));
    }
    let mut set = |path: &str, value: Value| {
        changes.push(json!({ "op": "add", "path": path, "value": value }));
    };
    if let Some(version) = replaced.version {
        // The API server compares it: another one is a conflict, which a failed test would not be.
        set("/metadata/resourceVersion", json!(version));
    }
    set("/metadata/labels", json!(desired.metadata.labels));
    set("/metadata/annotations", json!(desired.metadata.annotations));
    set("/spec", spec.map_err(failed)?);
    let changes = serde_json::from_value(Value::Array(changes)).map_err(kube::Error::SerdeError);
    let patch = Patch::Json::<()>(changes.map_err(failed)?);
    let patched = writes::patch::<Policy>(client, (&key.namespace, &key.name), &patch).await;
    if let Err(error) = &patched
        && replaced.version.is_some()
        && StatusReason::of(error) == StatusReason::Conflict
    {
        return Ok(WriteOutcome::Conflict);
    }
    match not_found_as_none(patched).map_err(failed)? {
        Some(()) => Ok(WriteOutcome::Updated),
        None => Ok(WriteOutcome::Vanished),
    }
}

/// Deletes the replica with this UID.
pub async fn delete(client: &Client, key: &ObjectKey, uid: String) -> Result<(), ReplicaError> {
    let replicas: Api<Policy> = Api::namespaced(client.clone(), &key.namespace);
    let preconditions = Preconditions {
        uid: Some(uid),
        resource_version: None,
    };
    let parameters = DeleteParams::default().preconditions(preconditions);
    let deleted = not_found_as_none(writes::delete(&replicas, &key.name, &parameters).await);
    deleted.map_err(|source| ReplicaError::Delete {
        replica: key.clone(),
        source,
    })?;
    tracing::info!(replica = %key, "the replicated policy was removed");
    Ok(())
}
