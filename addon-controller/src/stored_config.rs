//! The cached part of an `AddOnDeploymentConfig`.

use std::sync::Arc;

use reeve_api::addon::{AddOnDeploymentConfig, DeploymentSettings};
use serde_json::{Map, Value, json};

use crate::digest::Digest;

/// The cached part of a configuration.
#[derive(Clone, Debug)]
pub struct StoredConfig {
    /// The settings, or the reason why they cannot be read.
    pub settings: Result<Arc<DeploymentSettings>, String>,
    /// The hash of its spec.
    pub hash: String,
    /// The generation of the object.
    pub generation: i64,
}

impl StoredConfig {
    /// The cached part of a configuration.
    pub fn of(config: &AddOnDeploymentConfig) -> Self {
        let spec = &config.spec.0;
        let settings = serde_json::from_value(Value::Object(spec.clone()));
        Self {
            settings: settings.map(Arc::new).map_err(|error| error.to_string()),
            hash: spec_hash(spec),
            generation: config.metadata.generation.unwrap_or_default(),
        }
    }
}

/// The hash of an object with a spec beside its metadata: SHA-256, in hex, of the JSON that Go's `encoding/json`
/// writes.
pub fn spec_hash(spec: &Map<String, Value>) -> String {
    let text = json!({ "spec": spec }).to_string();
    // Go escapes characters that are special in HTML; they occur only in strings.
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '<' => escaped.push_str("\\u003c"),
            '>' => escaped.push_str("\\u003e"),
            '&' => escaped.push_str("\\u0026"),
            '\u{2028}' => escaped.push_str("\\u2028"),
            '\u{2029}' => escaped.push_str("\\u2029"),
            other => escaped.push(other),
        }
    }
    Digest::of_bytes(escaped.as_bytes()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_equal_those_of_go() {
        let of = |spec: Value| spec_hash(spec.as_object().unwrap());
        // echo -n '{"spec":{}}' | sha256sum
        assert_eq!(
            of(json!({})),
            Digest::of_bytes(br#"{"spec":{}}"#).to_string()
        );
        let text = br#"{"spec":{"a":"\u003cb\u003e \u0026","z":1}}"#;
        assert_eq!(
            of(json!({"z": 1, "a": "<b> &"})),
            Digest::of_bytes(text).to_string()
        );
    }
}
