use serde_json::json;

use super::*;
use crate::constraint::Constraint;
use crate::expansion::{Expansion, ExpansionTemplate};
use crate::template::ConstraintTemplate;

fn constraint(spec: &Json) -> Constraint {
    let template = ConstraintTemplate::parse(&json!({
        "apiVersion": "templates.gatekeeper.sh/v1",
        "kind": "ConstraintTemplate",
        "metadata": {"name": "probe"},
        "spec": {
            "crd": {"spec": {"names": {"kind": "Probe"}}},
            "targets": [{"target": "admission.k8s.gatekeeper.sh", "rego": "package a"}],
        },
    }));
    let object = json!({
        "apiVersion": "constraints.gatekeeper.sh/v1beta1",
        "kind": "Probe",
        "metadata": {"name": "one"},
        "spec": spec,
    });
    Constraint::parse(&object, &template.unwrap()).unwrap()
}

fn kinds() -> Vec<ResourceKind> {
    [
        ("", "Pod"),
        ("", "Event"),
        ("apps", "Deployment"),
        ("coordination.k8s.io", "Lease"),
    ]
    .into_iter()
    .map(|(group, kind)| ResourceKind {
        group: group.into(),
        version: "v1".into(),
        kind: kind.into(),
    })
    .collect()
}

fn listed(specs: &[Json]) -> Vec<String> {
    let constraints: Vec<Constraint> = specs.iter().map(constraint).collect();
    let listed = kinds_to_list(&constraints, &kinds(), |_, _| false);
    listed.into_iter().map(|one| one.kind).collect()
}

#[test]
fn gk_119_named_kinds_are_listed_once() {
    let pods = json!({"match": {"kinds": [{"apiGroups": [""], "kinds": ["Pod"]}]}});
    assert_eq!(listed(&[pods.clone(), pods]), ["Pod"]);
}

#[test]
fn gk_119_constraint_without_kinds_widens_to_all_but_noise() {
    assert_eq!(listed(&[json!({})]), ["Pod", "Deployment"]);
    let events = json!({"match": {"kinds": [{"apiGroups": ["*"], "kinds": ["Event"]}]}});
    assert_eq!(listed(&[json!({}), events]), ["Event", "Pod", "Deployment"]);
}

#[test]
fn gk_119_constraint_that_is_not_audited_lists_nothing() {
    let scoped = json!({
        "enforcementAction": "scoped",
        "scopedEnforcementActions": [{"action": "deny", "enforcementPoints": [{"name": "gator.gatekeeper.sh"}]}],
    });
    assert!(listed(&[scoped]).is_empty());
    assert!(listed(&[]).is_empty());
}

#[test]
fn gk_118_failed_objects_and_unlisted_kinds_are_in_the_errors() {
    let mut audit = ConstraintAudit::default();
    audit.add_failed_object();
    audit.add_failed_object();
    audit.add_unlisted_kind("secrets");
    let expected = [
        "audit incomplete: 2 objects could not be evaluated",
        "could not list secrets",
    ];
    assert_eq!(audit.incomplete(), expected);
    let status = audit.status("2026-01-02T03:04:05Z", &Auditor::default());
    assert_eq!(status["byPod"][0]["errors"][0]["message"], expected[0]);
    assert_eq!(status["totalViolations"], 0);
}

#[test]
fn scoped_actions_are_listed() {
    let mut audit = ConstraintAudit::default();
    let violation = Violation {
        constraint: crate::client::ConstraintKey {
            kind: "K".into(),
            name: "k".into(),
        },
        message: "m".into(),
        details: json!({}),
        enforcement_action: "scoped".into(),
        scoped_actions: vec!["warn".into()],
        cause: Cause::Violation,
    };
    audit.add(&Resource::default(), &violation);
    let status = audit.status("2026-01-02T03:04:05Z", &Auditor::default());
    assert_eq!(
        status["violations"][0]["enforcementActions"],
        json!(["warn"])
    );
    assert_eq!(status["violations"][0]["group"], "");
    assert!(status["violations"][0].get("namespace").is_none());
}

#[test]
fn gk_163_kinds_are_listed_for_what_is_made_of_their_objects() {
    let template = |name: &str, from: &str, to: &str| {
        ExpansionTemplate::parse(&json!({
            "metadata": {"name": name},
            "spec": {
                "applyTo": [{"groups": ["apps"], "versions": ["v1"], "kinds": [from]}],
                "templateSource": "spec.template",
                "generatedGVK": {"group": if to == "Pod" {""} else {"apps"}, "version": "v1", "kind": to},
            },
        }))
        .unwrap()
    };
    let pods = constraint(&json!({"match": {"kinds": [{"apiGroups": [""], "kinds": ["Pod"]}]}}));
    let made = |templates: Vec<ExpansionTemplate>| -> Vec<String> {
        let expansion = Expansion::new(templates);
        let listed = kinds_to_list([&pods], &kinds(), |kind, one| {
            expansion.makes_for(kind, one)
        });
        listed.into_iter().map(|one| one.kind).collect()
    };
    assert_eq!(
        made(vec![template("a", "Deployment", "Pod")]),
        ["Pod", "Deployment"]
    );
    let chain = vec![
        template("a", "Deployment", "ReplicaSet"),
        template("b", "ReplicaSet", "Pod"),
    ];
    assert_eq!(made(chain), ["Pod", "Deployment"]);
    assert_eq!(
        made(vec![template("a", "Deployment", "ReplicaSet")]),
        ["Pod"]
    );
}
