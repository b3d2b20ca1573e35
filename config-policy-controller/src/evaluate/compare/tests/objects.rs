//! Whole objects: metadata, the kinds with rules of their own.

use rstest::rstest;
use serde_json::{Value, json};

use super::{Verdict, compared, map, verdict_of};
use crate::evaluate::compare::ComplianceType::{self, MustHave, MustNotHave, MustOnlyHave};
use crate::evaluate::compare::{DesiredContent, Mismatch, Shown, compare, matches, without_noise};

fn pod(spec: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec})
}

fn role(rules: &Value) -> Value {
    json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "r"}, "rules": rules})
}

#[rstest]
#[case::fewer_fields(MustHave, json!({"containers": [{"name": "n"}]}), json!({"containers": [{"name": "n", "image": "i", "ports": [{"containerPort": 80}]}]}), Verdict::Compliant)]
#[case::fewer_fields_exactly(MustOnlyHave, json!({"containers": [{"name": "n"}]}), json!({"containers": [{"name": "n", "image": "i"}]}), Verdict::NonCompliant)]
#[case::list_subset(MustHave, json!({"ports": [80]}), json!({"ports": [80, 80, 90]}), Verdict::Compliant)]
#[case::list_absent(MustHave, json!({"ports": [80]}), json!({}), Verdict::NonCompliant)]
#[case::list_empty(MustHave, json!({"ports": [80]}), json!({"ports": []}), Verdict::NonCompliant)]
#[case::empty_list_wanted(MustHave, json!({"ports": []}), json!({"ports": [80]}), Verdict::Compliant)]
#[case::other_name(MustHave, json!({"l": [{"image": "x", "name": "a"}]}), json!({"l": [{"image": "x", "name": "b"}]}), Verdict::NonCompliant)]
#[case::zero_values(MustHave, json!({"hostIPC": false, "priority": 0}), json!({}), Verdict::AskServer)]
#[case::empty_map(MustHave, json!({"nodeSelector": {}}), json!({}), Verdict::NonCompliant)]
#[case::quantity(MustHave, json!({"memory": "1024Mi"}), json!({"memory": "1Gi"}), Verdict::AskServer)]
#[case::quantity_exactly(MustOnlyHave, json!({"memory": "1024Mi"}), json!({"memory": "1Gi"}), Verdict::AskServer)]
#[case::spaces_count(MustHave, json!({"env": [{"name": "A", "value": " x "}]}), json!({"env": [{"name": "A", "value": "x"}]}), Verdict::NonCompliant)]
fn specs(
    #[case] compliance: ComplianceType,
    #[case] wanted: Value,
    #[case] live: Value,
    #[case] expected: Verdict,
) {
    assert_eq!(
        verdict_of(&compared(compliance, &pod(&wanted), &pod(&live))),
        expected
    );
}

#[rstest]
#[case::reordered_verbs(MustOnlyHave, json!([{"verbs": ["get", "list"]}]), json!([{"verbs": ["list", "get"]}]), Verdict::Compliant)]
#[case::extra_rule(MustOnlyHave, json!([{"verbs": ["get"]}]), json!([{"verbs": ["get"]}, {"verbs": ["list"]}]), Verdict::NonCompliant)]
#[case::extra_rule_is_fine(MustHave, json!([{"verbs": ["get"]}]), json!([{"verbs": ["get"]}, {"verbs": ["list"]}]), Verdict::Compliant)]
#[case::extra_verb_is_fine(MustHave, json!([{"verbs": ["get"], "resources": ["pods"]}]), json!([{"verbs": ["list", "get"], "resources": ["pods"]}]), Verdict::Compliant)]
#[case::missing_rule(MustHave, json!([{"verbs": ["get"]}]), json!([{"verbs": ["list"]}]), Verdict::NonCompliant)]
fn top_level_lists(
    #[case] compliance: ComplianceType,
    #[case] wanted: Value,
    #[case] live: Value,
    #[case] expected: Verdict,
) {
    assert_eq!(
        verdict_of(&compared(compliance, &role(&wanted), &role(&live))),
        expected
    );
}

