//! What counts as "found as specified": cases of comparison, through whole evaluations.

use rstest::rstest;

use crate::world::{detail, report};

const AS_SPECIFIED: &str = "pods [p] found as specified in namespace default";
const DIFFERS: &str = "pods [p] found but not as specified in namespace default";

fn verdict(compliance: &str, wanted: &str, live: &str) -> String {
    let text = format!(
        "
object-templates:
- complianceType: {compliance}
  objectDefinition: {{apiVersion: v1, kind: Pod, metadata: {{name: p, namespace: default}}, spec: {wanted}}}
"
    );
    let object = format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: p, namespace: default}}\nspec: {live}\n"
    );
    detail(&report(&text, &object), 0)
}

#[rstest]
#[case::more_fields_are_there(
    "musthave",
    "{containers: [{name: nginx}]}",
    "{containers: [{name: nginx, image: i, ports: [1]}]}",
    AS_SPECIFIED
)]
#[case::more_fields_must_not_be_there(
    "mustonlyhave",
    "{containers: [{name: nginx}]}",
    "{containers: [{name: nginx, image: i}]}",
    DIFFERS
)]
#[case::one_of_several_items("musthave", "{ports: [80]}", "{ports: [80, 80, 90]}", AS_SPECIFIED)]
#[case::absent_list("musthave", "{ports: [80]}", "{a: 1}", DIFFERS)]
#[case::empty_list("musthave", "{ports: [80]}", "{ports: []}", DIFFERS)]
#[case::an_empty_list_is_no_wish("musthave", "{ports: []}", "{ports: [80]}", AS_SPECIFIED)]
#[case::items_of_two_names(
    "musthave",
    "{c: [{image: x, name: a}]}",
    "{c: [{image: x, name: b}]}",
    DIFFERS
)]
#[case::order_of_a_list(
    "mustonlyhave",
    "{verbs: [get, list]}",
    "{verbs: [list, get]}",
    AS_SPECIFIED
)]
#[case::quantities("musthave", "{memory: 1024Mi}", "{memory: 1Gi}", AS_SPECIFIED)]
#[case::number_and_text("musthave", "{port: 80}", "{port: '80'}", AS_SPECIFIED)]
#[case::cfg_117_the_best_assignment(
    "musthave",
    "{l: [{a: 1}, {a: 1, b: 2}]}",
    "{l: [{a: 1, b: 2}, {a: 1, c: 3}]}",
    AS_SPECIFIED
)]
#[case::cfg_125_other_keys_of_the_same_count("mustonlyhave", "{m: {a: 0}}", "{m: {b: 5}}", DIFFERS)]
#[case::large_integers(
    "musthave",
    "{n: 9007199254740993}",
    "{n: 9007199254740993}",
    AS_SPECIFIED
)]
#[case::large_integers_that_differ(
    "musthave",
    "{n: 9007199254740993}",
    "{n: 9007199254740992}",
    DIFFERS
)]
fn comparisons(
    #[case] compliance: &str,
    #[case] wanted: &str,
    #[case] live: &str,
    #[case] expected: &str,
) {
    assert_eq!(verdict(compliance, wanted, live), expected);
}

#[test]
fn large_roles_stay_compliant() {
    let rule = |number: usize| {
        format!("{{apiGroups: [g{number}], resources: [a, b, c], verbs: [get, list, watch]}}")
    };
    let rules: Vec<String> = (0..300).map(rule).collect();
    let reversed: Vec<String> = (0..300).rev().map(rule).collect();
    let with = |rules: &[String]| {
        format!(
            "{{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {{name: big}}, rules: [{}]}}",
            rules.join(", ")
        )
    };
    let text = format!(
        "object-templates:\n- complianceType: mustonlyhave\n  objectDefinition: {}\n",
        with(&reversed)
    );
    assert_eq!(
        detail(&report(&text, &with(&rules)), 0),
        "clusterroles [big] found as specified"
    );
}

#[test]
fn service_accounts_keep_fields_of_the_token_controller() {
    let text = "
object-templates:
- complianceType: mustonlyhave
  objectDefinition: {apiVersion: v1, kind: ServiceAccount, metadata: {name: s, namespace: default}}
";
    let object = "
apiVersion: v1
kind: ServiceAccount
metadata: {name: s, namespace: default}
secrets: [{name: t}]
imagePullSecrets: [{name: p}]
";
    assert_eq!(
        detail(&report(text, object), 0),
        "serviceaccounts [s] found as specified in namespace default"
    );
}

#[rstest]
#[case::must_have(
    "musthave",
    "musthave",
    "{keep: x}",
    "configmaps [c] found as specified in namespace default"
)]
#[case::metadata_only(
    "musthave",
    "mustonlyhave",
    "{keep: x}",
    "configmaps [c] found but not as specified in namespace default"
)]
#[case::not_the_metadata(
    "mustonlyhave",
    "musthave",
    "{keep: x}",
    "configmaps [c] found as specified in namespace default"
)]
fn metadata_has_a_word_of_its_own(
    #[case] compliance: &str,
    #[case] metadata: &str,
    #[case] labels: &str,
    #[case] expected: &str,
) {
    let text = format!("
object-templates:
- complianceType: {compliance}
  metadataComplianceType: {metadata}
  objectDefinition: {{apiVersion: v1, kind: ConfigMap, metadata: {{name: c, namespace: default, labels: {labels}}}, data: {{a: b}}}}
");
    let object = "
apiVersion: v1
kind: ConfigMap
metadata: {name: c, namespace: default, labels: {keep: x, other: z}}
data: {a: b}
";
    assert_eq!(detail(&report(&text, object), 0), expected);
}

#[test]
fn cfg_130_secrets_without_a_name_are_compared_by_string_data() {
    let text = "
object-templates:
- complianceType: musthave
  objectDefinition: {apiVersion: v1, kind: Secret, metadata: {namespace: default}, stringData: {user: admin}}
";
    let object = "
apiVersion: v1
kind: Secret
metadata: {name: s, namespace: default}
data: {user: YWRtaW4=, more: eA==}
";
    assert_eq!(
        detail(&report(text, object), 0),
        "secrets [s] found as specified in namespace default"
    );
}

#[test]
fn cfg_127_labels_are_no_quantities() {
    let text = "
object-templates:
- complianceType: musthave
  objectDefinition: {apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: default, labels: {v: '1.0'}}}
";
    let object = "
apiVersion: v1
kind: ConfigMap
metadata: {name: c, namespace: default, labels: {v: '1'}}
";
    assert_eq!(
        detail(&report(text, object), 0),
        "configmaps [c] found but not as specified in namespace default"
    );
}
