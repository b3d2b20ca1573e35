//! What templates know of the object that they are resolved for, and `skipObject`.

use rstest::rstest;

use crate::world::{detail, related, report};

const OBJECTS: &str = "
apiVersion: v1
kind: Namespace
metadata: {name: n1, labels: {team: a}}
---
apiVersion: v1
kind: Namespace
metadata: {name: n2, labels: {team: b}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: one, namespace: n1, labels: {app: x, at: n1, called: one}}
data: {a: '1', nested: deep}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: two, namespace: n1, labels: {app: x, at: n1, called: two}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: one, namespace: n2, labels: {app: x, at: n2, called: wrong}}
---
apiVersion: config.example.com/v1
kind: Gadget
metadata: {name: g, labels: {size: big}}
spec: {size: big}
";

fn text(selector: &str, definition: &str) -> String {
    format!(
        "
namespaceSelector: {{include: ['n*']}}
object-templates:
- complianceType: musthave
  {selector}
  objectDefinition: {definition}
"
    )
}

fn found(selector: &str, definition: &str) -> String {
    detail(&report(&text(selector, definition), OBJECTS), 0)
}

#[test]
fn names_and_namespaces_of_selected_objects() {
    let message = found(
        "objectSelector: {matchLabels: {app: x}}",
        "{apiVersion: v1, kind: ConfigMap, metadata: {labels: {at: '{{ .ObjectNamespace }}', called: '{{ .ObjectName }}'}}}",
    );
    assert_eq!(
        message,
        "configmaps [one] found but not as specified in namespace n2"
    );
}

#[rstest]
#[case::namespaced(
    "{apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: n1}, data: {nested: '{{ .Object.data.nested }}'}}",
    "configmaps [one] found as specified in namespace n1"
)]
#[case::cluster_scoped(
    "{apiVersion: config.example.com/v1, kind: Gadget, metadata: {name: g, labels: {size: '{{ .Object.spec.size }}'}}}",
    "gadgets [g] found as specified"
)]
#[case::absent(
    "{apiVersion: v1, kind: ConfigMap, metadata: {name: gone, namespace: n1}, data: {a: '{{ if empty .Object }}none{{ end }}'}}",
    "configmaps [gone] not found in namespace n1"
)]
#[case::literal_name_wins(
    "{apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: n1, labels: {called: '{{ .ObjectName }}'}}}",
    "configmaps [one] found as specified in namespace n1"
)]
fn the_object_itself(#[case] definition: &str, #[case] expected: &str) {
    assert_eq!(found("", definition), expected);
}

#[rstest]
#[case::unnamed(
    "{apiVersion: v1, kind: ConfigMap, metadata: {labels: {called: '{{ .ObjectName }}'}}}",
    "can't evaluate field ObjectName in type struct { ObjectNamespace string }"
)]
#[case::cluster_scoped(
    "{apiVersion: config.example.com/v1, kind: Gadget, metadata: {name: g, labels: {at: '{{ .ObjectNamespace }}'}}}",
    "can't evaluate field ObjectNamespace in type struct { Object map[string]interface {}; ObjectName string }"
)]
#[case::nothing_known(
    "{apiVersion: config.example.com/v1, kind: Gadget, metadata: {labels: {at: '{{ .ObjectName }}'}}}",
    "can't evaluate field ObjectName in type struct {}"
)]
#[case::unknown_field(
    "{apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: n1, labels: {a: '{{ .Nothing }}'}}}",
    "can't evaluate field Nothing in type struct { Object map[string]interface {}; ObjectNamespace string; ObjectName string }"
)]
#[case::absent_object(
    "{apiVersion: v1, kind: ConfigMap, metadata: {name: gone, namespace: n1}, data: {a: '{{ index .Object.data \"x\" }}'}}",
    "index of untyped nil"
)]
#[case::other_name(
    "{apiVersion: v1, kind: ConfigMap, metadata: {name: '{{ \"\" }}'}, data: {a: '{{ .ObjectName }}'}}",
    "can't evaluate field ObjectName"
)]
fn what_is_not_known(#[case] definition: &str, #[case] expected: &str) {
    let message = found("", definition);
    assert!(message.contains(expected), "{message}");
    assert!(
        message.starts_with("failed to resolve the template {"),
        "{message}"
    );
}

const SELECTS: &str = "objectSelector: {matchLabels: {app: x}}";

