//! Whether the schema of a custom resource is a structural one.

use std::fmt::Write as _;

use reeve_go_compat::regexp::Regexp;
use reeve_go_compat::runes::quote;
use serde_json::Value;

use super::model::Types;
use super::{MAX_DEPTH, prune, validate};
use crate::cel;
use crate::status_error::{Cause, FieldError};

/// Where a schema stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Root,
    Field,
    Items,
    /// In `anyOf` and the like, where only values are constrained.
    Junction,
}

/// Checks the schema at `path`.
pub(super) fn check(schema: &Value, path: &str, errors: &mut Vec<FieldError>) {
    walk(schema, &mut path.to_owned(), Place::Root, 0, errors);
}

fn forbidden(field: String, why: &str) -> FieldError {
    FieldError::new(Cause::Forbidden, field, why)
}

fn required(field: String, why: &str) -> FieldError {
    FieldError::new(Cause::Required, field, why)
}

fn is_set(schema: &Value, key: &str) -> bool {
    schema.get(key) == Some(&Value::Bool(true))
}

/// The path is one text for all levels: one a level would take memory with the square of the depth.
fn walk(
    schema: &Value,
    path: &mut String,
    place: Place,
    depth: usize,
    errors: &mut Vec<FieldError>,
) {
    if depth > MAX_DEPTH {
        return;
    }
    if place == Place::Junction {
        in_junction(schema, path, errors);
    } else {
        types(schema, path, place, errors);
        extensions(schema, path, errors);
        default(schema, path, errors);
        rules(schema, path, errors);
    }
    general(schema, path, errors);
    let below = if place == Place::Junction {
        place
    } else {
        Place::Field
    };
    let length = path.len();
    if let Some(Value::Object(properties)) = schema.get("properties") {
        for (name, inner) in properties {
            let _ = write!(path, ".properties[{name}]");
            if place == Place::Root && name == "metadata" {
                metadata(inner, path, errors);
            } else {
                walk(inner, path, below, depth + 1, errors);
            }
            let implied = matches!(name.as_str(), "apiVersion" | "kind");
            if place == Place::Root && implied && inner["type"] != "string" {
                let field = format!("{path}.type");
                errors.push(FieldError::invalid(field, &inner["type"], "must be string"));
            }
            path.truncate(length);
        }
    }
    if let Some(inner @ Value::Object(_)) = schema.get("additionalProperties") {
        path.push_str(".additionalProperties");
        walk(inner, path, below, depth + 1, errors);
        path.truncate(length);
    }
    if let Some(inner @ Value::Object(_)) = schema.get("items") {
        let below = if place == Place::Junction {
            place
        } else {
            Place::Items
        };
        path.push_str(".items");
        walk(inner, path, below, depth + 1, errors);
        path.truncate(length);
    }
    for key in ["allOf", "anyOf", "oneOf"] {
        let all = schema.get(key).and_then(Value::as_array);
        for (index, inner) in all.into_iter().flatten().enumerate() {
            // The two types of these are written like that.
            if is_set(schema, "x-kubernetes-int-or-string") {
                continue;
            }
            let _ = write!(path, ".{key}[{index}]");
            walk(inner, path, Place::Junction, depth + 1, errors);
            path.truncate(length);
        }
    }
    if let Some(inner @ Value::Object(_)) = schema.get("not") {
        path.push_str(".not");
        walk(inner, path, Place::Junction, depth + 1, errors);
        path.truncate(length);
    }
}

fn in_junction(schema: &Value, path: &str, errors: &mut Vec<FieldError>) {
    for (key, why) in [
        ("type", "must be empty to be structural"),
        ("title", "must be empty to be structural"),
        ("description", "must be empty to be structural"),
        ("default", "must be undefined to be structural"),
        ("additionalProperties", "must be undefined to be structural"),
    ] {
        if schema
            .get(key)
            .is_some_and(|value| !value.is_null() && value != "")
        {
            errors.push(forbidden(format!("{path}.{key}"), why));
        }
    }
    for key in [
        "nullable",
        "x-kubernetes-embedded-resource",
        "x-kubernetes-int-or-string",
    ] {
        if is_set(schema, key) {
            errors.push(forbidden(
                format!("{path}.{key}"),
                "must be false to be structural",
            ));
        }
    }
}

