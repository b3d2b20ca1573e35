//! Kustomize directories with what kustomize 5.8.2 makes of them; `tests/kustomize/record.py` has recorded it.

use std::fs;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::{Dir, one_policy, parsed};

/// Where errors stop that go on with values in the style of their author.
const ENDS: [&str; 2] = ["node contents:", "ID conflict:"];

fn cases() -> Vec<Value> {
    serde_json::from_str(include_str!("../kustomize/recorded.json")).unwrap()
}

fn folder(case: &Value) -> Dir {
    let files = case["files"].as_object().unwrap().iter();
    let files: Vec<(&str, &str)> = files
        .map(|(path, text)| (path.as_str(), text.as_str().unwrap()))
        .collect();
    let dir = Dir::new(&files);
    for (path, text) in case["binary"].as_object().into_iter().flatten() {
        let content = STANDARD.decode(text.as_str().unwrap()).unwrap();
        let at = dir.path().join(path);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        fs::write(at, content).unwrap();
    }
    dir
}

/// The objects of the directory, or the error.
fn built(dir: &Dir) -> Result<Vec<Value>, String> {
    dir.write("generator.yaml", &one_policy("manifests:\n- path: k"));
    let outcome = dir.run(&["generator.yaml"]);
    if outcome.code != 0 {
        let prefix = "failed to process provided kustomize directory 'k': ";
        let (_, error) = outcome
            .stderr
            .split_once(prefix)
            .unwrap_or_else(|| panic!("{outcome:?}"));
        let root = fs::canonicalize(dir.path()).unwrap();
        let mut error = error.trim().replace(&root.display().to_string(), "ROOT");
        for end in ENDS {
            if let Some((start, _)) = error.clone().split_once(end) {
                error = format!("{start}{end}");
            }
        }
        return Err(error);
    }
    let documents = parsed(std::str::from_utf8(&outcome.stdout).unwrap());
    let policy = documents
        .iter()
        .find(|one| one["kind"] == "Policy")
        .unwrap();
    let templates = policy["spec"]["policy-templates"].as_array().unwrap();
    let entries = templates.iter().flat_map(|template| {
        let spec = &template["objectDefinition"]["spec"];
        spec["object-templates"]
            .as_array()
            .cloned()
            .unwrap_or_default()
    });
    Ok(entries
        .map(|entry| entry["objectDefinition"].clone())
        .collect())
}

#[test]
fn gen_15_directories_are_built_as_kustomize_builds_them() {
    let cases = cases();
    assert!(cases.len() >= 700, "{}", cases.len());
    let mut wrong = Vec::new();
    for case in &cases {
        let expected = match case["error"].as_str() {
            Some(error) => Err(error.to_owned()),
            None => Ok(case["objects"].as_array().unwrap().clone()),
        };
        let found = built(&folder(case));
        if found != expected {
            let about = &case["about"];
            wrong.push(format!("{about}: {found:?} instead of {expected:?}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "{}: {:#?}",
        wrong.len(),
        wrong.get(..wrong.len().min(5))
    );
}
