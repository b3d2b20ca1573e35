//! Values of manifests and of what is generated.

use std::collections::BTreeMap;
use std::rc::Rc;

use reeve_go_compat::json::{self, Escape};
use reeve_go_compat::printing;
use reeve_go_compat::value::{Key, Map, Struct, Value};
use reeve_go_compat::yaml;

use crate::error::Error;
use crate::messages;

/// The text of a scalar, and empty for anything else.
pub(crate) fn text_of(value: &Value) -> String {
    match value {
        Value::Str(text) => text.lossy().into_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Int(value) | Value::Int64(value) => value.to_string(),
        Value::Uint64(value) => value.to_string(),
        Value::Float(value) => value.to_string(),
        _ => String::new(),
    }
}

/// A value as Go's `%v` prints it.
pub(crate) fn shown(value: &Value) -> String {
    String::from_utf8_lossy(&printing::display(value)).into_owned()
}

/// A field that is text.
pub(crate) fn text_field(object: &Map, key: &str) -> Option<String> {
    match object.get_str(key) {
        Some(Value::Str(text)) => Some(text.lossy().into_owned()),
        _ => None,
    }
}

/// A field that is a mapping.
pub(crate) fn map_field(object: &Map, key: &str) -> Option<Map> {
    match object.get_str(key) {
        Some(Value::Map(map)) => Some(map),
        _ => None,
    }
}

/// The mappings in a field that is a list.
pub(crate) fn maps_field(object: &Map, key: &str) -> Vec<Map> {
    let Some(Value::List(list)) = object.get_str(key) else {
        return Vec::new();
    };
    let entries = list.iter().cloned();
    entries
        .filter_map(|entry| match entry {
            Value::Map(map) => Some(map),
            _ => None,
        })
        .collect()
}

/// `metadata.name`, if it is text.
pub(crate) fn name_of(object: &Map) -> Option<String> {
    text_field(&map_field(object, "metadata")?, "name")
}

/// `metadata.namespace`, if it is text and not empty.
pub(crate) fn namespace_of(object: &Map) -> Option<String> {
    text_field(&map_field(object, "metadata")?, "namespace").filter(|space| !space.is_empty())
}

/// Sets a field.
pub(crate) fn set(object: &Map, key: &str, value: impl Into<Value>) {
    object.insert(Key::Str(key.into()), value.into());
}

/// Removes a field.
pub(crate) fn unset(object: &Map, key: &str) {
    object.remove(&Key::Str(key.into()));
}

/// An object with a spec.
pub(crate) fn object(api_version: &str, kind: &str, metadata: Map, spec: Map) -> Map {
    let object = Map::dict();
    set(&object, "apiVersion", api_version);
    set(&object, "kind", kind);
    set(&object, "metadata", Value::Map(metadata));
    set(&object, "spec", Value::Map(spec));
    object
}

/// Labels or annotations.
pub(crate) fn texts(map: Option<&BTreeMap<String, String>>) -> Map {
    let entries = map.into_iter().flatten();
    Map::from_entries(
        entries
            .map(|(key, value)| (Key::Str(key.as_str().into()), Value::str(value.as_str())))
            .collect(),
    )
}

/// A struct whose fields are written in this order.
pub(crate) fn ordered<const N: usize>(fields: [(&str, Value); N]) -> Value {
    let fields = fields
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value));
    Value::Struct(Rc::new(Struct::new("ordered", fields.collect())))
}

/// The value with the types of JSON, as everything has that went through kustomize: a date is text, and `1.0` an integer.
pub(crate) fn json_typed(value: &Value) -> Result<Value, String> {
    let json = json::encode(value, Escape::None).map_err(|error| error.to_string())?;
    yaml::decode(&json).map_err(|error| error.to_string())
}

/// The kind of a value in YAML.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NodeKind {
    Scalar,
    Mapping,
    Sequence,
}

impl NodeKind {
    pub(crate) fn of(value: &Value) -> Self {
        match value {
            Value::Map(_) => Self::Mapping,
            Value::List(_) => Self::Sequence,
            _ => Self::Scalar,
        }
    }

    /// The error for a value where this is expected.
    pub(crate) fn instead_of(self, value: &Value) -> Error {
        let name = |kind| match kind {
            Self::Scalar => "ScalarNode",
            Self::Mapping => "MappingNode",
            Self::Sequence => "SequenceNode",
        };
        let written = yaml::encode(value).unwrap_or_default();
        let written = String::from_utf8_lossy(&written);
        let (expected, is) = (name(self), name(Self::of(value)));
        Error::new(messages::wrong_node_kind(expected, is, &written))
    }
}

/// A field that is text and not empty.
pub(crate) fn nonempty_field(map: &Map, key: &str) -> Option<String> {
    text_field(map, key).filter(|text| !text.is_empty())
}

/// Whether a field is there and true.
pub(crate) fn is_set(map: &Map, key: &str) -> bool {
    map.get_str(key).is_some_and(|value| value.truth())
}

/// The entries of a field that is a list of texts.
pub(crate) fn texts_field(map: &Map, key: &str) -> impl Iterator<Item = String> {
    let list = match map.get_str(key) {
        Some(Value::List(list)) => list.to_vec(),
        _ => Vec::new(),
    };
    list.into_iter().map(|value| text_of(&value))
}
