//! Objects that were missing, or should be absent.

use reeve_api::configuration_policy::ObjectProperties;
use reeve_runtime::writes::Deletion;
use serde_json::Value;

use super::{Decision, RelatedEntry, Step, Target};
use crate::evaluate::cluster::{WriteError, text};
use crate::messages::{self, Reason};
use crate::status::finding::ObjectEvent;

/// The decision after a creation.
pub fn after_create(target: &Target<'_>, created: Result<&Value, &WriteError>) -> Step {
    let missing = ObjectEvent::violation(Reason::Missing);
    let object = target.in_words();
    let decision = match created {
        Ok(created) => {
            let outcome = if target.desired.definition.contains_key("status") {
                let message = messages::created_status_unchecked(&object);
                ObjectEvent::error(messages::CREATED_STATUS_UNCHECKED, message)
            } else {
                ObjectEvent::compliant(Reason::Created)
            };
            let properties = ObjectProperties {
                created_by_policy: Some(true),
                uid: Some(text(created, "/metadata/uid").to_owned()),
                ..ObjectProperties::default()
            };
            Decision::new(
                vec![missing, outcome],
                RelatedEntry::Listed(Some(properties)),
            )
        }
        Err(refused) => {
            let message = messages::cannot_create(&object, refused.text());
            let awaits_namespace = matches!(refused, WriteError::NoNamespace(_));
            let event = ObjectEvent::error(messages::CREATION_ERROR, message.clone());
            Decision {
                // The watch of the namespace triggers the next evaluation.
                failure: (!awaits_namespace).then_some(message),
                awaits_namespace,
                ..Decision::new(vec![missing, event], RelatedEntry::Listed(None))
            }
        }
    };
    Step::done(decision)
}

/// The object exists as long as its finalizers or its grace period hold it. Its removal triggers the next evaluation.
pub(super) fn pending(target: &Target<'_>) -> ObjectEvent {
    let message = messages::deletion_pending(&target.in_words());
    ObjectEvent::error(messages::DELETION_PENDING, message)
}

/// The decision after a deletion. An object that was gone already counts as deleted.
pub fn after_delete(target: &Target<'_>, deleted: Result<Deletion, &WriteError>) -> Step {
    let (event, failure) = match deleted {
        Ok(Deletion::Complete) | Err(WriteError::NotFound(_)) => {
            (ObjectEvent::compliant(Reason::Deleted), None)
        }
        Ok(Deletion::Pending) => (pending(target), None),
        Err(refused) => {
            let message = messages::cannot_delete(&target.in_words(), refused.text());
            (
                ObjectEvent::error(messages::DELETION_ERROR, message.clone()),
                Some(message),
            )
        }
    };
    Step::done(Decision {
        failure,
        ..Decision::new(vec![event], RelatedEntry::Listed(None))
    })
}
