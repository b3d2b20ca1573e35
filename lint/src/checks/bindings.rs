//! RVL202 to RVL204: what binds what.

use std::collections::HashSet;

use serde_json::Value;

use crate::finding::Finding;
use crate::items::{Item, POLICIES, Role, text};
use crate::messages;

/// Kind, namespace and name.
type Key<'a> = (&'a str, &'a str, &'a str);

/// Checks policies, sets, placements and bindings with each other. Policies are not reported as unbound if there is neither a
/// binding nor a placement among the inputs: they may be elsewhere.
pub(crate) fn check(items: &[Item<'_>]) -> Vec<Finding> {
    let documents: Vec<&Item<'_>> = items
        .iter()
        .filter(|item| matches!(item.role, Role::Document) && !item.name().contains("{{"))
        .collect();
    let present: HashSet<Key<'_>> = documents
        .iter()
        .map(|item| (item.kind(), item.namespace(), item.name()))
        .collect();
    let bindings: Vec<&&Item<'_>> = documents
        .iter()
        .filter(|item| item.is(POLICIES, "PlacementBinding"))
        .collect();
    let mut bound: HashSet<Key<'_>> = HashSet::new();
    for binding in &bindings {
        bound.extend(references(binding).into_iter().map(|(_, key)| key));
    }
    for set in documents.iter().filter(|item| is_set(item)) {
        if bound.contains(&("PolicySet", set.namespace(), set.name())) {
            bound.extend(members(set).into_iter().map(|(_, key)| key));
        }
    }
    let about_bindings = !bindings.is_empty() || documents.iter().any(|other| is_placement(other));
    let mut findings = Vec::new();
    for item in &documents {
        let key = (item.kind(), item.namespace(), item.name());
        let is_bound = bound.contains(&key);
        if item.is(POLICIES, "Policy") && about_bindings && !is_bound {
            let message = messages::unbound(&item.described());
            findings.push(item.finding("/metadata/name", "RVL202", message));
        }
        if is_placement(item) && !is_bound {
            let message = messages::unused_placement(&item.described());
            findings.push(item.finding("/metadata/name", "RVL203", message));
        }
        if is_set(item) {
            findings.extend(dangling(item, members(item), &present));
        }
        if item.is(POLICIES, "PlacementBinding") {
            findings.extend(dangling(item, references(item), &present));
        }
    }
    findings
}

fn is_set(item: &Item<'_>) -> bool {
    item.is(POLICIES, "PolicySet")
}

fn is_placement(item: &Item<'_>) -> bool {
    item.is("cluster.open-cluster-management.io", "Placement")
        || item.is("apps.open-cluster-management.io", "PlacementRule")
}

/// What a binding names, with the place of each name.
fn references<'a>(binding: &'a Item<'_>) -> Vec<(String, Key<'a>)> {
    let key = |value: &'a Value| {
        (
            text(value, "/kind"),
            binding.namespace(),
            text(value, "/name"),
        )
    };
    let mut all = Vec::new();
    if let Some(placement) = binding.value.get("placementRef") {
        all.push(("/placementRef/name".to_owned(), key(placement)));
    }
    let subjects = binding.value["subjects"].as_array().into_iter().flatten();
    for (index, subject) in subjects.enumerate() {
        all.push((format!("/subjects/{index}/name"), key(subject)));
    }
    all
}

/// The policies of a set, with the place of each name.
fn members<'a>(set: &'a Item<'_>) -> Vec<(String, Key<'a>)> {
    let names = set
        .value
        .pointer("/spec/policies")
        .and_then(Value::as_array);
    let names = names.into_iter().flatten().enumerate();
    let key = |(index, name): (usize, &'a Value)| {
        let place = format!("/spec/policies/{index}");
        (
            place,
            ("Policy", set.namespace(), name.as_str().unwrap_or_default()),
        )
    };
    names.map(key).collect()
}

fn dangling(
    item: &Item<'_>,
    named: Vec<(String, Key<'_>)>,
    present: &HashSet<Key<'_>>,
) -> Vec<Finding> {
    // An object of a kind that the inputs do not have at all is probably elsewhere.
    let has_kind = |kind: &str| present.iter().any(|(known, ..)| *known == kind);
    let missing = named.into_iter().filter(|(_, key)| {
        !key.2.is_empty() && !key.2.contains("{{") && has_kind(key.0) && !present.contains(key)
    });
    missing
        .map(|(place, (kind, namespace, name))| {
            let message = messages::dangling(&item.described(), kind, namespace, name);
            item.finding(&place, "RVL204", message)
        })
        .collect()
}
