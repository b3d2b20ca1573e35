//! The new status of a policy, state by state. Pure; the time is passed in.

use jiff::Timestamp;
use reeve_api::Compliance;
use reeve_api::operator_policy::{
    OperatorCondition, OperatorPolicy, OperatorPolicySpec, OperatorPolicyStatus,
    RelatedOperatorObject,
};
use reeve_runtime::events::at_most;

use super::decide::aggregate::{self, aggregate};
use super::decide::state::{Condition, Part, Related, State, Truth};
use crate::messages::operator as messages;
use crate::status::update::{self, seconds};

/// The longest message of a condition that the API server accepts, in bytes.
const MAX_CONDITION_MESSAGE: usize = 32_768;
/// The longest reason that it accepts.
const MAX_REASON: usize = 1024;
/// The condition about a catalog whose state is unknown, beside the one about its health.
const CATALOG_STATE_UNKNOWN: &str = "CatalogSourcesUnknownState";

/// A compliance that is reported by an event and in the history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    pub compliance: Compliance,
    pub message: String,
}

/// A status in the making.
#[derive(Debug)]
pub struct StatusBuilder<'p> {
    spec: &'p OperatorPolicySpec,
    now: Timestamp,
    status: OperatorPolicyStatus,
    /// Whether anything is new that a report is due for.
    changed: bool,
    reports: Vec<Report>,
}

impl<'p> StatusBuilder<'p> {
    /// Begins with the status before.
    pub fn new(policy: &'p OperatorPolicy, before: &OperatorPolicyStatus, now: Timestamp) -> Self {
        let is_reset = before.compliant.as_deref().unwrap_or_default().is_empty();
        let is_new = before.observed_generation != policy.metadata.generation;
        let mut status = before.clone();
        status.observed_generation = policy.metadata.generation;
        Self {
            spec: &policy.spec,
            now,
            status,
            changed: is_reset || is_new,
            reports: Vec::new(),
        }
    }

    /// Sets the state of a part. Returns whether that is new.
    pub fn set(&mut self, state: &State) -> bool {
        let mut changed = self.set_condition(&state.condition);
        if state.condition.part == Part::CatalogSource {
            changed |= self.set_catalog_state(&state.condition);
        }
        if let Related::Set(objects) = &state.related {
            changed |= self.set_related(state.condition.part, objects);
        }
        self.aggregate();
        self.changed |= changed;
        changed
    }

    /// Sets what is not a condition.
    pub fn edit(&mut self, edit: impl FnOnce(&mut OperatorPolicyStatus)) {
        edit(&mut self.status);
    }

    /// Reports the compliance as it is now.
    pub fn report_interim(&mut self) {
        let report = self.report();
        self.reports.push(report);
    }

    /// The status, and what is reported, in this order.
    pub fn finish(mut self) -> (OperatorPolicyStatus, Vec<Report>) {
        self.aggregate();
        let report = self.report();
        let latest = self.reports.last().map(|report| report.message.as_str());
        let latest = latest.or_else(|| latest_message(&self.status));
        if self.changed || latest != Some(&report.message) {
            self.reports.push(report);
        }
        (self.status, self.reports)
    }

    fn report(&self) -> Report {
        let (compliance, message) = aggregate(self.spec, self.conditions());
        Report {
            compliance,
            message,
        }
    }

    fn conditions(&self) -> &[OperatorCondition] {
        self.status.conditions.as_deref().unwrap_or_default()
    }

    /// Recomputes the condition about the whole policy.
    fn aggregate(&mut self) {
        let Report {
            compliance,
            message,
        } = self.report();
        let condition = OperatorCondition {
            type_: aggregate::COMPLIANT.to_owned(),
            status: Truth::of(compliance == Compliance::Compliant)
                .as_str()
                .to_owned(),
            reason: compliance.as_str().to_owned(),
            message,
            last_transition_time: seconds(self.now),
            observed_generation: None,
        };
        self.put(condition);
        self.status.compliant = Some(compliance.as_str().to_owned());
    }

    fn set_condition(&mut self, condition: &Condition) -> bool {
        let since = condition.since.clone();
        self.put(OperatorCondition {
            type_: condition.part.condition_type().to_owned(),
            status: condition.status.as_str().to_owned(),
            reason: valid_reason(&condition.reason),
            message: at_most(&condition.message, MAX_CONDITION_MESSAGE).to_owned(),
            last_transition_time: since.unwrap_or_else(|| seconds(self.now)),
            observed_generation: None,
        })
    }

