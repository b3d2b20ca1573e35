//! Serialization of JSON that several objects have in common.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

pub(crate) fn serialize<S: Serializer>(
    value: &Arc<Value>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    (**value).serialize(serializer)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Arc<Value>, D::Error> {
    Value::deserialize(deserializer).map(Arc::new)
}
