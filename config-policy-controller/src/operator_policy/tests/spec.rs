//! Reading the spec.

use rstest::rstest;
use serde_json::json;

use super::super::decide::spec::names::{label_faults, olm_label};
use super::super::decide::spec::{Versions, draft, operator_group, versions};
use super::*;

const LABEL_RULE: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";

#[rstest]
#[case::not_an_object(json!([]), "the policy spec.subscription is invalid: json: cannot unmarshal array into Go value of type map[string]interface {}")]
#[case::no_name(json!({}), "name is required in spec.subscription")]
#[case::empty_name(json!({"name": ""}), "name is required in spec.subscription")]
#[case::name_is_no_text(json!({"name": 1}), "name is required in spec.subscription")]
#[case::dots(json!({"name": "a.b"}), "the name 'a.b' used for the subscription is invalid: must not contain dots")]
#[case::empty_namespace(json!({"name": "a", "namespace": ""}), "the namespace '' used for the subscription is not a valid namespace identifier")]
#[case::bad_namespace(json!({"name": "a", "namespace": "A"}), "the namespace 'A' used for the subscription is not a valid namespace identifier")]
#[case::unknown_field(json!({"name": "a", "actually": true}), "the policy spec.subscription is invalid: json: unknown field \"actually\"")]
#[case::namespace_is_no_text(json!({"name": "a", "namespace": 1}), "the policy spec.subscription is invalid: json: unknown field \"namespace\"")]
#[case::first_of_two(json!({"name": "a", "zzz": 1, "aaa": 1}), "the policy spec.subscription is invalid: json: unknown field \"aaa\"")]
#[case::wrong_type(json!({"name": "a", "channel": 1}), "the policy spec.subscription is invalid: json: cannot unmarshal number into Go struct field SubscriptionSpec.channel of type string")]
#[case::config_is_no_object(json!({"name": "a", "config": []}), "the policy spec.subscription is invalid: json: cannot unmarshal array into Go struct field SubscriptionSpec.config of type v1alpha1.SubscriptionConfig")]
#[case::unknown_in_config(json!({"name": "a", "config": {"x": 1}}), "the policy spec.subscription is invalid: json: unknown field \"x\"")]
#[case::unknown_in_env(json!({"name": "a", "config": {"env": [{"name": "A", "wrong": "x"}]}}), "the policy spec.subscription is invalid: json: unknown field \"wrong\"")]
#[case::selector_values(json!({"name": "a", "config": {"nodeSelector": {"a": true}}}), "the policy spec.subscription is invalid: json: cannot unmarshal bool into Go struct field SubscriptionSpec.config.nodeSelector of type string")]
#[case::approval(json!({"name": "a", "installPlanApproval": "Manual"}), "installPlanApproval is prohibited in spec.subscription")]
#[case::unknown_approval(json!({"name": "a", "installPlanApproval": "ERR"}), "installPlanApproval is prohibited in spec.subscription")]
fn op_5_invalid_subscriptions(#[case] given: Value, #[case] message: &str) {
    assert_eq!(draft(&given).unwrap_err(), message);
}

/// What Go's decoder says about each spec of the oracle. The message names the spec, where Go's text names the innermost
/// struct.
#[test]
fn op_5_specs_are_refused_in_the_words_of_go() {
    let cases = include_str!("../../../tests/oracle/fixtures/strict.json");
    let cases: Vec<Value> = serde_json::from_str(cases).unwrap();
    for case in cases {
        let input = &case["input"];
        let (spec, prefix, holder) = match input.get("subscription") {
            Some(spec) => (spec, "the policy spec.subscription", "SubscriptionSpec"),
            None => (
                &input["operatorGroup"],
                "the policy spec.operatorGroup",
                "OperatorGroupSpec",
            ),
        };
        let mut given = spec.clone();
        given["name"] = json!("a");
        let refused = if prefix.ends_with("subscription") {
            draft(&given).err()
        } else {
            operator_group(Some(&given), "operators").err()
        };
        let expected = match case["error"].as_str().unwrap() {
            "" => None,
            error => Some(format!("{prefix} is invalid: {}", of_spec(error, holder))),
        };
        assert_eq!(refused, expected, "{given}");
    }
}

fn of_spec(error: &str, spec: &str) -> String {
    let place = " into Go struct field ";
    match error.split_once(place) {
        Some((start, end)) => {
            let (_, path) = end.split_once('.').unwrap();
            format!("{start}{place}{spec}.{path}")
        }
        None => error.to_owned(),
    }
}

#[test]
fn op_5_fields_are_read_in_any_case_and_nulls_as_empty() {
    let given = json!({"name": "a", "config": {
        "Env": [{"Name": "a", "VALUE": "b"}, {"name": "c", "value": null}],
        "selector": {"matchLabels": {"a": null}},
        "resources": {"limits": {"cpu": 0.5, "memory": "1024Mi"}},
    }});
    let config = json!({
        "env": [{"name": "a", "value": "b"}, {"name": "c"}],
        "selector": {"matchLabels": {"a": ""}},
        "resources": {"limits": {"cpu": "500m", "memory": "1Gi"}},
    });
    assert_eq!(draft(&given).unwrap().spec["config"], config);
}

#[test]
fn op_5_invalid_name_of_a_subscription() {
    let message = format!("the name 'wrong$s' used for the subscription is invalid: {LABEL_RULE}");
    assert_eq!(draft(&json!({"name": "wrong$s"})).unwrap_err(), message);
    let long = "a".repeat(64);
    assert_eq!(
        label_faults(&long),
        ["must be no more than 63 characters"].as_slice()
    );
}

