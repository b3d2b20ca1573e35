//! From an object template to its desired objects: their locations, their names, and their content
//! once the templates in it are resolved.

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
use crate::evaluate::selectors::namespaces::SelectedNamespaces;
use crate::evaluate::spec::{EvaluationError, Retry};
use crate::evaluate::templates::{TemplateContext, Templates};
use crate::messages;
use crate::status::finding::{Location, ObjectEvent, related};
use reeve_runtime::object::error_chain;

pub use object::{DesiredObject, Recreate};
pub use template::{ObjectIdentity, ParsedTemplate, is_templated};

use candidates::{Candidate, candidates};
use resolve::resolve;

/// What determining desired objects needs.
pub struct Deps<'a, C> {
    pub cluster: &'a C,
    /// Resolves templates.
    pub templates: &'a Templates,
    /// The namespaces that the policy's selector chose; `None` if it has none that could choose any.
    pub selection: Option<&'a SelectedNamespaces>,
    /// The policy's name.
    pub policy: &'a str,
}

/// The desired objects of one object template.
pub enum DesiredObjects {
    /// These objects, of one kind.
    Objects {
        /// The kind.
        kind: ServedKind,
        /// The objects, with what is known of each already.
        desired: Vec<(DesiredObject, Option<Arc<Value>>)>,
    },
    /// None, which complies.
    Nothing {
        /// The plural name of the kind, where it is known.
        resource: String,
        /// The event that is reported instead.
        event: ObjectEvent,
        /// Objects that were read.
        related: Vec<RelatedObject>,
    },
}

/// Determines the desired objects of a template. An error comes with the plural name of the kind, as
/// far as it is known.
pub async fn determine_desired_objects<C: Cluster>(
    deps: &Deps<'_, C>,
    parsed: &ParsedTemplate<'_>,
) -> Result<DesiredObjects, (String, EvaluationError)> {
    let kind = match deps.cluster.kind(&parsed.kind).await {
        Ok(kind) => kind,
        Err(error) => return no_kind(deps, parsed, &error).await,
    };
    let resource = kind.resource.plural.clone();
    let failed = |problem: EvaluationError| (resource.clone(), problem);
    let candidates = candidates(deps, parsed, &kind).await.map_err(failed)?;
    let resolved = resolve(deps, parsed, &kind, candidates)
        .await
        .map_err(failed)?;
    if resolved.objects.is_empty() {
        let event = nothing_left(parsed, resolved.skipped);
        return Ok(DesiredObjects::Nothing {
            resource,
            event,
            related: Vec::new(),
        });
    }
    let fits_only = parsed.compliance == ComplianceType::MustNotHave
        && parsed.selector().is_some()
        && parsed.nameless;
    if fits_only {
        return Ok(only_those_that_fit(parsed, kind, resolved.objects));
    }
    let desired = resolved.objects;
    Ok(DesiredObjects::Objects { kind, desired })
}

/// Handles a missing kind. A template that skips all its objects does not need the kind.
async fn no_kind<C: Cluster>(
    deps: &Deps<'_, C>,
    parsed: &ParsedTemplate<'_>,
    error: &DiscoveryError,
) -> Result<DesiredObjects, (String, EvaluationError)> {
    if error.is_absent() && parsed.uses.is_some() {
        // Complete, but empty: nothing is known of any object of such a kind.
        let frame = TemplateContext {
            namespace: Some(String::new()),
            name: Some(String::new()),
            object: None,
        };
        let definition = &parsed.template.object_definition;
        let outcomes = deps
            .templates
            .resolve_each(deps.cluster, definition, vec![frame])
            .await;
        if outcomes.iter().any(|outcome| outcome.skipped) {
            let event = ObjectEvent::note(messages::all_skipped(&parsed.kind.kind));
            let resource = String::new();
            return Ok(DesiredObjects::Nothing {
                resource,
                event,
                related: Vec::new(),
            });
        }
    }
    let (message, retry) = if error.is_absent() {
        let kind = &parsed.kind;
        let message = messages::no_mapping(&kind.kind, &kind.api_version());
        (message, Retry::WhenKindAppears)
    } else {
        (error_chain(error), Retry::Soon)
    };
    let event = ObjectEvent::error(messages::K8S_ERROR, message);
    Err((String::new(), EvaluationError { event, retry }))
}

fn nothing_left(parsed: &ParsedTemplate<'_>, skipped: bool) -> ObjectEvent {
    let kind = &parsed.kind.kind;
    ObjectEvent::note(if skipped {
        messages::all_skipped(kind)
    } else if parsed.selector().is_some() {
        messages::none_selected(kind)
    } else {
        messages::none_matched(kind)
    })
}

/// Of the objects that a selector chose for a mustnothave template without a name, those that fit the rest of the
/// description.
fn only_those_that_fit(
    parsed: &ParsedTemplate<'_>,
    kind: ServedKind,
    objects: Vec<(DesiredObject, Option<Arc<Value>>)>,
) -> DesiredObjects {
    let fits = |(desired, live): &(DesiredObject, Option<Arc<Value>>)| {
        live.as_ref()
            .is_some_and(|live| compare::matches(desired.content(), live))
    };
    let (desired, others): (Vec<_>, Vec<_>) = objects.into_iter().partition(fits);
    if !desired.is_empty() {
        return DesiredObjects::Objects { kind, desired };
    }
    let resource = kind.resource.plural;
    let mut places: Vec<Location> = others
        .into_iter()
        .map(|(desired, _)| desired.location)
        .collect();
    places.sort();
    let mut namespaces: Vec<&str> = places
        .iter()
        .map(|location| location.namespace.as_str())
        .collect();
    namespaces.dedup();
    namespaces.retain(|namespace| !namespace.is_empty());
    let event = ObjectEvent::note(messages::missing_as_expected(&resource, &namespaces));
    let kind = (parsed.kind.api_version(), parsed.kind.kind.as_str());
    let entry = |location: &Location| {
        let mut entry = related((&kind.0, kind.1), location, &event, None);
        entry.reason = Some(String::new());
        entry
    };
    let related = places.iter().map(entry).collect();
    DesiredObjects::Nothing {
        resource,
        event,
        related,
    }
}

impl Candidate {
    fn frame(&self, kind: &ServedKind) -> TemplateContext {
        let known = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        TemplateContext {
            namespace: known(&self.location.namespace).filter(|_| kind.namespaced),
            name: known(&self.location.name),
            object: self.object.clone(),
        }
    }
}
