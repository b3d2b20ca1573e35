//! The policies of a fleet, as files.

use std::fs;
use std::path::Path;

use anyhow::Result;
use serde_json::{Value, json};

/// Writes policies of one `ConfigMap` each, one placement on all clusters, and the binding of all of them.
pub(crate) fn write(folder: &Path, count: usize) -> Result<()> {
    let placement = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
        "metadata": { "name": "all" }, "spec": {},
    });
    let subject = |number| json!({ "apiGroup": "policy.open-cluster-management.io", "kind": "Policy", "name": name(number) });
    let binding = json!({
        "apiVersion": "policy.open-cluster-management.io/v1", "kind": "PlacementBinding",
        "metadata": { "name": "all" },
        "placementRef": {
            "apiGroup": "cluster.open-cluster-management.io", "kind": "Placement", "name": "all",
        },
        "subjects": (0..count).map(subject).collect::<Vec<_>>(),
    });
    // JSON is YAML.
    fs::write(folder.join("placement.yaml"), placement.to_string())?;
    fs::write(folder.join("placement-binding.yaml"), binding.to_string())?;
    for number in 0..count {
        let path = folder.join(format!("{}.yaml", name(number)));
        fs::write(path, policy(number).to_string())?;
    }
    Ok(())
}

fn name(number: usize) -> String {
    format!("policy-{number}")
}

fn policy(number: usize) -> Value {
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": format!("bench-{number}"), "namespace": "default" },
        "data": { "one": "1", "two": "2", "three": "3" },
    });
    let configuration = json!({
        "apiVersion": "policy.open-cluster-management.io/v1", "kind": "ConfigurationPolicy",
        "metadata": { "name": name(number) },
        "spec": {
            "remediationAction": "enforce", "severity": "low",
            "object-templates": [{ "complianceType": "musthave", "objectDefinition": object }],
        },
    });
    json!({
        "apiVersion": "policy.open-cluster-management.io/v1", "kind": "Policy",
        "metadata": { "name": name(number) },
        "spec": {
            "disabled": false, "remediationAction": "enforce",
            "policy-templates": [{ "objectDefinition": configuration }],
        },
    })
}
