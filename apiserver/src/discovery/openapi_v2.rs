//! `OpenAPI` v2 in one document, as JSON and in Protobuf: older clients read it, and `kubectl` when it applies a `List` or a
//! kind that no document of version 3 has.

use bytes::Bytes;
use http::HeaderMap;
use serde_json::{Map, Value, json};

use super::openapi::{VERSION, everything};
use crate::kinds::Kinds;
use crate::protobuf;
use crate::request::accept;

const JSON: &str = "application/json";
const PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

/// The names of Protobuf in `Accept` headers.
const DEPRECATED: &str = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";

/// The document in the first form that a client takes; nothing if it takes none of them.
pub(crate) fn document(kinds: &Kinds, headers: &HeaderMap) -> Option<(&'static str, Bytes)> {
    let mut clauses = accept::clauses(headers);
    let quality = |clause: &accept::Clause<'_>| clause.parameter("q").parse().unwrap_or(1.0_f64);
    clauses.sort_by(|a, b| quality(b).total_cmp(&quality(a)));
    let known = [(JSON, JSON), (DEPRECATED, PROTOBUF), (PROTOBUF, PROTOBUF)];
    let wanted = clauses.iter().find_map(|clause| {
        let known = known.iter();
        let mut matching = known.filter(|(name, _)| matches(clause.media, name));
        matching.next().map(|(_, media)| *media)
    })?;
    let document = whole(kinds);
    Some(match wanted {
        PROTOBUF => (PROTOBUF, Bytes::from(protobuf::openapi(&document))),
        _ => (JSON, Bytes::from(document.to_string())),
    })
}

/// Whether a pattern (`*/*`, `application/*`) is for a media type.
fn matches(pattern: &str, media: &str) -> bool {
    let (Some(pattern), Some(media)) = (pattern.split_once('/'), media.split_once('/')) else {
        return false;
    };
    let part = |pattern: &str, part: &str| pattern == "*" || pattern == part;
    part(pattern.0, media.0) && part(pattern.1, media.1)
}

fn whole(kinds: &Kinds) -> Value {
    let (mut schemas, mut paths) = everything(kinds);
    schemas.values_mut().for_each(convert);
    let operations = paths.values_mut().filter_map(Value::as_object_mut);
    for operation in operations.flat_map(Map::values_mut) {
        convert_operation(operation);
    }
    json!({
        "swagger": "2.0", "info": { "title": "Kubernetes", "version": VERSION }, "paths": paths,
        "definitions": schemas,
    })
}

/// Makes a schema of version 3 one of version 2: what version 2 cannot express is left out, and what `kubectl` cannot read.
fn convert(schema: &mut Value) {
    let Value::Object(fields) = schema else {
        return;
    };
    let is_on = |fields: &Map<String, Value>, field: &str| fields.get(field) == Some(&true.into());
    // The schemas of built-in kinds refer to others so, to have a description beside the reference.
    if let Some(Value::Array(all)) = fields.remove("allOf")
        && let [only] = all.as_slice()
        && let Some(reference) = only.get("$ref")
    {
        fields.insert("$ref".to_owned(), reference.clone());
    }
    if let Some(Value::String(reference)) = fields.get_mut("$ref") {
        *reference = reference.replace("#/components/schemas/", "#/definitions/");
        fields.remove("type");
        fields.remove("properties");
    }
    if fields.remove("oneOf").is_some() && !fields.contains_key("type") && is_scalar(fields) {
        fields.insert("type".to_owned(), "string".into());
    }
    for field in ["anyOf", "default", "not", "x-kubernetes-validations"] {
        fields.remove(field);
    }
    let is_nullable = is_on(fields, "nullable");
    let is_open = is_on(fields, "x-kubernetes-preserve-unknown-fields");
    fields.remove("nullable");
    if is_nullable || is_open {
        fields.remove("items");
        fields.remove("properties");
    }
    let of = fields.get("type").and_then(Value::as_str);
    let is_unreadable = match of {
        Some("array") => !fields.contains_key("items"),
        Some("object") => is_open,
        _ => false,
    };
    if is_nullable || is_unreadable {
        fields.remove("type");
    }
    drop_nullable_from_required(fields);
    for (field, value) in fields {
        match (field.as_str(), value) {
            ("properties", Value::Object(properties)) => properties.values_mut().for_each(convert),
            ("items" | "additionalProperties", value) => convert(value),
            _ => {}
        }
    }
}

