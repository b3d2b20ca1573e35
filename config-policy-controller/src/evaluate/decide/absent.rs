//! Objects that were missing, or should be.

use reeve_api::configuration_policy::ObjectProperties;
use serde_json::Value;

use super::{Listed, Settled, Step, Target};
use crate::evaluate::cluster::{Refused, text};
use crate::messages::{self, Reason};
use crate::status::finding::Event;

/// The answer after a creation.
pub fn after_create(target: &Target<'_>, created: Result<&Value, &Refused>) -> Step {
    let missing = Event::bad(Reason::Missing);
    let object = target.in_words();
    let settled = match created {
        Ok(created) => {
            let outcome = if target.wanted.definition.contains_key("status") {
                let message = messages::created_status_unchecked(&object);
                Event::problem(messages::CREATED_STATUS_UNCHECKED, message)
            } else {
                Event::good(Reason::Created)
            };
            let properties = ObjectProperties {
                created_by_policy: Some(true),
                uid: Some(text(created, "/metadata/uid").to_owned()),
                ..ObjectProperties::default()
            };
            Settled::new(vec![missing, outcome], Listed::With(Some(properties)))
        }
        Err(refused) => {
            let message = messages::cannot_create(&object, refused.text());
            let awaits_namespace = matches!(refused, Refused::NoNamespace(_));
            let event = Event::problem(messages::CREATION_ERROR, message.clone());
            Settled {
                // The namespace's own event brings the next try.
                failure: (!awaits_namespace).then_some(message),
                awaits_namespace,
                ..Settled::new(vec![missing, event], Listed::With(None))
            }
        }
    };
    Step::done(settled)
}

/// The answer after a deletion. An object that was gone already counts as deleted.
pub fn after_delete(target: &Target<'_>, deleted: Result<(), &Refused>) -> Step {
    let (event, failure) = match deleted {
        Ok(()) | Err(Refused::NotFound(_)) => (Event::good(Reason::Deleted), None),
        Err(refused) => {
            let message = messages::cannot_delete(&target.in_words(), refused.text());
            (
                Event::problem(messages::DELETION_ERROR, message.clone()),
                Some(message),
            )
        }
    };
    Step::done(Settled {
        failure,
        ..Settled::new(vec![event], Listed::With(None))
    })
}
