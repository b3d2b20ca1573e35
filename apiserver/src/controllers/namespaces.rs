//! Deletion of namespaces: their content is deleted first.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::meta;
use crate::queue::WorkItem;
use crate::state::State;
use crate::store::{Key, Write, WriteError};

/// Has the content of a namespace deleted that was just marked as deleted, after its grace.
pub(super) fn terminate_namespace(state: &State, name: Arc<str>) {
    let end = state.grace_periods.start(Arc::clone(&name));
    state
        .queue
        .add_at(end, WorkItem::NamespaceTermination(name));
}

/// Deletes the content of a terminating namespace, and finalizes the namespace when nothing is left.
pub(super) fn finalize_namespace(state: &State, name: &str) {
    let key = Key::new("", name);
    // Newer objects may be in a namespace that was recreated.
    let seen = state.store.revision();
    let stored = state.store.get("/namespaces", &key);
    if stored
        .as_ref()
        .is_some_and(|stored| !meta::is_deleted(&stored.value()))
    {
        return;
    }
    // The end of the grace comes with a note of its own.
    let is_kept = state.grace_periods.is_active(name);
    if stored.is_some() && is_kept {
        return;
    }
    let mut all_gone = true;
    for kind in state.kinds().each_table() {
        if !kind.namespaced {
            continue;
        }
        for (key, object) in state.store.all_in(&kind.table, Some(name)) {
            let of_this = stored.is_some() || object.revision <= seen;
            all_gone &= of_this && super::garbage_collector::delete(state, &kind.table, &key);
        }
    }
    // What was made while it went goes too.
    let Some(stored) = stored else {
        return;
    };
    let mut namespace = stored.value();
    if !all_gone {
        set_content_remaining(state, &key, &stored, namespace);
        return;
    }
    let finalizers = namespace
        .pointer("/spec/finalizers")
        .and_then(Value::as_array);
    let mut others: Vec<Value> = finalizers.cloned().unwrap_or_default();
    others.retain(|one| one != "kubernetes");
    let done = others.is_empty() && meta::finalizers(&namespace).is_empty();
    namespace["spec"] = json!({ "finalizers": others });
    let write = if done {
        Write::Delete(stored.revision, namespace)
    } else if stored.value() == namespace {
        return;
    } else {
        Write::Replace(stored.revision, namespace)
    };
    match state.store.write("/namespaces", &key, write) {
        Ok(written) if done => {
            let uid = meta::text(&written.stored.value(), "uid").to_owned();
            state.enqueue(WorkItem::OwnerDeleted(uid));
        }
        // Who is refused by the disk is refused again.
        Ok(_) | Err(WriteError::NotPersisted) => {}
        Err(_) => state.enqueue(WorkItem::NamespaceTermination(key.name)),
    }
}

/// Sets the condition that a terminating namespace still has content.
fn set_content_remaining(
    state: &State,
    key: &Key,
    stored: &crate::store::Stored,
    mut namespace: Value,
) {
    let now = meta::now();
    let condition = |of: &str, status: &str, reason: &str, message: &str| json!({ "type": of, "status": status, "reason": reason, "message": message, "lastTransitionTime": now });
    let conditions = json!([
        condition(
            "NamespaceDeletionDiscoveryFailure",
            "False",
            "ResourcesDiscovered",
            "All resources successfully discovered"
        ),
        condition(
            "NamespaceDeletionGroupVersionParsingFailure",
            "False",
            "ParsedGroupVersions",
            "All legacy kube types successfully parsed"
        ),
        condition(
            "NamespaceDeletionContentFailure",
            "False",
            "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization"
        ),
        condition(
            "NamespaceContentRemaining",
            "True",
            "SomeResourcesRemain",
            "Some resources are remaining"
        ),
        condition(
            "NamespaceFinalizersRemaining",
            "True",
            "SomeFinalizersRemain",
            "Some content in the namespace has finalizers remaining"
        ),
    ]);
    if namespace.pointer("/status/conditions").is_some() {
        return;
    }
    namespace["status"]["conditions"] = conditions;
    let _ = state.store.write(
        "/namespaces",
        key,
        Write::Replace(stored.revision, namespace),
    );
}
