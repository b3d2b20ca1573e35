//! The functions of Sprig 3.3.0, except those that the engine gives a meaning of its own.
//!
//! Each topic is a table of [`Function`]s. What they answer and how they fail is Sprig's to the
//! byte, panics included: a Go panic inside a function reaches authors as an error with the
//! panic's text, so the bodies answer with that text.

#![allow(clippy::unnecessary_wraps)] // all bodies are of one type, those too that cannot fail

mod addresses;
mod casing;
pub(super) mod cast;
mod certificates;
mod ciphers;
mod dates;
mod decimal;
mod defaults;
mod dicts;
mod encoding;
mod hashes;
mod keys;
mod lists;
mod merge;
mod net;
mod numbers;
mod passwords;
mod paths;
mod random;
mod regex;
mod semver;
mod sequences;
mod splitting;
pub(super) mod strings;
mod types;
mod url;
mod words;

#[cfg(test)]
mod tests;

use crate::function::Function;

/// Every table, in the order of the reference page.
pub fn tables() -> &'static [&'static [Function]] {
    &[
        strings::FUNCTIONS,
        casing::FUNCTIONS,
        words::FUNCTIONS,
        splitting::FUNCTIONS,
        numbers::FUNCTIONS,
        numbers::DECIMAL_FUNCTIONS,
        sequences::FUNCTIONS,
        lists::FUNCTIONS,
        lists::MUST_FUNCTIONS,
        dicts::FUNCTIONS,
        defaults::FUNCTIONS,
        types::FUNCTIONS,
        dates::FUNCTIONS,
        regex::FUNCTIONS,
        semver::FUNCTIONS,
        paths::FUNCTIONS,
        net::FUNCTIONS,
        encoding::FUNCTIONS,
        random::FUNCTIONS,
        hashes::FUNCTIONS,
        passwords::FUNCTIONS,
        ciphers::FUNCTIONS,
        keys::FUNCTIONS,
        certificates::FUNCTIONS,
    ]
}
