//! Kustomize directories: images, empty fields and errors, as kustomize 0.21.1 has them.

use serde_json::{Value, json};

use crate::{CONFIG_MAP, Dir, one_policy};

/// The objects of the kustomize directory `k`.
fn built(dir: &Dir, kustomization: &str) -> Vec<Value> {
    dir.write("k/kustomization.yaml", kustomization);
    let templates = dir.templates(&one_policy("manifests:\n- path: k"));
    let of_policy = &templates[0]["objectDefinition"]["spec"]["object-templates"];
    let entries = of_policy.as_array().unwrap().iter();
    entries
        .map(|entry| entry["objectDefinition"].clone())
        .collect()
}

/// The error for a kustomize directory, without the text before it.
fn refuse(dir: &Dir, path: &str) -> String {
    let error = dir.refuse(&one_policy(&format!("manifests:\n- path: {path}")));
    let prefix = format!("failed to process provided kustomize directory '{path}': ");
    error.strip_prefix(&prefix).unwrap().to_owned()
}

#[test]
fn gen_15_images_change_as_kustomize_changes_them() {
    let digest = "0123456789".repeat(6) + "0123";
    let current = format!("nginx:1.0@sha256:{digest}");
    for (entry, image, expected) in [
        ("name: nginx, newTag: '2'", current.as_str(), "nginx:2"),
        (
            "name: nginx, digest: 'sha256:x'",
            &current,
            "nginx@sha256:x",
        ),
        (
            "name: nginx, newName: foo/bar",
            &current,
            &format!("foo/bar:1.0@sha256:{digest}"),
        ),
        (
            "name: nginx, newTag: '2', digest: 'sha256:x'",
            "nginx:1",
            "nginx:2@sha256:x",
        ),
        ("name: ngin., newTag: '2'", "nginx:1", "nginx:2"),
        ("name: n|m, newTag: '2'", "nginx:1", "nginx:2"),
        // kustomize changes the images of known kinds twice.
        ("name: nginx, tagSuffix: -x", "nginx:1", "nginx:1-x-x"),
        (
            "name: nginx, newName: other, tagSuffix: -x",
            "nginx:1",
            "other:1-x",
        ),
        (
            "name: 'reg.io:5000/app', newTag: '9'",
            "reg.io:5000/app",
            "reg.io:5000/app:9",
        ),
        (
            "name: nginx, newTag: '2'",
            "nginx:1@md5:abc",
            "nginx:1@md5:abc",
        ),
    ] {
        let pod = format!(
            "{{apiVersion: v1, kind: Pod, metadata: {{name: p}}, spec: {{containers: [{{name: c, image: '{image}'}}]}}}}"
        );
        let dir = Dir::new(&[("k/pod.yaml", &pod)]);
        let objects = built(
            &dir,
            &format!("resources: [pod.yaml]\nimages: [{{{entry}}}]"),
        );
        assert_eq!(
            objects[0]["spec"]["containers"][0]["image"], expected,
            "{entry} {image}"
        );
    }
}

#[test]
fn gen_15_images_change_in_volumes_and_not_in_ephemeral_containers_or_crds() {
    let dir = Dir::new(&[(
        "k/all.yaml",
        "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {ephemeralContainers: [{image: nginx}], volumes: [{image: {reference: nginx}}]}}\n---\n{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: crd}, spec: {containers: [{image: nginx}]}}\n",
    )]);
    let objects = built(
        &dir,
        "resources: [all.yaml]\nimages: [{name: nginx, newTag: '2'}]",
    );
    assert_eq!(
        objects[0]["spec"],
        json!({"ephemeralContainers": [{"image": "nginx"}], "volumes": [{"image": {"reference": "nginx:2"}}]})
    );
    assert_eq!(
        objects[1]["spec"],
        json!({"containers": [{"image": "nginx"}]})
    );
}

#[test]
fn gen_15_images_that_kustomize_cannot_read_are_refused() {
    let dir = Dir::new(&[("k/cm.yaml", CONFIG_MAP)]);
    for (entry, error) in [
        (
            "name: nginx, newTag: 2",
            "invalid Kustomization: json: cannot unmarshal number into Go struct field Image.images.newTag of type string",
        ),
        (
            "name: nginx, foo: a",
            "invalid Kustomization: json: unknown field \"foo\"",
        ),
        (
            "name: '('",
            "the image name '(' of kustomization.yaml is not a regular expression: error parsing regexp: missing closing ): `^((:[a-zA-Z0-9_.{}-]*)?(@sha256:[a-zA-Z0-9_.{}-]*)?$`",
        ),
    ] {
        dir.write(
            "k/kustomization.yaml",
            &format!("resources: [cm.yaml]\nimages: [{{{entry}}}]"),
        );
        assert_eq!(refuse(&dir, "k"), error);
    }
}

#[test]
fn gen_15_empty_fields_of_kustomizations_change_nothing() {
    let dir = Dir::new(&[("k/cm.yaml", CONFIG_MAP)]);
    for lines in [
        "namespace: ''",
        "labels: [{pairs: {}}]",
        "vars:\nvalidators:\nimageTags:",
    ] {
        let objects = built(&dir, &format!("resources: [cm.yaml]\n{lines}"));
        assert_eq!(
            objects[0]["metadata"],
            json!({"name": "my-configmap"}),
            "{lines}"
        );
    }
}

