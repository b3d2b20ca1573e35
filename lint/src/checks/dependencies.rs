//! RVL204 and RVL210: what policies and templates wait for.

use std::collections::BTreeSet;

use reeve_api::dependency_graph::{DependencyGraph, Dependent};
use reeve_api::policy::{PolicyDependency, PolicySpec};
use serde_json::Value;

use crate::finding::Finding;
use crate::items::{Item, POLICIES, Role};
use crate::messages;

/// Checks the dependencies of all policies with each other. What cannot be read as a policy is the finding of another rule.
pub(crate) fn check(items: &[Item<'_>]) -> Vec<Finding> {
    let documents = || {
        let documents = items.iter();
        documents.filter(|item| matches!(item.role, Role::Document))
    };
    let policies: Vec<(&Item<'_>, PolicySpec)> = documents()
        .filter(|item| item.is(POLICIES, "Policy"))
        .filter_map(|item| {
            let spec = serde_json::from_value(item.value.get("spec")?.clone()).ok()?;
            Some((item, spec))
        })
        .collect();
    let mut graph = DependencyGraph::default();
    for (item, spec) in &policies {
        let namespace = item.namespace();
        let own = Dependent::policy(&qualified(namespace, item.name()));
        graph.add(&own, spec, |dependency| name_of(dependency, namespace));
    }
    for set in documents().filter(|item| item.is(POLICIES, "PolicySet")) {
        let names = set.value.pointer("/spec/policies");
        let names = names.and_then(Value::as_array).into_iter().flatten();
        let names = names.filter_map(Value::as_str);
        let members = names.map(|name| Dependent::policy(&qualified(set.namespace(), name)));
        graph.add_set(&qualified(set.namespace(), set.name()), members);
    }
    let mut findings = Vec::new();
    let mut loops: BTreeSet<BTreeSet<Dependent>> = BTreeSet::new();
    for (item, spec) in &policies {
        findings.extend(absent(item, spec, &graph));
        for (index, template) in spec.policy_templates.iter().enumerate() {
            let start = Dependent::of_template(&template.object_definition);
            let Some(members) = start.and_then(|start| graph.find_loop(&start)) else {
                continue;
            };
            // Each of its templates is in the loop; one finding is enough.
            if loops.insert(members.iter().cloned().collect()) {
                let place = format!("/spec/policy-templates/{index}/objectDefinition");
                let message = messages::dependency_loop(&members);
                findings.push(item.finding(&place, "RVL210", message));
            }
        }
    }
    findings
}

/// The dependencies that are not among the inputs. Policies and their templates are where their dependents are; other objects may be
/// anywhere.
fn absent(item: &Item<'_>, spec: &PolicySpec, graph: &DependencyGraph) -> Vec<Finding> {
    let shared = spec.dependencies.iter().flatten().enumerate();
    let shared = shared.map(|(at, one)| (format!("/spec/dependencies/{at}/name"), one));
    let templates = spec.policy_templates.iter().enumerate();
    let own = templates.flat_map(|(template, of)| {
        let all = of.extra_dependencies.iter().flatten().enumerate();
        all.map(move |(at, one)| {
            let place = format!("/spec/policy-templates/{template}/extraDependencies/{at}/name");
            (place, one)
        })
    });
    let named = |dependency: &PolicyDependency| {
        Dependent::of(dependency, |one| name_of(one, item.namespace()))
    };
    let is_absent = |(_, dependency): &(String, &PolicyDependency)| {
        let one = named(dependency);
        one.group == POLICIES && !one.name.contains("{{") && !graph.may_have(&one)
    };
    let missing = shared.chain(own).filter(is_absent);
    missing
        .map(|(place, dependency)| {
            let one = named(dependency);
            let message = messages::dangling(&item.described(), &one.kind, "", &one.name);
            item.finding(&place, "RVL204", message)
        })
        .collect()
}

/// The name of the policy or set that a dependency is about. Without a namespace it is in that of the policy.
fn name_of(dependency: &PolicyDependency, namespace: &str) -> String {
    let given = dependency.namespace.as_deref().unwrap_or_default();
    match dependency.name.split_once('.') {
        // The full name, as it is on managed clusters.
        Some((namespace, name)) if given.is_empty() && dependency.kind == "Policy" => {
            qualified(namespace, name)
        }
        _ if given.is_empty() => qualified(namespace, &dependency.name),
        _ => qualified(given, &dependency.name),
    }
}

fn qualified(namespace: &str, name: &str) -> String {
    if namespace.is_empty() {
        name.to_owned()
    } else {
        format!("{namespace}/{name}")
    }
}
