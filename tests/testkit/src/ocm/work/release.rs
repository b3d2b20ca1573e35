//! Taking back an object that a work has applied.

use anyhow::{Context, Result};
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, Preconditions};
use kube::discovery::ApiResource;
use kube::{Api, ResourceExt as _};
use serde_json::json;

use super::super::names::APPLIED_WORK;
use super::manifest::Resource;
use crate::Objects;

/// Whether there is more to wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Released {
    /// The object is gone, or not ours.
    Done,
    /// It is being deleted.
    Pending,
}

/// Deletes an object if it is the one that was applied, and if it belongs to the record `owner` and
/// to no other record.
pub(super) async fn release(
    objects: &Objects,
    resource: &Resource,
    uid: &str,
    owner: &str,
) -> Result<Released> {
    let api = api(objects, resource);
    let Some(live) = read(&api, resource).await? else {
        return Ok(Released::Done);
    };
    let owners = live.owner_references();
    let ours = owners.iter().any(|it| it.uid == owner);
    if live.metadata.uid.as_deref() != Some(uid) || !ours {
        return Ok(Released::Done);
    }
    let shared = owners
        .iter()
        .any(|it| it.kind == APPLIED_WORK.kind && it.uid != owner);
    if shared {
        strip(&api, &live, owner).await?;
        return Ok(Released::Done);
    }
    if live.metadata.deletion_timestamp.is_none() {
        let params = DeleteParams::foreground().preconditions(Preconditions {
            uid: Some(uid.to_owned()),
            resource_version: None,
        });
        match api.delete(&resource.name, &params).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.is_not_found() => return Ok(Released::Done),
            Err(error) => {
                let what = || format!("deleting {} {}", resource.plural, resource.name);
                return Err(error).with_context(what);
            }
        }
    }
    Ok(Released::Pending)
}

/// Leaves an object where it is, without its record as an owner.
pub(super) async fn remove_owner(
    objects: &Objects,
    resource: &Resource,
    owner: &str,
) -> Result<()> {
    let api = api(objects, resource);
    match read(&api, resource).await? {
        Some(live) => strip(&api, &live, owner).await,
        None => Ok(()),
    }
}

async fn strip(api: &Api<DynamicObject>, live: &DynamicObject, owner: &str) -> Result<()> {
    let owners = live.owner_references();
    let kept: Vec<_> = owners.iter().filter(|it| it.uid != owner).collect();
    if kept.len() == owners.len() {
        return Ok(());
    }
    let patch = json!({ "metadata": {
        "resourceVersion": live.resource_version(),
        "ownerReferences": kept,
    }});
    let name = live.name_any();
    let patched = api
        .patch(&name, &PatchParams::default(), &Patch::Merge(patch))
        .await;
    patched.with_context(|| format!("disowning {name}"))?;
    Ok(())
}

async fn read(api: &Api<DynamicObject>, resource: &Resource) -> Result<Option<DynamicObject>> {
    let read = api.get_opt(&resource.name).await;
    read.with_context(|| format!("reading {} {}", resource.plural, resource.name))
}

/// By the name of the resource: the kind may be unknown by now.
fn api(objects: &Objects, resource: &Resource) -> Api<DynamicObject> {
    let api_version = if resource.group.is_empty() {
        resource.version.clone()
    } else {
        format!("{}/{}", resource.group, resource.version)
    };
    let kind = ApiResource {
        group: resource.group.clone(),
        version: resource.version.clone(),
        api_version,
        kind: String::new(),
        plural: resource.plural.clone(),
    };
    if resource.namespace.is_empty() {
        Api::all_with(objects.client(), &kind)
    } else {
        Api::namespaced_with(objects.client(), &resource.namespace, &kind)
    }
}
