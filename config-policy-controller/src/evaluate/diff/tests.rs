//! Differences: against Python's difflib, and the texts of whole ones.

use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Value, json};

use super::unified::{Headers, unified};
use super::{DiffLength, RecordDiff, Sensitivity, between, effective_record_diff, to_yaml};

#[test]
fn diffs_are_those_of_difflib() {
    let cases = include_str!("../../../tests/oracle/fixtures/difflib.json");
    let cases: Vec<Value> = serde_json::from_str(cases).unwrap();
    let headers = Headers {
        before: "ns/name : existing",
        after: "ns/name : updated",
    };
    for case in cases {
        let side = |key: &str| case[key].as_str().unwrap().to_owned();
        assert_eq!(
            unified(&side("a"), &side("b"), headers),
            side("diff"),
            "{}",
            side("a")
        );
    }
}

fn config_map(data: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m", "namespace": "n"}, "data": data})
}

#[test]
fn equal_objects_have_no_difference() {
    let object = config_map(&json!({"a": "1"}));
    assert_eq!(between(&object, &object, DiffLength::Truncated), "");
}

#[test]
fn a_change_shows_five_lines_around_it() {
    let binding = |subjects: Value| {
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
            "metadata": {"name": "b", "namespace": "n", "uid": "1"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
            "subjects": subjects,
        })
    };
    let mut without = binding(json!([]));
    without.as_object_mut().unwrap().remove("subjects");
    let with = binding(json!([{"kind": "User", "name": "u"}]));
    assert_eq!(
        between(&with, &without, DiffLength::Truncated),
        "--- n/b : existing\n\
         +++ n/b : updated\n\
         @@ -6,9 +6,6 @@\n\
        \x20  uid: \"1\"\n\
        \x20roleRef:\n\
        \x20  apiGroup: rbac.authorization.k8s.io\n\
        \x20  kind: Role\n\
        \x20  name: r\n\
         -subjects:\n\
         -- kind: User\n\
         -  name: u\n\
        \x20\n"
    );
}

#[test]
fn cluster_scoped_objects_are_named_without_a_namespace() {
    let object = |value: i32| json!({"metadata": {"name": "c"}, "value": value});
    let diff = between(&object(1), &object(2), DiffLength::Truncated);
    assert!(
        diff.starts_with("--- c : existing\n+++ c : updated\n@@ -1,4 +1,4 @@\n"),
        "{diff}"
    );
}

#[rstest]
#[case::just_fits(46, false)]
#[case::one_too_many(47, true)]
fn long_differences_are_cut(#[case] added: usize, #[case] cut: bool) {
    let empty = json!({"data": {}});
    let lines: serde_json::Map<String, Value> = (0..added)
        .map(|i| (format!("key{i}"), json!("x")))
        .collect();
    let full = between(&empty, &json!({"data": lines}), DiffLength::Full);
    let shown = between(&empty, &json!({"data": lines}), DiffLength::Truncated);
    let pieces = full.split('\n').count();
    if cut {
        let first = format!("# Truncated: showing 50/{pieces} diff lines:\n--- ");
        assert!(shown.starts_with(&first), "{shown}");
        assert_eq!(shown.split('\n').count(), 54);
        assert!(!shown.ends_with('\n'));
    } else {
        assert_eq!(shown, full);
    }
    assert_eq!(pieces > 53, cut, "{pieces}");
}

#[rstest]
#[case::plain(
    "apps/v1",
    "Deployment",
    None,
    Sensitivity::Plain,
    RecordDiff::InStatus
)]
#[case::secret("v1", "Secret", None, Sensitivity::Plain, RecordDiff::Censored)]
#[case::config_map("v1", "ConfigMap", None, Sensitivity::Plain, RecordDiff::Censored)]
#[case::asked(
    "v1",
    "Secret",
    Some("InStatus"),
    Sensitivity::Sensitive,
    RecordDiff::InStatus
)]
#[case::log("v1", "Secret", Some("Log"), Sensitivity::Plain, RecordDiff::Log)]
#[case::none(
    "apps/v1",
    "Deployment",
    Some("None"),
    Sensitivity::Plain,
    RecordDiff::None
)]
#[case::route(
    "route.openshift.io/v1",
    "Route",
    None,
    Sensitivity::Plain,
    RecordDiff::Censored
)]
#[case::token(
    "oauth.openshift.io/v1",
    "OAuthAccessToken",
    None,
    Sensitivity::Plain,
    RecordDiff::Censored
)]
#[case::other_group(
    "example.com/v1",
    "Secret",
    None,
    Sensitivity::Plain,
    RecordDiff::InStatus
)]
#[case::sensitive(
    "apps/v1",
    "Deployment",
    None,
    Sensitivity::Sensitive,
    RecordDiff::Censored
)]
fn where_differences_go(
    #[case] api_version: &str,
    #[case] kind: &str,
    #[case] asked: Option<&str>,
    #[case] sensitivity: Sensitivity,
    #[case] expected: RecordDiff,
) {
    let definition = json!({"apiVersion": api_version, "kind": kind});
    assert_eq!(
        effective_record_diff(asked, definition.as_object().unwrap(), sensitivity),
        expected
    );
}

#[test]
fn cfg_132_both_spellings_of_the_authorize_token_are_censored() {
    for kind in ["OAuthAuthorizeToken", "OAuthAuthorizeTokens"] {
        let definition = json!({"apiVersion": "oauth.openshift.io/v1", "kind": kind});
        let decided =
            effective_record_diff(None, definition.as_object().unwrap(), Sensitivity::Plain);
        assert_eq!(decided, RecordDiff::Censored);
    }
}

#[test]
fn no_diff_is_recorded_without_a_kind() {
    assert_eq!(
        effective_record_diff(None, &serde_json::Map::new(), Sensitivity::Plain),
        RecordDiff::None
    );
}

#[test]
fn objects_render_as_sigs_yaml_renders_them() {
    let answers = include_str!("../../../tests/oracle/fixtures/yaml.json");
    let answers: Vec<Value> = serde_json::from_str(answers).unwrap();
    let mut wrong = Vec::new();
    for entry in &answers {
        if let Some(expected) = entry["answer"].as_str() {
            let got = to_yaml(&entry["input"]);
            if got != expected {
                let input = &entry["input"];
                wrong.push(format!("{input}\n--- Go\n{expected:?}\n--- ours\n{got:?}"));
            }
        }
    }
    let (count, cases) = (wrong.len(), answers.len());
    assert!(
        wrong.is_empty(),
        "{count} of {cases} differ:\n{}",
        wrong.join("\n\n")
    );
}

#[test]
fn pod_renders_as_manifest() {
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
    fn any_text_renders(text in any::<String>(), key in any::<String>()) {
        let yaml = to_yaml(&json!({key: [text]}));
        prop_assert!(!yaml.is_empty());
    }
}

#[test]
fn keys_without_total_order_do_not_panic() {
    let keys: serde_json::Map<String, Value> = ["10z", "1a", "9z", "2b", "20c", "3d"]
        .iter()
        .flat_map(|key| (0..40).map(move |i| (format!("{key}{i}"), json!(1))))
        .collect();
    assert_eq!(to_yaml(&Value::Object(keys)).lines().count(), 240);
}
