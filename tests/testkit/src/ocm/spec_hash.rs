//! The hash by which works and add-ons say which state of a configuration they mean.

use std::fmt::Write as _;

use anyhow::{Context, Result};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// Lower-case hexadecimal SHA-256 of an object's JSON without `apiVersion`, `kind`, `metadata` and
/// `status`, written as Go writes it: keys sorted, no spaces, `<`, `>` and `&` escaped.
///
/// # Errors
/// When `object` is not an object.
pub fn spec_hash(object: &Value) -> Result<String> {
    let fields = object.as_object().context("hashing what is no object")?;
    let kept: serde_json::Map<_, _> = fields
        .iter()
        .filter(|(key, _)| !["apiVersion", "kind", "metadata", "status"].contains(&key.as_str()))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    let text = serde_json::to_string(&kept).context("writing a spec as JSON")?;
    Ok(hex_digest(escaped(&text).as_bytes()))
}

/// Lower-case hexadecimal SHA-256.
pub(super) fn hex_digest(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// These characters stand in JSON only within strings, where an escape means the same.
fn escaped(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for character in json.chars() {
        match character {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                let _ = write!(text, "\\u{:04x}", u32::from(character));
            }
            other => text.push(other),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{escaped, hex_digest, spec_hash};

    #[test]
    fn only_the_spec_counts() {
        let object = json!({
            "apiVersion": "addon.open-cluster-management.io/v1alpha1",
            "kind": "AddOnDeploymentConfig",
            "metadata": {"name": "c"},
            "spec": {},
            "status": {"a": 1},
        });
        let of_nothing = "53aa778a9b137a0ca7ab79937d069870b14440dae5922f51d940ffa4b178d5cb";
        assert_eq!(spec_hash(&object).unwrap(), of_nothing);
    }

    #[test]
    fn keys_are_sorted_and_markup_is_escaped() {
        let object = json!({"spec": {"b": "<&>", "a": [1]}});
        let text = r#"{"spec":{"a":[1],"b":"\u003c\u0026\u003e"}}"#;
        assert_eq!(escaped(&object.to_string()), text);
        assert_eq!(spec_hash(&object).unwrap(), hex_digest(text.as_bytes()));
    }
}
