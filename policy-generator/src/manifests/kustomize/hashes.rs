//! The hash of its content that the name of a generated object ends in.

use std::fmt::Write as _;

use reeve_go_compat::json::{self, Escape};
use reeve_go_compat::value::{Map, Value};
use sha2::{Digest as _, Sha256};

use crate::error::Error;
use crate::merge::Resource;
use crate::values::{map_field, set, text_field};

/// How many signs of the hash are in the name.
const LENGTH: usize = 10;

/// Gives generated objects the names that they have in the end.
pub(super) fn add_hashes(resources: &mut [Resource]) -> Result<(), Error> {
    for resource in resources.iter_mut().filter(|resource| resource.has_hash) {
        let hash = hash(&resource.object)?;
        let Some(metadata) = map_field(&resource.object, "metadata") else {
            continue;
        };
        let name = text_field(&metadata, "name").unwrap_or_default();
        resource.store_id();
        set(&metadata, "name", format!("{name}-{hash}"));
    }
    Ok(())
}

/// The hash of the entries, without signs that make words.
fn hash(object: &Map) -> Result<String, Error> {
    let hashed = Map::dict();
    set(&hashed, "name", "");
    let kind = text_field(object, "kind").unwrap_or_default();
    let fields: &[&str] = if kind == "Secret" {
        set(
            &hashed,
            "type",
            text_field(object, "type").unwrap_or_default(),
        );
        &["data", "stringData"]
    } else {
        &["data", "binaryData"]
    };
    set(&hashed, "kind", kind);
    set(&hashed, "data", "");
    for field in fields {
        if let Some(entries) = map_field(object, field) {
            set(&hashed, field, Value::Map(entries));
        }
    }
    let text = json::encode(&Value::Map(hashed), Escape::Html);
    let text = text.map_err(|error| Error::new(error.to_string()))?;
    let mut hash = String::new();
    for byte in Sha256::digest(&text) {
        // Writing to a string does not fail.
        let _ = write!(hash, "{byte:02x}");
    }
    let signs = hash.chars().take(LENGTH).map(|sign| match sign {
        '0' => 'g',
        '1' => 'h',
        '3' => 'k',
        'a' => 'm',
        'e' => 't',
        other => other,
    });
    Ok(signs.collect())
}
