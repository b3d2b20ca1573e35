//! Jobs: their generated selector and labels.

use serde_json::{Value, json};

use super::edit::set_default;
use crate::meta;

/// The label of a Pod with the uid of its Job.
pub(super) const UID: &str = "batch.kubernetes.io/controller-uid";

/// Prepares a new Job: generates its selector unless the Job has a manual one.
pub(super) fn begin(object: &mut Value) {
    let (uid, name) = (
        meta::text(object, "uid").to_owned(),
        meta::text(object, "name").to_owned(),
    );
    if object.pointer("/spec/manualSelector") != Some(&Value::Bool(true)) {
        let spec = &mut object["spec"];
        set_default(spec, "selector", json!({}));
        set_default(&mut spec["selector"], "matchLabels", json!({}));
        set_default(&mut spec["selector"]["matchLabels"], UID, uid.as_str());
        let metadata = &mut spec["template"]["metadata"];
        set_default(metadata, "labels", json!({}));
        for (label, value) in [
            (UID, &uid),
            ("controller-uid", &uid),
            ("batch.kubernetes.io/job-name", &name),
            ("job-name", &name),
        ] {
            set_default(&mut metadata["labels"], label, value.as_str());
        }
    }
}

/// A Job that has no labels of its own has those of its Pods.
pub(crate) fn label(object: &mut Value) {
    let labels = object.pointer("/spec/template/metadata/labels").cloned();
    if let Some(labels) = labels {
        set_default(&mut object["metadata"], "labels", labels);
    }
}
