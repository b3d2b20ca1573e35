//! RVL004 and RVL005: names.

use std::collections::HashMap;

use reeve_go_compat::labels::{is_dns_label, is_dns_subdomain, key_errors, value_errors};
use serde_json::Value;

use crate::file::join;
use crate::finding::Finding;
use crate::items::{Item, POLICIES, Role, is_templated};
use crate::messages;

/// The longest name of a policy with its namespace and the dot between them.
const POLICY_NAME: usize = 62;

/// Checks the names, labels and keys of annotations of an object.
pub(crate) fn check(item: &Item<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let name = item.name();
    if !name.is_empty() && !name.contains("{{") && !is_dns_subdomain(name) && !takes_any_name(item)
    {
        let message = messages::not_a_name(&item.described());
        findings.push(item.finding("/metadata/name", "RVL004", message));
    }
    let namespace = item.namespace();
    if !namespace.is_empty() && !namespace.contains("{{") && !is_dns_label(namespace) {
        let message = messages::not_a_namespace(&item.described(), namespace);
        findings.push(item.finding("/metadata/namespace", "RVL004", message));
    }
    let is_document = matches!(item.role, Role::Document);
    let is_given = |field: &str| match item.value.pointer(field) {
        None | Some(Value::Null) => false,
        Some(Value::String(text)) => !text.is_empty(),
        // RVL102 is about values that must be text.
        Some(_) => true,
    };
    let has_no_name = !is_given("/metadata/name") && !is_given("/metadata/generateName");
    if has_no_name && is_document && !item.kind().is_empty() {
        findings.push(item.finding("", "RVL004", messages::no_name(item.kind())));
    }
    let length = name.chars().count() + item.namespace().chars().count();
    if is_document && item.is(POLICIES, "Policy") && length > POLICY_NAME {
        let message = messages::policy_name(&item.described(), length);
        findings.push(item.finding("/metadata/name", "RVL004", message));
    }
    findings.extend(labels(item));
    findings
}

/// RBAC objects may have names that others may not.
fn takes_any_name(item: &Item<'_>) -> bool {
    matches!(
        item.group(),
        "rbac.authorization.k8s.io"
            | "apiregistration.k8s.io"
            // OpenShift's aggregated API servers validate their own names, as of the
            // Group "system:cluster-admins" and of the ImageStreamTag "app:1.0".
            | "authorization.openshift.io"
            | "image.openshift.io"
            | "oauth.openshift.io"
            | "user.openshift.io"
    )
}

fn labels(item: &Item<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for place in ["labels", "annotations"] {
        let at = format!("/metadata/{place}");
        let fields = item.value.pointer(&at).and_then(Value::as_object);
        for (key, value) in fields.into_iter().flatten() {
            if key.contains("{{") || is_templated(value) {
                continue;
            }
            let text = value.as_str().unwrap_or_default();
            let mut errors = key_errors(key);
            if place == "labels" {
                errors.extend(value_errors(text));
            }
            if let Some(error) = errors.first() {
                let message = messages::label(&item.described(), place, key, text, error);
                findings.push(item.finding(&join(&at, key), "RVL004", message));
            }
        }
    }
    findings
}

/// Objects with the same kind and name: documents among each other, and the templates of policies, which end up in the
/// same namespace of a cluster.
pub(crate) fn duplicates(items: &[Item<'_>]) -> Vec<Finding> {
    let mut seen: HashMap<[&str; 5], &Item<'_>> = HashMap::new();
    let mut findings = Vec::new();
    for item in items {
        let scope = match item.role {
            Role::Document => "document",
            Role::Template => "template",
            Role::Desired { .. } => continue,
        };
        if item.name().is_empty() || item.name().contains("{{") {
            continue;
        }
        let key = [
            scope,
            item.group(),
            item.kind(),
            item.namespace(),
            item.name(),
        ];
        match seen.get(&key) {
            None => {
                seen.insert(key, item);
            }
            Some(first) => {
                let line = first
                    .finding("/metadata/name", "RVL005", String::new())
                    .line;
                let message = messages::duplicate(&item.described(), &first.file.path, line);
                findings.push(item.finding("/metadata/name", "RVL005", message));
            }
        }
    }
    findings
}