    /// The condition that the state of the catalog is unknown exists only as long as it is.
    fn set_catalog_state(&mut self, condition: &Condition) -> bool {
        let (reason, message) = messages::CATALOG_SOURCE_UNKNOWN;
        if condition.reason == reason {
            return self.put(OperatorCondition {
                type_: CATALOG_STATE_UNKNOWN.to_owned(),
                status: Truth::True.as_str().to_owned(),
                reason: reason.to_owned(),
                message: message.to_owned(),
                last_transition_time: seconds(self.now),
                observed_generation: None,
            });
        }
        let conditions = self.status.conditions.get_or_insert_default();
        let before = conditions.len();
        conditions.retain(|condition| condition.type_ != CATALOG_STATE_UNKNOWN);
        conditions.len() != before
    }

    /// Puts a condition in its place, unless it is there with another time.
    fn put(&mut self, condition: OperatorCondition) -> bool {
        let conditions = self.status.conditions.get_or_insert_default();
        let known = conditions
            .iter_mut()
            .find(|known| known.type_ == condition.type_);
        match known {
            Some(known) if is_same(known, &condition) => return false,
            Some(known) => *known = condition,
            None => conditions.push(condition),
        }
        conditions.sort_by(|one, other| one.type_.cmp(&other.type_));
        true
    }

    fn set_related(&mut self, part: Part, objects: &[RelatedOperatorObject]) -> bool {
        let is_of_part = |related: &RelatedOperatorObject| kind(related) == part.kind();
        let (previous, mut rest): (Vec<_>, Vec<_>) =
            self.status.related_objects.drain(..).partition(is_of_part);
        let mut objects = objects.to_vec();
        for object in &mut objects {
            let same = previous
                .iter()
                .find(|previous| is_same_object(previous, object));
            if let Some(created) = same.and_then(created_by_policy)
                && let Some(properties) = &mut object.properties
            {
                properties.created_by_policy = Some(created);
            }
        }
        let changed = related_changed(&previous, &objects);
        rest.extend(if changed { objects } else { previous });
        rest.sort_by(|one, other| (kind(one), name(one)).cmp(&(kind(other), name(other))));
        self.status.related_objects = rest;
        changed
    }
}

/// Adds a report to the history, unless it is the newest already.
pub fn add_history(status: &mut OperatorPolicyStatus, message: &str, limit: (Timestamp, usize)) {
    if latest_message(status) != Some(message) {
        update::add_history(&mut status.history, message, limit);
    }
}

fn latest_message(status: &OperatorPolicyStatus) -> Option<&str> {
    status.history.as_ref()?.first()?.message.as_deref()
}

fn is_same(one: &OperatorCondition, other: &OperatorCondition) -> bool {
    (&one.status, &one.reason, &one.message) == (&other.status, &other.reason, &other.message)
}

/// A reason that the API server accepts. One that it does not would be refused with the whole status.
fn valid_reason(reason: &str) -> String {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let is_valid = reason.len() <= MAX_REASON
        && reason.starts_with(|first: char| first.is_ascii_alphabetic())
        && reason
            .bytes()
            .all(|byte| is_word(byte) || matches!(byte, b',' | b':'))
        && reason.bytes().last().is_some_and(is_word);
    let reason = if is_valid {
        reason
    } else {
        messages::UNKNOWN_REASON
    };
    reason.to_owned()
}

fn kind(related: &RelatedOperatorObject) -> &str {
    let object = related.object.as_ref();
    object
        .and_then(|object| object.kind.as_deref())
        .unwrap_or_default()
}

fn name(related: &RelatedOperatorObject) -> &str {
    let metadata = related
        .object
        .as_ref()
        .and_then(|object| object.metadata.as_ref());
    metadata
        .and_then(|metadata| metadata.name.as_deref())
        .unwrap_or_default()
}

fn uid(related: &RelatedOperatorObject) -> Option<&str> {
    related.properties.as_ref()?.uid.as_deref()
}

fn created_by_policy(related: &RelatedOperatorObject) -> Option<bool> {
    related.properties.as_ref()?.created_by_policy
}

fn is_same_object(one: &RelatedOperatorObject, other: &RelatedOperatorObject) -> bool {
    name(one) == name(other) && uid(one).is_some() && uid(one) == uid(other)
}

/// Whether the objects of a kind differ in what a user looks for: which they are, their compliance, and why.
fn related_changed(previous: &[RelatedOperatorObject], new: &[RelatedOperatorObject]) -> bool {
    previous.len() != new.len()
        || previous.iter().any(|previous| {
            let mut named = new.iter().filter(|new| name(new) == name(previous));
            named.next().is_none_or(|new| {
                let is_recreated =
                    matches!((uid(previous), uid(new)), (Some(a), Some(b)) if a != b);
                is_recreated
                    || (&previous.compliant, &previous.reason) != (&new.compliant, &new.reason)
            })
        })
}
