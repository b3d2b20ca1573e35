//! Desired `ManifestWork`s, and the kept part of live ones.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::ResourceExt;
use reeve_api::work::{ManifestCondition, ManifestWork, ManifestWorkStatus};
use reeve_runtime::object::ObjectKey;
use serde_json::{Map, Value, json};

use crate::addon::{ADDON_NAME_LABEL, ADDON_NAMESPACE_LABEL, Addon, Installation};
use crate::digest::Digest;
use crate::identity::{Identity, is_orphan, resource};
use crate::work_conditions;
use crate::work_report::{REAPPLIED_AT, Report, is_applied, manifests};

/// Annotation of a work: the hashes of its configurations.
pub const CONFIG_HASH: &str = "open-cluster-management.io/config-spec-hash";

/// A desired work.
#[derive(Clone, Debug)]
pub struct Desired {
    /// Namespace and name of the work.
    pub key: ObjectKey,
    /// All labels.
    pub labels: BTreeMap<String, String>,
    /// All annotations.
    pub annotations: BTreeMap<String, String>,
    /// All owners.
    pub owners: Vec<OwnerReference>,
    /// The spec.
    pub spec: Map<String, Value>,
    /// The digest of all of that.
    pub digest: Digest,
}

/// The kept part of a live work. Its objects are known by identity only: they would take most of the memory.
#[derive(Clone, Debug)]
pub struct Live {
    /// Distinguishes it from a later one of the same name.
    pub uid: String,
    /// The precondition of a write.
    pub resource_version: String,
    /// Counts the changes of its spec.
    pub generation: i64,
    /// The digest of the fields that [`Desired`] has.
    pub digest: Digest,
    /// Its objects, in their order.
    pub layout: Vec<Identity>,
    /// The keys of labels, annotations and spec; those that are not desired are removed.
    pub keys: Keys,
    /// Whether its objects are applied, if the agent has reported it.
    pub is_applied: Option<bool>,
    /// Namespaces in it that the work agent has orphaned: they stay when they leave the work.
    pub orphaned_namespaces: Vec<String>,
    /// The agent's report, which decides whether to apply the work again.
    pub report: Report,
    /// Whether its objects exist.
    pub is_available: bool,
    /// The feedback of its objects.
    pub feedback: Vec<(String, String)>,
    /// Whether it has an owner.
    pub is_owned: bool,
    /// Whether it is terminating.
    pub is_deleting: bool,
}

/// The keys of a work's maps.
#[derive(Clone, Debug, Default)]
pub struct Keys {
    labels: Vec<String>,
    annotations: Vec<String>,
    spec: Vec<String>,
}

/// The content of a work, before it has a name.
#[derive(Debug)]
pub struct Content<'a> {
    /// The objects.
    pub manifests: Vec<Value>,
    /// Settings of single objects.
    pub configs: Vec<Value>,
    /// The hashes of the configurations; `None` omits the annotation.
    pub config_hash: Option<&'a str>,
    /// When it was last applied again; `None` omits the label.
    pub reapplied_at: Option<i64>,
}

impl Desired {
    /// A work of an installation, in a namespace. `owner` owns it if it is in the same namespace.
    pub fn new(
        installation: &Installation,
        owner: Option<&OwnerReference>,
        key: ObjectKey,
        content: &Content<'_>,
    ) -> Self {
        let mut labels = BTreeMap::from([(
            ADDON_NAME_LABEL.to_owned(),
            installation.addon.name().to_owned(),
        )]);
        if let Some(at) = content.reapplied_at {
            labels.insert(REAPPLIED_AT.to_owned(), at.to_string());
        }
        let mut owners = Vec::new();
        if key.namespace == installation.cluster {
            owners.extend(owner.cloned());
        } else {
            let namespace = installation.cluster.clone();
            labels.insert(ADDON_NAMESPACE_LABEL.to_owned(), namespace);
        }
        let mut annotations = BTreeMap::new();
        if let Some(hash) = content.config_hash {
            annotations.insert(CONFIG_HASH.to_owned(), hash.to_owned());
        }
        let spec = spec(&content.manifests, &content.configs);
        let digest = digest(&labels, &annotations, &owners, &spec);
        Self {
            key,
            labels,
            annotations,
            owners,
            spec,
            digest,
        }
    }

