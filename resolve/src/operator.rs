//! The templates of an `OperatorPolicy`.

use serde_json::Value;

use crate::error::Error;
use crate::managed::Managed;
use crate::{fields, messages};

/// Resolves `operatorGroup`, `subscription` and `versions`.
pub(crate) fn resolve(mut policy: Value, managed: &Managed) -> Result<Value, Error> {
    let field = |name: &str| {
        let found = fields::nested(&policy, &["spec", name]).map_err(Error::Field)?;
        Ok(found.filter(|value| !value.is_null()).cloned())
    };
    let group = field("operatorGroup")?;
    let subscription = field("subscription")?;
    let versions = field("versions")?;
    let subscription = subscription.ok_or(Error::Input(messages::NO_SUBSCRIPTION))?;
    let group = group.map(|group| managed.plain(&group)).transpose()?;
    let subscription = managed.plain(&subscription)?;
    let versions = versions
        .map(|versions| managed.plain(&versions))
        .transpose()?;
    let Some(spec) = policy.get_mut("spec").and_then(Value::as_object_mut) else {
        return Ok(policy);
    };
    if let Some(group) = group {
        spec.insert("operatorGroup".to_owned(), group);
    }
    spec.insert("subscription".to_owned(), subscription);
    if let Some(versions) = versions {
        spec.insert("versions".to_owned(), trimmed(versions));
    }
    Ok(policy)
}

/// The versions without white space around them, and without empty ones.
fn trimmed(versions: Value) -> Value {
    let Value::Array(items) = versions else {
        return versions;
    };
    let items = items.into_iter().filter_map(|item| match item {
        Value::String(text) if text.trim().is_empty() => None,
        Value::String(text) => Some(Value::String(text.trim().to_owned())),
        other => Some(other),
    });
    Value::Array(items.collect())
}