#[rstest]
#[case::null_over_ten(json!(null), json!(10), Verdict::NonCompliant)]
#[case::null_over_absent(json!(null), json!(null), Verdict::Compliant)]
#[case::map_over_ten(json!({}), json!(10), Verdict::Error)]
#[case::ten_over_map(json!(10), json!({"a": 1}), Verdict::NonCompliant)]
fn top_level_scalars(#[case] wanted: Value, #[case] live: Value, #[case] expected: Verdict) {
    let scc = |priority: &Value| json!({"apiVersion": "v1", "kind": "X", "priority": priority});
    assert_eq!(
        verdict_of(&compared(MustHave, &scc(&wanted), &scc(&live))),
        expected
    );
}

#[test]
fn absent_empty_list_needs_a_dry_run() {
    let binding = json!({"apiVersion": "v1", "kind": "RoleBinding", "roleRef": {"name": "r"}});
    let mut wanted = binding.clone();
    wanted["subjects"] = json!([]);
    assert_eq!(
        verdict_of(&compared(MustHave, &wanted, &binding)),
        Verdict::AskServer
    );
}

#[test]
fn mustonlyhave_removes_keys_outside_the_definition() {
    let wanted = json!({"apiVersion": "v1", "kind": "RoleBinding", "metadata": {"name": "b"}, "roleRef": {"name": "r"}});
    let mut live = wanted.clone();
    live["subjects"] = json!([{"kind": "User", "name": "u"}]);
    live["status"] = json!({"phase": "x"});
    live["metadata"]["uid"] = json!("1");
    let comparison = compared(MustOnlyHave, &wanted, &live);
    assert!(comparison.update_needed);
    let mut expected = live.clone();
    expected.as_object_mut().unwrap().remove("subjects");
    assert_eq!(comparison.candidate, expected);
    assert_eq!(
        comparison.mismatches,
        [Mismatch {
            path: "subjects".to_owned(),
            want: Shown::Absent,
            got: Shown::Value(live["subjects"].clone()),
        }]
    );
}

#[test]
fn mustonlyhave_keeps_fields_of_the_token_controller() {
    let wanted = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "a"}});
    let mut live = wanted.clone();
    live["secrets"] = json!([{"name": "token"}]);
    live["imagePullSecrets"] = json!([{"name": "pull"}]);
    assert_eq!(
        verdict_of(&compared(MustOnlyHave, &wanted, &live)),
        Verdict::Compliant
    );
    live["automountServiceAccountToken"] = json!(true);
    assert_eq!(
        verdict_of(&compared(MustOnlyHave, &wanted, &live)),
        Verdict::NonCompliant
    );
}

fn with_metadata(metadata: &Value) -> Value {
    let mut object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}});
    let target = object["metadata"].as_object_mut().unwrap();
    target.extend(map(metadata.clone()));
    object
}

#[rstest]
#[case::subset(MustHave, json!({"labels": {"a": "1"}}), json!({"labels": {"a": "1", "b": "2"}}), Verdict::Compliant)]
#[case::subset_exactly(MustOnlyHave, json!({"labels": {"a": "1"}}), json!({"labels": {"a": "1", "b": "2"}}), Verdict::NonCompliant)]
#[case::unmentioned(MustOnlyHave, json!({}), json!({"labels": {"a": "1"}, "annotations": {"b": "2"}}), Verdict::Compliant)]
#[case::empty_label(MustHave, json!({"labels": {"new": ""}}), json!({"labels": {"a": "1"}}), Verdict::NonCompliant)]
#[case::no_labels_yet(MustHave, json!({"labels": {"a": "1"}}), json!({}), Verdict::NonCompliant)]
#[case::last_applied_is_not_content(MustOnlyHave, json!({"annotations": {"a": "1"}}), json!({"annotations": {"a": "1", "kubectl.kubernetes.io/last-applied-configuration": "{}"}}), Verdict::Compliant)]
#[case::last_applied_in_the_policy(MustHave, json!({"annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"}}), json!({}), Verdict::Compliant)]
#[case::security_context_stays(MustOnlyHave, json!({"annotations": {"a": "1"}}), json!({"annotations": {"a": "1", "openshift.io/sa.scc.mcs": "s0"}}), Verdict::Compliant)]
#[case::security_context_of_the_policy_wins(MustOnlyHave, json!({"annotations": {"openshift.io/sa.scc.mcs": "s1"}}), json!({"annotations": {"openshift.io/sa.scc.mcs": "s0"}}), Verdict::NonCompliant)]
#[case::other_metadata_is_ignored(MustOnlyHave, json!({"generation": 3, "finalizers": ["x"]}), json!({"generation": 4}), Verdict::Compliant)]
#[case::null_annotations_do_not_care(MustHave, json!({"annotations": null}), json!({"annotations": {"a": "1"}}), Verdict::Compliant)]
fn metadata(
    #[case] compliance: ComplianceType,
    #[case] wanted: Value,
    #[case] live: Value,
    #[case] expected: Verdict,
) {
    let comparison = compared(compliance, &with_metadata(&wanted), &with_metadata(&live));
    assert_eq!(verdict_of(&comparison), expected, "{comparison:#?}");
}

