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
