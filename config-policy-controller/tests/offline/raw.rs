//! `object-templates-raw`.

use reeve_config_policy_controller::dryrun::Options;
use rstest::rstest;

use crate::world::{detail, message, policy, related, report, report_of};

const NAMESPACES: &str = "
apiVersion: v1
kind: Namespace
metadata: {name: n1, labels: {team: a}}
---
apiVersion: v1
kind: Namespace
metadata: {name: n2, labels: {team: a}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: c, namespace: n1}
";

fn raw(text: &str) -> String {
    let text: Vec<String> = text.lines().map(|line| format!("  {line}")).collect();
    format!("object-templates-raw: |\n{}\n", text.join("\n"))
}

#[test]
fn a_range_over_a_lookup() {
    let text = raw(
        r#"{{- range $ns := (lookup "v1" "Namespace" "" "" "team=a").items }}
- complianceType: musthave
  objectDefinition:
    apiVersion: v1
    kind: ConfigMap
    metadata:
      name: c
      namespace: {{ $ns.metadata.name }}
{{- end }}"#,
    );
    let report = report(&text, NAMESPACES);
    assert_eq!(
        message(&report),
        "NonCompliant; notification - configmaps [c] found as specified in namespace n1; violation - configmaps [c] not found in namespace n2"
    );
    assert_eq!(related(&report).len(), 2);
}

#[test]
fn keys_in_any_case() {
    let text = raw(
        "- ComplianceType: musthave\n  ObjectDefinition: {apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: n1}}",
    );
    assert_eq!(
        detail(&report(&text, NAMESPACES), 0),
        "configmaps [c] found as specified in namespace n1"
    );
}

#[rstest]
#[case::anchor(
    "- complianceType: *odd",
    "Error parsing object-templates-raw YAML: error converting YAML to JSON: yaml: unknown anchor 'odd' referenced"
)]
#[case::no_list(
    "{{ \"a: b\" }}",
    "failed unmarshalling resolved object-templates-raw template: json: cannot unmarshal object into Go value of type []*v1.ObjectTemplate"
)]
#[case::unterminated("{{ 'a }}", "unterminated character constant")]
#[case::no_variables("- {{ .ObjectName }}", "ObjectName")]
fn mistakes(#[case] text: &str, #[case] expected: &str) {
    let message = detail(&report(&raw(text), NAMESPACES), 0);
    assert!(message.contains(expected), "{message}");
}

#[test]
fn empty_raw_templates_are_compliant() {
    assert_eq!(
        message(&report(&raw("{{- if false }}\n- a\n{{- end }}"), "")),
        "Compliant; notification - p contains no object templates to check, and thus has no violations"
    );
}

#[test]
fn cfg_63_raw_templates_are_empty_when_templates_are_disabled() {
    let mut policy = policy(&raw(
        "- complianceType: musthave\n  objectDefinition: {apiVersion: v1, kind: Pod}",
    ));
    policy.metadata.annotations = Some(
        [(
            "policy.open-cluster-management.io/disable-templates".to_owned(),
            "true".to_owned(),
        )]
        .into(),
    );
    let report = report_of(&policy, "", &Options::default());
    assert!(
        message(&report)
            .ends_with("contains no object templates to check, and thus has no violations")
    );
}

#[test]
fn cfg_73_null_item_is_reported() {
    let text = raw("{{ \"\" }}\n- \n- complianceType: musthave");
    assert_eq!(
        detail(&report(&text, ""), 0),
        "failed unmarshalling resolved object-templates-raw template: item 0 must be an object template, but it is null"
    );
}
