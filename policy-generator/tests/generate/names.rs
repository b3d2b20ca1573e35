//! Prefixes and suffixes of names in kustomize directories.

use serde_json::{Value, json};

use crate::{Dir, one_policy};

/// Kustomizations with what kustomize 5.8 makes of them; `tests/names/record.py` has recorded them.
#[test]
fn gen_15_names_and_references_are_those_of_kustomize() {
    let cases: Vec<Value> = serde_json::from_str(include_str!("../names/recorded.json")).unwrap();
    assert!(cases.len() >= 50);
    let document = one_policy("manifests:\n- path: k");
    for case in cases {
        let files = case["files"].as_object().unwrap().iter();
        let files: Vec<(&str, &str)> = files
            .map(|(path, text)| (path.as_str(), text.as_str().unwrap()))
            .collect();
        let dir = Dir::new(&files);
        if case["expected"].is_null() {
            dir.refuse(&document);
            continue;
        }
        let templates = dir.templates(&document);
        let entries = &templates[0]["objectDefinition"]["spec"]["object-templates"];
        let objects = entries.as_array().unwrap().iter();
        let objects: Vec<&Value> = objects.map(|entry| &entry["objectDefinition"]).collect();
        for (found, expected) in objects.iter().zip(case["expected"].as_array().unwrap()) {
            assert_eq!(*found, expected, "{files:#?}");
        }
        assert_eq!(json!(objects), case["expected"]);
    }
}

#[test]
fn gen_15_name_of_several_renamed_objects_is_an_error() {
    let secret = "{apiVersion: v1, kind: Secret, metadata: {name: a}}";
    let pod =
        "{apiVersion: v1, kind: Pod, metadata: {name: pod}, spec: {imagePullSecrets: [{name: a}]}}";
    let dir = Dir::new(&[
        (
            "k/one/kustomization.yaml",
            "namePrefix: one-\nresources: [secret.yaml]",
        ),
        ("k/one/secret.yaml", secret),
        (
            "k/two/kustomization.yaml",
            "namePrefix: two-\nresources: [secret.yaml]",
        ),
        ("k/two/secret.yaml", secret),
        (
            "k/kustomization.yaml",
            "namePrefix: all-\nresources: [one, two, pod.yaml]",
        ),
        ("k/pod.yaml", pod),
    ]);
    assert_eq!(
        dir.refuse(&one_policy("manifests:\n- path: k")),
        "failed to process provided kustomize directory 'k': updating name reference in 'spec/imagePullSecrets/name' field of 'Pod.v1.[noGrp]/all-pod.[noNs]': considering field 'spec/imagePullSecrets/name' of object Pod.v1.[noGrp]/all-pod.[noNs]: visit traversal on path: [name]: found multiple possible referrals: Secret.v1.[noGrp]/all-one-a.[noNs], Secret.v1.[noGrp]/all-two-a.[noNs]"
    );
}
