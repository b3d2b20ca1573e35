//! `object-templates-raw`: one text that becomes the list of object templates. Pure, but for the templates in it.

use reeve_api::configuration_policy::ObjectTemplate;
use reeve_go_compat::json;
use reeve_go_compat::yaml::{self, ToJsonError};
use serde_json::{Map, Value};

use crate::messages;

/// The fields of an object template. As in Go, the text may spell them in any case.
const FIELDS: [&str; 6] = [
    "complianceType",
    "metadataComplianceType",
    "objectDefinition",
    "objectSelector",
    "recordDiff",
    "recreateOption",
];

/// Reads a text without templates as YAML.
pub fn parse(text: &str) -> Result<Vec<ObjectTemplate>, String> {
    let failed = |error: &dyn std::fmt::Display| messages::raw_unparsable(&error.to_string());
    let value = yaml::decode_sigs_json(text.as_bytes()).map_err(|error| match error {
        ToJsonError::Json(error) => failed(&error),
        error => failed(&format!("error converting YAML to JSON: {error}")),
    })?;
    list(value).map_err(|error| failed(&format!("error unmarshaling JSON: {error}")))
}

/// Reads the object templates from a resolved text.
pub fn resolved(value: Value) -> Result<Vec<ObjectTemplate>, String> {
    list(value).map_err(|error| messages::raw_no_list(&error))
}

fn list(value: Value) -> Result<Vec<ObjectTemplate>, String> {
    match value {
        Value::Null => Ok(Vec::new()),
        Value::Array(items) => items.into_iter().enumerate().map(item).collect(),
        other => Err(messages::not_a_list(json::kind(&other))),
    }
}

fn item((index, value): (usize, Value)) -> Result<ObjectTemplate, String> {
    let Value::Object(fields) = value else {
        return Err(messages::not_a_template(index, json::kind(&value)));
    };
    let mut known = Map::new();
    for (key, value) in fields {
        let field = FIELDS.iter().find(|field| field.eq_ignore_ascii_case(&key));
        let Some(field) = field else { continue };
        let value = if *field == "objectSelector" {
            selector(value)
        } else {
            value
        };
        known.insert((*field).to_owned(), value);
    }
    known.entry("objectDefinition").or_insert(Value::Null);
    known
        .entry("complianceType")
        .or_insert_with(|| Value::String(String::new()));
    serde_json::from_value(Value::Object(known))
        .map_err(|error| messages::broken_template(index, &error.to_string()))
}

fn selector(value: Value) -> Value {
    let Value::Object(fields) = value else {
        return value;
    };
    let renamed = fields.into_iter().map(|(key, value)| {
        let known = ["matchLabels", "matchExpressions"];
        let field = known
            .into_iter()
            .find(|known| known.eq_ignore_ascii_case(&key));
        (field.map_or(key, str::to_owned), value)
    });
    Value::Object(renamed.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_in_any_case() {
        let text = "- compliancetype: MustHave\n  objectdefinition: {apiVersion: v1, kind: Pod}\n";
        let templates = parse(text).unwrap();
        assert_eq!(templates.len(), 1);
        assert_eq!(templates[0].compliance_type, "MustHave");
        assert_eq!(templates[0].object_definition["kind"], "Pod");
    }

    #[test]
    fn null_is_an_empty_list() {
        assert_eq!(parse("").unwrap(), []);
        assert_eq!(resolved(Value::Null).unwrap(), []);
    }

    #[test]
    fn value_that_is_no_list_is_an_error() {
        let error = resolved(serde_json::json!({"a": 1})).unwrap_err();
        assert_eq!(
            error,
            "failed unmarshalling resolved object-templates-raw template: json: cannot unmarshal object into Go value of type []*v1.ObjectTemplate"
        );
        let error = parse("a: *odd").unwrap_err();
        assert_eq!(
            error,
            "Error parsing object-templates-raw YAML: error converting YAML to JSON: yaml: unknown anchor 'odd' referenced"
        );
    }

    #[test]
    fn cfg_73_null_item_is_an_error() {
        let error = resolved(serde_json::json!([null])).unwrap_err();
        assert!(error.contains("item 0"), "{error}");
    }
}
