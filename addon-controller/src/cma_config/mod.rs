//! Publishes the hashes of configurations, by which OCM's addon-manager detects that one was applied.

use kube::ResourceExt;
use kube::api::{Api, Patch, PatchParams};
use reeve_api::addon::{
    ADDON_GROUP, AddOnConfig, ClusterManagementAddOn, ConfigReference, ConfigResource,
    ConfigSpecHash, DEPLOYMENT_CONFIGS, DefaultConfigReference,
};
use reeve_runtime::object::{ObjectKey, StatusReason};
use reeve_runtime::queue::Action;
use serde_json::{Map, json};

use crate::addon::Addon;
use crate::caches::Caches;
use crate::registration::{GrantError, Grants};

/// The name in logs and metrics.
pub const CONTROLLER: &str = "cma-config-controller";

/// Whether references of this kind are to `AddOnDeploymentConfig`s.
pub fn is_ours(resource: &ConfigResource) -> bool {
    resource.group == ADDON_GROUP && resource.resource == DEPLOYMENT_CONFIGS
}

/// The references of an add-on with the hashes of the configurations; `None` if they are published already. Only
/// references of the add-on's own spec get a hash here: the others get theirs in the add-on's definition.
pub fn observed(
    caches: &Caches,
    references: &[ConfigReference],
    requested: &[AddOnConfig],
) -> Option<Vec<ConfigReference>> {
    let mut observed = references.to_vec();
    for reference in observed.iter_mut().filter(|found| is_ours(&found.resource)) {
        let Some(desired) = &mut reference.desired_config else {
            continue;
        };
        let key = ObjectKey::new(&*desired.namespace, &*desired.name);
        let Some(config) = caches.configs.get_valid(&key) else {
            continue;
        };
        reference.last_observed_generation = Some(config.generation);
        let is_requested = requested.iter().any(|requested| {
            requested.resource == reference.resource
                && (&requested.namespace, &requested.name) == (&desired.namespace, &desired.name)
        });
        if is_requested {
            desired.spec_hash.clone_from(&config.hash);
        }
    }
    (observed != references).then_some(observed)
}

/// A reconcile failed.
#[derive(Debug, thiserror::Error)]
pub enum DefinitionError {
    /// The status could not be written.
    #[error(transparent)]
    Status(#[from] kube::Error),
    /// The rights that agents share could not be deleted.
    #[error(transparent)]
    Grant(#[from] GrantError),
}

/// Publishes the hashes of the configurations that an add-on's definition names. When an add-on is gone from the hub and all clusters,
/// deletes the rights that its agents share.
pub async fn reconcile(
    caches: Caches,
    grants: Grants,
    addon: Addon,
) -> Result<Action, DefinitionError> {
    let key = ObjectKey::new("", addon.name());
    let Some(definition) = caches.definitions.get_valid(&key) else {
        grants
            .revoke_shared(addon, || caches.is_retired(addon))
            .await?;
        return Ok(Action::AwaitChange);
    };
    let Some(status) = &definition.status else {
        return Ok(Action::AwaitChange);
    };
    let mut fresh = status.clone();
    let progressions = fresh.install_progressions.iter_mut();
    let references = progressions.flat_map(|progression| &mut progression.config_references);
    for reference in fresh.default_config_references.iter_mut().chain(references) {
        fingerprint(&caches, reference);
    }
    let mut changes = Map::new();
    if fresh.default_config_references != status.default_config_references {
        let references = json!(fresh.default_config_references);
        changes.insert("defaultconfigReferences".to_owned(), references);
    }
    if fresh.install_progressions != status.install_progressions {
        let progressions = json!(fresh.install_progressions);
        changes.insert("installProgressions".to_owned(), progressions);
    }
    if changes.is_empty() {
        return Ok(Action::AwaitChange);
    }
    let patch = json!({
        "metadata": { "uid": definition.uid(), "resourceVersion": definition.resource_version() },
        "status": changes,
    });
    let api: Api<ClusterManagementAddOn> = Api::all(caches.client.clone());
    let (parameters, patch) = (PatchParams::default(), Patch::Merge(patch));
    match api.patch_status(addon.name(), &parameters, &patch).await {
        Ok(_) => Ok(Action::AwaitChange),
        Err(error) => match StatusReason::of(&error) {
            StatusReason::NotFound => Ok(Action::AwaitChange),
            StatusReason::Conflict => Ok(Action::Requeue),
            _ => Err(error.into()),
        },
    }
}

fn fingerprint(caches: &Caches, reference: &mut DefaultConfigReference) {
    if !is_ours(&reference.resource) {
        return;
    }
    let Some(ConfigSpecHash {
        namespace,
        name,
        spec_hash,
    }) = &mut reference.desired_config
    else {
        return;
    };
    let key = ObjectKey::new(&**namespace, &**name);
    if let Some(config) = caches.configs.get_valid(&key) {
        spec_hash.clone_from(&config.hash);
    }
}
