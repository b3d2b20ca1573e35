//! RVL201: selectors that match nothing among the inputs.

use reeve_api::configuration_policy::NamespaceSelector;
use reeve_config_policy_controller::dryrun::{Namespace, TerminatingInclusion, select_namespaces};
use reeve_go_compat::labels::Selector;
use serde_json::Value;

use crate::finding::Finding;
use crate::items::{Item, POLICIES, Role, is_templated, text};
use crate::messages;

/// Checks selectors, each where the inputs have something that it could match.
pub(crate) fn check(items: &[Item<'_>]) -> Vec<Finding> {
    let documents = || {
        items
            .iter()
            .filter(|item| matches!(item.role, Role::Document))
    };
    let namespaces: Vec<Namespace> = documents()
        .filter(|item| item.is("", "Namespace"))
        .map(|item| Namespace::of(item.value))
        .collect();
    let clusters: Vec<&Value> = documents()
        .filter(|item| item.is("cluster.open-cluster-management.io", "ManagedCluster"))
        .map(|item| item.value)
        .collect();
    let mut findings = Vec::new();
    for item in items {
        match item.role {
            Role::Desired { template, .. } => {
                let same = documents()
                    .filter(|other| other.kind() == item.kind() && other.group() == item.group());
                findings.extend(objects(item, template, same.map(|other| other.value)));
            }
            _ if item.is(POLICIES, "ConfigurationPolicy") => {
                findings.extend(of_namespaces(item, &namespaces));
            }
            _ => findings.extend(of_clusters(item, &clusters)),
        }
    }
    findings
}

fn of_namespaces(item: &Item<'_>, namespaces: &[Namespace]) -> Option<Finding> {
    const FIELD: &str = "/spec/namespaceSelector";
    let value = item.value.pointer(FIELD)?;
    if namespaces.is_empty() || is_templated(value) {
        return None;
    }
    let selector: NamespaceSelector = serde_json::from_value(value.clone()).ok()?;
    match select_namespaces(&selector, namespaces, TerminatingInclusion::IfMatch) {
        Ok(chosen) if chosen.is_empty() => {
            let message = messages::no_match("namespaceSelector", "Namespaces", namespaces.len());
            Some(item.finding(FIELD, "RVL201", message))
        }
        Ok(_) => None,
        Err(error) => Some(item.finding(FIELD, "RVL002", error.to_string())),
    }
}

fn of_clusters(item: &Item<'_>, clusters: &[&Value]) -> Vec<Finding> {
    if clusters.is_empty() {
        return Vec::new();
    }
    let mut selectors = Vec::new();
    if item.is("cluster.open-cluster-management.io", "Placement") {
        let predicates = item
            .value
            .pointer("/spec/predicates")
            .and_then(Value::as_array);
        for index in 0..predicates.map_or(0, Vec::len) {
            selectors.push(format!(
                "/spec/predicates/{index}/requiredClusterSelector/labelSelector"
            ));
        }
    }
    if item.is("apps.open-cluster-management.io", "PlacementRule") {
        selectors.push("/spec/clusterSelector".to_owned());
    }
    let missed = selectors.into_iter().filter(|field| {
        let selector = item.value.pointer(field).and_then(Selector::of_object);
        selector.is_some_and(|selector| !clusters.iter().any(|one| selector.matches_object(one)))
    });
    missed
        .map(|field| {
            let name = field.rsplit('/').next().unwrap_or_default();
            let message = messages::no_match(name, "ManagedClusters", clusters.len());
            item.finding(&field, "RVL201", message)
        })
        .collect()
}

/// The objectSelector of an object template; its place is beside the definition.
fn objects<'v>(
    item: &Item<'_>,
    template: &Value,
    same: impl Iterator<Item = &'v Value>,
) -> Option<Finding> {
    let value = template.get("objectSelector")?;
    let is_named = !text(item.value, "/metadata/name").is_empty();
    if is_named || is_templated(value) {
        return None;
    }
    let selector = Selector::of_object(value)?;
    // Large inputs have many documents: they are only searched for templates that select.
    let same: Vec<&Value> = same.collect();
    if same.is_empty() || same.iter().any(|object| selector.matches_object(object)) {
        return None;
    }
    let beside = item.pointer.rsplit_once('/').map_or("", |(above, _)| above);
    let message = messages::no_match("objectSelector", item.kind(), same.len());
    let place = format!("{beside}/objectSelector");
    Some(item.file.finding(item.document, &place, "RVL201", message))
}
