//! Patches of manifests, and the merge rules of kustomize.

use serde_json::{Value, json};

use crate::{CONFIG_MAP, Dir, one_policy};

/// The object of the only template, patched.
fn patched(dir: &Dir, lines: &str) -> Value {
    let templates = dir.templates(&one_policy(&format!(
        "manifests:\n- path: cm.yaml\n{lines}"
    )));
    templates[0]["objectDefinition"]["spec"]["object-templates"][0]["objectDefinition"].clone()
}

#[test]
fn gen_17_patch_of_the_only_object_may_leave_out_what_it_is_and_rename_it() {
    let dir = Dir::with_config_map();
    let object = patched(
        &dir,
        "  patches: [{metadata: {labels: {chandler: bing}}, data: {image: null, n: 1}}]",
    );
    assert_eq!(
        object,
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "my-configmap", "labels": {"chandler": "bing"}}, "data": {"n": 1}})
    );
    let object = patched(
        &dir,
        "  patches: [{metadata: {name: other, namespace: there}}]",
    );
    assert_eq!(
        object["metadata"],
        json!({"name": "other", "namespace": "there"})
    );
}

#[test]
fn gen_18_what_replaces_quoted_text_is_text() {
    let dir = Dir::new(&[(
        "cm.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {one: '1', two: two}\n",
    )]);
    let object = patched(&dir, "  patches: [{data: {one: 2, two: 2}}]");
    assert_eq!(object["data"], json!({"one": "2", "two": 2}));
}

#[test]
fn gen_17_patches_that_fit_nothing_are_refused() {
    let two = format!(
        "{CONFIG_MAP}---\n{}",
        CONFIG_MAP.replace("my-configmap", "two")
    );
    let dir = Dir::new(&[
        ("cm.yaml", CONFIG_MAP),
        ("two.yaml", &two),
        ("same.yaml", &format!("{CONFIG_MAP}---\n{CONFIG_MAP}")),
        ("raw.yaml", "object-templates-raw: x"),
        ("none/x.txt", ""),
    ]);
    let no_target = |id: &str| {
        format!(
            "failed to apply the patch(es) to the manifest(s) using Kustomize: no resource matches strategic merge patch \"{id}\": no matches for Id {id}; failed to find unique target for patch {id}"
        )
    };
    for (path, patches, error) in [
        ("none", "[{a: b}]", "there must be one or more manifests".to_owned()),
        (
            "raw.yaml",
            "[{a: b}]",
            "all manifests must have the \"apiVersion\" field set to a non-empty string".to_owned(),
        ),
        (
            "two.yaml",
            "[{apiVersion: v1, kind: ConfigMap}]",
            "patches must have the \"metadata.name\" field set to a non-empty string when there is more than one manifest it can apply to".to_owned(),
        ),
        (
            "two.yaml",
            "[{apiVersion: v1, kind: ConfigMap, metadata: {name: new}}]",
            no_target("ConfigMap.v1.[noGrp]/new.[noNs]"),
        ),
        (
            "cm.yaml",
            "[{metadata: {name: new}}, {data: {}}]",
            no_target("ConfigMap.v1.[noGrp]/new.[noNs]"),
        ),
        (
            "same.yaml",
            "[{apiVersion: v1, kind: ConfigMap, metadata: {name: my-configmap}}]",
            "failed to apply the patch(es) to the manifest(s) using Kustomize: may not add resource with an already registered id: ConfigMap.v1.[noGrp]/my-configmap.[noNs]".to_owned(),
        ),
        (
            "cm.yaml",
            "[{apiVersion: 5}]",
            "failed to retrieve the \"apiVersion\" field from the manifest of name \"my-configmap\" and kind \"ConfigMap\": .apiVersion accessor error: 5 is of the type int, expected string".to_owned(),
        ),
        (
            "cm.yaml",
            "[{metadata: x}]",
            "failed to retrieve the \"metadata.name\" field from the manifest of name \"my-configmap\" and kind \"ConfigMap\": .metadata.name accessor error: x is of the type string, expected map[string]interface{}".to_owned(),
        ),
        (
            "cm.yaml",
            "[{metadata: {name: [a]}}]",
            "failed to retrieve the \"metadata.name\" field from the manifest of name \"my-configmap\" and kind \"ConfigMap\": .metadata.name accessor error: [a] is of the type []interface {}, expected string".to_owned(),
        ),
        (
            "cm.yaml",
            "[{kind: null}]",
            "failed to retrieve the \"kind\" field from the manifest of name \"my-configmap\" and kind \"ConfigMap\": .kind accessor error: <nil> is of the type <nil>, expected string".to_owned(),
        ),
        ("cm.yaml", "[null]", "a patch must not be null".to_owned()),
    ] {
        let found = dir.refuse(&one_policy(&format!("manifests:\n- path: {path}\n  patches: {patches}")));
        assert_eq!(found, format!("failed to process the manifest at \"{path}\": {error}"));
    }
}

