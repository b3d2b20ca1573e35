//! What the components may do, as the manifests in `deploy/rbac` say it.

mod addon_controller;

use anyhow::{Context, Result};
use serde_json::{Value, json};

/// What one rule is about.
enum On {
    /// Resources of an API group.
    Resources(&'static str, &'static [&'static str]),
    /// Resources of an API group, only those of these names.
    Named(
        &'static str,
        &'static [&'static str],
        &'static [&'static str],
    ),
    /// Pages of the API server.
    Pages(&'static [&'static str]),
}

type Rule = (On, &'static [&'static str]);

/// One Role or `ClusterRole`.
struct Rights {
    kind: &'static str,
    name: &'static str,
    rules: &'static [Rule],
}

const READ: &[&str] = &["get", "list", "watch"];
const READ_AND_WRITE: &[&str] = &["create", "get", "list", "patch", "update", "watch"];
const READ_WRITE_AND_DELETE: &[&str] = &[
    "create", "delete", "get", "list", "patch", "update", "watch",
];
const READ_AND_CHANGE: &[&str] = &["get", "list", "patch", "update", "watch"];

/// Asking the API server who a caller of the secure metrics is, and whether it may.
const METRICS_AUTH: &[Rule] = &[
    (
        On::Resources("authentication.k8s.io", &["tokenreviews"]),
        &["create"],
    ),
    (
        On::Resources("authorization.k8s.io", &["subjectaccessreviews"]),
        &["create"],
    ),
];

/// A policy may be about anything, so its controller may do everything on the cluster that policies speak about.
/// Where it keeps the policies of another cluster, it may do little.
const CONFIG_POLICY_CONTROLLER: &[Rights] = &[
    Rights {
        kind: "ClusterRole",
        name: "config-policy-controller",
        rules: &[
            (On::Resources("*", &["*"]), &["*"]),
            (On::Pages(&["*"]), &["*"]),
        ],
    },
    Rights {
        kind: "Role",
        name: "config-policy-controller",
        rules: &[
            (
                On::Resources("coordination.k8s.io", &["leases"]),
                READ_AND_WRITE,
            ),
            (
                On::Resources("", &["events"]),
                &["create", "patch", "update"],
            ),
            (On::Named("", &["configmaps"], &["ocm-tls-profile"]), READ),
        ],
    },
    Rights {
        kind: "ClusterRole",
        name: "config-policy-controller-metrics-auth",
        rules: METRICS_AUTH,
    },
    Rights {
        kind: "ClusterRole",
        name: "config-policy-controller-metrics-reader",
        rules: &[(On::Pages(&["/metrics"]), &["get"])],
    },
    Rights {
        kind: "ClusterRole",
        name: "config-policy-controller-hosted",
        rules: &[(
            On::Named(
                "apiextensions.k8s.io",
                &["customresourcedefinitions"],
                &["configurationpolicies.policy.open-cluster-management.io"],
            ),
            READ,
        )],
    },
    Rights {
        kind: "Role",
        name: "config-policy-controller-hosted",
        rules: &[
            (On::Resources("", &["events"]), READ_AND_WRITE),
            (On::Resources("events.k8s.io", &["events"]), READ_AND_WRITE),
            (
                On::Named("apps", &["deployments"], &["config-policy-controller"]),
                READ_AND_CHANGE,
            ),
            (On::Resources("", &["pods"]), &["get", "list"]),
            (
                On::Resources(
                    "policy.open-cluster-management.io",
                    &["configurationpolicies", "operatorpolicies"],
                ),
                READ_AND_CHANGE,
            ),
            (
                On::Resources(
                    "policy.open-cluster-management.io",
                    &["configurationpolicies/status", "operatorpolicies/status"],
                ),
                &["get", "patch", "update"],
            ),
            // Resolved hub templates are kept in Secrets, and removed when they are not needed.
            (On::Resources("", &["secrets"]), READ_WRITE_AND_DELETE),
            (
                On::Resources("coordination.k8s.io", &["leases"]),
                READ_AND_WRITE,
            ),
            (On::Named("", &["configmaps"], &["ocm-tls-profile"]), READ),
        ],
    },
];

