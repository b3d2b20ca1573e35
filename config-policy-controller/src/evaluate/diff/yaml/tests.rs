//! The rendering against the answers of the Go library (`tests/oracle`).

use proptest::prelude::*;
use serde_json::{Value, json};

use super::to_yaml;

#[test]
fn objects_render_as_in_go() {
    let answers = include_str!("../../../../tests/oracle/fixtures/yaml.json");
    let answers: Vec<Value> = serde_json::from_str(answers).unwrap();
    let mut wrong = Vec::new();
    for entry in &answers {
        if let Some(expected) = entry["answer"].as_str() {
            let got = to_yaml(&entry["input"]);
            if got != expected {
                wrong.push(format!(
                    "{}\n--- Go\n{expected:?}\n--- ours\n{got:?}",
                    entry["input"]
                ));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {} differ:\n{}",
        wrong.len(),
        answers.len(),
        wrong.join("\n\n")
    );
}

#[test]
fn a_pod_reads_like_a_manifest() {
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {}, "name": "p"},
        "spec": {"containers": [{"name": "a", "args": ["-c", "yes"]}], "hostIPC": false},
    });
    assert_eq!(
        to_yaml(&pod),
        "apiVersion: v1\nkind: Pod\nmetadata:\n  labels: {}\n  name: p\nspec:\n  containers:\n  - args:\n    - -c\n    - \"yes\"\n    name: a\n  hostIPC: false\n"
    );
}

proptest! {
    #[test]
    fn any_text_can_be_rendered(text in any::<String>(), key in any::<String>()) {
        let _ = to_yaml(&json!({key: [text]}));
    }
}

#[test]
fn keys_without_an_order_of_their_own_do_not_panic() {
    let keys: serde_json::Map<String, Value> = ["10z", "1a", "9z", "2b", "20c", "3d"]
        .iter()
        .flat_map(|key| (0..40).map(move |i| (format!("{key}{i}"), json!(1))))
        .collect();
    assert_eq!(to_yaml(&Value::Object(keys)).lines().count(), 240);
}
