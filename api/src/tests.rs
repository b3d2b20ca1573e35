use serde_json::{Value, json};

use crate::compliance::{Compliance, RemediationAction};
use crate::names::RootPolicyName;
use crate::policy::Policy;

#[test]
fn root_policy_name_is_split_at_first_dot() {
    let cases = [
        ("foobar", None),
        ("foo.bar", Some(("foo", "bar"))),
        ("fo.ob.ar", Some(("fo", "ob.ar"))),
        (".bar", None),
        ("foo.", None),
        ("", None),
    ];
    for (text, want) in cases {
        let want = want.map(|(namespace, name)| RootPolicyName::new(namespace, name));
        assert_eq!(RootPolicyName::parse(text), want, "{text:?}");
        if let Some(name) = want {
            assert_eq!(name.to_string(), text);
        }
    }
}

#[test]
fn namespace_and_name_have_at_most_62_characters_together() {
    let fits = RootPolicyName::new("a".repeat(30), "b".repeat(32));
    assert_eq!(fits.fits(), Ok(()));
    assert_eq!(
        fits.to_string().len(),
        63,
        "and with the dot they fill a label value"
    );
    assert_eq!(
        RootPolicyName::new("a".repeat(30), "b".repeat(33)).fits(),
        Err(63)
    );
    // The limit counts characters, not bytes, because it is checked before the name's syntax.
    assert_eq!(
        RootPolicyName::new("ä".repeat(30), "b".repeat(32)).fits(),
        Ok(())
    );
}

#[test]
fn compliance_is_first_word_of_message() {
    let cases = [
        ("Compliant; notification - x", Compliance::Compliant),
        ("  compliant", Compliance::Compliant),
        (
            "Pending; Dependencies were not satisfied",
            Compliance::Pending,
        ),
        ("NonCompliant; violation - x", Compliance::NonCompliant),
        ("UnknownCompliancy", Compliance::NonCompliant),
        ("Terminating", Compliance::NonCompliant),
        ("", Compliance::NonCompliant),
    ];
    for (message, want) in cases {
        assert_eq!(Compliance::of_message(message), want, "{message:?}");
    }
}

#[test]
fn remediation_actions_ignore_case() {
    assert_eq!(
        RemediationAction::parse("Enforce"),
        Some(RemediationAction::Enforce)
    );
    assert_eq!(
        RemediationAction::parse("inform"),
        Some(RemediationAction::Inform)
    );
    assert_eq!(RemediationAction::parse("informOnly"), None);
    assert_eq!(RemediationAction::parse(""), None);
}

#[test]
fn policy_survives_round_trip_unchanged() {
    let written = json!({
        "apiVersion": "policy.open-cluster-management.io/v1",
        "kind": "Policy",
        "metadata": { "name": "p", "namespace": "policies" },
        "spec": {
            "disabled": false,
            "remediationAction": "Enforce",
            "dependencies": [],
            "policy-templates": [
                { "objectDefinition": { "kind": "X", "spec": { "n": 9_007_199_254_740_993_i64, "f": 0.5, "z": null } } },
                { "objectDefinition": {}, "ignorePending": false }
            ]
        }
    });
    let policy: Policy = serde_json::from_value(written.clone()).unwrap();
    assert_eq!(serde_json::to_value(&policy).unwrap(), written);
}

#[test]
fn unknown_value_in_status_does_not_make_policy_unreadable() {
    let policy: Policy = serde_json::from_value(json!({
        "apiVersion": "policy.open-cluster-management.io/v1",
        "kind": "Policy",
        "metadata": { "name": "p" },
        "spec": { "disabled": false, "policy-templates": [] },
        "status": { "compliant": "Strange", "details": [{ "templateMeta": { "name": "t", "creationTimestamp": null } }] }
    }))
    .unwrap();
    let status = policy.status.unwrap();
    assert_eq!(status.compliance(), None);
    assert_eq!(status.details.unwrap()[0].template_name(), "t");
}

fn crd(plural: &str) -> Value {
    let file = format!("policy.open-cluster-management.io_{plural}.yaml");
    let crds = crate::crds::all().unwrap();
    crds.into_iter().find(|(name, _)| *name == file).unwrap().1
}

#[test]
fn crds_have_fields_of_upstream() {
    let policies = crd("policies");
    assert_eq!(
        policies.pointer("/spec/names/shortNames"),
        Some(&json!(["plc"]))
    );
    let columns: Vec<&str> = policies
        .pointer("/spec/versions/0/additionalPrinterColumns")
        .and_then(Value::as_array)
        .unwrap()
        .iter()
        .filter_map(|column| column["name"].as_str())
        .collect();
    assert_eq!(columns, ["Remediation action", "Compliance state", "Age"]);
    assert_eq!(
        crd("configurationpolicies").pointer("/metadata/labels"),
        Some(&json!({ "policy.open-cluster-management.io/policy-type": "template" }))
    );
    for plural in [
        "policies",
        "placementbindings",
        "policysets",
        "policyautomations",
        "configurationpolicies",
    ] {
        let crd = crd(plural);
        assert!(
            crd.pointer("/spec/versions/0/subresources/status")
                .is_some(),
            "{plural}"
        );
        assert!(!crd.to_string().contains("nullable"), "{plural}");
    }
}

#[test]
fn only_required_fields_are_required() {
    let required = |plural: &str, pointer: &str| {
        let at = format!("/spec/versions/0/schema/openAPIV3Schema{pointer}/required");
        crd(plural).pointer(&at).cloned().unwrap_or(Value::Null)
    };
    assert_eq!(
        required("policies", "/properties/spec"),
        json!(["disabled", "policy-templates"])
    );
    assert_eq!(
        required("placementbindings", ""),
        json!(["placementRef", "subjects"])
    );
    assert_eq!(
        required("policysets", "/properties/spec"),
        json!(["policies"])
    );
    assert_eq!(
        required("policyautomations", "/properties/spec"),
        json!(["automationDef", "mode", "policyRef"])
    );
    assert_eq!(
        required("configurationpolicies", "/properties/spec"),
        json!(["remediationAction"])
    );
    assert_eq!(
        required(
            "configurationpolicies",
            "/properties/spec/properties/object-templates/items"
        ),
        json!(["complianceType", "objectDefinition"])
    );
}
