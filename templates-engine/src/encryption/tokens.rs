//! Encrypted tokens in a template's text, and their decrypted values.
//!
//! Tokens stay in the text until it has been parsed: what was encrypted is pasted as it is and
//! never read as template syntax.

use std::collections::HashMap;

use zeroize::Zeroizing;

use super::{Encryption, EncryptionError};

/// What an encrypted value starts with.
pub const TOKEN_PREFIX: &str = "$ocm_encrypted:";

/// The decrypted tokens of one text.
#[derive(Default)]
pub struct DecryptedTokens {
    values: HashMap<String, Zeroizing<String>>,
}

impl DecryptedTokens {
    /// Decrypts every token in a text.
    pub fn in_text(text: &str, encryption: &Encryption) -> Result<Self, EncryptionError> {
        let mut values = HashMap::new();
        for (place, token) in Tokens(text, 0) {
            if values.contains_key(token) {
                continue;
            }
            let encoded = token.strip_prefix(TOKEN_PREFIX).unwrap_or_default();
            let value = encryption
                .decrypt(encoded)
                .map_err(|source| EncryptionError::Token {
                    token: token.to_owned(),
                    source: Box::new(with_line(source, text, place)),
                })?;
            values.insert(token.to_owned(), value);
        }
        Ok(Self { values })
    }

    /// Whether there was any token.
    pub fn any(&self) -> bool {
        !self.values.is_empty()
    }

    /// Output text in pieces, each with whether it came from a token. A newline in a value comes
    /// out as the two characters `\n`.
    pub(crate) fn pieces<'a>(&'a self, text: &'a str) -> Vec<(std::borrow::Cow<'a, [u8]>, bool)> {
        if self.values.is_empty() {
            return vec![(text.as_bytes().into(), false)];
        }
        let mut pieces = Vec::new();
        let mut position = 0;
        for (start, token) in Tokens(text, 0) {
            let before = text.get(position..start).unwrap_or_default();
            pieces.push((before.as_bytes().into(), false));
            position = start + token.len();
            match self.values.get(token) {
                Some(value) => {
                    pieces.push((value.replace('\n', "\\n").into_bytes().into(), true));
                }
                None => pieces.push((token.as_bytes().into(), false)),
            }
        }
        let rest = text.get(position..).unwrap_or_default();
        pieces.push((rest.as_bytes().into(), false));
        pieces
    }

    /// A string constant of a template with its tokens replaced; none when it has none.
    pub(crate) fn constant(&self, text: &[u8]) -> Option<Vec<u8>> {
        if self.values.is_empty() {
            return None;
        }
        let text = std::str::from_utf8(text).ok()?;
        let mut replaced = Vec::new();
        let mut position = 0;
        for (start, token) in Tokens(text, 0) {
            replaced.extend_from_slice(text.get(position..start)?.as_bytes());
            position = start + token.len();
            let value = self.values.get(token).map_or(token, |value| value.as_str());
            replaced.extend_from_slice(value.as_bytes());
        }
        if position == 0 {
            return None;
        }
        replaced.extend_from_slice(text.get(position..)?.as_bytes());
        Some(replaced)
    }
}

/// Names the line where no word of upstream's does. The value itself is never shown.
fn with_line(error: EncryptionError, text: &str, place: usize) -> EncryptionError {
    match error {
        EncryptionError::NotText => {
            let before = text.as_bytes().get(..place).unwrap_or_default();
            EncryptionError::NotTextOnLine(memchr::memchr_iter(b'\n', before).count() + 1)
        }
        other => other,
    }
}

/// A part of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Text between tokens. Never empty.
    Open(&'a str),
    /// The base64 part of a token, whether or not it can be decrypted.
    Token(&'a str),
}

/// A text cut where tokens begin and end, in its order.
pub fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut position = 0;
    for (start, token) in Tokens(text, 0) {
        let open = text.get(position..start).unwrap_or_default();
        let encoded = token.strip_prefix(TOKEN_PREFIX).unwrap_or_default();
        pieces.extend([Piece::Open(open), Piece::Token(encoded)]);
        position = start + token.len();
    }
    pieces.push(Piece::Open(text.get(position..).unwrap_or_default()));
    pieces.retain(|piece| *piece != Piece::Open(""));
    pieces
}

/// The tokens of a text with their places, from this position on.
struct Tokens<'a>(&'a str, usize);

impl<'a> Iterator for Tokens<'a> {
    type Item = (usize, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let rest = self.0.get(self.1..)?;
            let start = self.1 + rest.find(TOKEN_PREFIX)?;
            let value = start + TOKEN_PREFIX.len();
            let encoded = self.0.get(value..)?;
            let length = encoded
                .bytes()
                .take_while(|byte| {
                    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
                })
                .count();
            self.1 = value + length;
            if length > 0 {
                return Some((start, self.0.get(start..self.1)?));
            }
        }
    }
}
