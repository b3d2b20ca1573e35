//! What is kept of the objects that policies read. Clusters have many versions and definitions, most of them copies,
//! and they are large: schemas, icons, descriptions. Pure.

use kube::core::ApiResource;
use serde_json::{Map, Value};

/// The fields that are kept of large kinds, by pointers. Objects of other kinds are whole: they are written back.
const FIELDS: &[(&str, &[&str])] = &[
    (
        "ClusterServiceVersion",
        &[
            "/spec/install/spec/deployments",
            "/status/message",
            "/status/phase",
            "/status/reason",
        ],
    ),
    ("CustomResourceDefinition", &[]),
    ("Deployment", &["/status/unavailableReplicas"]),
];

/// The annotations of large kinds that policies read. Others hold examples, or the object once more.
const ANNOTATIONS: &[&str] = &["olm.operatorNamespace", "operatorframework.io/properties"];

/// Whether the objects of a kind are so large that they are watched by label only, however many policies read them.
pub fn is_narrow(kind: &ApiResource) -> bool {
    matches!(
        kind.kind.as_str(),
        "ClusterServiceVersion" | "CustomResourceDefinition"
    )
}

/// The part of an object that policies need.
pub fn keep(kind: &ApiResource, object: Value) -> Value {
    let fields = FIELDS.iter().find(|(name, _)| *name == kind.kind);
    let Some((_, fields)) = fields else {
        return object;
    };
    let identity = ["/apiVersion", "/kind", "/metadata"];
    let mut kept = Value::Object(Map::new());
    for pointer in identity.iter().chain(*fields) {
        if let Some(value) = object.pointer(pointer) {
            put(&mut kept, pointer, without_templates(value));
        }
    }
    let annotations = kept.pointer_mut("/metadata/annotations");
    if let Some(annotations) = annotations.and_then(Value::as_object_mut) {
        annotations.retain(|name, _| ANNOTATIONS.contains(&name.as_str()));
    }
    kept
}

/// Of Deployments in a version only the names are needed, of metadata everything.
fn without_templates(value: &Value) -> Value {
    let Some(items) = value.as_array() else {
        return value.clone();
    };
    let name = |item: &Value| {
        let name = item.get("name").cloned().unwrap_or_default();
        Value::Object(Map::from_iter([("name".to_owned(), name)]))
    };
    Value::Array(items.iter().map(name).collect())
}

/// Puts a value at a pointer, with the objects on the way.
fn put(into: &mut Value, pointer: &str, value: Value) {
    let mut parts = pointer.trim_start_matches('/').split('/').peekable();
    let mut at = into;
    while let Some(part) = parts.next() {
        let Some(fields) = at.as_object_mut() else {
            return;
        };
        if parts.peek().is_none() {
            fields.insert(part.to_owned(), value);
            return;
        }
        at = fields
            .entry(part)
            .or_insert_with(|| Value::Object(Map::new()));
    }
}

#[cfg(test)]
mod tests {
    use kube::core::GroupVersionKind;
    use serde_json::json;

    use super::*;

    fn kept(kind: &str, object: Value) -> Value {
        let kind = GroupVersionKind::gvk("group", "v1", kind);
        keep(&ApiResource::from_gvk(&kind), object)
    }

    #[test]
    fn op_24_2_large_fields_of_versions_are_not_kept() {
        let annotated = |annotations: Value| json!({"name": "quay.v1", "labels": {"olm.copiedFrom": "x"}, "annotations": annotations});
        let metadata = json!({"operatorframework.io/properties": "{}"});
        let mut all = metadata.clone();
        all["alm-examples"] = json!("[]");
        let csv = json!({
            "kind": "ClusterServiceVersion", "metadata": annotated(all),
            "spec": {
                "icon": [{"base64data": "AAAA"}],
                "install": {"strategy": "deployment", "spec": {
                    "deployments": [{"name": "quay", "spec": {"replicas": 1}}], "permissions": [],
                }},
            },
            "status": {"phase": "Succeeded", "conditions": [{"phase": "Pending"}]},
        });
        let expected = json!({
            "kind": "ClusterServiceVersion", "metadata": annotated(metadata),
            "spec": {"install": {"spec": {"deployments": [{"name": "quay"}]}}},
            "status": {"phase": "Succeeded"},
        });
        assert_eq!(kept("ClusterServiceVersion", csv), expected);
    }

    #[test]
    fn op_24_2_objects_that_are_written_back_are_whole() {
        let subscription = json!({"kind": "Subscription", "spec": {"anything": [1]}});
        assert_eq!(kept("Subscription", subscription.clone()), subscription);
        let crd = json!({"metadata": {"name": "a"}, "spec": {"versions": []}});
        assert_eq!(
            kept("CustomResourceDefinition", crd),
            json!({"metadata": {"name": "a"}})
        );
    }
}
