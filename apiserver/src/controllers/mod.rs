//! What goes on in a cluster without anybody asking: garbage collection, ends of namespaces, definitions, accounts.

mod accounts;
mod availability;
mod definitions;
mod garbage;
mod namespaces;
mod requests;
mod tokens;

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Weak};

use serde_json::Value;
use tokio::sync::mpsc;

pub(crate) use self::availability::new_status as new_apiservice_status;
pub(crate) use self::namespaces::Graces;
use crate::certificates::REQUESTS;
use crate::kinds::Kind;
use crate::meta;
use crate::server::Inner;
use crate::store::{Key, Stale, TableName, Write};

/// How many steps are taken before others have their turn.
const STEPS: usize = 256;

/// Something that a controller may have to do something about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Note {
    /// The server has just been made, or found what it had kept.
    Started,
    /// A namespace is there.
    Namespace(Arc<str>),
    /// A namespace is going, or something in it has gone.
    Ending(Arc<str>),
    /// An object with this uid is gone.
    Gone(String),
    /// An object may have no owner left, or waits for its dependents.
    Look(TableName, Key),
    /// A CRD is going, or an object of its kinds has gone.
    Definition(String),
    /// A certificate may have to be signed.
    Request(String),
    /// A Secret may want a token of its service account, or have lost the account.
    Token(Key),
    /// An `APIService` may be available or not, since it or a service or endpoints have changed.
    Availability,
}

/// Notes that wait, each of them once: what is done about one is done by the state at that time.
#[derive(Default)]
struct Todo {
    queue: VecDeque<Note>,
    waiting: HashSet<Note>,
}

impl Todo {
    fn push(&mut self, note: Note) {
        if self.waiting.insert(note.clone()) {
            self.queue.push_back(note);
        }
    }

    fn pop(&mut self) -> Option<Note> {
        let note = self.queue.pop_front()?;
        self.waiting.remove(&note);
        Some(note)
    }
}

/// Does what is to be done, until the server is gone.
pub(crate) async fn run(server: Weak<Inner>, mut inbox: mpsc::UnboundedReceiver<Note>) {
    while let Some(note) = inbox.recv().await {
        let mut todo = Todo::default();
        todo.push(note);
        let mut steps = 0;
        while let Some(note) = todo.pop() {
            let Some(server) = server.upgrade() else {
                return;
            };
            // One fault must not end all collection for good.
            let text = format!("{note:?}");
            let attended =
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| server.attend(note)));
            if attended.is_err() {
                tracing::error!(note = text, "a controller of the API server broke");
            }
            while let Ok(note) = inbox.try_recv() {
                todo.push(note);
            }
            steps += 1;
            if steps % STEPS == 0 {
                tokio::task::yield_now().await;
            }
        }
    }
}

impl Inner {
    fn attend(&self, note: Note) {
        match note {
            Note::Started => self.resume(),
            Note::Namespace(name) => self.provide_accounts(&name),
            Note::Ending(name) => self.end_namespace(&name),
            Note::Gone(uid) => self.collect_dependents(&uid),
            Note::Look(table, key) => self.collect(&table, &key),
            Note::Definition(name) => self.end_definition(&name),
            Note::Request(name) => self.attend_request(&name),
            Note::Token(key) => self.attend_token(&key),
            Note::Availability => self.check_availability(),
        }
    }

    /// Looks at everything that may wait for something: whoever kept it may have ended in the middle.
    fn resume(&self) {
        for (key, _) in self.store.all("/namespaces") {
            self.note(Note::Namespace(key.name));
        }
        self.note(Note::Availability);
        self.note_tokens(None);
        for (table, key, stored) in self.store.everything() {
            let goes = stored.mentions("\"deletionTimestamp\"");
            if goes && *table == *"/namespaces" {
                self.note(Note::Ending(Arc::clone(&key.name)));
            }
            if goes && *table == *definitions::TABLE {
                self.note(Note::Definition(key.name.to_string()));
            }
            if *table == *REQUESTS {
                self.note(Note::Request(key.name.to_string()));
            }
            let namespace = Key::new("", &key.namespace);
            if !key.namespace.is_empty() && self.store.get("/namespaces", &namespace).is_none() {
                self.note(Note::Ending(Arc::clone(&key.namespace)));
            }
            if goes || stored.is_owned() {
                self.note(Note::Look(table, key));
            }
        }
    }

