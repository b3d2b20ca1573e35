#![allow(clippy::needless_pass_by_value)] // cases are written in place

use rstest::rstest;
use serde_json::json;

use super::*;

fn pod() -> Json {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web-1", "namespace": "shop", "labels": {"app": "web"}}})
}

fn namespace(name: &str) -> Json {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {"env": "prod"}}})
}

fn role() -> Json {
    json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "reader"}})
}

fn matched(member: Json, object: &Json, namespace: Option<&Json>) -> Result<bool, String> {
    let target = Target {
        object,
        namespace,
        source: Some(Source::Original),
    };
    Match::of_spec(&json!({"match": member})).matches(&target)
}

#[rstest]
#[case::absent(json!(null), true)]
#[case::empty(json!({}), true)]
#[case::kind(json!({"kinds": [{"apiGroups": [""], "kinds": ["Pod"]}]}), true)]
#[case::any_group(json!({"kinds": [{"apiGroups": ["*"], "kinds": ["Pod"]}]}), true)]
#[case::any_kind(json!({"kinds": [{"apiGroups": [""]}]}), true)]
#[case::other_group(json!({"kinds": [{"apiGroups": ["apps"], "kinds": ["Pod"]}]}), false)]
#[case::second_entry(json!({"kinds": [{"kinds": ["Service"]}, {"kinds": ["Pod"]}]}), true)]
#[case::case_matters(json!({"kinds": [{"kinds": ["pod"]}]}), false)]
#[case::namespaced(json!({"scope": "Namespaced"}), true)]
#[case::cluster(json!({"scope": "Cluster"}), false)]
#[case::any_scope(json!({"scope": "*"}), true)]
#[case::scope_with_typo(json!({"scope": "cluster"}), true)]
#[case::namespace(json!({"namespaces": ["other", "shop"]}), true)]
#[case::namespace_prefix(json!({"namespaces": ["sh*"]}), true)]
#[case::namespace_suffix(json!({"namespaces": ["*op"]}), true)]
#[case::namespace_part(json!({"namespaces": ["*ho*"]}), true)]
#[case::asterisk_within(json!({"namespaces": ["s*p"]}), false)]
#[case::excluded(json!({"excludedNamespaces": ["sh*"]}), false)]
#[case::excluded_wins(json!({"namespaces": ["shop"], "excludedNamespaces": ["shop"]}), false)]
#[case::label(json!({"labelSelector": {"matchLabels": {"app": "web"}}}), true)]
#[case::label_absent(json!({"labelSelector": {"matchExpressions": [{"key": "tier", "operator": "Exists"}]}}), false)]
#[case::name(json!({"name": "web-*"}), true)]
#[case::other_name(json!({"name": "db-*"}), false)]
#[case::source_all(json!({"source": "All"}), true)]
#[case::source_generated(json!({"source": "Generated"}), false)]
fn gk_109_match_of_a_namespaced_object(#[case] member: Json, #[case] expected: bool) {
    assert_eq!(matched(member, &pod(), None), Ok(expected));
}

#[rstest]
#[case::cluster(json!({"scope": "Cluster"}), true)]
#[case::namespaced(json!({"scope": "Namespaced"}), false)]
#[case::namespaces_do_not_apply(json!({"namespaces": ["shop"]}), true)]
#[case::nor_do_excluded(json!({"excludedNamespaces": ["*"]}), true)]
#[case::nor_does_the_selector(json!({"namespaceSelector": {"matchLabels": {"a": "b"}}}), true)]
fn gk_109_match_of_a_cluster_scoped_object(#[case] member: Json, #[case] expected: bool) {
    assert_eq!(matched(member, &role(), None), Ok(expected));
}

#[test]
fn gk_109_cluster_scoped_object_with_an_empty_namespace_counts_as_namespaced() {
    let empty = json!({});
    let with = |member| matched(member, &role(), Some(&empty));
    assert_eq!(with(json!({"scope": "Namespaced"})), Ok(true));
    assert_eq!(with(json!({"scope": "Cluster"})), Ok(false));
    assert_eq!(with(json!({"namespaces": ["shop"]})), Ok(false));
}

#[test]
fn gk_109_namespace_object_is_matched_by_its_own_name_and_labels() {
    let shop = namespace("shop");
    assert_eq!(matched(json!({"scope": "Cluster"}), &shop, None), Ok(true));
    assert_eq!(
        matched(json!({"namespaces": ["shop"]}), &shop, None),
        Ok(true)
    );
    assert_eq!(
        matched(json!({"excludedNamespaces": ["sh*"]}), &shop, None),
        Ok(false)
    );
    let selector = json!({"namespaceSelector": {"matchLabels": {"env": "prod"}}});
    assert_eq!(matched(selector, &shop, None), Ok(true));
}

#[test]
fn gk_109_namespace_selector_asks_the_labels_of_the_namespace() {
    let shop = namespace("shop");
    let selector = |env: &str| json!({"namespaceSelector": {"matchLabels": {"env": env}}});
    assert_eq!(matched(selector("prod"), &pod(), Some(&shop)), Ok(true));
    assert_eq!(matched(selector("test"), &pod(), Some(&shop)), Ok(false));
    assert!(matched(selector("prod"), &pod(), None).is_err());
}

#[test]
fn gk_109_generated_name_matches_prefixes_and_parts_only() {
    let object = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "job-run-", "namespace": "a"}});
    for (pattern, expected) in [
        ("job-*", true),
        ("*run*", true),
        ("*run-", false),
        ("job-run-", false),
    ] {
        assert_eq!(
            matched(json!({"name": pattern}), &object, None),
            Ok(expected),
            "{pattern}"
        );
    }
}

#[test]
fn gk_109_unknown_source_is_an_error_unless_all_sources_match() {
    let object = pod();
    let target = Target {
        object: &object,
        namespace: None,
        source: None,
    };
    let with =
        |source: &str| Match::of_spec(&json!({"match": {"source": source}})).matches(&target);
    assert_eq!(with("All"), Ok(true));
    assert_eq!(
        with("Original").unwrap_err(),
        "unable to match constraints: error matching the requested object: web-1 :failed to run Match criteria: source field not specified for resource web-1"
    );
}
