//! Reading the cluster on behalf of a policy: everything that is read here is watched, and a change wakes the policy.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Client;
use kube::core::GroupVersionKind;
use reeve_api::configuration_policy::NamespaceSelector;
use reeve_runtime::dependencies::{Batch, ReadError};
use reeve_runtime::discovery::{Discovery, DiscoveryError, ServedKind};
use reeve_runtime::object::{ObjectKey, api_message};
use serde::Deserialize;
use serde_json::Value;

use crate::act::Objects;
use crate::decide::Seen;
use crate::messages;
use crate::namespaces::{Namespace, SelectorError, Terminating, select};
use crate::report::Place;
use crate::spec::{Problem, Wanted, selects_namespaces};

/// How a policy is kept up to date, which decides how a kind that cannot be watched is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freshness {
    /// By watches.
    Watched,
    /// By evaluating it again after a while.
    Polled,
}

/// The reads of one evaluation.
pub struct Reads<'a> {
    /// Watches what is read.
    pub batch: &'a Batch<ObjectKey>,
    /// Reads what cannot be watched.
    pub client: &'a Client,
    /// Knows the kinds.
    pub discovery: &'a Discovery,
    /// Whether a kind that cannot be watched will do.
    pub freshness: Freshness,
}

/// Why something could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unreadable {
    /// Its kind cannot be watched.
    Unwatchable(String),
    /// The API server refused or did not answer.
    Failed(String),
}

impl From<Unreadable> for Seen {
    fn from(error: Unreadable) -> Self {
        match error {
            Unreadable::Unwatchable(text) => Self::Unwatchable(text),
            Unreadable::Failed(text) => Self::Unreadable(text),
        }
    }
}

/// Why a namespace selection is not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SelectionError {
    /// The selector makes no sense.
    Selector(SelectorError),
    /// The namespaces could not be read.
    Unreadable(String),
}

impl Reads<'_> {
    /// The resource that serves a kind.
    pub async fn kind(&self, kind: &GroupVersionKind) -> Result<ServedKind, DiscoveryError> {
        self.discovery.find(kind).await
    }

    /// One object.
    pub async fn object(&self, kind: &ServedKind, place: &Place) -> Seen {
        let found = if self.reads_directly(kind) {
            let objects = Objects::at(self.client, kind, place);
            objects
                .get(&place.name)
                .await
                .map_err(|error| Unreadable::Failed(api_message(&error)))
        } else {
            let found = self.batch.get(kind, &place.namespace, &place.name).await;
            let found = found.map(|object| object.map(Arc::unwrap_or_clone));
            found.map_err(|error| self.failed(kind, &error))
        };
        match found {
            Ok(Some(object)) => Seen::Present(Arc::new(object)),
            Ok(None) => Seen::Absent,
            Err(error) => error.into(),
        }
    }

    /// All objects of a kind in a namespace, or everywhere for a cluster-scoped kind.
    pub async fn objects(
        &self,
        kind: &ServedKind,
        namespace: &str,
    ) -> Result<Vec<Arc<Value>>, Unreadable> {
        if self.reads_directly(kind) {
            let place = Place {
                namespace: namespace.to_owned(),
                name: String::new(),
            };
            let listed = Objects::at(self.client, kind, &place).list().await;
            let listed = listed.map_err(|error| Unreadable::Failed(api_message(&error)))?;
            return Ok(listed.into_iter().map(Arc::new).collect());
        }
        let listed = self.batch.list(kind, namespace, "").await;
        listed.map_err(|error| self.failed(kind, &error))
    }

    /// The namespaces that a selector chooses, sorted.
    pub async fn selected(
        &self,
        selector: &NamespaceSelector,
        default: Terminating,
    ) -> Result<Vec<String>, SelectionError> {
        let unreadable =
            |error: &dyn std::fmt::Display| SelectionError::Unreadable(error.to_string());
        let kind = self
            .kind(&namespace_kind())
            .await
            .map_err(|error| unreadable(&error))?;
        let listed = self
            .batch
            .list(&kind, "", "")
            .await
            .map_err(|error| unreadable(&error))?;
        let namespaces: Vec<Namespace> = listed
            .iter()
            .map(|object| ObjectMeta::deserialize(&object["metadata"]).unwrap_or_default())
            .map(|metadata| Namespace {
                name: metadata.name.unwrap_or_default(),
                labels: metadata.labels.unwrap_or_default(),
                terminating: metadata.deletion_timestamp.is_some(),
            })
            .collect();
        select(selector, &namespaces, default).map_err(SelectionError::Selector)
    }

    /// Watches a namespace, so that its creation wakes the policy.
    pub async fn await_namespace(&self, namespace: &str) {
        let watched = match self.kind(&namespace_kind()).await {
            Ok(kind) => self
                .batch
                .get(&kind, "", namespace)
                .await
                .map(|_| ())
                .map_err(|e| e.to_string()),
            Err(error) => Err(error.to_string()),
        };
        if let Err(error) = watched {
            tracing::warn!(namespace, %error, "cannot watch the namespace that a policy waits for");
        }
    }

    fn reads_directly(&self, kind: &ServedKind) -> bool {
        !kind.watchable && self.freshness == Freshness::Polled
    }

    fn failed(&self, kind: &ServedKind, error: &ReadError) -> Unreadable {
        match error {
            ReadError::Unwatchable(_) => Unreadable::Unwatchable(error.to_string()),
            ReadError::Refused(refused) => {
                // The kind may be gone: the next evaluation asks anew.
                self.discovery.forget(&gvk(kind));
                Unreadable::Failed(api_message(refused))
            }
            ReadError::Ended => Unreadable::Failed(error.to_string()),
        }
    }
}

/// Where the objects of a template are. Several places where a selector chooses several namespaces.
pub fn places(
    wanted: &Wanted,
    kind: &ServedKind,
    selection: Option<&Result<Vec<String>, SelectionError>>,
) -> Result<Vec<Place>, Problem> {
    let at = |namespace: &str| Place {
        namespace: namespace.to_owned(),
        name: wanted.name.clone(),
    };
    if !kind.namespaced {
        return Ok(vec![at("")]);
    }
    if let Some(namespace) = &wanted.namespace {
        return Ok(vec![at(namespace)]);
    }
    let selected = match selection {
        None => &Vec::new(),
        Some(Ok(selected)) => selected,
        Some(Err(error)) => return Err(selection_problem(error)),
    };
    if selected.is_empty() {
        let message = messages::no_namespace(&wanted.name, &wanted.kind.kind);
        return Err(Problem::of_policy(messages::MISSING_NAMESPACE, message));
    }
    Ok(selected.iter().map(|namespace| at(namespace)).collect())
}

fn selection_problem(error: &SelectionError) -> Problem {
    let (text, users_fault) = match error {
        SelectionError::Selector(error) => (error.to_string(), true),
        SelectionError::Unreadable(error) => (error.clone(), false),
    };
    let message = messages::namespace_selector_error(&text);
    Problem {
        users_fault,
        ..Problem::of_policy(messages::NAMESPACE_SELECTOR_ERROR, message)
    }
}

/// The policy's selector, if it chooses anything at all.
#[must_use]
pub fn selector(selector: Option<&NamespaceSelector>) -> Option<&NamespaceSelector> {
    selector.filter(|selector| selects_namespaces(selector))
}

fn namespace_kind() -> GroupVersionKind {
    GroupVersionKind::gvk("", "v1", "Namespace")
}

fn gvk(kind: &ServedKind) -> GroupVersionKind {
    let resource = &kind.resource;
    GroupVersionKind::gvk(&resource.group, &resource.version, &resource.kind)
}
