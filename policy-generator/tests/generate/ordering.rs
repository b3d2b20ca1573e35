//! Dependencies and orders of policies and templates, and the names of configuration policies.

use serde_json::{Value, json};

use crate::{CONFIG_MAP, Dir, one_policy};

fn names(templates: &[Value]) -> Vec<&str> {
    let names = templates.iter().map(|template| {
        template["objectDefinition"]["metadata"]["name"]
            .as_str()
            .unwrap()
    });
    names.collect()
}

fn dependency(name: &str) -> Value {
    json!({
        "apiVersion": "policy.open-cluster-management.io/v1",
        "compliance": "Compliant",
        "kind": "Policy",
        "name": name,
        "namespace": "ns",
    })
}

#[test]
fn gen_27_ordered_policies_wait_for_the_one_before() {
    let dir = Dir::with_config_map();
    let policy = |name: &str| format!("- name: {name}\n  manifests: [{{path: cm.yaml}}]\n");
    let document = format!(
        "policyDefaults: {{namespace: ns, orderPolicies: true}}\npolicies:\n{}{}{}",
        policy("one"),
        policy("two"),
        policy("three")
    );
    let policies = dir.objects(&document, "Policy");
    let dependencies: Vec<&Value> = policies
        .iter()
        .map(|policy| &policy["spec"]["dependencies"])
        .collect();
    assert_eq!(
        dependencies,
        [
            &Value::Null,
            &json!([dependency("one")]),
            &json!([dependency("two")])
        ]
    );
    let own = document.replace("- name: two", "- dependencies: [{name: x}]\n  name: two");
    assert_eq!(
        dir.refuse(&own),
        "dependencies may not be set in policy two when policyDefaults.orderPolicies is true"
    );
}

#[test]
fn gen_10_dependencies_are_inherited_and_completed() {
    let dir = Dir::with_config_map();
    let document = "policyDefaults:\n  namespace: ns\n  dependencies: [{name: d}]\npolicies:\n- {name: a, manifests: [{path: cm.yaml}]}\n- {name: b, dependencies: [], manifests: [{path: cm.yaml}]}\n- name: c\n  dependencies: [{name: own, kind: Other, apiVersion: x/v1, compliance: NonCompliant}]\n  manifests: [{path: cm.yaml}]\n";
    let policies = dir.objects(document, "Policy");
    let dependencies: Vec<&Value> = policies
        .iter()
        .map(|policy| &policy["spec"]["dependencies"])
        .collect();
    assert_eq!(
        dependencies,
        [
            &json!([dependency("d")]),
            &Value::Null,
            &json!([{"apiVersion": "x/v1", "compliance": "NonCompliant", "kind": "Other", "name": "own"}]),
        ]
    );
}

#[test]
fn gen_8_extra_dependencies_and_ignored_pending_follow_the_level() {
    let dir = Dir::with_config_map();
    let lines = "ignorePending: true\nextraDependencies: [{name: x}]\nconsolidateManifests: false\nmanifests:\n- path: cm.yaml\n- path: cm.yaml\n  ignorePending: null\n  extraDependencies: []\n";
    let templates = dir.templates(&one_policy(lines));
    assert_eq!(templates[0]["ignorePending"], true);
    assert_eq!(templates[0]["extraDependencies"], json!([dependency("x")]));
    assert_eq!(
        templates[1].as_object().unwrap().keys().collect::<Vec<_>>(),
        ["objectDefinition"]
    );
}

#[test]
fn gen_24_ordered_manifests_wait_for_the_one_before() {
    let dir = Dir::with_config_map();
    let lines = "manifests:\n- path: cm.yaml\n- path: cm.yaml\n  name: other\n";
    for order in [
        "orderManifests: true\n",
        "consolidateManifests: false\norderManifests: true\n",
    ] {
        let templates = dir.templates(&one_policy(&format!("{order}{lines}")));
        assert_eq!(names(&templates), ["p", "other"]);
        assert_eq!(templates[0]["extraDependencies"], Value::Null);
        assert_eq!(
            templates[1]["extraDependencies"],
            json!([{
                "apiVersion": "policy.open-cluster-management.io/v1",
                "compliance": "Compliant",
                "kind": "ConfigurationPolicy",
                "name": "p",
            }])
        );
    }
    // The default of a policy that is not ordered stays that of the defaults.
    let document = one_policy(&format!("orderManifests: false\n{lines}"))
        .replace("namespace: ns", "namespace: ns\n  orderManifests: true");
    let templates = dir.templates(&document);
    assert_eq!(names(&templates), ["p", "other"]);
    assert_eq!(templates[1]["extraDependencies"], Value::Null);
    // An explicit choice in the defaults is no obstacle for a policy.
    let document = one_policy(&format!("orderManifests: true\n{lines}")).replace(
        "namespace: ns",
        "namespace: ns\n  consolidateManifests: true",
    );
    assert_eq!(names(&dir.templates(&document)), ["p", "other"]);
}

#[test]
fn gen_22_names_are_counted_by_base() {
    let raw = "object-templates-raw: x\n";
    let four = format!("{CONFIG_MAP}---\n{CONFIG_MAP}---\n{CONFIG_MAP}---\n{CONFIG_MAP}");
    let dir = Dir::new(&[
        ("cm.yaml", CONFIG_MAP),
        ("four.yaml", &four),
        ("raws.yaml", &format!("{raw}---\n{raw}")),
        ("both.yaml", &format!("{raw}---\n{CONFIG_MAP}")),
    ]);
    let of = |lines: &str| {
        let templates = dir.templates(&one_policy(lines));
        names(&templates).join(" ")
    };
    assert_eq!(
        of("consolidateManifests: false\nmanifests: [{path: four.yaml}]"),
        "p p2 p3 p4"
    );
    assert_eq!(of("manifests: [{path: both.yaml}]"), "p p2");
    assert_eq!(
        of("manifests: [{path: both.yaml, name: bird}, {path: cm.yaml, name: tiger}]"),
        "bird bird2"
    );
    assert_eq!(
        of("manifests: [{path: raws.yaml, name: bird}, {path: cm.yaml, name: tiger}]"),
        "bird bird2 tiger"
    );
    assert_eq!(
        of(
            "consolidateManifests: false\nmanifests: [{path: both.yaml}, {path: both.yaml, name: bird}, {path: cm.yaml}]"
        ),
        "p p2 bird bird2 p3"
    );
}
