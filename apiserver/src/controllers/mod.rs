//! The controllers of a server: garbage collection, namespaces, CRDs, certificates, service account tokens, availability.

mod availability;
mod certificates;
mod default_objects;
mod definitions;
mod garbage_collector;
mod namespaces;
mod token_secrets;

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Weak};

use serde_json::Value;
use tokio::sync::mpsc;

pub(crate) use self::definitions::serve_kept_definitions;
use crate::kinds::Kind;
use crate::meta;
use crate::pki::csr::REQUESTS;
use crate::queue::WorkItem;
use crate::state::State;
use crate::store::{Key, Write, WriteError};

/// The number of reconciliations between two yields to other tasks.
const STEPS: usize = 256;

/// Pending work items, each of them once: a controller reconciles with the state at that time.
#[derive(Default)]
struct Pending {
    queue: VecDeque<WorkItem>,
    waiting: HashSet<WorkItem>,
}

impl Pending {
    fn push(&mut self, item: WorkItem) {
        if self.waiting.insert(item.clone()) {
            self.queue.push_back(item);
        }
    }

    fn pop(&mut self) -> Option<WorkItem> {
        let item = self.queue.pop_front()?;
        self.waiting.remove(&item);
        Some(item)
    }
}

/// Runs the controllers until the server is dropped.
pub(crate) async fn run(state: Weak<State>, mut queue: mpsc::UnboundedReceiver<WorkItem>) {
    while let Some(item) = queue.recv().await {
        let mut pending = Pending::default();
        pending.push(item);
        let mut steps = 0;
        while let Some(item) = pending.pop() {
            let Some(state) = state.upgrade() else {
                return;
            };
            // A panic in one reconciliation must not end the others for good.
            let text = format!("{item:?}");
            let result =
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| reconcile(&state, item)));
            if result.is_err() {
                tracing::error!(item = text, "controller panicked");
            }
            while let Ok(item) = queue.try_recv() {
                pending.push(item);
            }
            steps += 1;
            if steps % STEPS == 0 {
                tokio::task::yield_now().await;
            }
        }
    }
}

fn reconcile(state: &State, item: WorkItem) {
    match item {
        WorkItem::Started => enqueue_all(state),
        WorkItem::Namespace(name) => {
            if let Err(error) = default_objects::create_default_objects(state, &name) {
                tracing::error!(%error, namespace = %name, "default objects were not created");
            }
        }
        WorkItem::NamespaceTermination(name) => namespaces::finalize_namespace(state, &name),
        WorkItem::OwnerDeleted(uid) => garbage_collector::collect_dependents(state, &uid),
        WorkItem::Dependent(table, key) => {
            garbage_collector::collect_dependent(state, &table, &key);
        }
        WorkItem::CrdTermination(name) => definitions::finalize_crd(state, &name),
        WorkItem::CertificateSigningRequest(name) => certificates::sign_approved(state, &name),
        WorkItem::TokenSecret(key) => token_secrets::fill_token_secret(state, &key),
        WorkItem::Availability => availability::update_availability(state),
    }
}

/// Enqueues everything that may be unfinished: the process that wrote the folder may have ended at any moment.
fn enqueue_all(state: &State) {
    for (key, _) in state.store.all("/namespaces") {
        state.enqueue(WorkItem::Namespace(key.name));
    }
    state.enqueue(WorkItem::Availability);
    token_secrets::enqueue_token_secrets(state, None);
    for (table, key, stored) in state.store.everything() {
        let goes = stored.mentions("\"deletionTimestamp\"");
        if goes && *table == *"/namespaces" {
            state.enqueue(WorkItem::NamespaceTermination(Arc::clone(&key.name)));
        }
        if goes && *table == *definitions::TABLE {
            state.enqueue(WorkItem::CrdTermination(key.name.to_string()));
        }
        if *table == *REQUESTS {
            state.enqueue(WorkItem::CertificateSigningRequest(key.name.to_string()));
        }
        let namespace = Key::new("", &key.namespace);
        if !key.namespace.is_empty() && state.store.get("/namespaces", &namespace).is_none() {
            state.enqueue(WorkItem::NamespaceTermination(Arc::clone(&key.namespace)));
        }
        if goes || stored.is_owned() {
            state.enqueue(WorkItem::Dependent(table, key));
        }
    }
}

/// Stores a changed object, or deletes it if it is terminating without finalizers. Returns its last state.
pub(crate) fn update_or_delete(
    state: &State,
    kind: &Kind,
    key: &Key,
    revision: u64,
    new: Value,
    old: &Value,
) -> Result<Value, WriteError> {
    let goes = meta::is_deleted(&new)
        && meta::finalizers(&new).is_empty()
        && crate::builtin::may_go(kind, &new);
    let write = if goes {
        Write::Delete(revision, new)
    } else {
        Write::Replace(revision, new)
    };
    let object = state.store.write(&kind.table, key, write)?.stored.value();
    if goes {
        after_delete(state, kind, &object);
    } else {
        after_write(state, kind, &object, Some(old));
    }
    Ok(object)
}

