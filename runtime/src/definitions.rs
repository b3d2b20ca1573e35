//! Custom resource definitions, reduced to the kinds that they define.

use std::collections::BTreeMap;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::Api;
use kube::core::GroupVersionKind;
use kube::{Client, Resource};
use serde::Deserialize;

use crate::watch::{Store, Watch};

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
    /// `null` until the API server has looked at the definition.
    conditions: Option<Vec<Condition>>,
}

#[derive(Deserialize, Clone, Debug, Default)]
#[serde(default)]
struct Condition {
    r#type: String,
    status: String,
}

/// What is kept of a custom resource definition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Definition {
    /// Its group.
    pub group: String,
    /// Its kind.
    pub kind: String,
    /// The served versions, the one that objects are stored in first.
    pub served: Vec<String>,
    /// Whether the API server has accepted it.
    pub established: bool,
    /// Whether it is being deleted.
    pub terminating: bool,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
}

impl Definition {
    /// What is kept of a definition.
    pub fn of(crd: Crd) -> Self {
        let is_established =
            |condition: &Condition| condition.r#type == "Established" && condition.status == "True";
        let mut versions = crd.spec.versions;
        versions.retain(|version| version.served);
        versions.sort_by_key(|version| !version.storage);
        Self {
            established: crd.status.conditions.iter().flatten().any(is_established),
            terminating: crd.metadata.deletion_timestamp.is_some(),
            group: crd.spec.group,
            kind: crd.spec.names.kind,
            served: versions.into_iter().map(|version| version.name).collect(),
            labels: crd.metadata.labels.unwrap_or_default(),
        }
    }

    /// Whether the API server is to serve the kind because of this definition.
    pub fn defines(&self, kind: &GroupVersionKind) -> bool {
        self.established
            && self.group == kind.group
            && self.kind == kind.kind
            && self.served.contains(&kind.version)
    }
}

/// A watch of all definitions.
pub fn watch(client: &Client) -> Watch<Crd, Definition> {
    Watch::projected(Api::all(client.clone()), Definition::of)
}

/// Whether an established definition serves the kind. Discovery follows the definition by a moment, without an event.
pub fn is_defined(definitions: &Store<Definition>, kind: &GroupVersionKind) -> bool {
    let found = definitions.collect(|_, definition| definition.defines(kind).then_some(()));
    !found.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn version_is_a_served_one() {
        let crd = Crd::deserialize(json!({
            "metadata": {"name": "teas.shop", "labels": {"a": "b"}},
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
        let definition = Definition::of(crd.unwrap());
        assert_eq!(definition.served, ["v1", "v1beta1"]);
        assert_eq!(definition.labels["a"], "b");
        assert!(definition.established && !definition.terminating);
        assert!(definition.defines(&GroupVersionKind::gvk("shop", "v1", "Tea")));
        assert!(!definition.defines(&GroupVersionKind::gvk("shop", "v1alpha1", "Tea")));
    }

    #[test]
    fn definition_without_conditions_is_decoded() {
        let crd = Crd::deserialize(json!({
            "metadata": {"name": "teas.shop"},
            "spec": {"group": "shop", "names": {"kind": "Tea"}, "versions": []},
            "status": {"conditions": null}
        }));
        assert!(!Definition::of(crd.unwrap()).established);
    }
}
