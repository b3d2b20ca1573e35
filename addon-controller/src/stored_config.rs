//! The cached part of an `AddOnDeploymentConfig`.

use std::sync::Arc;

use reeve_api::addon::{AddOnDeploymentConfig, DeploymentSettings};
use serde_json::{Map, Value, json};

use crate::digest::Digest;

/// What is kept of a configuration.
#[derive(Clone, Debug)]
pub struct StoredConfig {
    /// What it says, or why that cannot be read.
    pub settings: Result<Arc<DeploymentSettings>, String>,
    /// Its fingerprint.
    pub hash: String,
    /// Counts its changes.
    pub generation: i64,
}

impl StoredConfig {
    /// What is kept of a configuration.
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

/// The fingerprint of an object that has a spec beside its metadata: SHA-256, in hex, of what Go's `encoding/json` makes
/// of it.
pub fn spec_hash(spec: &Map<String, Value>) -> String {
    let text = json!({ "spec": spec }).to_string();
    // Go escapes what could end a script in a page; these characters can only be in texts.
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
    fn fingerprints_are_those_of_go() {
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
