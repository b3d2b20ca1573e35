//! Comparing one top-level key.

use serde_json::Value;

use super::equal::deep;
use super::equality::Equality;
use super::error::CompareError;
use super::merge::{merge_lists, merge_maps};
use super::rules::{ComplianceType, Rules};

/// The outcome for one top-level key.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct KeyOutcome {
    /// What the key would hold.
    pub merged: Value,
    /// What it was compared with.
    pub live: Value,
    /// How the two relate.
    pub equality: Equality,
}

/// Merges and compares the value of one key. `live` is `None` when the object lacks the key.
pub(crate) fn compare_key(
    key: &str,
    desired: &Value,
    live: Option<&Value>,
    rules: Rules,
) -> Result<KeyOutcome, CompareError> {
    let merged = merge_key(key, desired, live, rules)?;
    let live = live.cloned().unwrap_or(Value::Null);
    let equality = deep(&merged, &live, rules.absence());
    Ok(KeyOutcome {
        merged,
        live,
        equality,
    })
}

fn merge_key(
    key: &str,
    desired: &Value,
    live: Option<&Value>,
    rules: Rules,
) -> Result<Value, CompareError> {
    let exact = rules.compliance == ComplianceType::MustOnlyHave;
    match (desired, live) {
        (Value::Array(_), Some(Value::Array(_))) | (Value::Object(_), Some(Value::Object(_)))
            if exact =>
        {
            Ok(desired.clone())
        }
        (Value::Array(wanted), Some(Value::Array(live))) => {
            Ok(Value::Array(merge_lists(wanted, live, rules.absence())))
        }
        (Value::Object(wanted), Some(Value::Object(live))) => {
            Ok(Value::Object(merge_maps(wanted, live, rules.absence())))
        }
        (Value::Array(_) | Value::Object(_), None | Some(Value::Null)) => Ok(desired.clone()),
        (Value::Array(_) | Value::Object(_), Some(_)) => Err(CompareError::DifferentTypes {
            key: key.to_owned(),
        }),
        (scalar, _) => Ok(scalar.clone()),
    }
}
