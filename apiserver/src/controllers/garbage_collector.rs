//! Garbage collection: dependents are deleted after their owners, and owners with foreground deletion wait for them.

use std::sync::Arc;

use serde_json::Value;

use crate::kinds::Kind;
use crate::meta::{self, FOREGROUND, ORPHAN};
use crate::queue::WorkItem;
use crate::state::State;
use crate::store::{Key, Write, WriteError};

/// The attempts of a change that conflicts with others.
const ATTEMPTS: usize = 20;

/// Collects the dependents of a deleted owner.
pub(super) fn collect_dependents(state: &State, uid: &str) {
    for (table, key) in state.store.dependents(uid) {
        collect_dependent(state, &table, &key);
    }
}

/// Enqueues an owner that may wait for a dependent that was deleted or released.
pub(super) fn enqueue_owner(state: &State, namespace: &str, reference: &Value) {
    let text = |key: &str| {
        reference
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    if !state.store.has_uid(text("uid")) {
        return;
    }
    let kinds = state.kinds();
    if let Some(kind) = kinds.of_object(text("apiVersion"), text("kind")) {
        let namespace = if kind.namespaced { namespace } else { "" };
        let key = Key::new(namespace, text("name"));
        state.enqueue(WorkItem::Dependent(Arc::clone(&kind.table), key));
    }
}

/// Deletes an object that has no owner left, and goes on with one that waits for its dependents.
pub(super) fn collect_dependent(state: &State, table: &str, key: &Key) {
    let Some(stored) = state.store.get(table, key) else {
        return;
    };
    let object = stored.value();
    if meta::is_deleted(&object) {
        let finalizers = meta::finalizers(&object);
        let of_storage = [
            crate::builtin::CLAIM_PROTECTION,
            crate::builtin::VOLUME_PROTECTION,
        ];
        let held = of_storage.into_iter().find(|one| finalizers.contains(one));
        if let Some(finalizer) = held {
            remove_finalizer(state, table, key, finalizer);
        } else if finalizers.contains(&ORPHAN) {
            orphan_dependents(state, &object);
            remove_finalizer(state, table, key, ORPHAN);
        } else if finalizers.contains(&FOREGROUND) && delete_dependents(state, &object) {
            remove_finalizer(state, table, key, FOREGROUND);
        }
        return;
    }
    let owners = object
        .pointer("/metadata/ownerReferences")
        .and_then(Value::as_array);
    let mut owners = owners.into_iter().flatten().peekable();
    if owners.peek().is_none() {
        return;
    }
    let left = owners.any(|owner| !is_owner_gone(state, owner, key));
    if !left {
        delete_if(state, table, key, Some(stored.revision));
    }
}

/// Whether an owner was certainly deleted: one of an unknown kind, or one that cannot own this object, was not.
fn is_owner_gone(state: &State, owner: &Value, dependent: &Key) -> bool {
    let text = |key: &str| owner.get(key).and_then(Value::as_str).unwrap_or_default();
    let kinds = state.kinds();
    let Some(kind) = kinds.of_object(text("apiVersion"), text("kind")) else {
        return false;
    };
    if dependent.namespace.is_empty() && kind.namespaced {
        return false;
    }
    !state.store.has_uid(text("uid"))
}

/// Takes an owner that goes alone out of what it owns.
fn orphan_dependents(state: &State, owner: &Value) {
    let uid = meta::text(owner, "uid");
    for (table, key) in state.store.dependents(uid) {
        remove_owner_reference(state, &table, &key, uid);
    }
}

/// Takes one owner out of what it owns.
fn remove_owner_reference(state: &State, table: &str, key: &Key, uid: &str) {
    update_object(state, table, key, |object| {
        let Some(metadata) = meta::metadata(object) else {
            return;
        };
        if let Some(Value::Array(owners)) = metadata.get_mut("ownerReferences") {
            owners.retain(|one| one.get("uid").and_then(Value::as_str) != Some(uid));
            if owners.is_empty() {
                metadata.remove("ownerReferences");
            }
        }
    });
}

/// Deletes what an owner waits for. Answers whether nothing is left that it has to wait for.
fn delete_dependents(state: &State, owner: &Value) -> bool {
    let uid = meta::text(owner, "uid");
    let mut gone = true;
    for (table, key) in state.store.dependents(uid) {
        let Some(stored) = state.store.get(&table, &key) else {
            continue;
        };
        let object = stored.value();
        let owners = object
            .pointer("/metadata/ownerReferences")
            .and_then(Value::as_array);
        let (this, others): (Vec<_>, Vec<_>) = owners
            .into_iter()
            .flatten()
            .partition(|one| one.get("uid").and_then(Value::as_str) == Some(uid));
        let blocks = this
            .iter()
            .any(|one| one.get("blockOwnerDeletion") == Some(&Value::Bool(true)));
        let lives = others.iter().any(|one| !is_owner_gone(state, one, &key));
        if lives {
            // It has another owner too: only the reference to this one is removed.
            remove_owner_reference(state, &table, &key, uid);
            continue;
        }
        if !delete_if(state, &table, &key, Some(stored.revision)) && blocks {
            gone = false;
        }
    }
    gone
}

fn remove_finalizer(state: &State, table: &str, key: &Key, finalizer: &str) {
    update_object(state, table, key, |object| {
        let left: Vec<String> = meta::finalizers(object)
            .into_iter()
            .filter(|one| *one != finalizer)
            .map(str::to_owned)
            .collect();
        meta::set_finalizers(object, &left);
    });
}

/// Deletes an object as its owner's end does. Answers whether it is gone.
pub(super) fn delete(state: &State, table: &str, key: &Key) -> bool {
    delete_if(state, table, key, None)
}

/// The same; with a revision, only the object at that revision: a newer one is enqueued again.
fn delete_if(state: &State, table: &str, key: &Key, revision: Option<u64>) -> bool {
    for _ in 0..ATTEMPTS {
        let Some(stored) = state.store.get(table, key) else {
            return true;
        };
        if revision.is_some_and(|revision| revision != stored.revision) {
            state.enqueue(WorkItem::Dependent(table.into(), key.clone()));
            return false;
        }
        let mut object = stored.value();
        let Some(kind) = kind_of_table(state, table) else {
            return false;
        };
        let may_go = crate::builtin::may_go(&kind, &object) && meta::finalizers(&object).is_empty();
        let write = if may_go {
            Write::Delete(stored.revision, object)
        } else if meta::is_deleted(&object) {
            return false;
        } else {
            if let Some(metadata) = meta::metadata(&mut object) {
                metadata.insert("deletionTimestamp".to_owned(), meta::now().into());
                metadata.insert("deletionGracePeriodSeconds".to_owned(), 0.into());
            }
            crate::builtin::mark_deleted(&kind, &mut object);
            Write::Replace(stored.revision, object)
        };
        match state.store.write(table, key, write) {
            Ok(written) => {
                let object = written.stored.value();
                if may_go {
                    super::after_delete(state, &kind, &object);
                } else {
                    super::after_write(state, &kind, &object, None);
                }
                return may_go;
            }
            Err(WriteError::NotPersisted) => return false,
            Err(_) => {}
        }
    }
    false
}

fn update_object(state: &State, table: &str, key: &Key, change: impl Fn(&mut Value)) {
    for _ in 0..ATTEMPTS {
        let Some(stored) = state.store.get(table, key) else {
            return;
        };
        let old = stored.value();
        let mut object = old.clone();
        change(&mut object);
        if object == old {
            return;
        }
        let Some(kind) = kind_of_table(state, table) else {
            return;
        };
        match super::update_or_delete(state, &kind, key, stored.revision, object, &old) {
            Ok(_) | Err(WriteError::NotPersisted) => return,
            Err(_) => {}
        }
    }
    tracing::warn!(table, key = %key_text(key), "others change this object without end");
}

fn kind_of_table(state: &State, table: &str) -> Option<Arc<Kind>> {
    let (group, resource) = table.split_once('/')?;
    let kinds = state.kinds();
    let served = kinds.preferred(group, resource);
    served.or_else(|| kinds.stored_in(table)).map(Arc::clone)
}

fn key_text(key: &Key) -> String {
    format!("{}/{}", key.namespace, key.name)
}
