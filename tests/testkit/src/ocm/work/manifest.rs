//! The options of a work for its manifests.

use serde::Deserialize;
use serde_json::Value;

/// An object on the cluster, by resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Resource {
    pub(super) group: String,
    pub(super) version: String,
    pub(super) kind: String,
    pub(super) plural: String,
    /// Empty for objects of the cluster.
    pub(super) namespace: String,
    pub(super) name: String,
}

impl Resource {
    /// Whether both name one object, in whatever version of its kind.
    pub(super) fn is_same_object(&self, other: &Self) -> bool {
        self.group == other.group
            && self.plural == other.plural
            && self.namespace == other.namespace
            && self.name == other.name
    }
}

/// The options of a work that concern its manifests.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Settings {
    delete_option: DeleteOption,
    manifest_configs: Vec<ManifestConfig>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct DeleteOption {
    propagation_policy: String,
    selectively_orphans: Orphans,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Orphans {
    orphaning_rules: Vec<Identifier>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Identifier {
    group: String,
    resource: String,
    namespace: String,
    name: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ManifestConfig {
    resource_identifier: Identifier,
    pub(super) feedback_rules: Vec<Value>,
    feedback_scrape_type: String,
    update_strategy: Option<UpdateStrategy>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct UpdateStrategy {
    r#type: String,
    server_side_apply: Option<ServerSide>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ServerSide {
    field_manager: String,
    force: bool,
    ignore_fields: Vec<IgnoreField>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct IgnoreField {
    condition: String,
    json_paths: Vec<String>,
}

/// How a manifest reaches its object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Strategy {
    Update,
    CreateOnly,
    ReadOnly,
    ServerSide {
        manager: String,
        force: bool,
        /// Fields at the top that are left alone where the object is there.
        is_ignored: Vec<String>,
    },
}

impl Settings {
    /// Of the `spec` of a work. The schema has checked it.
    pub(super) fn of(spec: &Value) -> Self {
        Self::deserialize(spec).unwrap_or_default()
    }

    /// Whether this object stays when the work goes.
    pub(super) fn orphans(&self, resource: &Resource) -> bool {
        let option = &self.delete_option;
        match option.propagation_policy.as_str() {
            "Orphan" => true,
            "SelectivelyOrphan" => {
                let rules = &option.selectively_orphans.orphaning_rules;
                rules.iter().any(|rule| rule.names(resource))
            }
            _ => false,
        }
    }

    /// The configuration of this object.
    pub(super) fn config(&self, resource: &Resource) -> Option<&ManifestConfig> {
        let mut configs = self.manifest_configs.iter();
        configs.find(|config| config.resource_identifier.names(resource))
    }

    /// How this object is written.
    pub(super) fn strategy(&self, resource: &Resource) -> Strategy {
        let strategy = self
            .config(resource)
            .and_then(|config| config.update_strategy.clone())
            .unwrap_or_default();
        match strategy.r#type.as_str() {
            "CreateOnly" => Strategy::CreateOnly,
            "ReadOnly" => Strategy::ReadOnly,
            "ServerSideApply" => {
                let how = strategy.server_side_apply.unwrap_or_default();
                let is_ignored = how.is_ignored();
                let named = !how.field_manager.is_empty();
                let manager = named.then_some(how.field_manager);
                Strategy::ServerSide {
                    manager: manager.unwrap_or_else(|| "work-agent".to_owned()),
                    force: how.force,
                    is_ignored,
                }
            }
            _ => Strategy::Update,
        }
    }

    /// Whether the state of some object is to be reported at once.
    pub(super) fn watches(&self) -> bool {
        let mut configs = self.manifest_configs.iter();
        configs.any(|config| config.feedback_scrape_type == "Watch")
    }
}

impl ServerSide {
    fn is_ignored(&self) -> Vec<String> {
        let present = self
            .ignore_fields
            .iter()
            .filter(|field| field.condition == "OnSpokePresent");
        let paths = present.flat_map(|field| &field.json_paths);
        let names = paths.filter_map(|path| path.strip_prefix('.'));
        names.map(str::to_owned).collect()
    }
}

impl Identifier {
    fn names(&self, resource: &Resource) -> bool {
        self.group == resource.group
            && self.resource == resource.plural
            && self.namespace == resource.namespace
            && self.name == resource.name
    }
}

/// The place of a kind in the order of application: what others need comes first.
pub(super) fn rank(manifest: &Value) -> usize {
    const ORDER: [&str; 15] = [
        "Namespace",
        "CustomResourceDefinition",
        "NetworkPolicy",
        "ResourceQuota",
        "LimitRange",
        "ServiceAccount",
        "Secret",
        "ConfigMap",
        "ClusterRole",
        "ClusterRoleBinding",
        "Role",
        "RoleBinding",
        "Service",
        "Pod",
        "Deployment",
    ];
    let kind = manifest["kind"].as_str().unwrap_or_default();
    let place = ORDER.iter().position(|other| *other == kind);
    place.unwrap_or(ORDER.len())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Resource, Settings, Strategy, rank};

    fn map(name: &str) -> Resource {
        Resource {
            group: String::new(),
            version: "v1".to_owned(),
            kind: "ConfigMap".to_owned(),
            plural: "configmaps".to_owned(),
            namespace: "shop".to_owned(),
            name: name.to_owned(),
        }
    }

    #[test]
    fn dependencies_come_first() {
        let kinds = [
            "Deployment",
            "Unheard",
            "RoleBinding",
            "Namespace",
            "ServiceAccount",
        ];
        let mut manifests = kinds.map(|kind| json!({ "kind": kind }));
        manifests.sort_by_key(rank);
        let sorted = [
            "Namespace",
            "ServiceAccount",
            "RoleBinding",
            "Deployment",
            "Unheard",
        ];
        assert_eq!(manifests, sorted.map(|kind| json!({ "kind": kind })));
    }

    #[test]
    fn only_objects_named_by_rule_are_orphaned() {
        let rule = json!({ "resource": "configmaps", "namespace": "shop", "name": "stays" });
        let option = |policy: &str| {
            let rules = json!({ "orphaningRules": [rule] });
            let option = json!({ "propagationPolicy": policy, "selectivelyOrphans": rules });
            Settings::of(&json!({ "deleteOption": option }))
        };
        let orphans = |policy: &str, name: &str| option(policy).orphans(&map(name));
        assert!(orphans("SelectivelyOrphan", "stays") && !orphans("SelectivelyOrphan", "goes"));
        assert!(orphans("Orphan", "goes") && !orphans("Foreground", "stays"));
        assert!(!Settings::of(&json!({})).orphans(&map("stays")));
    }

    #[test]
    fn object_is_updated_by_default() {
        let config = |name: &str, strategy: serde_json::Value| {
            let identifier = json!({ "resource": "configmaps", "namespace": "shop", "name": name });
            json!({ "resourceIdentifier": identifier, "updateStrategy": strategy })
        };
        let settings = Settings::of(&json!({ "manifestConfigs": [
            config("once", json!({ "type": "CreateOnly" })),
            config("ours", json!({ "type": "ServerSideApply", "serverSideApply": {
                "ignoreFields": [
                    { "condition": "OnSpokePresent", "jsonPaths": [".spec"] },
                    { "condition": "OnSpokeChange", "jsonPaths": [".data"] },
                ],
            }})),
        ]}));
        let server_side = Strategy::ServerSide {
            manager: "work-agent".to_owned(),
            force: false,
            is_ignored: vec!["spec".to_owned()],
        };
        assert_eq!(settings.strategy(&map("once")), Strategy::CreateOnly);
        assert_eq!(settings.strategy(&map("ours")), server_side);
        assert_eq!(settings.strategy(&map("any")), Strategy::Update);
    }
}