#[rstest]
#[case(json!({"annotations": {"b": 1, "a": [1, 2]}}), r#"invalid annotation, error: contains non-string value in the map under key "a": [1 2] is of the type []interface {}, expected string"#)]
#[case(json!({"labels": {"a": true}}), r#"invalid label, error: contains non-string value in the map under key "a": true is of the type bool, expected string"#)]
#[case(json!({"labels": "x"}), "invalid label, error: x is of the type string, expected map[string]interface{}")]
#[case(json!({"labels": {"a": null}}), r#"invalid label, error: contains non-string value in the map under key "a": <nil> is of the type <nil>, expected string"#)]
#[case(json!({"annotations": [], "labels": 1}), "invalid annotation, error: [] is of the type []interface {}, expected map[string]interface{}")]
fn metadata_that_is_not_text(#[case] wanted: Value, #[case] expected: &str) {
    let comparison = compared(
        MustHave,
        &with_metadata(&wanted),
        &with_metadata(&json!({})),
    );
    assert_eq!(comparison.error.unwrap().to_string(), expected);
    assert!(comparison.update_needed);
}

#[test]
fn metadata_compliance_type_applies_to_metadata_only() {
    let wanted = map(with_metadata(&json!({"labels": {"a": "1"}})));
    let live = with_metadata(&json!({"labels": {"a": "1", "b": "2"}}));
    let judged = |compliance, metadata| {
        let desired = DesiredContent {
            definition: &wanted,
            compliance,
            metadata_compliance: Some(metadata),
        };
        verdict_of(&compare(desired, &live))
    };
    assert_eq!(judged(MustOnlyHave, MustHave), Verdict::Compliant);
    assert_eq!(judged(MustHave, MustOnlyHave), Verdict::NonCompliant);
}

#[test]
fn enforcing_labels_keeps_the_last_applied_annotation() {
    let live = with_metadata(
        &json!({"annotations": {"old": "1", "kubectl.kubernetes.io/last-applied-configuration": "{}"}}),
    );
    let comparison = compared(
        MustOnlyHave,
        &with_metadata(&json!({"annotations": {"new": "2"}})),
        &live,
    );
    assert_eq!(
        comparison.candidate["metadata"]["annotations"],
        json!({"new": "2", "kubectl.kubernetes.io/last-applied-configuration": "{}"})
    );
}

fn secret(fields: &Value) -> Value {
    let mut secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}});
    secret.as_object_mut().unwrap().extend(map(fields.clone()));
    secret
}