#[test]
fn op_5_valid_subscription() {
    let config = json!({
        "nodeSelector": {"a": "b"}, "resources": {"limits": {"cpu": 1, "memory": "1Gi"}},
        "env": [{"name": "A", "value": "b"}], "tolerations": [{"operator": "Exists"}],
        "volumes": [{"name": "v", "emptyDir": {}}], "affinity": {"nodeAffinity": {}},
    });
    let given = json!({
        "name": "quay", "namespace": "operators", "Channel": "stable", "installPlanApproval": "",
        "source": null, "config": config,
    });
    let draft = draft(&given).unwrap();
    assert_eq!(draft.namespace.as_deref(), Some("operators"));
    let mut spec = json!({
        "name": "quay", "channel": "stable", "installPlanApproval": "", "config": config,
    });
    // Kubernetes writes amounts as texts.
    spec["config"]["resources"]["limits"]["cpu"] = json!("1");
    assert_eq!(Value::Object(draft.spec), spec);
}

#[rstest]
#[case::automatic("Automatic", Versions::default(), true, "Automatic")]
#[case::none("None", Versions::default(), true, "Manual")]
#[case::listed("Automatic", Versions { allowed: vec!["a".to_owned()], unresolved: false }, true, "Manual")]
#[case::op_24_11_unresolved("Automatic", Versions { allowed: vec![], unresolved: true }, true, "Manual")]
#[case::informing("Automatic", Versions::default(), false, "Manual")]
fn op_5_install_plan_approval(
    #[case] upgrades: &str,
    #[case] versions: Versions,
    #[case] enforces: bool,
    #[case] expected: &str,
) {
    let spec = reeve_api::operator_policy::OperatorPolicySpec {
        upgrade_approval: upgrades.to_owned(),
        ..Default::default()
    };
    let draft = draft(&json!({"name": "quay"})).unwrap();
    let built = draft.build("operators", &versions, (&spec, enforces));
    assert_eq!(built.field("installPlanApproval"), expected);
    let object = built.object();
    assert_eq!(object["kind"], "Subscription");
    assert_eq!(object["apiVersion"], "operators.coreos.com/v1alpha1");
    assert_eq!(
        object["metadata"],
        json!({"name": "quay", "namespace": "operators"})
    );
}

#[rstest]
#[case::not_an_object(json!("x"), "the policy spec.operatorGroup is invalid: json: cannot unmarshal string into Go value of type map[string]interface {}")]
#[case::empty(json!({}), "name is required in spec.operatorGroup")]
#[case::other_namespace(json!({"name": "a", "namespace": "b"}), "the namespace specified in spec.operatorGroup ('b') must match the namespace used for the subscription ('operators')")]
#[case::namespace_before_name(json!({"namespace": "b"}), "the namespace specified in spec.operatorGroup ('b') must match the namespace used for the subscription ('operators')")]
#[case::unknown_field(json!({"name": "a", "foo": 1}), "the policy spec.operatorGroup is invalid: json: unknown field \"foo\"")]
#[case::wrong_type(json!({"name": "a", "targetNamespaces": "x"}), "the policy spec.operatorGroup is invalid: json: cannot unmarshal string into Go struct field OperatorGroupSpec.targetNamespaces of type []string")]
fn op_5_invalid_operator_groups(#[case] given: Value, #[case] message: &str) {
    assert_eq!(
        operator_group(Some(&given), "operators").unwrap_err(),
        message
    );
}

#[test]
fn op_5_operator_groups() {
    let given = json!({"name": "a", "namespace": "", "targetNamespaces": ["x"]});
    let group = operator_group(Some(&given), "operators").unwrap();
    assert_eq!(group.object()["spec"], json!({"targetNamespaces": ["x"]}));
    assert_eq!(
        group.object()["metadata"],
        json!({"name": "a", "namespace": "operators"})
    );
    let inferred = operator_group(None, "operators").unwrap().object();
    let metadata = json!({"generateName": "operators-", "namespace": "operators"});
    assert_eq!(
        (&inferred["metadata"], &inferred["spec"]),
        (&metadata, &json!({}))
    );
}

#[test]
fn op_5_versions_are_split_and_trimmed() {
    let given = [
        "",
        " ",
        "foo",
        " bar ",
        "one,two,three",
        "four,",
        ",",
        " ,,five, ,",
        " , six , ",
    ];
    let found = versions(&json!(given), &given.map(str::to_owned)).unwrap();
    let expected = ["foo", "bar", "one", "two", "three", "four", "five", "six"];
    assert_eq!(found.allowed, expected);
    assert!(!found.unresolved);
}

#[rstest]
#[case::templates_came_to_nothing(&["{{ x }}"], &[""], (true, false))]
#[case::one_came_to_something(&["{{ x }}", "a"], &["", "a"], (false, false))]
#[case::empty_on_purpose(&[], &[], (false, true))]
#[case::written_empty(&[""], &[""], (false, true))]
fn op_24_11_unresolved_versions(
    #[case] written: &[&str],
    #[case] resolved: &[&str],
    #[case] (unresolved, open): (bool, bool),
) {
    let written: Vec<String> = written.iter().map(|entry| (*entry).to_owned()).collect();
    let found = versions(&json!(resolved), &written).unwrap();
    assert_eq!((found.unresolved, found.are_open()), (unresolved, open));
}

#[rstest]
#[case("quay", "operators", "quay.operators")]
#[case(
    "a-very-long-package-name-of-an-operator-with-forty-nine",
    "operators",
    "a-very-long-package-name-of-an-operator-with-forty-nine.operato"
)]
#[case(
    "a-very-long-package-name-of-an-operator-with-more-characters-62",
    "operators",
    "a-very-long-package-name-of-an-operator-with-more-characters-62"
)]
fn op_6_label_of_olm(#[case] name: &str, #[case] namespace: &str, #[case] label: &str) {
    assert_eq!(olm_label(name, namespace), label);
}
