//! `APIServices`: their group and version, and the condition `Available`.

use serde_json::{Value, json};

use crate::meta;

/// Whether an `APIService` names a service, and is not served by this server.
pub(crate) fn is_remote(service: &Value) -> bool {
    service
        .pointer("/spec/service")
        .is_some_and(Value::is_object)
}

/// The group and the version of an `APIService`.
pub(crate) fn group_version(service: &Value) -> (&str, &str) {
    let text = |path: &str| service.pointer(path).and_then(Value::as_str);
    let or_empty = |path: &str| text(path).unwrap_or_default();
    (or_empty("/spec/group"), or_empty("/spec/version"))
}

/// The type of the condition.
const AVAILABLE: &str = "Available";

/// The condition `Available`.
pub(crate) struct Availability {
    status: &'static str,
    reason: &'static str,
    message: String,
}

impl Availability {
    /// Of an `APIService` that names no service.
    pub(crate) fn local() -> Self {
        Self {
            status: "True",
            reason: "Local",
            message: "Local APIServices are always available".to_owned(),
        }
    }

    pub(crate) fn unavailable(reason: &'static str, message: String) -> Self {
        Self {
            status: "False",
            reason,
            message,
        }
    }
}

/// The status of a new `APIService`: a local one is available at once.
pub(crate) fn new_status(apiservice: &Value) -> Value {
    let mut status = json!({});
    if !is_remote(apiservice) {
        set_condition(&mut status, &Availability::local());
    }
    status
}

/// Sets the condition. Its time is that of the last change of its status.
pub(crate) fn set_condition(status: &mut Value, availability: &Availability) {
    let Availability {
        status: is,
        reason,
        message,
    } = availability;
    if !status.is_object() {
        *status = json!({});
    }
    let mut conditions = match status["conditions"].take() {
        Value::Array(conditions) => conditions,
        _ => Vec::new(),
    };
    match conditions.iter_mut().find(|one| one["type"] == AVAILABLE) {
        Some(condition) => {
            if condition["status"] != *is {
                condition["status"] = (*is).into();
                condition["lastTransitionTime"] = meta::now().into();
            }
            condition["reason"] = (*reason).into();
            condition["message"] = message.as_str().into();
        }
        None => conditions.push(json!({
            "type": AVAILABLE, "status": is, "lastTransitionTime": meta::now(), "reason": reason, "message": message,
        })),
    }
    status["conditions"] = conditions.into();
}