#[rstest]
#[case::equal(MustHave, json!({"stringData": {"a": "text"}}), json!({"data": {"a": "dGV4dA=="}}), Verdict::Compliant)]
#[case::more_keys(MustHave, json!({"stringData": {"a": "text"}}), json!({"data": {"a": "dGV4dA==", "b": "/w=="}}), Verdict::Compliant)]
#[case::more_keys_exactly(MustOnlyHave, json!({"stringData": {"a": "text"}}), json!({"data": {"a": "dGV4dA==", "b": "eA=="}}), Verdict::NonCompliant)]
#[case::equal_exactly(MustOnlyHave, json!({"stringData": {"a": "text"}}), json!({"data": {"a": "dGV4dA=="}}), Verdict::Compliant)]
#[case::other_text(MustHave, json!({"stringData": {"a": "other"}}), json!({"data": {"a": "dGV4dA=="}}), Verdict::NonCompliant)]
#[case::no_data(MustHave, json!({"stringData": {"a": "text"}}), json!({}), Verdict::NonCompliant)]
#[case::data_as_it_is(MustHave, json!({"data": {"a": "dGV4dA=="}}), json!({"data": {"a": "dGV4dA==", "b": "eA=="}}), Verdict::Compliant)]
fn secrets(
    #[case] compliance: ComplianceType,
    #[case] wanted: Value,
    #[case] live: Value,
    #[case] expected: Verdict,
) {
    assert_eq!(
        verdict_of(&compared(compliance, &secret(&wanted), &secret(&live))),
        expected
    );
}

#[test]
fn string_data_update_keeps_binary_values() {
    let live = secret(&json!({"data": {"a": "dGV4dA==", "b": "/w=="}}));
    let comparison = compared(
        MustHave,
        &secret(&json!({"stringData": {"a": "new"}})),
        &live,
    );
    assert_eq!(comparison.candidate["stringData"], json!({"a": "new"}));
    assert_eq!(comparison.candidate["data"], live["data"]);
}

#[rstest]
#[case(json!({"data": "x"}), "Error accessing encoded data")]
#[case(json!({"data": {"a": 1}}), "Error accessing encoded data")]
#[case(json!({"data": {"a": "%"}}), "Error decoding secret: s")]
fn secrets_that_cannot_be_read(#[case] live: Value, #[case] expected: &str) {
    let wanted = secret(&json!({"stringData": {"a": "text"}}));
    let comparison = compared(MustHave, &wanted, &secret(&live));
    assert_eq!(comparison.error.unwrap().to_string(), expected);
}

#[test]
fn mismatches_of_secrets_show_no_value() {
    let live = secret(&json!({"data": {"a": "b2xkLXNlY3JldA=="}}));
    let wanted = secret(&json!({"stringData": {"a": "new-secret"}, "data": {"a": "bmV3"}}));
    let comparison = compared(MustHave, &wanted, &live);
    let shown = serde_json::to_string(&comparison.mismatches).unwrap();
    assert!(!comparison.mismatches.is_empty());
    assert_eq!(
        shown,
        r#"[{"path":"data.a","want":"redacted","got":"redacted"},{"path":"stringData.a","want":"redacted","got":"redacted"}]"#
    );
}

#[test]
fn mismatches_have_paths() {
    let live = pod(
        &json!({"containers": [{"name": "b"}, {"name": "a", "image": "x"}], "labels": {"a.b/c": "1"}}),
    );
    let wanted = pod(
        &json!({"containers": [{"name": "a", "image": "y"}, {"name": "c"}], "labels": {"a.b/c": "2"}, "x": 1}),
    );
    let paths: Vec<_> = compared(MustHave, &wanted, &live)
        .mismatches
        .into_iter()
        .map(|m| m.path)
        .collect();
    assert_eq!(
        paths,
        [
            "spec.containers[name=a].image",
            "spec.containers[1]",
            r#"spec.labels["a.b/c"]"#,
            "spec.x"
        ]
    );
}

#[test]
fn status_is_compared_and_not_written() {
    let wanted = json!({"apiVersion": "v1", "kind": "Pod", "status": {"phase": "Failed"}});
    let live =
        json!({"apiVersion": "v1", "kind": "Pod", "status": {"phase": "Running", "ip": "1"}});
    let comparison = compared(MustHave, &wanted, &live);
    assert!(comparison.status_mismatch && !comparison.update_needed && !comparison.missing);
    assert_eq!(
        comparison.candidate["status"],
        json!({"phase": "Failed", "ip": "1"})
    );
    assert_eq!(comparison.to_write(&live), live);
}

#[test]
fn uncompared_metadata_is_removed() {
    let object = json!({"metadata": {
        "name": "n", "managedFields": [], "generation": 3,
        "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"}
    }});
    assert_eq!(without_noise(&object), json!({"metadata": {"name": "n"}}));
}

