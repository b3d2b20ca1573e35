//! `spec.match` of constraints: which objects a constraint is for (GK-109).

use reeve_go_compat::labels::Selector;

use crate::Json;
use crate::messages;

/// Where an object comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// From a user or a cluster.
    Original,
    /// From an expansion.
    Generated,
}

/// An object to be matched.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// The object.
    pub object: &'a Json,
    /// Its Namespace, where the caller has it. An empty object counts as a Namespace without a name.
    pub namespace: Option<&'a Json>,
    /// Where it comes from; an error for constraints that ask for it when it is not known.
    pub source: Option<Source>,
}

/// `spec.match`, read once.
#[derive(Clone, Debug, Default)]
pub struct Match {
    is_given: bool,
    kinds: Vec<KindEntry>,
    scope: Option<String>,
    namespaces: Vec<String>,
    excluded_namespaces: Vec<String>,
    labels: Option<Selector>,
    namespace_labels: Option<Selector>,
    name: Option<String>,
    source: Option<String>,
}

/// An entry of `spec.match.kinds`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KindEntry {
    /// Groups; empty or `*` means any.
    pub groups: Vec<String>,
    /// Kinds; empty or `*` means any.
    pub kinds: Vec<String>,
}

impl KindEntry {
    /// Whether a kind of a group is meant.
    pub fn matches(&self, group: &str, kind: &str) -> bool {
        is_any_or_listed(&self.groups, group) && is_any_or_listed(&self.kinds, kind)
    }
}

fn is_any_or_listed(list: &[String], value: &str) -> bool {
    list.is_empty() || list.iter().any(|one| one == "*" || one == value)
}

/// A wildcard of `spec.match`: an asterisk at the begin, at the end or at both.
pub fn wildcard_matches(pattern: &str, value: &str) -> bool {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(rest), Some(_)) => value.contains(rest.strip_suffix('*').unwrap_or(rest)),
        (Some(suffix), None) => value.ends_with(suffix),
        (None, Some(prefix)) => value.starts_with(prefix),
        (None, None) => pattern == value,
    }
}

fn generate_name_matches(pattern: &str, value: &str) -> bool {
    pattern.ends_with('*') && !value.is_empty() && wildcard_matches(pattern, value)
}

impl Match {
    /// Reads `spec.match` of a constraint that has been validated.
    pub fn of_spec(spec: &Json) -> Self {
        let member = &spec["match"];
        let selector = |name: &str| {
            let selector = &member[name];
            selector
                .is_object()
                .then(|| Selector::of_object(selector))?
        };
        let text = |name: &str| {
            let text = member[name].as_str().unwrap_or_default();
            (!text.is_empty()).then(|| text.to_owned())
        };
        Self {
            is_given: !member.is_null(),
            kinds: list(&member["kinds"])
                .map(|entry| KindEntry {
                    groups: texts(&entry["apiGroups"]),
                    kinds: texts(&entry["kinds"]),
                })
                .collect(),
            scope: text("scope"),
            namespaces: texts(&member["namespaces"]),
            excluded_namespaces: texts(&member["excludedNamespaces"]),
            labels: selector("labelSelector"),
            namespace_labels: selector("namespaceSelector"),
            name: text("name"),
            source: text("source"),
        }
    }

    /// The entries of `kinds`; none means every kind.
    pub fn kinds(&self) -> &[KindEntry] {
        &self.kinds
    }

    /// Whether a kind may match at all.
    pub fn matches_kind(&self, group: &str, kind: &str) -> bool {
        self.kinds.is_empty() || self.kinds.iter().any(|entry| entry.matches(group, kind))
    }

    /// Whether the labels of Namespaces matter.
    pub fn needs_namespace(&self) -> bool {
        self.namespace_labels.is_some()
    }

    /// Whether the object matches; the error is the text of the violation that rejects it.
    pub fn matches(&self, target: &Target<'_>) -> Result<bool, String> {
        if !self.is_given {
            return Ok(true);
        }
        if !is_decodable(target.object) {
            return Err(messages::undecodable_object(&target.object.to_string()));
        }
        self.decide(target).map_err(|cause| {
            let name = target.object["metadata"]["name"].as_str();
            messages::match_error(name.unwrap_or_default(), &cause)
        })
    }

