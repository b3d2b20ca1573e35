//! Reads a policy as upstream's decoder does: keys in any case, no unknown ones.
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
    let Value::Object(mut fields) = respell(object, &schema, "")? else {
        return Err(messages::wrong_value(kind, "expected an object"));
    };
    if let Some(Value::Object(metadata)) = fields.remove("metadata") {
        let known = METADATA.into_iter().chain(["uid"]).collect::<Vec<_>>();
        let metadata = renamed(metadata, &known, "metadata")?;
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

fn respell(value: Value, schema: &Value, place: &str) -> Result<Value, String> {
    match value {
        Value::Array(items) => {
            let of_items = &schema["items"];
            let items = items.into_iter().enumerate();
            let items =
                items.map(|(index, item)| respell(item, of_items, &format!("{place}[{index}]")));
            items.collect::<Result<Vec<_>, _>>().map(Value::Array)
        }
        Value::Object(fields) => respell_fields(fields, schema, place).map(Value::Object),
        scalar => Ok(scalar),
    }
}

fn respell_fields(
    fields: Map<String, Value>,
    schema: &Value,
    place: &str,
) -> Result<Map<String, Value>, String> {
    let Some(properties) = schema["properties"].as_object() else {
        // A map of the user's own keys, or a whole object.
        return Ok(fields);
    };
    let mut known: Vec<&str> = properties.keys().map(String::as_str).collect();
    if place.is_empty() {
        known.extend(OF_EVERY_OBJECT);
    }
    let named = if schema["x-kubernetes-preserve-unknown-fields"] == true {
        fields
    } else {
        renamed(fields, &known, place)?
    };
    let mut result = Map::new();
    for (key, value) in named {
        let inner = match place {
            "" => key.clone(),
            place => format!("{place}.{key}"),
        };
        let of_key = properties.get(&key).unwrap_or(&Value::Null);
        let value = respell(value, of_key, &inner)?;
        result.insert(key, value);
    }
    Ok(result)
}

fn renamed(
    fields: Map<String, Value>,
    known: &[&str],
    place: &str,
) -> Result<Map<String, Value>, String> {
    let mut result = Map::new();
    for (key, value) in fields {
        let exact = known.iter().find(|name| **name == key);
        let similar = || known.iter().find(|name| name.eq_ignore_ascii_case(&key));
        let Some(name) = exact.or_else(similar) else {
            return Err(messages::unknown_field(&key, place));
        };
        result.insert((*name).to_owned(), value);
    }
    Ok(result)
}
