//! Fingerprints of JSON: equal for equal content, whatever the order of keys was.

use std::fmt;

use serde::Serialize;
use sha2::{Digest as _, Sha256};

/// A fingerprint.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Of anything that is written as JSON. Maps of `serde_json` are in the order of their keys.
    pub fn of(content: &impl Serialize) -> Self {
        let mut hasher = Hasher(Sha256::new());
        // Writing to a hash cannot fail, and what comes from JSON can be written as JSON.
        let _ = serde_json::to_writer(&mut hasher, content);
        Self(hasher.0.finalize().into())
    }

    /// Of bytes.
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
    /// Lower-case hex digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