#[test]
fn gen_19_schema_of_a_file_says_which_lists_merge_and_holds_for_its_manifest_only() {
    let schema = json!({"definitions": {
        "Lists": {
            "x-kubernetes-group-version-kind": [{"group": "example.com", "kind": "Lists", "version": "v1"}],
            "properties": {"spec": {"$ref": "#/definitions/Spec"}},
        },
        "Spec": {"properties": {"items": {
            "type": "array",
            "items": {"$ref": "#/definitions/Item"},
            "x-kubernetes-patch-merge-key": "name",
            "x-kubernetes-patch-strategy": "merge",
        }}},
        "Item": {"properties": {"name": {"type": "string"}}},
    }});
    let pod = |image: &str| {
        format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: pod}}\nspec: {{containers: [{{name: c, image: {image}}}]}}\n"
        )
    };
    let dir = Dir::new(&[
        ("schema.json", &schema.to_string()),
        (
            "lists.yaml",
            "apiVersion: example.com/v1\nkind: Lists\nmetadata: {name: l}\nspec: {items: [{name: a, x: 1, other: {k: v}}, {name: b}]}\n",
        ),
        ("pod.yaml", &pod("one")),
    ]);
    let templates = dir.templates(&one_policy(
        "manifests:\n- path: lists.yaml\n  openapi: {path: schema.json}\n  patches: [{spec: {items: [{name: b, y: 2}, {name: a, other: {l: w}}]}}]\n- path: pod.yaml\n  patches: [{spec: {containers: [{name: d}]}}]",
    ));
    let entries = &templates[0]["objectDefinition"]["spec"]["object-templates"];
    assert_eq!(
        entries[0]["objectDefinition"]["spec"]["items"],
        json!([{"name": "b", "y": 2}, {"name": "a", "x": 1, "other": {"k": "v", "l": "w"}}])
    );
    assert_eq!(
        entries[1]["objectDefinition"]["spec"]["containers"],
        json!([{"name": "d"}, {"name": "c", "image": "one"}])
    );
}

/// Objects and patches with what kustomize 5.8 makes of them; `tests/merge/record.py` has recorded them.
#[test]
fn gen_18_merges_are_those_of_kustomize() {
    let cases: Vec<Value> = serde_json::from_str(include_str!("../merge/recorded.json")).unwrap();
    assert!(cases.len() >= 100);
    for case in cases {
        let dir = Dir::new(&[
            ("k/kustomization.yaml", &case["kustomization"].to_string()),
            ("k/object.json", &case["object"].to_string()),
            (
                "k/other.json",
                &json!({"apiVersion": "v1", "kind": "Other", "metadata": {"name": "other"}})
                    .to_string(),
            ),
        ]);
        let templates = dir.templates(&one_policy("manifests:\n- path: k"));
        let entries = templates[0]["objectDefinition"]["spec"]["object-templates"]
            .as_array()
            .unwrap();
        let mut objects: Vec<&Value> = entries
            .iter()
            .map(|entry| &entry["objectDefinition"])
            .collect();
        objects.retain(|object| object["kind"] != "Other");
        assert_eq!(json!(objects), case["expected"], "{case}");
    }
}