/// Whether a schema has no fields or items of its own: one of several types of plain values.
fn is_scalar(fields: &Map<String, Value>) -> bool {
    let structural = ["properties", "items", "additionalProperties"];
    !structural.iter().any(|field| fields.contains_key(*field))
        && !fields.contains_key("x-kubernetes-int-or-string")
}

/// A field that may be null need not be there in version 2, which knows no null.
fn drop_nullable_from_required(fields: &mut Map<String, Value>) {
    let nullable = |schema: &Value| schema.get("nullable") == Some(&true.into());
    let properties = fields.get("properties").and_then(Value::as_object);
    let properties = properties.into_iter().flatten();
    let names: Vec<String> = properties
        .filter(|(_, schema)| nullable(schema))
        .map(|(name, _)| name.clone())
        .collect();
    if let Some(Value::Array(required)) = fields.get_mut("required") {
        required.retain(|one| !names.iter().any(|name| one == name));
        if required.is_empty() {
            fields.remove("required");
        }
    }
}

fn convert_operation(operation: &mut Value) {
    let parameters = operation
        .get_mut("parameters")
        .and_then(Value::as_array_mut);
    let parameters = parameters.into_iter().flatten();
    for parameter in parameters.filter_map(Value::as_object_mut) {
        if let Some(Value::Object(schema)) = parameter.remove("schema") {
            parameter.extend(schema);
        }
    }
    let responses = operation
        .get_mut("responses")
        .and_then(Value::as_object_mut);
    let responses = responses.into_iter().flat_map(Map::values_mut);
    for response in responses.filter_map(Value::as_object_mut) {
        let content = response.remove("content").unwrap_or_default();
        if let Some(schema) = content.pointer("/application~1json/schema") {
            let mut schema = schema.clone();
            convert(&mut schema);
            response.insert("schema".to_owned(), schema);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn converted(mut schema: Value) -> Value {
        convert(&mut schema);
        schema
    }

    #[test]
    fn wrapped_reference_becomes_a_plain_one() {
        let wrapped = json!({ "description": "d", "default": {}, "allOf": [{ "$ref": "#/components/schemas/a.B" }] });
        let plain = json!({ "description": "d", "$ref": "#/definitions/a.B" });
        assert_eq!(converted(wrapped), plain);
    }

    #[test]
    fn schema_keeps_what_openapi_v2_can_express() {
        let schema = json!({
            "type": "object", "required": ["a", "b"],
            "properties": {
                "a": { "type": "string", "nullable": true, "default": "x" },
                "b": { "type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": { "c": {} } },
                "d": { "type": "array", "anyOf": [{}], "items": { "type": "integer" } },
            },
        });
        let want = json!({
            "type": "object", "required": ["b"],
            "properties": {
                "a": {}, "b": { "x-kubernetes-preserve-unknown-fields": true },
                "d": { "type": "array", "items": { "type": "integer" } },
            },
        });
        assert_eq!(converted(schema), want);
    }

    #[test]
    fn first_accepted_form_is_chosen() {
        let kinds = Kinds::default();
        let media = |accept: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert("accept", http::HeaderValue::from_static(accept));
            document(&kinds, &headers).map(|(media, _)| media)
        };
        assert_eq!(media(DEPRECATED), Some(PROTOBUF));
        assert_eq!(
            media("application/json;q=0.5, application/*;q=0.1"),
            Some(JSON)
        );
        assert_eq!(
            media(
                "application/json;q=0.5, application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
            ),
            Some(PROTOBUF)
        );
        assert_eq!(media("text/*, */*"), Some(JSON));
        assert_eq!(media("text/plain"), None);
    }
}
