//! RVL205 to RVL209: parts of policies without the effect that their author expects.

use reeve_apiserver::Kinds;
use serde_json::Value;

use crate::finding::Finding;
use crate::items::{Item, POLICIES, Role, is_templated, text};
use crate::messages;

/// Kinds that are replaced by others: group, version (any if it is empty), kind, and what to use.
const DEPRECATED: [(&str, &str, &str, &str); 16] = [
    (
        "apps.open-cluster-management.io",
        "",
        "PlacementRule",
        "a Placement",
    ),
    (
        POLICIES,
        "",
        "CertificatePolicy",
        "a ConfigurationPolicy with templates",
    ),
    (
        POLICIES,
        "",
        "IamPolicy",
        "a ConfigurationPolicy with templates",
    ),
    (
        "cluster.open-cluster-management.io",
        "v1alpha1",
        "Placement",
        "cluster.open-cluster-management.io/v1beta1",
    ),
    (
        "cluster.open-cluster-management.io",
        "v1beta1",
        "ManagedClusterSet",
        "cluster.open-cluster-management.io/v1beta2",
    ),
    (
        "cluster.open-cluster-management.io",
        "v1beta1",
        "ManagedClusterSetBinding",
        "cluster.open-cluster-management.io/v1beta2",
    ),
    ("policy", "v1beta1", "PodDisruptionBudget", "policy/v1"),
    (
        "policy",
        "v1beta1",
        "PodSecurityPolicy",
        "Pod Security admission",
    ),
    ("batch", "v1beta1", "CronJob", "batch/v1"),
    ("extensions", "", "Ingress", "networking.k8s.io/v1"),
    (
        "networking.k8s.io",
        "v1beta1",
        "Ingress",
        "networking.k8s.io/v1",
    ),
    (
        "autoscaling",
        "v2beta2",
        "HorizontalPodAutoscaler",
        "autoscaling/v2",
    ),
    (
        "autoscaling",
        "v2beta1",
        "HorizontalPodAutoscaler",
        "autoscaling/v2",
    ),
    (
        "rbac.authorization.k8s.io",
        "v1beta1",
        "",
        "rbac.authorization.k8s.io/v1",
    ),
    (
        "apiextensions.k8s.io",
        "v1beta1",
        "",
        "apiextensions.k8s.io/v1",
    ),
    (
        "admissionregistration.k8s.io",
        "v1beta1",
        "",
        "admissionregistration.k8s.io/v1",
    ),
];

/// Checks an object as a part of policies.
pub(crate) fn check(item: &Item<'_>, kinds: &Kinds) -> Vec<Finding> {
    let mut findings: Vec<Finding> = deprecated(item).into_iter().collect();
    if item.is(POLICIES, "ConfigurationPolicy") && !matches!(item.role, Role::Desired { .. }) {
        findings.extend(intervals(item));
        findings.extend(selects_nothing(item));
    }
    if let Role::Desired { template, policy } = item.role {
        findings.extend(ignored(item, template));
        findings.extend(namespace(item, template, policy, kinds));
    }
    findings
}

fn deprecated(item: &Item<'_>) -> Option<Finding> {
    let api_version = text(item.value, "/apiVersion");
    let (group, version) = api_version.split_once('/')?;
    let is_it = |known: &&(&str, &str, &str, &str)| {
        known.0 == group
            && (known.1.is_empty() || known.1 == version)
            && (known.2.is_empty() || known.2 == item.kind())
    };
    let (.., instead) = DEPRECATED.iter().find(is_it)?;
    let message = messages::deprecated(item.kind(), api_version, instead);
    Some(item.finding("/apiVersion", "RVL205", message))
}

fn intervals(item: &Item<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for state in ["compliant", "noncompliant"] {
        let field = format!("/spec/evaluationInterval/{state}");
        let word = text(item.value, &field);
        if word.is_empty() || word.contains("{{") || matches!(word, "never" | "watch") {
            continue;
        }
        if !is_duration(word) {
            findings.push(item.finding(&field, "RVL206", messages::interval(word)));
        }
    }
    findings
}

/// Whether a text is a duration of Go: numbers with units.
fn is_duration(text: &str) -> bool {
    let mut rest = text;
    while !rest.is_empty() {
        let number = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        if number.len() == rest.len() {
            return false;
        }
        let units = ["ms", "us", "ns", "h", "m", "s"];
        let Some(unit) = units.into_iter().find(|unit| number.starts_with(unit)) else {
            return false;
        };
        rest = number.get(unit.len()..).unwrap_or_default();
    }
    true
}

fn selects_nothing(item: &Item<'_>) -> Option<Finding> {
    const FIELD: &str = "/spec/namespaceSelector";
    let selector = item.value.pointer(FIELD)?.as_object()?;
    let has = |key: &str| selector.get(key).is_some_and(|value| !value.is_null());
    let includes = selector.get("include").and_then(Value::as_array);
    let includes = includes.is_some_and(|patterns| !patterns.is_empty());
    let selects = includes || has("matchLabels") || has("matchExpressions");
    (!selects).then(|| item.finding(FIELD, "RVL208", messages::SELECTS_NOTHING.to_owned()))
}

/// The fields of a named object that must not exist.
fn ignored(item: &Item<'_>, template: &Value) -> Option<Finding> {
    let is_forbidden = text(template, "/complianceType").eq_ignore_ascii_case("mustnothave");
    if !is_forbidden || item.name().is_empty() || item.name().contains("{{") {
        return None;
    }
    let fields = item.value.as_object()?.keys();
    let mut others =
        fields.filter(|key| !matches!(key.as_str(), "apiVersion" | "kind" | "metadata"));
    let first = others.next()?;
    let message = messages::ignored(&item.described(), first);
    Some(item.finding(&format!("/{first}"), "RVL207", message))
}

fn namespace(item: &Item<'_>, template: &Value, policy: &Value, kinds: &Kinds) -> Option<Finding> {
    let kind = kinds.of_object(text(item.value, "/apiVersion"), item.kind())?;
    let has_selector = policy.pointer("/spec/namespaceSelector").is_some();
    if !kind.namespaced || has_selector || !item.namespace().is_empty() || is_templated(template) {
        return None;
    }
    let message = messages::no_namespace(&item.described());
    Some(item.finding("/metadata", "RVL209", message))
}
