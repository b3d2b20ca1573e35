//! Which namespaces a selector chooses. Pure.

use std::collections::BTreeMap;

use reeve_api::configuration_policy::{LabelRequirement, NamespaceSelector};

mod pattern;

use pattern::Pattern;

/// What a selector looks at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Namespace {
    /// The name.
    pub name: String,
    /// The labels.
    pub labels: BTreeMap<String, String>,
    /// It is being deleted.
    pub terminating: bool,
}

/// What becomes of namespaces that are being deleted, where the policy leaves it open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Terminating {
    /// They are chosen like others.
    IfMatch,
    /// They are left out.
    Drop,
}

impl Terminating {
    /// Reads the flag.
    #[must_use]
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

/// Why a label requirement cannot be evaluated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LabelError {
    /// There is no such operator.
    #[error("{0:?} is not a valid label selector operator")]
    Operator(String),
    /// In and `NotIn` need values.
    #[error("values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty")]
    NoValues,
    /// Exists and `DoesNotExist` have none.
    #[error("values: Invalid value: {0:?}: values set must be empty for exists and does not exist")]
    Values(Vec<String>),
}

/// The names of the chosen namespaces, sorted.
pub fn select(
    selector: &NamespaceSelector,
    namespaces: &[Namespace],
    default: Terminating,
) -> Result<Vec<String>, SelectorError> {
    let requirements = requirements(selector).map_err(SelectorError::Labels)?;
    let has_labels = selector.match_labels.is_some() || selector.match_expressions.is_some();
    let mut include = patterns("include", selector.include.as_deref())?;
    let exclude = patterns("exclude", selector.exclude.as_deref())?;
    if include.is_empty() {
        if !has_labels {
            return Ok(Vec::new());
        }
        include.push(Pattern::anything());
    }
    let keeps_terminating = match selector.terminating_inclusion.as_deref() {
        Some("IfMatch") => true,
        Some("Never") => false,
        _ => default == Terminating::IfMatch,
    };
    let mut chosen: Vec<String> = namespaces
        .iter()
        .filter(|namespace| keeps_terminating || !namespace.terminating)
        .filter(|namespace| {
            requirements
                .iter()
                .all(|wanted| wanted.holds(&namespace.labels))
        })
        .filter(|namespace| {
            include
                .iter()
                .any(|pattern| pattern.matches(&namespace.name))
        })
        .filter(|namespace| {
            !exclude
                .iter()
                .any(|pattern| pattern.matches(&namespace.name))
        })
        .map(|namespace| namespace.name.clone())
        .collect();
    chosen.sort();
    Ok(chosen)
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

enum Requirement<'a> {
    In(&'a str, &'a [String]),
    NotIn(&'a str, &'a [String]),
    Exists(&'a str),
    DoesNotExist(&'a str),
    Equals(&'a str, &'a str),
}

fn requirements(selector: &NamespaceSelector) -> Result<Vec<Requirement<'_>>, LabelError> {
    let equal = selector
        .match_labels
        .iter()
        .flatten()
        .map(|(key, value)| Ok(Requirement::Equals(key, value)));
    let expressions = selector
        .match_expressions
        .iter()
        .flatten()
        .map(Requirement::of);
    equal.chain(expressions).collect()
}

impl<'a> Requirement<'a> {
    fn of(requirement: &'a LabelRequirement) -> Result<Self, LabelError> {
        let key = requirement.key.as_str();
        let values = requirement.values.as_deref().unwrap_or_default();
        match (requirement.operator.as_str(), values) {
            ("In" | "NotIn", []) => Err(LabelError::NoValues),
            ("In", values) => Ok(Self::In(key, values)),
            ("NotIn", values) => Ok(Self::NotIn(key, values)),
            ("Exists", []) => Ok(Self::Exists(key)),
            ("DoesNotExist", []) => Ok(Self::DoesNotExist(key)),
            ("Exists" | "DoesNotExist", values) => Err(LabelError::Values(values.to_vec())),
            (operator, _) => Err(LabelError::Operator(operator.to_owned())),
        }
    }

    fn holds(&self, labels: &BTreeMap<String, String>) -> bool {
        match self {
            Self::In(key, values) => labels.get(*key).is_some_and(|value| values.contains(value)),
            Self::NotIn(key, values) => {
                labels.get(*key).is_none_or(|value| !values.contains(value))
            }
            Self::Exists(key) => labels.contains_key(*key),
            Self::DoesNotExist(key) => !labels.contains_key(*key),
            Self::Equals(key, value) => labels.get(*key).is_some_and(|found| found == value),
        }
    }
}

#[cfg(test)]
mod tests;
