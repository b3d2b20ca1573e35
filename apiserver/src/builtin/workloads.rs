//! What is wrong with Pods, and with what makes Pods.

use serde_json::Value;

use crate::failure::{Cause, FieldError};
use crate::names;

/// What has to be in a Pod's `restartPolicy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Restarts {
    /// Always.
    Always,
    /// Never or on failure: a Job's.
    AtMostOnFailure,
    /// Whatever there is.
    Any,
}

/// Of a Deployment, `ReplicaSet`, `DaemonSet` or `StatefulSet`.
pub(super) fn workload(object: &Value, errors: &mut Vec<FieldError>) {
    not_negative(
        object,
        &["replicas", "revisionHistoryLimit", "minReadySeconds"],
        errors,
    );
    selector(object, errors);
    if let Some(template) = object.pointer("/spec/template") {
        pod_template(template, "spec.template", Restarts::Always, errors);
    }
}

/// Of a Job's spec at `field`.
pub(super) fn job(spec: &Value, field: &str, errors: &mut Vec<FieldError>) {
    for count in [
        "parallelism",
        "completions",
        "backoffLimit",
        "activeDeadlineSeconds",
        "ttlSecondsAfterFinished",
    ] {
        number(spec, field, count, errors);
    }
    if let Some(template) = spec.get("template") {
        pod_template(
            template,
            &format!("{field}.template"),
            Restarts::AtMostOnFailure,
            errors,
        );
    }
}

/// Of a Pod.
pub(super) fn pod(object: &Value, errors: &mut Vec<FieldError>) {
    if let Some(spec) = object.get("spec") {
        pod_spec(spec, "spec", Restarts::Any, errors);
    }
}

fn not_negative(object: &Value, fields: &[&str], errors: &mut Vec<FieldError>) {
    if let Some(spec) = object.get("spec") {
        for field in fields {
            number(spec, "spec", field, errors);
        }
    }
}

fn number(spec: &Value, path: &str, field: &str, errors: &mut Vec<FieldError>) {
    if let Some(value) = spec
        .get(field)
        .filter(|value| value.as_i64().is_some_and(|value| value < 0))
    {
        errors.push(FieldError::of_value(
            Cause::Invalid,
            format!("{path}.{field}"),
            value,
            "must be greater than or equal to 0",
        ));
    }
}

/// A workload selects the Pods that it makes.
fn selector(object: &Value, errors: &mut Vec<FieldError>) {
    let selector = object
        .pointer("/spec/selector")
        .filter(|selector| !selector.is_null());
    let labels = object.pointer("/spec/template/metadata/labels");
    let selects = match selector {
        None => {
            errors.push(FieldError::new(Cause::Required, "spec.selector", ""));
            false
        }
        Some(selector) => {
            let wanted = selector.get("matchLabels").and_then(Value::as_object);
            let any = selector
                .as_object()
                .is_some_and(|selector| !selector.is_empty());
            if !any {
                errors.push(FieldError::of_value(
                    Cause::Invalid,
                    "spec.selector",
                    selector,
                    "empty selector is invalid for deployment",
                ));
            }
            wanted
                .into_iter()
                .flatten()
                .all(|(key, value)| labels.and_then(|labels| labels.get(key)) == Some(value))
        }
    };
    if !selects {
        errors.push(FieldError::of_value(
            Cause::Invalid,
            "spec.template.metadata.labels",
            labels.unwrap_or(&Value::Null),
            "`selector` does not match template `labels`",
        ));
    }
}

fn pod_template(template: &Value, field: &str, restarts: Restarts, errors: &mut Vec<FieldError>) {
    if let Some(spec) = template.get("spec") {
        pod_spec(spec, &format!("{field}.spec"), restarts, errors);
    }
}

fn pod_spec(spec: &Value, field: &str, restarts: Restarts, errors: &mut Vec<FieldError>) {
    let containers = spec.get("containers").and_then(Value::as_array);
    if containers.is_none_or(Vec::is_empty) {
        errors.push(FieldError::new(
            Cause::Required,
            format!("{field}.containers"),
            "",
        ));
    }
    for list in ["initContainers", "containers"] {
        let all = spec.get(list).and_then(Value::as_array);
        let mut names: Vec<&str> = Vec::new();
        for (place, one) in all.into_iter().flatten().enumerate() {
            let path = format!("{field}.{list}[{place}]");
            container(one, &path, errors);
            let name = one.get("name").and_then(Value::as_str).unwrap_or_default();
            if names.contains(&name) && !name.is_empty() {
                errors.push(FieldError::of_value(
                    Cause::Duplicate,
                    format!("{path}.name"),
                    &name.into(),
                    "",
                ));
            }
            names.push(name);
        }
    }
    restart_policy(spec, field, restarts, errors);
}

fn restart_policy(spec: &Value, field: &str, restarts: Restarts, errors: &mut Vec<FieldError>) {
    let given = spec.get("restartPolicy").cloned().unwrap_or_default();
    let policy = given.as_str().unwrap_or_default();
    let path = format!("{field}.restartPolicy");
    match restarts {
        Restarts::Always if policy != "Always" => {
            errors.push(FieldError::not_supported(path, &given, &["Always"]));
        }
        Restarts::AtMostOnFailure if policy == "Always" || policy.is_empty() => {
            let why = "valid values: \"OnFailure\", \"Never\"";
            errors.push(FieldError::new(Cause::Required, path, why));
        }
        _ if !["Always", "OnFailure", "Never"].contains(&policy) => {
            errors.push(FieldError::not_supported(
                path,
                &given,
                &["Always", "OnFailure", "Never"],
            ));
        }
        _ => {}
    }
}

fn container(container: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let text = |field: &str| {
        container
            .get(field)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    if text("name").is_empty() {
        errors.push(FieldError::new(Cause::Required, format!("{path}.name"), ""));
    } else {
        for why in names::label(text("name")) {
            errors.push(FieldError::of_value(
                Cause::Invalid,
                format!("{path}.name"),
                &text("name").into(),
                &why,
            ));
        }
    }
    if text("image").is_empty() {
        errors.push(FieldError::new(
            Cause::Required,
            format!("{path}.image"),
            "",
        ));
    }
    let ports = container.get("ports").and_then(Value::as_array);
    for (place, port) in ports.into_iter().flatten().enumerate() {
        let field = format!("{path}.ports[{place}]");
        super::validate::port(port, "containerPort", &field, errors);
    }
}
