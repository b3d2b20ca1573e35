//! Objects as plain JSON, converted once, when they arrive.

use std::borrow::Cow;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use kube::core::{ApiResource, DynamicResourceScope};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::watched::Versioned;
use super::{Keep, ObjectForm, ReadError};
use crate::decode::{self, DecodeError};
use crate::guarded::{self, Unmanaged};
use crate::object::ObjectKey;

/// An object as the API server sent it, less `managedFields`, which are most of it and of no use to readers. No field
/// of any kind makes it undecodable, however deeply it is nested.
#[derive(Clone, Debug)]
pub(crate) struct Plain {
    /// The metadata that the index reads.
    metadata: ObjectMeta,
    json: Result<Value, DecodeError>,
}

/// The kept form of an object.
#[derive(Clone, Debug)]
pub(super) enum Kept {
    /// The object.
    Object(Arc<Value>),
    /// The object as text.
    Text(Box<Text>),
    /// It exists, and its JSON cannot be decoded.
    Undecodable(Box<Undecodable>),
}

/// An object that each read decodes.
#[derive(Clone, Debug)]
pub(super) struct Text {
    kind: Arc<ApiResource>,
    key: ObjectKey,
    uid: Option<Box<str>>,
    version: Option<Box<str>>,
    labels: Box<[(Box<str>, Box<str>)]>,
    json: Box<str>,
}

/// An object whose JSON cannot be decoded.
#[derive(Clone, Debug)]
pub(super) struct Undecodable {
    metadata: ObjectMeta,
    /// The error of a read of it.
    pub(super) error: ReadError,
}

impl Plain {
    /// The JSON with its kind, which the items of a list lack.
    pub(crate) fn into_json(self, kind: &ApiResource) -> Result<Value, DecodeError> {
        let mut json = self.json?;
        if let Some(fields) = json.as_object_mut() {
            let text = |text: &str| Value::String(text.to_owned());
            fields.insert("apiVersion".to_owned(), text(&kind.api_version));
            fields.insert("kind".to_owned(), text(&kind.kind));
        }
        Ok(json)
    }

    /// The part to keep of the JSON with its kind, which the items of a list lack.
    pub(super) fn of_kind(self, kind: &Arc<ApiResource>, keep: Keep, form: ObjectForm) -> Kept {
        let metadata = match &self.json {
            Ok(_) => ObjectMeta::default(),
            Err(_) => self.metadata.clone(),
        };
        let json = match self.into_json(kind) {
            Ok(json) => keep(kind, json),
            Err(reason) => {
                let error = ReadError::Undecodable {
                    kind: kind.kind.clone(),
                    object: ObjectKey::of_metadata(&metadata),
                    reason,
                };
                return Kept::Undecodable(Box::new(Undecodable { metadata, error }));
            }
        };
        match form {
            ObjectForm::Decoded => Kept::Object(Arc::new(json)),
            ObjectForm::Text => Kept::Text(Box::new(Text::new(kind, &json))),
        }
    }
}

impl Text {
    fn new(kind: &Arc<ApiResource>, object: &Value) -> Self {
        let text = |field| metadata_text(object, field).map(Box::from);
        let labels = object
            .pointer("/metadata/labels")
            .and_then(Value::as_object);
        let labels = labels.into_iter().flatten();
        let text_of =
            |(key, value): (&String, &Value)| Some((key.as_str().into(), value.as_str()?.into()));
        Self {
            kind: Arc::clone(kind),
            key: key_of(object),
            uid: text("uid"),
            version: text("resourceVersion"),
            labels: labels.filter_map(text_of).collect(),
            json: object.to_string().into(),
        }
    }

    fn decoded(&self) -> Result<Arc<Value>, ReadError> {
        let object = decode::tree(&self.json);
        object
            .map(Arc::new)
            .map_err(|reason| ReadError::Undecodable {
                kind: self.kind.kind.clone(),
                object: self.key.clone(),
                reason,
            })
    }
}

impl Kept {
    /// The object. One that is undecodable is not absent: a read of it, or of a selection with it, fails.
    pub(super) fn decoded(&self) -> Result<Arc<Value>, ReadError> {
        match self {
            Self::Object(object) => Ok(Arc::clone(object)),
            Self::Text(text) => text.decoded(),
            Self::Undecodable(object) => Err(object.error.clone()),
        }
    }
}

