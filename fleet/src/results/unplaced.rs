//! Why a policy is on no cluster.

use reeve_api::PlacementBinding;
use reeve_api::ocm::{Placement, Requirement};

use super::hub::{HubView, PolicyView};
use super::messages;

/// The reason; `None` if a placement is not decided yet, or has chosen clusters and the policy's status does not say so
/// yet.
pub(super) fn why(hub: &HubView, root: &PolicyView) -> Option<String> {
    let namespace = &root.metadata.namespace;
    let bindings = bindings(hub, root);
    if bindings.is_empty() {
        return Some(messages::UNBOUND.to_owned());
    }
    let placing: Vec<&&PlacementBinding> = bindings
        .iter()
        .filter(|binding| !binding.spec.is_restricted())
        .collect();
    if placing.is_empty() {
        return Some(messages::RESTRICTED.to_owned());
    }
    let mut reasons = Vec::new();
    for binding in placing {
        let reference = &binding.spec.placement_ref;
        let why = match reference.kind.as_str() {
            "Placement" => of_placement(hub, namespace, &reference.name)?,
            _ => of_rule(hub, namespace, &reference.name)?,
        };
        reasons.push(why);
    }
    reasons.dedup();
    Some(reasons.join("; "))
}

/// The bindings that name a policy, or a set that it is in.
pub(crate) fn bindings<'a>(hub: &'a HubView, root: &PolicyView) -> Vec<&'a PlacementBinding> {
    let namespace = Some(&root.metadata.namespace);
    let own = hub.bindings.iter();
    own.filter(|binding| binding.metadata.namespace.as_ref() == namespace)
        .filter(|binding| names(hub, binding, root))
        .collect()
}

/// Whether a binding names a policy, or a set that it is in.
fn names(hub: &HubView, binding: &PlacementBinding, root: &PolicyView) -> bool {
    let in_set = |set: &str| {
        hub.sets
            .iter()
            .filter(|one| one.metadata.name.as_deref() == Some(set))
            .filter(|one| one.metadata.namespace == binding.metadata.namespace)
            .any(|one| one.spec.policies.contains(&root.metadata.name))
    };
    let is_named = |subject: &reeve_api::placement_binding::Subject| match subject.kind.as_str() {
        "Policy" => subject.name == root.metadata.name,
        "PolicySet" => in_set(&subject.name),
        _ => false,
    };
    binding.spec.subjects.iter().any(is_named)
}

/// Why a placement chooses nothing; `None` if it chooses something, or is not decided yet.
fn of_placement(hub: &HubView, namespace: &str, name: &str) -> Option<String> {
    let placement = hub.placements.iter().find(|placement| {
        placement.metadata.namespace.as_deref() == Some(namespace)
            && placement.metadata.name.as_deref() == Some(name)
    });
    let Some(placement) = placement else {
        return Some(messages::no_placement("Placement", name));
    };
    let why = match &placement.status {
        // The placement controller comes to it in a moment.
        None => return None,
        Some(status) if status.number_of_selected_clusters > 0 => return None,
        Some(status) => {
            let conditions = status.conditions.iter();
            let mut failed = conditions.filter(|condition| {
                (condition.type_ == "PlacementSatisfied" && condition.status == "False")
                    || (condition.type_ == "PlacementMisconfigured" && condition.status == "True")
            });
            match failed.next_back() {
                None => messages::NO_CLUSTER.to_owned(),
                Some(condition) => match condition.reason.as_str() {
                    "NoManagedClusterMatched" => predicates(placement),
                    "NoManagedClusterSetBindings" => messages::no_set_bound(namespace),
                    _ => condition.message.clone(),
                },
            }
        }
    };
    Some(messages::nothing_chosen("Placement", name, &why))
}

pub(crate) fn of_rule(hub: &HubView, namespace: &str, name: &str) -> Option<String> {
    let rule = hub.rules.iter().find(|rule| {
        rule.metadata.namespace.as_deref() == Some(namespace)
            && rule.metadata.name.as_deref() == Some(name)
    });
    let Some(rule) = rule else {
        return Some(messages::no_placement("PlacementRule", name));
    };
    let is_decided = rule
        .status
        .as_ref()
        .is_some_and(|status| !status.decisions.is_empty());
    let selector = rule.spec.cluster_selector.as_ref();
    let why = match selector.map(|selector| labels(selector, "")) {
        Some(parts) if !parts.is_empty() => messages::no_cluster_with(&parts.join(" and ")),
        _ => messages::NO_CLUSTER.to_owned(),
    };
    (!is_decided).then(|| messages::nothing_chosen("PlacementRule", name, &why))
}

/// The predicates of a placement in the notation of label selectors.
fn predicates(placement: &Placement) -> String {
    let all: Vec<String> = placement
        .spec
        .predicates
        .iter()
        .map(|predicate| {
            let selector = &predicate.required_cluster_selector;
            let mut parts = labels(&selector.label_selector, "");
            let claims = selector.claim_selector.match_expressions.iter();
            parts.extend(claims.map(|one| requirement(one, "claim ")));
            let expressions = selector.cel_selector.cel_expressions.iter();
            parts.extend(expressions.map(|one| format!("CEL {one}")));
            parts.join(" and ")
        })
        .filter(|text| !text.is_empty())
        .collect();
    if all.is_empty() {
        return messages::NO_CLUSTER.to_owned();
    }
    messages::no_cluster_with(&all.join(" or "))
}

pub(crate) fn labels(selector: &reeve_api::ocm::LabelSelector, prefix: &str) -> Vec<String> {
    let equal = selector.match_labels.iter();
    let mut parts: Vec<String> = equal
        .map(|(key, value)| format!("{prefix}{key}={value}"))
        .collect();
    let expressions = selector.match_expressions.iter();
    parts.extend(expressions.map(|one| requirement(one, prefix)));
    parts
}

pub(crate) fn requirement(one: &Requirement, prefix: &str) -> String {
    let (key, values) = (&one.key, one.values.join(", "));
    match one.operator.as_str() {
        "In" => format!("{prefix}{key} in ({values})"),
        "NotIn" => format!("{prefix}{key} notin ({values})"),
        "Exists" => format!("{prefix}{key}"),
        "DoesNotExist" => format!("{prefix}!{key}"),
        other => format!("{prefix}{key} {other} ({values})"),
    }
}