    /// Keeps a changed object, or lets it go if it waits for nothing any more. Answers its last state.
    pub(crate) fn keep(
        &self,
        kind: &Kind,
        key: &Key,
        revision: u64,
        new: Value,
        old: &Value,
    ) -> Result<Value, Stale> {
        let goes = meta::is_deleted(&new)
            && meta::finalizers(&new).is_empty()
            && crate::builtin::may_go(kind, &new);
        let write = if goes {
            Write::Delete(revision, new)
        } else {
            Write::Replace(revision, new)
        };
        let object = self.store.write(&kind.table, key, write)?.stored.value();
        if goes {
            self.after_delete(kind, &object);
        } else {
            self.after_write(kind, &object, Some(old));
        }
        Ok(object)
    }

    /// What follows from an object that was made or changed.
    pub(crate) fn after_write(&self, kind: &Kind, object: &Value, old: Option<&Value>) {
        let key = key_of(object);
        let is_namespace = kind.is("", "namespaces");
        if is_namespace && old.is_none() {
            self.note(Note::Namespace(Arc::clone(&key.name)));
        }
        if is_namespace && meta::is_deleted(object) {
            if old.is_some_and(|old| !meta::is_deleted(old)) {
                self.terminate_namespace(Arc::clone(&key.name));
            } else {
                self.note(Note::Ending(Arc::clone(&key.name)));
            }
        }
        if kind.is("apiextensions.k8s.io", "customresourcedefinitions") {
            self.define(object, old);
            if meta::is_deleted(object) {
                self.note(Note::Definition(key.name.to_string()));
            }
        }
        if *kind.table == *REQUESTS {
            self.note(Note::Request(key.name.to_string()));
        }
        if affects_availability(kind) {
            self.note(Note::Availability);
        }
        if kind.is("", "secrets") {
            self.note_token(object);
        }
        // Made while its namespace went: nobody would look for it any more.
        if old.is_none() && !key.namespace.is_empty() {
            let namespace = self.store.get("/namespaces", &Key::new("", &key.namespace));
            if namespace.is_none_or(|namespace| meta::is_deleted(&namespace.value())) {
                self.note(Note::Ending(Arc::clone(&key.namespace)));
            }
        }
        // An owner may have waited for this one, which it owns no more.
        let left = old.into_iter().flat_map(owners);
        for owner in left.filter(|owner| !owners(object).any(|still| still == *owner)) {
            self.look_at_owner(&key.namespace, owner);
        }
        let owned = object.pointer("/metadata/ownerReferences").is_some();
        let waits = meta::is_deleted(object) && !meta::finalizers(object).is_empty();
        if owned || waits {
            self.note(Note::Look(Arc::clone(&kind.table), key));
        }
    }

    /// What follows from an object that has gone.
    pub(crate) fn after_delete(&self, kind: &Kind, object: &Value) {
        let key = key_of(object);
        self.note(Note::Gone(meta::text(object, "uid").to_owned()));
        // Owners that wait for their dependents.
        for owner in owners(object) {
            self.look_at_owner(&key.namespace, owner);
        }
        if !key.namespace.is_empty() {
            self.note(Note::Ending(Arc::clone(&key.namespace)));
        }
        if let Some(custom) = &kind.custom {
            self.note(Note::Definition(custom.crd.clone()));
        }
        if kind.is("apiextensions.k8s.io", "customresourcedefinitions") {
            self.undefine(&key.name);
        }
        if kind.is("", "configmaps") || kind.is("", "serviceaccounts") {
            self.note(Note::Namespace(Arc::clone(&key.namespace)));
        }
        if affects_availability(kind) {
            self.note(Note::Availability);
        }
        if kind.is("", "serviceaccounts") {
            self.note_tokens(Some(&key.namespace));
        }
        if kind.is("", "secrets") {
            self.release_token(object);
        }
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
    fn a_note_waits_once_and_may_come_again_when_it_was_taken() {
        let mut todo = Todo::default();
        for _ in 0..1000 {
            todo.push(Note::Ending("a".into()));
            todo.push(Note::Definition("b".to_owned()));
        }
        assert_eq!(todo.pop(), Some(Note::Ending("a".into())));
        todo.push(Note::Ending("a".into()));
        assert_eq!(todo.pop(), Some(Note::Definition("b".to_owned())));
        assert_eq!(todo.pop(), Some(Note::Ending("a".into())));
        assert_eq!(todo.pop(), None);
    }
}
