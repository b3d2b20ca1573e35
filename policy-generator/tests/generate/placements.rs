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

#[test]
fn gen_36_own_name_is_shared_only_when_extended() {
    let dir = Dir::with_config_map();
    let with = |of_a: &str, of_b: &str| {
        document("", "placementBindingDefaults: {name: both}")
            .replace("- name: a", &format!("- placement: {of_a}\n  name: a"))
            .replace("- name: b", &format!("- placement: {of_b}\n  name: b"))
    };
    let own = "{name: mine, labelSelector: {x: y}}";
    let duplicate = "a duplicate placement name was detected: mine";
    assert_eq!(dir.refuse(&with(own, own)), duplicate);
    let (placements, _) = dir.extended(&with(own, own), "Placement");
    assert_eq!(placements.len(), 1);
    let (bindings, _) = dir.extended(&with(own, own), "PlacementBinding");
    assert_eq!(bindings[0]["subjects"].as_array().unwrap().len(), 2);
    dir.write(
        "generator.yaml",
        &with(own, "{name: mine, labelSelector: {x: z}}"),
    );
    let other = dir.run(&["--extended", "generator.yaml"]);
    assert!(other.stderr.contains(duplicate), "{other:?}");
    assert_eq!(other.code, 1);
}

#[test]
fn gen_36_placement_when_in_set_requires_membership_when_extended() {
    let dir = Dir::with_config_map();
    let text = document(
        ", policySets: [s], generatePlacementWhenInSet: true, generatePolicyPlacement: false",
        "",
    )
    .replace("- name: b", "- policySets: []\n  name: b");
    let of_b = "policy b is in no policy set: generatePlacementWhenInSet gives it a placement although generatePolicyPlacement is false; set generatePlacementWhenInSet to false for it";
    assert_eq!(dir.warnings(&text), [of_b]);
    assert_eq!(dir.run(&["generator.yaml"]).code, 0);
    let placements = |objects: &[Value]| {
        let names = objects.iter().map(|one| one["metadata"]["name"].clone());
        names.collect::<Vec<_>>()
    };
    let (extended, stderr) = dir.extended(&text, "Placement");
    assert_eq!(stderr, "");
    assert_eq!(placements(&extended), ["placement-a", "placement-s"]);
    dir.write("generator.yaml", &text);
    let upstream = dir.run(&["generator.yaml"]);
    let mut objects = crate::parsed(std::str::from_utf8(&upstream.stdout).unwrap());
    objects.retain(|object| object["kind"] == "Placement");
    assert_eq!(
        placements(&objects),
        ["placement-a", "placement-b", "placement-s"]
    );
}