/// Hub templates may read anything, as far as the propagator itself lets them; what it writes is little.
const PROPAGATOR: &[Rights] = &[
    Rights {
        kind: "ClusterRole",
        name: "governance-policy-propagator",
        rules: &[
            (On::Resources("*", &["*"]), READ),
            (
                On::Named("", &["secrets"], &["policy-encryption-key"]),
                &["get", "list", "update", "watch"],
            ),
            // Keys for new clusters, and tokens of the accounts that hub templates name.
            (
                On::Resources("", &["secrets", "serviceaccounts/token"]),
                &["create"],
            ),
            (On::Resources("", &["events"]), READ_WRITE_AND_DELETE),
            (
                On::Resources("events.k8s.io", &["events"]),
                READ_WRITE_AND_DELETE,
            ),
            (
                On::Resources(
                    "policy.open-cluster-management.io",
                    &[
                        "placementbindings",
                        "policies",
                        "policyautomations",
                        "policysets",
                    ],
                ),
                READ_WRITE_AND_DELETE,
            ),
            (
                On::Resources(
                    "policy.open-cluster-management.io",
                    &[
                        "policies/finalizers",
                        "policyautomations/finalizers",
                        "policysets/finalizers",
                    ],
                ),
                &["update"],
            ),
            (
                On::Resources(
                    "policy.open-cluster-management.io",
                    &[
                        "policies/status",
                        "policyautomations/status",
                        "policysets/status",
                    ],
                ),
                &["get", "patch", "update"],
            ),
            (
                On::Resources(
                    "cluster.open-cluster-management.io",
                    &["managedclusters", "placementdecisions", "placements"],
                ),
                READ,
            ),
            (
                On::Resources("apps.open-cluster-management.io", &["placementrules"]),
                READ,
            ),
            (
                On::Named("config.openshift.io", &["dnses"], &["cluster"]),
                &["get"],
            ),
            (
                On::Resources("tower.ansible.com", &["ansiblejobs"]),
                &[
                    "create",
                    "delete",
                    "deletecollection",
                    "get",
                    "list",
                    "patch",
                    "update",
                    "watch",
                ],
            ),
            (
                On::Resources("authentication.k8s.io", &["tokenreviews"]),
                &["create"],
            ),
            (
                On::Resources("authorization.k8s.io", &["subjectaccessreviews"]),
                &["create"],
            ),
        ],
    },
    Rights {
        kind: "Role",
        name: "governance-policy-propagator-leader-election-role",
        rules: &[
            (
                On::Resources("coordination.k8s.io", &["leases"]),
                READ_WRITE_AND_DELETE,
            ),
            (On::Resources("", &["events"]), &["create", "patch"]),
            (
                On::Resources("events.k8s.io", &["events"]),
                &["create", "patch"],
            ),
        ],
    },
];

/// On a managed cluster policies live in one namespace, and so do their objects; beyond it there are only the kinds of
/// policies, Gatekeeper's, and the own Deployment.
const FRAMEWORK_ADDON: &[Rights] = &[
    Rights {
        kind: "ClusterRole",
        name: "governance-policy-framework-addon",
        rules: &[
            (
                On::Resources("apiextensions.k8s.io", &["customresourcedefinitions"]),
                &["list", "watch"],
            ),
            (
                On::Named(
                    "admissionregistration.k8s.io",
                    &["validatingwebhookconfigurations"],
                    &["gatekeeper-validating-webhook-configuration"],
                ),
                READ,
            ),
            (
                On::Resources("constraints.gatekeeper.sh", &["*"]),
                READ_WRITE_AND_DELETE,
            ),
            (
                On::Resources("templates.gatekeeper.sh", &["constrainttemplates"]),
                READ_WRITE_AND_DELETE,
            ),
        ],
    },
    Rights {
        kind: "ClusterRole",
        name: "governance-policy-framework-addon-metrics-auth",
        rules: METRICS_AUTH,
    },
    Rights {
        kind: "Role",
        name: "governance-policy-framework-addon",
        rules: &[
            (On::Resources("", &["events"]), READ_AND_WRITE),
            (On::Resources("events.k8s.io", &["events"]), READ_AND_WRITE),
            (On::Resources("", &["secrets"]), &["create"]),
            (
                On::Named("", &["secrets"], &["policy-encryption-key"]),
                &["delete", "get", "list", "update", "watch"],
            ),
            (
                On::Resources("policy.open-cluster-management.io", &["*"]),
                READ_WRITE_AND_DELETE,
            ),
            (
                On::Resources("policy.open-cluster-management.io", &["policies"]),
                &["deletecollection"],
            ),
        ],
    },
    Rights {
        kind: "Role",
        name: "governance-policy-framework-addon-own",
        rules: &[
            (
                On::Named(
                    "apps",
                    &["deployments"],
                    &["governance-policy-framework-addon"],
                ),
                READ_AND_CHANGE,
            ),
            (
                On::Resources("coordination.k8s.io", &["leases"]),
                READ_WRITE_AND_DELETE,
            ),
        ],
    },
];

