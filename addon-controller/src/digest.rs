//! Digests of JSON: equal for equal content, whatever the order of keys.

use std::fmt;

use serde::Serialize;
use sha2::{Digest as _, Sha256};

/// A digest.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of anything that serializes to JSON. Maps of `serde_json` are sorted by key.
    pub fn of(content: &impl Serialize) -> Self {
        let mut hasher = Hasher(Sha256::new());
        // Writing to a hash cannot fail, and content from JSON always serializes.
        let _ = serde_json::to_writer(&mut hasher, content);
        Self(hasher.0.finalize().into())
    }

    /// The digest of bytes.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }
}

struct Hasher(Sha256);

impl std::io::Write for Hasher {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl fmt::Display for Digest {
    /// Writes lower-case hex digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
