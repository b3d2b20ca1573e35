//! What the servers hold.

use serde_json::{Value, json};

/// How the names of all objects begin.
pub(crate) const PREFIX: &str = "object-";

/// A kind of objects.
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    /// Where its objects are.
    pub(crate) path: &'static str,
    make: fn(&str) -> Value,
}

/// One that both servers have from the start, and one by a CRD with a schema.
pub(crate) const KINDS: [Kind; 2] = [
    Kind {
        name: "ConfigMap",
        path: "/api/v1/namespaces/bench/configmaps",
        make: config_map,
    },
    Kind {
        name: "Policy",
        path: "/apis/policy.open-cluster-management.io/v1/namespaces/bench/policies",
        make: policy,
    },
];

impl Kind {
    /// The name of an object.
    pub(crate) fn object_name(number: usize) -> String {
        format!("{PREFIX}{number}")
    }

    /// The path of an object.
    pub(crate) fn object_path(&self, number: usize) -> String {
        format!("{}/{}", self.path, Self::object_name(number))
    }

    /// An object as it is first, or as it is after the version that it is to follow.
    pub(crate) fn body(&self, number: usize, after: Option<&str>) -> Vec<u8> {
        let mut object = (self.make)(if after.is_some() { "b" } else { "a" });
        let mut metadata = json!({ "namespace": "bench", "name": Self::object_name(number) });
        if let Some(version) = after {
            metadata["resourceVersion"] = version.into();
        }
        object["metadata"] = metadata;
        object.to_string().into_bytes()
    }
}

/// With a value of one KiB.
fn config_map(filler: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "data": { "value": filler.repeat(1024) },
    })
}

/// With one template for a `ConfigMap`.
fn policy(filler: &str) -> Value {
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": "bench", "namespace": "default" },
        "data": { "value": filler.repeat(256) },
    });
    let configuration = json!({
        "apiVersion": "policy.open-cluster-management.io/v1", "kind": "ConfigurationPolicy",
        "metadata": { "name": "bench" },
        "spec": {
            "remediationAction": "inform", "severity": "low",
            "namespaceSelector": { "include": ["default"], "exclude": ["kube-*"] },
            "object-templates": [{ "complianceType": "musthave", "objectDefinition": object }],
        },
    });
    json!({
        "apiVersion": "policy.open-cluster-management.io/v1", "kind": "Policy",
        "spec": {
            "disabled": false, "remediationAction": "inform",
            "policy-templates": [{ "objectDefinition": configuration }],
        },
    })
}
