//! Which writes policies, their bindings and webhooks are about.

use std::sync::Arc;

use reeve_go_compat::labels::Selector;
use serde_json::Value;

use super::Attributes;
use crate::kinds::{Kind, Kinds};

/// A write, as far as resources match it.
pub(super) struct Subject<'a> {
    pub(super) of: &'a Attributes<'a>,
    pub(super) new: &'a Value,
    pub(super) old: &'a Value,
    /// The object's namespace; null if it has none.
    pub(super) namespace: &'a Value,
}

/// The kind, in the version that `matchConstraints` or `matchResources` have named, as which a write is seen; none if they
/// are not about it. Constraints that name nothing match everything.
pub(super) fn matched(
    resources: &Value,
    kinds: &Kinds,
    subject: &Subject<'_>,
) -> Option<Arc<Kind>> {
    let rules = |field: &str| {
        let rules = resources[field].as_array();
        rules.map(Vec::as_slice).unwrap_or_default()
    };
    let (wanted, excluded) = (rules("resourceRules"), rules("excludeResourceRules"));
    let versions = Versions::of(&resources["matchPolicy"]);
    let find = |rules: &[Value]| {
        kind_for(versions, kinds, subject.of, |kind| {
            rules.iter().any(|rule| of_rule(rule, subject.of, kind))
        })
    };
    let selected = of_namespace(&resources["namespaceSelector"], subject)
        && of_object(&resources["objectSelector"], subject);
    if !selected || find(excluded).is_some() {
        return None;
    }
    if wanted.is_empty() {
        return kind_for(Versions::Exact, kinds, subject.of, |_| true);
    }
    find(wanted)
}

/// Which versions of a kind a rule is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Versions {
    /// Those that it names.
    Exact,
    /// All, if it names one of them.
    Equivalent,
}

impl Versions {
    /// By a `matchPolicy`.
    pub(super) fn of(policy: &Value) -> Self {
        if policy == "Exact" {
            Self::Exact
        } else {
            Self::Equivalent
        }
    }
}

/// The kind of a write, or one that is kept in the same place, that has a rule.
pub(super) fn kind_for(
    versions: Versions,
    kinds: &Kinds,
    of: &Attributes<'_>,
    has_rule: impl Fn(&Kind) -> bool,
) -> Option<Arc<Kind>> {
    let kind = of.kind;
    if has_rule(kind) {
        return kinds
            .find(&kind.group, &kind.version, &kind.resource)
            .cloned();
    }
    if versions == Versions::Exact {
        return None;
    }
    let has_part = |kind: &Kind| {
        let part = of.subresource;
        part.is_none_or(|part| kind.subresource(part).is_some())
    };
    let mut others = kinds.same_resource(kind).filter(|kind| has_part(kind));
    others.find(|kind| has_rule(kind)).cloned()
}

/// Whether a `namespaceSelector` selects the namespace of a write. What is in none is in all, so to speak.
pub(super) fn of_namespace(selector: &Value, subject: &Subject<'_>) -> bool {
    let selected = |object: &Value| selects(selector, object);
    if subject.of.kind.is("", "namespaces") {
        // One that goes is selected by what it was.
        return match subject.new {
            Value::Null => selected(subject.old),
            new => selected(new),
        };
    }
    subject.namespace.is_null() || selected(subject.namespace)
}

/// Whether an `objectSelector` selects what is written, or what it was before.
pub(super) fn of_object(selector: &Value, subject: &Subject<'_>) -> bool {
    Selector::of_object(selector).is_some_and(|selector| {
        let labelled = |object: &Value| !object.is_null() && selector.matches_object(object);
        selector.is_empty() || labelled(subject.new) || labelled(subject.old)
    })
}

/// Whether a rule is about a write, if that is done to this kind.
pub(super) fn of_rule(rule: &Value, of: &Attributes<'_>, kind: &Kind) -> bool {
    let has = |field: &str, value: &str| {
        let all = rule[field].as_array();
        all.into_iter()
            .flatten()
            .any(|one| one == "*" || one == value)
    };
    let scope = match rule["scope"].as_str() {
        Some("Cluster") => !kind.namespaced,
        Some("Namespaced") => kind.namespaced,
        _ => true,
    };
    let only = rule["resourceNames"].as_array();
    let named = only.is_none_or(|only| only.is_empty() || only.iter().any(|one| one == of.name));
    scope
        && named
        && has("operations", of.operation.as_str())
        && has("apiGroups", &kind.group)
        && has("apiVersions", &kind.version)
        && of_resources(rule, of.subresource.unwrap_or_default(), kind)
}

/// `pods`, `pods/status`, `pods/*`, `*/status`, `*` (no part of anything) and `*/*`.
fn of_resources(rule: &Value, wanted: &str, kind: &Kind) -> bool {
    let all = rule["resources"].as_array().into_iter().flatten();
    all.filter_map(Value::as_str).any(|pattern| {
        let (resource, part) = pattern.split_once('/').unwrap_or((pattern, ""));
        (resource == "*" || resource == kind.resource) && (part == "*" || part == wanted)
    })
}

/// Whether a `LabelSelector` selects an object. One that cannot be read selects nothing.
pub(super) fn selects(selector: &Value, object: &Value) -> bool {
    Selector::of_object(selector).is_some_and(|selector| selector.matches_object(object))
}
