//! Encryption with a password.

use aes::Aes256;
use aes::cipher::block_padding::{NoPadding, Pkcs7};
use aes::cipher::{BlockModeDecrypt as _, BlockModeEncrypt as _, KeyIvInit as _};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::function::Parameter::Str;
use crate::function::{Arguments, Env, Failure, Function};
use crate::functions::define::{Answer, Group, answer, charge_bytes, takes};
use reeve_go_compat::base64::decode;

const CIPHERS: Group = Group("Encryption");

/// The table of this topic.
pub const FUNCTIONS: &[Function] = &[
    CIPHERS.function("encryptAES", takes(&[Str, Str]), encrypt, "password text", "The text encrypted with AES-256 in CBC mode, in base64. The result differs from one evaluation to the next."),
    CIPHERS.function("decryptAES", takes(&[Str, Str]), decrypt, "password text", "The text that `encryptAES` encrypted with this password."),
];

const BLOCK: usize = 16;

/// The password cut or filled with zeros to the length of a key.
fn key(password: &[u8]) -> [u8; 32] {
    let mut key = [0; 32];
    for (slot, byte) in key.iter_mut().zip(password) {
        *slot = *byte;
    }
    key
}

fn encrypt(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let (password, text) = (arguments.str(0)?, arguments.str(1)?);
    if text.is_empty() {
        return answer("");
    }
    charge_bytes(env, text.len().saturating_mul(2))?;
    let mut result = vec![0; BLOCK];
    env.ambient.random(&mut result)?;
    let mut vector = [0; BLOCK];
    vector.copy_from_slice(&result);
    let cipher = cbc::Encryptor::<Aes256>::new(&key(password).into(), &vector.into());
    result.extend(cipher.encrypt_padded_vec::<Pkcs7>(text));
    answer(STANDARD.encode(result))
}

fn decrypt(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let (password, text) = (arguments.str(0)?, arguments.str(1)?);
    if text.is_empty() {
        return answer("");
    }
    charge_bytes(env, text.len())?;
    let bytes = decode(text).map_err(Failure::text)?;
    let Some((vector, encrypted)) = bytes.split_first_chunk::<BLOCK>() else {
        // Upstream's buffer is as large as the decoded text could have been.
        let capacity = text.len() / 4 * 3;
        return Err(Failure::text(format!(
            "runtime error: slice bounds out of range [:{BLOCK}] with capacity {capacity}"
        )));
    };
    let cipher = cbc::Decryptor::<Aes256>::new(&key(password).into(), &(*vector).into());
    let Ok(decrypted) = cipher.decrypt_padded_vec::<NoPadding>(encrypted) else {
        return Err(Failure::text("crypto/cipher: input not full blocks"));
    };
    let Some(last) = decrypted.last() else {
        return Err(Failure::text("runtime error: index out of range [-1]"));
    };
    // Nothing checks the padding but its length.
    let length = decrypted.len().checked_sub(usize::from(*last));
    let Some(kept) = length.and_then(|length| decrypted.get(..length)) else {
        let length = i64::try_from(decrypted.len()).unwrap_or(i64::MAX) - i64::from(*last);
        return Err(Failure::text(format!(
            "runtime error: slice bounds out of range [:{length}]"
        )));
    };
    answer(kept)
}
