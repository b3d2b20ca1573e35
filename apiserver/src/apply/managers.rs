//! `metadata.managedFields`.

use reeve_go_compat::runes::quote;
use serde_json::{Map, Value};

use super::set::Set;

/// The most managers that have an entry of their own for what they wrote without applying.
const MOST_WRITERS: usize = 10;
/// Whose are the fields of those that are too many.
const ANCIENT: &str = "ancient-changes";

/// The operation of a manager. Those that apply come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Operation {
    Apply,
    Update,
}

/// One of `managedFields`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    pub(super) operation: Operation,
    pub(super) time: Option<String>,
    pub(super) manager: String,
    pub(super) api_version: String,
    pub(super) subresource: String,
    pub(super) set: Set,
}

impl Entry {
    /// Whether an entry is of the same writer.
    pub(super) fn is_of(&self, other: &Self) -> bool {
        self.operation == other.operation
            && self.manager == other.manager
            && self.subresource == other.subresource
            && (self.operation == Operation::Apply || self.api_version == other.api_version)
    }

    /// The name of the manager in conflict errors.
    pub(super) fn shown(&self) -> String {
        let mut shown = quote(&self.manager);
        if !self.subresource.is_empty() {
            shown.push_str(" with subresource ");
            shown.push_str(&quote(&self.subresource));
        }
        if self.operation == Operation::Update {
            shown.push_str(" using ");
            shown.push_str(&self.api_version);
        }
        shown
    }

    fn order(&self) -> (Operation, Option<&str>, &str, &str, &str) {
        (
            self.operation,
            self.time.as_deref(),
            &self.manager,
            &self.api_version,
            &self.subresource,
        )
    }
}

/// Takes the entries out of an object; of one whose entries are to be forgotten (`[{}]`) nothing comes.
pub(super) fn take(object: &mut Value) -> Option<Vec<Entry>> {
    let metadata = object.get_mut("metadata")?.as_object_mut()?;
    match metadata.remove("managedFields") {
        Some(Value::Array(list)) if matches!(list.as_slice(), [Value::Object(one)] if one.is_empty()) => {
            None
        }
        Some(Value::Array(list)) => Some(list.iter().filter_map(read).collect()),
        _ => Some(Vec::new()),
    }
}

fn read(entry: &Value) -> Option<Entry> {
    let text = |key: &str| {
        entry
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let operation = match text("operation").as_str() {
        "Apply" => Operation::Apply,
        "Update" => Operation::Update,
        _ => return None,
    };
    Some(Entry {
        operation,
        time: Some(text("time")).filter(|time| !time.is_empty()),
        manager: text("manager"),
        api_version: text("apiVersion"),
        subresource: text("subresource"),
        set: Set::read(entry.get("fieldsV1")?),
    })
}

/// Puts entries into an object, in the server's order; empty ones go.
pub(super) fn put(object: &mut Value, mut entries: Vec<Entry>) {
    entries.retain(|entry| !entry.set.is_empty());
    entries.sort_by(|left, right| left.order().cmp(&right.order()));
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else {
        return;
    };
    if entries.is_empty() {
        metadata.remove("managedFields");
        return;
    }
    let list = entries.iter().map(written).collect();
    metadata.insert("managedFields".to_owned(), Value::Array(list));
}

fn written(entry: &Entry) -> Value {
    let operation = match entry.operation {
        Operation::Apply => "Apply",
        Operation::Update => "Update",
    };
    let mut map = Map::new();
    for (key, text) in [
        ("manager", entry.manager.as_str()),
        ("operation", operation),
        ("apiVersion", entry.api_version.as_str()),
        ("time", entry.time.as_deref().unwrap_or_default()),
        ("fieldsType", "FieldsV1"),
        ("subresource", entry.subresource.as_str()),
    ] {
        if !text.is_empty() {
            map.insert(key.to_owned(), text.into());
        }
    }
    map.insert("fieldsV1".to_owned(), entry.set.write());
    Value::Object(map)
}

/// Folds the oldest writers into one when there are too many.
pub(super) fn cap(entries: &mut Vec<Entry>) {
    let writers = entries
        .iter()
        .filter(|entry| entry.operation == Operation::Update)
        .count();
    if writers <= MOST_WRITERS {
        return;
    }
    let mut too_many = writers - MOST_WRITERS;
    entries.sort_by(|left, right| left.order().cmp(&right.order()));
    let (mut ancient, others): (Vec<Entry>, Vec<Entry>) =
        std::mem::take(entries).into_iter().partition(|entry| {
            entry.operation == Operation::Update
                && entry.manager == ANCIENT
                && entry.subresource.is_empty()
        });
    for mut entry in others {
        if too_many == 0 || entry.operation == Operation::Apply {
            entries.push(entry);
            continue;
        }
        let same = ancient
            .iter_mut()
            .find(|one| one.api_version == entry.api_version);
        if let Some(one) = same {
            one.set.unite(&entry.set);
            one.time = one.time.take().max(entry.time);
            too_many -= 1;
        } else {
            // The first of them only takes another name; one more has to go.
            ANCIENT.clone_into(&mut entry.manager);
            entry.subresource.clear();
            ancient.push(entry);
        }
    }
    entries.append(&mut ancient);
}
