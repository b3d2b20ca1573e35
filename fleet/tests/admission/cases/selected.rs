//! What is chosen by namespaces and their labels.

use serde_json::json;

use super::{Phase, allowed, denied};
use crate::clusters::Prepared;
use crate::fixtures::{
    config_map, config_maps, constraint, create, merge, namespace, namespace_object, trial,
};

/// The requests.
pub fn phase() -> Phase {
    let none = json!({});
    let spec = json!({
        "match": {
            "kinds": [{"apiGroups": [""], "kinds": ["ConfigMap"]}], "name": "sel-*",
            "namespaceSelector": {"matchLabels": {"checked": "yes"}},
        },
        "parameters": {"labels": ["owner"]},
    });
    let excluded = json!({
        "match": {
            "kinds": [{"apiGroups": [""], "kinds": ["ConfigMap"]}], "name": "exc-*",
            "excludedNamespaces": ["left-*"],
        },
        "parameters": {"labels": ["owner"]},
    });
    let of_namespaces = json!({
        "match": {"kinds": [{"apiGroups": [""], "kinds": ["Namespace"]}], "excludedNamespaces": ["left-*", "shop", "kube-*"]},
        "parameters": {"labels": ["owner"]},
    });
    let of_roles = json!({
        "match": {"kinds": [{"apiGroups": ["rbac.authorization.k8s.io"], "kinds": ["ClusterRole"]}], "scope": "Cluster", "name": "tea*"},
        "parameters": {"labels": ["owner"]},
    });
    let owned = json!({"owner": "me", "checked": "yes"});
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "tea"}});
    let roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    let prepared = Prepared {
        name: "selection",
        requests: vec![
            namespace("checked", &owned),
            namespace("left-out", &none),
            constraint("WantLabels", "selected", spec),
            constraint("WantLabels", "excluded", excluded),
            constraint("WantLabels", "namespaces", of_namespaces),
            constraint("WantLabels", "roles", of_roles),
        ],
        shows: vec![
            trial("checked", config_map("sel-a", &none)),
            trial("shop", config_map("exc-a", &none)),
            create(
                "/api/v1/namespaces?dryRun=All",
                namespace_object("other", &none),
            ),
            create(&format!("{roles}?dryRun=All"), role.clone()),
        ],
    };
    let at = |namespace: &str, name: &str| create(&config_maps(namespace), config_map(name, &none));
    let cases = vec![
        denied("the labels of the Namespace match", at("checked", "sel-x")),
        allowed(
            "the labels of the Namespace do not match",
            at("shop", "sel-x"),
        ),
        allowed("the Namespace is excluded", at("left-out", "exc-x")),
        denied("the Namespace is not excluded", at("shop", "exc-x")),
        allowed(
            "the Namespace is ignored by its label",
            at("ignored", "deny-x"),
        ),
        allowed(
            "the namespace of Gatekeeper",
            at("gatekeeper-system", "deny-x"),
        ),
        denied("a Namespace", namespace("other", &none)),
        allowed("a good Namespace", namespace("fresh", &owned)),
        denied(
            "an object of a Namespace that was just made",
            at("fresh", "sel-x"),
        ),
        denied(
            "a Namespace becomes bad",
            merge(
                "/api/v1/namespaces/fresh",
                json!({"metadata": {"labels": {"owner": null}}}),
            ),
        ),
        allowed("an excluded Namespace", namespace("left-alone", &none)),
        denied("an object without a namespace", create(roles, role)),
        denied(
            "the label of ignored Namespaces",
            namespace(
                "ignored-too",
                &json!({"admission.gatekeeper.sh/ignore": "", "owner": "me"}),
            ),
        ),
        denied(
            "the label is added",
            merge(
                "/api/v1/namespaces/left-out",
                json!({"metadata": {"labels": {"admission.gatekeeper.sh/ignore": "x"}}}),
            ),
        ),
    ];
    Phase { prepared, cases }
}
