//! Templates, constraints and objects.

use serde_json::{Value, json};

use crate::clusters::Request;

pub const TEMPLATES: &str = "/apis/templates.gatekeeper.sh/v1/constrainttemplates";
pub const WEBHOOK: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/\
    gatekeeper-validating-webhook-configuration";

pub fn request(method: &'static str, path: &str, body: Value) -> Request {
    Request {
        method,
        path: path.to_owned(),
        body,
        patch: None,
        groups: &[],
    }
}

pub fn create(path: &str, body: Value) -> Request {
    request("POST", path, body)
}

pub fn merge(path: &str, body: Value) -> Request {
    Request {
        patch: Some("application/merge-patch+json"),
        ..request("PATCH", path, body)
    }
}

pub fn json_patch(path: &str, body: Value) -> Request {
    Request {
        patch: Some("application/json-patch+json"),
        ..request("PATCH", path, body)
    }
}

pub fn namespace(name: &str, labels: &Value) -> Request {
    create("/api/v1/namespaces", namespace_object(name, labels))
}

pub fn namespace_object(name: &str, labels: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})
}

pub fn config_map(name: &str, labels: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": labels}})
}

pub fn config_maps(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/configmaps")
}

/// Creates a `ConfigMap` without storing it.
pub fn trial(namespace: &str, object: Value) -> Request {
    create(&format!("{}?dryRun=All", config_maps(namespace)), object)
}

fn template_of(kind: &str, target: Value) -> Value {
    let mut target = target;
    target["target"] = json!("admission.k8s.gatekeeper.sh");
    json!({
        "apiVersion": "templates.gatekeeper.sh/v1", "kind": "ConstraintTemplate",
        "metadata": {"name": kind.to_lowercase()},
        "spec": {
            "crd": {"spec": {"names": {"kind": kind}, "validation": {"openAPIV3Schema": {
                "type": "object",
                "properties": {"labels": {"type": "array", "items": {"type": "string"}}},
            }}}},
            "targets": [target],
        },
    })
}

pub fn rego(kind: &str, source: &str) -> Value {
    template_of(kind, json!({"rego": source}))
}

pub fn rego_for(kind: &str, operations: &[&str], source: &str) -> Value {
    template_of(kind, json!({"rego": source, "operations": operations}))
}

pub fn cel(kind: &str, expression: &str, message: &str) -> Value {
    let source = json!({"validations": [{"expression": expression, "messageExpression": message}]});
    template_of(
        kind,
        json!({"code": [{"engine": "K8sNativeValidation", "source": source}]}),
    )
}

/// A template whose constraints want labels.
pub fn labels() -> Value {
    rego(
        "WantLabels",
        r#"package wantlabels
        violation[{"msg": msg}] {
          label := input.parameters.labels[_]
          not input.review.object.metadata.labels[label]
          msg := sprintf("%v %v: label %v is missing", [input.review.kind.kind, input.review.name, label])
        }"#,
    )
}

/// A template that prints what it sees of a request.
pub fn echo(kind: &str) -> Value {
    rego(
        kind,
        &r#"package echo
        violation[{"msg": msg}] {
          r := input.review
          keys := concat(",", sort([key | r[key]]))
          msg := sprintf("%v|%v|%v|%v|%v|%v|%v|%v|%v|%v|%v", [
            keys, r.operation, object.get(r, "name", "none"), object.get(r, "namespace", "none"), r.kind, r.resource,
            r.userInfo.username, sort(r.userInfo.groups), object.get(r, "dryRun", "none"), r.options,
            object.get(object.get(r.namespaceObject, "metadata", {}), "name", "none"),
          ])
        }"#
        .replace("package echo", &format!("package {}", kind.to_lowercase())),
    )
}

pub fn constraint(kind: &str, name: &str, spec: Value) -> Request {
    create(&constraints(kind), constraint_object(kind, name, spec))
}

pub fn constraint_object(kind: &str, name: &str, spec: Value) -> Value {
    let mut object = json!({
        "apiVersion": "constraints.gatekeeper.sh/v1beta1", "kind": kind, "metadata": {"name": name},
    });
    object["spec"] = spec;
    object
}

pub fn constraints(kind: &str) -> String {
    format!(
        "/apis/constraints.gatekeeper.sh/v1beta1/{}",
        kind.to_lowercase()
    )
}

/// A match of `ConfigMap`s by a pattern of their names.
pub fn maps(name: &str) -> Value {
    json!({"kinds": [{"apiGroups": [""], "kinds": ["ConfigMap"]}], "name": name})
}
