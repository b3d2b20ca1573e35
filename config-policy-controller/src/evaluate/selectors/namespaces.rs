//! Which namespaces a selector chooses. Pure.

use std::collections::BTreeMap;
use std::sync::Arc;

use reeve_api::configuration_policy::NamespaceSelector;
use reeve_go_compat::labels::Selector;
use serde_json::Value;

mod pattern;

use crate::evaluate::selectors::labels::{self, LabelError};
use pattern::Pattern;

/// The names of the namespaces that a policy's selector chose, sorted, or why none could be chosen.
pub type SelectedNamespaces = Result<Arc<[String]>, SelectorError>;

/// The fields of a Namespace that selectors read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Namespace {
    /// The name.
    pub name: String,
    /// The labels.
    pub labels: BTreeMap<String, String>,
    /// It is being deleted.
    pub terminating: bool,
}

impl Namespace {
    /// From a Namespace object.
    pub fn of(object: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let labels = object
            .pointer("/metadata/labels")
            .and_then(Value::as_object);
        let labels = labels.into_iter().flatten();
        Self {
            name: object
                .pointer("/metadata/name")
                .map(text)
                .unwrap_or_default(),
            labels: labels
                .map(|(key, value)| (key.clone(), text(value)))
                .collect(),
            terminating: object.pointer("/metadata/deletionTimestamp").is_some(),
        }
    }
}

/// What becomes of namespaces that are being deleted, where the policy leaves it open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TerminatingInclusion {
    /// They are chosen like others.
    IfMatch,
    /// They are left out.
    Drop,
}

impl TerminatingInclusion {
    /// Reads the flag.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "IfMatch" => Some(Self::IfMatch),
            "Drop" => Some(Self::Drop),
            _ => None,
        }
    }
}

/// Why a selector cannot be evaluated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectorError {
    /// The labels make no sense.
    #[error("error parsing namespace LabelSelector: {0}")]
    Labels(LabelError),
    /// A pattern makes no sense.
    #[error("error parsing '{field}' pattern '{pattern}': syntax error in pattern")]
    Pattern {
        /// `include` or `exclude`.
        field: &'static str,
        /// The pattern.
        pattern: String,
    },
}

/// A selector that makes sense.
#[derive(Debug, Clone)]
pub struct NamespaceMatcher {
    labels: Selector,
    include: Vec<Pattern>,
    exclude: Vec<Pattern>,
    keeps_terminating: bool,
}

impl NamespaceMatcher {
    /// Reads a selector.
    pub fn new(
        selector: &NamespaceSelector,
        default: TerminatingInclusion,
    ) -> Result<Self, SelectorError> {
        let labels = labels::of_namespaces(selector).map_err(SelectorError::Labels)?;
        let has_labels = selector.match_labels.is_some() || selector.match_expressions.is_some();
        let mut include = patterns("include", selector.include.as_deref())?;
        let exclude = patterns("exclude", selector.exclude.as_deref())?;
        // Labels alone choose by labels; exclusion alone chooses nothing.
        if include.is_empty() && has_labels {
            include.push(Pattern::anything());
        }
        let keeps_terminating = match selector.terminating_inclusion.as_deref() {
            Some("IfMatch") => true,
            Some("Never") => false,
            _ => default == TerminatingInclusion::IfMatch,
        };
        Ok(Self {
            labels,
            include,
            exclude,
            keeps_terminating,
        })
    }

    /// Whether a namespace is chosen.
    pub fn matches(&self, namespace: &Namespace) -> bool {
        let named = |patterns: &[Pattern]| {
            patterns
                .iter()
                .any(|pattern| pattern.matches(&namespace.name))
        };
        let label = |key: &str| namespace.labels.get(key).map(String::as_str);
        (self.keeps_terminating || !namespace.terminating)
            && named(&self.include)
            && !named(&self.exclude)
            && self.labels.matches(label)
    }
}

/// The names of the chosen namespaces, sorted.
pub fn select_namespaces(
    selector: &NamespaceSelector,
    namespaces: &[Namespace],
    default: TerminatingInclusion,
) -> SelectedNamespaces {
    let chooser = NamespaceMatcher::new(selector, default)?;
    let chosen = namespaces
        .iter()
        .filter(|namespace| chooser.matches(namespace));
    let mut names: Vec<String> = chosen.map(|namespace| namespace.name.clone()).collect();
    names.sort();
    Ok(names.into())
}

fn patterns(field: &'static str, texts: Option<&[String]>) -> Result<Vec<Pattern>, SelectorError> {
    let parse = |text: &String| {
        Pattern::parse(text).ok_or_else(|| SelectorError::Pattern {
            field,
            pattern: text.clone(),
        })
    };
    texts.unwrap_or_default().iter().map(parse).collect()
}

#[cfg(test)]
mod tests;
