//! The status of a policy: conditions, compliance message and history. Pure; the time is passed in.

use jiff::Timestamp;
use reeve_api::Compliance;
use reeve_api::configuration_policy::{
    Condition, ConfigurationPolicy, ConfigurationPolicyStatus, EvaluationInterval, HistoryEntry,
    TemplateStatus,
};

use crate::messages;
use crate::status::custom_message::{self, LiveObjects};
use crate::status::interval::Interval;
use crate::status::summary::TemplateVerdict;

/// How many reports are kept.
const MAX_HISTORY: usize = 10;
/// The longest message, in bytes.
const MAX_MESSAGE_BYTES: usize = 4096;

/// Records the verdict on one template. Whether anything a user sees has changed.
pub fn record(
    status: &mut ConfigurationPolicyStatus,
    index: usize,
    verdict: &TemplateVerdict,
    context: RecordContext<'_>,
) -> bool {
    let state = if verdict.compliant {
        Compliance::Compliant
    } else {
        Compliance::NonCompliant
    };
    record_state(status, index, (state, verdict), context)
}

fn record_state(
    status: &mut ConfigurationPolicyStatus,
    index: usize,
    (state, verdict): (Compliance, &TemplateVerdict),
    context: RecordContext<'_>,
) -> bool {
    let details = status.compliancy_details.get_or_insert_default();
    while details.len() <= index {
        details.push(TemplateStatus::default());
    }
    let Some(detail) = details.get_mut(index) else {
        return false;
    };
    let note = Interval::of(context.intervals, Some(state))
        .note(state)
        .unwrap_or_default();
    let condition = Condition {
        type_: if verdict.compliant {
            "notification"
        } else {
            "violation"
        }
        .to_owned(),
        status: Some("True".to_owned()),
        last_transition_time: None,
        reason: Some(verdict.reason.clone()).filter(|reason| !reason.is_empty()),
        message: Some(format!("{}{note}", verdict.message)),
    };
    let before = detail
        .conditions
        .as_ref()
        .and_then(|conditions| conditions.first());
    let same_condition = before.is_some_and(|before| {
        let timeless = Condition {
            last_transition_time: None,
            ..before.clone()
        };
        timeless == condition
    });
    let same_state = detail.compliant.as_deref() == Some(state.as_str());
    detail.compliant = Some(state.as_str().to_owned());
    if !same_condition {
        let now = Some(seconds(context.now));
        detail.conditions = Some(vec![Condition {
            last_transition_time: now,
            ..condition
        }]);
    }
    !(same_condition && same_state)
}

/// Records a verdict on the policy as a whole: it is the only one.
pub fn record_policy_verdict(
    status: &mut ConfigurationPolicyStatus,
    verdict: &TemplateVerdict,
    context: RecordContext<'_>,
) -> bool {
    let had_more = truncate_templates(status, 1);
    record(status, 0, verdict, context) || had_more
}

/// Records why objects of a policy that is being deleted still exist. Whether anything a user sees has changed.
pub fn record_terminating(
    status: &mut ConfigurationPolicyStatus,
    message: String,
    context: RecordContext<'_>,
) -> bool {
    let verdict = TemplateVerdict::violation(messages::CLEANUP_ERROR, message);
    let had_more = truncate_templates(status, 1);
    record_state(status, 0, (Compliance::Terminating, &verdict), context) || had_more
}

/// Removes the details of templates that the policy no longer has.
pub fn truncate_templates(status: &mut ConfigurationPolicyStatus, templates: usize) -> bool {
    let details = status.compliancy_details.get_or_insert_default();
    let had_more = details.len() > templates;
    details.truncate(templates);
    had_more
}

/// What recording depends on besides the verdict.
#[derive(Debug, Clone, Copy)]
pub struct RecordContext<'a> {
    /// The policy's intervals: the message notes when the policy is not evaluated again.
    pub intervals: Option<&'a EvaluationInterval>,
    pub now: Timestamp,
}

/// The state of the policy: noncompliant as soon as one template is.
pub fn overall(status: &ConfigurationPolicyStatus) -> Option<Compliance> {
    let details = status.compliancy_details.as_deref().unwrap_or_default();
    if details.is_empty() {
        return None;
    }
    let violated = details
        .iter()
        .any(|detail| detail.compliant.as_deref() == Some(Compliance::NonCompliant.as_str()));
    Some(if violated {
        Compliance::NonCompliant
    } else {
        Compliance::Compliant
    })
}

/// The compliance message: the custom message if the policy has one, and at most 4096 bytes.
pub fn message(
    (policy, objects): (&ConfigurationPolicy, &custom_message::LiveObjects),
    status: &ConfigurationPolicyStatus,
    state: Option<Compliance>,
) -> String {
    let default = default_message(status, state);
    let custom = policy.spec.custom_message.as_ref();
    let custom = custom.and_then(|custom| match state {
        Some(Compliance::Compliant) => custom.compliant.as_deref(),
        _ => custom.noncompliant.as_deref(),
    });
    let Some(text) = custom.filter(|text| !text.is_empty()) else {
        return truncate(&default);
    };
    let mut status = status.clone();
    status.compliant = state.map(|state| state.as_str().to_owned());
    let data = custom_message::data(policy, &status, objects);
    truncate(&match custom_message::render(text, &default, &data) {
        Err(error) => messages::custom_message_failed(&default, &error),
        Ok(message) => {
            let prefix = format!("{}; ", state.map_or("", Compliance::as_str));
            if message.starts_with(&prefix) {
                message
            } else {
                format!("{prefix}{message}")
            }
        }
    })
}

