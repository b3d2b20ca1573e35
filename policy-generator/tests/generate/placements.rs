//! Policy sets, placements and bindings.

use serde_json::{Value, json};

use crate::Dir;

const TWO: &str = "policies:\n- name: a\n  manifests: [{path: cm.yaml}]\n- name: b\n  manifests: [{path: cm.yaml}]\n";

fn document(defaults: &str, rest: &str) -> String {
    format!("policyDefaults: {{namespace: ns{defaults}}}\n{TWO}{rest}\n")
}

/// Kinds and names of everything but policies.
fn names(dir: &Dir, document: &str) -> Vec<String> {
    let objects = crate::parsed(&dir.generate(document));
    let others = objects.iter().filter(|object| object["kind"] != "Policy");
    others
        .map(|object| {
            format!(
                "{} {}",
                object["kind"].as_str().unwrap(),
                object["metadata"]["name"].as_str().unwrap()
            )
        })
        .collect()
}

fn selectors(dir: &Dir, document: &str) -> Vec<Value> {
    let placements = dir.objects(document, "Placement");
    let selector = |placement: &Value| {
        placement["spec"]["predicates"][0]["requiredClusterSelector"]["labelSelector"].clone()
    };
    placements.iter().map(selector).collect()
}

#[test]
fn gen_30_policies_have_placements_of_their_own_or_share_a_named_one() {
    let dir = Dir::with_config_map();
    assert_eq!(
        names(&dir, &document("", "")),
        [
            "Placement placement-a",
            "Placement placement-b",
            "PlacementBinding binding-a",
            "PlacementBinding binding-b",
        ]
    );
    let shared = "placementBindingDefaults: {name: both}";
    assert_eq!(
        names(
            &dir,
            &document(", placement: {name: mine, labelSelector: {x: y}}", shared)
        ),
        ["Placement mine", "PlacementBinding both"]
    );
    assert_eq!(
        dir.refuse(&document(", placement: {name: mine}", "")),
        "placementBindingDefaults.name must be set but is empty (multiple policies or policy sets were found for the PlacementBinding to placement mine)"
    );
    assert_eq!(
        names(
            &dir,
            &document(", placement: {placementName: there}", shared)
        ),
        ["PlacementBinding both"]
    );
    assert!(names(&dir, &document(", generatePolicyPlacement: false", "")).is_empty());
}

#[test]
fn gen_30_default_name_counts_selectors() {
    let dir = Dir::with_config_map();
    let of_b = |placement: &str| {
        document(
            ", placement: {name: mine, labelSelector: {x: y}}",
            "placementBindingDefaults: {name: all}",
        )
        .replace("- name: b", &format!("- placement: {placement}\n  name: b"))
    };
    assert_eq!(
        names(&dir, &of_b("{labelSelector: {x: z}}")),
        [
            "Placement mine",
            "Placement mine2",
            "PlacementBinding binding-a",
            "PlacementBinding binding-b",
        ]
    );
    assert_eq!(
        names(&dir, &of_b("{name: own}")),
        [
            "Placement mine",
            "Placement own",
            "PlacementBinding binding-a",
            "PlacementBinding binding-b",
        ]
    );
    assert_eq!(
        dir.refuse(&of_b("{name: mine}")),
        "a duplicate placement name was detected: mine"
    );
}

