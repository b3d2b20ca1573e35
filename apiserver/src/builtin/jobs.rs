//! Jobs: they know their Pods by labels that they are given.

use serde_json::{Value, json};

use super::edit::or;
use crate::meta;

/// The label that says whose a Pod is: the Job's uid.
pub(super) const UID: &str = "batch.kubernetes.io/controller-uid";

/// What a new Job is: its selector is made for it unless it asks to have one of its own.
pub(super) fn begin(object: &mut Value) {
    let (uid, name) = (
        meta::text(object, "uid").to_owned(),
        meta::text(object, "name").to_owned(),
    );
    if object.pointer("/spec/manualSelector") != Some(&Value::Bool(true)) {
        let spec = &mut object["spec"];
        or(spec, "selector", json!({}));
        or(&mut spec["selector"], "matchLabels", json!({}));
        or(&mut spec["selector"]["matchLabels"], UID, uid.as_str());
        let metadata = &mut spec["template"]["metadata"];
        or(metadata, "labels", json!({}));
        for (label, value) in [
            (UID, &uid),
            ("controller-uid", &uid),
            ("batch.kubernetes.io/job-name", &name),
            ("job-name", &name),
        ] {
            or(&mut metadata["labels"], label, value.as_str());
        }
    }
}

/// A Job that has no labels of its own has those of its Pods.
pub(crate) fn label(object: &mut Value) {
    let labels = object.pointer("/spec/template/metadata/labels").cloned();
    if let Some(labels) = labels {
        or(&mut object["metadata"], "labels", labels);
    }
}
