//! Kubernetes objects as lookups return them.

use std::fmt;

use serde_json::Value as Json;

use super::{Lookup, LookupError, Read};
use reeve_go_compat::labels::Selector;
use reeve_go_compat::value::{Frozen, Value};

const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// An object, prepared for any number of renders and shared among them. As it is read from a cluster it has neither
/// `managedFields` nor the annotation of `kubectl apply`.
#[derive(Clone)]
pub struct Object(Frozen);

/// Prints only kind and name, because fields may be secret.
impl fmt::Debug for Object {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.text(&["kind"]);
        let (namespace, name) = self.namespace_and_name();
        write!(formatter, "Object({kind} {namespace}/{name})")
    }
}

impl Object {
    /// Prepares an object as it was read.
    pub fn new(object: &Json) -> Self {
        let Json::Object(fields) = object else {
            return Self(Frozen::new(object));
        };
        Self(Frozen::map(fields.iter().map(|(key, field)| {
            let field = if key == "metadata" {
                metadata(field)
            } else {
                Frozen::new(field)
            };
            (key.as_str(), field)
        })))
    }

    /// Prepares an object with all its fields: for local objects, which are searched before the cluster.
    pub fn with_all_fields(object: &Json) -> Self {
        Self(Frozen::new(object))
    }

    /// A fresh value. Changes that a template makes to it affect no other render.
    pub(super) fn value(&self) -> Value {
        self.0.value()
    }

    fn text(&self, path: &[&str]) -> &str {
        let field = path
            .iter()
            .try_fold(&self.0, |value, field| value.field(field));
        field.and_then(Frozen::as_str).unwrap_or_default()
    }

    fn label(&self, name: &str) -> Option<&str> {
        let labels = self.0.field("metadata")?.field("labels")?;
        labels.field(name)?.as_str()
    }

    fn namespace_and_name(&self) -> (&str, &str) {
        (
            self.text(&["metadata", "namespace"]),
            self.text(&["metadata", "name"]),
        )
    }
}

/// Metadata without what only appliers read.
fn metadata(metadata: &Json) -> Frozen {
    let Json::Object(fields) = metadata else {
        return Frozen::new(metadata);
    };
    let fields = fields.iter().filter(|(key, _)| *key != "managedFields");
    Frozen::map(fields.map(|(key, field)| {
        let field = match field {
            Json::Object(annotations) if key == "annotations" => {
                let kept = annotations.iter().filter(|(key, _)| *key != LAST_APPLIED);
                Frozen::map(kept.map(|(key, value)| (key.as_str(), Frozen::new(value))))
            }
            other => Frozen::new(other),
        };
        (key.as_str(), field)
    }))
}

/// The objects ordered by namespace and name, so that a list does not depend on when its objects
/// were created or read.
pub(super) fn sorted_values(mut list: Vec<Object>) -> Vec<Value> {
    list.sort_by(|a, b| a.namespace_and_name().cmp(&b.namespace_and_name()));
    list.iter().map(Object::value).collect()
}

/// The result of a read of the local objects; `None` if the cluster has to be read.
pub(super) fn local(
    objects: &[Object],
    read: &Read,
    namespace: &str,
) -> Result<Option<Lookup>, LookupError> {
    if objects.is_empty() {
        return Ok(None);
    }
    let selector = Selector::parse(&read.selector).map_err(LookupError::Selector)?;
    let mut found = objects.iter().filter(|object| {
        object.text(&["apiVersion"]) == read.api_version
            && object.text(&["kind"]) == read.kind
            && object.text(&["metadata", "namespace"]) == namespace
    });
    if !read.name.is_empty() {
        let object = found.find(|object| object.text(&["metadata", "name"]) == read.name);
        return Ok(object.map(|object| Lookup::Object(object.value())));
    }
    let list: Vec<Value> = found
        .filter(|object| selector.matches(|name| object.label(name)))
        .map(Object::value)
        .collect();
    if list.is_empty() {
        return Ok(None);
    }
    Ok(Some(Lookup::List(list)))
}
