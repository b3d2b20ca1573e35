//! Fingerprints of configurations, by which OCM's addon-manager tells whether one has been applied.

use std::sync::Arc;

use kube::ResourceExt;
use kube::api::{Api, Patch, PatchParams};
use reeve_api::addon::{
    ADDON_GROUP, AddOnConfig, AddOnDeploymentConfig, ClusterManagementAddOn, ConfigReference,
    ConfigResource, ConfigSpecHash, DEPLOYMENT_CONFIGS, DefaultConfigReference, DeploymentSettings,
};
use reeve_runtime::object::{ObjectKey, StatusReason};
use reeve_runtime::queue::Action;
use serde_json::{Map, Value, json};

use crate::addon::Addon;
use crate::digest::Digest;
use crate::world::World;

/// The name in logs and metrics.
pub const CONTROLLER: &str = "cma-config-controller";

/// What is kept of a configuration.
#[derive(Clone, Debug)]
pub struct StoredConfig {
    /// What it says, or why that cannot be read.
    pub settings: Result<Arc<DeploymentSettings>, String>,
    /// Its fingerprint.
    pub hash: String,
    /// Counts its changes.
    pub generation: i64,
}

impl StoredConfig {
    /// What is kept of a configuration.
    pub fn of(config: &AddOnDeploymentConfig) -> Self {
        let spec = &config.spec.0;
        let settings = serde_json::from_value(Value::Object(spec.clone()));
        Self {
            settings: settings.map(Arc::new).map_err(|error| error.to_string()),
            hash: spec_hash(spec),
            generation: config.metadata.generation.unwrap_or_default(),
        }
    }
}

/// The fingerprint of an object that has a spec beside its metadata: SHA-256, in hex, of what Go's `encoding/json` makes
/// of it.
pub fn spec_hash(spec: &Map<String, Value>) -> String {
    let text = json!({ "spec": spec }).to_string();
    // Go escapes what could end a script in a page; these characters can only be in texts.
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '<' => escaped.push_str("\\u003c"),
            '>' => escaped.push_str("\\u003e"),
            '&' => escaped.push_str("\\u0026"),
            '\u{2028}' => escaped.push_str("\\u2028"),
            '\u{2029}' => escaped.push_str("\\u2029"),
            other => escaped.push(other),
        }
    }
    Digest::of_bytes(escaped.as_bytes()).to_string()
}

/// Whether references of this kind are to configurations of ours.
pub fn is_ours(resource: &ConfigResource) -> bool {
    resource.group == ADDON_GROUP && resource.resource == DEPLOYMENT_CONFIGS
}

/// The references of an add-on with what is known of the configurations; `None` if that is there already. The fingerprint
/// is told of those that the add-on itself asks for: of others, the definition of the add-on tells.
pub fn observed(
    world: &World,
    references: &[ConfigReference],
    asked: &[AddOnConfig],
) -> Option<Vec<ConfigReference>> {
    let mut observed = references.to_vec();
    for reference in observed.iter_mut().filter(|found| is_ours(&found.resource)) {
        let Some(desired) = &mut reference.desired_config else {
            continue;
        };
        let key = ObjectKey::new(&*desired.namespace, &*desired.name);
        let Some(config) = world.configs.get_valid(&key) else {
            continue;
        };
        reference.last_observed_generation = Some(config.generation);
        let is_asked = asked.iter().any(|asked| {
            asked.resource == reference.resource
                && (&asked.namespace, &asked.name) == (&desired.namespace, &desired.name)
        });
        if is_asked {
            desired.spec_hash.clone_from(&config.hash);
        }
    }
    (observed != references).then_some(observed)
}

/// Tells the fingerprints of the configurations that an add-on's definition names.
pub async fn reconcile(world: World, addon: Addon) -> Result<Action, kube::Error> {
    let key = ObjectKey::new("", addon.name());
    let Some(definition) = world.definitions.get_valid(&key) else {
        return Ok(Action::AwaitChange);
    };
    let Some(status) = &definition.status else {
        return Ok(Action::AwaitChange);
    };
    let mut fresh = status.clone();
    let progressions = fresh.install_progressions.iter_mut();
    let references = progressions.flat_map(|progression| &mut progression.config_references);
    for reference in fresh.default_config_references.iter_mut().chain(references) {
        fingerprint(&world, reference);
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
    let api: Api<ClusterManagementAddOn> = Api::all(world.client.clone());
    let (parameters, patch) = (PatchParams::default(), Patch::Merge(patch));
    match api.patch_status(addon.name(), &parameters, &patch).await {
        Ok(_) => Ok(Action::AwaitChange),
        Err(error) => match StatusReason::of(&error) {
            StatusReason::NotFound => Ok(Action::AwaitChange),
            StatusReason::Conflict => Ok(Action::Requeue),
            _ => Err(error),
        },
    }
}

fn fingerprint(world: &World, reference: &mut DefaultConfigReference) {
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
    if let Some(config) = world.configs.get_valid(&key) {
        spec_hash.clone_from(&config.hash);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_are_those_of_go() {
        let of = |spec: Value| spec_hash(spec.as_object().unwrap());
        // echo -n '{"spec":{}}' | sha256sum
        assert_eq!(
            of(json!({})),
            Digest::of_bytes(br#"{"spec":{}}"#).to_string()
        );
        let text = br#"{"spec":{"a":"\u003cb\u003e \u0026","z":1}}"#;
        assert_eq!(
            of(json!({"z": 1, "a": "<b> &"})),
            Digest::of_bytes(text).to_string()
        );
    }
}