#[test]
fn gen_15_kustomizations_fail_with_the_texts_of_kustomize() {
    let dir = Dir::new(&[
        ("nil/kustomization.yaml", "resources:"),
        ("list/kustomization.yaml", "[a]"),
        ("both/kustomization.yaml", "resources: [cm.yaml]"),
        ("both/kustomization.yml", "resources: [cm.yaml]"),
        ("nested/kustomization.yaml", "resources: [out]"),
        ("nested/out/kustomization.yaml", "resources: [../cm.yaml]"),
        ("nested/cm.yaml", CONFIG_MAP),
        ("none/kustomization.yaml", "resources: [sub]"),
        ("none/sub/x.txt", ""),
        ("missing/kustomization.yaml", "resources: [nope.yaml]"),
        (
            "patch/kustomization.yaml",
            "resources: [cm.yaml]\npatches: [{path: ../nested/cm.yaml}]",
        ),
        ("patch/cm.yaml", CONFIG_MAP),
    ]);
    let root = dir.path().canonicalize().unwrap();
    let root = root.display();
    for (path, error) in [
        ("nil", "kustomization.yaml is empty".to_owned()),
        (
            "list",
            "invalid Kustomization: json: cannot unmarshal array into Go value of type types.Kustomization".to_owned(),
        ),
        ("both", format!("Found multiple kustomization files under: {root}/both")),
        (
            "nested",
            format!(
                "accumulating resources: accumulation err='accumulating resources from 'out': '{root}/nested/out' must resolve to a file': recursed accumulation of path '{root}/nested/out': accumulating resources: accumulation err='accumulating resources from '../cm.yaml': security; file '{root}/nested/cm.yaml' is not in or below '{root}/nested/out'': must build at directory: '{root}/nested/cm.yaml': file is not directory"
            ),
        ),
        (
            "none",
            format!(
                "accumulating resources: accumulation err='accumulating resources from 'sub': '{root}/none/sub' must resolve to a file': couldn't make target for path '{root}/none/sub': unable to find one of 'kustomization.yaml', 'kustomization.yml' or 'Kustomization' in directory '{root}/none/sub'"
            ),
        ),
        (
            "missing",
            format!(
                "accumulating resources: accumulation err='accumulating resources from 'nope.yaml': evalsymlink failure on '{root}/missing/nope.yaml' : lstat {root}/missing/nope.yaml: no such file or directory': must build at directory: not a valid directory: evalsymlink failure on '{root}/missing/nope.yaml' : lstat {root}/missing/nope.yaml: no such file or directory"
            ),
        ),
        (
            "patch",
            format!(
                "trouble configuring builtin PatchTransformer with config: `\npath: ../nested/cm.yaml\n`: failed to get the patch file from path(../nested/cm.yaml): security; file '{root}/nested/cm.yaml' is not in or below '{root}/patch'"
            ),
        ),
    ] {
        assert_eq!(refuse(&dir, path), error);
    }
}

#[test]
fn gen_15_what_kustomizations_ask_for_is_bounded() {
    let mut files = vec![("k/cm.yaml".to_owned(), CONFIG_MAP.to_owned())];
    for level in 0..30 {
        let below = level + 1;
        let text = format!("kind: Component\ncomponents: [../c{below}, ../c{below}]\n");
        files.push((format!("c{level}/kustomization.yaml"), text));
    }
    let last = "kind: Component\nnamePrefix: a\n".to_owned();
    files.push(("c30/kustomization.yaml".to_owned(), last));
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(a, b)| (a.as_str(), b.as_str()))
        .collect();
    let dir = Dir::new(&files);
    let deep = format!("{}1{}", "{a: ".repeat(2000), "}".repeat(2000));
    let copies: Vec<String> = (0..40)
        .map(|number| format!("{{op: copy, from: /data, path: /data/c{number}}}"))
        .collect();
    let patch = |operations: &str| {
        format!("patches: [{{target: {{kind: ConfigMap}}, patch: '- {operations}'}}]")
    };
    for (lines, error) in [
        (
            "components: [../c0]",
            "the kustomization builds more than 4096 directories",
        ),
        (
            &patch(&copies.join("\n\n    - ")),
            "the copy operations of a JSON patch copy more than 4194304 bytes",
        ),
        (
            &patch(&format!("{{op: add, path: /a, value: {deep}}}")),
            "unable to parse SM or JSON patch",
        ),
        (
            &format!("openapi: {deep}"),
            "an object has more than 1000 values within values",
        ),
    ] {
        dir.write(
            "k/kustomization.yaml",
            &format!("resources: [cm.yaml]\n{lines}"),
        );
        dir.write("generator.yaml", &one_policy("manifests:\n- path: k"));
        let outcome = dir.run(&["generator.yaml"]);
        assert!(outcome.stderr.contains(error), "{outcome:?}");
    }
}
