//! RBAC: authorization by roles and their bindings.

use reeve_go_compat::runes::quote;
use serde_json::Value;

use crate::identity::Identity;
use crate::status_error::{GroupResource, StatusError};
use crate::store::{Key, Store};

/// A request as the authorizer sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AccessRequest {
    pub(crate) verb: String,
    pub(crate) group: String,
    /// The resource, with its subresource after a slash.
    pub(crate) resource: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// The path, of what is no resource.
    pub(crate) path: Option<String>,
}

/// The decision about a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Decision {
    pub(crate) allowed: bool,
    /// The binding that allows it, or the error; empty if there is neither.
    pub(crate) reason: String,
}

/// The maximum depth of aggregated roles: `admin` aggregates `edit`, which aggregates `view`.
const GATHERINGS: u8 = 4;
pub(super) const ROLES: &str = "rbac.authorization.k8s.io";

/// Decides by roles and their bindings what users may do.
#[derive(Clone, Copy)]
pub(crate) struct Authorizer<'a> {
    store: &'a Store,
    /// Without it every user may do everything.
    rbac: bool,
}

impl<'a> Authorizer<'a> {
    pub(crate) fn new(store: &'a Store, rbac: bool) -> Self {
        Self { store, rbac }
    }

    pub(super) fn is_enabled(&self) -> bool {
        self.rbac
    }

    /// Whether a user may do something.
    pub(crate) fn may(&self, user: &Identity, asked: &AccessRequest) -> bool {
        self.decide(user, asked).allowed
    }

    /// Decides about a request, with the binding that allows it.
    pub(crate) fn decide(&self, user: &Identity, asked: &AccessRequest) -> Decision {
        if !self.rbac || user.groups.iter().any(|group| group == "system:masters") {
            return Decision {
                allowed: true,
                reason: String::new(),
            };
        }
        let mut missing = Vec::new();
        let of_cluster = self.bindings_of_cluster();
        let here = self.bindings_in(&asked.namespace);
        let of_cluster = of_cluster.iter().map(|binding| (binding, ""));
        let here = here
            .iter()
            .map(|binding| (binding, asked.namespace.as_str()));
        for (binding, namespace) in of_cluster.chain(here) {
            let Some(subject) = meant(binding, user, namespace) else {
                continue;
            };
            match self.role_of(binding, namespace) {
                Some(rules) if rules.iter().any(|rule| rule_allows(rule, asked)) => {
                    return Decision {
                        allowed: true,
                        reason: by_binding(binding, subject, namespace),
                    };
                }
                Some(_) => {}
                None => missing.push(missing_role(binding)),
            }
        }
        missing.dedup();
        let reason = match missing.as_slice() {
            [] => String::new(),
            [one] => format!("RBAC: {one}"),
            many => format!("RBAC: [{}]", many.join(", ")),
        };
        Decision {
            allowed: false,
            reason,
        }
    }

    /// The rules of a user in a namespace and in the whole cluster.
    pub(crate) fn rules_for(&self, user: &Identity, namespace: &str) -> Vec<Value> {
        let of_cluster = self.bindings_of_cluster();
        let everywhere = of_cluster
            .iter()
            .flat_map(|binding| self.rules_of(binding, user, ""));
        let here = self.bindings_in(namespace);
        let here = here
            .iter()
            .flat_map(|binding| self.rules_of(binding, user, namespace));
        everywhere.chain(here).collect()
    }

    fn bindings_of_cluster(&self) -> Vec<Value> {
        let all = self.store.all(&format!("{ROLES}/clusterrolebindings"));
        all.iter().map(|(_, binding)| binding.value()).collect()
    }

    fn bindings_in(&self, namespace: &str) -> Vec<Value> {
        if namespace.is_empty() {
            return Vec::new();
        }
        let table = format!("{ROLES}/rolebindings");
        let bindings = self.store.all_in(&table, Some(namespace));
        bindings.iter().map(|(_, one)| one.value()).collect()
    }

    /// Whether a user may do something to a cluster-scoped resource, or in all namespaces.
    pub(crate) fn allows(
        &self,
        user: &Identity,
        verb: &str,
        group: &str,
        resource: &str,
        name: &str,
    ) -> bool {
        self.may(
            user,
            &AccessRequest {
                verb: verb.to_owned(),
                group: group.to_owned(),
                resource: resource.to_owned(),
                name: name.to_owned(),
                ..AccessRequest::default()
            },
        )
    }

    /// Refuses a request that is not allowed.
    pub(crate) fn check_right(
        &self,
        user: &Identity,
        asked: &AccessRequest,
    ) -> Result<(), StatusError> {
        let decision = self.decide(user, asked);
        if decision.allowed {
            return Ok(());
        }
        Err(refusal(user, asked, &decision.reason))
    }

    /// The rules that a binding grants to a user.
    fn rules_of(&self, binding: &Value, user: &Identity, namespace: &str) -> Vec<Value> {
        if meant(binding, user, namespace).is_none() {
            return Vec::new();
        }
        self.role_of(binding, namespace).unwrap_or_default()
    }

    /// The rules of the role of a binding, if there is that role.
    fn role_of(&self, binding: &Value, namespace: &str) -> Option<Vec<Value>> {
        let role = &binding["roleRef"];
        let (resource, of) = match role["kind"].as_str() {
            Some("ClusterRole") => ("clusterroles", ""),
            _ => ("roles", namespace),
        };
        self.known_rules(resource, of, role["name"].as_str().unwrap_or_default())
    }

    /// The rules of a role; of one that gathers others', theirs.
    pub(super) fn rules_of_role(&self, resource: &str, namespace: &str, name: &str) -> Vec<Value> {
        self.known_rules(resource, namespace, name)
            .unwrap_or_default()
    }