/// State, then type and message of every condition.
pub fn default_message(status: &ConfigurationPolicyStatus, state: Option<Compliance>) -> String {
    let Some(state) = state else {
        return messages::STATE_UNKNOWN.to_owned();
    };
    let mut text = state.as_str().to_owned();
    for condition in conditions(status) {
        text.push_str("; ");
        text.push_str(&condition.type_);
        text.push_str(" - ");
        text.push_str(condition.message.as_deref().unwrap_or_default());
    }
    text
}

/// The messages of all conditions, for the event on the policy itself.
pub fn condition_messages(status: &ConfigurationPolicyStatus) -> String {
    let messages: Vec<&str> = conditions(status)
        .filter_map(|condition| condition.message.as_deref())
        .collect();
    messages.join("; ")
}

fn conditions(status: &ConfigurationPolicyStatus) -> impl Iterator<Item = &Condition> {
    let details = status.compliancy_details.iter().flatten();
    details.filter_map(|detail| detail.conditions.as_ref()?.first())
}

/// The message, cut to its longest length.
pub fn truncate(message: &str) -> String {
    if message.len() <= MAX_MESSAGE_BYTES {
        return message.to_owned();
    }
    let room = MAX_MESSAGE_BYTES.saturating_sub(messages::TRUNCATED.len());
    format!(
        "{}{}",
        reeve_runtime::events::at_most(message, room),
        messages::TRUNCATED
    )
}

/// Adds a history entry, newest first, and keeps this many.
pub fn add_history(
    history: &mut Option<Vec<HistoryEntry>>,
    message: &str,
    (at, length): (Timestamp, usize),
) {
    let history = history.get_or_insert_default();
    let entry = HistoryEntry {
        last_timestamp: Some(micros(at)),
        message: Some(message.to_owned()),
    };
    history.insert(0, entry);
    history.truncate(length);
}

/// Whether this time is after that of the newest history entry.
pub fn is_newer_than_history(history: Option<&[HistoryEntry]>, at: Timestamp) -> bool {
    let latest = history.and_then(|history| history.first());
    let latest = latest.and_then(|entry| entry.last_timestamp.as_deref());
    // Times of one form in UTC sort as texts do.
    latest.is_none_or(|latest| latest < micros(at).as_str())
}

/// A time as `status.history` carries it: RFC 3339, UTC, exactly six digits after the point.
///
/// A wire format: `framework-addon/src/status_sync/history.rs` is the other end. It skips entries of any other form,
/// and takes an entry and the compliance event of the same message for one report if this time and the one in the
/// event's name (`reeve_runtime::events::event_name`) are less than 5 microseconds apart.
pub fn micros(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}

/// The message of the newest history entry.
pub fn latest_message(status: &ConfigurationPolicyStatus) -> Option<&str> {
    status.history.as_ref()?.first()?.message.as_deref()
}

/// A time as status fields carry it: RFC 3339, UTC, whole seconds.
pub fn seconds(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Whether conditions changed, which emits events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConditionChange {
    /// At least one did.
    Changed,
    /// None did.
    Unchanged,
}

/// What is published for an evaluation.
#[derive(Debug, Clone, PartialEq)]
pub struct StatusUpdate {
    /// The new status.
    pub status: ConfigurationPolicyStatus,
    /// The compliance message.
    pub message: String,
    /// Whether events are due.
    pub events: bool,
    /// Whether the status has to be written.
    pub write: bool,
    /// When it was found.
    pub at: Timestamp,
}

/// A policy and the objects that its evaluation read.
#[derive(Debug, Clone, Copy)]
pub struct EvaluatedPolicy<'a> {
    /// The policy, with its hub templates resolved.
    pub policy: &'a ConfigurationPolicy,
    /// The objects that `spec.customMessage` may read.
    pub objects: &'a LiveObjects,
}

/// Computes the update from the status before and one with new conditions and related objects.
pub fn status_update(
    evaluated: EvaluatedPolicy<'_>,
    before: &ConfigurationPolicyStatus,
    after: ConfigurationPolicyStatus,
    verdicts: ConditionChange,
    now: Timestamp,
) -> StatusUpdate {
    let policy = evaluated.policy;
    let mut status = after;
    let state = if policy.metadata.deletion_timestamp.is_some() {
        Some(Compliance::Terminating)
    } else {
        overall(&status)
    };
    status.compliant = state.map(|state| state.as_str().to_owned());
    let new_generation = before.last_evaluated_generation != policy.metadata.generation;
    let events = verdicts != ConditionChange::Unchanged
        || before.compliant != status.compliant
        || new_generation;
    let message = message((policy, evaluated.objects), &status, state);
    if events || latest_message(&status) != Some(&message) {
        add_history(&mut status.history, &message, (now, MAX_HISTORY));
    }
    // Where the next evaluation depends on the time of this one, the time counts.
    let interval = Interval::of(policy.spec.evaluation_interval.as_ref(), state);
    let write = events || status != *before || matches!(interval, Interval::Every(_));
    status.last_evaluated = Some(seconds(now));
    status.last_evaluated_generation = policy.metadata.generation;
    StatusUpdate {
        status,
        message,
        events,
        write,
        at: now,
    }
}
