//! What a path yields.

use serde_json::{Value, json};

use crate::{CONFIG_MAP, Dir, one_policy};

/// The objects of the only configuration policy.
fn definitions(templates: &[Value]) -> Vec<Value> {
    let of_policy = &templates[0]["objectDefinition"]["spec"]["object-templates"];
    let entries = of_policy.as_array().unwrap().iter();
    entries
        .map(|entry| entry["objectDefinition"].clone())
        .collect()
}

fn names(objects: &[Value]) -> Vec<&str> {
    let names = objects
        .iter()
        .map(|object| object["metadata"]["name"].as_str().unwrap());
    names.collect()
}

fn config_map(name: &str) -> String {
    CONFIG_MAP.replace("my-configmap", name)
}

#[test]
fn gen_14_directory_yields_the_yaml_files_in_it() {
    let dir = Dir::new(&[
        ("in/b.yaml", &config_map("b")),
        (
            "in/a.yml",
            &format!("---\n---\n{}---\n{}", config_map("a1"), config_map("a2")),
        ),
        ("in/empty.yaml", "# nothing\n"),
        ("in/C.YAML", &config_map("c")),
        ("in/x.json", "{}"),
        ("in/sub/d.yaml", &config_map("d")),
        ("in/Kustomization", "namespace: x"),
    ]);
    let templates = dir.templates(&one_policy("manifests:\n- path: in"));
    assert_eq!(names(&definitions(&templates)), ["a1", "a2", "b"]);
}

#[test]
fn gen_16_scalars_are_typed_again() {
    let dir = Dir::new(&[(
        "x.json",
        r#"{"apiVersion": "v1", "kind": "X", "metadata": {"name": "x"}, "a": 0777, "b": 1_000, "c": 0x1F, "d": 1.0, "e": 1e10,
        "f": 12345678901234567890123, "g": 2024-01-02, "h": yes, "i": !!binary "eA==", "j": "2024-01-02"}"#,
    )]);
    let output = dir.generate(&one_policy("manifests:\n- path: x.json"));
    for line in [
        "a: 511",
        "b: 1000",
        "c: 31",
        "d: 1",
        "e: 1e+10",
        "f: 1.2345678901234568e+22",
        "g: 2024-01-02T00:00:00Z",
        "h: \"yes\"",
        "i: x",
        "j: \"2024-01-02\"",
    ] {
        assert!(
            output.lines().any(|one| one.trim() == line),
            "{line}: {output}"
        );
    }
}

#[test]
fn gen_14_files_without_objects_are_refused() {
    let dir = Dir::new(&[
        ("empty.yaml", "---\n# nothing\n"),
        ("list.yaml", "- a\n"),
        ("number.yaml", "1: x\n"),
        ("syntax.yaml", "a: b: c\n"),
        ("none/x.txt", ""),
        ("lists.yaml", "apiVersion: v1\nkind: [a]\n"),
        ("raw.yaml", "object-templates-raw: [a]\n"),
        (
            "root.yaml",
            "apiVersion: policy.open-cluster-management.io/v1\nkind: Policy\n",
        ),
        (
            "own.yaml",
            "apiVersion: policy.open-cluster-management.io/v1\nkind: CertificatePolicy\n",
        ),
    ]);
    let objects = "the input manifests must be in the format of YAML objects";
    for (path, error) in [
        ("empty.yaml", "found empty YAML in the manifest at empty.yaml".to_owned()),
        ("list.yaml", format!("failed to decode the manifest file at list.yaml: {objects}")),
        ("number.yaml", format!("failed to decode the manifest file at number.yaml: {objects}")),
        (
            "syntax.yaml",
            "failed to decode the manifest file at syntax.yaml: yaml: mapping values are not allowed in this context".to_owned(),
        ),
        ("none", "the policy p must specify at least one non-empty manifest file".to_owned()),
        ("lists.yaml", "invalid or not found kind in manifest path: lists.yaml".to_owned()),
        ("raw.yaml", "invalid or not found apiVersion in manifest path: raw.yaml".to_owned()),
        (
            "root.yaml",
            "providing a root Policy kind is not supported by the generator; the manifest should be applied to the hub cluster directly in manifest path: root.yaml".to_owned(),
        ),
        ("own.yaml", "invalid or not found metadata.name in manifest path: own.yaml".to_owned()),
    ] {
        let found = dir.refuse(&one_policy(&format!("manifests:\n- path: {path}")));
        assert_eq!(found, error);
    }
}

