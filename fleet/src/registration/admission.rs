//! What is let into the store, and how it is changed on the way. Whoever stores the objects calls these functions.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::messages;
use super::sets::DEFAULT;
use crate::placement::membership::SET_LABEL;

/// A refusal, as an API server answers it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Denied {
    /// The HTTP status: 400 or 403.
    pub code: u16,
    /// The reason, as the message shows it.
    pub message: String,
}

/// A right to a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    /// To bind it to a namespace: `create` on `managedclustersets/bind`.
    Bind,
    /// To move clusters into it and out of it: `create` on `managedclustersets/join`.
    Join,
}

/// Who writes, and what they may do.
pub trait Writer {
    /// The user's name.
    fn name(&self) -> &str;
    /// Whether the user has a right to the set of this name.
    fn may(&self, right: Right, set: &str) -> bool;
}

/// Someone who may do everything.
pub struct Administrator;

impl Writer for Administrator {
    fn name(&self) -> &'static str {
        "system:admin"
    }

    fn may(&self, _: Right, _: &str) -> bool {
        true
    }
}

/// Admits a `ManagedCluster` that is created (`old` is `None`) or updated: it gets the set `default` if it has none, and
/// its new taints the present time.
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
    // Who says nothing about sets on creation needs no right to `default`.
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

/// When a taint was added; a text that is no time is one that nobody has.
fn added(taint: &Value) -> Option<Result<Timestamp, &str>> {
    let time = taint.get("timeAdded").and_then(Value::as_str)?;
    Some(time.parse().map_err(|_| time))
}

/// Gives the present time to taints that are new; refuses taints to which somebody else gave one.
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

/// Admits a `ManagedClusterSetBinding` that is created (`old` is `None`) or updated.
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
