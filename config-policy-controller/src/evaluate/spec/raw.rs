//! `object-templates-raw`: one text that becomes the list of object templates. Pure, but for the templates in it.

use reeve_api::configuration_policy::ObjectTemplate;
use reeve_go_compat::json::typed::{Field, Struct, Type, UnknownFields, decode_typed};
use reeve_go_compat::yaml;
use serde_json::Value;

use crate::go_types::LABEL_SELECTOR;
use crate::messages;

/// An object template as Go declares it.
static OBJECT_TEMPLATE: Struct = Struct {
    name: "v1.ObjectTemplate",
    fields: &[
        Field::new("complianceType", Type::Text("v1.ComplianceType")),
        Field::new(
            "metadataComplianceType",
            Type::Text("v1.MetadataComplianceType"),
        ),
        Field::new("recreateOption", Type::Text("v1.RecreateOption")),
        Field::new("objectDefinition", Type::Any),
        Field::new("objectSelector", Type::Struct(&LABEL_SELECTOR)),
        Field::new("recordDiff", Type::Text("v1.RecordDiff")),
    ],
};
const OBJECT_TEMPLATES: Type = Type::List(&Type::Pointer(&Type::Struct(&OBJECT_TEMPLATE)));

/// Reads a text without templates as YAML.
pub fn parse(text: &str) -> Result<Vec<ObjectTemplate>, String> {
    let read = yaml::decode_sigs_typed(text.as_bytes(), &OBJECT_TEMPLATES, UnknownFields::Ignore);
    read.map_err(|error| error.to_string())
        .and_then(list)
        .map_err(|error| messages::raw_unparsable(&error))
}

/// Reads the object templates from a resolved text.
pub fn resolved(value: &Value) -> Result<Vec<ObjectTemplate>, String> {
    let read = decode_typed(value, &OBJECT_TEMPLATES, UnknownFields::Ignore);
    read.map_err(|error| error.to_string())
        .and_then(list)
        .map_err(|error| messages::raw_no_list(&error))
}

fn list(decoded: Value) -> Result<Vec<ObjectTemplate>, String> {
    match decoded {
        Value::Array(items) => items.into_iter().enumerate().map(item).collect(),
        _ => Ok(Vec::new()),
    }
}

fn item((index, value): (usize, Value)) -> Result<ObjectTemplate, String> {
    let Value::Object(mut fields) = value else {
        return Err(messages::null_template(index));
    };
    fields.entry("objectDefinition").or_insert(Value::Null);
    fields
        .entry("complianceType")
        .or_insert_with(|| Value::String(String::new()));
    serde_json::from_value(Value::Object(fields)).map_err(|error| error.to_string())
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
        assert_eq!(resolved(&Value::Null).unwrap(), []);
    }

    #[test]
    fn value_that_is_no_list_is_an_error() {
        let error = resolved(&serde_json::json!({"a": 1})).unwrap_err();
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
        let error = resolved(&serde_json::json!([null])).unwrap_err();
        assert!(error.contains("item 0"), "{error}");
    }

    /// The form of these texts is that of encoding/json; the names of the types are those of the API of policies.
    #[test]
    fn cfg_73_wrong_types_are_named_in_the_words_of_go() {
        let plain = |text: &str| parse(text).unwrap_err();
        let prefix = "Error parsing object-templates-raw YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal ";
        for (text, why) in [
            ("a: b", "object into Go value of type []*v1.ObjectTemplate"),
            ("[a]", "string into Go value of type v1.ObjectTemplate"),
            (
                "- complianceType: []",
                "array into Go struct field ObjectTemplate.complianceType of type v1.ComplianceType",
            ),
            (
                "- objectSelector: {matchLabels: {a: []}}",
                "array into Go struct field LabelSelector.objectSelector.matchLabels of type string",
            ),
        ] {
            assert_eq!(plain(text), format!("{prefix}{why}"));
        }
        let error = resolved(&serde_json::json!([{"complianceType": 5}])).unwrap_err();
        assert_eq!(
            error,
            "failed unmarshalling resolved object-templates-raw template: json: cannot unmarshal number into Go struct field ObjectTemplate.complianceType of type v1.ComplianceType"
        );
    }

    #[test]
    fn cfg_73_numbers_and_booleans_of_yaml_are_texts_where_go_has_texts() {
        let text = "- complianceType: 5\n  recordDiff: 7\n  objectSelector: {MatchLabels: {a: 1, b: null, c: true, d: 1.50}}\n  objectDefinition: {a: 1}\n";
        let templates = parse(text).unwrap();
        let selector = templates[0].object_selector.as_ref().unwrap();
        let labels = selector.match_labels.as_ref().unwrap();
        let labels: Vec<_> = labels
            .iter()
            .map(|(k, v)| (k.as_str(), v.as_str()))
            .collect();
        assert_eq!(labels, [("a", "1"), ("b", ""), ("c", "true"), ("d", "1.5")]);
        assert_eq!(templates[0].record_diff.as_deref(), Some("7"));
        assert_eq!(templates[0].compliance_type, "5");
        assert_eq!(templates[0].object_definition["a"], 1);
    }
}
