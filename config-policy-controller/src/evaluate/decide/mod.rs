//! Decides what to do about one object. Pure: from the live object to the next step.
//!
//! A decision may depend on answers of the API server (would this update change anything?), so it is made in
//! steps: [`first`], then one of the `after_…` functions for each answer, until a step is [`Step::Done`].

mod absent;
mod fields;
mod present;
mod unnamed;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use reeve_api::RemediationAction;
use reeve_api::configuration_policy::{FieldDifference, ObjectProperties};
use serde_json::Value;

use crate::evaluate::cluster::{ReadError, ReadResult, text};
use crate::evaluate::compare::{ComplianceType, with_status_of};
use crate::evaluate::desired::DesiredObject;
use crate::evaluate::diff::DiffLength;
use crate::evaluate::memo::ComparisonMemo;
use crate::messages::{self, Reason};
use crate::status::finding::{Finding, Location, ObjectEvent, related};

pub use absent::{after_create, after_delete};
pub use present::{after_dry_run, after_recreate, after_update};
pub use unnamed::{Search, search};

/// One object that a policy evaluates.
#[derive(Debug, Clone, PartialEq)]
pub struct Target<'a> {
    /// The object as the policy wants it.
    pub desired: &'a DesiredObject,
    /// The plural name of the kind.
    pub resource: &'a str,
    /// Its name and namespace; the namespace is empty for cluster-scoped kinds.
    pub location: Location,
    /// The remediation action.
    pub mode: RemediationAction,
    /// The object's properties in the policy's status.
    pub before: Option<&'a ObjectProperties>,
    /// What an earlier evaluation of the same object and template found.
    pub memo: Option<ComparisonMemo>,
    /// How much of a difference is recorded.
    pub length: DiffLength,
    /// How the object was found.
    pub found: FoundBy,
}

/// How an object was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoundBy {
    /// By its name.
    Name,
    /// By its content: the template has no name.
    Content,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Nothing: this is the decision.
    Done(Box<Decision>),
    /// Create the object.
    Create(Value),
    /// Delete the object, unless another one has its name by now.
    Delete {
        /// The UID of the object that was read.
        uid: String,
    },
    /// Send a dry-run update.
    DryRun(Box<PendingUpdate>),
    /// Update the object.
    Update(Box<PendingUpdate>),
    /// Delete the object, if it still has the update's UID, and create it again, as in [`Target::to_create`].
    Recreate(Box<PendingUpdate>),
}

/// An update that is to be sent.
#[derive(Debug, Clone, PartialEq)]
pub struct PendingUpdate {
    /// The live object.
    pub live: Arc<Value>,
    /// The live object with the desired content merged in, including the desired `status`: what a dry run sends.
    pub candidate: Value,
    /// Fields differ, beyond what defaulting may explain.
    pub differs: bool,
    /// The status differs as well.
    pub status_differs: bool,
    /// Whether a dry run has shown that the update changes the object.
    pub is_verified: bool,
    /// The difference, as far as it is known.
    pub diff: RecordedDiff,
    /// Field by field, what differs.
    pub fields: Vec<FieldDifference>,
}

impl PendingUpdate {
    /// The object to write: with the `status` of the live object, which is checked and never written.
    pub fn to_write(&self) -> Value {
        with_status_of(&self.candidate, &self.live)
    }

    /// The UID of the live object.
    pub fn uid(&self) -> &str {
        text(&self.live, "/metadata/uid")
    }
}

/// A diff and where it is recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordedDiff {
    /// For the status of the policy.
    pub in_status: Option<String>,
    /// For the log.
    pub in_log: Option<String>,
}

/// The decision about one object.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// What was found and done, one or two events.
    pub events: Vec<ObjectEvent>,
    /// Whether the object belongs into the list of related objects, and with which properties.
    pub listed: RelatedEntry,
    /// The memo of the comparison, so that an unchanged object is not compared again.
    pub memo: Option<ComparisonMemo>,
    /// Why the evaluation is retried.
    pub failure: Option<String>,
    /// The namespace does not exist: its creation enqueues the policy.
    pub awaits_namespace: bool,
    /// A difference for the log.
    pub log: Option<String>,
}

/// Whether and how an object appears among the related objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RelatedEntry {
    /// It does not appear: its state is unknown.
    Omitted,
    /// It appears with these properties.
    Listed(Option<ObjectProperties>),
}