#[test]
fn gen_40_directives_that_stay_in_objects_are_warned_of() {
    let dir = Dir::with_config_map();
    let document = |patch: &str| {
        one_policy(&format!(
            "manifests:\n- path: cm.yaml\n  patches: [{patch}]"
        ))
    };
    let text = |key: &str| {
        format!(
            "manifest cm.yaml: ConfigMap my-configmap has the key {key}: as a directive of a patch it has no effect there, and it stays in the object; remove it"
        )
    };
    assert_eq!(
        dir.warnings(&document(
            "{data: {$retainKeys: [a]}, x: [{$deleteFromPrimitiveList/y: [b]}], metadata: {$setElementOrder/finalizers: [z]}}"
        )),
        [
            text("data.$retainKeys"),
            text("metadata.$setElementOrder/finalizers"),
            text("x[0].$deleteFromPrimitiveList/y"),
        ]
    );
    assert!(
        dir.warnings(&document(
            "{data: {$patch: replace, a: b}, schema: {$ref: x}}"
        ))
        .is_empty()
    );
    // What is left of a patch that is a manifest.
    dir.write("cm.yaml", &format!("{CONFIG_MAP}$patch: delete\n"));
    assert_eq!(
        dir.warnings(&one_policy("manifests:\n- path: cm.yaml")),
        [text("$patch")]
    );
}

#[test]
fn gen_18_unknown_values_of_patch_are_refused() {
    let dir = Dir::with_config_map();
    for patch in ["{$patch: remove}", "{data: {$patch: remove}}"] {
        let error = dir.refuse(&one_policy(&format!(
            "manifests:\n- path: cm.yaml\n  patches: [{patch}]"
        )));
        assert_eq!(
            error,
            "failed to process the manifest at \"cm.yaml\": failed to apply the patch(es) to the manifest(s) using Kustomize: unknown patch strategy 'remove'"
        );
    }
    patched(&dir, "  patches: [{x: [{$patch: remove}]}]");
}

#[test]
fn gen_18_directives_for_lists_are_followed() {
    let pod = |containers: &str| {
        format!("{{apiVersion: v1, kind: Pod, metadata: {{name: p}}, spec: {{{containers}}}}}")
    };
    let patched = |own: &str, patch: &str| {
        let dir = Dir::new(&[("cm.yaml", &pod(own))]);
        let lines = format!("  patches: [{{spec: {{containers: {patch}}}}}]");
        patched(&dir, &lines)["spec"].clone()
    };
    let both = "containers: [{name: a}, {name: b}]";
    let list = |names: &[&str]| {
        let containers: Vec<Value> = names.iter().map(|name| json!({"name": name})).collect();
        json!({"containers": containers})
    };
    for (own, patch, expected) in [
        (both, "[{$patch: delete}]", json!({})),
        (both, "[{name: c}, {$patch: delete}]", json!({})),
        (
            both,
            "[{$patch: delete}, {$patch: replace}, {name: z}]",
            json!({}),
        ),
        (both, "[{$patch: merge}, {name: c}]", list(&["c", "a", "b"])),
        (both, "[{$patch: replace}, {name: c}]", list(&["c"])),
        (both, "[{name: c}, {$patch: replace}]", list(&["c"])),
        (
            both,
            "[{$patch: replace}, {name: a, $patch: replace}]",
            list(&[]),
        ),
        (
            both,
            "[{name: a, $patch: replace}, {$patch: replace}]",
            list(&["a"]),
        ),
        (both, "[{name: a, $patch: delete}]", list(&["b"])),
        // kyaml writes the directive into the object here.
        ("", "[{$patch: delete}]", json!({})),
        ("", "[{$patch: replace}, {name: c}]", list(&["c"])),
    ] {
        assert_eq!(patched(own, patch), expected, "{own} {patch}");
    }
}

#[test]
fn gen_18_null_key_stays_in_a_new_list_beside_a_port_of_the_same_number() {
    let dir = Dir::new(&[(
        "cm.yaml",
        "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: a}]}}",
    )]);
    let ports = |written: &str| {
        let lines =
            format!("  patches: [{{spec: {{containers: [{{name: a, ports: {written}}}]}}}}]");
        patched(&dir, &lines)["spec"]["containers"][0]["ports"].clone()
    };
    assert_eq!(
        ports("[{containerPort: 80, protocol: null}, {containerPort: 80, protocol: UDP}]"),
        json!([{"containerPort": 80, "protocol": null}, {"containerPort": 80, "protocol": "UDP"}])
    );
    assert_eq!(
        ports("[{containerPort: 80, protocol: null}]"),
        json!([{"containerPort": 80}])
    );
}
