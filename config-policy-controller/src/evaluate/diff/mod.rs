//! The difference between an object and its description, as users see it.

mod record;
mod sequence;
mod unified;

#[cfg(test)]
mod tests;

use reeve_go_compat::yaml::encode_sigs;
use serde_json::Value;

pub use record::{RecordDiff, Sensitivity, effective_record_diff};

use crate::messages;
use unified::{Headers, unified};

/// The two file headers and the first hunk's.
const HEADER_LINES: usize = 3;
/// How many lines of a difference are shown.
const SHOWN_LINES: usize = 50;

/// How much of a difference is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffLength {
    /// The first 50 lines, and a note on top if there are more.
    Truncated,
    /// All of it.
    Full,
}

/// The difference between an object as it is and as it would be, as unified diff of its YAML. Empty if the two
/// read the same.
pub fn between(existing: &Value, updated: &Value, length: DiffLength) -> String {
    let name = full_name(existing);
    let (before, after) = (
        messages::diff_existing(&name),
        messages::diff_updated(&name),
    );
    let headers = Headers {
        before: &before,
        after: &after,
    };
    let diff = unified(&to_yaml(existing), &to_yaml(updated), headers);
    match length {
        DiffLength::Full => diff,
        DiffLength::Truncated => truncate(&diff),
    }
}

/// The object as `kubectl get -o yaml` prints it. What an API server sends is never too deep or too long for that.
fn to_yaml(object: &Value) -> String {
    let yaml = encode_sigs(object).unwrap_or_default();
    String::from_utf8_lossy(&yaml).into_owned()
}

/// `namespace/name`, or the name alone for an object without a namespace.
fn full_name(object: &Value) -> String {
    let field = |path| {
        object
            .pointer(path)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    match (field("/metadata/namespace"), field("/metadata/name")) {
        ("", name) => name.to_owned(),
        (namespace, name) => format!("{namespace}/{name}"),
    }
}

fn truncate(diff: &str) -> String {
    let pieces = diff.split('\n').count();
    let shown = HEADER_LINES + SHOWN_LINES;
    if pieces <= shown {
        return diff.to_owned();
    }
    let kept: Vec<&str> = diff.split('\n').take(shown).collect();
    format!(
        "{}\n{}",
        messages::diff_truncated(SHOWN_LINES, pieces),
        kept.join("\n")
    )
}