/// Enqueues the work that follows from a created or changed object.
pub(crate) fn after_write(state: &State, kind: &Kind, object: &Value, old: Option<&Value>) {
    let key = key_of(object);
    let is_namespace = kind.is("", "namespaces");
    if is_namespace && old.is_none() {
        state.enqueue(WorkItem::Namespace(Arc::clone(&key.name)));
    }
    if is_namespace && meta::is_deleted(object) {
        if old.is_some_and(|old| !meta::is_deleted(old)) {
            namespaces::terminate_namespace(state, Arc::clone(&key.name));
        } else {
            state.enqueue(WorkItem::NamespaceTermination(Arc::clone(&key.name)));
        }
    }
    if kind.is("apiextensions.k8s.io", "customresourcedefinitions") {
        definitions::serve_crd(state, object, old);
        if meta::is_deleted(object) {
            state.enqueue(WorkItem::CrdTermination(key.name.to_string()));
        }
    }
    if *kind.table == *REQUESTS {
        state.enqueue(WorkItem::CertificateSigningRequest(key.name.to_string()));
    }
    if affects_availability(kind) {
        state.enqueue(WorkItem::Availability);
    }
    if kind.is("", "secrets") {
        token_secrets::enqueue_token_secret(state, object);
    }
    // Created while its namespace terminated: nothing else would enqueue it.
    if old.is_none() && !key.namespace.is_empty() {
        let namespace = state
            .store
            .get("/namespaces", &Key::new("", &key.namespace));
        if namespace.is_none_or(|namespace| meta::is_deleted(&namespace.value())) {
            state.enqueue(WorkItem::NamespaceTermination(Arc::clone(&key.namespace)));
        }
    }
    // An owner may have waited for this one, which it owns no more.
    let left = old.into_iter().flat_map(owners);
    for owner in left.filter(|owner| !owners(object).any(|still| still == *owner)) {
        garbage_collector::enqueue_owner(state, &key.namespace, owner);
    }
    let owned = object.pointer("/metadata/ownerReferences").is_some();
    let waits = meta::is_deleted(object) && !meta::finalizers(object).is_empty();
    if owned || waits {
        state.enqueue(WorkItem::Dependent(Arc::clone(&kind.table), key));
    }
}

/// Enqueues the work that follows from a deleted object.
pub(crate) fn after_delete(state: &State, kind: &Kind, object: &Value) {
    let key = key_of(object);
    state.enqueue(WorkItem::OwnerDeleted(meta::text(object, "uid").to_owned()));
    // Owners that wait for their dependents.
    for owner in owners(object) {
        garbage_collector::enqueue_owner(state, &key.namespace, owner);
    }
    if !key.namespace.is_empty() {
        state.enqueue(WorkItem::NamespaceTermination(Arc::clone(&key.namespace)));
    }
    if let Some(custom) = &kind.custom {
        state.enqueue(WorkItem::CrdTermination(custom.crd.clone()));
    }
    if kind.is("apiextensions.k8s.io", "customresourcedefinitions") {
        definitions::stop_serving_crd(state, &key.name);
    }
    if kind.is("", "configmaps") || kind.is("", "serviceaccounts") {
        state.enqueue(WorkItem::Namespace(Arc::clone(&key.namespace)));
    }
    if affects_availability(kind) {
        state.enqueue(WorkItem::Availability);
    }
    if kind.is("", "serviceaccounts") {
        token_secrets::enqueue_token_secrets(state, Some(&key.namespace));
    }
    if kind.is("", "secrets") {
        token_secrets::release_token(state, object);
    }
}

/// Whether an `APIService` may become available or unavailable by a change of such an object.
fn affects_availability(kind: &Kind) -> bool {
    kind.is("apiregistration.k8s.io", "apiservices")
        || kind.is("", "services")
        || kind.is("discovery.k8s.io", "endpointslices")
}

/// The references of an object to its owners.
fn owners(object: &Value) -> impl Iterator<Item = &Value> {
    let owners = object.pointer("/metadata/ownerReferences");
    owners.and_then(Value::as_array).into_iter().flatten()
}

/// The key of an object.
pub(crate) fn key_of(object: &Value) -> Key {
    Key::new(meta::text(object, "namespace"), meta::text(object, "name"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn item_is_queued_once_until_it_is_taken() {
        let mut pending = Pending::default();
        for _ in 0..1000 {
            pending.push(WorkItem::NamespaceTermination("a".into()));
            pending.push(WorkItem::CrdTermination("b".to_owned()));
        }
        assert_eq!(
            pending.pop(),
            Some(WorkItem::NamespaceTermination("a".into()))
        );
        pending.push(WorkItem::NamespaceTermination("a".into()));
        assert_eq!(
            pending.pop(),
            Some(WorkItem::CrdTermination("b".to_owned()))
        );
        assert_eq!(
            pending.pop(),
            Some(WorkItem::NamespaceTermination("a".into()))
        );
        assert_eq!(pending.pop(), None);
    }
}