    fn decide(&self, target: &Target<'_>) -> Result<bool, String> {
        let object = target.object;
        let (group, kind) = group_and_kind(object);
        let is_namespace = group.is_empty() && kind == "Namespace";
        let is_namespaced = !own_namespace(object).is_empty() || target.namespace.is_some();
        Ok(self.matches_kind(group, kind)
            && self.matches_scope(is_namespace, is_namespaced)
            && self.matches_namespaces(target, is_namespace)
            && self
                .labels
                .as_ref()
                .is_none_or(|labels| labels.matches_object(object))
            && self.matches_namespace_labels(target, is_namespace, is_namespaced)?
            && self.matches_name(object)
            && self.matches_source(target)?)
    }

    fn matches_scope(&self, is_namespace: bool, is_namespaced: bool) -> bool {
        match self.scope.as_deref() {
            Some("Cluster") => is_namespace || !is_namespaced,
            Some("Namespaced") => !is_namespace && is_namespaced,
            _ => true,
        }
    }

    fn matches_namespaces(&self, target: &Target<'_>, is_namespace: bool) -> bool {
        let name = match target.namespace {
            _ if is_namespace => own_name(target.object),
            Some(namespace) => own_name(namespace),
            None if own_namespace(target.object).is_empty() => return true,
            None => own_namespace(target.object),
        };
        let listed = |patterns: &[String]| patterns.iter().any(|one| wildcard_matches(one, name));
        (self.namespaces.is_empty() || listed(&self.namespaces))
            && !listed(&self.excluded_namespaces)
    }

    fn matches_namespace_labels(
        &self,
        target: &Target<'_>,
        is_namespace: bool,
        is_namespaced: bool,
    ) -> Result<bool, String> {
        let Some(selector) = &self.namespace_labels else {
            return Ok(true);
        };
        if is_namespace {
            return Ok(selector.matches_object(target.object));
        }
        if !is_namespaced {
            return Ok(true);
        }
        target
            .namespace
            .map(|namespace| selector.matches_object(namespace))
            .ok_or_else(|| messages::NAMESPACE_UNKNOWN.to_owned())
    }

    fn matches_name(&self, object: &Json) -> bool {
        let Some(pattern) = &self.name else {
            return true;
        };
        let generate_name = object["metadata"]["generateName"].as_str();
        wildcard_matches(pattern, own_name(object))
            || generate_name_matches(pattern, generate_name.unwrap_or_default())
    }

    fn matches_source(&self, target: &Target<'_>) -> Result<bool, String> {
        let wanted = match self.source.as_deref() {
            None | Some("All") => return Ok(true),
            Some("Original") => Source::Original,
            Some("Generated") => Source::Generated,
            Some(other) => return Err(messages::invalid_source(other)),
        };
        match target.source {
            Some(source) => Ok(source == wanted),
            None => Err(messages::source_unknown(own_name(target.object))),
        }
    }
}

fn list(value: &Json) -> impl Iterator<Item = &Json> {
    value.as_array().into_iter().flatten()
}

fn texts(value: &Json) -> Vec<String> {
    list(value)
        .filter_map(|one| one.as_str().map(str::to_owned))
        .collect()
}

pub(crate) fn own_name(object: &Json) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

pub(crate) fn own_namespace(object: &Json) -> &str {
    object["metadata"]["namespace"].as_str().unwrap_or_default()
}

/// Whether an object says what it is, so that it can be decoded.
fn is_decodable(object: &Json) -> bool {
    let kind = object["kind"].as_str().unwrap_or_default();
    let version = object["apiVersion"].as_str().unwrap_or_default();
    !kind.is_empty() && version.matches('/').count() < 2
}

/// The group of `apiVersion`, and `kind`; both empty where the version is none.
pub(crate) fn group_and_kind(object: &Json) -> (&str, &str) {
    let version = object["apiVersion"].as_str().unwrap_or_default();
    if version.matches('/').count() > 1 {
        return ("", "");
    }
    let group = version.split_once('/').map_or("", |(group, _)| group);
    (group, object["kind"].as_str().unwrap_or_default())
}

#[cfg(test)]
#[path = "matching_tests.rs"]
mod tests;
