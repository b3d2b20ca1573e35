//! CRDs: the controller serves their resources, and deletes these before a CRD.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::builtin::CRD_CLEANUP as CLEANUP;
use crate::meta;
use crate::queue::WorkItem;
use crate::state::State;
use crate::store::{Key, Write, WriteError};

pub(super) const TABLE: &str = "apiextensions.k8s.io/customresourcedefinitions";

/// Serves what the CRDs define that were kept.
pub(crate) fn serve_kept_definitions(state: &State) {
    for (_, stored) in state.store.all(TABLE) {
        serve_crd(state, &stored.value(), None);
    }
}

/// Serves the resources of a CRD and sets its status to established.
pub(super) fn serve_crd(state: &State, crd: &Value, old: Option<&Value>) {
    if old.is_some_and(|old| old.get("spec") == crd.get("spec")) {
        return;
    }
    let name = meta::text(crd, "name").to_owned();
    {
        let mut kinds = state.kinds.write();
        // As it is now: others may have changed or deleted it since.
        let Some(current) = state.store.get(TABLE, &Key::new("", &name)) else {
            return;
        };
        let crd = &current.value();
        // The CRD was checked before it was kept: one that defines nothing cannot get here.
        match kinds.with_crd(crd) {
            Ok(with) => *kinds = Arc::new(with),
            Err(error) => {
                tracing::error!(%error, "a kept definition cannot be served");
                return;
            }
        }
    }
    let key = Key::new("", &name);
    let Some(stored) = state.store.get(TABLE, &key) else {
        return;
    };
    let mut established = stored.value();
    let before = established.clone();
    established["status"] = status_of(&before);
    if established == before {
        return;
    }
    let _ = state
        .store
        .write(TABLE, &key, Write::Replace(stored.revision, established));
}

/// Serves no more what a CRD defined.
pub(super) fn stop_serving_crd(state: &State, name: &str) {
    let mut kinds = state.kinds.write();
    // It may have been recreated.
    if state.store.get(TABLE, &Key::new("", name)).is_none() {
        let table = kinds.of_crd(name).map(|kind| Arc::clone(&kind.table));
        *kinds = Arc::new(kinds.without_crd(name));
        if let Some(table) = table {
            state.store.forget(&table);
        }
    }
}

/// Deletes the custom resources of a terminating CRD, and removes its finalizer when none is left.
pub(super) fn finalize_crd(state: &State, name: &str) {
    let key = Key::new("", name);
    let Some(stored) = state.store.get(TABLE, &key) else {
        return;
    };
    let mut crd = stored.value();
    if !meta::is_deleted(&crd) || !meta::finalizers(&crd).contains(&CLEANUP) {
        return;
    }
    let kinds = state.kinds();
    let Some(kind) = kinds.of_crd(name) else {
        return;
    };
    for (key, _) in state.store.all(&kind.table) {
        super::garbage_collector::delete(state, &kind.table, &key);
    }
    if state.store.count(&kind.table) > 0 {
        return;
    }
    let left: Vec<String> = meta::finalizers(&crd)
        .into_iter()
        .filter(|one| *one != CLEANUP)
        .map(str::to_owned)
        .collect();
    meta::set_finalizers(&mut crd, &left);
    let gone = left.is_empty();
    let write = if gone {
        Write::Delete(stored.revision, crd)
    } else {
        Write::Replace(stored.revision, crd)
    };
    match state.store.write(TABLE, &key, write) {
        Ok(written) if gone => {
            stop_serving_crd(state, name);
            state.enqueue(WorkItem::OwnerDeleted(
                meta::text(&written.stored.value(), "uid").to_owned(),
            ));
        }
        // Who is refused by the disk is refused again.
        Ok(_) | Err(WriteError::NotPersisted) => {}
        Err(_) => state.enqueue(WorkItem::CrdTermination(name.to_owned())),
    }
}

fn status_of(crd: &Value) -> Value {
    let now = meta::now();
    let condition = |of: &str, reason: &str, message: &str| json!({ "type": of, "status": "True", "lastTransitionTime": now, "reason": reason, "message": message });
    let before = crd.pointer("/status/conditions").and_then(Value::as_array);
    let conditions = match before {
        Some(conditions) if !conditions.is_empty() => json!(conditions),
        _ => json!([
            condition("NamesAccepted", "NoConflicts", "no conflicts found"),
            condition(
                "Established",
                "InitialNamesAccepted",
                "the initial names have been accepted"
            ),
        ]),
    };
    let versions = crd.pointer("/spec/versions").and_then(Value::as_array);
    let stored = versions
        .into_iter()
        .flatten()
        .find(|version| version.get("storage") == Some(&Value::Bool(true)));
    let stored = stored
        .and_then(|version| version.get("name"))
        .cloned()
        .unwrap_or_default();
    let mut all = crd
        .pointer("/status/storedVersions")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    if !all.contains(&stored) {
        all.push(stored);
    }
    json!({
        "conditions": conditions,
        "acceptedNames": crd.pointer("/spec/names").cloned().unwrap_or_default(),
        "storedVersions": all,
    })
}