/// In the cluster's namespace on the hub.
const FRAMEWORK_ADDON_ON_HUB: &[Rights] = &[Rights {
    kind: "ClusterRole",
    name: "open-cluster-management:policy-framework-hub",
    rules: &[
        (
            On::Named(
                "coordination.k8s.io",
                &["leases"],
                &["governance-policy-framework"],
            ),
            READ_AND_CHANGE,
        ),
        (
            On::Resources("coordination.k8s.io", &["leases"]),
            &["create"],
        ),
        (
            On::Resources("policy.open-cluster-management.io", &["policies"]),
            READ,
        ),
        (
            On::Resources("policy.open-cluster-management.io", &["policies/status"]),
            &["get", "patch", "update"],
        ),
        (
            On::Named("", &["secrets"], &["policy-encryption-key"]),
            READ,
        ),
        (On::Resources("", &["events"]), READ_AND_WRITE),
        (On::Resources("events.k8s.io", &["events"]), READ_AND_WRITE),
    ],
}];

/// The manifests of a folder: file names and contents.
pub(crate) fn all() -> Result<Vec<(&'static str, String)>> {
    let hosted = "# Generated by `cargo xtask gen`. The Roles belong into the controller's own namespace; those\n\
                  # that end in -hosted are for the cluster that keeps the policies of another one.\n";
    let hub =
        "# Generated by `cargo xtask gen`. The Role belongs into the propagator's own namespace.\n";
    let managed = "# Generated by `cargo xtask gen`. The Role that ends in -own belongs into the add-on's own namespace, the other\n\
                   # one into that of the policies.\n";
    let addon_on_hub =
        "# Generated by `cargo xtask gen`. To be bound in the cluster's namespace on the hub.\n";
    let addon_controller =
        "# Generated by `cargo xtask gen`. The Role belongs into the controller's own namespace.\n";
    Ok(vec![
        (
            "governance-policy-addon-controller.yaml",
            manifest(addon_controller, addon_controller::ADDON_CONTROLLER)?,
        ),
        (
            "governance-policy-framework-addon.yaml",
            manifest(managed, FRAMEWORK_ADDON)?,
        ),
        (
            "governance-policy-framework-addon-hub.yaml",
            manifest(addon_on_hub, FRAMEWORK_ADDON_ON_HUB)?,
        ),
        (
            "config-policy-controller.yaml",
            manifest(hosted, CONFIG_POLICY_CONTROLLER)?,
        ),
        (
            "governance-policy-propagator.yaml",
            manifest(hub, PROPAGATOR)?,
        ),
    ])
}

/// The rules of a hub's component: of its `ClusterRole`, and of the Role in its namespace.
pub(crate) fn rules(component: &str) -> Result<[Value; 2]> {
    let all = match component {
        "governance-policy-addon-controller" => addon_controller::ADDON_CONTROLLER,
        "governance-policy-propagator" => PROPAGATOR,
        _ => &[],
    };
    let of = |kind: &str| {
        let rights = all.iter().find(|rights| rights.kind == kind);
        let rights = rights.with_context(|| format!("{component} has no {kind}"))?;
        anyhow::Ok(rights.rules.iter().map(rule).collect())
    };
    Ok([of("ClusterRole")?, of("Role")?])
}

fn manifest(head: &str, all: &[Rights]) -> Result<String> {
    let mut text = head.to_owned();
    for rights in all {
        let role = serde_saphyr::to_string(&role(rights));
        let role = role.with_context(|| format!("cannot write the role {}", rights.name))?;
        text.push_str("---\n");
        text.push_str(&role);
    }
    Ok(text)
}

fn role(rights: &Rights) -> Value {
    let rules: Vec<Value> = rights.rules.iter().map(rule).collect();
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": rights.kind,
        "metadata": { "name": rights.name },
        "rules": rules,
    })
}

fn rule((on, verbs): &Rule) -> Value {
    match on {
        On::Resources(group, resources) => {
            json!({ "apiGroups": [group], "resources": resources, "verbs": verbs })
        }
        On::Named(group, resources, names) => json!({
            "apiGroups": [group], "resources": resources, "resourceNames": names, "verbs": verbs
        }),
        On::Pages(pages) => json!({ "nonResourceURLs": pages, "verbs": verbs }),
    }
}
