//! Objects as plain JSON, converted once, when they arrive.

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use kube::core::{ApiResource, DynamicResourceScope};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::watched::Versioned;
use crate::object::ObjectKey;

/// An object as the API server sent it, less `managedFields`, which are most of it and tell readers
/// nothing. No field of any kind makes it undecodable.
#[derive(Clone, Debug)]
pub(super) struct Plain {
    /// The little that watching looks at.
    metadata: ObjectMeta,
    json: Value,
}

impl Plain {
    /// The JSON with its kind, which the items of a list do not carry.
    pub(super) fn of_kind(self, kind: &ApiResource) -> Value {
        let mut json = self.json;
        if let Some(fields) = json.as_object_mut() {
            let text = |text: &str| Value::String(text.to_owned());
            fields.insert("apiVersion".to_owned(), text(&kind.api_version));
            fields.insert("kind".to_owned(), text(&kind.kind));
        }
        json
    }
}

impl<'de> Deserialize<'de> for Plain {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut json = Value::deserialize(deserializer)?;
        if let Some(metadata) = json.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("managedFields");
        }
        let owned = |field| metadata_text(&json, field).map(str::to_owned);
        let metadata = ObjectMeta {
            name: owned("name"),
            namespace: owned("namespace"),
            resource_version: owned("resourceVersion"),
            ..ObjectMeta::default()
        };
        Ok(Self { metadata, json })
    }
}

impl Resource for Plain {
    type DynamicType = ApiResource;
    type Scope = DynamicResourceScope;

    fn kind(kind: &ApiResource) -> Cow<'_, str> {
        kind.kind.as_str().into()
    }

    fn group(kind: &ApiResource) -> Cow<'_, str> {
        kind.group.as_str().into()
    }

    fn version(kind: &ApiResource) -> Cow<'_, str> {
        kind.version.as_str().into()
    }

    fn plural(kind: &ApiResource) -> Cow<'_, str> {
        kind.plural.as_str().into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

impl Versioned for Value {
    fn key(&self) -> ObjectKey {
        let text = |field| metadata_text(self, field).unwrap_or_default();
        ObjectKey::new(text("namespace"), text("name"))
    }

    fn version(&self) -> (Option<&str>, Option<&str>) {
        let text = |field| metadata_text(self, field);
        (text("uid"), text("resourceVersion"))
    }

    fn label(&self, name: &str) -> Option<&str> {
        self.get("metadata")?.get("labels")?.get(name)?.as_str()
    }
}

fn metadata_text<'a>(object: &'a Value, field: &str) -> Option<&'a str> {
    object.get("metadata")?.get(field)?.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn everything_but_managed_fields_stays_and_the_kind_is_put_back() {
        let metadata = json!({
            "name": "a", "namespace": "n", "uid": "u", "resourceVersion": "7", "unknown": 1,
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"}
        });
        let mut sent = json!({"metadata": metadata, "data": {"k": "v"}});
        sent["metadata"]["managedFields"] = json!([{"manager": "m"}]);
        let plain = Plain::deserialize(sent).unwrap();
        assert_eq!(ObjectKey::of(&plain), ObjectKey::new("n", "a"));
        let kind = ApiResource {
            group: String::new(),
            version: "v1".to_owned(),
            api_version: "v1".to_owned(),
            kind: "ConfigMap".to_owned(),
            plural: "configmaps".to_owned(),
        };
        let json = plain.of_kind(&kind);
        assert_eq!(json.key(), ObjectKey::new("n", "a"));
        assert_eq!(json.version(), (Some("u"), Some("7")));
        let want = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"k": "v"}
        });
        assert_eq!(json, want);
    }
}
