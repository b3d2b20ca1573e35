//! Templates and constraints themselves, without storing them.

use serde_json::{Value, json};

use super::{Case, Phase, any, scoped};
use crate::clusters::Prepared;
use crate::fixtures::{
    TEMPLATES, cel, constraint_object, constraints, create, merge, rego, request,
};

/// The requests.
pub fn phase() -> Phase {
    let prepared = Prepared {
        name: "nothing",
        requests: Vec::new(),
        shows: Vec::new(),
    };
    let mut cases = templates();
    cases.extend(constraints_of_templates());
    Phase { prepared, cases }
}

/// A change of a template that is right.
type Change = fn(&mut Value);

fn templates() -> Vec<Case> {
    let of_source = |kind: &str, source: &str| {
        let source = format!("package {}\n{source}", kind.to_lowercase());
        create(&format!("{TEMPLATES}?dryRun=All"), rego(kind, &source))
    };
    let changed = |change: Change| {
        let mut template = rego(
            "Other",
            "package other\nviolation[{\"msg\": \"x\"}] { true }",
        );
        change(&mut template);
        create(&format!("{TEMPLATES}?dryRun=All"), template)
    };
    let of_cel = cel("CelSyntax", "object.", "'x'");
    vec![
        any(
            "template: good",
            of_source("Good", "violation[{\"msg\": \"x\"}] { true }"),
        ),
        any("template: no rule", of_source("NoRule", "other { true }")),
        any(
            "template: syntax",
            of_source("Syntax", "violation[{\"msg\": \"x\"}] { "),
        ),
        any(
            "template: recursion",
            of_source(
                "Recursive",
                "violation[{\"msg\": \"x\"}] { f(1) }\nf(x) { f(x) }",
            ),
        ),
        any(
            "template: other data",
            of_source("OtherData", "violation[{\"msg\": \"x\"}] { data.foo.bar }"),
        ),
        any(
            "template: CEL",
            create(&format!("{TEMPLATES}?dryRun=All"), of_cel),
        ),
        any(
            "template: name",
            changed(|it| it["metadata"]["name"] = json!("another")),
        ),
        any(
            "template: target",
            changed(|it| it["spec"]["targets"][0]["target"] = json!("elsewhere")),
        ),
        any(
            "template: no target",
            changed(|it| it["spec"]["targets"] = json!([])),
        ),
        any(
            "template: two targets",
            changed(|it| {
                let one = it["spec"]["targets"][0].clone();
                it["spec"]["targets"] = json!([one, one]);
            }),
        ),
        any(
            "template: no code",
            changed(|it| {
                it["spec"]["targets"] = json!([{"target": "admission.k8s.gatekeeper.sh"}]);
            }),
        ),
        any(
            "template: schema",
            changed(|it| {
                let schema = json!({"properties": {"a": {"type": "string"}}});
                it["spec"]["crd"]["spec"]["validation"] = json!({"openAPIV3Schema": schema});
            }),
        ),
    ]
}

fn constraints_of_templates() -> Vec<Case> {
    let path = format!("{}?dryRun=All", constraints("WantLabels"));
    let want = |spec: Value| create(&path, constraint_object("WantLabels", "tried", spec));
    let by_scope = |list: &[(&str, &[&str])]| {
        want(json!({"enforcementAction": "scoped", "scopedEnforcementActions": scoped(list)}))
    };
    let selector =
        json!({"labelSelector": {"matchExpressions": [{"key": "a", "operator": "Foo"}]}});
    let values =
        json!({"namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}});
    let existing = format!("{}/deny-owner?dryRun=All", constraints("WantLabels"));
    vec![
        any("constraint: good", want(json!({}))),
        any(
            "constraint: action",
            want(json!({"enforcementAction": "foo"})),
        ),
        any(
            "constraint: unknown parameter",
            want(json!({"parameters": {"zzz": 1}})),
        ),
        any(
            "constraint: type",
            want(json!({"parameters": {"labels": "a"}})),
        ),
        any("constraint: selector", want(json!({"match": selector}))),
        any(
            "constraint: values of a selector",
            want(json!({"match": values})),
        ),
        any(
            "constraint: pattern",
            want(json!({"match": {"namespaces": ["a*b"]}})),
        ),
        any(
            "constraint: source",
            want(json!({"match": {"source": "Foo"}})),
        ),
        any(
            "constraint: action and selector",
            want(json!({"enforcementAction": "foo", "match": selector})),
        ),
        any(
            "constraint: no list of scopes",
            want(json!({"enforcementAction": "scoped"})),
        ),
        any(
            "constraint: no list and selector",
            want(json!({"enforcementAction": "scoped", "match": selector})),
        ),
        any("constraint: no scopes", by_scope(&[])),
        any(
            "constraint: action of a scope",
            by_scope(&[("foo", &["*"])]),
        ),
        any(
            "constraint: point of a scope",
            by_scope(&[("deny", &["foo"])]),
        ),
        any(
            "constraint: actions and points",
            by_scope(&[("foo", &["a", "b"]), ("bar", &["*"])]),
        ),
        any(
            "constraint: two points",
            by_scope(&[("deny", &["b", "a", "vap.k8s.io"]), ("warn", &["b"])]),
        ),
        any(
            "constraint: unknown scopes of another action",
            want(json!({
                "enforcementAction": "warn", "scopedEnforcementActions": scoped(&[("foo", &["a"])]),
            })),
        ),
        any(
            "constraint: update",
            merge(&existing, json!({"spec": {"enforcementAction": "bar"}})),
        ),
        any(
            "constraint: deletion",
            request("DELETE", &existing, Value::Null),
        ),
    ]
}
