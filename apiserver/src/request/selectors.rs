//! Field selectors. They are split as a kube-apiserver splits them, which is simpler than how it reads label selectors.

use crate::status_error::StatusError;

/// A field selector: each field has to have, or not to have, a value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSelector(pub Vec<FieldRequirement>);

/// A requirement of a field selector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldRequirement {
    /// The field, such as `metadata.name`.
    pub field: String,
    /// The value.
    pub value: String,
    /// Whether it has to be another value.
    pub not: bool,
}

impl FieldSelector {
    /// Reads a selector such as `metadata.name=x,status.phase!=Running`.
    pub fn parse(text: &str) -> Result<Self, StatusError> {
        let mut all = Vec::new();
        for part in terms(text) {
            let split = part
                .split_once("!=")
                .map(|(field, value)| (field, value, true))
                .or_else(|| {
                    part.split_once("==")
                        .map(|(field, value)| (field, value, false))
                })
                .or_else(|| {
                    part.split_once('=')
                        .map(|(field, value)| (field, value, false))
                });
            let Some((field, value, not)) = split else {
                return Err(StatusError::bad_request(format!(
                    "invalid selector: '{text}'; can't understand '{part}'"
                )));
            };
            all.push(FieldRequirement {
                field: field.to_owned(),
                value: unescaped(value),
                not,
            });
        }
        Ok(Self(all))
    }

    /// Whether an object is selected whose fields these are.
    pub fn matches(&self, of: impl Fn(&str) -> String) -> bool {
        self.0
            .iter()
            .all(|one| (of(&one.field) == one.value) != one.not)
    }
}

/// The terms of a field selector: commas may be escaped.
fn terms(text: &str) -> Vec<String> {
    let mut terms = Vec::new();
    let mut term = String::new();
    let mut escaped = false;
    for letter in text.chars() {
        if letter == ',' && !escaped {
            terms.push(std::mem::take(&mut term));
            continue;
        }
        escaped = letter == '\\' && !escaped;
        term.push(letter);
    }
    terms.push(term);
    terms.retain(|term| !term.is_empty());
    terms
}

fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => plain.extend(letters.next()),
            other => plain.push(other),
        }
    }
    plain
}