#[rstest]
#[case::by_content(MustHave, json!({"spec": {"nodeName": "a"}}), true)]
#[case::by_other_content(MustHave, json!({"spec": {"nodeName": "b"}}), false)]
#[case::by_zero_value(MustHave, json!({"spec": {"hostIPC": false, "tolerations": []}}), true)]
#[case::mustnothave_looks_the_same_way(MustNotHave, json!({"spec": {"nodeName": "a"}}), true)]
#[case::by_label(MustHave, json!({"metadata": {"labels": {"app": "x"}}}), true)]
#[case::by_other_label(MustHave, json!({"metadata": {"labels": {"app": "y"}}}), false)]
#[case::wrong_type(MustHave, json!({"spec": [1]}), false)]
#[case::only_the_kind(MustHave, json!({}), true)]
fn searching(#[case] compliance: ComplianceType, #[case] wanted: Value, #[case] expected: bool) {
    let live = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "labels": {"app": "x", "z": "1"}}, "spec": {"nodeName": "a"}});
    let mut definition = map(json!({"apiVersion": "v1", "kind": "Pod"}));
    definition.extend(map(wanted));
    let desired = DesiredContent {
        definition: &definition,
        compliance,
        metadata_compliance: None,
    };
    assert_eq!(matches(desired, &live), expected);
}

/// Where a desired field is that the live object does not have.
#[derive(Debug, Clone, Copy)]
enum Place {
    TopLevel,
    Nested,
    ListItem,
    Status,
}

impl Place {
    /// The desired object with this value of the field, and the live object without it.
    fn objects(self, value: Value) -> (Value, Value) {
        let mut live = json!({
            "apiVersion": "ex.org/v1", "kind": "Thing",
            "spec": {"b": 1, "items": [{"name": "n"}]}, "status": {"b": 1},
        });
        let mut wanted = live.clone();
        let place = match self {
            Self::TopLevel => &mut wanted,
            Self::Nested => &mut wanted["spec"],
            Self::ListItem => &mut wanted["spec"]["items"][0],
            Self::Status => &mut wanted["status"],
        };
        place["a"] = value;
        live["metadata"] = json!({"name": "t"});
        (wanted, live)
    }
}

/// CFG-176: one row for each value, one column for each compliance type.
#[rstest]
fn cfg_176_absent_field(
    #[values(Place::TopLevel, Place::Nested, Place::ListItem, Place::Status)] place: Place,
) {
    use Verdict::{AskServer, Compliant, NonCompliant};
    let rows = match place {
        Place::TopLevel => [
            (json!(null), AskServer, AskServer),
            (json!(0), NonCompliant, NonCompliant),
            (json!(false), NonCompliant, NonCompliant),
            (json!([]), AskServer, AskServer),
            (json!(""), NonCompliant, NonCompliant),
            (json!({}), NonCompliant, NonCompliant),
            (json!(1), NonCompliant, NonCompliant),
        ],
        Place::Nested | Place::Status => [
            (json!(null), AskServer, AskServer),
            (json!(0), AskServer, AskServer),
            (json!(false), AskServer, AskServer),
            (json!([]), AskServer, Compliant),
            (json!(""), NonCompliant, NonCompliant),
            (json!({}), NonCompliant, NonCompliant),
            (json!(1), NonCompliant, NonCompliant),
        ],
        Place::ListItem => [
            (json!(null), AskServer, AskServer),
            (json!(0), AskServer, AskServer),
            (json!(false), AskServer, AskServer),
            (json!([]), AskServer, Compliant),
            (json!(""), AskServer, AskServer),
            (json!({}), AskServer, AskServer),
            (json!(1), NonCompliant, NonCompliant),
        ],
    };
    for (value, musthave, mustonlyhave) in rows {
        let (wanted, live) = place.objects(value.clone());
        for (compliance, expected) in [(MustHave, musthave), (MustOnlyHave, mustonlyhave)] {
            let found = verdict_of(&compared(compliance, &wanted, &live));
            assert_eq!(found, expected, "{value} in {place:?}, {compliance:?}");
        }
    }
}
