//! The status of a policy: how verdicts change it and what it says. Pure; the time is passed in.

use jiff::Timestamp;
use reeve_api::Compliance;
use reeve_api::configuration_policy::{
    Condition, ConfigurationPolicy, ConfigurationPolicyStatus, EvaluationInterval, HistoryEntry,
    RelatedObject, TemplateStatus,
};

use crate::custom;
use crate::messages;
use crate::schedule::Interval;
use crate::status_text::TemplateVerdict;

/// How many reports are kept.
const HISTORY: usize = 10;
/// The longest message, in bytes.
const LONGEST_MESSAGE: usize = 4096;

/// Records the verdict on one template. Whether anything a user sees has changed.
pub fn record(
    status: &mut ConfigurationPolicyStatus,
    index: usize,
    verdict: &TemplateVerdict,
    context: Context<'_>,
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
    context: Context<'_>,
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
pub fn record_whole(
    status: &mut ConfigurationPolicyStatus,
    verdict: &TemplateVerdict,
    context: Context<'_>,
) -> bool {
    let had_more = keep_templates(status, 1);
    record(status, 0, verdict, context) || had_more
}

/// Records that the policy cannot go yet, and why. Whether anything a user sees has changed.
pub fn record_terminating(
    status: &mut ConfigurationPolicyStatus,
    message: String,
    context: Context<'_>,
) -> bool {
    let verdict = TemplateVerdict::violation(messages::CLEANUP_ERROR, message);
    let had_more = keep_templates(status, 1);
    record_state(status, 0, (Compliance::Terminating, &verdict), context) || had_more
}

/// Forgets the verdicts on templates that the policy no longer has.
pub fn keep_templates(status: &mut ConfigurationPolicyStatus, templates: usize) -> bool {
    let details = status.compliancy_details.get_or_insert_default();
    let had_more = details.len() > templates;
    details.truncate(templates);
    had_more
}

/// What recording depends on besides the verdict.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// The policy's intervals: a verdict that is never looked at again says so.
    pub intervals: Option<&'a EvaluationInterval>,
    /// The time.
    pub now: Timestamp,
}

/// The state of the policy: noncompliant as soon as one template is.
#[must_use]
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

/// The compliance message: the policy's own words if it has some, and at most 4096 bytes.
#[must_use]
pub fn message(
    (policy, objects): (&ConfigurationPolicy, &custom::Objects),
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
        return shorten(&default);
    };
    let mut status = status.clone();
    status.compliant = state.map(|state| state.as_str().to_owned());
    let data = custom::data(policy, &status, objects);
    shorten(&match custom::render(text, &default, &data) {
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
#[must_use]
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
#[must_use]
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

fn shorten(message: &str) -> String {
    if message.len() <= LONGEST_MESSAGE {
        return message.to_owned();
    }
    let room = LONGEST_MESSAGE.saturating_sub(messages::TRUNCATED.len());
    format!(
        "{}{}",
        reeve_runtime::events::at_most(message, room),
        messages::TRUNCATED
    )
}

/// Adds a report, newest first.
pub fn add_history(status: &mut ConfigurationPolicyStatus, message: &str, at: Timestamp) {
    let history = status.history.get_or_insert_default();
    let entry = HistoryEntry {
        last_timestamp: Some(micros(at)),
        message: Some(message.to_owned()),
    };
    history.insert(0, entry);
    history.truncate(HISTORY);
}

/// Whether something found at this time is newer than the newest report.
#[must_use]
pub fn is_news(status: &ConfigurationPolicyStatus, at: Timestamp) -> bool {
    let newest = status.history.as_ref().and_then(|history| history.first());
    let newest = newest.and_then(|entry| entry.last_timestamp.as_deref());
    // Times of one form in UTC sort as texts do.
    newest.is_none_or(|newest| newest < micros(at).as_str())
}

/// A time as `status.history` carries it: RFC 3339, UTC, exactly six digits after the point.
///
/// A wire format: `framework-addon/src/status_sync/history.rs` is the other end. It skips entries of any other form,
/// and takes an entry and the compliance event of the same message for one report if this time and the one in the
/// event's name (`reeve_runtime::events::event_name`) are less than 5 microseconds apart.
fn micros(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}

/// The newest report.
#[must_use]
pub fn newest(status: &ConfigurationPolicyStatus) -> Option<&str> {
    status.history.as_ref()?.first()?.message.as_deref()
}

/// A time as status fields carry it: RFC 3339, UTC, whole seconds.
#[must_use]
pub fn seconds(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Adds related objects to a list. Of two entries about one object the later one stays, if it says anything else; that
/// the policy created the object is true for both.
pub fn add_related(all: &mut Vec<RelatedObject>, new: Vec<RelatedObject>) {
    for mut entry in new {
        match all.iter_mut().find(|known| known.object == entry.object) {
            Some(known) => {
                let differs =
                    known.compliant != entry.compliant || known.properties != entry.properties;
                if differs {
                    keep_origin(known, &mut entry);
                    *known = entry;
                }
            }
            None => all.push(entry),
        }
    }
}

/// The template that creates an object may not be the last one that speaks of it.
fn keep_origin(known: &RelatedObject, entry: &mut RelatedObject) {
    let (Some(known), Some(properties)) = (&known.properties, &mut entry.properties) else {
        return;
    };
    if known.created_by_policy == Some(true) && known.uid == properties.uid {
        properties.created_by_policy = Some(true);
    }
}

/// Sorts related objects by kind, namespace and name.
pub fn sort_related(all: &mut [RelatedObject]) {
    all.sort_by(|a, b| related_key(a).cmp(&related_key(b)));
}

fn related_key(entry: &RelatedObject) -> [&str; 3] {
    let object = entry.object.as_ref();
    let metadata = object.and_then(|object| object.metadata.as_ref());
    [
        object.and_then(|object| object.kind.as_deref()),
        metadata.and_then(|metadata| metadata.namespace.as_deref()),
        metadata.and_then(|metadata| metadata.name.as_deref()),
    ]
    .map(Option::unwrap_or_default)
}
