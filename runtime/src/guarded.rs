//! Objects as watches deliver them: decoded one by one, so that one that cannot be decoded spoils no list.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use serde::de::{DeserializeOwned, DeserializeSeed, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

/// An object, or what is known of one that cannot be decoded. `metadata.managedFields` is skipped: it is often half of
/// an object, and nobody here reads it.
#[derive(Clone, Debug)]
pub enum Guarded<K> {
    /// The object.
    Valid(K),
    /// It exists, and is not of its type.
    Invalid {
        /// Name, namespace, UID and resource version.
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
        let object = deserializer.deserialize_map(Object)?;
        let metadata = Box::new(identity(&object));
        Ok(match K::deserialize(Value::Object(object)) {
            Ok(object) => Self::Valid(object),
            Err(error) => Self::Invalid {
                metadata,
                error: error.to_string().into(),
            },
        })
    }
}

fn identity(object: &Map<String, Value>) -> ObjectMeta {
    let metadata = object.get("metadata");
    let text = |field: &str| {
        let text = metadata.and_then(|metadata| metadata.get(field));
        text.and_then(Value::as_str).map(str::to_owned)
    };
    ObjectMeta {
        name: text("name"),
        namespace: text("namespace"),
        uid: text("uid"),
        resource_version: text("resourceVersion"),
        ..ObjectMeta::default()
    }
}

/// Reads an object.
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

/// Reads metadata, less `managedFields`.
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
    fn an_object_is_read_without_its_managed_fields() {
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
    fn one_that_cannot_be_decoded_is_known_by_name_and_spoils_no_list() {
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
        assert!(error.contains("invalid type"), "{error}");
    }
}