#[test]
fn gen_29_plain_labels_become_expressions() {
    let dir = Dir::with_config_map();
    let all = |selector: &str| {
        let text = document(&format!(", placement: {{labelSelector: {selector}}}"), "");
        selectors(&dir, &text).remove(0)
    };
    assert_eq!(
        all("{game: '', cloud: red hat}"),
        json!({"matchExpressions": [
            {"key": "cloud", "operator": "In", "values": ["red hat"]},
            {"key": "game", "operator": "Exists"},
        ]})
    );
    let given = json!({"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "k", "operator": "Exists"}]});
    assert_eq!(all(&given.to_string()), given);
}

#[test]
fn gen_29_placement_of_a_file_is_written_once() {
    let placement = "apiVersion: cluster.open-cluster-management.io/v1beta1\nkind: Placement\nmetadata: {name: mine, namespace: ns}\nspec: {numberOfClusters: 1}\n";
    let dir = Dir::new(&[
        ("cm.yaml", crate::CONFIG_MAP),
        (
            "pl.yaml",
            &format!("apiVersion: v1\nkind: Other\n---\n{placement}"),
        ),
        ("noname.yaml", &placement.replace("name: mine, ", "")),
        (
            "nonamespace.yaml",
            &placement.replace(", namespace: ns", ""),
        ),
        (
            "elsewhere.yaml",
            &placement.replace("namespace: ns", "namespace: other"),
        ),
        ("list.yaml", "- x"),
    ]);
    let of = |path: &str| {
        document(
            &format!(", placement: {{placementPath: {path}}}"),
            "placementBindingDefaults: {name: all}",
        )
    };
    assert_eq!(
        names(&dir, &of("pl.yaml")),
        ["Placement mine", "PlacementBinding all"]
    );
    assert_eq!(
        dir.objects(&of("pl.yaml"), "Placement")[0]["spec"],
        json!({"numberOfClusters": 1})
    );
    for (path, error) in [
        (
            "noname.yaml",
            "the placement noname.yaml must have a name set",
        ),
        (
            "nonamespace.yaml",
            "the placement nonamespace.yaml must have a namespace set",
        ),
        (
            "elsewhere.yaml",
            "the placement elsewhere.yaml must have the same namespace as the policy (ns)",
        ),
        (
            "cm.yaml",
            "the placement manifest cm.yaml did not have a placement",
        ),
        (
            "list.yaml",
            "failed to read the placement: failed to decode the manifest file at list.yaml: the input manifests must be in the format of YAML objects",
        ),
    ] {
        assert_eq!(dir.refuse(&of(path)), error);
    }
}

#[test]
fn gen_28_policy_sets_gather_members() {
    let dir = Dir::with_config_map();
    let text = document(
        ", policySets: [s, t]",
        "policySets: [{name: t, description: text, policies: [foreign, b]}]",
    )
    .replace("- name: b", "- policySets: []\n  name: b");
    assert_eq!(
        dir.objects(&text, "PolicySet"),
        [
            json!({
                "apiVersion": "policy.open-cluster-management.io/v1beta1",
                "kind": "PolicySet",
                "metadata": {"name": "t", "namespace": "ns"},
                "spec": {"description": "text", "policies": ["a", "b", "foreign"]},
            }),
            json!({
                "apiVersion": "policy.open-cluster-management.io/v1beta1",
                "kind": "PolicySet",
                "metadata": {"name": "s", "namespace": "ns"},
                "spec": {"description": "", "policies": ["a"]},
            }),
        ]
    );
}

#[test]
fn gen_29_sets_have_placements_and_their_members_only_on_request() {
    let dir = Dir::with_config_map();
    assert_eq!(
        names(&dir, &document(", policySets: [s]", "")),
        [
            "PolicySet s",
            "Placement placement-s",
            "PlacementBinding binding-s"
        ]
    );
    assert_eq!(
        names(
            &dir,
            &document(
                ", policySets: [s]",
                "policySetDefaults: {generatePolicySetPlacement: false}"
            )
        ),
        ["PolicySet s"]
    );
    let both = document(
        ", policySets: [s], generatePlacementWhenInSet: true, placement: {name: mine}",
        "placementBindingDefaults: {name: all}",
    );
    assert_eq!(
        names(&dir, &both),
        ["PolicySet s", "Placement mine", "PlacementBinding all"]
    );
    let subjects = dir.objects(&both, "PlacementBinding")[0]["subjects"].clone();
    let subject = |kind: &str, name: &str| json!({"apiGroup": "policy.open-cluster-management.io", "kind": kind, "name": name});
    assert_eq!(
        subjects,
        json!([
            subject("Policy", "a"),
            subject("Policy", "b"),
            subject("PolicySet", "s")
        ])
    );
    let of_sets = document(
        ", policySets: [s]",
        "policySetDefaults: {placement: {name: sets, labelSelector: {x: y}}}\npolicySets: [{name: s, placement: {labelSelector: {own: z}}}]",
    );
    assert_eq!(
        names(&dir, &of_sets),
        [
            "PolicySet s",
            "Placement sets",
            "PlacementBinding binding-s"
        ]
    );
    assert_eq!(
        selectors(&dir, &of_sets),
        [json!({"matchExpressions": [{"key": "own", "operator": "In", "values": ["z"]}]})]
    );
}
