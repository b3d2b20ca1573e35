//! Reads a policy as upstream's decoder does: keys in any case, no unknown ones, and numbers and booleans of YAML as texts where
//! the field is a text.
//!
//! The fields are those of the kind's CRD, so that there is no second list of them.

use reeve_api::crds;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::messages;

/// The fields of every object, which CRDs need not describe.
const OF_EVERY_OBJECT: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// The fields of `metadata`, which CRDs do not describe.
const METADATA: [&str; 14] = [
    "annotations",
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generateName",
    "generation",
    "labels",
    "managedFields",
    "name",
    "namespace",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
];

/// The object with its keys spelt as its kind spells them.
pub(crate) fn spelt(kind: &str, object: Value) -> Result<Value, String> {
    let Some(schema) = schema(kind) else {
        return Ok(object);
    };
    let Value::Object(mut fields) = respell(object, &schema, Level::Root)? else {
        return Err(messages::wrong_value(kind, "expected an object"));
    };
    if let Some(Value::Object(metadata)) = fields.remove("metadata") {
        let known = METADATA.into_iter().chain(["uid"]).collect::<Vec<_>>();
        let mut metadata = renamed(metadata, &known)?;
        for (field, value) in &mut metadata {
            match (field.as_str(), value) {
                ("labels" | "annotations", Value::Object(texts)) => {
                    texts.values_mut().for_each(to_text);
                }
                ("name" | "namespace" | "generateName" | "resourceVersion" | "uid", value)
                    if !value.is_null() =>
                {
                    to_text(value);
                }
                _ => {}
            }
        }
        fields.insert("metadata".to_owned(), Value::Object(metadata));
    }
    Ok(Value::Object(fields))
}

/// The typed object.
pub(crate) fn typed<T: DeserializeOwned>(object: Value) -> Result<T, String> {
    serde_path_to_error::deserialize(object).map_err(|error| {
        let place = error.path().to_string();
        messages::wrong_value(&place, &error.into_inner().to_string())
    })
}

fn schema(kind: &str) -> Option<Value> {
    let all = crds::all().ok()?;
    let of_kind = |crd: &Value| crd["spec"]["names"]["kind"] == kind;
    let (_, mut crd) = all.into_iter().find(|(_, crd)| of_kind(crd))?;
    let schema = crd.pointer_mut("/spec/versions/0/schema/openAPIV3Schema")?;
    Some(schema.take())
}

/// Where an object is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    /// It is the whole object.
    Root,
    /// It is below.
    Inner,
}

fn respell(value: Value, schema: &Value, level: Level) -> Result<Value, String> {
    match value {
        Value::Array(items) => {
            let of_items = &schema["items"];
            let items = items.into_iter();
            let items = items.map(|item| respell_entry(item, of_items));
            items.collect::<Result<Vec<_>, _>>().map(Value::Array)
        }
        Value::Object(fields) => respell_fields(fields, schema, level).map(Value::Object),
        mut scalar => {
            if schema["type"] == "string" && !scalar.is_null() {
                to_text(&mut scalar);
            }
            Ok(scalar)
        }
    }
}

/// An item of a list, or an entry of a map, where Go has an empty text for null.
fn respell_entry(mut value: Value, schema: &Value) -> Result<Value, String> {
    if schema["type"] == "string" {
        to_text(&mut value);
    }
    respell(value, schema, Level::Inner)
}

/// What `sigs.k8s.io/yaml` makes of a scalar where the Go type is a string.
fn to_text(value: &mut Value) {
    let text = match &*value {
        Value::Null => String::new(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(_) | Value::Array(_) | Value::Object(_) => return,
    };
    *value = Value::String(text);
}

fn respell_fields(
    fields: Map<String, Value>,
    schema: &Value,
    level: Level,
) -> Result<Map<String, Value>, String> {
    let Some(properties) = schema["properties"].as_object() else {
        // A map of the user's own keys, or a whole object.
        let of_entries = &schema["additionalProperties"];
        if !of_entries.is_object() {
            return Ok(fields);
        }
        let entries = fields.into_iter();
        return entries
            .map(|(key, value)| Ok((key, respell_entry(value, of_entries)?)))
            .collect();
    };
    let mut known: Vec<&str> = properties.keys().map(String::as_str).collect();
    if level == Level::Root {
        known.extend(OF_EVERY_OBJECT);
    }
    let named = if schema["x-kubernetes-preserve-unknown-fields"] == true {
        fields
    } else {
        renamed(fields, &known)?
    };
    let mut result = Map::new();
    for (key, value) in named {
        let of_key = properties.get(&key).unwrap_or(&Value::Null);
        let value = respell(value, of_key, Level::Inner)?;
        result.insert(key, value);
    }
    Ok(result)
}

fn renamed(fields: Map<String, Value>, known: &[&str]) -> Result<Map<String, Value>, String> {
    let mut result = Map::new();
    for (key, value) in fields {
        let exact = known.iter().find(|name| **name == key);
        let similar = || known.iter().find(|name| name.eq_ignore_ascii_case(&key));
        let Some(name) = exact.or_else(similar) else {
            return Err(messages::unknown_field(&key));
        };
        result.insert((*name).to_owned(), value);
    }
    Ok(result)
}

#[cfg(test)]
mod tests {
    use reeve_api::configuration_policy::ConfigurationPolicy;
    use serde_json::json;

    use super::*;

    fn read(object: Value) -> Result<ConfigurationPolicy, String> {
        typed(spelt("ConfigurationPolicy", object)?)
    }

    #[test]
    fn dry_4_numbers_and_booleans_are_texts_where_the_field_is_a_text() {
        let policy = read(json!({
            "metadata": {"name": "p", "labels": {"a": 1, "b": true}},
            "spec": {
                "remediationAction": "inform", "severity": 5, "customMessage": {"noncompliant": 5},
                "namespaceSelector": {"matchLabels": {"env": 1, "none": null}, "include": [1]},
                "object-templates": [{
                    "complianceType": "musthave",
                    "objectDefinition": {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": 1}},
                    "objectSelector": {"matchLabels": {"a": 1}},
                }],
            },
        }));
        let policy = serde_json::to_value(policy.unwrap()).unwrap();
        let spec = &policy["spec"];
        assert_eq!(policy["metadata"]["labels"], json!({"a": "1", "b": "true"}));
        assert_eq!(spec["severity"], "5");
        assert_eq!(spec["customMessage"]["noncompliant"], "5");
        let selector = &spec["namespaceSelector"];
        assert_eq!(selector["matchLabels"], json!({"env": "1", "none": ""}));
        assert_eq!(selector["include"], json!(["1"]));
        let template = &spec["object-templates"][0];
        assert_eq!(template["objectSelector"]["matchLabels"]["a"], "1");
        assert_eq!(template["objectDefinition"]["data"]["a"], 1);
    }

    #[test]
    fn dry_4_unknown_field_is_named_alone() {
        let error = read(json!({"spec": {"foo": 1}})).unwrap_err();
        assert_eq!(
            error,
            "error unmarshaling JSON: while decoding JSON: json: unknown field \"foo\""
        );
    }
}
