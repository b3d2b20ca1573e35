//! Sensitive values are shown nowhere.

use rstest::rstest;

use crate::world::{properties, report};

const SECRET: &str = "cGxhaW50ZXh0";
const OBJECTS: &str = "
apiVersion: v1
kind: Secret
metadata: {name: s, namespace: default}
data: {password: cGxhaW50ZXh0}
---
apiVersion: config.example.com/v1
kind: Widget
metadata: {name: w, namespace: default}
spec: {password: other}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: c, namespace: default}
data: {a: found}
";
const REDACTED: &str = "# The difference is redacted because it contains sensitive data. To override, the spec[\"object-templates\"][].recordDiff field must be set to \"InStatus\" for the difference to be recorded in the policy status. Consider existing access to the ConfigurationPolicy objects and the etcd encryption configuration before you proceed with an override.";

const WIDGET: &str = r#"{apiVersion: config.example.com/v1, kind: Widget, metadata: {name: w, namespace: default}, spec: {password: '{{ fromSecret "default" "s" "password" }}'}}"#;

#[rstest]
#[case::a_secret(
    "{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: default}, data: {password: b3RoZXI=}}"
)]
#[case::a_config_map(
    "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: default}, data: {a: wanted}}"
)]
#[case::what_was_read_from_a_secret(WIDGET)]
fn differences_are_redacted(#[case] definition: &str) {
    let text = format!(
        "object-templates:\n- complianceType: musthave\n  objectDefinition: {definition}\n"
    );
    let report = report(&text, OBJECTS);
    let properties = properties(&report);
    assert_eq!(properties.diff.as_deref(), Some(REDACTED));
    for field in properties.fields.unwrap() {
        assert_eq!(
            (field.wanted, field.found, field.redacted),
            (None, None, Some(true))
        );
    }
    let all = serde_json::to_string(&report.status).unwrap();
    assert!(!all.contains("plaintext") && !all.contains(SECRET), "{all}");
}

#[test]
fn differences_of_raw_templates_are_redacted() {
    let text = format!(
        "object-templates-raw: |\n  - complianceType: musthave\n    objectDefinition: {WIDGET}\n"
    );
    let report = report(&text, OBJECTS);
    assert_eq!(properties(&report).diff.as_deref(), Some(REDACTED));
    assert!(
        !serde_json::to_string(&report.status)
            .unwrap()
            .contains("plaintext")
    );
}

#[test]
fn requested_diff_is_recorded_and_fields_stay_redacted() {
    let text = format!(
        "object-templates:\n- complianceType: musthave\n  recordDiff: InStatus\n  objectDefinition: {WIDGET}\n"
    );
    let properties = properties(&report(&text, OBJECTS));
    assert!(
        properties
            .diff
            .unwrap()
            .contains("+  password: cGxhaW50ZXh0")
    );
    assert_eq!(properties.fields.unwrap()[0].redacted, Some(true));
}

#[test]
fn custom_messages_contain_no_secrets() {
    let text = "
customMessage: {noncompliant: '{{ .Policy.status.relatedObjects }}', compliant: '{{ .Policy.status.relatedObjects }}'}
object-templates:
- complianceType: musthave
  objectDefinition: {apiVersion: v1, kind: Secret, metadata: {name: s, namespace: default}}
";
    let report = report(text, OBJECTS);
    assert!(
        report.messages[0].contains("Secret"),
        "{:?}",
        report.messages
    );
    assert!(!report.messages[0].contains(SECRET));
}

#[rstest]
#[case::fail(r#"{{ fail (fromSecret "default" "s" "password") }}"#)]
#[case::of_the_decoded_value(r#"{{ fail (fromSecret "default" "s" "password" | base64dec) }}"#)]
#[case::a_number(
    r#"{{ fromSecret "default" "s" "password" | base64dec | toInt | add 1 | int | until }}"#
)]
#[case::a_date(r#"{{ mustToDate "2006" (fromSecret "default" "s" "password" | base64dec) }}"#)]
fn errors_of_templates_quote_no_secrets(#[case] template: &str) {
    let text = format!(
        "object-templates:\n- complianceType: musthave\n  objectDefinition: {{apiVersion: v1, kind: ConfigMap, metadata: {{name: c, namespace: default}}, data: {{a: '{template}'}}}}\n"
    );
    let report = report(&text, OBJECTS);
    let message = crate::world::detail(&report, 0);
    assert!(
        message.contains("template") || message.contains("not as specified"),
        "{message}"
    );
    assert!(
        !message.contains("plaintext") && !message.contains(SECRET),
        "{message}"
    );
}

#[rstest]
#[case::of_one_label(
    "labels: {pin: '{{ fromSecret \"default\" \"pin\" \"pin\" | base64dec | toInt }}'}"
)]
#[case::of_all_annotations(
    "annotations: '{{ fromSecret \"default\" \"pin\" \"pin\" | base64dec }}'"
)]
fn errors_of_comparisons_quote_no_secrets(#[case] metadata: &str) {
    let objects = format!(
        "{OBJECTS}---\napiVersion: v1\nkind: Secret\nmetadata: {{name: pin, namespace: default}}\ndata: {{pin: ODM1NTIx}}\n"
    );
    let text = format!(
        "object-templates:\n- complianceType: musthave\n  objectDefinition:\n    apiVersion: v1\n    kind: ConfigMap\n    metadata:\n      name: c\n      namespace: default\n      {metadata}\n"
    );
    let report = report(&text, &objects);
    let message = crate::world::detail(&report, 0);
    assert!(message.contains("invalid"), "{message}");
    assert!(!message.contains("835521"), "{message}");
}
