//! Conditions of a `ManagedClusterAddOn`.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

/// A condition to set or remove.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConditionChange {
    /// Sets a condition.
    Set {
        /// The type of the condition.
        kind: &'static str,
        /// Whether its status is `True`.
        is_true: bool,
        /// The reason in upper camel case.
        reason: &'static str,
        /// The message.
        message: String,
    },
    /// Removes a condition.
    Remove {
        /// The type of the condition.
        kind: &'static str,
    },
}

impl ConditionChange {
    /// Sets a condition to `True`.
    pub fn set_true(
        kind: &'static str,
        (reason, message): (&'static str, impl Into<String>),
    ) -> Self {
        Self::set(kind, true, reason, message.into())
    }

    /// Sets a condition to `False`.
    pub fn set_false(
        kind: &'static str,
        (reason, message): (&'static str, impl Into<String>),
    ) -> Self {
        Self::set(kind, false, reason, message.into())
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Set { kind, .. } | Self::Remove { kind } => kind,
        }
    }

    fn set(kind: &'static str, is_true: bool, reason: &'static str, message: String) -> Self {
        Self::Set {
            kind,
            is_true,
            reason,
            message,
        }
    }
}

/// The conditions after all changes. A time changes only with the status.
pub fn after(present: &[Condition], changes: &[ConditionChange], now: Timestamp) -> Vec<Condition> {
    let mut conditions = present.to_vec();
    for (at, change) in changes.iter().enumerate() {
        // A later change of the same condition wins: a status must not flap.
        if changes[at + 1..]
            .iter()
            .any(|later| later.kind() == change.kind())
        {
            continue;
        }
        match change {
            ConditionChange::Remove { kind } => {
                conditions.retain(|condition| condition.type_ != *kind);
            }
            ConditionChange::Set {
                kind,
                is_true,
                reason,
                message,
            } => {
                let status = if *is_true { "True" } else { "False" };
                let found = conditions.iter_mut().find(|found| found.type_ == *kind);
                match found {
                    Some(condition) => {
                        if condition.status != status {
                            condition.last_transition_time = Time(now);
                            status.clone_into(&mut condition.status);
                        }
                        (*reason).clone_into(&mut condition.reason);
                        condition.message.clone_from(message);
                    }
                    None => conditions.push(Condition {
                        type_: (*kind).to_owned(),
                        status: status.to_owned(),
                        reason: (*reason).to_owned(),
                        message: message.clone(),
                        last_transition_time: Time(now),
                        observed_generation: None,
                    }),
                }
            }
        }
    }
    conditions
}

/// The status of a condition, if it is `True` or `False`.
pub fn status(conditions: &[Condition], kind: &str) -> Option<bool> {
    let found = conditions.iter().find(|found| found.type_ == kind)?;
    match found.status.as_str() {
        "True" => Some(true),
        "False" => Some(false),
        _ => None,
    }
}
