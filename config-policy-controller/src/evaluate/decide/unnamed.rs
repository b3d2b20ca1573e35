//! Templates without a name: any object that fits the description counts. They are never enforced.

use std::sync::Arc;

use reeve_api::RemediationAction;
use serde_json::Value;

use super::{Found, Target};
use crate::evaluate::cluster::text;
use crate::evaluate::compare::{ComplianceType, matches};
use crate::evaluate::desired::Wanted;
use crate::messages::Reason;
use crate::status::finding::{Event, Finding, Place, related};

/// Stands for "no object in particular" among the related objects.
const NO_NAME: &str = "-";

/// What listing the objects of a kind in a namespace says about a template without a name.
#[derive(Debug, Clone, PartialEq)]
pub enum Search<'a> {
    /// Exactly one fits; it is judged like an object with a name, but never changed.
    One {
        /// The object as target.
        target: Target<'a>,
        /// The object.
        live: Arc<Value>,
    },
    /// None or several fit: this is the answer.
    Settled(Finding),
}

/// Looks for objects that fit among those of the namespace, or all of a cluster-scoped kind.
pub fn search<'a>(wanted: &'a Wanted, resource: &'a str, listed: &[Arc<Value>]) -> Search<'a> {
    let fitting: Vec<&Arc<Value>> = listed
        .iter()
        .filter(|live| matches(wanted.desired(), live))
        .collect();
    let place = |name: &str| Place::new(&wanted.place.namespace, name);
    if let [only] = fitting.as_slice() {
        let target = Target {
            place: place(text(only, "/metadata/name")),
            found: Found::ByContent,
            ..Target::named(wanted, resource, RemediationAction::Inform)
        };
        return Search::One {
            target,
            live: Arc::clone(only),
        };
    }
    let event = event(wanted.compliance, !fitting.is_empty(), !listed.is_empty());
    let mut names: Vec<String> = fitting
        .iter()
        .map(|live| text(live, "/metadata/name").to_owned())
        .collect();
    names.sort();
    let kind = wanted.kind.api_version();
    let entry = |name: &str| related((&kind, &wanted.kind.kind), &place(name), &event, None);
    let related = if names.is_empty() {
        vec![entry(NO_NAME)]
    } else {
        names.iter().map(|name| entry(name)).collect()
    };
    Search::Settled(Finding {
        place: place(""),
        names,
        events: vec![event],
        related,
    })
}

fn event(compliance: ComplianceType, some_fit: bool, some_listed: bool) -> Event {
    match (compliance, some_fit) {
        (ComplianceType::MustNotHave, true) => Event::bad(Reason::Unexpected),
        (ComplianceType::MustNotHave, false) => Event::good(Reason::AbsentAsExpected),
        (_, true) => Event::good(Reason::FoundAsExpected),
        (_, false) if some_listed => Event::bad(Reason::Mismatched),
        (_, false) => Event::bad(Reason::Missing),
    }
}