impl<'de> Deserialize<'de> for Plain {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // The object as raw text: whatever it holds, the list around it is decoded.
        let text = Box::<RawValue>::deserialize(deserializer)?;
        let json = decode::tree::<Unmanaged>(text.get());
        let json = json.map(|Unmanaged(fields)| Value::Object(fields));
        let metadata = match &json {
            Err(_) => guarded::identity(text.get()),
            Ok(json) => {
                let owned = |field| metadata_text(json, field).map(str::to_owned);
                ObjectMeta {
                    name: owned("name"),
                    namespace: owned("namespace"),
                    resource_version: owned("resourceVersion"),
                    ..ObjectMeta::default()
                }
            }
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

impl Versioned for Kept {
    fn key(&self) -> ObjectKey {
        match self {
            Self::Object(json) => key_of(json),
            Self::Text(text) => text.key.clone(),
            Self::Undecodable(object) => ObjectKey::of_metadata(&object.metadata),
        }
    }

    fn version(&self) -> (Option<&str>, Option<&str>) {
        match self {
            Self::Object(json) => {
                let text = |field| metadata_text(json, field);
                (text("uid"), text("resourceVersion"))
            }
            Self::Text(text) => (text.uid.as_deref(), text.version.as_deref()),
            Self::Undecodable(object) => {
                let metadata = &object.metadata;
                let version = metadata.resource_version.as_deref();
                (metadata.uid.as_deref(), version)
            }
        }
    }

    fn label(&self, name: &str) -> Option<&str> {
        match self {
            Self::Object(json) => json.get("metadata")?.get("labels")?.get(name)?.as_str(),
            Self::Text(text) => {
                let (_, value) = text.labels.iter().find(|(known, _)| **known == *name)?;
                Some(value)
            }
            Self::Undecodable(object) => {
                let label = object.metadata.labels.as_ref()?.get(name)?;
                Some(label)
            }
        }
    }
}

fn key_of(object: &Value) -> ObjectKey {
    let text = |field| metadata_text(object, field).unwrap_or_default();
    ObjectKey::new(text("namespace"), text("name"))
}

fn metadata_text<'a>(object: &'a Value, field: &str) -> Option<&'a str> {
    object.get("metadata")?.get(field)?.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn config_maps() -> Arc<ApiResource> {
        Arc::new(ApiResource {
            group: String::new(),
            version: "v1".to_owned(),
            api_version: "v1".to_owned(),
            kind: "ConfigMap".to_owned(),
            plural: "configmaps".to_owned(),
        })
    }

    #[test]
    fn object_kept_as_text_answers_like_decoded_one() {
        let sent = json!({
            "metadata": {
                "name": "a", "namespace": "n", "uid": "u", "resourceVersion": "7",
                "labels": {"app": "x", "tier": "y"},
            },
            "data": {"k": "v"},
        });
        let kept = |form| {
            Plain::deserialize(sent.clone()).unwrap().of_kind(
                &config_maps(),
                |_, object| object,
                form,
            )
        };
        let (text, decoded) = (kept(ObjectForm::Text), kept(ObjectForm::Decoded));
        assert!(matches!(text, Kept::Text(_)), "{text:?}");
        assert_eq!(
            (text.key(), text.version()),
            (decoded.key(), decoded.version())
        );
        for label in ["app", "tier", "other"] {
            assert_eq!(text.label(label), decoded.label(label), "{label}");
        }
        assert_eq!(text.decoded().unwrap(), decoded.decoded().unwrap());
    }

    #[test]
    fn managed_fields_are_dropped_and_kind_is_added() {
        let metadata = json!({
            "name": "a", "namespace": "n", "uid": "u", "resourceVersion": "7", "unknown": 1,
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"}
        });
        let mut sent = json!({"metadata": metadata, "data": {"k": "v"}});
        sent["metadata"]["managedFields"] = json!([{"manager": "m"}]);
        let plain = Plain::deserialize(sent).unwrap();
        assert_eq!(ObjectKey::of(&plain), ObjectKey::new("n", "a"));
        let kind = config_maps();
        let kept = plain.of_kind(&kind, |_, object| object, ObjectForm::Decoded);
        assert_eq!(kept.key(), ObjectKey::new("n", "a"));
        assert_eq!(kept.version(), (Some("u"), Some("7")));
        let Kept::Object(json) = kept else {
            panic!("{kept:?}")
        };
        let want = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"k": "v"}
        });
        assert_eq!(*json, want);
    }
}
