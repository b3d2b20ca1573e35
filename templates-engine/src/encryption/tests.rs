use proptest::prelude::*;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::{DecryptedTokens, Encryption, EncryptionError, TOKEN_PREFIX};

fn encryption(key: &[u8], fallback: Option<&[u8]>) -> Encryption {
    Encryption::new(key, fallback, &[b'I'; 16]).expect("valid keys")
}

#[test]
fn tmpl_94_values_encrypt_to_recorded_tokens() {
    for (key, value, expected) in [
        (32, "Raleigh", "Eud/p3S7TvuP03S9fuNV+w=="),
        (32, "Raleigh2", "rBaGZbpT4WOXZzFI+XBrgg=="),
        (32, "Raleigh3", "rcKUPnLe4rejwXzsm2/g/w=="),
        (
            32,
            "c2VjcmV0a2V5MVZhbA==",
            "c6PNhsEfbM9NRUqeJ+HbcECCyVdFnRbLdd+n8r1fS9M=",
        ),
        (32, "Hello\nRaleigh", "x7Ix9DQueY+gf08PM6VSVA=="),
        (16, "Raleigh", "bZ+pO2pSiVnOpWJiHktJfQ=="),
        (24, "Raleigh", "w3bUWEUDIpryEUa3LjuQrA=="),
    ] {
        let key = vec![b'A'; key];
        let token = encryption(&key, None).protect(value.as_bytes());
        assert_eq!(token, format!("{TOKEN_PREFIX}{expected}"), "{value:?}");
    }
}

#[test]
fn tmpl_94_invalid_key_or_vector_is_refused() {
    let error = |key: &[u8], fallback, vector: &[u8]| {
        Encryption::new(key, fallback, vector)
            .expect_err("invalid")
            .to_string()
    };
    let key = [b'A'; 32];
    assert_eq!(
        error(&[], None, &[0; 16]),
        "AESKey must be set to use this encryption mode"
    );
    assert_eq!(
        error(&[1; 5], None, &[0; 16]),
        "the AES key is invalid: crypto/aes: invalid key size 5"
    );
    assert_eq!(
        error(&key, Some(&[1; 7]), &[0; 16]),
        "the AES key is invalid: crypto/aes: invalid key size 7"
    );
    assert_eq!(
        error(&key, None, &[]),
        "initialization vector must be set to use this encryption mode"
    );
    assert_eq!(
        error(&key, None, &[0; 15]),
        "initialization vector must be 128 bits"
    );
}

/// Upstream rejects the empty previous key that its own rotation writes.
#[test]
fn tmpl_94_2_empty_fallback_key_is_not_used() {
    let encryption = Encryption::new(&[b'A'; 32], Some(&[]), &[b'I'; 16]).expect("valid");
    assert_eq!(
        *encryption
            .decrypt("Eud/p3S7TvuP03S9fuNV+w==")
            .expect("ours"),
        "Raleigh"
    );
}

/// Upstream panics on a length that is no multiple of the block's.
#[test]
fn damaged_tokens_are_errors() {
    let encryption = encryption(&[b'A'; 32], None);
    assert_eq!(
        encryption.decrypt("AAAA"),
        Err(EncryptionError::PaddingLength)
    );
    assert_eq!(
        encryption.decrypt("").expect_err("empty").to_string(),
        "invalid PCKS7 padding: the padding length is invalid"
    );
    assert_eq!(
        encryption
            .decrypt("=abc")
            .expect_err("no base64")
            .to_string(),
        "=abc: the encrypted string is invalid base64: illegal base64 data at input byte 0"
    );
}

/// A padding is valid by chance once in 256 wrong keys; upstream then puts garbage into the object.
#[test]
fn tmpl_98_4_wrong_key_with_valid_padding_is_refused_with_its_line() {
    let garbage = super::cipher::encrypt(&[b'A'; 32], &[b'I'; 16], &[0xff, 0xfe, 0xfd]);
    let token = format!("{TOKEN_PREFIX}{}", STANDARD.encode(garbage));
    let text = format!("a: b\nc: {token}\n");
    let error = DecryptedTokens::in_text(&text, &encryption(&[b'A'; 32], None)).err();
    assert_eq!(
        error.map(|error| error.to_string()),
        Some(format!(
            "decryption of {token} failed: the decrypted value on line 2 is not valid UTF-8, it was probably encrypted with another key"
        ))
    );
}

#[test]
fn nothing_prints_a_key() {
    let encryption = encryption(b"sixteen byte key", Some(b"another 16 bytes"));
    assert_eq!(format!("{encryption:?}"), "Encryption(..)");
    assert_eq!(format!("{:?}", encryption.key), "Key(..)");
}

#[test]
fn wrong_keys_never_decrypt() {
    // A fixed xorshift: the same keys on every run.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    let right = encryption(&[b'A'; 32], None);
    let tokens = [3, 15, 16, 40, 200].map(|length| right.protect("x".repeat(length).as_bytes()));
    for token in tokens.iter().cycle().take(100_000) {
        let encoded = token.strip_prefix(TOKEN_PREFIX).expect("a token");
        let key: Vec<u8> = (0..4).flat_map(|_| next()).collect();
        let wrong = encryption(&key, None);
        assert!(wrong.decrypt(encoded).is_err(), "accepted by {key:?}");
    }
}

proptest! {
    #[test]
    fn protected_value_decrypts_to_itself(value in ".+", current in any::<[u8; 32]>(), previous in any::<[u8; 32]>()) {
        let old = encryption(&previous, None);
        let new = encryption(&current, Some(&previous));
        for protector in [&old, &new] {
            let token = protector.protect(value.as_bytes());
            let encoded = token.strip_prefix(TOKEN_PREFIX).expect("a token");
            prop_assert_eq!(&*new.decrypt(encoded).expect("ours"), &value);
        }
    }

    #[test]
    fn any_token_is_decrypted_or_refused(token in "[A-Za-z0-9+/=]{0,200}", key in any::<[u8; 32]>()) {
        let _ = encryption(&key, Some(&[7; 16])).decrypt(&token);
    }

    #[test]
    fn truncated_tokens_are_refused(value in ".{20,60}", cut in 1_usize..15) {
        let encryption = encryption(&[b'A'; 32], None);
        let token = encryption.protect(value.as_bytes());
        let encoded = token.strip_prefix(TOKEN_PREFIX).expect("a token");
        let short = encoded.get(..encoded.len() - cut).expect("long enough");
        prop_assert!(encryption.decrypt(short).is_err());
    }
}

#[test]
fn text_is_split_at_tokens() {
    use super::{Piece, pieces};
    let cut = |text| pieces(text).into_iter().collect::<Vec<_>>();
    assert_eq!(cut(""), []);
    assert_eq!(cut("plain"), [Piece::Open("plain")]);
    assert_eq!(
        cut("a $ocm_encrypted:aGk=, $ocm_encrypted:aGk=$ocm_encrypted:eA=="),
        [
            Piece::Open("a "),
            Piece::Token("aGk="),
            Piece::Open(", "),
            Piece::Token("aGk="),
            Piece::Token("eA=="),
        ]
    );
    let bare = "$ocm_encrypted: is no token";
    assert_eq!(cut(bare), [Piece::Open(bare)]);
}
