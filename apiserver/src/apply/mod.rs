//! Server-side apply and field management, by the rules of structured merge and diff.

mod kind;
mod managers;
mod merge;
mod set;
#[cfg(test)]
mod tests;
mod typed;

use serde_json::{Map, Value, json};

use crate::schema::{self, TypeId, Types};
use crate::status_error::StatusError;
pub(crate) use kind::{apply_kind, invalid_managed_fields, track_kind};
use managers::{Entry, Operation};
use set::Set;
use typed::Typed;

/// Whose are the fields of an object that is applied to first and has no entries.
const BEFORE: &str = "before-first-apply";

/// The author of a write, as `managedFields` record it.
#[derive(Clone, Debug)]
pub struct FieldManager {
    /// The name of the field manager.
    pub name: String,
    /// The `apiVersion` that is written.
    pub api_version: String,
    /// The subresource that is written; empty for the object itself.
    pub subresource: String,
    /// The time of the write, as `metav1.Time` is written.
    pub now: String,
}

impl FieldManager {
    fn entry(&self, operation: Operation, set: Set) -> Entry {
        Entry {
            operation,
            time: Some(self.now.clone()),
            manager: self.name.clone(),
            api_version: self.api_version.clone(),
            subresource: self.subresource.clone(),
            set,
        }
    }
}

/// Whether conflicts are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conflicts {
    /// They are.
    Refuse,
    /// The fields are taken from the others (`force`).
    Force,
}

/// An apply request.
#[derive(Clone, Copy)]
pub struct ApplyRequest<'a> {
    /// The types.
    pub types: &'a Types,
    /// The type of the object; none, if nothing is known.
    pub id: Option<TypeId>,
    /// The object as it is, with its `managedFields`; of one that is not there yet its version, kind and name.
    pub live: &'a Value,
    /// The applied object.
    pub desired: &'a Value,
    /// The field manager that applies it.
    pub manager: &'a FieldManager,
    /// What to do when another manager owns a field that would change.
    pub conflicts: Conflicts,
    /// The fields that this request does not write, such as `["status"]`, or `["spec"]` of a status.
    pub reset: &'a [&'a [&'a str]],
}

/// The object that comes of applying, with its `managedFields`; if nothing changes it is the live one as it is. It has
/// to be decoded and defaulted yet.
pub fn apply(request: &ApplyRequest<'_>) -> Result<Value, StatusError> {
    let typed = Typed::new(request.types, request.id);
    let mut desired = request.desired.clone();
    let _ = managers::take(&mut desired);
    let errors = typed.errors("", &desired);
    if !errors.is_empty() {
        return Err(untyped(&desired, &errors));
    }
    for path in request.reset {
        remove(&mut desired, path);
    }
    let mut live = request.live.clone();
    let mut entries = managers::take(&mut live).unwrap_or_default();
    let before = entries.clone();
    let exists = live
        .pointer("/metadata/creationTimestamp")
        .is_some_and(Value::is_string);
    if entries.is_empty() && exists {
        let manager = FieldManager {
            name: BEFORE.to_owned(),
            subresource: String::new(),
            ..request.manager.clone()
        };
        let old = nothing(request.types, request.id, &live);
        let set = typed.compare(Some(&old), Some(&live)).written();
        entries.push(manager.entry(Operation::Update, set.without_identity()));
    }

    let set = typed.fields(&desired).without_identity();
    let mine = request.manager.entry(Operation::Apply, set);
    let place = entries.iter().position(|entry| entry.is_of(&mine));
    let former = place.map(|place| entries.swap_remove(place));
    let last = former
        .as_ref()
        .map(|entry| entry.set.clone())
        .unwrap_or_default();
    let mut owned = mine.set.clone();
    for entry in &entries {
        owned.unite(&entry.set);
    }
    let merged = merge::merge(typed, Some(&live), &desired);
    let mut merged = merge::prune(typed, merged, &last, &owned);
    keep_identity(&live, &mut merged);

    let differences = typed.compare(Some(&live), Some(&merged));
    let written = differences.written();
    let mut conflicts: Vec<(String, Set)> = Vec::new();
    entries.sort_by(|left, right| left.manager.cmp(&right.manager));
    for entry in &mut entries {
        let conflict = entry.set.intersection(&written);
        entry.set.subtract(&conflict);
        entry.set.subtract(&differences.removed);
        if !conflict.is_empty() {
            conflicts.push((entry.shown(), conflict));
        }
    }
    if request.conflicts == Conflicts::Refuse && !conflicts.is_empty() {
        return Err(conflict(&conflicts));
    }
    let unchanged = former.as_ref().is_some_and(|former| former.set == mine.set)
        || (former.is_none() && mine.set.is_empty());
    if unchanged
        && exists
        && merged == live
        && conflicts.is_empty()
        && (entries.len() + 1 == before.len() || former.is_none())
    {
        return Ok(request.live.clone());
    }
    entries.push(mine);
    managers::put(&mut merged, entries);
    Ok(merged)
}

