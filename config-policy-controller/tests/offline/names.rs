//! Templates without a name, without a kind, without a namespace.

use rstest::rstest;

use crate::world::{detail, message, related, report};

const PODS: &str = "
apiVersion: v1
kind: Pod
metadata: {name: one, namespace: n1, labels: {app: web}, annotations: {team: a}}
spec: {containers: [{name: web, image: 'web:1'}]}
---
apiVersion: v1
kind: Pod
metadata: {name: two, namespace: n1, labels: {app: web}}
spec: {containers: [{name: web, image: 'web:2'}]}
---
apiVersion: v1
kind: Namespace
metadata: {name: n1}
---
apiVersion: v1
kind: Namespace
metadata: {name: n2}
---
apiVersion: v1
kind: Namespace
metadata: {name: n3}
";

fn pods(fields: &str) -> String {
    format!(
        "
namespaceSelector: {{include: ['n*']}}
object-templates:
- complianceType: musthave
  objectDefinition:
    apiVersion: v1
    kind: Pod
{fields}
"
    )
}

#[test]
fn a_pod_by_label_and_annotation() {
    let text = pods("    metadata: {namespace: n1, labels: {app: web}, annotations: {team: a}}");
    let report = report(&text, PODS);
    assert_eq!(
        detail(&report, 0),
        "pods [one] found as specified in namespace n1"
    );
    assert_eq!(
        related(&report),
        ["Pod n1/one Compliant Resource found as expected"]
    );
    let properties = crate::world::properties(&report);
    assert_eq!(properties.found_by_content, Some(true));
    assert_eq!(properties.created_by_policy, Some(false));
}

#[test]
fn several_pods_are_all_listed() {
    let report = report(
        &pods("    metadata: {namespace: n1, labels: {app: web}}"),
        PODS,
    );
    assert_eq!(
        detail(&report, 0),
        "pods [one, two] found as specified in namespace n1"
    );
    assert_eq!(
        related(&report),
        [
            "Pod n1/one Compliant Resource found as expected",
            "Pod n1/two Compliant Resource found as expected",
        ]
    );
}

#[test]
fn pods_that_do_not_match_make_one_related_object() {
    let report = report(
        &pods("    metadata: {namespace: n1, labels: {app: other}}"),
        PODS,
    );
    assert_eq!(
        detail(&report, 0),
        "pods found but not as specified in namespace n1"
    );
    assert_eq!(
        related(&report),
        ["Pod n1/- NonCompliant Resource found but does not match"]
    );
}

#[rstest]
#[case::annotation(
    "annotations: {team: 1}",
    "invalid annotation, error: contains non-string value in the map under key \"team\": 1 is of the type int64, expected string"
)]
#[case::label(
    "labels: {app: true}",
    "invalid label, error: contains non-string value in the map under key \"app\": true is of the type bool, expected string"
)]
fn labels_and_annotations_that_are_no_strings(#[case] field: &str, #[case] expected: &str) {
    let text = format!(
        "
object-templates:
- complianceType: musthave
  objectDefinition: {{apiVersion: v1, kind: Pod, metadata: {{name: one, namespace: n1, {field}}}}}
"
    );
    let report = report(&text, PODS);
    assert_eq!(detail(&report, 0), expected);
    // What was found comes before what is wrong with the description.
    assert_eq!(report.messages.len(), 2);
}

#[test]
fn without_a_kind() {
    let text = "
object-templates:
- complianceType: musthave
  objectDefinition: {apiVersion: v1, metadata: {name: one, namespace: n1}}
";
    assert_eq!(
        detail(&report(text, PODS), 0),
        "The kind and apiVersion fields are required on the object template at index 0 in policy p"
    );
}

#[test]
fn an_empty_name_over_three_namespaces() {
    let report = report(
        &pods("    metadata: {name: '', labels: {app: none}}"),
        "
apiVersion: v1
kind: Namespace
metadata: {name: n1}
---
apiVersion: v1
kind: Namespace
metadata: {name: n2}
---
apiVersion: v1
kind: Namespace
metadata: {name: n3}
",
    );
    assert_eq!(
        detail(&report, 0),
        "pods not found in namespaces: n1, n2, n3"
    );
}

#[rstest]
#[case::without_a_namespace(
    "{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: r}}",
    "namespaced object r of kind Role has no namespace specified from the policy namespaceSelector nor the object metadata"
)]
#[case::without_name_and_namespace(
    "{apiVersion: v1, kind: Pod}",
    "namespaced object of kind Pod has no namespace specified from the policy namespaceSelector nor the object metadata"
)]
#[case::a_namespace(
    "{apiVersion: v1, kind: Namespace, metadata: {name: n1}}",
    "namespaces [n1] found as specified"
)]
#[case::cluster_scoped_without_name(
    "{apiVersion: v1, kind: Namespace, metadata: {labels: {a: b}}}",
    "namespaces found but not as specified"
)]
fn without_a_namespace(#[case] definition: &str, #[case] expected: &str) {
    let text = format!(
        "object-templates:\n- complianceType: musthave\n  objectDefinition: {definition}\n"
    );
    assert_eq!(detail(&report(&text, PODS), 0), expected);
}

