//! Roles and their bindings.

use serde_json::json;

use super::common;
use super::field::{Errors, FieldValue};
use crate::names;
use crate::status_error::{Cause, FieldError};

const GROUP: &str = "rbac.authorization.k8s.io";

/// A Role or `ClusterRole`.
pub(super) fn role(namespaced: bool, object: &FieldValue<'_>, errors: &mut Errors) {
    for rule in object.get("rules").items() {
        self::rule(namespaced, &rule, errors);
    }
    let aggregation = object.get("aggregationRule");
    if !aggregation.is_set() {
        return;
    }
    let selectors = aggregation.get("clusterRoleSelectors");
    if selectors.is_empty() {
        errors.push(
            selectors.required(
                "at least one clusterRoleSelector required if aggregationRule is non-nil",
            ),
        );
    }
    for selector in selectors.items() {
        let before = errors.len();
        common::selector(&selector, errors);
        if errors.len() > before {
            let nothing = serde_json::Value::Null;
            errors.push(selector.with(&nothing).invalid("invalid label selector."));
        }
    }
}

fn rule(namespaced: bool, rule: &FieldValue<'_>, errors: &mut Errors) {
    let has = |field: &str| !rule.get(field).is_empty();
    let mut require = |field: &str, why: &str| {
        if !has(field) {
            errors.push(rule.get(field).required(why));
        }
    };
    require("verbs", "verbs must contain at least one value");
    let paths = rule.get("nonResourceURLs");
    if paths.is_empty() {
        require(
            "apiGroups",
            "resource rules must supply at least one api group",
        );
        require(
            "resources",
            "resource rules must supply at least one resource",
        );
        return;
    }
    if namespaced {
        errors.push(paths.invalid("namespaced rules cannot apply to non-resource URLs"));
    }
    if ["apiGroups", "resources", "resourceNames"]
        .into_iter()
        .any(has)
    {
        let why = "rules cannot apply to both regular resources and non-resource URLs";
        errors.push(paths.invalid(why));
    }
}

/// A `RoleBinding` or `ClusterRoleBinding`.
pub(super) fn binding(
    namespaced: bool,
    object: &FieldValue<'_>,
    old: Option<&FieldValue<'_>>,
    errors: &mut Errors,
) {
    let role = object.get("roleRef");
    let group = role.get("apiGroup");
    if group.text() != GROUP {
        errors.push(group.unsupported(&[GROUP]));
    }
    let kinds: &[&str] = if namespaced {
        &["Role", "ClusterRole"]
    } else {
        &["ClusterRole"]
    };
    let kind = role.get("kind");
    if !kinds.contains(&kind.text()) {
        errors.push(kind.unsupported(kinds));
    }
    super::field::required_name(&role.get("name"), names::path_segment, errors);
    for subject in object.get("subjects").items() {
        self::subject(namespaced, &subject, errors);
    }
    if let Some(old) = old
        && role.value != old.get("roleRef").value
    {
        let of = |field: &str| role.get(field).value.clone();
        // Shown as the server's own type.
        let shown = json!({ "APIGroup": of("apiGroup"), "Kind": of("kind"), "Name": of("name") });
        errors.push(FieldError::of_value(
            Cause::Invalid,
            "roleRef",
            &shown,
            "cannot change roleRef",
        ));
    }
}

fn subject(namespaced: bool, subject: &FieldValue<'_>, errors: &mut Errors) {
    let (name, group) = (subject.get("name"), subject.get("apiGroup"));
    if name.is_empty() {
        errors.push(name.required(""));
    }
    let expected = match subject.get("kind").text() {
        "ServiceAccount" => {
            super::field::optional_name(&name, names::subdomain, errors);
            let namespace = subject.get("namespace");
            if !namespaced && namespace.is_empty() {
                errors.push(namespace.required(""));
            }
            ""
        }
        "User" | "Group" => GROUP,
        _ => {
            let kinds = ["ServiceAccount", "User", "Group"];
            errors.push(subject.get("kind").unsupported(&kinds));
            return;
        }
    };
    if group.text() != expected {
        errors.push(group.unsupported(&[expected]));
    }
}