#[rstest]
#[case::namespace(
    "",
    "{apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: 'other{{ \"\" }}'}}",
    "The object definition's namespace must match the result from the namespace selector after template resolution"
)]
#[case::name(
    SELECTS,
    "{apiVersion: v1, kind: ConfigMap, metadata: {name: 'other{{ \"\" }}'}}",
    "The object definition's name must match the result from the object selector after template resolution"
)]
fn what_templates_make_must_be_what_selectors_chose(
    #[case] selector: &str,
    #[case] definition: &str,
    #[case] expected: &str,
) {
    assert_eq!(found(selector, definition), expected);
}

#[test]
fn a_templated_namespace_without_a_selector() {
    let text = |namespace: &str| {
        format!(
            "object-templates:\n- complianceType: musthave\n  objectDefinition: {{apiVersion: v1, kind: ConfigMap, metadata: {{name: one, namespace: '{namespace}'}}}}\n"
        )
    };
    let of = |namespace: &str| detail(&report(&text(namespace), OBJECTS), 0);
    assert_eq!(
        of("{{ \"n1\" }}"),
        "configmaps [one] found as specified in namespace n1"
    );
    assert_eq!(
        of("{{ \"\" }}"),
        "namespaced object one of kind ConfigMap has no namespace specified after template resolution"
    );
    // Nothing is known of an object whose namespace a template makes.
    assert!(of("{{ .ObjectNamespace }}").contains("can't evaluate field ObjectNamespace"));
}

#[test]
fn names_and_namespaces_may_be_left_empty() {
    let message = found(
        SELECTS,
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: '', namespace: '', labels: {called: '{{ .ObjectName }}'}}}",
    );
    assert_eq!(
        message,
        "configmaps [one] found but not as specified in namespace n2"
    );
}

#[test]
fn cfg_80_templated_name_is_kept_in_every_namespace() {
    let message = found(
        "",
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: 'tw{{ \"o\" }}'}}",
    );
    assert_eq!(message, "configmaps [two] not found in namespace n2");
}

#[rstest]
#[case::one(
    "{{ if eq .ObjectName \"two\" }}{{ skipObject }}{{ end }}",
    "configmaps [one] found as specified in namespaces: n1, n2",
    2
)]
#[case::with_a_condition(
    "{{ skipObject (eq .ObjectNamespace \"n2\") }}",
    "configmaps [one, two] found as specified in namespace n1",
    2
)]
#[case::all(
    "{{ skipObject true }}",
    "All objects of kind ConfigMap were skipped by the `skipObject` template function",
    0
)]
#[case::even_if_it_fails(
    "{{ skipObject }}{{ fail \"no\" }}",
    "All objects of kind ConfigMap were skipped by the `skipObject` template function",
    0
)]
fn objects_are_left_out(#[case] template: &str, #[case] expected: &str, #[case] count: usize) {
    let definition = format!(
        "{{apiVersion: v1, kind: ConfigMap, metadata: {{labels: {{app: 'x{template}'}}}}}}"
    );
    let report = report(&text(SELECTS, &definition), OBJECTS);
    assert_eq!(detail(&report, 0), expected);
    assert_eq!(related(&report).len(), count);
}

#[rstest]
#[case("{{ skipObject 1 }}", "expected boolean but received '1'")]
#[case(
    "{{ skipObject true false }}",
    "expected one optional boolean argument but received 2 arguments"
)]
fn wrong_uses_of_skip_object(#[case] template: &str, #[case] expected: &str) {
    let definition =
        format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{labels: {{app: '{template}'}}}}}}");
    let message = found(SELECTS, &definition);
    assert!(message.contains(expected), "{message}");
}

#[test]
fn missing_kind_is_compliant_when_template_skips_it() {
    let text = "
object-templates:
- complianceType: musthave
  objectDefinition: {apiVersion: x.example.com/v1, kind: Thing, metadata: {name: 'a{{ skipObject }}'}}
";
    let report = report(text, "");
    assert_eq!(
        detail(&report, 0),
        "All objects of kind Thing were skipped by the `skipObject` template function"
    );
    assert!(related(&report).is_empty());
}

#[test]
fn template_may_modify_object_variable() {
    let definition = "{apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: n1}, data: {a: '{{ $o := set .Object \"data\" (dict \"a\" \"1\") }}{{ $o.data.a }}'}}";
    assert_eq!(
        found("", definition),
        "configmaps [one] found as specified in namespace n1"
    );
}
