//! The shape of an object: which fields it has, whatever their values are.

use std::collections::BTreeSet;

use kube::ResourceExt as _;
use reeve_testkit::Object;
use serde_json::Value;

/// Paths of fields. Items of a list share one.
pub(crate) type Shape = BTreeSet<String>;

/// The shape of what components write: metadata but what the API server adds, and all other fields.
pub(crate) fn of(object: &Object) -> Shape {
    let mut shape = Shape::new();
    for label in object.labels().keys() {
        shape.insert(format!("label {label}"));
    }
    for annotation in object.annotations().keys() {
        shape.insert(format!("annotation {annotation}"));
    }
    for finalizer in object.finalizers() {
        shape.insert(format!("finalizer {finalizer}"));
    }
    for owner in object.owner_references() {
        let controls = owner.controller == Some(true);
        shape.insert(format!("owner {} {controls}", owner.kind));
    }
    collect(&object.data, "", &mut shape);
    shape
}

fn collect(value: &Value, path: &str, shape: &mut Shape) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                collect(value, &format!("{path}.{name}"), shape);
            }
        }
        Value::Array(items) => {
            for item in items {
                collect(item, &format!("{path}[]"), shape);
            }
        }
        _ => {
            shape.insert(path.to_owned());
        }
    }
}

/// Differences that the Go components are indifferent to.
pub(crate) fn is_known(path: &str) -> bool {
    KNOWN.contains(&path)
}

const KNOWN: &[&str] = &[
    // The API server fills these in, the latter by the default of upstream's CRD.
    ".type",
    ".spec.object-templates[].recreateOption",
    // Absent: Go writes a time that is not set as null.
    ".status.details[].templateMeta.creationTimestamp",
    // Upstream's controller writes them as well, but its recorded status is of its first evaluation.
    ".status.history[].lastTimestamp",
    ".status.history[].message",
    // The add-on manager and the work agent of Open Cluster Management have not been at what was recorded.
    "owner ClusterManagementAddOn true",
    "finalizer cluster.open-cluster-management.io/manifest-work-cleanup",
];