/// Notes in `new` who wrote what is not as in `old`; without `old` it is created. `new` is as it will be stored; the
/// `managedFields` that it brings along take the place of those of `old`, and `[{}]` makes them forgotten.
pub fn track(
    types: &Types,
    id: Option<TypeId>,
    old: Option<&Value>,
    new: &mut Value,
    manager: &FieldManager,
) {
    let of_type = Typed::new(types, id);
    let Some(mut entries) = managers::take(new) else {
        return;
    };
    let old = match old {
        Some(old) => {
            let mut old = old.clone();
            let former = managers::take(&mut old).unwrap_or_default();
            if entries.is_empty() {
                entries = former;
            }
            // A field without a manager so far gets none.
            if entries.is_empty() {
                return;
            }
            old
        }
        None => nothing(types, id, new),
    };
    let comparison = of_type.compare(Some(&old), Some(new));
    let written = comparison.written();
    for entry in &mut entries {
        entry.set.subtract(&written);
        entry.set.subtract(&comparison.removed);
    }
    let set = written.without_identity();
    if !set.is_empty() {
        let mine = manager.entry(Operation::Update, set);
        match entries.iter_mut().find(|entry| entry.is_of(&mine)) {
            Some(entry) => {
                entry.set.unite(&mine.set);
                entry.time = mine.time;
            }
            None => entries.push(mine),
        }
    }
    entries.retain(|entry| !entry.set.is_empty());
    managers::cap(&mut entries);
    managers::put(new, entries);
}

/// What a new object is compared with: what its type always writes.
fn nothing(types: &Types, id: Option<TypeId>, like: &Value) -> Value {
    let mut empty = json!({ "metadata": {} });
    for key in ["apiVersion", "kind"] {
        if let (Some(value), Value::Object(empty)) = (like.get(key), &mut empty) {
            empty.insert(key.to_owned(), value.clone());
        }
    }
    if let Some(id) = id.filter(|id| !types.node(*id).embedded) {
        // What cannot be decoded is compared with as it is.
        let _ = schema::decode(types, id, &mut empty);
    }
    empty
}

/// What the server writes into metadata stays.
fn keep_identity(live: &Value, merged: &mut Value) {
    let Value::Object(object) = merged else {
        return;
    };
    for key in ["apiVersion", "kind"] {
        if let Some(value) = live.get(key) {
            object.insert(key.to_owned(), value.clone());
        }
    }
    let metadata = object
        .entry("metadata")
        .or_insert_with(|| Value::Object(Map::new()));
    let (Some(metadata), Some(Value::Object(live))) =
        (metadata.as_object_mut(), live.get("metadata"))
    else {
        return;
    };
    for key in [
        "name",
        "namespace",
        "uid",
        "creationTimestamp",
        "generation",
        "selfLink",
    ] {
        if let Some(value) = live.get(key) {
            metadata.insert(key.to_owned(), value.clone());
        }
    }
}

fn remove(value: &mut Value, path: &[&str]) {
    let Some((last, way)) = path.split_last() else {
        return;
    };
    let mut at = value;
    for step in way {
        match at.get_mut(step) {
            Some(inner) => at = inner,
            None => return,
        }
    }
    if let Value::Object(object) = at {
        object.remove(*last);
    }
}

/// The applied object does not match its type: 500 without a reason.
fn untyped(desired: &Value, errors: &[String]) -> StatusError {
    let text = |pointer: &str| {
        desired
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let all = match errors {
        [one] => one.clone(),
        many => format!("errors:\n  {}", many.join("\n  ")),
    };
    let version = text("/apiVersion");
    let slash = if version.contains('/') { "" } else { "/" };
    StatusError {
        code: 500,
        reason: "".into(),
        message: format!(
            "failed to create typed patch object ({}/{}; {slash}{version}, Kind={}): {all}",
            text("/metadata/namespace"),
            text("/metadata/name"),
            text("/kind")
        ),
        details: None,
    }
}

/// Others manage what would change: 409 with a cause for every field.
fn conflict(conflicts: &[(String, Set)]) -> StatusError {
    let mut causes = Vec::new();
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for (manager, set) in conflicts {
        let paths = set.paths();
        for path in &paths {
            causes.push(json!({
                "reason": "FieldManagerConflict",
                "message": format!("conflict with {manager}"),
                "field": path,
            }));
        }
        groups.push((manager.clone(), paths));
    }
    let message = match (groups.as_slice(), causes.len()) {
        ([(manager, paths)], 1) => {
            format!(
                "Apply failed with 1 conflict: conflict with {manager}: {}",
                paths.concat()
            )
        }
        (groups, many) => {
            let all: Vec<String> = groups
                .iter()
                .map(|(manager, paths)| {
                    format!("conflicts with {manager}:\n- {}", paths.join("\n- "))
                })
                .collect();
            format!("Apply failed with {many} conflicts: {}", all.join("\n"))
        }
    };
    StatusError {
        code: 409,
        reason: "Conflict".into(),
        message,
        details: Some(json!({ "causes": causes })),
    }
}
