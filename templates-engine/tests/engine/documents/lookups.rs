//! What lookups find, and what they may not.

use reeve_templates_engine::lookup::{ClusterScopedRule, Object, Restrictions};
use reeve_templates_engine::resolver::{Config, Input, Options};
use serde_json::json;

use super::check;
use crate::world::{outcome, resolve_json, resolve_with};

#[test]
fn lookups() {
    check(
        "lookup",
        resolve_json,
        &[
            (
                r#"{"a":"{{ (lookup \"v1\" \"ConfigMap\" \"testns\" \"testconfigmap\").data.cmkey1 }}"}"#,
                Ok(r#"{"a":"cmkey1Val"}"#),
            ),
            (
                r#"{"a":"{{ lookup \"v1\" \"ConfigMap\" \"testns\" \"none\" }}"}"#,
                Ok(r#"{"a":"map[]"}"#),
            ),
            (
                r#"{"a":"{{ (lookup \"v1\" \"ConfigMap\" \"testns\" \"none\").data.x }}"}"#,
                Ok(r#"{"a":"\u003cno value\u003e"}"#),
            ),
            (
                r#"{"a":"{{ if lookup \"v1\" \"ConfigMap\" \"testns\" \"none\" }}yes{{ else }}no{{ end }}"}"#,
                Ok(r#"{"a":"no"}"#),
            ),
            (
                r#"{"a":"{{ if lookup \"v1\" \"ConfigMap\" \"nowhere\" \"\" }}yes{{ else }}no{{ end }}"}"#,
                Ok(r#"{"a":"yes"}"#),
            ),
            (
                r#"{"a":"{{ range (lookup \"v1\" \"ConfigMap\" \"testns\" \"\").items }}{{ .metadata.name }} {{ end }}"}"#,
                Ok(r#"{"a":"testcm-enva testcm-envb testconfigmap "}"#),
            ),
            (
                r#"{"a":"{{ range (lookup \"v1\" \"ConfigMap\" \"testns\" \"\" \"app=test\").items }}{{ .metadata.name }} {{ end }}"}"#,
                Ok(r#"{"a":"testcm-enva testconfigmap "}"#),
            ),
            (
                r#"{"a":"{{ range (lookup \"v1\" \"ConfigMap\" \"testns\" \"\" \"env=a\").items }}{{ .metadata.name }} {{ end }}"}"#,
                Ok(r#"{"a":"testcm-enva "}"#),
            ),
            (
                r#"{"a":"{{ range (lookup \"v1\" \"ConfigMap\" \"testns\" \"\" \"env in (a,b)\").items }}{{ .metadata.name }} {{ end }}"}"#,
                Ok(r#"{"a":"testcm-enva testcm-envb "}"#),
            ),
            (
                r#"{"a":"{{ range (lookup \"v1\" \"ConfigMap\" \"testns\" \"\" \"app\" \"env=a\").items }}{{ .metadata.name }} {{ end }}"}"#,
                Ok(r#"{"a":"testcm-enva "}"#),
            ),
            (
                r#"{"a":"{{ len (lookup \"v1\" \"ConfigMap\" \"testns\" \"\" \"env=zz\").items }}"}"#,
                Ok(r#"{"a":"0"}"#),
            ),
            (
                r#"{"a":"{{ lookup \"v1\" \"ConfigMap\" \"testns\" \"\" \"env IN (a)\" }}"}"#,
                Err(
                    "error calling lookup: unable to parse requirement: found 'IN', expected: in, notin, =, ==, !=, gt, lt",
                ),
            ),
            (
                r#"{"a":"{{ lookup \"\" \"ConfigMap\" \"\" \"\" }}"}"#,
                Err("error calling lookup: the apiVersion and kind are required"),
            ),
            (
                r#"{"a":"{{ lookup \"v1\" \"\" \"\" \"\" }}"}"#,
                Err("the apiVersion and kind are required"),
            ),
            (
                r#"{"a":"{{ lookup \"a/b/c\" \"X\" \"\" \"\" }}"}"#,
                Err("unexpected GroupVersion string: a/b/c"),
            ),
            (
                r#"{"a":"{{ lookup \"x.io/v1\" \"Nope\" \"\" \"\" }}"}"#,
                Err(
                    "error calling lookup: one or more API resources are not installed on the API server",
                ),
            ),
            (
                r#"{"a":"{{ index (lookup \"x.io/v1\" \"Nope\" \"\" \"\") \"a\" }}"}"#,
                Err("one or more API resources are not installed on the API server"),
            ),
            (
                r#"{"a":"{{ lookup \"v1\" \"ComponentStatus\" \"\" \"x\" }}"}"#,
                Ok(r#"{"a":"map[]"}"#),
            ),
            (
                r#"{"a":"{{ len (getNodesWithExactRoles \"infra\").items }}"}"#,
                Ok(r#"{"a":"2"}"#),
            ),
            (
                r#"{"a":"{{ len (getNodesWithExactRoles \"storage\").items }}{{ len (getNodesWithExactRoles \"infra\" \"storage\").items }}"}"#,
                Ok(r#"{"a":"01"}"#),
            ),
            (
                r#"{"a":"{{ hasNodesWithExactRoles \"infra\" }}{{ hasNodesWithExactRoles \"storage\" }}"}"#,
                Ok(r#"{"a":"truefalse"}"#),
            ),
            (
                r#"{"a":"{{ getNodesWithExactRoles \"\" }}"}"#,
                Err("the input is invalid: at least one name must be specified"),
            ),
            (
                r#"{"a":"{{ (index (lookup \"v1\" \"ConfigMap\" \"testns\" \"\" \"env=a\").items 0).data | mustToRawJson | toLiteral }}"}"#,
                Ok(r#"{"a":{"k":"\u003c\u0026\u003e"}}"#),
            ),
            (
                r#"{"a":"{{ printf \"%s%s%s%s\" (repeat 40 \"abc \") (repeat 40 \"abc \") (repeat 40 \"abc \") \"end\" | len }}"}"#,
                Ok(r#"{"a":"483"}"#),
            ),
            // A name without a namespace is looked for in all of them, in their order.
            (
                r#"{"a":"{{ (lookup \"v1\" \"ConfigMap\" \"\" \"shared\").data.from }}"}"#,
                Ok(r#"{"a":"alpha"}"#),
            ),
            (
                r#"{"a":"{{ (lookup \"v1\" \"ConfigMap\" \"zeta\" \"shared\").data.from }}"}"#,
                Ok(r#"{"a":"zeta"}"#),
            ),
            (
                r#"{"a":"{{ lookup \"v1\" \"ConfigMap\" \"\" \"none\" }}"}"#,
                Ok(r#"{"a":"map[]"}"#),
            ),
            // Appliers' metadata is not for templates.
            (
                r#"{"a":"{{ (lookup \"v1\" \"Namespace\" \"\" \"testns\").metadata | toJson }}"}"#,
                Ok(
                    r#"{"a":"{\"annotations\":{\"kept\":\"yes\"},\"labels\":{\"a\":\"b\"},\"name\":\"testns\"}"}"#,
                ),
            ),
            // What one lookup's result is changed to, the next does not see.
            (
                r#"{"a":"{{ $_ := set (lookup \"v1\" \"Namespace\" \"\" \"testns\") \"kind\" \"X\" }}{{ (lookup \"v1\" \"Namespace\" \"\" \"testns\").kind }}"}"#,
                Ok(r#"{"a":"Namespace"}"#),
            ),
        ],
    );
}

#[test]
fn restricted_lookups() {
    let restricted = |rules: Vec<ClusterScopedRule>| {
        move |input: &str| {
            let options = Options {
                restrictions: Restrictions {
                    namespace: "testns".to_owned(),
                    cluster_scoped: rules.clone(),
                },
                ..Options::default()
            };
            outcome(resolve_with(Config::default(), Input::Yaml(input), options))
        }
    };
    let rule = |group: &str, kind: &str, name: &str| ClusterScopedRule {
        group: group.to_owned(),
        kind: kind.to_owned(),
        name: name.to_owned(),
    };
    let namespace = r#"{{ (lookup "v1" "Namespace" "" "testns").metadata.name }}"#;
    check(
        "restricted to a namespace",
        restricted(vec![]),
        &[
            (
                r#"{{ fromSecret "testns" "testsecret" "secretkey1" }}"#,
                Ok(r#""c2VjcmV0a2V5MVZhbA==""#),
            ),
            (
                r#"{{ fromSecret "" "testsecret" "secretkey1" }}"#,
                Ok(r#""c2VjcmV0a2V5MVZhbA==""#),
            ),
            (
                r#"{{ fromSecret "other" "testsecret" "k" }}"#,
                Err(
                    "failed to get the secret testsecret from other: the namespace argument is restricted to testns",
                ),
            ),
            (
                r#"{{ fromConfigMap "" "testconfigmap" "cmkey1" }}"#,
                Ok(r#""cmkey1Val""#),
            ),
            (
                r#"{{ lookup "v1" "ConfigMap" "other" "x" }}"#,
                Err("error calling lookup: the namespace argument is restricted to testns"),
            ),
            (
                r#"{{ lookup "v1" "Namespace" "other" "x" }}"#,
                Err("the namespace argument is restricted to testns"),
            ),
            (
                namespace,
                Err("lookup of cluster-scoped resource 'Namespace/testns' is not allowed"),
            ),
            (
                r#"{{ lookup "v1" "Namespace" "" "" }}"#,
                Err("lookup of cluster-scoped resource 'Namespace/' is not allowed"),
            ),
        ],
    );
    for allowed in [
        rule("*", "*", "*"),
        rule("", "Namespace", "*"),
        rule("", "Namespace", "testns"),
    ] {
        check(
            "allowed",
            restricted(vec![allowed]),
            &[(namespace, Ok(r#""testns""#))],
        );
    }
    for denied in [
        rule("x", "Namespace", "testns"),
        rule("", "Namespace", "other"),
        rule("", "Node", "*"),
    ] {
        check(
            "denied",
            restricted(vec![denied]),
            &[(namespace, Err("is not allowed"))],
        );
    }
}

#[test]
fn local_object_is_returned_with_all_its_fields() {
    let local = Object::with_all_fields(&json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "name": "mine", "namespace": "testns", "managedFields": [{ "manager": "x" }],
            "annotations": { "kubectl.kubernetes.io/last-applied-configuration": "{}" },
        },
    }));
    let resolve = |input: &str| {
        let options = Options {
            local: vec![local.clone()],
            ..Options::default()
        };
        outcome(resolve_with(Config::default(), Input::Yaml(input), options))
    };
    check(
        "local",
        resolve,
        &[
            (
                r#"{{ (lookup "v1" "ConfigMap" "testns" "mine").metadata | toRawJson | toLiteral }}"#,
                Ok(
                    r#"{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{}"},"managedFields":[{"manager":"x"}],"name":"mine","namespace":"testns"}"#,
                ),
            ),
            (
                r#"{{ len (lookup "v1" "ConfigMap" "testns" "").items }}"#,
                Ok("1"),
            ),
            // Upstream looks for a local object in the very namespace that was asked for.
            (
                r#"{{ lookup "v1" "ConfigMap" "" "mine" }}"#,
                Ok(r#""map[]""#),
            ),
        ],
    );
}
