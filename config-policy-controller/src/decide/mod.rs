//! What to do about one object. Pure: what was seen goes in, the next step comes out.
//!
//! A decision can need the API server's word half-way (would this update change anything?), so it is made in
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

use crate::compare::ComplianceType;
use crate::diff::Length;
use crate::messages;
use crate::report::{Event, Finding, Place, Reason, related};
use crate::spec::Wanted;
use reeve_template_reads::Secrets;

pub use absent::{after_create, after_delete};
pub use present::{after_dry_run, after_recreate, after_update};
pub use unnamed::{Search, search};

/// One object that a policy speaks about.
#[derive(Debug, Clone, PartialEq)]
pub struct Target<'a> {
    /// What is wanted.
    pub wanted: &'a Wanted,
    /// The plural name of the kind.
    pub resource: &'a str,
    /// Its name and namespace; the namespace is empty for cluster-scoped kinds.
    pub place: Place,
    /// What may be done.
    pub mode: RemediationAction,
    /// What the policy's status says about the object.
    pub before: Option<&'a ObjectProperties>,
    /// What an earlier evaluation of the same object and template found.
    pub remembered: Option<Memory>,
    /// How much of a difference is recorded.
    pub length: Length,
    /// How the object came to be spoken about.
    pub found: Found,
}

/// How an object came to be spoken about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// By its name.
    ByName,
    /// By its content: the template has no name.
    ByContent,
}

/// What reading the object came to.
#[derive(Debug, Clone, PartialEq)]
pub enum Seen {
    /// It does not exist.
    Absent,
    /// It exists.
    Present(Arc<Value>),
    /// Its kind cannot be watched.
    Unwatchable(String),
    /// It could not be read, so nothing is known about it.
    Unreadable(String),
}

impl Seen {
    /// The object, if there is one.
    #[must_use]
    pub fn object(&self) -> Option<Arc<Value>> {
        match self {
            Self::Present(object) => Some(Arc::clone(object)),
            _ => None,
        }
    }
}

/// What to do next.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Nothing: this is the answer.
    Done(Box<Settled>),
    /// Create the object.
    Create(Value),
    /// Delete the object, unless another one has its name by now.
    Delete {
        /// The UID of the object that was looked at.
        uid: String,
    },
    /// Ask what an update would change.
    DryRun(Box<Draft>),
    /// Update the object.
    Update(Box<Draft>),
    /// Delete the object, if it still is the draft's, and create it again, as [`Target::to_create`] says.
    Recreate(Box<Draft>),
}

/// An update in the making.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    /// The object as it is.
    pub live: Arc<Value>,
    /// The object as it is to be sent.
    pub to_write: Value,
    /// Fields differ, beyond what defaulting may explain.
    pub differs: bool,
    /// The status differs as well.
    pub status_differs: bool,
    /// The difference, as far as it is known.
    pub diff: Recorded,
    /// Field by field, what differs.
    pub fields: Vec<FieldDifference>,
}

impl Draft {
    /// The UID of the object as it was looked at.
    #[must_use]
    pub fn uid(&self) -> &str {
        text(&self.live, "/metadata/uid")
    }
}

/// A difference and where it goes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recorded {
    /// For the status of the policy.
    pub in_status: Option<String>,
    /// For the log.
    pub in_log: Option<String>,
}

/// Why the API server did not do as asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    /// Somebody else wrote in between: another version is there, or there is an object where there was none.
    Conflict(String),
    /// The object is not valid: 422.
    Invalid(String),
    /// The object is gone.
    NotFound(String),
    /// The request cannot be understood, as with a misspelt field: 400.
    BadRequest(String),
    /// The object's namespace is missing or about to be.
    NoNamespace(String),
    /// The controller may not do this: 403.
    Forbidden(String),
    /// Anything else, a missing answer included.
    Other(String),
}

impl Refused {
    /// The refusal in words that quote no secret.
    #[must_use]
    pub fn without(self, secrets: &Secrets) -> Self {
        let clean = |text: String| secrets.redact(&text);
        match self {
            Self::Conflict(text) => Self::Conflict(clean(text)),
            Self::Invalid(text) => Self::Invalid(clean(text)),
            Self::NotFound(text) => Self::NotFound(clean(text)),
            Self::BadRequest(text) => Self::BadRequest(clean(text)),
            Self::NoNamespace(text) => Self::NoNamespace(clean(text)),
            Self::Forbidden(text) => Self::Forbidden(clean(text)),
            Self::Other(text) => Self::Other(clean(text)),
        }
    }

    /// What the API server said.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::Conflict(text)
            | Self::Invalid(text)
            | Self::NotFound(text)
            | Self::BadRequest(text)
            | Self::NoNamespace(text)
            | Self::Forbidden(text)
            | Self::Other(text) => text,
        }
    }
}

/// What deleting and creating an object came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecreateFailure {
    /// It could not be deleted.
    Delete(Refused),
    /// It could not be created.
    Create(Refused),
    /// It is still being deleted.
    StillThere,
}

impl RecreateFailure {
    /// The failure in words that quote no secret.
    #[must_use]
    pub fn without(self, secrets: &Secrets) -> Self {
        match self {
            Self::Delete(refused) => Self::Delete(refused.without(secrets)),
            Self::Create(refused) => Self::Create(refused.without(secrets)),
            Self::StillThere => Self::StillThere,
        }
    }

    /// The refusal as that of one step. Only that of the deletion says that the object is another by now.
    #[must_use]
    pub fn into_refused(self) -> Refused {
        match self {
            Self::Delete(refused) => refused,
            Self::Create(refused) => Refused::Other(refused.text().to_owned()),
            Self::StillThere => Refused::Other(String::new()),
        }
    }
}

