//! Conditions of a `ManagedClusterAddOn`.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

/// What a condition is to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Say {
    /// That something is so, or is not.
    That {
        /// The type of the condition.
        kind: &'static str,
        /// Whether it is so.
        is_so: bool,
        /// Why, in one word.
        reason: &'static str,
        /// The reason, as the message shows it.
        message: String,
    },
    /// The condition is removed.
    Nothing {
        /// About what.
        kind: &'static str,
    },
}

impl Say {
    /// That something is so.
    pub fn yes(kind: &'static str, (reason, message): (&'static str, impl Into<String>)) -> Self {
        Self::that(kind, true, reason, message.into())
    }

    /// That something is not so.
    pub fn no(kind: &'static str, (reason, message): (&'static str, impl Into<String>)) -> Self {
        Self::that(kind, false, reason, message.into())
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::That { kind, .. } | Self::Nothing { kind } => kind,
        }
    }

    fn that(kind: &'static str, is_so: bool, reason: &'static str, message: String) -> Self {
        Self::That {
            kind,
            is_so,
            reason,
            message,
        }
    }
}

/// Conditions in which all of that is said. A time changes only where the status does.
pub fn after(present: &[Condition], said: &[Say], now: Timestamp) -> Vec<Condition> {
    let mut conditions = present.to_vec();
    for (at, say) in said.iter().enumerate() {
        // What is said later of the same counts: a status must not go to and fro.
        if said[at + 1..]
            .iter()
            .any(|later| later.kind() == say.kind())
        {
            continue;
        }
        match say {
            Say::Nothing { kind } => conditions.retain(|condition| condition.type_ != *kind),
            Say::That {
                kind,
                is_so,
                reason,
                message,
            } => {
                let status = if *is_so { "True" } else { "False" };
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

/// Whether something is said to be so, or not to be so.
pub fn status(conditions: &[Condition], kind: &str) -> Option<bool> {
    let found = conditions.iter().find(|found| found.type_ == kind)?;
    match found.status.as_str() {
        "True" => Some(true),
        "False" => Some(false),
        _ => None,
    }
}
