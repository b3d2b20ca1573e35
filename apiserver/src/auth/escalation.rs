//! The escalation check: users cannot grant rights that they do not have.

use reeve_go_compat::runes::quote;
use serde_json::Value;

use super::rbac::ROLES;
use super::{AccessRequest, Authorizer};
use crate::identity::Identity;
use crate::kinds::Kind;
use crate::meta;
use crate::status_error::StatusError;

impl Authorizer<'_> {
    /// Refuses a role, or a binding to one, that gives more than the writer has: unless the writer may escalate, or bind
    /// that role, or nothing of it has changed.
    pub(crate) fn check_escalation(
        &self,
        user: &Identity,
        kind: &Kind,
        new: &Value,
        old: Option<&Value>,
    ) -> Result<(), StatusError> {
        if kind.group != ROLES || !self.is_enabled() {
            return Ok(());
        }
        let namespace = meta::text(new, "namespace");
        let same = |field: &str| old.is_some_and(|old| old.get(field) == new.get(field));
        let name = meta::text(new, "name");
        let rules = match kind.resource.as_str() {
            "roles" | "clusterroles" => {
                if same("rules") && same("aggregationRule") {
                    return Ok(());
                }
                if self.may(user, &asked("escalate", &kind.resource, namespace, name)) {
                    return Ok(());
                }
                let mut rules = list(new, "rules");
                // An aggregated role may get any rule later.
                if new
                    .get("aggregationRule")
                    .is_some_and(|rule| !rule.is_null())
                {
                    rules.push(serde_json::json!({ "verbs": ["*"], "apiGroups": ["*"], "resources": ["*"] }));
                }
                rules
            }
            "rolebindings" | "clusterrolebindings" => {
                if same("roleRef") && same("subjects") {
                    return Ok(());
                }
                let text = |path: &str| {
                    new.pointer(path)
                        .and_then(Value::as_str)
                        .unwrap_or_default()
                };
                let role = text("/roleRef/name");
                let (resource, of) = match text("/roleRef/kind") {
                    "ClusterRole" => ("clusterroles", ""),
                    _ => ("roles", namespace),
                };
                if self.may(user, &asked("bind", resource, namespace, role)) {
                    return Ok(());
                }
                self.rules_of_role(resource, of, role)
            }
            _ => return Ok(()),
        };
        let missing = rules
            .iter()
            .any(|rule| !self.has_all(user, rule, namespace));
        if !missing {
            return Ok(());
        }
        let groups: Vec<String> = user.groups.iter().map(quote).collect();
        let why = format!(
            "user {} (groups=[{}]) is attempting to grant RBAC permissions not currently held",
            quote(&user.user),
            groups.join(" ")
        );
        Err(StatusError::forbidden(&kind.group_resource(), name, &why))
    }

    /// Whether a user has every right of a rule.
    fn has_all(&self, user: &Identity, rule: &Value, namespace: &str) -> bool {
        let verbs = texts(rule, "verbs");
        let every = |check: &dyn Fn(&str) -> bool| verbs.iter().all(|verb| check(verb));
        let of_paths = texts(rule, "nonResourceURLs").iter().all(|path| {
            every(&|verb| {
                let path = Some(path.clone());
                self.may(
                    user,
                    &AccessRequest {
                        verb: verb.to_owned(),
                        path,
                        ..AccessRequest::default()
                    },
                )
            })
        });
        let mut names = texts(rule, "resourceNames");
        if names.is_empty() {
            names.push(String::new());
        }
        let of_resources = texts(rule, "apiGroups").iter().all(|group| {
            texts(rule, "resources").iter().all(|resource| {
                names.iter().all(|name| {
                    every(&|verb| {
                        let asked = AccessRequest {
                            verb: verb.to_owned(),
                            group: group.clone(),
                            resource: resource.clone(),
                            namespace: namespace.to_owned(),
                            name: name.clone(),
                            path: None,
                        };
                        self.may(user, &asked)
                    })
                })
            })
        });
        of_paths && of_resources
    }
}

fn asked(verb: &str, resource: &str, namespace: &str, name: &str) -> AccessRequest {
    AccessRequest {
        verb: verb.to_owned(),
        group: ROLES.to_owned(),
        resource: resource.to_owned(),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        path: None,
    }
}

fn list(object: &Value, field: &str) -> Vec<Value> {
    let list = object.get(field).and_then(Value::as_array);
    list.cloned().unwrap_or_default()
}

fn texts(rule: &Value, field: &str) -> Vec<String> {
    let list = rule.get(field).and_then(Value::as_array);
    let texts = list.into_iter().flatten().filter_map(Value::as_str);
    texts.map(str::to_owned).collect()
}