/// An answer about one object.
#[derive(Debug, Clone, PartialEq)]
pub struct Settled {
    /// What was found and done, one or two events.
    pub events: Vec<Event>,
    /// Whether the object belongs into the list of related objects, and with which properties.
    pub listed: Listed,
    /// What to remember, so that an unchanged object is not compared again.
    pub remember: Option<Memory>,
    /// Why the evaluation has to be tried again.
    pub failure: Option<String>,
    /// A namespace whose creation would help.
    pub awaits_namespace: bool,
    /// A difference for the log.
    pub log: Option<String>,
}

/// Whether and how an object appears among the related objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listed {
    /// It does not: nothing is known about it.
    No,
    /// It does, with these properties.
    With(Option<ObjectProperties>),
}

/// What is remembered of an object that was compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Memory {
    /// The object's UID.
    pub uid: String,
    /// The version that was compared.
    pub resource_version: String,
    /// Whether it was as wanted.
    pub compliant: bool,
    /// Why not, where that has words of its own.
    pub message: String,
    /// The difference as the status shows it.
    pub diff: Option<String>,
    /// Field by field, what differs.
    pub fields: Vec<FieldDifference>,
    /// It differs in text only: the API server would store no difference.
    pub matches_after_dry_run: bool,
}

impl<'a> Target<'a> {
    /// An object with a name.
    #[must_use]
    pub fn named(wanted: &'a Wanted, resource: &'a str, mode: RemediationAction) -> Self {
        Self {
            wanted,
            resource,
            place: wanted.place.clone(),
            mode,
            before: None,
            remembered: None,
            length: Length::Truncated,
            found: Found::ByName,
        }
    }

    /// `pods [a] in namespace n`.
    fn in_words(&self) -> String {
        messages::object_name(self.resource, &self.place.name, &self.place.namespace)
    }

    /// The object to create: the description at this place. Its `status` is checked, never written.
    #[must_use]
    pub fn to_create(&self) -> Value {
        let mut object = self.wanted.definition.clone();
        object.remove("status");
        let metadata = object
            .entry("metadata")
            .or_insert_with(|| Value::Object(serde_json::Map::new()));
        if let Some(metadata) = metadata.as_object_mut() {
            metadata.insert("name".to_owned(), Value::String(self.place.name.clone()));
            if self.place.namespace.is_empty() {
                metadata.remove("namespace");
            } else {
                let namespace = Value::String(self.place.namespace.clone());
                metadata.insert("namespace".to_owned(), namespace);
            }
        }
        Value::Object(object)
    }

    /// The finding that an answer amounts to.
    #[must_use]
    pub fn finding(&self, settled: &Settled) -> Finding {
        let names = Vec::from_iter(Some(self.place.name.clone()).filter(|name| !name.is_empty()));
        let listed = match (&settled.listed, settled.events.last()) {
            (Listed::With(properties), Some(event)) => Some((properties.clone(), event)),
            _ => None,
        };
        let kind = (
            self.wanted.kind.api_version(),
            self.wanted.kind.kind.as_str(),
        );
        let related = listed
            .map(|(properties, event)| related((&kind.0, kind.1), &self.place, event, properties));
        Finding {
            place: self.place.clone(),
            names,
            events: settled.events.clone(),
            related: related.into_iter().collect(),
        }
    }
}

impl Settled {
    fn new(events: Vec<Event>, listed: Listed) -> Self {
        Self {
            events,
            listed,
            remember: None,
            failure: None,
            awaits_namespace: false,
            log: None,
        }
    }
}

impl Step {
    fn done(settled: Settled) -> Self {
        Self::Done(Box::new(settled))
    }
}

/// The first step, from what was read.
#[must_use]
pub fn first(target: &Target<'_>, seen: &Seen) -> Step {
    use ComplianceType::{MustHave, MustNotHave, MustOnlyHave};
    use RemediationAction::{Enforce, Inform};
    let index = target.wanted.index;
    let bare = |event| Step::done(Settled::new(vec![event], Listed::With(None)));
    // What is known of the object is kept where it cannot be read: that the policy created it must not be forgotten.
    let as_before = || {
        target
            .before
            .map_or(Listed::No, |before| Listed::With(Some(before.clone())))
    };
    match (seen, target.wanted.compliance, target.mode) {
        (Seen::Unwatchable(error), _, _) => {
            let event = Event::problem(messages::UNWATCHABLE, messages::unwatchable(index, error));
            Step::done(Settled::new(vec![event], as_before()))
        }
        (Seen::Unreadable(error), _, _) => {
            let message = messages::unreadable(index, error);
            let event = Event::problem(messages::API_ERROR, message.clone());
            Step::done(Settled {
                failure: Some(message),
                ..Settled::new(vec![event], as_before())
            })
        }
        (Seen::Absent, MustNotHave, _) => bare(Event::good(Reason::AbsentAsExpected)),
        (Seen::Absent, MustHave | MustOnlyHave, Inform) => bare(Event::bad(Reason::Missing)),
        (Seen::Absent, MustHave | MustOnlyHave, Enforce) => Step::Create(target.to_create()),
        (Seen::Present(_), MustNotHave, Inform) => bare(Event::bad(Reason::Unexpected)),
        (Seen::Present(live), MustNotHave, Enforce) => Step::Delete {
            uid: text(live, "/metadata/uid").to_owned(),
        },
        (Seen::Present(live), MustHave | MustOnlyHave, _) => present::first(target, live),
    }
}

/// The text at a path of an object, or nothing.
pub(crate) fn text<'v>(object: &'v Value, pointer: &str) -> &'v str {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}
