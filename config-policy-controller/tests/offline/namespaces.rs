//! Where templates without a namespace are looked for.

use reeve_config_policy_controller::dryrun::Options;
use reeve_config_policy_controller::dryrun::TerminatingInclusion;
use rstest::rstest;

use crate::world::{detail, policy, report, report_of};

const NAMESPACES: &str = "
apiVersion: v1
kind: Namespace
metadata: {name: a1, labels: {box: yes, 'kubernetes.io/metadata.name': a1}}
---
apiVersion: v1
kind: Namespace
metadata: {name: a2, labels: {'kubernetes.io/metadata.name': a2}}
---
apiVersion: v1
kind: Namespace
metadata: {name: gone, deletionTimestamp: '2026-01-01T00:00:00Z', labels: {box: yes}}
";

fn text(selector: &str) -> String {
    format!(
        "
namespaceSelector: {selector}
object-templates:
- complianceType: musthave
  objectDefinition: {{apiVersion: v1, kind: ConfigMap, metadata: {{name: c}}}}
"
    )
}

const NONE: &str = "namespaced object c of kind ConfigMap has no namespace specified from the policy namespaceSelector nor the object metadata";

#[rstest]
#[case::empty("{}", NONE)]
#[case::exclude_alone("{exclude: ['x']}", NONE)]
#[case::pattern(
    "{include: ['a[0-9]']}",
    "configmaps [c] not found in namespaces: a1, a2"
)]
#[case::default_always_exists(
    "{include: ['default']}",
    "configmaps [c] not found in namespace default"
)]
#[case::labels(
    "{matchExpressions: [{key: box, operator: Exists}]}",
    "configmaps [c] not found in namespaces: a1, gone"
)]
#[case::empty_labels(
    "{matchLabels: {}, exclude: ['gone']}",
    "configmaps [c] not found in namespaces: a1, a2, default"
)]
#[case::both(
    "{include: ['a*'], matchExpressions: [{key: box, operator: DoesNotExist}]}",
    "configmaps [c] not found in namespace a2"
)]
#[case::never_terminating(
    "{include: ['*'], terminatingInclusion: Never}",
    "configmaps [c] not found in namespaces: a1, a2, default"
)]
#[case::pattern_error(
    "{include: ['a[']}",
    "Error filtering namespaces with provided namespaceSelector: error parsing 'include' pattern 'a[': syntax error in pattern"
)]
#[case::operator(
    "{matchExpressions: [{key: box, operator: Seriously}]}",
    "Error filtering namespaces with provided namespaceSelector: error parsing namespace LabelSelector: \"Seriously\" is not a valid label selector operator"
)]
#[case::no_values(
    "{matchExpressions: [{key: box, operator: In}]}",
    "Error filtering namespaces with provided namespaceSelector: error parsing namespace LabelSelector: values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty"
)]
fn selectors(#[case] selector: &str, #[case] expected: &str) {
    assert_eq!(detail(&report(&text(selector), NAMESPACES), 0), expected);
}

#[rstest]
#[case::chosen_by_the_policy("IfMatch", "configmaps [c] not found in namespaces: a1, gone")]
#[case::left_to_the_flag("Default", "configmaps [c] not found in namespace a1")]
fn terminating_namespaces(#[case] word: &str, #[case] expected: &str) {
    let selector = format!(
        "{{matchExpressions: [{{key: box, operator: Exists}}], terminatingInclusion: {word}}}"
    );
    let options = Options {
        terminating: TerminatingInclusion::Drop,
        ..Options::default()
    };
    let report = report_of(&policy(&text(&selector)), NAMESPACES, &options);
    assert_eq!(detail(&report, 0), expected);
}
