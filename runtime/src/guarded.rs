//! Objects as watches deliver them: decoded one by one, so that an undecodable one does not fail a list.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use serde::de::{DeserializeOwned, DeserializeSeed, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::decode::{self, DecodeError};

/// An object, or the metadata of an undecodable one. `metadata.managedFields` is skipped: it is often half of an
/// object, and no controller reads it.
#[derive(Clone, Debug)]
pub enum Guarded<K> {
    /// The object.
    Valid(K),
    /// It exists, and is not of its type.
    Invalid {
        /// Name, namespace, UID, resource version and labels.
        metadata: Box<ObjectMeta>,
        /// Why it cannot be decoded.
        error: Arc<str>,
    },
}

impl<K: Resource> Resource for Guarded<K> {
    type DynamicType = K::DynamicType;
    type Scope = K::Scope;

    fn kind(dynamic: &K::DynamicType) -> Cow<'_, str> {
        K::kind(dynamic)
    }

    fn group(dynamic: &K::DynamicType) -> Cow<'_, str> {
        K::group(dynamic)
    }

    fn version(dynamic: &K::DynamicType) -> Cow<'_, str> {
        K::version(dynamic)
    }

    fn plural(dynamic: &K::DynamicType) -> Cow<'_, str> {
        K::plural(dynamic)
    }

    fn meta(&self) -> &ObjectMeta {
        match self {
            Self::Valid(object) => object.meta(),
            Self::Invalid { metadata, .. } => metadata,
        }
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        match self {
            Self::Valid(object) => object.meta_mut(),
            Self::Invalid { metadata, .. } => metadata,
        }
    }
}

impl<'de, K: DeserializeOwned> Deserialize<'de> for Guarded<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // The object as raw text: whatever it holds, the list around it is decoded.
        let text = Box::<RawValue>::deserialize(deserializer)?;
        Ok(decode(text.get()))
    }
}

fn decode<K: DeserializeOwned>(text: &str) -> Guarded<K> {
    let object = match decode::tree(text) {
        Ok(Unmanaged(object)) => Value::Object(object),
        Err(error) => return invalid(text, &error),
    };
    match K::deserialize(object) {
        Ok(object) => Guarded::Valid(object),
        Err(error) => invalid(text, &decode::located::<K>(text, &error)),
    }
}

/// The metadata of an object that is not of its type.
fn invalid<K>(text: &str, error: &DecodeError) -> Guarded<K> {
    Guarded::Invalid {
        metadata: Box::new(identity(text)),
        error: error.to_string().into(),
    }
}

/// The part of an object's metadata that is decoded even where the rest of the object cannot be.
#[derive(Default, Deserialize)]
struct Identity {
    #[serde(default)]
    metadata: IdentityMetadata,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct IdentityMetadata {
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
    labels: Option<BTreeMap<String, String>>,
}

/// Name, namespace, UID, resource version and labels of an object, as far as they can be decoded.
pub(crate) fn identity(text: &str) -> ObjectMeta {
    let metadata = serde_json::from_str::<Identity>(text).unwrap_or_default();
    let metadata = metadata.metadata;
    ObjectMeta {
        name: metadata.name,
        namespace: metadata.namespace,
        uid: metadata.uid,
        resource_version: metadata.resource_version,
        labels: metadata.labels,
        ..ObjectMeta::default()
    }
}

/// An object's fields, less `metadata.managedFields`.
pub(crate) struct Unmanaged(pub(crate) Map<String, Value>);

impl<'de> Deserialize<'de> for Unmanaged {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Object).map(Self)
    }
}

/// Decodes an object.
struct Object;

impl<'de> Visitor<'de> for Object {
    type Value = Map<String, Value>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
        let mut fields = Map::new();
        while let Some(key) = access.next_key::<String>()? {
            let value = if key == "metadata" {
                access.next_value_seed(Metadata)?
            } else {
                access.next_value()?
            };
            fields.insert(key, value);
        }
        Ok(fields)
    }
}

