//! Where a difference is recorded, if it may be seen at all.

use serde_json::{Map, Value};

/// Where a diff is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordDiff {
    /// It is kept in the status of the policy.
    InStatus,
    /// It goes to the log of the controller.
    Log,
    /// It is not even computed.
    None,
    /// It holds sensitive data: the status only has a note.
    Censored,
}

/// What rendering the definition came across.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sensitivity {
    /// Nothing sensitive.
    Plain,
    /// A template read a Secret or decrypted a value.
    Sensitive,
}

impl Sensitivity {
    /// Of two things: one that is sensitive makes the whole so.
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Plain, Self::Plain) => Self::Plain,
            _ => Self::Sensitive,
        }
    }
}

/// Decides what becomes of the differences of one object template.
///
/// `asked` is the template's `recordDiff`, which takes precedence; otherwise the kind and the sensitivity decide. An unknown
/// word is treated as not given.
pub fn effective_record_diff(
    asked: Option<&str>,
    definition: &Map<String, Value>,
    sensitivity: Sensitivity,
) -> RecordDiff {
    match asked {
        Some("InStatus") => RecordDiff::InStatus,
        Some("Log") => RecordDiff::Log,
        Some("None") => RecordDiff::None,
        _ => default(definition, sensitivity),
    }
}

fn default(definition: &Map<String, Value>, sensitivity: Sensitivity) -> RecordDiff {
    let text = |key| definition.get(key).and_then(Value::as_str);
    let (Some(api_version), Some(kind)) = (text("apiVersion"), text("kind")) else {
        return RecordDiff::None;
    };
    let (group, _) = api_version.split_once('/').unwrap_or(("", api_version));
    match (group.trim(), kind.trim()) {
        ("", "ConfigMap" | "Secret")
        | (
            "oauth.openshift.io",
            // The plural is what older releases matched.
            "OAuthAccessToken" | "OAuthAuthorizeToken" | "OAuthAuthorizeTokens",
        )
        | ("route.openshift.io", "Route") => RecordDiff::Censored,
        _ if sensitivity == Sensitivity::Sensitive => RecordDiff::Censored,
        _ => RecordDiff::InStatus,
    }
}
