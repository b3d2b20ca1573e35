//! A Kubernetes object as it was read.

use serde_json::Value;

use crate::{ObjectError, Position};

/// An object with its position.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    /// Where it was read.
    pub position: Position,
    /// The whole object.
    pub value: Value,
    /// Its `apiVersion`.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Its namespace, if it names one.
    pub namespace: Option<String>,
}

impl Object {
    /// Checks that a value is an object with a kind and a name.
    pub fn new(position: Position, value: Value) -> Result<Self, ObjectError> {
        if !value.is_object() {
            return Err(ObjectError::NotAnObject(type_of(&value)));
        }
        let kind = text(&value, "/kind", "kind")?.ok_or(ObjectError::Kind)?;
        let api_version =
            text(&value, "/apiVersion", "apiVersion")?.ok_or(ObjectError::ApiVersion)?;
        let name = text(&value, "/metadata/name", "metadata.name")?
            // Reeve's own documents are no objects of a server: a fleet file has no name.
            .or_else(|| api_version.starts_with("reeve/").then(String::new))
            .ok_or_else(|| ObjectError::Name { kind: kind.clone() })?;
        let namespace = text(&value, "/metadata/namespace", "metadata.namespace")?;
        Ok(Self {
            position,
            value,
            api_version,
            kind,
            name,
            namespace,
        })
    }

    /// Whether the object is of a group and kind, in any version.
    pub fn is(&self, group: &str, kind: &str) -> bool {
        let own = self.api_version.split_once('/');
        self.kind == kind && own.map_or("", |(group, _)| group) == group
    }

    /// The kind and the name, as `Policy policies/p`.
    pub fn describe(&self) -> String {
        match &self.namespace {
            Some(namespace) => format!("{} {namespace}/{}", self.kind, self.name),
            None => format!("{} {}", self.kind, self.name),
        }
    }
}

/// A text that may be absent. An empty one counts as absent.
fn text(value: &Value, pointer: &str, field: &'static str) -> Result<Option<String>, ObjectError> {
    match value.pointer(pointer) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.is_empty() => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(other) => Err(ObjectError::NotAString {
            field,
            found: type_of(other),
        }),
    }
}

/// The name of a value's type, as users of YAML know it.
pub(crate) fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
