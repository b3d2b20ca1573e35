//! Writes works, and the status and finalizers of an add-on.

use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams, PostParams, Preconditions};
use kube::core::ApiResource;
use kube::{Client, ResourceExt};
use reeve_api::addon::ManagedClusterAddOn;
use reeve_api::work::ManifestWork;
use reeve_runtime::object::{ObjectKey, StatusReason, not_found_as_none, status_message};
use serde_json::{Map, Value, json};

use super::finalizers::Edit;
use crate::work::{Desired, Live};

/// An API call failed.
#[derive(Debug, thiserror::Error)]
#[error("cannot {doing} {kind} {name}: {}", status_message(.source))]
pub struct ActError {
    doing: &'static str,
    kind: &'static str,
    name: ObjectKey,
    /// The error of the client.
    #[source]
    pub source: Box<kube::Error>,
}

/// The result of a write.
#[derive(Debug, PartialEq, Eq)]
pub enum Written {
    /// The work is stored with this generation.
    Stored(i64),
    /// Another client was faster: the watch is about to deliver its write.
    Conflict,
}

fn failed(
    doing: &'static str,
    kind: &'static str,
    name: &ObjectKey,
) -> impl FnOnce(kube::Error) -> ActError {
    let name = name.clone();
    move |source| ActError {
        doing,
        kind,
        name,
        source: Box::new(source),
    }
}

const WORK: &str = "ManifestWork";
const ADDON: &str = "ManagedClusterAddOn";

/// Creates a work, or patches the live one.
pub async fn write(
    client: &Client,
    desired: &Desired,
    live: Option<&Live>,
) -> Result<Written, ActError> {
    let key = &desired.key;
    let api: Api<ManifestWork> = Api::namespaced(client.clone(), &key.namespace);
    let answer = match live {
        None => {
            let object = desired.object();
            let works: Api<DynamicObject> = Api::namespaced_with(
                client.clone(),
                &key.namespace,
                &ApiResource::erase::<ManifestWork>(&()),
            );
            let object = serde_json::from_value(object).map_err(kube::Error::SerdeError);
            let object: DynamicObject = object.map_err(failed("create", WORK, key))?;
            let created = works.create(&PostParams::default(), &object).await;
            created.map(|work| work.metadata.generation)
        }
        Some(live) => {
            let patch = Patch::Merge(desired.patch(live));
            let patched = api.patch(&key.name, &PatchParams::default(), &patch).await;
            patched.map(|work| work.metadata.generation)
        }
    };
    match answer {
        Ok(generation) => Ok(Written::Stored(generation.unwrap_or_default())),
        Err(error) => match StatusReason::of(&error) {
            StatusReason::AlreadyExists if !is_ours(&api, desired).await => {
                Err(failed("create", WORK, key)(error))
            }
            StatusReason::AlreadyExists | StatusReason::Conflict => Ok(Written::Conflict),
            StatusReason::NotFound if live.is_some() => Ok(Written::Conflict),
            _ => Err(failed("write", WORK, key)(error)),
        },
    }
}

/// Whether the existing work is this controller's, and the watch has only not delivered it yet. If not, another
/// client created it.
async fn is_ours(api: &Api<ManifestWork>, desired: &Desired) -> bool {
    match api.get_metadata(&desired.key.name).await {
        Ok(found) => {
            let labels = found.labels();
            desired
                .labels
                .iter()
                .all(|(key, value)| labels.get(key) == Some(value))
        }
        // After any error the write is retried.
        Err(_) => true,
    }
}

/// Deletes a work, unless it has changed since it was read.
pub async fn delete(client: &Client, key: &ObjectKey, live: &Live) -> Result<(), ActError> {
    let api: Api<ManifestWork> = Api::namespaced(client.clone(), &key.namespace);
    let parameters = DeleteParams {
        preconditions: Some(Preconditions {
            uid: Some(live.uid.clone()),
            resource_version: None,
        }),
        ..DeleteParams::default()
    };
    match api.delete(&key.name, &parameters).await {
        Err(error) => match StatusReason::of(&error) {
            StatusReason::NotFound | StatusReason::Conflict => Ok(()),
            _ => Err(failed("delete", WORK, key)(error)),
        },
        Ok(_) => Ok(()),
    }
}

/// Changes fields of an add-on's status. Returns false after a conflict.
pub async fn write_status(
    client: &Client,
    addon: &ManagedClusterAddOn,
    fields: Map<String, Value>,
) -> Result<bool, ActError> {
    let key = ObjectKey::of(addon);
    let api: Api<ManagedClusterAddOn> = Api::namespaced(client.clone(), &key.namespace);
    let patch = json!({
        "metadata": { "uid": addon.uid(), "resourceVersion": addon.resource_version() },
        "status": fields,
    });
    let parameters = PatchParams::default();
    let written = api
        .patch_status(&key.name, &parameters, &Patch::Merge(patch))
        .await;
    match written {
        Ok(_) => Ok(true),
        Err(error) => match StatusReason::of(&error) {
            StatusReason::NotFound => Ok(true),
            StatusReason::Conflict => Ok(false),
            _ => Err(failed("write the status of", ADDON, &key)(error)),
        },
    }
}

/// Changes the finalizers of an add-on. Writes the whole object, because the role does not allow patch. Returns false
/// after a conflict.
pub async fn finalize(
    client: &Client,
    addon: &ManagedClusterAddOn,
    edit: &Edit,
) -> Result<bool, ActError> {
    let key = ObjectKey::of(addon);
    let resource = ApiResource::erase::<ManagedClusterAddOn>(&());
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), &key.namespace, &resource);
    let found = not_found_as_none(api.get(&key.name).await).map_err(failed("read", ADDON, &key))?;
    let Some(mut live) = found.filter(|live| live.uid() == addon.uid()) else {
        return Ok(true);
    };
    // A terminating add-on must not get more finalizers: the caller has to decide again.
    if live.metadata.deletion_timestamp.is_some() != addon.metadata.deletion_timestamp.is_some() {
        return Ok(false);
    }
    let finalizers = edit.apply(live.finalizers());
    if finalizers == live.finalizers() {
        return Ok(true);
    }
    live.metadata.finalizers = Some(finalizers);
    match api.replace(&key.name, &PostParams::default(), &live).await {
        Ok(_) => Ok(true),
        Err(error) => match StatusReason::of(&error) {
            StatusReason::NotFound => Ok(true),
            StatusReason::Conflict => Ok(false),
            _ => Err(failed("change the finalizers of", ADDON, &key)(error)),
        },
    }
}