#[test]
fn gen_15_kustomization_is_built_in() {
    let dir = Dir::new(&[
        (
            "k/kustomization.yaml",
            "namespace: there\nlabels:\n- pairs: {team: a}\nimages:\n- {name: reg.io:5000/app, newTag: '2'}\n- {name: other, newName: new, digest: sha256:1}\nresources: [base, cm.yaml]\npatches:\n- path: patch.yaml\n- patch: |\n    kind: ConfigMap\n    apiVersion: v1\n    metadata: {name: cm}\n    data: {image: null, when: 2024-01-02}\n",
        ),
        ("k/cm.yaml", &config_map("cm")),
        ("k/stray.yaml", "- not read"),
        (
            "k/patch.yaml",
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: app}\nspec: {template: {spec: {containers: [{name: extra, image: other}]}}}\n",
        ),
        ("k/base/kustomization.yml", "resources: [app.yaml, ns.yaml]"),
        (
            "k/base/app.yaml",
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: app, labels: {own: b}}\nspec: {template: {spec: {containers: [{name: main, image: 'reg.io:5000/app:1'}]}}}\n",
        ),
        (
            "k/base/ns.yaml",
            "apiVersion: v1\nkind: Namespace\nmetadata: {name: ns}\n",
        ),
    ]);
    let templates = dir.templates(&one_policy("manifests:\n- path: k"));
    let objects = definitions(&templates);
    assert_eq!(names(&objects), ["app", "there", "cm"]);
    let [app, namespace, config_map] = objects.as_slice() else {
        panic!("{objects:?}");
    };
    assert_eq!(
        app["metadata"],
        json!({"name": "app", "namespace": "there", "labels": {"own": "b", "team": "a"}})
    );
    assert_eq!(
        app["spec"]["template"]["spec"]["containers"],
        json!([
            {"name": "extra", "image": "new@sha256:1"},
            {"name": "main", "image": "reg.io:5000/app:2"},
        ])
    );
    assert_eq!(
        namespace["metadata"],
        json!({"name": "there", "labels": {"team": "a"}})
    );
    assert_eq!(config_map["data"], json!({"when": "2024-01-02T00:00:00Z"}));
}

#[test]
fn gen_15_kustomizations_that_cannot_be_built_are_refused() {
    let dir = Dir::new(&[
        ("unknown/kustomization.yaml", "unknownField: x"),
        ("empty/kustomization.yaml", ""),
        ("number/kustomization.yaml", "nameSuffix: -1"),
        ("outside/kustomization.yaml", "resources: [../cm.yaml]"),
        ("cm.yaml", CONFIG_MAP),
        (
            "twice/kustomization.yaml",
            "namespace: there\nresources: [two.yaml]",
        ),
        (
            "twice/two.yaml",
            "{apiVersion: v1, kind: Namespace, metadata: {name: a}}\n---\n{apiVersion: v1, kind: Namespace, metadata: {name: b}}\n",
        ),
    ]);
    let refuse = |path: &str| dir.refuse(&one_policy(&format!("manifests:\n- path: {path}")));
    assert_eq!(
        refuse("unknown"),
        "failed to process provided kustomize directory 'unknown': invalid Kustomization: json: unknown field \"unknownField\""
    );
    assert_eq!(
        refuse("empty"),
        "failed to process provided kustomize directory 'empty': kustomization.yaml is empty"
    );
    assert_eq!(
        refuse("number"),
        "failed to process provided kustomize directory 'number': invalid Kustomization: json: cannot unmarshal number into Go struct field Kustomization.nameSuffix of type string"
    );
    assert_eq!(
        refuse("twice"),
        "failed to process provided kustomize directory 'twice': namespace transformation produces ID conflict: more than one Namespace is called there"
    );
    let root = dir.path().canonicalize().unwrap();
    let root = root.display();
    assert_eq!(
        refuse("outside"),
        format!(
            "failed to process provided kustomize directory 'outside': accumulating resources: accumulation err='accumulating resources from '../cm.yaml': security; file '{root}/cm.yaml' is not in or below '{root}/outside'': must build at directory: '{root}/cm.yaml': file is not directory"
        )
    );
}

