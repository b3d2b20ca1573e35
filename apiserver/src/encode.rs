//! Encodes responses: objects and lists in the form that the client accepts.

use std::fmt::Write as _;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, json};

use crate::conversion;
use crate::json;
use crate::kinds::{Kind, api_version};
use crate::meta;
use crate::request::accept::{Encoding, Form, RowObject, Shape};
use crate::status_error::StatusError;
use crate::stored::{Key, Stored};
use crate::table;

const META: &str = "meta.k8s.io/v1";

/// Objects with the list's metadata.
#[derive(Debug)]
pub(crate) struct ObjectList {
    pub(crate) objects: Vec<(Key, Arc<Stored>)>,
    pub(crate) revision: u64,
    pub(crate) next: Option<String>,
    pub(crate) remaining: Option<usize>,
}

/// Puts kind and version before the fields of a stored object, which has neither.
fn with_type(api_version: &str, kind: &str, object: &Bytes) -> Bytes {
    let rest = object.get(1..).unwrap_or_default();
    let comma = if rest.len() > 1 { "," } else { "" };
    let head = format!("{{\"kind\":\"{kind}\",\"apiVersion\":\"{api_version}\"{comma}");
    let mut whole = Vec::with_capacity(head.len() + rest.len());
    whole.extend_from_slice(head.as_bytes());
    whole.extend_from_slice(rest);
    Bytes::from(whole)
}

/// A kept object as it is sent in a version.
pub(crate) fn sent(kind: &Kind, stored: &Stored) -> Bytes {
    if conversion::is_needed(kind) {
        let mut object = stored.value();
        conversion::for_reader(kind, &mut object);
        return with_type(
            &kind.api_version(),
            &kind.kind,
            &Bytes::from(json::write(&object)),
        );
    }
    with_type(
        &api_version(&kind.group, &kind.version),
        &kind.kind,
        &stored.json(),
    )
}

/// A type of a kube-apiserver, by whose name its messages call an object or a list.
fn go_type(kind: &Kind, is_list: bool) -> String {
    let (name, custom) = if is_list {
        (&kind.list_kind, "UnstructuredList")
    } else {
        (&kind.kind, "Unstructured")
    };
    if kind.custom.is_some() {
        return format!("*unstructured.{custom}");
    }
    let group = kind.group.split('.').next().unwrap_or_default();
    let package = if group.is_empty() { "core" } else { group };
    format!("*{package}.{name}")
}

/// An object in the form that was asked for.
pub(crate) fn object(kind: &Kind, form: Form, object: &Value) -> Result<Value, StatusError> {
    let is_status = object.get("kind").and_then(Value::as_str) == Some("Status");
    Ok(match form.shape {
        _ if is_status => object.clone(),
        Shape::Whole => object.clone(),
        Shape::Metadata => meta::partial_object(object),
        Shape::MetadataList => {
            return Err(StatusError::not_acceptable(format!(
                "you requested PartialObjectMetadataList, but the requested object is not a list ({})",
                go_type(kind, false)
            )));
        }
        Shape::Table => {
            let mut plain = object.clone();
            meta::strip_type(&mut plain);
            conversion::to_storage(kind, &mut plain);
            let revision = meta::text(object, "resourceVersion").to_owned();
            let mut table = table::empty(kind, true);
            table["metadata"] = json!({ "resourceVersion": revision });
            table["rows"] = json!([table::row(kind, &plain, form.row_object)]);
            table
        }
    })
}

/// A table with one row, for a watch.
pub(crate) fn table_of_one(
    kind: &Kind,
    stored: &Stored,
    with_columns: bool,
    row_object: RowObject,
) -> Value {
    let object = stored.value();
    let mut table = table::empty(kind, with_columns);
    table["metadata"] = json!({ "resourceVersion": stored.revision.to_string() });
    table["rows"] = json!([table::row(kind, &object, row_object)]);
    table
}

/// A list in the form that was asked for.
pub(crate) fn list(kind: &Kind, form: Form, listed: &ObjectList) -> Result<Bytes, StatusError> {
    let mut metadata = json!({ "resourceVersion": listed.revision.to_string() });
    // Lists of custom resources always have the field.
    if listed.next.is_some() || kind.custom.is_some() {
        metadata["continue"] = listed.next.clone().unwrap_or_default().into();
    }
    if let Some(remaining) = listed.remaining {
        metadata["remainingItemCount"] = remaining.into();
    }
    let objects = listed.objects.iter().map(|(_, stored)| &**stored);
    Ok(match form.shape {
        Shape::Table => {
            let mut table = table::empty(kind, true);
            if listed.next.is_none()
                && let Some(metadata) = metadata.as_object_mut()
            {
                metadata.remove("continue");
            }
            table["metadata"] = metadata;
            table["rows"] = objects
                .map(|stored| table::row(kind, &stored.value(), form.row_object))
                .collect();
            Bytes::from(table.to_string())
        }
        Shape::Metadata => {
            return Err(StatusError::not_acceptable(format!(
                "you requested PartialObjectMetadata, but the requested object is a list ({})",
                go_type(kind, true)
            )));
        }
        Shape::MetadataList => {
            let items: Vec<Value> = objects
                .map(|stored| meta::partial_object(&stored.value()))
                .collect();
            let list = json!({
                "kind": "PartialObjectMetadataList", "apiVersion": META, "metadata": metadata, "items": items,
            });
            Bytes::from(list.to_string())
        }
        Shape::Whole => whole_list(kind, &metadata, objects),
    })
}

fn whole_list<'a>(
    kind: &Kind,
    metadata: &Value,
    objects: impl Iterator<Item = &'a Stored>,
) -> Bytes {
    let mut text = String::new();
    let _ = write!(
        text,
        "{{\"kind\":\"{}\",\"apiVersion\":\"{}\",\"metadata\":{metadata},\"items\":[",
        kind.list_kind,
        kind.api_version()
    );
    let mut list = text.into_bytes();
    let plain = kind.custom.is_none() && !conversion::is_needed(kind);
    for (place, stored) in objects.enumerate() {
        if place > 0 {
            list.push(b',');
        }
        if plain {
            // Items of built-in kinds do not repeat kind and version of the list.
            list.extend_from_slice(&stored.json());
        } else {
            list.extend_from_slice(&sent(kind, stored));
        }
    }
    list.extend_from_slice(b"]}");
    Bytes::from(list)
}

/// A JSON text in the encoding that was asked for: the content type and the bytes.
pub(crate) fn encoded(form: Form, json: Bytes) -> (&'static str, Bytes) {
    match form.encoding {
        Encoding::Json => ("application/json", json),
        Encoding::Yaml => {
            let value: Value = crate::json::parse_own(&json).unwrap_or_default();
            match serde_saphyr::to_string(&value) {
                Ok(text) => ("application/yaml", Bytes::from(text)),
                Err(_) => ("application/json", json),
            }
        }
    }
}