#[test]
fn three_templates_in_three_namespaces_are_listed_in_order() {
    let one = |name: &str| {
        format!(
            "- complianceType: musthave\n  objectDefinition: {{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}}}}}\n"
        )
    };
    let text = format!(
        "namespaceSelector: {{include: ['n*']}}\nobject-templates:\n{}{}{}",
        one("c"),
        one("a"),
        one("b")
    );
    let report = report(&text, PODS);
    assert_eq!(
        message(&report),
        "NonCompliant; violation - configmaps [c] not found in namespaces: n1, n2, n3; violation - configmaps [a] not found in namespaces: n1, n2, n3; violation - configmaps [b] not found in namespaces: n1, n2, n3"
    );
    let names: Vec<String> = related(&report)
        .iter()
        .map(|entry| entry.split(' ').nth(1).unwrap().to_owned())
        .collect();
    assert_eq!(
        names.join(" "),
        "n1/a n1/b n1/c n2/a n2/b n2/c n3/a n3/b n3/c"
    );
}

#[test]
fn mustnothave_without_a_name_lists_matches() {
    let text = pods("    metadata: {namespace: n1, labels: {app: web}}")
        .replace("musthave", "mustnothave");
    let report = report(&text, PODS);
    assert_eq!(detail(&report, 0), "pods [one, two] found in namespace n1");
    let text =
        pods("    metadata: {namespace: n1, labels: {app: no}}").replace("musthave", "mustnothave");
    let report = self::report(&text, PODS);
    assert_eq!(
        detail(&report, 0),
        "pods missing as expected in namespace n1"
    );
    assert_eq!(
        related(&report),
        ["Pod n1/- Compliant Resource not found as expected"]
    );
}

const SELECTED: &str = "
object-templates:
- complianceType: TYPE
  objectSelector: {matchLabels: {app: web}}
  objectDefinition: {apiVersion: v1, kind: Pod, metadata: {namespace: n1}, spec: {containers: [{name: web, image: 'web:1'}]}}
";

#[test]
fn an_object_selector_instead_of_a_name() {
    let report = report(&SELECTED.replace("TYPE", "musthave"), PODS);
    assert_eq!(
        detail(&report, 0),
        "pods [two] found but not as specified in namespace n1"
    );
    assert_eq!(
        related(&report),
        [
            "Pod n1/one Compliant Resource found as expected",
            "Pod n1/two NonCompliant Resource found but does not match",
        ]
    );
}

#[test]
fn mustnothave_with_a_selector_lists_matches() {
    let report = report(&SELECTED.replace("TYPE", "mustnothave"), PODS);
    assert_eq!(detail(&report, 0), "pods [one] found in namespace n1");
}

#[test]
fn cfg_82_selected_objects_are_related_when_none_matches() {
    let text = SELECTED
        .replace("TYPE", "mustnothave")
        .replace("web:1", "web:9");
    let report = report(&text, PODS);
    assert_eq!(
        detail(&report, 0),
        "pods missing as expected in namespace n1"
    );
    assert_eq!(
        related(&report),
        ["Pod n1/one Compliant ", "Pod n1/two Compliant "]
    );
    let text = "
object-templates:
- complianceType: mustnothave
  objectSelector: {}
  objectDefinition: {apiVersion: v1, kind: Namespace, metadata: {labels: {a: b}}}
";
    assert_eq!(
        detail(&self::report(text, PODS), 0),
        "namespaces missing as expected"
    );
}

#[test]
fn mustnothave_with_a_selector_and_templated_name_lists_all_selected() {
    let text = SELECTED.replace("TYPE", "mustnothave").replace(
        "{namespace: n1}",
        "{namespace: n1, name: '{{ .ObjectName }}'}",
    );
    let report = report(&text, PODS);
    assert_eq!(detail(&report, 0), "pods [one, two] found in namespace n1");
}

#[rstest]
#[case::nothing_selected(
    "{matchLabels: {app: none}}",
    "No objects of kind Pod were matched from the policy objectSelector"
)]
#[case::operator(
    "{matchExpressions: [{key: app, operator: Seriously}]}",
    "Error parsing provided objectSelector in the object-template at index [0]: \"Seriously\" is not a valid label selector operator"
)]
fn selectors_that_select_nothing(#[case] selector: &str, #[case] expected: &str) {
    let text = SELECTED
        .replace("TYPE", "musthave")
        .replace("{matchLabels: {app: web}}", selector);
    assert_eq!(detail(&report(&text, PODS), 0), expected);
}