    /// The patch that makes a live work equal to this one; it fails if the live work has changed.
    pub fn patch(&self, live: &Live) -> Value {
        let with_nulls = |desired: &BTreeMap<String, String>, present: &[String]| {
            let mut map: Map<String, Value> = Map::new();
            for key in present {
                map.insert(key.clone(), Value::Null);
            }
            for (key, value) in desired {
                map.insert(key.clone(), json!(value));
            }
            map
        };
        let mut spec = Map::new();
        for key in &live.keys.spec {
            spec.insert(key.clone(), Value::Null);
        }
        spec.extend(self.spec.clone());
        // Fields below a key of the spec are merged: those that are not desired become null.
        if let Some(option) = spec.get_mut("deleteOption").and_then(Value::as_object_mut) {
            option
                .entry("ttlSecondsAfterFinished")
                .or_insert(Value::Null);
        }
        json!({
            "metadata": {
                "uid": live.uid,
                "resourceVersion": live.resource_version,
                "labels": with_nulls(&self.labels, &live.keys.labels),
                "annotations": with_nulls(&self.annotations, &live.keys.annotations),
                "ownerReferences": self.owners,
            },
            "spec": spec,
        })
    }

    /// The object to create.
    pub fn object(&self) -> Value {
        json!({
            "apiVersion": "work.open-cluster-management.io/v1",
            "kind": "ManifestWork",
            "metadata": {
                "namespace": self.key.namespace,
                "name": self.key.name,
                "labels": self.labels,
                "annotations": self.annotations,
                "ownerReferences": self.owners,
            },
            "spec": self.spec,
        })
    }
}

fn spec(manifests: &[Value], configs: &[Value]) -> Map<String, Value> {
    let rules: Vec<Value> = manifests
        .iter()
        .filter(|object| is_orphan(object))
        .map(|object| Value::Object(resource(object)))
        .collect();
    let mut spec = Map::new();
    if !rules.is_empty() {
        let option = json!({
            "propagationPolicy": "SelectivelyOrphan",
            "selectivelyOrphans": { "orphaningRules": rules },
        });
        spec.insert("deleteOption".to_owned(), option);
    }
    if !configs.is_empty() {
        spec.insert("manifestConfigs".to_owned(), json!(configs));
    }
    spec.insert("workload".to_owned(), json!({ "manifests": manifests }));
    spec
}

/// The digest of a work's fields. Unset times, which Go writes, and the CRD's defaults of feedback are left out.
fn digest(
    labels: &BTreeMap<String, String>,
    annotations: &BTreeMap<String, String>,
    owners: &[OwnerReference],
    spec: &Map<String, Value>,
) -> Digest {
    let mut spec = spec.clone();
    let manifests = spec
        .get_mut("workload")
        .and_then(|workload| workload["manifests"].as_array_mut());
    for metadata in manifests
        .into_iter()
        .flatten()
        .filter_map(|object| object["metadata"].as_object_mut())
    {
        metadata.remove("creationTimestamp");
    }
    let configs = spec
        .get_mut("manifestConfigs")
        .and_then(Value::as_array_mut);
    for config in configs
        .into_iter()
        .flatten()
        .filter_map(Value::as_object_mut)
    {
        config.remove("feedbackScrapeType");
    }
    Digest::of(&(labels, annotations, owners, spec))
}

impl Live {
    /// The kept part of a work.
    pub fn of(mut work: ManifestWork) -> Self {
        let status = work.status.take().unwrap_or_default();
        let condition = |kind: &str| work_conditions::status(&status.conditions, kind);
        let layout = manifests(&work).map(Identity::of).collect();
        let keys = |map: &BTreeMap<String, String>| map.keys().cloned().collect();
        let owners = work.metadata.owner_references.clone().unwrap_or_default();
        Self {
            uid: work.uid().unwrap_or_default(),
            resource_version: work.resource_version().unwrap_or_default(),
            generation: work.metadata.generation.unwrap_or_default(),
            digest: digest(work.labels(), work.annotations(), &owners, &work.spec.0),
            layout,
            keys: Keys {
                labels: keys(work.labels()),
                annotations: keys(work.annotations()),
                spec: work.spec.0.keys().cloned().collect(),
            },
            is_applied: condition("Applied"),
            orphaned_namespaces: orphaned_namespaces(&work, &status),
            report: Report::of(&work, &status),
            is_available: condition("Available") == Some(true),
            feedback: status
                .resource_status
                .manifests
                .iter()
                .filter_map(phase)
                .collect(),
            is_owned: !owners.is_empty(),
            is_deleting: work.metadata.deletion_timestamp.is_some(),
        }
    }