impl<'a> Target<'a> {
    /// An object with a name.
    pub fn named(desired: &'a DesiredObject, resource: &'a str, mode: RemediationAction) -> Self {
        Self {
            desired,
            resource,
            location: desired.location.clone(),
            mode,
            before: None,
            memo: None,
            length: DiffLength::Truncated,
            found: FoundBy::Name,
        }
    }

    /// `pods [a] in namespace n`.
    fn in_words(&self) -> String {
        messages::object_name(self.resource, &self.location.name, &self.location.namespace)
    }

    /// The object to create: the description at this location. Its `status` is checked, never written.
    pub fn to_create(&self) -> Value {
        let mut object = self.desired.definition.clone();
        object.remove("status");
        let metadata = object
            .entry("metadata")
            .or_insert_with(|| Value::Object(serde_json::Map::new()));
        if let Some(metadata) = metadata.as_object_mut() {
            metadata.insert("name".to_owned(), Value::String(self.location.name.clone()));
            if self.location.namespace.is_empty() {
                metadata.remove("namespace");
            } else {
                let namespace = Value::String(self.location.namespace.clone());
                metadata.insert("namespace".to_owned(), namespace);
            }
        }
        Value::Object(object)
    }

    /// The finding for a decision.
    pub fn finding(&self, decision: &Decision) -> Finding {
        let names =
            Vec::from_iter(Some(self.location.name.clone()).filter(|name| !name.is_empty()));
        let listed = match (&decision.listed, decision.events.last()) {
            (RelatedEntry::Listed(properties), Some(event)) => Some((properties.clone(), event)),
            _ => None,
        };
        let kind = (
            self.desired.kind.api_version(),
            self.desired.kind.kind.as_str(),
        );
        let related = listed.map(|(properties, event)| {
            related((&kind.0, kind.1), &self.location, event, properties)
        });
        Finding {
            location: self.location.clone(),
            names,
            events: decision.events.clone(),
            related: related.into_iter().collect(),
        }
    }
}

impl Decision {
    fn new(events: Vec<ObjectEvent>, listed: RelatedEntry) -> Self {
        Self {
            events,
            listed,
            memo: None,
            failure: None,
            awaits_namespace: false,
            log: None,
        }
    }
}

impl Step {
    fn done(decision: Decision) -> Self {
        Self::Done(Box::new(decision))
    }
}

/// The first step, from what was read.
pub fn first(target: &Target<'_>, live: &ReadResult) -> Step {
    use ComplianceType::{MustHave, MustNotHave, MustOnlyHave};
    use RemediationAction::{Enforce, Inform};
    let index = target.desired.index;
    let bare = |event| Step::done(Decision::new(vec![event], RelatedEntry::Listed(None)));
    // An object that cannot be read keeps its properties, so that `createdByPolicy` is not lost.
    let as_before = || {
        target.before.map_or(RelatedEntry::Omitted, |before| {
            RelatedEntry::Listed(Some(before.clone()))
        })
    };
    match (live, target.desired.compliance, target.mode) {
        (Err(ReadError::Unwatchable(error)), _, _) => {
            let event =
                ObjectEvent::error(messages::UNWATCHABLE, messages::unwatchable(index, error));
            Step::done(Decision::new(vec![event], as_before()))
        }
        (Err(ReadError::Failed(error)), _, _) => {
            let message = messages::unreadable(index, error);
            let event = ObjectEvent::error(messages::API_ERROR, message.clone());
            Step::done(Decision {
                failure: Some(message),
                ..Decision::new(vec![event], as_before())
            })
        }
        (Ok(None), MustNotHave, _) => bare(ObjectEvent::compliant(Reason::AbsentAsExpected)),
        (Ok(None), MustHave | MustOnlyHave, Inform) => {
            bare(ObjectEvent::violation(Reason::Missing))
        }
        (Ok(None), MustHave | MustOnlyHave, Enforce) => Step::Create(target.to_create()),
        (Ok(Some(_)), MustNotHave, Inform) => bare(ObjectEvent::violation(Reason::Unexpected)),
        (Ok(Some(live)), MustNotHave, Enforce)
            if live.pointer("/metadata/deletionTimestamp").is_some() =>
        {
            bare(absent::pending(target))
        }
        (Ok(Some(live)), MustNotHave, Enforce) => Step::Delete {
            uid: text(live, "/metadata/uid").to_owned(),
        },
        (Ok(Some(live)), MustHave | MustOnlyHave, _) => present::first(target, live),
    }
}
