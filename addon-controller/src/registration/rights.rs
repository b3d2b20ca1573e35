//! The access of the agents on the hub.

use k8s_openapi::api::rbac::v1::{ClusterRole, PolicyRule, RoleRef, Subject as RbacSubject};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use reeve_api::addon::Subject;

use crate::addon::{Addon, Installation};

const RBAC: &str = "rbac.authorization.k8s.io";

const READ: &[&str] = &["get", "list", "watch"];
const CHANGE: &[&str] = &["get", "list", "patch", "update", "watch"];
const WRITE: &[&str] = &["create", "get", "list", "patch", "update", "watch"];

/// The name of an add-on's role and of its bindings.
pub const fn role_name(addon: Addon) -> &'static str {
    match addon {
        Addon::Framework => "open-cluster-management:policy-framework-hub",
        Addon::ConfigPolicy => "open-cluster-management:config-policy-controller-hub",
        Addon::Standalone => "open-cluster-management:governance-standalone-hub-templating",
    }
}

/// Whether an add-on's agents have access to the whole hub, and not only to their cluster's namespace.
pub const fn is_cluster_wide(addon: Addon) -> bool {
    matches!(addon, Addon::Standalone)
}

/// An add-on's role.
pub fn role(addon: Addon) -> ClusterRole {
    let rules = match addon {
        Addon::Framework => framework(),
        Addon::ConfigPolicy => leases(&["config-policy-controller"]),
        Addon::Standalone => {
            let mut rules = leases(&[
                "governance-policy-framework",
                "governance-standalone-hub-templating",
            ]);
            let clusters = "cluster.open-cluster-management.io";
            rules.push(rule(clusters, &["managedclusters"], &[], READ));
            rules
        }
    };
    ClusterRole {
        metadata: ObjectMeta {
            name: Some(role_name(addon).to_owned()),
            ..ObjectMeta::default()
        },
        rules: Some(rules),
        aggregation_rule: None,
    }
}

fn leases(names: &[&str]) -> Vec<PolicyRule> {
    let group = "coordination.k8s.io";
    vec![
        rule(group, &["leases"], names, CHANGE),
        rule(group, &["leases"], &[], &["create"]),
    ]
}

/// The agent reads the replicated policies of its cluster and writes their statuses. It must not create, change or
/// delete policies: an attacker on a cluster must not be able to change them on the hub.
fn framework() -> Vec<PolicyRule> {
    let policies = "policy.open-cluster-management.io";
    let mut rules = leases(&["governance-policy-framework"]);
    rules.extend([
        rule(policies, &["policies"], &[], READ),
        rule(
            policies,
            &["policies/status"],
            &[],
            &["get", "patch", "update"],
        ),
        rule("", &["secrets"], &["policy-encryption-key"], READ),
        rule("", &["events"], &[], WRITE),
        rule("events.k8s.io", &["events"], &[], WRITE),
    ]);
    rules
}

fn rule(group: &str, resources: &[&str], names: &[&str], verbs: &[&str]) -> PolicyRule {
    let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    PolicyRule {
        api_groups: Some(vec![group.to_owned()]),
        resources: Some(owned(resources)),
        resource_names: (!names.is_empty()).then(|| owned(names)),
        verbs: owned(verbs),
        non_resource_urls: None,
    }
}

/// The role of a binding.
pub fn role_ref(addon: Addon) -> RoleRef {
    RoleRef {
        api_group: Some(RBAC.to_owned()),
        kind: "ClusterRole".to_owned(),
        name: role_name(addon).to_owned(),
    }
}

/// The subjects of a binding. An agent that registered with a token is in none of the groups, so it is a subject
/// itself.
pub fn subjects(installation: &Installation, registered: Option<&Subject>) -> Vec<RbacSubject> {
    let addon = installation.addon;
    let [of_cluster, of_all] = addon.groups(&installation.cluster);
    let group = if is_cluster_wide(addon) {
        of_all
    } else {
        of_cluster
    };
    let subject = |kind: &str, name: String| RbacSubject {
        api_group: Some(RBAC.to_owned()),
        kind: kind.to_owned(),
        name,
        namespace: None,
    };
    let mut subjects = vec![subject("Group", group)];
    if let Some(registered) = registered {
        subjects.push(subject("User", registered.user.clone()));
    }
    subjects
}

/// Whether this is the service account of an agent with access to the whole hub.
pub fn is_agent(subject: &RbacSubject) -> bool {
    let ends = format!(":{}-agent", Addon::Standalone);
    subject.kind == "User"
        && subject.name.starts_with("system:serviceaccount:")
        && subject.name.ends_with(&ends)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The rules in canonical order.
    fn canonical(role: &ClusterRole) -> BTreeSet<String> {
        let sorted = |list: Option<&Vec<String>>| {
            let mut list = list.cloned().unwrap_or_default();
            list.sort();
            list.join(",")
        };
        let rules = role.rules.iter().flatten();
        rules
            .map(|rule| {
                let parts = [
                    sorted(rule.api_groups.as_ref()),
                    sorted(rule.resources.as_ref()),
                    sorted(rule.resource_names.as_ref()),
                    sorted(Some(&rule.verbs)),
                ];
                parts.join(" | ")
            })
            .collect()
    }

    /// The scenarios run the add-on with the shipped role for manual installation: this test shows that it suffices.
    #[test]
    fn installed_hub_role_equals_shipped_role() {
        let shipped =
            include_str!("../../../deploy/rbac/governance-policy-framework-addon-hub.yaml");
        let shipped: ClusterRole = serde_saphyr::from_str(shipped).unwrap();
        let installed = role(Addon::Framework);
        assert_eq!(canonical(&installed), canonical(&shipped));
        assert_eq!(installed.metadata.name, shipped.metadata.name);
    }

    #[test]
    fn agent_must_not_change_policies_on_hub() {
        let role = role(Addon::Framework);
        let rules = role.rules.iter().flatten();
        let of_policies = rules.filter(|rule| {
            let resources = rule.resources.iter().flatten();
            resources.clone().any(|resource| resource == "policies")
        });
        let verbs: BTreeSet<&str> = of_policies
            .flat_map(|rule| rule.verbs.iter().map(String::as_str))
            .collect();
        assert_eq!(verbs, BTreeSet::from(["get", "list", "watch"]));
    }
}
