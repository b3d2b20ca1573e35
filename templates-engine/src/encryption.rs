//! Values that cross from the hub to a managed cluster encrypted: `protect` on one side, tokens in
//! the text on the other.
//!
//! AES in CBC mode with PKCS#7 padding, one initialisation vector for a document, no
//! authentication: the format is upstream's and fixed. A key is therefore taken to be right only
//! when the padding is valid **and** the plaintext is UTF-8.

mod cipher;
#[cfg(test)]
mod tests;
mod tokens;

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use zeroize::Zeroizing;

pub use tokens::{DecryptedTokens, Piece, TOKEN_PREFIX, pieces};

/// Decodes base64 as Go does, for keys and initialisation vectors that come encoded; the error is Go's text.
pub fn decode_base64(text: &str) -> Result<Vec<u8>, String> {
    reeve_go_compat::base64::decode(text.as_bytes())
}

/// AES keys have one of these lengths, in bytes.
const KEY_LENGTHS: [usize; 3] = [16, 24, 32];
/// The initialisation vector's length, in bytes.
const BLOCK: usize = 16;

/// A key that is zeroed when dropped and that nothing prints.
#[derive(Clone)]
pub struct Key(Zeroizing<Vec<u8>>);

impl Key {
    /// A key of 16, 24 or 32 bytes.
    pub fn new(bytes: &[u8]) -> Result<Self, EncryptionError> {
        if !KEY_LENGTHS.contains(&bytes.len()) {
            return Err(EncryptionError::KeySize(bytes.len()));
        }
        Ok(Self(Zeroizing::new(bytes.to_vec())))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Key(..)")
    }
}

/// Why values cannot be encrypted or decrypted. The texts hold no key and no plaintext.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncryptionError {
    /// No key was given.
    #[error("AESKey must be set to use this encryption mode")]
    NoKey,
    /// A key of a length that AES does not have.
    #[error("the AES key is invalid: crypto/aes: invalid key size {0}")]
    KeySize(usize),
    /// No initialisation vector was given.
    #[error("initialization vector must be set to use this encryption mode")]
    NoVector,
    /// An initialisation vector of another length.
    #[error("initialization vector must be 128 bits")]
    VectorSize,
    /// A token that is no base64. Holds the token's base64 part and Go's text.
    #[error("{token}: the encrypted string is invalid base64: {reason}")]
    Base64 {
        /// What should have been base64: ciphertext, no secret.
        token: String,
        /// `illegal base64 data at input byte 0`
        reason: String,
    },
    /// The decrypted bytes do not end in a padding: another key, or a damaged token.
    #[error("invalid PCKS7 padding: the padding length is invalid")]
    PaddingLength,
    /// The decrypted padding is not uniform: another key, or a damaged token.
    #[error("invalid PCKS7 padding: not all the padding bytes match")]
    PaddingBytes,
    /// Padding is valid by chance, but the text is none: another key.
    #[error("the decrypted value is not valid UTF-8, it was probably encrypted with another key")]
    NotText,
    /// The same, with the line (from 1) of the token in the template.
    #[error(
        "the decrypted value on line {0} is not valid UTF-8, it was probably encrypted with another key"
    )]
    NotTextOnLine(usize),
    /// A token in a template.
    #[error("decryption of {token} failed: {source}")]
    Token {
        /// The token in the template: ciphertext, no secret.
        token: String,
        /// The error of the decryption.
        source: Box<EncryptionError>,
    },
}

/// Keys and initialisation vector of one document.
#[derive(Clone)]
pub struct Encryption {
    key: Key,
    fallback: Option<Key>,
    vector: [u8; BLOCK],
}

impl fmt::Debug for Encryption {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Encryption(..)")
    }
}

impl Encryption {
    /// Checks keys and vector. An empty fallback key is no fallback key.
    pub fn new(
        key: &[u8],
        fallback: Option<&[u8]>,
        vector: &[u8],
    ) -> Result<Self, EncryptionError> {
        if key.is_empty() {
            return Err(EncryptionError::NoKey);
        }
        let key = Key::new(key)?;
        let fallback = match fallback {
            None | Some([]) => None,
            Some(fallback) => Some(Key::new(fallback)?),
        };
        if vector.is_empty() {
            return Err(EncryptionError::NoVector);
        }
        let vector = vector.try_into().map_err(|_| EncryptionError::VectorSize)?;
        Ok(Self {
            key,
            fallback,
            vector,
        })
    }

    /// The token of this value: the same for the same value, key and vector. An
    /// empty value is its own token.
    pub fn protect(&self, value: &[u8]) -> String {
        if value.is_empty() {
            return String::new();
        }
        let encrypted = cipher::encrypt(&self.key.0, &self.vector, value);
        format!("{TOKEN_PREFIX}{}", STANDARD.encode(encrypted))
    }

    /// The value of a token's base64 part, by the key or else by the fallback key.
    pub fn decrypt(&self, token: &str) -> Result<Zeroizing<String>, EncryptionError> {
        let encrypted = decode(token)?;
        let first = self.decrypt_with(&self.key, &encrypted);
        match (&first, &self.fallback) {
            (Err(_), Some(fallback)) => self.decrypt_with(fallback, &encrypted),
            _ => first,
        }
    }

    fn decrypt_with(
        &self,
        key: &Key,
        encrypted: &[u8],
    ) -> Result<Zeroizing<String>, EncryptionError> {
        let plain = cipher::decrypt(&key.0, &self.vector, encrypted)?;
        match std::str::from_utf8(&plain) {
            Ok(text) => Ok(Zeroizing::new(text.to_owned())),
            Err(_) => Err(EncryptionError::NotText),
        }
    }
}

/// Padded standard base64; the error has Go's text.
fn decode(token: &str) -> Result<Vec<u8>, EncryptionError> {
    reeve_go_compat::base64::decode(token.as_bytes()).map_err(|reason| EncryptionError::Base64 {
        token: token.to_owned(),
        reason,
    })
}
