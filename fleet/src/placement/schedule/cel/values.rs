//! Clusters and scores as CEL values.

use std::collections::HashMap;
use std::sync::Arc;

use kube_cel::cel::objects::{Key, Map, Value};
use serde_json::json;

use reeve_api::ocm::{ManagedCluster, Score};

/// A cluster as expressions read it: the whole of it, less `apiVersion` and `kind`.
pub struct Subject(Value);

impl Subject {
    /// Fields that upstream always serializes are present here too.
    pub fn of(cluster: &ManagedCluster) -> Self {
        let status = cluster.status.clone().unwrap_or_default();
        let whole = json!({
            "metadata": cluster.metadata,
            "spec": cluster.spec,
            "status": status,
        });
        Self(from_json(whole))
    }

    pub(super) fn value(&self) -> Value {
        self.0.clone()
    }
}

/// Integers are `int`, also where they could be unsigned.
pub(super) fn from_json(json: serde_json::Value) -> Value {
    match json {
        serde_json::Value::Null => Value::Null,
        serde_json::Value::Bool(value) => Value::Bool(value),
        serde_json::Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => Value::Int(whole),
            (None, Some(float)) => Value::Float(float),
            (None, None) => Value::Null,
        },
        serde_json::Value::String(text) => Value::String(Arc::new(text)),
        serde_json::Value::Array(items) => {
            Value::List(Arc::new(items.into_iter().map(from_json).collect()))
        }
        serde_json::Value::Object(fields) => map(fields
            .into_iter()
            .map(|(name, value)| (name, from_json(value)))),
    }
}

pub(super) fn from_score(score: &Score) -> Value {
    map([
        (
            "name".to_owned(),
            Value::String(Arc::new(score.name.clone())),
        ),
        ("value".to_owned(), Value::Int(score.value.into())),
    ])
}

fn map(fields: impl IntoIterator<Item = (String, Value)>) -> Value {
    let fields = fields.into_iter();
    let fields: HashMap<Key, Value> = fields.map(|(name, value)| (name.into(), value)).collect();
    Value::Map(Map {
        map: Arc::new(fields),
    })
}
