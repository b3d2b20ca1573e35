//! Base 32.

use crate::function::Parameter::Str;
use crate::function::{Arguments, Env, Function};
use crate::functions::define::{Answer, Group, answer, charge_bytes, takes};

const ENCODING: Group = Group("Encoding");

/// The table of this topic.
pub const FUNCTIONS: &[Function] = &[
    ENCODING.function(
        "b32enc",
        takes(&[Str]),
        b32enc,
        "text",
        "The text in base 32.",
    ),
    ENCODING.function(
        "b32dec",
        takes(&[Str]),
        b32dec,
        "text",
        "The text that this base 32 stands for. What cannot be decoded yields the error's text.",
    ),
];

const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

fn b32enc(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let text = arguments.str(0)?;
    charge_bytes(env, text.len().div_ceil(5).saturating_mul(8))?;
    let mut result = Vec::new();
    for chunk in text.chunks(5) {
        let mut buffer = [0; 8];
        for (slot, byte) in buffer.iter_mut().skip(3).zip(chunk) {
            *slot = *byte;
        }
        let bits = u64::from_be_bytes(buffer);
        let digits = (chunk.len() * 8).div_ceil(5);
        for position in 0..8 {
            let shift = 35 - 5 * position;
            let digit = usize::try_from(bits >> shift & 31).unwrap_or(0);
            result.push(if position < digits {
                ALPHABET.get(digit).copied().unwrap_or(b'=')
            } else {
                b'='
            });
        }
    }
    answer(result)
}

fn b32dec(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let text = arguments.str(0)?;
    charge_bytes(env, text.len())?;
    match base32_decoded(text) {
        Ok(bytes) => answer(bytes),
        Err(position) => answer(format!("illegal base32 data at input byte {position}")),
    }
}

fn digit_of(alphabet: &[u8], byte: u8) -> Option<u64> {
    let position = alphabet.iter().position(|digit| *digit == byte)?;
    u64::try_from(position).ok()
}

/// Line breaks may stand anywhere and count for nothing.
fn without_breaks(text: &[u8]) -> Vec<u8> {
    text.iter()
        .copied()
        .filter(|byte| !matches!(byte, b'\r' | b'\n'))
        .collect()
}

/// The bytes, or where Go's decoder finds the first fault.
fn base32_decoded(text: &[u8]) -> Result<Vec<u8>, usize> {
    let text = without_breaks(text);
    let mut result = Vec::with_capacity(text.len());
    let mut start = 0;
    while start < text.len() {
        let mut bits: u64 = 0;
        let mut digits = 0;
        let mut ended = false;
        while digits < 8 {
            let at = start + digits;
            let Some(byte) = text.get(at) else {
                // Padding is missing; the fault is laid to the beginning of the group.
                return Err(start);
            };
            if *byte == b'=' && digits >= 2 && text.len() - at - 1 < 8 {
                base32_padding(&text, at, digits)?;
                ended = true;
                break;
            }
            let Some(digit) = digit_of(ALPHABET, *byte) else {
                return Err(at);
            };
            bits = bits << 5 | digit;
            digits += 1;
        }
        bits <<= 5 * (8 - digits);
        let whole = digits * 5 / 8;
        result.extend(bits.to_be_bytes().iter().skip(3).take(whole));
        if ended {
            break;
        }
        start += 8;
    }
    Ok(result)
}

/// Checks the padding that begins at this position after so many digits.
fn base32_padding(text: &[u8], at: usize, digits: usize) -> Result<(), usize> {
    let after = text.get(at + 1..).unwrap_or_default();
    if after.len() + digits < 7 {
        return Err(text.len());
    }
    for (offset, byte) in after.iter().take(7 - digits).enumerate() {
        if *byte != b'=' {
            return Err(at + offset);
        }
    }
    if matches!(digits, 1 | 3 | 6) {
        return Err(at);
    }
    Ok(())
}
