//! The objects that an object template may describe, before the templates in it are resolved.

use std::collections::BTreeMap;
use std::sync::Arc;

use reeve_runtime::discovery::ServedKind;
use serde_json::Value;

use super::Deps;
use crate::evaluate::cluster::{Cluster, ReadError, ReadMode, text};
use crate::evaluate::desired::ParsedTemplate;
use crate::evaluate::selectors::labels;
use crate::evaluate::spec::{EvaluationError, Retry};
use crate::messages;
use crate::status::finding::{Location, ObjectEvent};

/// An object that an object template may describe.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Candidate {
    /// Where; the name is empty for "any object".
    pub(super) location: Location,
    /// The object, where it was read already.
    pub(super) object: Option<Arc<Value>>,
}

/// The candidates, by namespace and name.
pub(super) async fn candidates<C: Cluster>(
    deps: &Deps<'_, C>,
    parsed: &ParsedTemplate<'_>,
    kind: &ServedKind,
) -> Result<Vec<Candidate>, EvaluationError> {
    let namespaces = namespaces(deps, parsed, kind)?;
    match parsed.selector() {
        Some(_) => selected(deps, parsed, kind, &namespaces).await,
        None => named(deps, parsed, kind, &namespaces).await,
    }
}

fn namespaces<C: Cluster>(
    deps: &Deps<'_, C>,
    parsed: &ParsedTemplate<'_>,
    kind: &ServedKind,
) -> Result<Vec<String>, EvaluationError> {
    if !kind.namespaced {
        return Ok(vec![String::new()]);
    }
    if !parsed.namespace.is_empty() {
        return Ok(vec![parsed.namespace.clone()]);
    }
    let selected = match deps.selection {
        None => Vec::new(),
        Some(Ok(selected)) => selected.to_vec(),
        Some(Err(error)) => {
            let message = messages::namespace_selector_error(&error.to_string());
            return Err(EvaluationError::permanent(
                messages::NAMESPACE_SELECTOR_ERROR,
                message,
            ));
        }
    };
    if !selected.is_empty() {
        return Ok(selected);
    }
    if parsed.templated_namespace {
        return Ok(vec![String::new()]);
    }
    let message = messages::no_namespace(&parsed.name, &parsed.kind.kind);
    Err(EvaluationError::permanent(
        messages::MISSING_NAMESPACE,
        message,
    ))
}

/// One object for each namespace, read already where a template uses `.Object`.
async fn named<C: Cluster>(
    deps: &Deps<'_, C>,
    parsed: &ParsedTemplate<'_>,
    kind: &ServedKind,
    namespaces: &[String],
) -> Result<Vec<Candidate>, EvaluationError> {
    let looked_into = parsed.uses(|uses| uses.object) && !parsed.name.is_empty();
    let one = |namespace: &String| {
        let location = Location::new(namespace, &parsed.name);
        async move {
            let known = !kind.namespaced || !location.namespace.is_empty();
            let read = if looked_into && known {
                deps.cluster.get(kind, &location).await
            } else {
                Ok(None)
            };
            match read {
                Ok(object) => Ok(Candidate { location, object }),
                Err(ReadError::Unwatchable(error)) if watched(deps) => {
                    let message = messages::unwatchable(parsed.index, &error);
                    Err(EvaluationError::permanent(messages::UNWATCHABLE, message))
                }
                // The object is read again when it is compared, and that failure is reported.
                Err(_) => Ok(Candidate {
                    location,
                    object: None,
                }),
            }
        }
    };
    futures::future::try_join_all(namespaces.iter().map(one)).await
}

/// The objects that the template's selector chooses.
async fn selected<C: Cluster>(
    deps: &Deps<'_, C>,
    parsed: &ParsedTemplate<'_>,
    kind: &ServedKind,
    namespaces: &[String],
) -> Result<Vec<Candidate>, EvaluationError> {
    let index = parsed.index;
    let wrong = |error: &str| {
        let message = messages::selector_unparsable(index, error);
        EvaluationError::permanent(messages::OBJECT_SELECTOR_ERROR, message)
    };
    let selector = parsed.template.object_selector.as_ref();
    let selector = selector.map(labels::of_objects).transpose();
    let selector = selector
        .map_err(|error| wrong(&error.to_string()))?
        .unwrap_or_default();
    let lists = namespaces
        .iter()
        .map(|namespace| deps.cluster.list(kind, namespace, &selector));
    let mut found: BTreeMap<Location, Arc<Value>> = BTreeMap::new();
    for (namespace, listed) in namespaces
        .iter()
        .zip(futures::future::join_all(lists).await)
    {
        for object in listed.map_err(|error| unlisted(index, error))? {
            // A list over all namespaces returns the namespace of each object.
            let at = if namespace.is_empty() {
                text(&object, "/metadata/namespace")
            } else {
                namespace
            };
            found.insert(
                Location::new(at, text(&object, "/metadata/name")),
                Arc::clone(&object),
            );
        }
    }
    let candidate = |(location, object)| Candidate {
        location,
        object: Some(object),
    };
    Ok(found.into_iter().map(candidate).collect())
}

fn unlisted(index: usize, error: ReadError) -> EvaluationError {
    let (message, retry) = match error {
        ReadError::Unwatchable(error) => (messages::unwatchable_list(index, &error), Retry::No),
        ReadError::Failed(error) => (messages::unlisted(index, &error), Retry::Soon),
    };
    let event = ObjectEvent::error(messages::OBJECT_SELECTOR_ERROR, message);
    EvaluationError { event, retry }
}

fn watched<C: Cluster>(deps: &Deps<'_, C>) -> bool {
    deps.cluster.read_mode() == ReadMode::Watched
}
