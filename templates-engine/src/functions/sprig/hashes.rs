//! The functions of checksums: `adler32sum`, `sha1sum` and the others.

use sha1::Digest as _;
use sha1::Sha1;
use sha2::{Sha256, Sha512};

use crate::function::Parameter::Str;
use crate::function::{Arguments, Env, Function};
use crate::functions::define::{Answer, Group, answer, charge_items, takes};

const HASHES: Group = Group("Checksums");

/// The table of this topic.
pub const FUNCTIONS: &[Function] = &[
    HASHES.function(
        "sha1sum",
        takes(&[Str]),
        sha1sum,
        "text",
        "The SHA-1 checksum in hexadecimal digits.",
    ),
    HASHES.function(
        "sha256sum",
        takes(&[Str]),
        sha256sum,
        "text",
        "The SHA-256 checksum in hexadecimal digits.",
    ),
    HASHES.function(
        "sha512sum",
        takes(&[Str]),
        sha512sum,
        "text",
        "The SHA-512 checksum in hexadecimal digits.",
    ),
    HASHES.function(
        "adler32sum",
        takes(&[Str]),
        adler32sum,
        "text",
        "The Adler-32 checksum as a decimal number.",
    ),
];

/// Bytes in lower-case hexadecimal digits.
fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut digits, byte| {
        // Writing to a string does not fail.
        let _ = write!(digits, "{byte:02x}");
        digits
    })
}

fn sha1sum(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let text = arguments.str(0)?;
    charge_items(env, text.len() / 64)?;
    answer(hex(&Sha1::digest(&**text)))
}

fn sha256sum(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let text = arguments.str(0)?;
    charge_items(env, text.len() / 64)?;
    answer(hex(&Sha256::digest(&**text)))
}

fn sha512sum(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let text = arguments.str(0)?;
    charge_items(env, text.len() / 64)?;
    answer(hex(&Sha512::digest(&**text)))
}

fn adler32sum(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let text = arguments.str(0)?;
    charge_items(env, text.len() / 64)?;
    answer(adler2::adler32_slice(text).to_string())
}
