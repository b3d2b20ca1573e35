//! Validates and mutates clusters and bindings at admission. The API server's admission calls these functions.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::messages;
use super::sets::DEFAULT;
use crate::placement::membership::SET_LABEL;

/// A rejection, with the API server's status.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Denied {
    /// The HTTP status: 400 or 403.
    pub code: u16,
    /// The reason, as the message shows it.
    pub message: String,
}

/// A user's access to a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    /// To bind it to a namespace: `create` on `managedclustersets/bind`.
    Bind,
    /// To add clusters to it and remove them: `create` on `managedclustersets/join`.
    Join,
}

/// The user of a write, with their access.
pub trait Writer {
    /// The user's name.
    fn name(&self) -> &str;
    /// Whether the user has access to the set with this name.
    fn may(&self, right: Right, set: &str) -> bool;
}

/// A user with all access.
pub struct Administrator;

impl Writer for Administrator {
    fn name(&self) -> &'static str {
        "system:admin"
    }

    fn may(&self, _: Right, _: &str) -> bool {
        true
    }
}

/// Admits a `ManagedCluster` on create (`old` is `None`) or update: a cluster without a set gets the set `default`,
/// and new taints get the current time.
pub fn admit_cluster(
    old: Option<&Value>,
    new: &mut Value,
    now: Timestamp,
    writer: &dyn Writer,
) -> Result<(), Denied> {
    let before = old.map_or("", set_of).to_owned();
    let asked = set_of(new).to_owned();
    if asked.is_empty() {
        join(new, DEFAULT);
    }
    // A create without a set needs no access to `default`.
    let after = if asked.is_empty() && old.is_some() {
        DEFAULT
    } else {
        &asked
    };
    if before != after {
        for set in [before.as_str(), after] {
            if !set.is_empty() && !writer.may(Right::Join, set) {
                return Err(denied(403, messages::may_not_join(writer.name(), set)));
            }
        }
    }
    stamp(old, new, now)
}

fn set_of(cluster: &Value) -> &str {
    let labels = cluster.pointer("/metadata/labels");
    let label = labels.and_then(|labels| labels.get(SET_LABEL));
    label.and_then(Value::as_str).unwrap_or_default()
}

fn join(cluster: &mut Value, set: &str) {
    let mut place = cluster;
    for field in ["metadata", "labels"] {
        let Value::Object(fields) = place else { return };
        let next = fields.entry(field).or_insert_with(|| json!({}));
        if next.is_null() {
            *next = json!({});
        }
        place = next;
    }
    if let Value::Object(labels) = place {
        labels.insert(SET_LABEL.to_owned(), set.into());
    }
}

fn taints(cluster: &Value) -> &[Value] {
    let taints = cluster.pointer("/spec/taints").and_then(Value::as_array);
    taints.map_or(&[], Vec::as_slice)
}

fn text<'a>(taint: &'a Value, field: &str) -> &'a str {
    taint.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// When a taint was added; the error is a text that is not a time.
fn added(taint: &Value) -> Option<Result<Timestamp, &str>> {
    let time = taint.get("timeAdded").and_then(Value::as_str)?;
    Some(time.parse().map_err(|_| time))
}

/// Sets the current time on new taints; rejects taints with a time that the user set.
fn stamp(old: Option<&Value>, new: &mut Value, now: Timestamp) -> Result<(), Denied> {
    let present = old.map_or(&[][..], taints);
    let time = Value::from(now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string());
    let Some(Value::Array(taints)) = new.pointer_mut("/spec/taints") else {
        return Ok(());
    };
    let mut given = Vec::new();
    for taint in taints.iter_mut() {
        let is_same = |other: &&Value| {
            let same = |field| text(other, field) == text(taint, field);
            same("key") && same("effect") && same("value")
        };
        match present.iter().find(is_same) {
            Some(before) if added(before) == added(taint) => continue,
            None if old.is_none() || added(taint).is_none() => {}
            _ => {
                given.push(text(taint, "key").to_owned());
                continue;
            }
        }
        if let Value::Object(fields) = taint {
            fields.insert("timeAdded".to_owned(), time.clone());
        }
    }
    if given.is_empty() {
        return Ok(());
    }
    let given: Vec<&str> = given.iter().map(String::as_str).collect();
    Err(denied(400, messages::time_given(&given)))
}

/// Admits a `ManagedClusterSetBinding` on create (`old` is `None`) or update.
pub fn admit_binding(old: Option<&Value>, new: &Value, writer: &dyn Writer) -> Result<(), Denied> {
    let at = |path: &str| {
        new.pointer(path)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let set = at("/spec/clusterSet");
    if at("/metadata/name") != set {
        return Err(denied(400, messages::OTHER_NAME.to_owned()));
    }
    if old.is_none() && !writer.may(Right::Bind, set) {
        return Err(denied(403, messages::may_not_bind(writer.name(), set)));
    }
    Ok(())
}

fn denied(code: u16, message: String) -> Denied {
    Denied { code, message }
}
