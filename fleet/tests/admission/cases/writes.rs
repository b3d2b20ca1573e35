//! Creations and updates of one kind, with every action.

use serde_json::{Value, json};

use super::{Case, Phase, allowed, denied, scoped};
use crate::clusters::{Prepared, Request};
use crate::fixtures::{
    TEMPLATES, cel, config_map, config_maps, constraint, create, json_patch, labels, maps, merge,
    namespace, rego, request, trial,
};

/// Constraints, by name: a pattern of the names of `ConfigMap`s, the labels that they want, and what else is in their spec.
fn constraints() -> Vec<Request> {
    const WEBHOOK_POINT: &str = "validation.gatekeeper.sh";
    const AUDIT_POINT: &str = "audit.gatekeeper.sh";
    let action = |action: &str| json!({"enforcementAction": action});
    let by_scope = |list: &[(&str, &[&str])]| json!({"enforcementAction": "scoped", "scopedEnforcementActions": scoped(list)});
    let mut unscoped = by_scope(&[("deny", &["*"])]);
    unscoped["enforcementAction"] = json!("warn");
    let wanting: [(&str, &[&str], Value); 11] = [
        ("deny-owner", &["owner", "cost"], json!({})),
        ("deny-team", &["team"], action("deny")),
        ("warn-owner", &["owner"], action("warn")),
        ("both-deny", &["owner"], json!({})),
        ("both-warn", &["team"], action("warn")),
        ("dry-owner", &["owner"], action("dryrun")),
        (
            "webhook-only",
            &["owner"],
            by_scope(&[("deny", &[WEBHOOK_POINT]), ("warn", &[AUDIT_POINT])]),
        ),
        (
            "everywhere-warn",
            &["owner"],
            by_scope(&[("warn", &["*"]), ("dryrun", &[AUDIT_POINT])]),
        ),
        (
            "twice-both",
            &["owner"],
            by_scope(&[("warn", &["*"]), ("deny", &[WEBHOOK_POINT])]),
        ),
        (
            "audited-only",
            &["owner"],
            by_scope(&[("deny", &[AUDIT_POINT])]),
        ),
        ("unscoped-warn", &["owner"], unscoped),
    ];
    let wanting = wanting.into_iter().map(|(name, labels, mut spec)| {
        // Those of objects whose names begin alike.
        let pattern = format!("{}-*", name.split('-').next().unwrap_or_default());
        spec["match"] = maps(&pattern);
        spec["parameters"] = json!({"labels": labels});
        constraint("WantLabels", name, spec)
    });
    let others = [
        constraint("CelNames", "cel", json!({"match": maps("cel-*")})),
        constraint("Odd", "odd-deny", json!({"match": maps("odd-*")})),
        constraint(
            "Odd",
            "odd-warn",
            json!({"match": maps("oddwarn-*"), "enforcementAction": "warn"}),
        ),
        constraint("Broken", "broken", json!({"match": maps("broken-*")})),
    ];
    wanting.chain(others).collect()
}

fn prepared() -> Prepared {
    const NAME: &str = "'the name ' + object.metadata.name + ' is bad'";
    const ODD: &str = r#"package odd
        violation[{"msg": "first\nsecond \"quoted\" \u00e4", "details": {"a": 1}}] { true }"#;
    const BROKEN: &str = r#"package broken
violation[{"msg": f(1)}] { true }
f(x) = 1 { true }
f(x) = 2 { true }"#;
    let mut requests = vec![
        namespace("shop", &json!({"team": "tea"})),
        create(&config_maps("shop"), config_map("deny-old", &json!({}))),
        create(TEMPLATES, labels()),
        create(
            TEMPLATES,
            cel("CelNames", "!object.metadata.name.contains('bad')", NAME),
        ),
        create(TEMPLATES, rego("Odd", ODD)),
        create(TEMPLATES, rego("Broken", BROKEN)),
    ];
    requests.extend(constraints());
    let shows = [
        "deny-a",
        "warn-a",
        "both-a",
        "webhook-a",
        "everywhere-a",
        "twice-a",
        "unscoped-a",
        "cel-bad",
        "odd-a",
        "broken-a",
    ];
    Prepared {
        name: "constraints",
        requests,
        shows: shows
            .map(|name| trial("shop", config_map(name, &json!({}))))
            .into(),
    }
}

/// The requests.
pub fn phase() -> Phase {
    let mut cases = creations();
    cases.extend(changes());
    Phase {
        prepared: prepared(),
        cases,
    }
}

fn creations() -> Vec<Case> {
    let shop = config_maps("shop");
    let good = json!({"owner": "me", "cost": "1", "team": "tea"});
    let bad = |name: &str| create(&shop, config_map(name, &json!({})));
    let without_team = config_map("deny-x", &json!({"owner": "me", "cost": "1"}));
    let generated =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "both-gen-"}});
    let trial = |name: &str| trial("shop", config_map(name, &json!({})));
    vec![
        allowed(
            "a good object",
            create(&shop, config_map("deny-good", &good)),
        ),
        denied("one constraint refuses", create(&shop, without_team)),
        denied(
            "two constraints refuse, with three violations",
            bad("deny-x"),
        ),
        allowed("a constraint warns", bad("warn-x")),
        denied("one refuses, one warns", bad("both-x")),
        allowed("a constraint is only audited", bad("dry-x")),
        denied("scoped: refused at the webhook", bad("webhook-x")),
        allowed("scoped: warned everywhere", bad("everywhere-x")),
        denied("scoped: refused and warned", bad("twice-x")),
        allowed("scoped: only at the audit", bad("audited-x")),
        allowed("scopes without the action scoped", bad("unscoped-x")),
        denied("CEL", bad("cel-bad")),
        allowed("CEL, good", bad("cel-good")),
        denied("a message of two lines", bad("odd-x")),
        allowed("a warning of two lines", bad("oddwarn-x")),
        denied("an evaluation fails", bad("broken-x")),
        denied("dry run", trial("deny-x")),
        allowed("dry run, warned", trial("warn-y")),
        denied("a name is generated", create(&shop, generated)),
        denied(
            "an object that is there",
            create(&shop, config_map("deny-good", &good)),
        ),
    ]
}

fn changes() -> Vec<Case> {
    let at = |name: &str| format!("{}/{name}", config_maps("shop"));
    let labels = |labels: Value| json!({"metadata": {"labels": labels}});
    let without_team = json!([{"op": "remove", "path": "/metadata/labels/team"}]);
    let bad = |name: &str| config_map(name, &json!({}));
    let apply = Request {
        patch: Some("application/apply-patch+yaml"),
        ..request(
            "PATCH",
            &at("deny-applied?fieldManager=me"),
            bad("deny-applied"),
        )
    };
    let good = labels(json!({"owner": "me", "cost": "1", "team": "tea"}));
    vec![
        denied(
            "an update of what was bad",
            merge(&at("deny-old"), json!({"data": {"a": "b"}})),
        ),
        allowed(
            "an update of what was bad to what is good",
            merge(&at("deny-old"), good),
        ),
        denied(
            "a merge patch makes it bad",
            merge(&at("deny-good"), labels(json!({"owner": null}))),
        ),
        denied(
            "a JSON patch makes it bad",
            json_patch(&at("deny-good"), without_team),
        ),
        denied(
            "a replacement makes it bad",
            request("PUT", &at("deny-good"), bad("deny-good")),
        ),
        denied("an apply creates what is bad", apply),
        allowed("a deletion", request("DELETE", &at("warn-x"), Value::Null)),
    ]
}
