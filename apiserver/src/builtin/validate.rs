//! What is wrong with an object of a built-in kind.

use serde_json::Value;

use crate::failure::{Cause, FieldError};
use crate::kinds::Kind;
use crate::names;

/// The rule for names of a kind.
pub(crate) fn name_rule(kind: &Kind) -> fn(&str) -> Vec<String> {
    match (kind.group.as_str(), kind.resource.as_str()) {
        ("", "namespaces") => names::label,
        ("", "services") => names::label_1035,
        ("rbac.authorization.k8s.io" | "certificates.k8s.io", _) => names::path_segment,
        _ => names::subdomain,
    }
}

/// What is wrong with an object, and with the change from `old`.
pub(crate) fn validate(kind: &Kind, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    match (kind.group.as_str(), kind.resource.as_str()) {
        ("", "configmaps" | "secrets") => {
            keys(object, &mut errors);
            if let Some(old) = old {
                sealed(object, old, &mut errors);
                if kind.resource == "secrets" {
                    immutable(object, old, "type", &mut errors);
                }
            }
        }
        ("apps", "deployments" | "replicasets" | "daemonsets" | "statefulsets") => {
            if let Some(old) = old {
                immutable(object, old, "spec.selector", &mut errors);
            }
            super::validate::selector(object, &mut errors);
        }
        ("batch", "jobs") => {
            if let Some(old) = old {
                immutable(object, old, "spec.template", &mut errors);
            }
        }
        ("rbac.authorization.k8s.io", "rolebindings" | "clusterrolebindings") => {
            if let Some(old) = old {
                immutable_role(object, old, &mut errors);
            }
        }
        ("apiextensions.k8s.io", "customresourcedefinitions") => {}
        _ => {}
    }
    errors
}

fn keys(object: &Value, errors: &mut Vec<FieldError>) {
    for field in ["data", "binaryData"] {
        for key in object
            .get(field)
            .and_then(Value::as_object)
            .into_iter()
            .flat_map(|map| map.keys())
        {
            for why in names::config_key(key) {
                errors.push(FieldError::of_value(
                    Cause::Invalid,
                    format!("{field}[{key}]"),
                    &key.as_str().into(),
                    &why,
                ));
            }
        }
    }
}

/// A sealed ConfigMap or Secret does not change.
fn sealed(object: &Value, old: &Value, errors: &mut Vec<FieldError>) {
    if old.get("immutable") != Some(&Value::Bool(true)) {
        return;
    }
    if object.get("immutable") != Some(&Value::Bool(true)) {
        errors.push(FieldError::new(
            Cause::Forbidden,
            "immutable",
            "field is immutable when `immutable` is set",
        ));
    }
    for field in ["data", "binaryData"] {
        if object.get(field) != old.get(field) {
            errors.push(FieldError::new(
                Cause::Forbidden,
                field,
                "field is immutable when `immutable` is set",
            ));
        }
    }
}

fn immutable(object: &Value, old: &Value, field: &str, errors: &mut Vec<FieldError>) {
    let path = format!("/{}", field.replace('.', "/"));
    let (new, old) = (object.pointer(&path), old.pointer(&path));
    if new != old {
        errors.push(FieldError::of_value(
            Cause::Invalid,
            field,
            new.unwrap_or(&Value::Null),
            "field is immutable",
        ));
    }
}

fn immutable_role(object: &Value, old: &Value, errors: &mut Vec<FieldError>) {
    if object.get("roleRef") != old.get("roleRef") {
        errors.push(FieldError::of_value(
            Cause::Invalid,
            "roleRef",
            object.get("roleRef").unwrap_or(&Value::Null),
            "cannot change roleRef",
        ));
    }
}

/// A workload selects the pods that it makes.
fn selector(object: &Value, errors: &mut Vec<FieldError>) {
    let Some(selector) = object.pointer("/spec/selector") else {
        errors.push(FieldError::new(Cause::Required, "spec.selector", ""));
        return;
    };
    let labels = object.pointer("/spec/template/metadata/labels");
    let wanted = selector.get("matchLabels").and_then(Value::as_object);
    let selects = wanted
        .into_iter()
        .flatten()
        .all(|(key, value)| labels.and_then(|labels| labels.get(key)) == Some(value));
    if !selects {
        errors.push(FieldError::of_value(
            Cause::Invalid,
            "spec.template.metadata.labels",
            labels.unwrap_or(&Value::Null),
            "`selector` does not match template `labels`",
        ));
    }
}
