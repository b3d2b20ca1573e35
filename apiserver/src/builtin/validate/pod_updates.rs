//! What of a Pod may change.

use reeve_go_compat::runes::quote;
use serde_json::{Map, Value};

use super::field::{Errors, FieldValue};
use crate::status_error::{Cause, FieldError};

const OTHER_FIELDS: &str = "pod updates may not change fields other than `spec.containers[*].image`,\
    `spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing \
    tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

/// Of the whole Pod.
pub(super) fn pod(new: &FieldValue<'_>, old: &FieldValue<'_>, errors: &mut Errors) {
    let (new, old) = (new.get("spec"), old.get("spec"));
    for list in ["containers", "initContainers"] {
        let (after, before) = (new.get(list), old.get(list));
        if after.len() != before.len() {
            errors.push(after.forbidden("pod updates may not add or remove containers"));
            return;
        }
    }
    for list in ["containers", "initContainers"] {
        for image in new.get(list).items().map(|one| one.get("image")) {
            if image.text().trim().is_empty() {
                errors.push(image.required(""));
            }
        }
    }
    deadline(
        &new.get("activeDeadlineSeconds"),
        &old.get("activeDeadlineSeconds"),
        errors,
    );
    if !gates(&new, &old, errors) {
        return;
    }
    tolerations(&new.get("tolerations"), &old.get("tolerations"), errors);
    let gated = !old.get("schedulingGates").is_empty();
    if rest(new.value, old.value, gated) != rest(old.value, old.value, gated) {
        errors.push(new.forbidden(OTHER_FIELDS));
    }
}

fn deadline(new: &FieldValue<'_>, old: &FieldValue<'_>, errors: &mut Errors) {
    match (new.number(), old.number()) {
        (Some(after), Some(before)) if after > before => {
            errors.push(new.invalid("must be less than or equal to previous value"));
        }
        (None, Some(_)) => {
            errors.push(new.invalid("must not update from a positive integer to nil value"));
        }
        _ => {}
    }
}

/// Gates only go. Answers whether that is so.
fn gates(new: &FieldValue<'_>, old: &FieldValue<'_>, errors: &mut Errors) -> bool {
    let before = old.get("schedulingGates");
    let known: Vec<&str> = before.items().map(|one| one.get("name").text()).collect();
    let gates = new.get("schedulingGates");
    let names = gates.items().map(|one| one.get("name"));
    let before = errors.len();
    for name in names.filter(|name| !known.contains(&name.text())) {
        let why = format!(
            "only deletion is allowed, but found new scheduling gate '{}'",
            name.text()
        );
        errors.push(name.forbidden(&why));
    }
    errors.len() == before
}

/// Tolerations are only added, and those that there are only last for another time.
fn tolerations(new: &FieldValue<'_>, old: &FieldValue<'_>, errors: &mut Errors) {
    let plain = |one: &Value| {
        let mut one = one.clone();
        if let Some(fields) = one.as_object_mut() {
            fields.remove("tolerationSeconds");
        }
        one
    };
    let after: Vec<Value> = new.items().map(|one| plain(one.value)).collect();
    if !old.items().all(|one| after.contains(&plain(one.value))) {
        errors.push(
            new.forbidden("existing toleration can not be modified except its tolerationSeconds"),
        );
    }
}

/// A spec without what may change.
fn rest(spec: &Value, old: &Value, gated: bool) -> Value {
    let mut rest = spec.clone();
    let Some(fields) = rest.as_object_mut() else {
        return rest;
    };
    for list in ["containers", "initContainers"] {
        let containers = fields.get_mut(list).and_then(Value::as_array_mut);
        for one in containers.into_iter().flatten() {
            take(one, "image");
        }
    }
    for field in ["activeDeadlineSeconds", "tolerations", "schedulingGates"] {
        fields.remove(field);
    }
    let grace_period = |spec: &Value| {
        spec.get("terminationGracePeriodSeconds")
            .and_then(Value::as_i64)
    };
    if grace_period(spec) == Some(1) && grace_period(old).is_some_and(|seconds| seconds < 0) {
        let before = old
            .get("terminationGracePeriodSeconds")
            .cloned()
            .unwrap_or_default();
        fields.insert("terminationGracePeriodSeconds".to_owned(), before);
    }
    if gated {
        keep_what_narrows(fields, old);
    }
    rest
}

/// A Pod that waits at a gate may ask for fewer nodes.
fn keep_what_narrows(fields: &mut Map<String, Value>, old: &Value) {
    let before = old.get("nodeSelector").and_then(Value::as_object);
    let after = fields.get("nodeSelector").and_then(Value::as_object);
    let narrows = before
        .into_iter()
        .flatten()
        .all(|(key, value)| after.and_then(|after| after.get(key)) == Some(value));
    if narrows {
        fields.remove("nodeSelector");
    }
}

fn take(object: &mut Value, field: &str) {
    if let Some(fields) = object.as_object_mut() {
        fields.remove(field);
    }
}

/// Of an ephemeral container nothing changes.
pub(super) fn ephemeral(new: &FieldValue<'_>, old: &FieldValue<'_>, errors: &mut Errors) {
    let (new, old) = (
        new.get("spec.ephemeralContainers"),
        old.get("spec.ephemeralContainers"),
    );
    let by_name = |list: &FieldValue<'_>, name: &str| {
        list.items()
            .find(|one| one.get("name").text() == name)
            .map(|one| one.value.clone())
    };
    for one in old.items() {
        let name = one.get("name").text();
        let refused = match by_name(&new, name) {
            None => format!(
                "existing ephemeral containers {} may not be removed\n",
                quote(name)
            ),
            Some(other) if other != *one.value => {
                format!(
                    "existing ephemeral containers {} may not be changed\n",
                    quote(name)
                )
            }
            Some(_) => continue,
        };
        errors.push(FieldError::new(Cause::Forbidden, &new.path, &refused));
    }
}