#[test]
fn gen_37_placement_files_are_checked() {
    let placement = |name: &str| {
        format!(
            "apiVersion: cluster.open-cluster-management.io/v1beta1\nkind: Placement\nmetadata: {{name: {name}, namespace: ns}}\n"
        )
    };
    let dir = Dir::new(&[
        ("in/cm.yaml", crate::CONFIG_MAP),
        ("outside.yaml", &placement("mine")),
        (
            "in/two.yaml",
            &format!("{}---\n{}", placement("mine"), placement("second")),
        ),
        (
            "in/old.yaml",
            &placement("mine").replace("cluster.open", "apps.open"),
        ),
        ("in/same.yaml", &placement("mine")),
        (
            "in/other.yaml",
            &format!("{}spec: {{numberOfClusters: 1}}\n", placement("mine")),
        ),
    ]);
    let warnings = |of_a: &str, of_b: &str| {
        let of = |path: &str| format!("- placement: {{placementPath: {path}}}\n  name:");
        let text = document("", "placementBindingDefaults: {name: both}")
            .replace("- name: a", &format!("{} a", of(of_a)))
            .replace("- name: b", &format!("{} b", of(of_b)));
        dir.write("in/generator.yaml", &text);
        let run =
            |flags: &[&str]| dir.run(&[flags, &["--base-dir=in", "in/generator.yaml"]].concat());
        let (plain, strict) = (run(&[]), run(&["--strict"]));
        assert_eq!(plain.code, 0, "{plain:?}");
        assert_eq!(strict.code == 2, plain.stderr.contains("warning"));
        let prefix = "warning: in/generator.yaml: ";
        let lines = plain.stderr.lines();
        lines
            .map(|line| line.strip_prefix(prefix).unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert!(warnings("same.yaml", "same.yaml").is_empty());
    assert_eq!(
        warnings("../outside.yaml", "same.yaml"),
        [
            "the placement path ../outside.yaml is not in the same directory tree as the kustomization.yaml file"
        ]
    );
    assert_eq!(
        warnings("two.yaml", "two.yaml"),
        [
            "the placement file two.yaml has more than one Placement, of which only the first, mine, is used; move the others to files of their own"
        ]
    );
    assert_eq!(
        warnings("old.yaml", "old.yaml"),
        [
            "the Placement mine in old.yaml has the apiVersion \"apps.open-cluster-management.io/v1beta1\", but the bindings refer to one of cluster.open-cluster-management.io"
        ]
    );
    assert_eq!(
        warnings("same.yaml", "other.yaml"),
        [
            "the Placement mine in other.yaml is not used, because another file has a different one of that name; give it a name of its own"
        ]
    );
}

#[test]
fn gen_38_placements_have_cluster_sets_numbers_and_prioritizers() {
    let dir = Dir::with_config_map();
    let defaults = ", placement: {clusterSets: [prod], numberOfClusters: 2, prioritizerPolicy: {mode: Exact, configurations: [{scoreCoordinate: {builtIn: Steady}, weight: 3}]}}";
    let text = document(defaults, "").replace(
        "- name: b",
        "- placement: {labelSelector: {x: y}, clusterSets: [], numberOfClusters: 0}\n  name: b",
    );
    let (placements, stderr) = dir.extended(&text, "Placement");
    assert_eq!(stderr, "");
    let prioritizers = json!({
        "mode": "Exact",
        "configurations": [{"scoreCoordinate": {"builtIn": "Steady"}, "weight": 3}],
    });
    let spec = &placements[0]["spec"];
    assert_eq!(spec["clusterSets"], json!(["prod"]));
    assert_eq!(spec["numberOfClusters"], 2);
    assert_eq!(spec["prioritizerPolicy"], prioritizers);
    assert_eq!(spec["tolerations"].as_array().unwrap().len(), 2);
    let spec = &placements[1]["spec"];
    assert_eq!(spec.get("clusterSets"), None);
    assert_eq!(spec["numberOfClusters"], 0);
    assert_eq!(spec["prioritizerPolicy"], prioritizers);
    // Placements of one name are shared only if all of it is the same.
    let named = text
        .replace(
            "placement: {clusterSets: [prod]",
            "placement: {name: n, clusterSets: [prod]",
        )
        .replace("labelSelector: {x: y}, ", "");
    let (placements, _) = dir.extended(&named, "Placement");
    assert_eq!(placements[0]["metadata"]["name"], "n");
    assert_eq!(placements[1]["metadata"]["name"], "n2");
}

#[test]
fn gen_38_bindings_have_a_sub_filter_and_overrides() {
    let dir = Dir::with_config_map();
    let text = document(
        ", policySets: [s]",
        "placementBindingDefaults: {name: all}\npolicySetDefaults: {placement: {placementName: there}}",
    )
    .replace(
        "- name: b",
        "- placement: {placementName: there, subFilter: restricted, bindingOverrides: {remediationAction: enforce}}\n  generatePlacementWhenInSet: true\n  name: b",
    );
    let (bindings, stderr) = dir.extended(&text, "PlacementBinding");
    assert_eq!(stderr, "");
    assert_eq!(bindings.len(), 2);
    assert_eq!(bindings[0]["metadata"]["name"], "all");
    assert_eq!(bindings[0].get("subFilter"), None);
    assert_eq!(bindings[0]["subjects"][0]["kind"], "PolicySet");
    assert_eq!(bindings[1]["metadata"]["name"], "binding-b");
    assert_eq!(bindings[1]["subFilter"], "restricted");
    assert_eq!(
        bindings[1]["bindingOverrides"],
        json!({"remediationAction": "enforce"})
    );
    assert_eq!(
        bindings[0]["placementRef"]["name"],
        bindings[1]["placementRef"]["name"]
    );
}

#[test]
fn gen_38_sets_have_exclusions_and_selectors_terminating_namespaces() {
    let dir = Dir::with_config_map();
    let text = document(
        ", namespaceSelector: {include: ['*'], terminatingInclusion: Never}",
        "policySets: [{name: s, policies: [a], exclusions: [{policyName: a, clusterNames: [c1], reason: later}]}]",
    );
    let (sets, stderr) = dir.extended(&text, "PolicySet");
    assert_eq!(stderr, "");
    assert_eq!(
        sets[0]["spec"]["exclusions"],
        json!([{"policyName": "a", "clusterNames": ["c1"], "reason": "later"}])
    );
    let (policies, _) = dir.extended(&text, "Policy");
    let spec = &policies[0]["spec"]["policy-templates"][0]["objectDefinition"]["spec"];
    assert_eq!(
        spec["namespaceSelector"],
        json!({"include": ["*"], "terminatingInclusion": "Never"})
    );
}

#[test]
fn gen_38_extended_keys_are_unknown_without_the_flag_and_checked_with_it() {
    let dir = Dir::with_config_map();
    for (text, error) in [
        (
            document(", placement: {clusterSets: [a]}", ""),
            "field clusterSets found but not defined in type placement",
        ),
        (
            document(", placement: {bindingOverrides: {}}", ""),
            "field bindingOverrides found but not defined in type placement",
        ),
        (
            document("", "policySets: [{name: s, exclusions: []}]"),
            "field exclusions found but not defined in type policySets",
        ),
        (
            document(", namespaceSelector: {terminatingInclusion: x}", ""),
            "field terminatingInclusion found but not defined in type namespaceSelector",
        ),
    ] {
        let found = dir.refuse(&text);
        assert!(found.ends_with(error), "{found}");
        let extended = dir.run(&["--extended", "generator.yaml"]);
        assert_eq!(extended.code, 0, "{extended:?}");
    }
    for (placement, error) in [
        (
            "{placementName: there, clusterSets: [a]}",
            "policyDefaults placement.clusterSets may not be set beside placementPath or placementName",
        ),
        (
            "{numberOfClusters: '2'}",
            "policyDefaults placement.numberOfClusters must be a number, 0 or more, without quotes",
        ),
        (
            "{numberOfClusters: -1}",
            "policyDefaults placement.numberOfClusters must be a number, 0 or more, without quotes",
        ),
        (
            "{clusterSet: [a]}",
            "field clusterSet found but not defined in type placement - did you mean 'clusterSets'?",
        ),
        (
            "{bindingOverrides: {remediation: x}}",
            "field remediation found but not defined in type bindingOverrides",
        ),
    ] {
        dir.write(
            "generator.yaml",
            &document(&format!(", placement: {placement}"), ""),
        );
        let outcome = dir.run(&["--extended", "generator.yaml"]);
        assert_eq!(outcome.code, 1, "{placement}");
        assert!(outcome.stderr.trim_end().ends_with(error), "{outcome:?}");
    }
}
