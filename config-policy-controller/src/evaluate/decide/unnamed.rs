//! Templates without a name: any object that matches the definition counts. They are never enforced.

use std::sync::Arc;

use reeve_api::RemediationAction;
use serde_json::Value;

use super::{FoundBy, Target};
use crate::evaluate::cluster::text;
use crate::evaluate::compare::{ComplianceType, matches};
use crate::evaluate::desired::DesiredObject;
use crate::messages::Reason;
use crate::status::finding::{Finding, Location, ObjectEvent, related};

/// Stands for "no object in particular" among the related objects.
const NO_NAME: &str = "-";

/// The result of searching the listed objects for those that a template without a name describes.
#[derive(Debug, Clone, PartialEq)]
pub enum Search<'a> {
    /// Exactly one matches; it is compared like an object with a name, but never changed.
    One {
        /// The object as target.
        target: Target<'a>,
        /// The object.
        live: Arc<Value>,
    },
    /// None or several match: this is the finding.
    Decided(Finding),
}

/// Searches the objects of a namespace, or all of a cluster-scoped kind, for those that match.
pub fn search<'a>(
    desired: &'a DesiredObject,
    resource: &'a str,
    listed: &[Arc<Value>],
) -> Search<'a> {
    let fitting: Vec<&Arc<Value>> = listed
        .iter()
        .filter(|live| matches(desired.content(), live))
        .collect();
    let location = |name: &str| Location::new(&desired.location.namespace, name);
    if let [only] = fitting.as_slice() {
        let target = Target {
            location: location(text(only, "/metadata/name")),
            found: FoundBy::Content,
            ..Target::named(desired, resource, RemediationAction::Inform)
        };
        return Search::One {
            target,
            live: Arc::clone(only),
        };
    }
    let event = event(desired.compliance, !fitting.is_empty(), !listed.is_empty());
    let mut names: Vec<String> = fitting
        .iter()
        .map(|live| text(live, "/metadata/name").to_owned())
        .collect();
    names.sort();
    let kind = desired.kind.api_version();
    let entry = |name: &str| related((&kind, &desired.kind.kind), &location(name), &event, None);
    let related = if names.is_empty() {
        vec![entry(NO_NAME)]
    } else {
        names.iter().map(|name| entry(name)).collect()
    };
    Search::Decided(Finding {
        location: location(""),
        names,
        events: vec![event],
        related,
    })
}

fn event(compliance: ComplianceType, some_fit: bool, some_listed: bool) -> ObjectEvent {
    match (compliance, some_fit) {
        (ComplianceType::MustNotHave, true) => ObjectEvent::violation(Reason::Unexpected),
        (ComplianceType::MustNotHave, false) => ObjectEvent::compliant(Reason::AbsentAsExpected),
        (_, true) => ObjectEvent::compliant(Reason::FoundAsExpected),
        (_, false) if some_listed => ObjectEvent::violation(Reason::Mismatched),
        (_, false) => ObjectEvent::violation(Reason::Missing),
    }
}
