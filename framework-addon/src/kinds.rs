//! Which kinds exist on the managed cluster, and which of them policy templates may be of.

use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use kube::core::GroupVersionKind;
use reeve_api::names::{POLICY_TYPE_LABEL, POLICY_TYPE_TEMPLATE};
use reeve_runtime::discovery::{Discovery, DiscoveryError, ServedKind};
use reeve_runtime::object::ObjectKey;
use reeve_runtime::watch::Store;
use serde::Deserialize;

/// How soon to look again for a kind that [is coming](Kinds::is_coming).
pub const KIND_IS_COMING: Duration = Duration::from_secs(1);

/// The few fields of a custom resource definition that are read. Schemas are most of its size.
#[derive(Resource, Deserialize, Clone, Debug)]
#[resource(inherit = CustomResourceDefinition)]
pub struct Crd {
    metadata: ObjectMeta,
    #[serde(default)]
    spec: Spec,
    #[serde(default)]
    status: Status,
}

#[derive(Deserialize, Clone, Debug, Default)]
#[serde(default)]
struct Spec {
    group: String,
    names: Names,
    versions: Vec<Version>,
}

#[derive(Deserialize, Clone, Debug, Default)]
#[serde(default)]
struct Names {
    kind: String,
}

#[derive(Deserialize, Clone, Debug, Default)]
#[serde(default)]
struct Version {
    name: String,
    served: bool,
    storage: bool,
}

#[derive(Deserialize, Clone, Debug, Default)]
#[serde(default)]
struct Status {
    conditions: Vec<Condition>,
}

#[derive(Deserialize, Clone, Debug, Default)]
#[serde(default)]
struct Condition {
    r#type: String,
    status: String,
}

/// What is kept of a custom resource definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrdFacts {
    /// Its group.
    pub group: String,
    /// Its kind.
    pub kind: String,
    /// The served versions, the one that objects are stored in first.
    pub served: Vec<String>,
    /// Whether the label says that its objects are policy templates.
    pub is_template: bool,
    /// Whether the API server has accepted it.
    pub established: bool,
}

impl CrdFacts {
    /// The facts of a definition.
    pub fn of(crd: Crd) -> Self {
        let label = crd
            .metadata
            .labels
            .as_ref()
            .and_then(|labels| labels.get(POLICY_TYPE_LABEL));
        let is_established =
            |condition: &Condition| condition.r#type == "Established" && condition.status == "True";
        let mut versions = crd.spec.versions;
        versions.retain(|version| version.served);
        versions.sort_by_key(|version| !version.storage);
        Self {
            is_template: label.is_some_and(|value| value == POLICY_TYPE_TEMPLATE),
            established: crd.status.conditions.iter().any(is_established),
            group: crd.spec.group,
            kind: crd.spec.names.kind,
            served: versions.into_iter().map(|version| version.name).collect(),
        }
    }
}

/// The kinds of the managed cluster.
#[derive(Clone)]
pub struct Kinds {
    discovery: Discovery,
    crds: Store<CrdFacts>,
}

impl Kinds {
    /// `crds` is the store of a watch of all definitions.
    pub fn new(discovery: Discovery, crds: Store<CrdFacts>) -> Self {
        Self { discovery, crds }
    }

    /// The resource that serves a kind.
    pub async fn find(&self, kind: &GroupVersionKind) -> Result<ServedKind, DiscoveryError> {
        // An empty or malformed apiVersion would ask for another page of the API server.
        if kind.version.is_empty() {
            return Err(DiscoveryError::UnknownVersion(kind.clone()));
        }
        self.discovery.find(kind).await
    }

    /// Whether objects of the kind may be policy templates: its definition carries the label.
    pub fn may_be_template(&self, kind: &ServedKind) -> bool {
        let name = format!("{}.{}", kind.resource.plural, kind.resource.group);
        let crd = self.crds.get_valid(&ObjectKey::new("", name));
        crd.is_some_and(|crd| crd.is_template)
    }

    /// All kinds of policy templates, each in one served version.
    pub fn template_kinds(&self) -> Vec<GroupVersionKind> {
        let mut kinds = self.crds.collect(|_, crd| {
            let version = crd
                .served
                .first()
                .filter(|_| crd.is_template && crd.established)?;
            Some(GroupVersionKind::gvk(&crd.group, version, &crd.kind))
        });
        kinds.sort_by(|one, two| (&one.group, &one.kind).cmp(&(&two.group, &two.kind)));
        kinds
    }

    /// Whether discovery, which does not know the kind yet, is about to: it follows the definition
    /// by a moment, and nothing tells when.
    pub fn is_coming(&self, kind: &GroupVersionKind) -> bool {
        let found = self.crds.collect(|_, crd| {
            let same = crd.established && crd.group == kind.group && crd.kind == kind.kind;
            (same && crd.served.contains(&kind.version)).then_some(())
        });
        !found.is_empty()
    }

    /// Forgets what was learnt of a group, because one of its definitions changed.
    pub fn forget_group(&self, group: &str) {
        self.discovery.forget_group(group);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn rough_edge_35_the_version_is_a_served_one() {
        let crd = Crd::deserialize(json!({
            "metadata": {"name": "teas.shop", "labels": {POLICY_TYPE_LABEL: "template"}},
            "spec": {
                "group": "shop", "scope": "Namespaced", "names": {"kind": "Tea", "plural": "teas"},
                "versions": [
                    {"name": "v1alpha1", "served": false, "storage": false, "schema": {}},
                    {"name": "v1beta1", "served": true, "storage": false},
                    {"name": "v1", "served": true, "storage": true}
                ]
            },
            "status": {"conditions": [{"type": "Established", "status": "True"}]}
        }));
        let facts = CrdFacts::of(crd.unwrap());
        assert_eq!(facts.served, ["v1", "v1beta1"]);
        assert!(facts.is_template && facts.established);
    }
}