fn types(schema: &Value, path: &str, place: Place, errors: &mut Vec<FieldError>) {
    const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];
    let field = format!("{path}.type");
    let given = schema
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let untyped = is_set(schema, "x-kubernetes-int-or-string")
        || is_set(schema, "x-kubernetes-preserve-unknown-fields")
        || schema.get("$ref").is_some();
    match (given, place) {
        ("", Place::Root) => errors.push(required(field, "must not be empty at the root")),
        ("", _) if untyped => {}
        ("", Place::Items) => {
            errors.push(required(
                field,
                "must not be empty for specified array items",
            ));
        }
        ("", _) => errors.push(required(
            field,
            "must not be empty for specified object fields",
        )),
        (other, _) if !TYPES.contains(&other) => {
            errors.push(FieldError::not_supported(field, &other.into(), &TYPES));
        }
        (other, Place::Root) if other != "object" => {
            errors.push(FieldError::invalid(
                field,
                &other.into(),
                "must be object at the root",
            ));
        }
        _ => {}
    }
    if place == Place::Root && is_set(schema, "nullable") {
        let field = format!("{path}.nullable");
        errors.push(forbidden(field, "nullable cannot be true at the root"));
    }
    if given == "array" && schema.get("items").is_none_or(Value::is_null) {
        errors.push(required(format!("{path}.items"), "must be specified"));
    }
}

fn general(schema: &Value, path: &str, errors: &mut Vec<FieldError>) {
    if schema.get("items").is_some_and(Value::is_array) {
        let why = "items must be a schema object and not an array";
        errors.push(forbidden(format!("{path}.items"), why));
    }
    let given = |key: &str| schema.get(key).is_some_and(Value::is_object);
    if given("properties") && given("additionalProperties") {
        let why = "additionalProperties and properties are mutual exclusive";
        errors.push(forbidden(format!("{path}.additionalProperties"), why));
    }
    if is_set(schema, "uniqueItems") {
        let why =
            "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
        errors.push(forbidden(format!("{path}.uniqueItems"), why));
    }
    if schema.get("$ref").is_some_and(|value| !value.is_null()) {
        errors.push(forbidden(format!("{path}.$ref"), "$ref is not supported"));
    }
    if let Some(value @ Value::String(pattern)) = schema.get("pattern")
        && let Err(error) = Regexp::compile(pattern.as_bytes())
    {
        let why = format!("must be a valid regular expression, but isn't: {error}");
        errors.push(FieldError::invalid(format!("{path}.pattern"), value, &why));
    }
}

fn metadata(schema: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let properties = schema.get("properties").and_then(Value::as_object);
    let names = properties
        .into_iter()
        .flat_map(|properties| properties.keys());
    if names
        .into_iter()
        .any(|name| name != "name" && name != "generateName")
    {
        let why = "must not specify anything other than name and generateName, but metadata is implicitly specified";
        errors.push(forbidden(path.to_owned(), why));
    }
}

fn extensions(schema: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let given = |key: &str| schema.get(key).filter(|value| !value.is_null());
    let of_type = schema.get("type").cloned().unwrap_or_else(|| "".into());
    let type_field = || format!("{path}.type");
    let key = "x-kubernetes-preserve-unknown-fields";
    if let Some(value @ Value::Bool(false)) = given(key) {
        errors.push(FieldError::invalid(
            format!("{path}.{key}"),
            value,
            "must be true or undefined",
        ));
    }
    if is_set(schema, "x-kubernetes-embedded-resource") {
        if of_type != "object" {
            let why = "must be object if x-kubernetes-embedded-resource is true";
            errors.push(FieldError::invalid(type_field(), &of_type, why));
        }
        if !is_set(schema, key) && given("properties").is_none() {
            let why = "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields";
            errors.push(required(format!("{path}.properties"), why));
        }
    }
    let key = "x-kubernetes-map-type";
    if let Some(value) = given(key) {
        if of_type != "object" {
            let why = "must be object if x-kubernetes-map-type is specified";
            errors.push(FieldError::invalid(type_field(), &of_type, why));
        }
        if value != "atomic" && value != "granular" {
            let field = format!("{path}.{key}");
            errors.push(FieldError::not_supported(
                field,
                value,
                &["atomic", "granular"],
            ));
        }
    }
    let key = "x-kubernetes-list-type";
    if let Some(value) = given(key) {
        if of_type != "array" {
            let why = "must be array if x-kubernetes-list-type is specified";
            errors.push(FieldError::invalid(type_field(), &of_type, why));
        }
        match value.as_str() {
            Some("atomic") => {}
            Some("set") => set_items(&schema["items"], path, errors),
            Some("map") => map_items(schema, path, errors),
            _ => {
                let field = format!("{path}.{key}");
                errors.push(FieldError::not_supported(
                    field,
                    value,
                    &["atomic", "set", "map"],
                ));
            }
        }
    }
}

