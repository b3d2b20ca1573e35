//! What a template sees of a request, and about which requests the webhook is asked.

use serde_json::json;

use super::{Case, Phase, allowed, denied};
use crate::clusters::{Prepared, Request};
use crate::fixtures::{
    TEMPLATES, config_map, config_maps, constraint, create, echo, maps, merge, namespace, rego_for,
    trial,
};

/// The requests.
pub fn phase() -> Phase {
    let none = json!({});
    let kinds = json!([
        {"apiGroups": [""], "kinds": ["ConfigMap", "Namespace", "Pod"]}, {"apiGroups": ["apps"], "kinds": ["Deployment"]},
        {"apiGroups": ["autoscaling"], "kinds": ["Scale"]},
    ]);
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "echo-a"},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {
            "metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "a", "image": "b"}]},
        }},
    });
    let deployments = "/apis/apps/v1/namespaces/shop/deployments";
    let update_only = "package onlyupdates\nviolation[{\"msg\": \"updated\"}] { true }";
    let prepared = Prepared {
        name: "echoes",
        requests: vec![
            create(deployments, deployment),
            create(&config_maps("shop"), config_map("echo-old", &none)),
            create(&config_maps("shop"), config_map("upd-old", &none)),
            create(TEMPLATES, echo("Echo")),
            create(TEMPLATES, rego_for("OnlyUpdates", &["UPDATE"], update_only)),
            constraint(
                "Echo",
                "echo",
                json!({"match": {"kinds": kinds, "name": "echo-*"}, "enforcementAction": "warn"}),
            ),
            constraint("OnlyUpdates", "updates", json!({"match": maps("upd-*")})),
        ],
        shows: vec![
            trial("shop", config_map("echo-a", &none)),
            merge(
                &format!("{}/upd-old?dryRun=All", config_maps("shop")),
                json!({"data": {"a": "c"}}),
            ),
        ],
    };
    let maps = config_maps("shop");
    let cases = vec![
        allowed(
            "seen: a creation",
            create(&maps, config_map("echo-x", &none)),
        ),
        allowed(
            "seen: a dry run",
            trial("shop", config_map("echo-y", &none)),
        ),
        allowed(
            "seen: options",
            create(
                &format!("{maps}?fieldManager=me"),
                config_map("echo-z", &none),
            ),
        ),
        allowed(
            "seen: an update",
            merge(&format!("{maps}/echo-x"), json!({"data": {"a": "b"}})),
        ),
        allowed(
            "seen: a Namespace",
            namespace("echo-space", &json!({"owner": "me"})),
        ),
        allowed(
            "a subresource is not asked about",
            merge(
                &format!("{deployments}/echo-a/status"),
                json!({"status": {"collisionCount": 1}}),
            ),
        ),
        allowed(
            "nor a scale",
            merge(
                &format!("{deployments}/echo-a/scale"),
                json!({"spec": {"replicas": 2}}),
            ),
        ),
        allowed(
            "operations of a template: a creation",
            create(&maps, config_map("upd-x", &none)),
        ),
        denied(
            "operations of a template: an update",
            merge(&format!("{maps}/upd-old"), json!({"data": {"a": "c"}})),
        ),
        Case {
            name: "the writer is Gatekeeper",
            is_refused: None,
            request: Request {
                groups: &["system:serviceaccounts:gatekeeper-system"],
                ..create(&format!("{maps}?dryRun=All"), config_map("deny-x", &none))
            },
        },
    ];
    Phase { prepared, cases }
}
