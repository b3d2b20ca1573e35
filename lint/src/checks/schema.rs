//! RVL002 and RVL003: the schema of an object's kind.

use reeve_apiserver::{Kind, Kinds, schema};
use serde_json::Value;

use crate::file::join;
use crate::finding::Finding;
use crate::items::{Item, POLICIES, Role, is_templated, text};
use crate::messages;

/// The kinds of policies whose schemas are not known.
const WITHOUT_SCHEMA: [(&str, &str); 3] = [
    ("policy.open-cluster-management.io/v1", "CertificatePolicy"),
    ("policy.open-cluster-management.io/v1", "IamPolicy"),
    // A document of `reeve generate` and of kustomize.
    ("policy.open-cluster-management.io/v1", "PolicyGenerator"),
];

/// The API group of constraints.
const CONSTRAINTS: &str = "constraints.gatekeeper.sh";
/// What Gatekeeper does with the violations of a constraint.
const ENFORCEMENT_ACTIONS: [&str; 4] = ["deny", "warn", "dryrun", "scoped"];

/// Checks an object with the schema of its kind, if that is known.
pub(crate) fn check(item: &Item<'_>, kinds: &Kinds) -> Vec<Finding> {
    if !item.value.is_object() {
        return Vec::new();
    }
    let mut findings = required(item);
    findings.extend(enforcement_action(item));
    let api_version = text(item.value, "/apiVersion");
    let Some(kind) = kinds.of_object(api_version, item.kind()) else {
        findings.extend(no_kind(item, kinds));
        return findings;
    };
    findings.extend(unknown(item, kind));
    // Only a part of a desired object is given: what it lacks, and rules about the whole, do not matter.
    let is_whole = !matches!(item.role, Role::Desired { .. });
    if is_whole && kind.custom.is_some() {
        findings.extend(invalid(item, kind));
    }
    findings
}

/// An action of a constraint that Gatekeeper does not know: it does not enforce such a constraint. The kinds of constraints are made by
/// templates, so they have no schema here.
fn enforcement_action(item: &Item<'_>) -> Option<Finding> {
    const FIELD: &str = "/spec/enforcementAction";
    let action = item.value.pointer(FIELD)?.as_str()?;
    let is_known = ENFORCEMENT_ACTIONS.contains(&action) || action.contains("{{");
    if item.group() != CONSTRAINTS || action.is_empty() || is_known {
        return None;
    }
    let message = messages::enforcement_action(&item.described(), action, &ENFORCEMENT_ACTIONS);
    Some(item.finding(FIELD, "RVL002", message))
}

/// A kind or version of policies that does not exist. Of other groups not all kinds are known.
fn no_kind(item: &Item<'_>, kinds: &Kinds) -> Option<Finding> {
    let api_version = text(item.value, "/apiVersion");
    let kind = item.kind();
    let is_desired = matches!(item.role, Role::Desired { .. });
    let is_known = WITHOUT_SCHEMA.contains(&(api_version, kind));
    let is_templated = kind.contains("{{") || api_version.contains("{{");
    if item.group() != POLICIES || kind.is_empty() || is_desired || is_known || is_templated {
        return None;
    }
    let versions = ["v1", "v1beta1"].map(|version| format!("{POLICIES}/{version}"));
    let other = versions.iter().find(|version| {
        kinds.of_object(version, kind).is_some()
            || WITHOUT_SCHEMA.contains(&(version.as_str(), kind))
    });
    let field = if other.is_some() {
        "/apiVersion"
    } else {
        "/kind"
    };
    let message = messages::no_kind(kind, api_version, other.map(String::as_str));
    Some(item.finding(field, "RVL002", message))
}

