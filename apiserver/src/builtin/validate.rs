//! What is wrong with an object of a built-in kind.

use serde_json::Value;

use super::workloads;
use crate::failure::{Cause, FieldError};
use crate::kinds::Kind;
use crate::names;

/// The rule for names of a kind.
pub(crate) fn name_rule(kind: &Kind) -> fn(&str) -> Vec<String> {
    match (kind.group.as_str(), kind.resource.as_str()) {
        ("", "namespaces" | "services") => names::label,
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
            workloads::workload(object, &mut errors);
        }
        ("", "pods") => workloads::pod(object, &mut errors),
        ("", "services") => service(object, old, &mut errors),
        ("" | "events.k8s.io", "events") => event(object, &mut errors),
        ("coordination.k8s.io", "leases") => lease(object, &mut errors),
        ("batch", "cronjobs") => cron(object, &mut errors),
        ("batch", "jobs") => {
            if let Some(spec) = object.get("spec") {
                workloads::job(spec, "spec", &mut errors);
            }
            if let Some(old) = old {
                immutable(object, old, "spec.template", &mut errors);
            }
        }
        ("rbac.authorization.k8s.io", "roles" | "clusterroles") => rules(kind, object, &mut errors),
        ("rbac.authorization.k8s.io", "rolebindings" | "clusterrolebindings") => {
            if let Some(old) = old {
                immutable_role(object, old, &mut errors);
            }
        }
        ("certificates.k8s.io", "certificatesigningrequests") if old.is_none() => {
            super::requests::check(object, &mut errors);
        }
        ("apiextensions.k8s.io", "customresourcedefinitions") => {
            errors.extend(crate::schema::check_crd(object));
        }
        _ => {}
    }
    errors
}

/// The rules of a role.
fn rules(kind: &Kind, object: &Value, errors: &mut Vec<FieldError>) {
    let rules = object.get("rules").and_then(Value::as_array);
    for (place, rule) in rules.into_iter().flatten().enumerate() {
        let has = |field: &str| {
            rule.get(field)
                .and_then(Value::as_array)
                .is_some_and(|list| !list.is_empty())
        };
        let mut require = |field: &str, why: &str| {
            errors.push(FieldError::new(
                Cause::Required,
                format!("rules[{place}].{field}"),
                why,
            ));
        };
        if !has("verbs") {
            require("verbs", "verbs must contain at least one value");
        }
        if has("nonResourceURLs") {
            if kind.namespaced {
                errors.push(FieldError::of_value(
                    Cause::Invalid,
                    format!("rules[{place}].nonResourceURLs"),
                    rule.get("nonResourceURLs").unwrap_or(&Value::Null),
                    "namespaced rules cannot apply to non-resource URLs",
                ));
            }
            continue;
        }
        if !has("apiGroups") {
            require(
                "apiGroups",
                "resource rules must supply at least one api group",
            );
        }
        if !has("resources") {
            require(
                "resources",
                "resource rules must supply at least one resource",
            );
        }
    }
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
        let of = |field: &str| {
            object
                .pointer(&format!("/roleRef/{field}"))
                .cloned()
                .unwrap_or_default()
        };
        // Shown as the server's own type.
        let role = serde_json::json!({ "APIGroup": of("apiGroup"), "Kind": of("kind"), "Name": of("name") });
        errors.push(FieldError::of_value(
            Cause::Invalid,
            "roleRef",
            &role,
            "cannot change roleRef",
        ));
    }
}

/// A port's number at `field` of an object at `path`.
pub(super) fn port(object: &Value, field: &str, path: &str, errors: &mut Vec<FieldError>) {
    let number = object
        .get(field)
        .and_then(Value::as_i64)
        .unwrap_or_default();
    if !(1..=65535).contains(&number) {
        errors.push(FieldError::of_value(
            Cause::Invalid,
            format!("{path}.{field}"),
            &number.into(),
            "must be between 1 and 65535, inclusive",
        ));
    }
}

fn service(object: &Value, old: Option<&Value>, errors: &mut Vec<FieldError>) {
    let text = |object: &Value, path: &str| {
        object
            .pointer(path)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let headless = text(object, "/spec/clusterIP") == "None";
    let external = text(object, "/spec/type") == "ExternalName";
    let ports = object.pointer("/spec/ports").and_then(Value::as_array);
    if ports.is_none_or(Vec::is_empty) && !headless && !external {
        errors.push(FieldError::new(Cause::Required, "spec.ports", ""));
    }
    let many = ports.is_some_and(|ports| ports.len() > 1);
    for (place, one) in ports.into_iter().flatten().enumerate() {
        let path = format!("spec.ports[{place}]");
        if many && one.get("name").is_none() {
            errors.push(FieldError::new(Cause::Required, format!("{path}.name"), ""));
        }
        port(one, "port", &path, errors);
        if one.get("targetPort").is_some_and(Value::is_number) {
            port(one, "targetPort", &path, errors);
        }
    }
    if external && text(object, "/spec/externalName").is_empty() {
        errors.push(FieldError::new(Cause::Required, "spec.externalName", ""));
    }
    let Some(old) = old else {
        return;
    };
    let before = text(old, "/spec/clusterIP");
    let after = text(object, "/spec/clusterIP");
    if !before.is_empty()
        && before != after
        && !external
        && text(old, "/spec/type") != "ExternalName"
    {
        errors.push(FieldError::of_value(
            Cause::Invalid,
            "spec.clusterIPs[0]",
            &serde_json::json!([after]),
            "may not change once set",
        ));
    }
}

fn lease(object: &Value, errors: &mut Vec<FieldError>) {
    let Some(seconds) = object.pointer("/spec/leaseDurationSeconds") else {
        return;
    };
    if seconds.as_i64().is_some_and(|seconds| seconds <= 0) {
        errors.push(FieldError::of_value(
            Cause::Invalid,
            "spec.leaseDurationSeconds",
            seconds,
            "must be greater than 0",
        ));
    }
}

fn event(object: &Value, errors: &mut Vec<FieldError>) {
    let of = |path: &str| {
        object
            .pointer(path)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let (own, involved) = (of("/metadata/namespace"), of("/involvedObject/namespace"));
    let of_cluster = involved.is_empty() && own == "default";
    if involved != own && !of_cluster && !involved.is_empty() {
        errors.push(FieldError::of_value(
            Cause::Invalid,
            "involvedObject.namespace",
            &involved.into(),
            "does not match event.namespace",
        ));
    }
}

fn cron(object: &Value, errors: &mut Vec<FieldError>) {
    let schedule = object
        .pointer("/spec/schedule")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let fields: Vec<&str> = schedule.split_whitespace().collect();
    if schedule.is_empty() {
        errors.push(FieldError::new(Cause::Required, "spec.schedule", ""));
    } else if !schedule.starts_with('@') && fields.len() != 5 {
        let why = format!(
            "expected exactly 5 fields, found {}: [{}]",
            fields.len(),
            fields.join(" ")
        );
        errors.push(FieldError::of_value(
            Cause::Invalid,
            "spec.schedule",
            &schedule.into(),
            &why,
        ));
    }
    if let Some(spec) = object.pointer("/spec/jobTemplate/spec") {
        workloads::job(spec, "spec.jobTemplate.spec", errors);
    }
}
