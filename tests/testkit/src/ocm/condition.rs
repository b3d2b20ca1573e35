//! Conditions in the way `metav1.Condition` has them.

use jiff::Timestamp;
use kube::api::DynamicObject;
use serde_json::{Value, json};

/// A condition of an object.
#[derive(Debug, Clone)]
pub(super) struct Condition<'a> {
    pub(super) kind: &'a str,
    /// `True`, `False` or `Unknown`.
    pub(super) status: &'a str,
    pub(super) reason: &'a str,
    pub(super) message: String,
    /// The generation this is about, for kinds that report it.
    pub(super) generation: Option<i64>,
}

impl<'a> Condition<'a> {
    pub(super) fn new(kind: &'a str, status: &'a str, reason: &'a str, message: &str) -> Self {
        Self {
            kind,
            status,
            reason,
            message: message.to_owned(),
            generation: None,
        }
    }

    pub(super) fn at(mut self, generation: Option<i64>) -> Self {
        self.generation = generation;
        self
    }

    /// Puts this in place of the condition of its type. The time of transition changes with the
    /// status only.
    pub(super) fn put(&self, conditions: &mut Vec<Value>) {
        let old = conditions.iter_mut().find(|old| old["type"] == self.kind);
        let since = old
            .as_ref()
            .filter(|old| old["status"] == self.status)
            .map(|old| old["lastTransitionTime"].clone());
        let since = since.unwrap_or_else(|| now().into());
        let mut new = json!({
            "type": self.kind,
            "status": self.status,
            "reason": self.reason,
            "message": self.message,
            "lastTransitionTime": since,
        });
        if let Some(generation) = self.generation {
            new["observedGeneration"] = generation.into();
        }
        match old {
            Some(old) => *old = new,
            None => conditions.push(new),
        }
    }
}

/// Whether the condition of this type is `True`.
pub(super) fn is_true(conditions: &Value, kind: &str) -> bool {
    find(conditions, kind).is_some_and(|condition| condition["status"] == "True")
}

/// Whether the condition of this type is `True` for the present generation of an object.
pub fn is_current(object: &DynamicObject, kind: &str) -> bool {
    let conditions = &object.data["status"]["conditions"];
    let generation = find(conditions, kind).and_then(|one| one["observedGeneration"].as_i64());
    is_true(conditions, kind) && generation == object.metadata.generation
}

pub(super) fn find<'a>(conditions: &'a Value, kind: &str) -> Option<&'a Value> {
    conditions
        .as_array()?
        .iter()
        .find(|condition| condition["type"] == kind)
}

/// The list of conditions, to be changed.
pub(super) fn list(status: &Value) -> Vec<Value> {
    status["conditions"].as_array().cloned().unwrap_or_default()
}

/// The time, to the second.
pub(super) fn now() -> String {
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
