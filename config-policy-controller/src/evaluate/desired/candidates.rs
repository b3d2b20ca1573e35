//! Which objects an object template may be about, before the templates in it are resolved.

use std::collections::BTreeMap;
use std::sync::Arc;

use reeve_runtime::discovery::ServedKind;
use serde_json::Value;

use super::Around;
use crate::evaluate::cluster::{Cluster, Freshness, Unreadable, text};
use crate::evaluate::desired::Described;
use crate::evaluate::selectors::labels;
use crate::evaluate::spec::{Problem, Retry};
use crate::messages;
use crate::status::finding::{Event, Place};

/// An object that an object template may be about.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Candidate {
    /// Where; the name is empty for "any object".
    pub(super) place: Place,
    /// The object, where it was read already.
    pub(super) object: Option<Arc<Value>>,
}

/// The candidates, by namespace and name.
pub(super) async fn candidates<C: Cluster>(
    around: &Around<'_, C>,
    described: &Described<'_>,
    kind: &ServedKind,
) -> Result<Vec<Candidate>, Problem> {
    let namespaces = namespaces(around, described, kind)?;
    match described.selector() {
        Some(_) => selected(around, described, kind, &namespaces).await,
        None => named(around, described, kind, &namespaces).await,
    }
}

fn namespaces<C: Cluster>(
    around: &Around<'_, C>,
    described: &Described<'_>,
    kind: &ServedKind,
) -> Result<Vec<String>, Problem> {
    if !kind.namespaced {
        return Ok(vec![String::new()]);
    }
    if !described.namespace.is_empty() {
        return Ok(vec![described.namespace.clone()]);
    }
    let selected = match around.selection {
        None => Vec::new(),
        Some(Ok(selected)) => selected.to_vec(),
        Some(Err(error)) => {
            let message = messages::namespace_selector_error(&error.to_string());
            return Err(Problem::of_policy(
                messages::NAMESPACE_SELECTOR_ERROR,
                message,
            ));
        }
    };
    if !selected.is_empty() {
        return Ok(selected);
    }
    if described.templated_namespace {
        return Ok(vec![String::new()]);
    }
    let message = messages::no_namespace(&described.name, &described.kind.kind);
    Err(Problem::of_policy(messages::MISSING_NAMESPACE, message))
}

/// One object a namespace, read already where a template looks into it.
async fn named<C: Cluster>(
    around: &Around<'_, C>,
    described: &Described<'_>,
    kind: &ServedKind,
    namespaces: &[String],
) -> Result<Vec<Candidate>, Problem> {
    let looked_into = described.uses(|uses| uses.object) && !described.name.is_empty();
    let one = |namespace: &String| {
        let place = Place::new(namespace, &described.name);
        async move {
            let known = !kind.namespaced || !place.namespace.is_empty();
            let read = if looked_into && known {
                around.cluster.get(kind, &place).await
            } else {
                Ok(None)
            };
            match read {
                Ok(object) => Ok(Candidate { place, object }),
                Err(Unreadable::Unwatchable(error)) if watched(around) => {
                    let message = messages::unwatchable(described.index, &error);
                    Err(Problem::of_policy(messages::UNWATCHABLE, message))
                }
                // The object is read again when it is judged, and then the failure is told.
                Err(_) => Ok(Candidate {
                    place,
                    object: None,
                }),
            }
        }
    };
    futures::future::try_join_all(namespaces.iter().map(one)).await
}

/// The objects that the template's selector chooses.
async fn selected<C: Cluster>(
    around: &Around<'_, C>,
    described: &Described<'_>,
    kind: &ServedKind,
    namespaces: &[String],
) -> Result<Vec<Candidate>, Problem> {
    let index = described.index;
    let wrong = |error: &str| {
        let message = messages::selector_unparsable(index, error);
        Problem::of_policy(messages::OBJECT_SELECTOR_ERROR, message)
    };
    let selector = described.template.object_selector.as_ref();
    let selector = selector.map(labels::of_objects).transpose();
    let selector = selector
        .map_err(|error| wrong(&error.to_string()))?
        .unwrap_or_default();
    let lists = namespaces
        .iter()
        .map(|namespace| around.cluster.list(kind, namespace, &selector));
    let mut found: BTreeMap<Place, Arc<Value>> = BTreeMap::new();
    for (namespace, listed) in namespaces
        .iter()
        .zip(futures::future::join_all(lists).await)
    {
        for object in listed.map_err(|error| unlisted(index, error))? {
            // A list over everything also answers where the namespace is still to be known.
            let at = if namespace.is_empty() {
                text(&object, "/metadata/namespace")
            } else {
                namespace
            };
            found.insert(
                Place::new(at, text(&object, "/metadata/name")),
                Arc::clone(&object),
            );
        }
    }
    let candidate = |(place, object)| Candidate {
        place,
        object: Some(object),
    };
    Ok(found.into_iter().map(candidate).collect())
}

fn unlisted(index: usize, error: Unreadable) -> Problem {
    let (message, retry) = match error {
        Unreadable::Unwatchable(error) => (messages::unwatchable_list(index, &error), Retry::No),
        Unreadable::Failed(error) => (messages::unlisted(index, &error), Retry::Soon),
    };
    let event = Event::problem(messages::OBJECT_SELECTOR_ERROR, message);
    Problem { event, retry }
}

fn watched<C: Cluster>(around: &Around<'_, C>) -> bool {
    around.cluster.freshness() == Freshness::Watched
}
