//! With deletions and a subresource among the rules of the webhook, and a constraint for everything.

use serde_json::{Value, json};

use super::{Phase, allowed, any, denied};
use crate::clusters::Prepared;
use crate::fixtures::{
    TEMPLATES, WEBHOOK, config_map, config_maps, constraint, constraint_object, constraints,
    create, json_patch, merge, rego, request, trial,
};

/// The requests.
pub fn phase() -> Phase {
    let none = json!({});
    let everything = json!({"match": {"excludedNamespaces": ["kube-*"], "name": "all-*"}, "parameters": {"labels": ["owner"]}});
    let path = config_maps("shop");
    let deployment = "/apis/apps/v1/namespaces/shop/deployments/echo-a";
    let prepared = Prepared {
        name: "deletions",
        requests: vec![
            create(&path, config_map("all-old", &none)),
            create(&path, config_map("echo-gone", &none)),
            json_patch(
                WEBHOOK,
                json!([
                    {"op": "add", "path": "/webhooks/0/rules/0/operations/-", "value": "DELETE"},
                    {"op": "add", "path": "/webhooks/0/rules/0/resources/-", "value": "deployments/scale"},
                ]),
            ),
            constraint("WantLabels", "everything", everything),
        ],
        shows: vec![
            trial("shop", config_map("all-a", &none)),
            request("DELETE", &format!("{path}/all-old?dryRun=All"), Value::Null),
        ],
    };
    let cases = vec![
        denied(
            "a deletion of what is bad",
            request("DELETE", &format!("{path}/all-old"), Value::Null),
        ),
        allowed(
            "seen: a deletion",
            request("DELETE", &format!("{path}/echo-gone"), Value::Null),
        ),
        allowed(
            "seen: a scale",
            merge(
                &format!("{deployment}/scale"),
                json!({"spec": {"replicas": 3}}),
            ),
        ),
        any(
            "a template is an object, too",
            create(
                &format!("{TEMPLATES}?dryRun=All"),
                rego(
                    "All-Templates",
                    "package a\nviolation[{\"msg\": \"x\"}] { true }",
                ),
            ),
        ),
        any(
            "a constraint is an object, too",
            create(
                &format!("{}?dryRun=All", constraints("WantLabels")),
                constraint_object("WantLabels", "all-constraints", json!({})),
            ),
        ),
        any(
            "deletion of a constraint",
            request(
                "DELETE",
                &format!("{}/everything?dryRun=All", constraints("WantLabels")),
                Value::Null,
            ),
        ),
    ];
    Phase { prepared, cases }
}