    /// Whether all hooks in it have succeeded.
    pub fn has_succeeded(&self, hooks: &[String]) -> bool {
        let succeeded = |hook: &String| {
            let found = self.feedback.iter().find(|(name, _)| name == hook);
            found.is_some_and(|(_, value)| value == "Succeeded" || value == "True")
        };
        self.is_available && hooks.iter().all(succeeded)
    }
}

/// The namespaces that the agent orphans when they leave the work, once it has applied the current spec to them.
/// Failures of other objects do not matter.
fn orphaned_namespaces(work: &ManifestWork, status: &ManifestWorkStatus) -> Vec<String> {
    let Some(option) = work.spec.0.get("deleteOption") else {
        return Vec::new();
    };
    let rules = option["selectivelyOrphans"]["orphaningRules"].as_array();
    // As the agent evaluates it: a rule must name exactly the group, resource and name of a namespace.
    let is_orphan = |name: &str| match option["propagationPolicy"].as_str() {
        Some("Orphan") => true,
        Some("SelectivelyOrphan") => rules.into_iter().flatten().any(|rule| {
            let text = |key: &str| rule[key].as_str().unwrap_or_default();
            text("resource") == "namespaces"
                && text("name") == name
                && text("group").is_empty()
                && text("namespace").is_empty()
        }),
        _ => false,
    };
    let all = is_applied(&status.conditions, work);
    let is_applied = |name: &str| {
        let mut reports = status.resource_status.manifests.iter();
        all || reports.any(|report| {
            let meta = &report.resource_meta;
            meta.resource == "namespaces"
                && meta.name == name
                && is_applied(&report.conditions, work)
        })
    };
    manifests(work)
        .filter(|object| object["kind"] == "Namespace")
        .filter_map(|object| object["metadata"]["name"].as_str())
        .filter(|name| is_orphan(name) && is_applied(name))
        .map(str::to_owned)
        .collect()
}

/// The name of a hook in feedback: its plural, namespace and name.
pub fn hook_name(object: &Value) -> String {
    let resource = resource(object);
    let text = |key: &str| {
        resource
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    format!(
        "{}/{}/{}",
        text("resource"),
        text("namespace"),
        text("name")
    )
}

fn phase(manifest: &ManifestCondition) -> Option<(String, String)> {
    let values = &manifest.status_feedback.values;
    let value = values
        .iter()
        .find(|value| matches!(value.name.as_str(), "PodPhase" | "JobComplete"))?;
    let meta = &manifest.resource_meta;
    let name = format!("{}/{}/{}", meta.resource, meta.namespace, meta.name);
    Some((name, value.field_value.string.clone()?))
}

/// The names of works.
pub mod names {
    use super::Installation;

    /// The name of the work with the objects for the managed cluster.
    pub fn deploy(installation: &Installation, index: usize) -> String {
        format!("addon-{}-deploy-{index}", installation.addon)
    }

    /// The name of the work with the objects for the hosting cluster.
    pub fn hosting_deploy(installation: &Installation, index: usize) -> String {
        let Installation { cluster, addon } = installation;
        format!("addon-{addon}-deploy-hosting-{cluster}-{index}")
    }

    /// The name of the work with the hook.
    pub fn hook(installation: &Installation) -> String {
        format!("addon-{}-pre-delete", installation.addon)
    }

    /// The name of the work with the hook on the hosting cluster.
    pub fn hosting_hook(installation: &Installation) -> String {
        let Installation { cluster, addon } = installation;
        format!("addon-{addon}-pre-delete-hosting-{cluster}")
    }
}

/// The installation of a work, by its labels and its name; `None` for a work of others.
pub fn installation_of(work: &ManifestWork) -> Option<Installation> {
    let addon = Addon::of(work.labels().get(ADDON_NAME_LABEL)?)?;
    if !work.name_any().starts_with(&format!("addon-{addon}-")) {
        return None;
    }
    let cluster = work.labels().get(ADDON_NAMESPACE_LABEL).cloned();
    Some(Installation::new(
        cluster.or_else(|| work.namespace())?,
        addon,
    ))
}