fn set_items(items: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let (key, wanted) = match items["type"].as_str() {
        Some("object") => ("x-kubernetes-map-type", "atomic"),
        Some("array") => ("x-kubernetes-list-type", "atomic"),
        _ => return,
    };
    if items[key] != wanted {
        let why = format!("must be {wanted} as item of a list with x-kubernetes-list-type=set");
        errors.push(FieldError::invalid(
            format!("{path}.items.{key}"),
            &items[key],
            &why,
        ));
    }
}

fn map_items(schema: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let field = format!("{path}.x-kubernetes-list-map-keys");
    let keys = &schema["x-kubernetes-list-map-keys"];
    let names: Vec<&str> = keys
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    if names.is_empty() {
        errors.push(required(
            field,
            "must not be empty if x-kubernetes-list-type is map",
        ));
        return;
    }
    let items = &schema["items"];
    if items["type"] != "object" {
        let why = "must be object if parent array's x-kubernetes-list-type is map";
        errors.push(FieldError::invalid(
            format!("{path}.items.type"),
            &items["type"],
            why,
        ));
        return;
    }
    let properties = &items["properties"];
    if names.iter().any(|name| !properties[*name].is_object()) {
        errors.push(FieldError::invalid(
            field,
            keys,
            "entries must all be names of item properties",
        ));
        return;
    }
    for name in names {
        let needed = items["required"]
            .as_array()
            .is_some_and(|all| all.iter().any(|one| one == name));
        if !needed && properties[name]["default"].is_null() {
            let why = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
            errors.push(required(
                format!("{path}.items.properties[{name}].default"),
                why,
            ));
        }
    }
}

/// A default has to be a value of its schema.
fn default(schema: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let Some(value) = schema.get("default").filter(|value| !value.is_null()) else {
        return;
    };
    let Ok((types, id)) = Types::from_schema(schema) else {
        return;
    };
    let field = format!("{path}.default");
    let mut known = value.clone();
    if !prune(&types, id, &mut known).is_empty() {
        errors.push(FieldError::invalid(
            &field,
            value,
            "must not have unknown fields",
        ));
    }
    for mut error in validate(&types, id, value, None) {
        if error.field != "<nil>" {
            let dot = if error.field.is_empty() || error.field.starts_with('[') {
                ""
            } else {
                "."
            };
            error.field = format!("{field}{dot}{}", error.field);
            errors.push(error);
        }
    }
}

fn rules(schema: &Value, path: &str, errors: &mut Vec<FieldError>) {
    const REASONS: [&str; 4] = [
        "FieldValueDuplicate",
        "FieldValueForbidden",
        "FieldValueInvalid",
        "FieldValueRequired",
    ];
    let all = schema
        .get("x-kubernetes-validations")
        .and_then(Value::as_array);
    for (index, rule) in all.into_iter().flatten().enumerate() {
        let path = format!("{path}.x-kubernetes-validations[{index}]");
        let text = |key: &str| rule[key].as_str().unwrap_or_default();
        if text("rule").trim().is_empty() {
            errors.push(required(format!("{path}.rule"), "rule is not specified"));
        } else if let Err(error) = cel::parse(text("rule")) {
            errors.push(FieldError {
                cause: Cause::Invalid,
                field: format!("{path}.rule"),
                message: format!(
                    "Invalid value: {}: compilation failed: {error}",
                    shown_rule(rule)
                ),
            });
        }
        let reason = &rule["reason"];
        if !reason.is_null() && !REASONS.iter().any(|known| reason == known) {
            let field = format!("{path}.reason");
            errors.push(FieldError::not_supported(field, reason, &REASONS));
        }
        let message = text("message");
        if !message.is_empty() && message.trim().is_empty() {
            let why = "must be non-empty if specified";
            errors.push(FieldError::invalid(
                format!("{path}.message"),
                &rule["message"],
                why,
            ));
        } else if message.trim().contains('\n') {
            let why = "must not contain line breaks";
            errors.push(FieldError::invalid(
                format!("{path}.message"),
                &rule["message"],
                why,
            ));
        }
    }
}

fn shown_rule(rule: &Value) -> String {
    let text = |key: &str| quote(rule[key].as_str().unwrap_or_default());
    format!(
        "{{\"Rule\":{},\"Message\":{},\"MessageExpression\":{},\"Reason\":{},\"FieldPath\":{},\"OptionalOldSelf\":{}}}",
        text("rule"),
        text("message"),
        text("messageExpression"),
        rule["reason"],
        text("fieldPath"),
        rule["optionalOldSelf"]
    )
}
