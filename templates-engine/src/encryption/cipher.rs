//! AES-CBC with PKCS#7 padding, for keys of all three lengths.

use aes::{Aes128, Aes192, Aes256};
use cbc::cipher::block_padding::NoPadding;
use cbc::cipher::{BlockModeDecrypt, BlockModeEncrypt, KeyIvInit};
use zeroize::Zeroizing;

use super::{BLOCK, EncryptionError};

fn with<C>(key: &[u8], vector: &[u8; BLOCK]) -> Option<C>
where
    C: KeyIvInit,
{
    C::new_from_slices(key, vector).ok()
}

/// Encrypts. The key has one of the lengths that AES has, which [`super::Key`] assures.
pub(super) fn encrypt(key: &[u8], vector: &[u8; BLOCK], plain: &[u8]) -> Vec<u8> {
    let padding = BLOCK - plain.len() % BLOCK;
    let mut padded = Zeroizing::new(Vec::with_capacity(plain.len() + padding));
    padded.extend_from_slice(plain);
    padded.resize(
        plain.len() + padding,
        u8::try_from(padding).unwrap_or_default(),
    );
    match key.len() {
        16 => with::<cbc::Encryptor<Aes128>>(key, vector)
            .map(|cipher| cipher.encrypt_padded_vec::<NoPadding>(&padded)),
        24 => with::<cbc::Encryptor<Aes192>>(key, vector)
            .map(|cipher| cipher.encrypt_padded_vec::<NoPadding>(&padded)),
        _ => with::<cbc::Encryptor<Aes256>>(key, vector)
            .map(|cipher| cipher.encrypt_padded_vec::<NoPadding>(&padded)),
    }
    .unwrap_or_default()
}

/// Decrypts and takes the padding off.
pub(super) fn decrypt(
    key: &[u8],
    vector: &[u8; BLOCK],
    encrypted: &[u8],
) -> Result<Zeroizing<Vec<u8>>, EncryptionError> {
    if encrypted.is_empty() || !encrypted.len().is_multiple_of(BLOCK) {
        return Err(EncryptionError::PaddingLength);
    }
    let plain = match key.len() {
        16 => with::<cbc::Decryptor<Aes128>>(key, vector)
            .and_then(|cipher| cipher.decrypt_padded_vec::<NoPadding>(encrypted).ok()),
        24 => with::<cbc::Decryptor<Aes192>>(key, vector)
            .and_then(|cipher| cipher.decrypt_padded_vec::<NoPadding>(encrypted).ok()),
        _ => with::<cbc::Decryptor<Aes256>>(key, vector)
            .and_then(|cipher| cipher.decrypt_padded_vec::<NoPadding>(encrypted).ok()),
    };
    let mut plain = Zeroizing::new(plain.ok_or(EncryptionError::PaddingLength)?);
    let padding = plain.last().copied().map_or(0, usize::from);
    if padding == 0 || padding > plain.len() {
        return Err(EncryptionError::PaddingLength);
    }
    let kept = plain.len() - padding;
    // All bytes are looked at, whatever the first ones are.
    let wrong = plain
        .iter()
        .skip(kept)
        .fold(0, |wrong, byte| wrong | (usize::from(*byte) ^ padding));
    if wrong != 0 {
        return Err(EncryptionError::PaddingBytes);
    }
    plain.truncate(kept);
    Ok(plain)
}
