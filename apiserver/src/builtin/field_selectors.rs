//! Field selectors of the built-in kinds.

use reeve_go_compat::runes::quote;
use serde_json::Value;

use crate::kinds::Kind;
use crate::meta;

/// The error for a field selector that a kind does not support.
pub(crate) fn unknown_field(kind: &Kind, field: &str) -> String {
    let own_words = match &kind.custom {
        Some(custom) => !custom.selectable.is_empty(),
        None => !fields_of(kind).is_empty(),
    };
    if own_words {
        return format!("field label not supported: {field}");
    }
    let known = if kind.namespaced {
        r#""metadata.name", "metadata.namespace""#
    } else {
        r#""metadata.name""#
    };
    format!(
        "{} is not a known field selector: only {known}",
        quote(field)
    )
}

/// Whether objects of a kind can be selected by a field other than their name and namespace.
pub(crate) fn selectable(kind: &Kind, field: &str) -> bool {
    if let Some(custom) = &kind.custom {
        return custom.selectable.iter().any(|path| path == field);
    }
    fields_of(kind).contains(&field)
}

fn fields_of(kind: &Kind) -> &'static [&'static str] {
    match (kind.group.as_str(), kind.resource.as_str()) {
        ("", "pods") => &[
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.podIPs",
            "status.nominatedNodeName",
        ],
        ("", "events") => &[
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ],
        ("events.k8s.io", "events") => &[
            "regarding.kind",
            "regarding.namespace",
            "regarding.name",
            "regarding.uid",
            "regarding.apiVersion",
            "regarding.resourceVersion",
            "regarding.fieldPath",
            "reason",
            "reportingController",
            "type",
        ],
        ("", "secrets") => &["type"],
        ("", "namespaces") => &["status.phase", "name"],
        ("", "nodes") => &["spec.unschedulable"],
        ("", "services") => &["spec.clusterIP", "spec.type"],
        ("", "replicationcontrollers") | ("apps", "replicasets") => &["status.replicas"],
        ("batch", "jobs") => &["status.successful"],
        ("certificates.k8s.io", "certificatesigningrequests") => &["spec.signerName"],
        _ => &[],
    }
}

/// A field's value as text; empty if it is not there. The object is as it is kept.
pub(crate) fn field(kind: &Kind, object: &Value, field: &str) -> String {
    let path = match (kind.resource.as_str(), field) {
        (
            "events",
            "regarding.kind"
            | "regarding.namespace"
            | "regarding.name"
            | "regarding.uid"
            | "regarding.apiVersion"
            | "regarding.resourceVersion"
            | "regarding.fieldPath",
        ) => field.replace("regarding", "involvedObject"),
        ("events", "reportingController") => "reportingComponent".to_owned(),
        ("events", "source") => {
            let component = text(object, "source.component");
            return if component.is_empty() {
                text(object, "reportingComponent")
            } else {
                component
            };
        }
        ("namespaces", "name") => return meta::text(object, "name").to_owned(),
        ("jobs", "status.successful") => "status.succeeded".to_owned(),
        _ => field.to_owned(),
    };
    let found = text(object, &path);
    match field {
        "spec.unschedulable" | "spec.hostNetwork" if found.is_empty() => "false".to_owned(),
        "status.replicas" | "status.successful" if found.is_empty() => "0".to_owned(),
        _ => found,
    }
}

fn text(object: &Value, path: &str) -> String {
    let found = path
        .split('.')
        .try_fold(object, |value, part| value.get(part));
    match found {
        Some(Value::String(text)) => text.clone(),
        None | Some(Value::Null) => String::new(),
        Some(other) => other.to_string(),
    }
}
