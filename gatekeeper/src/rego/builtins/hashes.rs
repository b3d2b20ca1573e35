//! Hashes of texts, in hexadecimal.

use std::fmt::Write;

use hmac::{Hmac, Mac};
use regorus::Value;
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};

fn hexadecimal(bytes: &[u8]) -> Value {
    let mut out = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        let _ = write!(out, "{byte:02x}");
    }
    Value::from(out)
}

fn text(args: &[Value], index: usize) -> Option<&str> {
    match args.get(index) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}

#[allow(clippy::unnecessary_wraps)] // the functions have one signature
fn hash<D: Digest>(args: &[Value]) -> anyhow::Result<Value> {
    let text = text(args, 0);
    Ok(text.map_or(Value::Undefined, |text| {
        hexadecimal(&D::digest(text.as_bytes()))
    }))
}

pub fn sha1(args: &[Value]) -> anyhow::Result<Value> {
    hash::<Sha1>(args)
}

pub fn sha256(args: &[Value]) -> anyhow::Result<Value> {
    hash::<Sha256>(args)
}

/// The code of a text under a key.
macro_rules! code {
    ($name:ident, $hash:ty) => {
        #[allow(clippy::unnecessary_wraps)] // the functions have one signature
        pub fn $name(args: &[Value]) -> anyhow::Result<Value> {
            let (Some(message), Some(key)) = (text(args, 0), text(args, 1)) else {
                return Ok(Value::Undefined);
            };
            let Ok(mut code) = Hmac::<$hash>::new_from_slice(key.as_bytes()) else {
                return Ok(Value::Undefined);
            };
            code.update(message.as_bytes());
            Ok(hexadecimal(&code.finalize().into_bytes()))
        }
    };
}

code!(hmac_sha1, Sha1);
code!(hmac_sha256, Sha256);
code!(hmac_sha512, Sha512);

/// Whether two codes are equal, in a time that does not depend on where they differ.
#[allow(clippy::unnecessary_wraps)] // the functions have one signature
pub fn equal(args: &[Value]) -> anyhow::Result<Value> {
    let (Some(left), Some(right)) = (text(args, 0), text(args, 1)) else {
        return Ok(Value::Undefined);
    };
    let pairs = left.bytes().zip(right.bytes());
    let difference = pairs.fold(0, |sum, (one, other)| sum | (one ^ other));
    Ok(Value::from(left.len() == right.len() && difference == 0))
}

/// MD5, which no crate of the workspace has and only old templates use.
struct Md5;

impl Md5 {
    const SHIFTS: [u32; 16] = [7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21];

    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // the table is made of whole parts below 2^32
    fn constant(index: u32) -> u32 {
        (f64::from(index + 1).sin().abs() * 4_294_967_296.0) as u32
    }

    fn digest(message: &[u8]) -> [u8; 16] {
        let mut padded = message.to_vec();
        padded.push(0x80);
        while padded.len() % 64 != 56 {
            padded.push(0);
        }
        let bits = (message.len() as u64).wrapping_mul(8);
        padded.extend_from_slice(&bits.to_le_bytes());
        let mut state = [0x6745_2301_u32, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
        for block in padded.chunks_exact(64) {
            Self::block(&mut state, block);
        }
        let mut out = [0; 16];
        for (bytes, word) in out.chunks_exact_mut(4).zip(state) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        out
    }

    fn block(state: &mut [u32; 4], block: &[u8]) {
        let word = |index: u32| {
            let start = 4 * index as usize;
            let bytes = block
                .get(start..start + 4)
                .and_then(|four| four.try_into().ok());
            bytes.map_or(0, u32::from_le_bytes)
        };
        let [mut a, mut b, mut c, mut d] = *state;
        for index in 0..64_u32 {
            let (mixed, position) = match index / 16 {
                0 => ((b & c) | (!b & d), index),
                1 => ((d & b) | (!d & c), (5 * index + 1) % 16),
                2 => (b ^ c ^ d, (3 * index + 5) % 16),
                _ => (c ^ (b | !d), (7 * index) % 16),
            };
            let shift = (4 * (index / 16) + index % 4) as usize;
            let shift = Self::SHIFTS.get(shift).copied().unwrap_or_default();
            let sum = a
                .wrapping_add(mixed)
                .wrapping_add(Self::constant(index))
                .wrapping_add(word(position));
            (a, d, c) = (d, c, b);
            b = b.wrapping_add(sum.rotate_left(shift));
        }
        for (word, add) in state.iter_mut().zip([a, b, c, d]) {
            *word = word.wrapping_add(add);
        }
    }
}

#[allow(clippy::unnecessary_wraps)] // the functions have one signature
pub fn md5(args: &[Value]) -> anyhow::Result<Value> {
    let text = text(args, 0);
    Ok(text.map_or(Value::Undefined, |text| {
        hexadecimal(&Md5::digest(text.as_bytes()))
    }))
}

#[allow(clippy::unnecessary_wraps)] // the functions have one signature
pub fn hmac_md5(args: &[Value]) -> anyhow::Result<Value> {
    let (Some(message), Some(key)) = (text(args, 0), text(args, 1)) else {
        return Ok(Value::Undefined);
    };
    let mut block = [0_u8; 64];
    let hashed = Md5::digest(key.as_bytes());
    let key = if key.len() > 64 {
        &hashed
    } else {
        key.as_bytes()
    };
    for (place, byte) in block.iter_mut().zip(key) {
        *place = *byte;
    }
    let mut inner: Vec<u8> = block.iter().map(|byte| byte ^ 0x36).collect();
    inner.extend_from_slice(message.as_bytes());
    let mut outer: Vec<u8> = block.iter().map(|byte| byte ^ 0x5c).collect();
    outer.extend_from_slice(&Md5::digest(&inner));
    Ok(hexadecimal(&Md5::digest(&outer)))
}
