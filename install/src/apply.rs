//! Applies the objects of an installation, one after the other.

use kube::{Client, ResourceExt as _};
use serde_json::Value;

use crate::InstallError;
use crate::hub::{Hub, Id};
use crate::manifests::MANAGED_BY;

/// Whether objects are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    /// They are.
    Persisted,
    /// The API server says what it would store.
    DryRun,
}

/// What became of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was not there.
    Created,
    /// It was changed.
    Configured,
    /// It is as it was.
    Unchanged,
    /// Not asked, in a dry run: its namespace is not there yet.
    NotAsked,
}

impl Outcome {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Configured => "configured",
            Self::Unchanged => "unchanged",
            Self::NotAsked => "not asked",
        }
    }
}

/// An object that was applied.
#[derive(Clone, Debug)]
pub struct Applied {
    /// Its kind, namespace and name.
    pub object: String,
    /// What became of it.
    pub outcome: Outcome,
}

/// Applies objects in their order and reports each. Nothing is written unless the hub serves all kinds and no Helm release has an
/// object.
///
/// # Errors
/// [`InstallError::NotServed`], [`InstallError::Helm`], or the first request that fails.
pub async fn apply(
    client: &Client,
    objects: &[Value],
    write: Write,
    mut report: impl FnMut(&Applied),
) -> Result<(), InstallError> {
    let hub = Hub::new(client);
    check(&hub, objects).await?;
    let mut missing_namespace = None;
    for object in objects {
        let id = Id::from_object(object);
        let before = hub.get(&id).await?;
        if write == Write::DryRun && before.is_none() && id.gvk.kind == "Namespace" {
            missing_namespace = Some(id.name.clone());
        }
        let is_asked = id.namespace.is_none() || id.namespace != missing_namespace;
        let outcome = if id.gvk.kind == "Namespace" && before.is_some() {
            // It may be somebody's, whose labels are not ours to change.
            Outcome::Unchanged
        } else if is_asked {
            let after = hub.apply(&id, object, write == Write::DryRun).await?;
            match before {
                None => Outcome::Created,
                Some(before) if is_same(&before, &after) => Outcome::Unchanged,
                Some(_) => Outcome::Configured,
            }
        } else {
            Outcome::NotAsked
        };
        report(&Applied {
            object: id.described(),
            outcome,
        });
    }
    Ok(())
}

/// Whether an apply has changed nothing of an object. The resource version does not show it: a dry run leaves it as it is, a controller
/// may write the status meanwhile, and the API server writes an object when only the order of its field managers changes, as it does
/// after two of them have applied it in the same second.
fn is_same(before: &kube::api::DynamicObject, after: &kube::api::DynamicObject) -> bool {
    let essence = |object: &kube::api::DynamicObject| {
        let mut data = object.data.clone();
        if let Some(members) = data.as_object_mut() {
            members.remove("status");
        }
        (
            data,
            object.metadata.labels.clone(),
            object.metadata.annotations.clone(),
        )
    };
    essence(before) == essence(after)
}

async fn check(hub: &Hub, objects: &[Value]) -> Result<(), InstallError> {
    for object in objects {
        let id = Id::from_object(object);
        if !hub.serves(&id).await? {
            return Err(InstallError::NotServed {
                api_version: id.gvk.api_version(),
                kind: id.gvk.kind,
            });
        }
        // A chart leaves its definitions when its release goes: only Deployments are certainly of a release.
        if id.gvk.kind != "Deployment" {
            continue;
        }
        let Some(found) = hub.get(&id).await? else {
            continue;
        };
        if found
            .labels()
            .get(MANAGED_BY)
            .is_some_and(|by| by == "Helm")
        {
            let release = found.annotations().get("meta.helm.sh/release-name");
            return Err(InstallError::Helm {
                object: id.described(),
                release: release.cloned().unwrap_or_default(),
            });
        }
    }
    Ok(())
}