/// Decodes metadata, less `managedFields`.
struct Metadata;

impl<'de> DeserializeSeed<'de> for Metadata {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Metadata {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object's metadata")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        while let Some(key) = access.next_key::<String>()? {
            if key == "managedFields" {
                access.next_value::<IgnoredAny>()?;
            } else {
                fields.insert(key, access.next_value()?);
            }
        }
        Ok(Value::Object(fields))
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::ResourceExt;
    use kube::core::ObjectList;
    use serde_json::json;

    use super::*;

    fn read(object: &Value) -> Guarded<ConfigMap> {
        serde_json::from_value(object.clone()).unwrap()
    }

    #[test]
    fn object_is_decoded_without_managed_fields() {
        let read = read(&json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {
                "name": "a", "namespace": "n", "labels": { "x": "y" }, "finalizers": ["f"],
                "managedFields": [{ "manager": "kubectl", "fieldsV1": { "f:data": {} } }],
            },
            "data": { "key": "value" },
        }));
        let Guarded::Valid(object) = read else {
            panic!("{read:?}")
        };
        assert_eq!(object.metadata.managed_fields, None);
        assert_eq!(object.labels()["x"], "y");
        assert_eq!(object.finalizers(), ["f"]);
        assert_eq!(object.data.unwrap()["key"], "value");
    }

    #[test]
    fn undecodable_object_has_its_name_and_does_not_fail_list() {
        let list = json!({
            "apiVersion": "v1", "kind": "ConfigMapList", "metadata": { "resourceVersion": "9" },
            "items": [
                { "metadata": { "name": "bad", "namespace": "n", "uid": "u", "resourceVersion": "7" }, "data": 5 },
                { "metadata": { "name": "good" } },
            ],
        });
        let list: ObjectList<Guarded<ConfigMap>> = serde_json::from_str(&list.to_string()).unwrap();
        let [bad, good] = list.items.as_slice() else {
            panic!("{list:?}")
        };
        assert!(matches!(good, Guarded::Valid(_)));
        assert_eq!(bad.name_any(), "bad");
        assert_eq!(bad.resource_version().as_deref(), Some("7"));
        let Guarded::Invalid { error, .. } = bad else {
            panic!("{bad:?}")
        };
        assert_eq!(&**error, "data: invalid type: integer, expected a map");
    }

    #[test]
    fn error_of_undecodable_object_names_the_field_and_quotes_no_value() {
        let read =
            read(&json!({ "metadata": { "name": "bad" }, "data": { "password": ["hunter2"] } }));
        let Guarded::Invalid { error, .. } = read else {
            panic!("{read:?}")
        };
        assert_eq!(
            &*error,
            "data.password: invalid type: sequence, expected a string"
        );
        let read =
            super::decode::<ConfigMap>(r#"{"metadata": {"name": "bad"}, "data": "hunter2"}"#);
        let Guarded::Invalid { error, .. } = read else {
            panic!("{read:?}")
        };
        assert_eq!(&*error, "data: invalid type: string, expected a map");
    }

    #[test]
    fn object_with_invalid_text_has_its_name() {
        // Go's raw extensions keep such an escape; the list around the object is still valid JSON.
        let list = r#"{"kind": "ConfigMapList", "metadata": {}, "items": [
            {"metadata": {"name": "bad", "resourceVersion": "7"}, "data": {"a": "\ud800"}}, {"metadata": {"name": "good"}}]}"#;
        let list: ObjectList<Guarded<ConfigMap>> = serde_json::from_str(list).unwrap();
        let [bad, good] = list.items.as_slice() else {
            panic!("{list:?}")
        };
        assert!(matches!(bad, Guarded::Invalid { .. }), "{bad:?}");
        assert_eq!(bad.name_any(), "bad");
        assert!(matches!(good, Guarded::Valid(_)), "{good:?}");
    }
}
