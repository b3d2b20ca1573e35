//! Persistent volume claims.

use serde_json::Value;

use super::common;
use super::field::{Errors, FieldValue, immutable, one_of, optional_name};
use crate::names;

const MODES: [&str; 4] = [
    "ReadOnlyMany",
    "ReadWriteMany",
    "ReadWriteOnce",
    "ReadWriteOncePod",
];
pub(super) const VOLUME_MODES: [&str; 2] = ["Block", "Filesystem"];
const OF_CLAIMS: &str = "spec is immutable after creation except resources.requests and volumeAttributesClassName for \
    bound claims";

/// A claim.
pub(super) fn claim(object: &FieldValue<'_>, old: Option<&FieldValue<'_>>, errors: &mut Errors) {
    let spec = object.get("spec");
    claim_spec(&spec, errors);
    if let Some(old) = old {
        claim_update(&spec, &old.get("spec"), old, errors);
    }
}

pub(super) fn modes(at: &FieldValue<'_>, without: &str, errors: &mut Errors) {
    if at.is_empty() {
        errors.push(at.required(without));
    }
    for mode in at.items() {
        if !MODES.contains(&mode.text()) {
            errors.push(at.with(mode.value).unsupported(&MODES));
        }
    }
    let one = at.items().any(|mode| mode.text() == "ReadWriteOncePod");
    if one && at.len() > 1 {
        let why = "may not use ReadWriteOncePod with other access modes";
        errors.push(at.forbidden(why));
    }
}

/// A claim's spec, which may be that of a template.
pub(super) fn claim_spec(spec: &FieldValue<'_>, errors: &mut Errors) {
    let selector = spec.get("selector");
    if selector.is_set() {
        common::selector(&selector, errors);
    }
    let why = "at least 1 access mode is required";
    modes(&spec.get("accessModes"), why, errors);
    let requests = spec.get("resources.requests");
    let storage = FieldValue {
        value: requests.key("storage").value,
        path: format!("{}[storage]", spec.get("resources").path),
    };
    if storage.is_set() {
        positive(&storage, errors);
    } else {
        errors.push(storage.required(""));
    }
    optional_name(&spec.get("storageClassName"), names::subdomain, errors);
    one_of(&spec.get("volumeMode"), &VOLUME_MODES, errors);
    for field in ["dataSource", "dataSourceRef"] {
        let source = spec.get(field);
        if source.is_set() {
            source_of_claim(&source, errors);
        }
    }
}

fn source_of_claim(source: &FieldValue<'_>, errors: &mut Errors) {
    for field in ["name", "kind"] {
        let at = source.get(field);
        if at.is_empty() {
            errors.push(at.required(""));
        }
    }
    if source.get("apiGroup").is_empty()
        && !source.get("kind").is_empty()
        && source.get("kind").text() != "PersistentVolumeClaim"
    {
        let why = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
        errors.push(source.get("kind").invalid(why));
    }
}

pub(super) fn positive(at: &FieldValue<'_>, errors: &mut Errors) {
    if common::amount(at).is_some_and(|amount| amount <= 0) {
        errors.push(at.invalid("must be greater than zero"));
    }
}

fn claim_update(
    new: &FieldValue<'_>,
    old: &FieldValue<'_>,
    object: &FieldValue<'_>,
    errors: &mut Errors,
) {
    let bound = object.get("status.phase").text() == "Bound";
    let rest = |spec: &Value| {
        let mut rest = spec.clone();
        let Some(fields) = rest.as_object_mut() else {
            return rest;
        };
        // The volume of a claim is set once.
        if old.get("volumeName").is_empty() {
            fields.remove("volumeName");
        }
        if bound {
            fields.remove("volumeAttributesClassName");
            if let Some(resources) = fields.get_mut("resources").and_then(Value::as_object_mut) {
                resources.remove("requests");
            }
        }
        rest
    };
    if rest(new.value) != rest(old.value) {
        errors.push(new.forbidden(OF_CLAIMS));
    }
    mode_stays(new, old, errors);
    let size =
        |spec: &FieldValue<'_>| common::amount(&spec.get("resources.requests").key("storage"));
    if bound && size(new) < size(old) {
        let at = new.get("resources.requests.storage");
        errors.push(at.forbidden("field can not be less than status.capacity"));
    }
}

/// A kube-apiserver reports the field without its path.
pub(super) fn mode_stays(new: &FieldValue<'_>, old: &FieldValue<'_>, errors: &mut Errors) {
    let after = FieldValue {
        value: new.get("volumeMode").value,
        path: "volumeMode".to_owned(),
    };
    immutable(&after, &old.get("volumeMode"), errors);
}
