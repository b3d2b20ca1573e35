//! Encryption keys: one pair for each managed cluster, in a Secret of its namespace on the hub.
//!
//! Rendering encrypts values that hub templates read from Secrets with the key of the cluster. This module has the cached fields
//! of the key Secrets; [`absence`] has the clusters whose key was deleted.

pub mod absence;

use std::collections::BTreeMap;
use std::fmt;

use k8s_openapi::api::core::v1::Secret;
use reeve_api::names::GROUP;
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

/// The Secret that holds the keys of a cluster, in the cluster's namespace.
pub use reeve_api::names::ENCRYPTION_SECRET as SECRET;
/// Its entry for the key that encrypts.
pub const KEY: &str = "key";
/// Its entry for the key before the last rotation, which still decrypts.
pub const PREVIOUS_KEY: &str = "previousKey";
/// Bytes in a key that the propagator creates.
pub const KEY_BYTES: usize = 32;

/// When the key was last rotated, RFC 3339.
pub fn last_rotated_annotation() -> String {
    format!("{GROUP}/last-rotated")
}

/// `true` keeps the key from being rotated.
pub fn disable_rotation_annotation() -> String {
    format!("{GROUP}/disable-rotation")
}

/// The cached fields of a key Secret. `Debug` does not print the keys.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct KeyFacts {
    /// The key that encrypts; empty if there is none.
    pub key: Zeroizing<Vec<u8>>,
    /// The key before the last rotation; empty if there is none.
    pub previous: Zeroizing<Vec<u8>>,
    /// When the key was last rotated, as the annotation has it.
    pub last_rotated: Option<String>,
    /// Whether the user has disabled the rotation.
    pub rotation_disabled: bool,
}

impl fmt::Debug for KeyFacts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("KeyFacts")
            .field("last_rotated", &self.last_rotated)
            .field("rotation_disabled", &self.rotation_disabled)
            .finish_non_exhaustive()
    }
}

impl KeyFacts {
    /// The cached fields of a Secret. One without data has no key.
    pub fn of(secret: Secret) -> Self {
        let mut data = secret.data.unwrap_or_default();
        let mut take = |name: &str| {
            let value = data.remove(name).map(|value| value.0);
            Zeroizing::new(value.unwrap_or_default())
        };
        let annotations = secret.metadata.annotations.unwrap_or_default();
        let disabled = annotations.get(&disable_rotation_annotation());
        Self {
            key: take(KEY),
            previous: take(PREVIOUS_KEY),
            last_rotated: annotations.get(&last_rotated_annotation()).cloned(),
            rotation_disabled: disabled.is_some_and(|value| value.eq_ignore_ascii_case("true")),
        }
    }

    /// The digest of the key, which identifies the key without revealing it.
    pub fn digest(&self) -> KeyDigest {
        let digest: [u8; 32] = Sha256::new()
            .chain_update(b"policy-encryption-key")
            .chain_update(&*self.key)
            .finalize()
            .into();
        let mut short = [0; 8];
        short.copy_from_slice(digest.first_chunk::<8>().unwrap_or(&[0; 8]));
        KeyDigest(short)
    }

    /// The value of the `trigger-update` annotation that has the replica of a cluster encrypted again.
    pub fn trigger(&self, cluster: &str) -> String {
        let last_rotated = self.last_rotated.as_deref().unwrap_or_default();
        format!("{TRIGGER}{cluster}-{last_rotated}-{}", self.digest())
    }
}

/// The digest of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyDigest([u8; 8]);

impl fmt::Display for KeyDigest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .iter()
            .try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

/// Whether AES takes a key of this size.
pub fn is_key_size(bytes: usize) -> bool {
    matches!(bytes, 16 | 24 | 32)
}

const TRIGGER: &str = "rotate-key-";

/// The cluster in the value of an annotation that a rotation wrote: ours, or upstream's, which has no digest at its
/// end.
pub fn cluster_of_trigger(value: &str) -> Option<&str> {
    let rest = value.strip_prefix(TRIGGER)?;
    // Names of clusters have dashes, as times have.
    let (at, _) = rest
        .match_indices('-')
        .find(|(at, _)| rest.get(at + 1..).is_some_and(starts_with_time))?;
    rest.get(..at).filter(|cluster| !cluster.is_empty())
}

/// Whether a text starts as RFC 3339 does, up to the hour.
fn starts_with_time(text: &str) -> bool {
    let shape = "dddd-dd-ddTdd";
    let bytes = text.as_bytes().get(..shape.len());
    bytes.is_some_and(|bytes| {
        bytes.iter().zip(shape.bytes()).all(|(&byte, wanted)| {
            if wanted == b'd' {
                byte.is_ascii_digit()
            } else {
                byte == wanted
            }
        })
    })
}

/// The labels of a Secret with keys: backups of the hub take it along.
pub fn labels() -> BTreeMap<String, String> {
    let backup = "cluster.open-cluster-management.io/backup";
    [(backup.to_owned(), "policy".to_owned())].into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn triggers_name_their_cluster() {
        let mut facts = KeyFacts {
            last_rotated: Some("2026-11-21T10:00:00Z".to_owned()),
            ..KeyFacts::default()
        };
        let trigger = facts.trigger("prod-2020-eu");
        assert!(trigger.starts_with("rotate-key-prod-2020-eu-2026-11-21T10:00:00Z"));
        assert_eq!(cluster_of_trigger(&trigger), Some("prod-2020-eu"));
        assert_eq!(
            cluster_of_trigger("rotate-key-managed1-2020-04-28T23:03:13+02:00"),
            Some("managed1")
        );
        for other in [
            "",
            "rotate-key-",
            "rotate-key-managed1-soon",
            "2026-11-21T10:00:00Z",
        ] {
            assert_eq!(cluster_of_trigger(other), None, "{other}");
        }
        facts.last_rotated = None;
        assert_eq!(
            cluster_of_trigger(&facts.trigger("c")),
            None,
            "all replicas are enqueued"
        );
    }

    #[test]
    fn prop_141_another_key_is_another_trigger() {
        let with = |key: &[u8]| KeyFacts {
            key: Zeroizing::new(key.to_vec()),
            rotation_disabled: true,
            ..KeyFacts::default()
        };
        assert_ne!(with(&[1; 32]).trigger("c"), with(&[2; 32]).trigger("c"));
        assert_eq!(with(&[1; 32]).trigger("c"), with(&[1; 32]).trigger("c"));
    }

    #[test]
    fn prop_139_secret_without_data_has_no_key() {
        let facts = KeyFacts::of(Secret::default());
        assert!(facts.key.is_empty() && facts.previous.is_empty());
    }

    #[test]
    fn keys_are_not_printed() {
        let facts = KeyFacts {
            key: Zeroizing::new(b"hunter2".to_vec()),
            previous: Zeroizing::new(b"hunter1".to_vec()),
            ..KeyFacts::default()
        };
        let printed = format!("{facts:?}");
        assert!(
            !printed.contains("hunter") && !printed.contains("104"),
            "{printed}"
        );
    }
}
