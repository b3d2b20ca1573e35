//! From one object template to the objects that it wants: where they are, what they are called, and what they are to
//! look like once the templates in it are resolved.

mod candidates;
mod object;
mod resolve;
mod template;

use std::sync::Arc;

use reeve_api::configuration_policy::RelatedObject;
use reeve_runtime::discovery::{DiscoveryError, ServedKind};
use serde_json::Value;

use crate::evaluate::cluster::Cluster;
use crate::evaluate::compare::{self, ComplianceType};
use crate::evaluate::selectors::namespaces::Selection;
use crate::evaluate::spec::{Problem, Retry};
use crate::evaluate::templates::{Frame, Templates};
use crate::messages;
use crate::status::finding::{Event, Place, related};
use reeve_runtime::object::chain;

pub use object::{Recreate, Wanted};
pub use template::{Described, Identity, is_templated};

use candidates::{Candidate, candidates};
use resolve::resolve;

/// What object templates are turned into objects with.
pub struct Around<'a, C> {
    /// The cluster.
    pub cluster: &'a C,
    /// Resolves templates.
    pub templates: &'a Templates,
    /// The namespaces that the policy's selector chose; `None` if it has none that could choose any.
    pub selection: Option<&'a Selection>,
    /// The policy's name.
    pub policy: &'a str,
}

/// What one object template wants.
pub enum Desired {
    /// These objects, of one kind.
    Objects {
        /// The kind.
        kind: ServedKind,
        /// The objects, with what is known of each already.
        wanted: Vec<(Wanted, Option<Arc<Value>>)>,
    },
    /// Nothing at all, which is in order.
    Nothing {
        /// The plural name of the kind, where it is known.
        resource: String,
        /// The event that is reported instead.
        event: Event,
        /// Objects that were looked at.
        related: Vec<RelatedObject>,
    },
}

/// Turns an object template into the objects that it wants. The problem comes with the plural name of the kind, as
/// far as it is known.
pub async fn determine<C: Cluster>(
    around: &Around<'_, C>,
    described: &Described<'_>,
) -> Result<Desired, (String, Problem)> {
    let kind = match around.cluster.kind(&described.kind).await {
        Ok(kind) => kind,
        Err(error) => return no_kind(around, described, &error).await,
    };
    let resource = kind.resource.plural.clone();
    let failed = |problem: Problem| (resource.clone(), problem);
    let candidates = candidates(around, described, &kind).await.map_err(failed)?;
    let resolved = resolve(around, described, &kind, candidates)
        .await
        .map_err(failed)?;
    if resolved.objects.is_empty() {
        let event = nothing_left(described, resolved.skipped);
        return Ok(Desired::Nothing {
            resource,
            event,
            related: Vec::new(),
        });
    }
    let fits_only = described.compliance == ComplianceType::MustNotHave
        && described.selector().is_some()
        && described.nameless;
    if fits_only {
        return Ok(only_those_that_fit(described, kind, resolved.objects));
    }
    let wanted = resolved.objects;
    Ok(Desired::Objects { kind, wanted })
}

/// A kind that is not there. A template that leaves all its objects out does not need it.
async fn no_kind<C: Cluster>(
    around: &Around<'_, C>,
    described: &Described<'_>,
    error: &DiscoveryError,
) -> Result<Desired, (String, Problem)> {
    if error.is_absent() && described.uses.is_some() {
        // Complete, but empty: nothing is known of any object of such a kind.
        let frame = Frame {
            namespace: Some(String::new()),
            name: Some(String::new()),
            object: None,
        };
        let definition = &described.template.object_definition;
        let outcomes = around
            .templates
            .each(around.cluster, definition, vec![frame])
            .await;
        if outcomes.iter().any(|outcome| outcome.skipped) {
            let event = Event::remark(messages::all_skipped(&described.kind.kind));
            let resource = String::new();
            return Ok(Desired::Nothing {
                resource,
                event,
                related: Vec::new(),
            });
        }
    }
    let (message, retry) = if error.is_absent() {
        let kind = &described.kind;
        let message = messages::no_mapping(&kind.kind, &kind.api_version());
        (message, Retry::WhenKindAppears)
    } else {
        (chain(error), Retry::Soon)
    };
    let event = Event::problem(messages::K8S_ERROR, message);
    Err((String::new(), Problem { event, retry }))
}

fn nothing_left(described: &Described<'_>, skipped: bool) -> Event {
    let kind = &described.kind.kind;
    Event::remark(if skipped {
        messages::all_skipped(kind)
    } else if described.selector().is_some() {
        messages::none_selected(kind)
    } else {
        messages::none_matched(kind)
    })
}

/// Of the objects that a selector chose for a mustnothave template without a name, those that fit the rest of the
/// description.
fn only_those_that_fit(
    described: &Described<'_>,
    kind: ServedKind,
    objects: Vec<(Wanted, Option<Arc<Value>>)>,
) -> Desired {
    let fits = |(wanted, live): &(Wanted, Option<Arc<Value>>)| {
        live.as_ref()
            .is_some_and(|live| compare::matches(wanted.desired(), live))
    };
    let (wanted, others): (Vec<_>, Vec<_>) = objects.into_iter().partition(fits);
    if !wanted.is_empty() {
        return Desired::Objects { kind, wanted };
    }
    let resource = kind.resource.plural;
    let mut places: Vec<Place> = others.into_iter().map(|(wanted, _)| wanted.place).collect();
    places.sort();
    let mut namespaces: Vec<&str> = places
        .iter()
        .map(|place| place.namespace.as_str())
        .collect();
    namespaces.dedup();
    namespaces.retain(|namespace| !namespace.is_empty());
    let event = Event::remark(messages::missing_as_expected(&resource, &namespaces));
    let kind = (described.kind.api_version(), described.kind.kind.as_str());
    let entry = |place: &Place| {
        let mut entry = related((&kind.0, kind.1), place, &event, None);
        entry.reason = Some(String::new());
        entry
    };
    let related = places.iter().map(entry).collect();
    Desired::Nothing {
        resource,
        event,
        related,
    }
}

impl Candidate {
    fn frame(&self, kind: &ServedKind) -> Frame {
        let known = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        Frame {
            namespace: known(&self.place.namespace).filter(|_| kind.namespaced),
            name: known(&self.place.name),
            object: self.object.clone(),
        }
    }
}
