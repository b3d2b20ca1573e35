//! Stored objects, their keys and the tables they are in.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;

use crate::compact::Compact;

/// The revision of a store in which nothing has changed yet.
pub const FIRST_REVISION: u64 = 1;

/// The name of a table: the resource with its group, such as `apps/deployments`; `/pods` of the core group.
pub type TableName = Arc<str>;

/// An object's key: its namespace (empty of cluster-scoped objects) and its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The namespace.
    pub namespace: Arc<str>,
    /// The name.
    pub name: Arc<str>,
}

impl Key {
    /// The key of a namespace (empty for cluster-scoped objects) and a name.
    pub fn new(namespace: &str, name: &str) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
        }
    }
}

/// The labels of an object, in one text: each key and each value ends with [`LABEL_END`]. A map would be several times as large.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labels(pub(crate) Arc<str>);

/// No label that a server has admitted has this character.
const LABEL_END: char = '\0';

/// An object as it is kept.
#[derive(Clone, Debug)]
pub struct Stored {
    /// Its JSON, with its resource version.
    json: Compact,
    /// The revision of its last change.
    pub revision: u64,
    /// Its labels.
    pub labels: Labels,
    pub(crate) uid: Arc<str>,
    pub(crate) owners: Box<[Arc<str>]>,
}

impl Stored {
    /// The same object with other JSON.
    pub fn with_json(&self, json: Bytes) -> Self {
        Self {
            json: Compact::Plain(json),
            ..self.clone()
        }
    }

    /// Its JSON, with its resource version.
    pub fn json(&self) -> Bytes {
        self.json.text()
    }

    /// The number of bytes of its JSON.
    pub fn json_len(&self) -> usize {
        self.json.len()
    }

    /// Whether it names an owner.
    pub fn is_owned(&self) -> bool {
        !self.owners.is_empty()
    }

    /// Whether a text is somewhere in its JSON.
    pub fn mentions(&self, text: &str) -> bool {
        let json = self.json();
        let mut places = json.windows(text.len());
        places.any(|place| place == text.as_bytes())
    }

    /// The object. It was made by serializing one.
    pub fn value(&self) -> Value {
        crate::json::parse_own(&self.json()).unwrap_or_default()
    }
}

/// The fields of an object that are known without decoding it. What is as it was before has no memory of its own: many versions of an object
/// are remembered.
pub(crate) fn summarized(
    object: &Value,
    json: Compact,
    revision: u64,
    before: Option<&Stored>,
) -> Stored {
    let uid = object.pointer("/metadata/uid").and_then(Value::as_str);
    let uid = uid.unwrap_or_default();
    let owners = object
        .pointer("/metadata/ownerReferences")
        .and_then(Value::as_array);
    let owners = owners.into_iter().flatten();
    let owners = owners.filter_map(|owner| owner.get("uid")?.as_str().map(Arc::from));
    let labels = Labels::of(object);
    let same_labels = before.filter(|before| before.labels == labels);
    let same_uid = before.filter(|before| *before.uid == *uid);
    Stored {
        json,
        revision,
        labels: same_labels.map_or(labels, |before| before.labels.clone()),
        uid: same_uid.map_or_else(|| uid.into(), |before| Arc::clone(&before.uid)),
        owners: owners.collect(),
    }
}

impl Labels {
    fn of(object: &Value) -> Self {
        let labels = object
            .pointer("/metadata/labels")
            .and_then(Value::as_object);
        let mut text = String::new();
        for (key, value) in labels.into_iter().flatten() {
            if let Some(value) = value.as_str() {
                for part in [key.as_str(), value] {
                    text.push_str(part);
                    text.push(LABEL_END);
                }
            }
        }
        Self(text.into())
    }

    /// The value of a label.
    pub fn get(&self, key: &str) -> Option<&str> {
        let mut parts = self.0.split_terminator(LABEL_END);
        while let (Some(known), Some(value)) = (parts.next(), parts.next()) {
            if known == key {
                return Some(value);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn labels_are_found_by_key() {
        let object = json!({"metadata": {"labels": {"a": "b", "b": "", "c": "a", "number": 1}}});
        let labels = Labels::of(&object);
        let got = ["a", "b", "c", "number", ""].map(|key| labels.get(key));
        assert_eq!(got, [Some("b"), Some(""), Some("a"), None, None]);
        assert_eq!(Labels::of(&json!({})).get("a"), None);
    }
}