/// What every object needs. A key that a template makes may be any.
fn required(item: &Item<'_>) -> Vec<Finding> {
    let mut keys = item
        .value
        .as_object()
        .into_iter()
        .flat_map(|map| map.keys());
    if keys.any(|key| key.contains("{{")) {
        return Vec::new();
    }
    let missing = |field: &str| item.value.pointer(field).and_then(Value::as_str).is_none();
    let fields = [("/apiVersion", "apiVersion"), ("/kind", "kind")];
    let missing = fields.into_iter().filter(|(field, _)| missing(field));
    let missing: Vec<&str> = missing.map(|(_, name)| name).collect();
    match missing.as_slice() {
        [] => Vec::new(),
        some => vec![item.finding("", "RVL001", messages::missing(&some.join(" and ")))],
    }
}

fn unknown(item: &Item<'_>, kind: &Kind) -> Vec<Finding> {
    let Some((types, id)) = &kind.schema else {
        return Vec::new();
    };
    let mut pruned = item.value.clone();
    let unknown = schema::prune(types, *id, &mut pruned).into_iter();
    unknown
        .map(|field| {
            let place = pointer(item.value, &field);
            let message = messages::unknown_field(&item.described(), &field);
            item.finding(&place, "RVL003", message)
        })
        .collect()
}

fn invalid(item: &Item<'_>, kind: &Kind) -> Vec<Finding> {
    let Some((types, id)) = &kind.schema else {
        return Vec::new();
    };
    let mut value = applied(item);
    schema::default(types, *id, &mut value);
    let errors = schema::validate(types, *id, &value, None).into_iter();
    errors
        .filter_map(|error| {
            let place = pointer(item.value, &error.field);
            let is_made = item.value.pointer(&place).is_some_and(is_templated);
            // What a template makes is not known, and neither is the result of rules about it.
            let is_rule = error.field == "<nil>" && is_templated(item.value);
            // The reasons are the other errors.
            let is_about_others = error
                .message
                .contains("some validation rules were not checked");
            if is_made && !place.is_empty() || is_rule || is_about_others {
                return None;
            }
            let message = messages::invalid(&item.described(), &error.field, &error.message);
            Some(item.finding(&place, "RVL002", message))
        })
        .collect()
}

/// The object as the framework add-on applies it: a template that is to inform only informs, whatever its policy has.
fn applied(item: &Item<'_>) -> Value {
    let mut value = item.value.clone();
    if matches!(item.role, Role::Template)
        && let Some(action) = value.pointer_mut("/spec/remediationAction")
        && action
            .as_str()
            .is_some_and(|action| action.eq_ignore_ascii_case("informOnly"))
    {
        *action = Value::from("inform");
    }
    value
}

/// The pointer to a field such as `spec.containers[0].name`, as far as the object has it.
fn pointer(object: &Value, field: &str) -> String {
    let mut value = object;
    let mut pointer = String::new();
    let mut rest = field.trim_start_matches('.');
    while !rest.is_empty() {
        let step = if let Some(inner) = rest.strip_prefix('[') {
            let (index, after) = inner.split_once(']').unwrap_or((inner, ""));
            rest = after.trim_start_matches('.');
            index.to_owned()
        } else {
            let key = key(value, rest);
            rest = rest
                .get(key.len()..)
                .unwrap_or_default()
                .trim_start_matches('.');
            key
        };
        let next = match value {
            Value::Array(items) => step.parse().ok().and_then(|index: usize| items.get(index)),
            Value::Object(fields) => fields.get(&step),
            _ => None,
        };
        let Some(next) = next else { break };
        pointer = join(&pointer, &step);
        value = next;
    }
    pointer
}

/// The key that a path goes on with: the longest one of the value, as keys may have dots.
fn key(value: &Value, rest: &str) -> String {
    let keys = value.as_object().into_iter().flatten().map(|(key, _)| key);
    let begins = |key: &&String| {
        rest.strip_prefix(key.as_str())
            .is_some_and(|after| after.is_empty() || after.starts_with(['.', '[']))
    };
    let longest = keys.filter(begins).max_by_key(|key| key.len());
    let first = || rest.split(['.', '[']).next().unwrap_or(rest).to_owned();
    longest.cloned().unwrap_or_else(first)
}
