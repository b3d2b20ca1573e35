//! Which writes a `ValidatingAdmissionPolicy` or its binding is about.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Attributes;
use crate::request::selectors::LabelSelector;

/// A write, as far as resources match it.
pub(super) struct Subject<'a> {
    pub(super) of: &'a Attributes<'a>,
    pub(super) new: &'a Value,
    pub(super) old: &'a Value,
    /// The object's namespace; null if it has none.
    pub(super) namespace: &'a Value,
}

/// Whether `matchConstraints` or `matchResources` are about a write; whoever says nothing is about all.
pub(super) fn matches(resources: &Value, subject: &Subject<'_>) -> bool {
    let rules = |field: &str| {
        let rules = resources[field].as_array();
        rules.map(Vec::as_slice).unwrap_or_default()
    };
    let (wanted, excluded) = (rules("resourceRules"), rules("excludeResourceRules"));
    let any = |rules: &[Value]| rules.iter().any(|rule| of_rule(rule, subject.of));
    if any(excluded) || !(wanted.is_empty() || any(wanted)) {
        return false;
    }
    let of_namespace = match subject.namespace {
        Value::Null if subject.of.kind.is("", "namespaces") => &subject.new["metadata"]["labels"],
        // Cluster-scoped objects are in every namespace, so to speak.
        Value::Null => &Value::Null,
        namespace => &namespace["metadata"]["labels"],
    };
    let namespaced = !subject.namespace.is_null() || subject.of.kind.is("", "namespaces");
    if namespaced && !selects(&resources["namespaceSelector"], of_namespace) {
        return false;
    }
    let selector = &resources["objectSelector"];
    let labelled =
        |object: &Value| !object.is_null() && selects(selector, &object["metadata"]["labels"]);
    is_empty(selector) || labelled(subject.new) || labelled(subject.old)
}

fn of_rule(rule: &Value, of: &Attributes<'_>) -> bool {
    let has = |field: &str, value: &str| {
        let all = rule[field].as_array();
        all.into_iter()
            .flatten()
            .any(|one| one == "*" || one == value)
    };
    let scope = match rule["scope"].as_str() {
        Some("Cluster") => !of.kind.namespaced,
        Some("Namespaced") => of.kind.namespaced,
        _ => true,
    };
    let only = rule["resourceNames"].as_array();
    let named = only.is_none_or(|only| only.is_empty() || only.iter().any(|one| one == of.name));
    scope
        && named
        && has("operations", of.action.operation())
        && has("apiGroups", &of.kind.group)
        && has("apiVersions", &of.kind.version)
        && of_resources(rule, of)
}

/// `pods`, `pods/status`, `pods/*`, `*/status`, `*` (no part of anything) and `*/*`.
fn of_resources(rule: &Value, of: &Attributes<'_>) -> bool {
    let wanted = of.subresource.unwrap_or_default();
    let all = rule["resources"].as_array().into_iter().flatten();
    all.filter_map(Value::as_str).any(|pattern| {
        let (resource, part) = pattern.split_once('/').unwrap_or((pattern, ""));
        (resource == "*" || resource == of.kind.resource) && (part == "*" || part == wanted)
    })
}

fn is_empty(selector: &Value) -> bool {
    let empty = |field: &str| match &selector[field] {
        Value::Object(labels) => labels.is_empty(),
        Value::Array(all) => all.is_empty(),
        _ => true,
    };
    empty("matchLabels") && empty("matchExpressions")
}

/// Whether a `LabelSelector` selects these labels. One that cannot be read selects nothing.
pub(super) fn selects(selector: &Value, labels: &Value) -> bool {
    if is_empty(selector) {
        return true;
    }
    let Some(selector) = LabelSelector::of_object(selector) else {
        return false;
    };
    let labels = labels.as_object().into_iter().flatten();
    let labels: BTreeMap<String, String> = labels
        .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
        .collect();
    selector.matches(&labels)
}