    fn known_rules(&self, resource: &str, namespace: &str, name: &str) -> Option<Vec<Value>> {
        let table = format!("{ROLES}/{resource}");
        let role = self.store.get(&table, &Key::new(namespace, name))?;
        Some(self.gathered(&table, &role.value(), GATHERINGS))
    }

    /// The rules of a role, and of those that it gathers, so many steps down.
    fn gathered(&self, table: &str, role: &Value, steps: u8) -> Vec<Value> {
        let list = |path: &str| role.pointer(path).and_then(Value::as_array);
        let mut rules = list("/rules").cloned().unwrap_or_default();
        let selectors = list("/aggregationRule/clusterRoleSelectors");
        let Some(steps) = steps.checked_sub(1) else {
            return rules;
        };
        for selector in selectors.into_iter().flatten() {
            let wanted = selector.get("matchLabels").and_then(Value::as_object);
            // Only what is selected by labels: an empty selector would be everything.
            let Some(wanted) = wanted.filter(|wanted| !wanted.is_empty()) else {
                continue;
            };
            for (_, other) in self.store.all(table) {
                let has = |(key, value): (&String, &Value)| other.labels.get(key) == value.as_str();
                if wanted.iter().all(has) {
                    rules.extend(self.gathered(table, &other.value(), steps));
                }
            }
        }
        rules
    }
}

/// The subject of a binding that matches a user.
fn meant<'a>(binding: &'a Value, user: &Identity, namespace: &str) -> Option<&'a Value> {
    let mut subjects = binding["subjects"].as_array().into_iter().flatten();
    subjects.find(|subject| is_meant(subject, user, namespace))
}

/// The reason for an allowed request, in the words of a kube-apiserver.
fn by_binding(binding: &Value, subject: &Value, namespace: &str) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let name = crate::meta::text(binding, "name");
    let role = &binding["roleRef"];
    let binding = if namespace.is_empty() {
        format!("ClusterRoleBinding {}", quote(name))
    } else {
        format!("RoleBinding {}", quote(format!("{name}/{namespace}")))
    };
    let who = match (text(&subject["kind"]).as_str(), text(&subject["namespace"])) {
        ("ServiceAccount", of) => {
            let of = if of.is_empty() {
                namespace.to_owned()
            } else {
                of
            };
            format!("{}/{of}", text(&subject["name"]))
        }
        _ => text(&subject["name"]),
    };
    format!(
        "RBAC: allowed by {binding} of {} {} to {} {}",
        text(&role["kind"]),
        quote(text(&role["name"])),
        text(&subject["kind"]),
        quote(&who)
    )
}

/// The message for a binding whose role does not exist.
fn missing_role(binding: &Value) -> String {
    let role = &binding["roleRef"];
    let text = |field: &str| role[field].as_str().unwrap_or_default();
    format!(
        "{}.{ROLES} {} not found",
        text("kind").to_lowercase(),
        quote(text("name"))
    )
}

fn is_meant(subject: &Value, user: &Identity, namespace: &str) -> bool {
    let text = |key: &str| subject.get(key).and_then(Value::as_str).unwrap_or_default();
    let name = text("name");
    match text("kind") {
        "User" => name == user.user,
        "Group" => user.groups.iter().any(|group| group == name),
        "ServiceAccount" => {
            let of = match text("namespace") {
                "" => namespace,
                given => given,
            };
            user.user == format!("system:serviceaccount:{of}:{name}")
        }
        _ => false,
    }
}

fn rule_allows(rule: &Value, asked: &AccessRequest) -> bool {
    let list = |key: &str| {
        let list = rule.get(key).and_then(Value::as_array);
        list.into_iter().flatten().filter_map(Value::as_str)
    };
    if !list("verbs").any(|verb| verb == "*" || verb == asked.verb) {
        return false;
    }
    if let Some(path) = &asked.path {
        return list("nonResourceURLs").any(|url| match url.strip_suffix('*') {
            Some(start) => path.starts_with(start),
            None => url == path,
        });
    }
    let names: Vec<&str> = list("resourceNames").collect();
    list("apiGroups").any(|group| group == "*" || group == asked.group)
        && list("resources").any(|resource| resource_matches(resource, &asked.resource))
        && (names.is_empty() || (!asked.name.is_empty() && names.contains(&asked.name.as_str())))
}

fn resource_matches(rule: &str, resource: &str) -> bool {
    if rule == "*" || rule == resource {
        return true;
    }
    match (rule.strip_prefix("*/"), resource.split_once('/')) {
        (Some(part), Some((_, subresource))) => part == subresource,
        _ => false,
    }
}

fn refusal(user: &Identity, asked: &AccessRequest, reason: &str) -> StatusError {
    let who = quote(&user.user);
    if let Some(path) = &asked.path {
        let mut failure = StatusError::forbidden(
            &GroupResource::default(),
            "",
            &format!("User {who} cannot {} path {}", asked.verb, quote(path)),
        );
        failure.message = format!(
            "forbidden: User {who} cannot {} path {}",
            asked.verb,
            quote(path)
        );
        failure.details = Some(serde_json::json!({}));
        return failure;
    }
    let place = if asked.namespace.is_empty() {
        " at the cluster scope".to_owned()
    } else {
        format!(" in the namespace {}", quote(&asked.namespace))
    };
    let because = if reason.is_empty() {
        String::new()
    } else {
        format!(": {reason}")
    };
    let why = format!(
        "User {who} cannot {} resource {} in API group {}{place}{because}",
        asked.verb,
        quote(&asked.resource),
        quote(&asked.group)
    );
    let resource = asked.resource.split('/').next().unwrap_or_default();
    StatusError::forbidden(
        &GroupResource::new(&asked.group, resource),
        &asked.name,
        &why,
    )
}
