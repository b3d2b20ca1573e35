//! Randomness. All of it comes from the caller, so that a recorded render can be replayed.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::strings::decode_all;
use crate::function::Parameter::{Int, Str};
use crate::function::{Arguments, Env, Failure, Function};
use crate::functions::define::{Answer, Group, answer, charge_bytes, charge_items, takes};
use reeve_go_compat::value::Value;

const RANDOM: Group = Group("Random values");

/// The table of this topic.
pub const FUNCTIONS: &[Function] = &[
    RANDOM.function(
        "randAlphaNum",
        takes(&[Int]),
        alphanumeric,
        "length",
        "Random letters and digits. The result differs from one evaluation to the next.",
    ),
    RANDOM.function(
        "randAlpha",
        takes(&[Int]),
        alphabetic,
        "length",
        "Random letters. The result differs from one evaluation to the next.",
    ),
    RANDOM.function(
        "randNumeric",
        takes(&[Int]),
        numeric,
        "length",
        "Random digits. The result differs from one evaluation to the next.",
    ),
    RANDOM.function(
        "randAscii",
        takes(&[Int]),
        ascii,
        "length",
        "Random printable ASCII characters. The result differs from one evaluation to the next.",
    ),
    RANDOM.function(
        "randBytes",
        takes(&[Int]),
        bytes,
        "length",
        "Random bytes in base64. The result differs from one evaluation to the next.",
    ),
    RANDOM.function(
        "randInt",
        takes(&[Int, Int]),
        int,
        "least end",
        "A random number, at least the first and less than the second.",
    ),
    RANDOM.function(
        "shuffle",
        takes(&[Str]),
        shuffle,
        "text",
        "The characters of the text in random order.",
    ),
    RANDOM.function(
        "uuidv4",
        takes(&[]),
        uuid,
        "",
        "A random UUID. The result differs from one evaluation to the next.",
    ),
];

/// How many random bytes are drawn in one go.
const DRAWN: usize = 4096;

/// A number below the bound, each with the same chance. The bound is not zero.
fn below(env: &mut Env<'_>, bound: u64) -> Result<u64, Failure> {
    // Numbers of the incomplete last run of the bound are drawn again.
    let limit = u64::MAX - u64::MAX % bound;
    loop {
        let mut buffer = [0; 8];
        env.ambient.random(&mut buffer)?;
        let drawn = u64::from_le_bytes(buffer);
        if drawn < limit {
            return Ok(drawn % bound);
        }
    }
}

fn text(env: &mut Env<'_>, arguments: &Arguments<'_>, characters: &[u8]) -> Answer {
    let Ok(length) = usize::try_from(arguments.int(0)?) else {
        return answer("");
    };
    charge_bytes(env, length)?;
    let count = characters.len().max(1);
    // Bytes of the incomplete last run of the characters are drawn again.
    let limit = 256 - 256 % count;
    let mut result = Vec::with_capacity(length);
    let mut buffer = vec![0; length.min(DRAWN)];
    while result.len() < length {
        env.meter.clock()?;
        env.ambient.random(&mut buffer)?;
        let fair = buffer.iter().map(|byte| usize::from(*byte));
        let chosen = fair.filter(|byte| *byte < limit);
        let chosen = chosen.filter_map(|byte| characters.get(byte % count).copied());
        result.extend(chosen.take(length - result.len()));
    }
    answer(result)
}

fn ascii_where(fits: impl Fn(&u8) -> bool) -> Vec<u8> {
    (b' '..=b'~').filter(fits).collect()
}

fn alphanumeric(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    text(env, arguments, &ascii_where(u8::is_ascii_alphanumeric))
}

fn alphabetic(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    text(env, arguments, &ascii_where(u8::is_ascii_alphabetic))
}

fn numeric(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    text(env, arguments, &ascii_where(u8::is_ascii_digit))
}

fn ascii(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    text(env, arguments, &ascii_where(|_| true))
}

fn bytes(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let Ok(length) = usize::try_from(arguments.int(0)?) else {
        return Err(Failure::text("runtime error: makeslice: len out of range"));
    };
    charge_bytes(env, length.saturating_mul(2))?;
    let mut buffer = vec![0; length];
    env.ambient.random(&mut buffer)?;
    answer(STANDARD.encode(buffer))
}

fn int(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let least = arguments.int(0)?;
    let span = arguments.int(1)?.wrapping_sub(least);
    let Some(span) = u64::try_from(span).ok().filter(|span| *span > 0) else {
        return Err(Failure::text("invalid argument to Intn"));
    };
    let drawn = below(env, span)?.cast_signed();
    Ok(Value::Int(least.wrapping_add(drawn)))
}

fn shuffle(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let text = arguments.str(0)?;
    charge_bytes(env, text.len())?;
    let mut characters = decode_all(text);
    charge_items(env, characters.len())?;
    for position in (1..characters.len()).rev() {
        let bound = u64::try_from(position).unwrap_or(0) + 1;
        let other = usize::try_from(below(env, bound)?).unwrap_or(0);
        characters.swap(position, other);
    }
    answer(characters.into_iter().collect::<String>())
}

fn uuid(env: &mut Env<'_>, _: &Arguments<'_>) -> Answer {
    let mut bytes = [0; 16];
    env.ambient.random(&mut bytes)?;
    // Version 4 in four bits, the variant in two.
    let number = u128::from_be_bytes(bytes);
    let number = number & !(0xf << 76) | 4 << 76;
    let number = number & !(0b11 << 62) | 0b10 << 62;
    let digits = format!("{number:032x}");
    let part = |range| digits.get(range).unwrap_or_default();
    answer(format!(
        "{}-{}-{}-{}-{}",
        part(0..8),
        part(8..12),
        part(12..16),
        part(16..20),
        part(20..32)
    ))
}
