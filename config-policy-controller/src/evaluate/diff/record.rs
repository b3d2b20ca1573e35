//! Where a difference is recorded, if it may be seen at all.

use serde_json::{Map, Value};

/// What becomes of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordDiff {
    /// It is kept in the status of the policy.
    InStatus,
    /// It goes to the log of the controller.
    Log,
    /// It is not even computed.
    None,
    /// It holds sensitive data: the status only says so.
    Censored,
}

/// What rendering the definition came across.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Nothing sensitive.
    Plain,
    /// A template read a Secret or decrypted a value.
    Sensitive,
}

impl Origin {
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
/// `asked` is the template's `recordDiff`, which wins; otherwise the kind and the origin decide. An unknown word
/// is treated as not given.
pub fn resolve(asked: Option<&str>, definition: &Map<String, Value>, origin: Origin) -> RecordDiff {
    match asked {
        Some("InStatus") => RecordDiff::InStatus,
        Some("Log") => RecordDiff::Log,
        Some("None") => RecordDiff::None,
        _ => default(definition, origin),
    }
}

fn default(definition: &Map<String, Value>, origin: Origin) -> RecordDiff {
    let text = |key| definition.get(key).and_then(Value::as_str);
    let (Some(api_version), Some(kind)) = (text("apiVersion"), text("kind")) else {
        return RecordDiff::None;
    };
    let (group, _) = api_version.split_once('/').unwrap_or(("", api_version));
    match (group.trim(), kind.trim()) {
        ("", "ConfigMap" | "Secret")
        | (
            "oauth.openshift.io",
            // The plural is what older releases looked for.
            "OAuthAccessToken" | "OAuthAuthorizeToken" | "OAuthAuthorizeTokens",
        )
        | ("route.openshift.io", "Route") => RecordDiff::Censored,
        _ if origin == Origin::Sensitive => RecordDiff::Censored,
        _ => RecordDiff::InStatus,
    }
}
