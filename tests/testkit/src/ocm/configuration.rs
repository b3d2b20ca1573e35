//! Which configurations count for an add-on.

use anyhow::{Context, Result};
use kube::ResourceExt as _;
use kube::api::DynamicObject;
use serde_json::{Value, json};

use super::condition::Condition;
use super::mirror::Mirror;
use super::names::{ADDON_GROUP, CONFIG_RESOURCE};
use super::spec_hash::spec_hash;

/// A configuration that counts for an add-on.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Reference {
    group: String,
    resource: String,
    namespace: String,
    name: String,
    /// The hash and the generation of the configuration, when it is there.
    found: Option<(String, i64)>,
}

impl Reference {
    /// The key of this configuration in the annotation of works.
    pub(super) fn key(&self) -> String {
        format!(
            "{}.{}/{}/{}",
            self.resource, self.group, self.namespace, self.name
        )
    }

    /// The hash that works of this configuration carry.
    pub(super) fn hash(&self) -> &str {
        self.found.as_ref().map_or("", |(hash, _)| hash)
    }

    /// The entry for the status. `old` is the list of the live status; `applied` is whether the works
    /// of this state are applied.
    pub(super) fn to_json(&self, old: &Value, applied: bool) -> Value {
        let desired =
            json!({ "name": self.name, "namespace": self.namespace, "specHash": self.hash() });
        let mut entry = json!({
            "group": self.group,
            "resource": self.resource,
            "name": self.name,
            "namespace": self.namespace,
            "desiredConfig": desired,
        });
        if let Some((_, generation)) = self.found {
            entry["lastObservedGeneration"] = generation.into();
        }
        let before =
            old.as_array().into_iter().flatten().find(|before| {
                before["group"] == *self.group && before["resource"] == *self.resource
            });
        let last = before.map(|before| before["lastAppliedConfig"].clone());
        if applied && self.found.is_some() {
            entry["lastAppliedConfig"] = desired;
        } else if let Some(last) = last.filter(|last| !last.is_null()) {
            entry["lastAppliedConfig"] = last;
        }
        entry
    }
}

/// The configurations of an add-on: its own, and else the defaults of the definition, of each kind
/// that either supports.
pub(super) fn references(
    addon: &DynamicObject,
    definition: &DynamicObject,
    configs: &Mirror,
) -> Result<Vec<Reference>> {
    let offered = each(&definition.data["spec"]["supportedConfigs"]);
    let supported = each(&addon.data["status"]["supportedConfigs"]);
    let own = each(&addon.data["spec"]["configs"]).filter(|config| {
        let mut kinds = offered.clone().chain(supported.clone());
        kinds.any(|kind| same_kind(kind, config))
    });
    let own: Vec<&Value> = own.collect();
    let defaults = offered
        .clone()
        .filter(|kind| !kind["defaultConfig"].is_null())
        .filter(|kind| !own.iter().any(|config| same_kind(kind, config)))
        .map(|kind| (kind, &kind["defaultConfig"]));
    own.iter()
        .map(|config| (*config, *config))
        .chain(defaults)
        .map(|(kind, referent)| find(kind, referent, configs))
        .collect()
}

fn find(kind: &Value, referent: &Value, configs: &Mirror) -> Result<Reference> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (group, resource) = (text(&kind["group"]), text(&kind["resource"]));
    let (namespace, name) = (text(&referent["namespace"]), text(&referent["name"]));
    let known = group == ADDON_GROUP && resource == CONFIG_RESOURCE;
    let config = known.then(|| configs.find(&namespace, &name)).flatten();
    let found = match config {
        Some(config) => {
            let hash = spec_hash(&config.data).with_context(|| {
                format!(
                    "hashing the configuration {namespace}/{}",
                    config.name_any()
                )
            })?;
            Some((hash, config.metadata.generation.unwrap_or_default()))
        }
        None => None,
    };
    Ok(Reference {
        group,
        resource,
        namespace,
        name,
        found,
    })
}

/// The default configurations of an offer, as its status has them; hashes that are there already
/// stay.
pub(super) fn defaults(spec: &Value, old: &Value) -> Vec<Value> {
    let kinds = each(&spec["supportedConfigs"]).filter(|kind| !kind["defaultConfig"].is_null());
    kinds
        .map(|kind| {
            let referent = &kind["defaultConfig"];
            let before = each(old).find(|before| {
                same_kind(before, kind)
                    && before["desiredConfig"]["name"] == referent["name"]
                    && before["desiredConfig"]["namespace"] == referent["namespace"]
            });
            before.cloned().unwrap_or_else(|| {
                let mut desired = referent.clone();
                desired["specHash"] = "".into();
                json!({ "group": kind["group"], "resource": kind["resource"], "desiredConfig": desired })
            })
        })
        .collect()
}

/// The condition `Configured`.
pub(super) fn configured(references: &[Reference]) -> Condition<'static> {
    let missing = references
        .iter()
        .find(|reference| reference.found.is_none());
    match missing {
        None => Condition::new(
            "Configured",
            "True",
            "ConfigurationsConfigured",
            "Configurations configured",
        ),
        Some(missing) => {
            let message = format!("the configuration {} is not there", missing.key());
            Condition::new(
                "Configured",
                "False",
                "ConfigurationsNotConfigured",
                &message,
            )
        }
    }
}

fn each(list: &Value) -> impl Iterator<Item = &Value> + Clone {
    list.as_array().into_iter().flatten()
}

fn same_kind(one: &Value, other: &Value) -> bool {
    one["group"] == other["group"] && one["resource"] == other["resource"]
}
