#![allow(clippy::needless_pass_by_value)] // cases are written in place

use rstest::rstest;
use serde_json::json;

use super::*;

fn template() -> ConstraintTemplate {
    ConstraintTemplate::parse(&json!({
        "apiVersion": "templates.gatekeeper.sh/v1",
        "kind": "ConstraintTemplate",
        "metadata": {"name": "probe"},
        "spec": {
            "crd": {"spec": {"names": {"kind": "Probe"}, "validation": {"openAPIV3Schema": {
                "type": "object",
                "properties": {
                    "a": {"type": "integer"},
                    "b": {"type": "string", "default": "x"},
                    "o": {"type": "object", "properties": {"c": {"type": "boolean", "default": true}}},
                },
            }}}},
            "targets": [{"target": "admission.k8s.gatekeeper.sh", "rego": "package a"}],
        },
    }))
    .unwrap()
}

fn parsed(spec: Json) -> Result<Constraint, ConstraintError> {
    let object = json!({
        "apiVersion": "constraints.gatekeeper.sh/v1beta1",
        "kind": "Probe",
        "metadata": {"name": "one"},
        "spec": spec,
    });
    Constraint::parse(&object, &template())
}

#[rstest]
#[case::unknown_parameter(
    json!({"parameters": {"zzz": 1}}),
    "invalid Constraint: unknown fields: [spec.parameters.zzz]"
)]
#[case::wrong_type(
    json!({"parameters": {"a": "x"}}),
    "schema validation failed: [].spec.parameters.a: Invalid value: \"string\": spec.parameters.a in body must be of type integer: \"string\""
)]
#[case::namespace_pattern(
    json!({"match": {"namespaces": ["a*b"]}}),
    "schema validation failed: [].spec.match.namespaces[0]: Invalid value: \"a*b\": spec.match.namespaces[0] in body should match '^\\*?[-:a-z0-9]*\\*?$'"
)]
#[case::source(
    json!({"match": {"source": "Foo"}}),
    "schema validation failed: [].spec.match.source: Unsupported value: \"Foo\": supported values: \"All\", \"Generated\", \"Original\""
)]
#[case::operator(
    json!({"match": {"namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "Foo"}]}}}),
    "invalid Constraint: spec.labelSelector.matchExpressions[0].operator: Invalid value: \"Foo\": not a valid selector operator"
)]
#[case::scopes(
    json!({"enforcementAction": "scoped"}),
    "invalid Constraint: missing required field: spec.scopedEnforcementActions must be defined"
)]
fn gk_107_invalid_constraint_is_refused(#[case] spec: Json, #[case] expected: &str) {
    let error = parsed(spec).unwrap_err().to_string();
    assert!(expected.ends_with(&error) || error == expected, "{error}");
}

#[test]
fn only_errors_of_the_schema_count_as_such() {
    assert!(
        parsed(json!({"parameters": {"a": "x"}}))
            .unwrap_err()
            .is_schema()
    );
    assert!(
        !parsed(json!({"parameters": {"zzz": 1}}))
            .unwrap_err()
            .is_schema()
    );
}

#[test]
fn gk_108_defaults_are_filled_into_parameters_that_are_there() {
    let constraint = parsed(json!({"parameters": {"o": {}}})).unwrap();
    assert_eq!(
        constraint.parameters(),
        Some(&json!({"b": "x", "o": {"c": true}}))
    );
    let constraint = parsed(json!({})).unwrap();
    assert_eq!(constraint.parameters(), None);
    assert_eq!(constraint.enforcement.action, "deny");
}
