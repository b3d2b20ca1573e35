//! Stored objects, their keys and the tables they are in.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;

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

/// An object as it is kept.
#[derive(Clone, Debug)]
pub struct Stored {
    /// Its JSON, with its resource version.
    pub bytes: Bytes,
    /// The revision of its last change.
    pub revision: u64,
    /// Its labels.
    pub labels: Arc<BTreeMap<String, String>>,
    pub(crate) uid: Arc<str>,
    pub(crate) owners: Box<[Arc<str>]>,
}

impl Stored {
    /// The same object with other bytes.
    pub fn with_bytes(&self, bytes: Bytes) -> Self {
        Self {
            bytes,
            ..self.clone()
        }
    }

    /// Whether it names an owner.
    pub fn is_owned(&self) -> bool {
        !self.owners.is_empty()
    }

    /// Whether a text is somewhere in its JSON.
    pub fn mentions(&self, text: &str) -> bool {
        let mut places = self.bytes.windows(text.len());
        places.any(|place| place == text.as_bytes())
    }

    /// The object. It was made by serializing one.
    pub fn value(&self) -> Value {
        crate::json::parse_own(&self.bytes).unwrap_or_default()
    }
}

/// The fields of an object that are known without decoding it. What is as it was before has no memory of its own: many versions of an object
/// are remembered.
pub(crate) fn summarized(
    object: &Value,
    bytes: Bytes,
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
    let labels = labels(object);
    let same_labels = before.filter(|before| *before.labels == labels);
    let same_uid = before.filter(|before| *before.uid == *uid);
    Stored {
        bytes,
        revision,
        labels: same_labels.map_or_else(|| Arc::new(labels), |before| Arc::clone(&before.labels)),
        uid: same_uid.map_or_else(|| uid.into(), |before| Arc::clone(&before.uid)),
        owners: owners.collect(),
    }
}

fn labels(object: &Value) -> BTreeMap<String, String> {
    let Some(Value::Object(labels)) = object.pointer("/metadata/labels") else {
        return BTreeMap::new();
    };
    labels
        .iter()
        .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
        .collect()
}
