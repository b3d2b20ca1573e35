use serde_json::json;

use super::*;
use crate::client::{Cause, ConstraintKey};

fn template(name: &str, from: &str, to: &str) -> Json {
    json!({
        "apiVersion": "expansion.gatekeeper.sh/v1beta1",
        "kind": "ExpansionTemplate",
        "metadata": {"name": name},
        "spec": {
            "applyTo": [{"groups": ["apps"], "versions": ["v1"], "kinds": [from]}],
            "templateSource": "spec.template",
            "generatedGVK": {"group": "apps", "version": "v1", "kind": to},
            "enforcementAction": "warn",
        },
    })
}

fn parsed(name: &str, from: &str, to: &str) -> ExpansionTemplate {
    ExpansionTemplate::parse(&template(name, from, to)).unwrap()
}

fn deployment() -> Json {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "Web", "namespace": "shop"},
        "spec": {"template": {"metadata": {"labels": {"a": "b"}}, "spec": {"x": 1, "template": {"spec": {}}}}},
    })
}

#[test]
fn gk_121_object_is_made_from_the_path_of_its_parent() {
    let expansion = Expansion::new([parsed("pods", "Deployment", "Pod")]);
    let made = expansion.expand(&deployment()).unwrap();
    assert_eq!(made.len(), 1);
    assert_eq!(
        made[0].object["metadata"],
        json!({
            "labels": {"a": "b"},
            "name": "web-pod",
            "namespace": "shop",
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "Web", "uid": ""}],
        })
    );
    assert_eq!(made[0].object["kind"], "Pod");
}

#[test]
fn gk_121_expansion_goes_on_with_what_it_made() {
    let expansion = Expansion::new([parsed("a", "Deployment", "B"), parsed("b", "B", "C")]);
    let made = expansion.expand(&deployment()).unwrap();
    let kinds: Vec<&str> = made
        .iter()
        .filter_map(|one| one.object["kind"].as_str())
        .collect();
    assert_eq!(kinds, ["B", "C"]);
}

#[test]
fn gk_121_templates_in_a_cycle_expand_nothing() {
    let expansion = Expansion::new([
        parsed("a", "A", "B"),
        parsed("b", "B", "A"),
        parsed("c", "Deployment", "A"),
    ]);
    assert_eq!(expansion.disabled().collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(expansion.expand(&deployment()).unwrap().len(), 1);
}

/// The search is for all templates at once: one for each of them would take minutes here.
#[test]
fn gk_121_a_cycle_is_found_among_a_thousand_templates() {
    let chain = |number: usize| format!("K{}", if number == 1_000 { 500 } else { number });
    let templates = (0..1_000).map(|number| {
        let name = format!("t{number:03}");
        parsed(&name, &chain(number), &chain(number + 1))
    });
    let expansion = Expansion::new(templates);
    let cycle: Vec<String> = (500..1_000).map(|number| format!("t{number}")).collect();
    assert_eq!(expansion.disabled().collect::<Vec<_>>(), cycle);
}

/// Each template expands the kinds of all templates before it, so that it doubles the number of objects.
fn doubling(count: usize) -> Expansion {
    Expansion::new((0..count).map(|number| {
        let mut object = template(
            &format!("t{number:02}"),
            "Deployment",
            &format!("K{number}"),
        );
        let mut kinds: Vec<String> = (0..number).map(|one| format!("K{one}")).collect();
        kinds.push("Deployment".to_owned());
        object["spec"]["applyTo"][0]["kinds"] = json!(kinds);
        object["spec"]["templateSource"] = json!("spec");
        ExpansionTemplate::parse(&object).unwrap()
    }))
}

fn nested_deployment() -> Json {
    let mut spec = json!({});
    for _ in 0..50 {
        spec = json!({"spec": spec});
    }
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec})
}

#[test]
fn gk_121_number_of_objects_is_bounded() {
    let error = doubling(44).expand(&nested_deployment()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "expansion template t12 makes too much of one object: more than 1000 objects or 16 MiB"
    );
    assert_eq!(doubling(9).expand(&nested_deployment()).unwrap().len(), 511);
}

#[test]
fn gk_121_bytes_of_objects_are_bounded() {
    let mut object = nested_deployment();
    object["spec"]["text"] = json!("x".repeat(1 << 20));
    object["spec"]["spec"]["text"] = json!("x".repeat(1 << 20));
    let templates = (0..20).map(|number| {
        let mut one = template(
            &format!("t{number:02}"),
            "Deployment",
            &format!("K{number}"),
        );
        one["spec"]["templateSource"] = json!("spec");
        ExpansionTemplate::parse(&one).unwrap()
    });
    let error = Expansion::new(templates).expand(&object).unwrap_err();
    assert!(error.to_string().ends_with("or 16 MiB"), "{error}");
}

#[test]
fn gk_121_invalid_templates_are_refused() {
    for (path, value) in [
        ("/metadata/name", json!("")),
        ("/metadata/name", json!("x".repeat(64))),
        ("/spec/templateSource", json!("")),
        ("/spec/applyTo", json!([])),
        ("/spec/generatedGVK", json!({})),
        ("/spec/generatedGVK/kind", json!("Deployment")),
    ] {
        let mut object = template("a", "Deployment", "Pod");
        *object.pointer_mut(path).unwrap() = value;
        assert!(ExpansionTemplate::parse(&object).is_err(), "{path}");
    }
}

#[test]
fn gk_121_missing_source_is_an_error_of_the_object() {
    let expansion = Expansion::new([parsed("pods", "Deployment", "Pod")]);
    let mut object = deployment();
    object["spec"] = json!({});
    assert!(expansion.expand(&object).is_err());
}

#[test]
fn gk_121_violations_are_those_of_the_parent() {
    let expansion = Expansion::new([parsed("pods", "Deployment", "Pod")]);
    let made = expansion.expand(&deployment()).unwrap();
    let violation = Violation {
        constraint: ConstraintKey {
            kind: "K".into(),
            name: "k".into(),
        },
        message: "no".into(),
        details: json!({}),
        enforcement_action: "scoped".into(),
        scoped_actions: vec!["deny".into()],
        cause: Cause::Violation,
    };
    let attributed = made[0].attribute(vec![violation]);
    assert_eq!(attributed[0].message, "[Implied by pods] no");
    assert_eq!(attributed[0].enforcement_action, "warn");
    assert!(attributed[0].scoped_actions.is_empty());
}
