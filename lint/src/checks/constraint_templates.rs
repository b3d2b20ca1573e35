//! RVL211: what Gatekeeper does not read of the schema of a `ConstraintTemplate`.

use serde_json::Value;

use crate::file::join;
use crate::finding::Finding;
use crate::items::Item;
use crate::messages;

/// Where the schema of the parameters is.
const SCHEMA: &str = "/spec/crd/spec/validation/openAPIV3Schema";

/// What a schema of a custom resource has. Others begin with `x-`.
const KEYWORDS: [&str; 37] = [
    "$ref",
    "$schema",
    "additionalItems",
    "additionalProperties",
    "allOf",
    "anyOf",
    "default",
    "definitions",
    "dependencies",
    "description",
    "enum",
    "example",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "externalDocs",
    "format",
    "id",
    "items",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "not",
    "nullable",
    "oneOf",
    "pattern",
    "patternProperties",
    "properties",
    "required",
    "title",
    "type",
    "uniqueItems",
];

/// Checks the schema of a `ConstraintTemplate`.
pub(crate) fn check(item: &Item<'_>) -> Vec<Finding> {
    if !item.is("templates.gatekeeper.sh", "ConstraintTemplate") {
        return Vec::new();
    }
    let Some(schema) = item.value.pointer(SCHEMA) else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    let mut pending = vec![(SCHEMA.to_owned(), schema)];
    while let Some((path, schema)) = pending.pop() {
        let Some(members) = schema.as_object() else {
            continue;
        };
        for (name, member) in members {
            let at = join(&path, name);
            if is_unknown(name) {
                let message = messages::unread_keyword(&item.described(), name);
                findings.push(item.finding(&at, "RVL211", message));
            }
            match (name.as_str(), member) {
                ("additionalProperties" | "not", _) | ("items", Value::Object(_)) => {
                    pending.push((at, member));
                }
                ("items", Value::Array(_) | Value::Null) => {}
                ("items", _) => {
                    let message = messages::unread_items(&item.described());
                    findings.push(item.finding(&at, "RVL211", message));
                }
                ("properties" | "patternProperties", Value::Object(all)) => {
                    let inner = all.iter();
                    pending.extend(inner.map(|(name, one)| (join(&at, name), one)));
                }
                ("allOf" | "anyOf" | "oneOf", Value::Array(all)) => {
                    let inner = all.iter().enumerate();
                    pending.extend(inner.map(|(index, one)| (format!("{at}/{index}"), one)));
                }
                _ => {}
            }
        }
    }
    findings
}

fn is_unknown(name: &str) -> bool {
    !KEYWORDS.contains(&name) && !name.starts_with("x-") && !name.contains("{{")
}