const LIST: &str = "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n- {apiVersion: v1, kind: ConfigMapList, items: [{apiVersion: v1, kind: ConfigMap, metadata: {name: nested}}]}\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}\n";

#[test]
fn gen_39_lists_are_opened_when_extended() {
    let dir = Dir::new(&[("list.yaml", &format!("{LIST}---\n{}", config_map("alone")))]);
    let document = one_policy("manifests:\n- path: list.yaml");
    assert_eq!(
        dir.warnings(&document),
        [
            "manifest list.yaml: a List in it becomes one object template, not one for each of its items; write the items as documents, or use --extended"
        ]
    );
    let (policies, stderr) = dir.extended(&document, "Policy");
    assert_eq!(stderr, "");
    let templates = policies[0]["spec"]["policy-templates"].as_array().unwrap();
    assert_eq!(
        names(&definitions(templates)),
        ["alone", "a", "b", "nested"]
    );
    dir.write("list.yaml", "apiVersion: v1\nkind: List\nitems: x\n");
    let outcome = dir.run(&["--extended", "generator.yaml"]);
    assert!(
        outcome
            .stderr
            .ends_with("the items of a List must be a list\n"),
        "{outcome:?}"
    );
}

#[test]
fn gen_39_file_kustomization_is_read_when_extended() {
    let dir = Dir::new(&[
        (
            "k/Kustomization",
            "resources: [base]\nlabels: [{pairs: {team: a}}]",
        ),
        ("k/base/Kustomization", "resources: [list.yaml]"),
        ("k/base/list.yaml", LIST),
        ("k/plain.yaml", CONFIG_MAP),
    ]);
    let document = one_policy("manifests:\n- path: k");
    assert_eq!(
        dir.warnings(&document),
        [
            "manifest k: the file Kustomization is not read; rename it to kustomization.yaml, or use --extended"
        ]
    );
    let (policies, stderr) = dir.extended(&document, "Policy");
    assert_eq!(stderr, "");
    let templates = policies[0]["spec"]["policy-templates"].as_array().unwrap();
    let objects = definitions(templates);
    assert_eq!(names(&objects), ["a", "b", "nested"]);
    assert_eq!(objects[0]["metadata"]["labels"], json!({"team": "a"}));
    // To kustomize the name is as good as the others, and lists are always open.
    dir.write("own/kustomization.yaml", "resources: [../k]");
    let templates = dir.templates(&one_policy("manifests:\n- path: own"));
    assert_eq!(names(&definitions(&templates)), ["a", "b", "nested"]);
}

#[test]
fn gen_32_texts_that_go_yaml_cannot_read_back_are_quoted() {
    let manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {e: \"\\na\", s: \"  a\\nb\\n\", t: \"\\ta\\nb\", p: \"a\\nb\\n\"}\nd: [\"  a\\nb\\n\", {e: \"  a\\nb\"}]\n";
    let dir = Dir::new(&[("cm.yaml", manifest)]);
    let document = one_policy("manifests:\n- path: cm.yaml");
    let objects = definitions(&dir.templates(&document));
    assert_eq!(
        objects[0]["data"],
        json!({"e": "\na", "s": "  a\nb\n", "t": "\ta\nb", "p": "a\nb\n"})
    );
    assert_eq!(objects[0]["d"], json!(["  a\nb\n", {"e": "  a\nb"}]));
    let output = dir.generate(&document);
    assert!(output.contains("e: \"\\na\"\n"), "{output}");
    assert!(output.contains("p: |\n"), "{output}");
}
