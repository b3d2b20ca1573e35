//! Takes the components off a hub again.

use kube::core::GroupVersionKind;
use kube::{Client, ResourceExt as _};

use crate::InstallError;
use crate::hub::{Hub, Id};
use crate::manifests::{InstallOptions, MANAGED_BY, MANAGER, objects};

/// The add-ons whose agents need the components to clean up.
const ADD_ONS: [&str; 3] = [
    "config-policy-controller",
    "governance-policy-framework",
    "governance-standalone-hub-templating",
];

/// What is taken off.
#[derive(Clone, Debug)]
pub struct UninstallOptions {
    /// The namespace of the components.
    pub namespace: String,
    /// The definitions of the kinds of policies, too, and with them all objects of these kinds.
    pub with_crds: bool,
    /// Although clusters have the add-ons.
    pub ignores_add_ons: bool,
}

/// What became of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Removed {
    /// It is deleted.
    Deleted(String),
    /// It stays: something else has installed it.
    Foreign(String),
}

/// Deletes what was applied, in the opposite order, and reports each object that is there. The namespace stays.
///
/// # Errors
/// [`InstallError::AddOns`], or the first request that fails.
pub async fn uninstall(
    client: &Client,
    options: &UninstallOptions,
    mut report: impl FnMut(&Removed),
) -> Result<(), InstallError> {
    let hub = Hub::new(client);
    if !options.ignores_add_ons {
        refuse_add_ons(&hub).await?;
    }
    let all = objects(&InstallOptions {
        namespace: options.namespace.clone(),
        // Nothing of it is read but names.
        image: MANAGER.to_owned(),
        webhooks: true,
        monitoring: true,
    })?;
    for object in all.iter().rev() {
        let id = Id::from_object(object);
        let is_kept = match id.gvk.kind.as_str() {
            "Namespace" => true,
            "CustomResourceDefinition" => !options.with_crds,
            _ => false,
        };
        if is_kept {
            continue;
        }
        let Some(found) = hub.get(&id).await? else {
            continue;
        };
        if found
            .labels()
            .get(MANAGED_BY)
            .is_none_or(|by| by != MANAGER)
        {
            report(&Removed::Foreign(id.described()));
            continue;
        }
        if found.metadata.deletion_timestamp.is_none() {
            hub.delete(&id, &found).await?;
        }
        report(&Removed::Deleted(id.described()));
    }
    Ok(())
}

async fn refuse_add_ons(hub: &Hub) -> Result<(), InstallError> {
    let add_ons = Id {
        gvk: GroupVersionKind::gvk(
            "addon.open-cluster-management.io",
            "v1alpha1",
            "ManagedClusterAddOn",
        ),
        namespace: None,
        name: String::new(),
    };
    let found = hub.list(&add_ons, "").await?;
    let ours = found
        .iter()
        .filter(|one| ADD_ONS.contains(&one.name_any().as_str()));
    let named: Vec<String> = ours
        .map(|one| format!("{}/{}", one.namespace().unwrap_or_default(), one.name_any()))
        .collect();
    if named.is_empty() {
        Ok(())
    } else {
        Err(InstallError::AddOns(named))
    }
}
