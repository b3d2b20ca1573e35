//! Passwords: hashing and deriving them.

use base64::Engine as _;
use base64::engine::GeneralPurpose;
use base64::engine::general_purpose::NO_PAD;
use hmac::{Hmac, Mac as _};
use sha2::Sha256;

use crate::function::Parameter::{Str, Uint32};
use crate::function::{Arguments, Env, Failure, Function};
use crate::functions::define::{Answer, Group, answer, charge_bytes, charge_items, takes};
use reeve_go_compat::value::Value;

const PASSWORDS: Group = Group("Passwords");

/// The table of this topic.
pub const FUNCTIONS: &[Function] = &[
    PASSWORDS.function("bcrypt", takes(&[Str]), bcrypt, "password", "The bcrypt hash of a password, of cost 10. The result differs from one evaluation to the next."),
    PASSWORDS.function("htpasswd", takes(&[Str, Str]), htpasswd, "user password", "A line of an `htpasswd` file with a bcrypt hash. The result differs from one evaluation to the next."),
    PASSWORDS.function("derivePassword", takes(&[Uint32, Str, Str, Str, Str]), derive_password, "counter type password user site", "The password that the Master Password algorithm derives for a site. Types are `maximum`, `long`, `medium`, `short`, `basic` and `pin`."),
];

const COST: u32 = 10;

/// Bcrypt takes no more bytes.
const LONGEST: usize = 72;

/// The price of one hash in steps: some hundred milliseconds.
const PRICE: usize = 10_000;

fn hashed(env: &mut Env<'_>, password: &[u8]) -> Result<String, Failure> {
    if password.len() > LONGEST {
        return Ok(
            "failed to encrypt string with bcrypt: bcrypt: password length exceeds 72 bytes"
                .to_owned(),
        );
    }
    charge_items(env, PRICE)?;
    env.meter.clock()?;
    let mut salt = [0; 16];
    env.ambient.random(&mut salt)?;
    // A terminating zero belongs to the key, as far as there is room.
    let mut key = password.to_vec();
    key.push(0);
    key.truncate(LONGEST);
    let hash = bcrypt::bcrypt(COST, salt, &key);
    let encoding = GeneralPurpose::new(&base64::alphabet::BCRYPT, NO_PAD);
    let digest = hash.get(..23).unwrap_or_default();
    Ok(format!(
        "$2a${COST:02}${}{}",
        encoding.encode(salt),
        encoding.encode(digest)
    ))
}

fn bcrypt(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let password = arguments.str(0)?;
    answer(hashed(env, password)?)
}

fn htpasswd(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let (user, password) = (arguments.str(0)?, arguments.str(1)?);
    charge_bytes(env, user.len())?;
    if user.contains(&b':') {
        return answer([b"invalid username: ", &**user].concat());
    }
    let hash = hashed(env, password)?;
    answer([user, &b":"[..], hash.as_bytes()].concat())
}

const SEED: &[u8] = b"com.lyndir.masterpassword";

fn templates(kind: &[u8]) -> Option<&'static [&'static str]> {
    Some(match kind {
        b"maximum" => &["anoxxxxxxxxxxxxxxxxx", "axxxxxxxxxxxxxxxxxno"],
        b"long" => &[
            "CvcvnoCvcvCvcv",
            "CvcvCvcvnoCvcv",
            "CvcvCvcvCvcvno",
            "CvccnoCvcvCvcv",
            "CvccCvcvnoCvcv",
            "CvccCvcvCvcvno",
            "CvcvnoCvccCvcv",
            "CvcvCvccnoCvcv",
            "CvcvCvccCvcvno",
            "CvcvnoCvcvCvcc",
            "CvcvCvcvnoCvcc",
            "CvcvCvcvCvccno",
            "CvccnoCvccCvcv",
            "CvccCvccnoCvcv",
            "CvccCvccCvcvno",
            "CvcvnoCvccCvcc",
            "CvcvCvccnoCvcc",
            "CvcvCvccCvccno",
            "CvccnoCvcvCvcc",
            "CvccCvcvnoCvcc",
            "CvccCvcvCvccno",
        ],
        b"medium" => &["CvcnoCvc", "CvcCvcno"],
        b"short" => &["Cvcn"],
        b"basic" => &["aaanaaan", "aannaaan", "aaannaaa"],
        b"pin" => &["nnnn"],
        _ => return None,
    })
}

fn characters(class: char) -> &'static [u8] {
    match class {
        'V' => b"AEIOU",
        'C' => b"BCDFGHJKLMNPQRSTVWXYZ",
        'v' => b"aeiou",
        'c' => b"bcdfghjklmnpqrstvwxyz",
        'a' => b"AEIOUaeiouBCDFGHJKLMNPQRSTVWXYZbcdfghjklmnpqrstvwxyz",
        'n' => b"0123456789",
        'o' => b"@&%?,=[]_:-+*$#!'^~;()/.",
        _ => b"AEIOUaeiouBCDFGHJKLMNPQRSTVWXYZbcdfghjklmnpqrstvwxyz0123456789!@#$%^&*()",
    }
}

fn counter(value: &Value) -> u32 {
    let number = match value {
        Value::Int(number) | Value::Int64(number) => u64::try_from(*number).ok(),
        Value::Uint64(number) => Some(*number),
        Value::Uint8(number) => Some((*number).into()),
        _ => None,
    };
    number
        .and_then(|number| u32::try_from(number).ok())
        .unwrap_or(0)
}

fn length_of(text: &[u8]) -> [u8; 4] {
    u32::try_from(text.len()).unwrap_or(u32::MAX).to_be_bytes()
}

/// The Master Password algorithm: scrypt for a key, HMAC for a seed, whose bytes choose a template
/// and then a character for each of its places.
fn derive_password(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let kind = arguments.str(1)?;
    let (password, user, site) = (arguments.str(2)?, arguments.str(3)?, arguments.str(4)?);
    charge_bytes(env, kind.len())?;
    let Some(templates) = templates(kind) else {
        return answer([b"cannot find password template ", &**kind].concat());
    };
    charge_items(env, PRICE)?;
    charge_items(env, (password.len() + user.len() + site.len()) / 64)?;
    env.meter.clock()?;
    let salt = [SEED, &length_of(user), user].concat();
    let mut key = [0; 64];
    let broken = |problem: &dyn std::fmt::Display| {
        Failure::text(format!("failed to derive password: {problem}"))
    };
    let parameters = scrypt::Params::new(15, 8, 2, key.len()).map_err(|error| broken(&error))?;
    scrypt::scrypt(password, &salt, &parameters, &mut key).map_err(|error| broken(&error))?;
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).map_err(|error| broken(&error))?;
    mac.update(SEED);
    mac.update(&length_of(site));
    mac.update(site);
    mac.update(&counter(arguments.any(0)).to_be_bytes());
    let seed = mac.finalize().into_bytes();
    let mut bytes = seed.iter().map(|byte| usize::from(*byte));
    let chosen = bytes.next().unwrap_or(0) % templates.len();
    let template = templates.get(chosen).copied().unwrap_or_default();
    let text: Vec<u8> = template
        .chars()
        .zip(bytes)
        .filter_map(|(class, byte)| {
            let characters = characters(class);
            characters.get(byte % characters.len()).copied()
        })
        .collect();
    answer(text)
}
