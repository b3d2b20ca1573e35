//! `protect`, and encrypted values in documents.

use reeve_templates_engine::resolver::{Config, EncryptionConfig, Input, Options};

use super::check;
use crate::world::{outcome, resolve_with};

const KEY: [u8; 32] = [b'A'; 32];
const OTHER: [u8; 32] = [b'B'; 32];
const VECTOR: [u8; 16] = [b'I'; 16];

fn with_keys(input: &str, config: EncryptionConfig<'_>) -> Result<String, String> {
    let options = Options {
        encryption: Some(config),
        ..Options::default()
    };
    outcome(resolve_with(Config::default(), Input::Yaml(input), options))
}

#[test]
fn encryption() {
    let encrypts = |input: &str| {
        with_keys(
            input,
            EncryptionConfig {
                key: &KEY,
                initialization_vector: &VECTOR,
                encrypts: true,
                ..EncryptionConfig::default()
            },
        )
    };
    check(
        "encryption",
        encrypts,
        &[
            (
                r#"{{ "Raleigh" | protect }}"#,
                Ok(r#""$ocm_encrypted:Eud/p3S7TvuP03S9fuNV+w==""#),
            ),
            (r#"'{{ "" | protect }}'"#, Ok(r#""""#)),
            (
                r#"{{ fromSecret "testns" "testsecret" "secretkey1" }}"#,
                Ok(r#""$ocm_encrypted:c6PNhsEfbM9NRUqeJ+HbcECCyVdFnRbLdd+n8r1fS9M=""#),
            ),
            (
                r#"{{ (copySecretData "testns" "testsecret" | fromJson).secretkey1 }}"#,
                Ok(r#""$ocm_encrypted:c6PNhsEfbM9NRUqeJ+HbcECCyVdFnRbLdd+n8r1fS9M=""#),
            ),
            (r#"{{ copySecretData "testns" "emptysecret" }}"#, Ok("null")),
            // Encryption alone decrypts nothing.
            (
                "$ocm_encrypted:Eud/p3S7TvuP03S9fuNV+w==",
                Ok(r#""$ocm_encrypted:Eud/p3S7TvuP03S9fuNV+w==""#),
            ),
        ],
    );
    let decrypts = |key: &'static [u8], fallback: Option<&'static [u8]>| {
        move |input: &str| {
            with_keys(
                input,
                EncryptionConfig {
                    key,
                    fallback_key: fallback,
                    initialization_vector: &VECTOR,
                    decrypts: true,
                    ..EncryptionConfig::default()
                },
            )
        }
    };
    let rows: &[(&str, Result<&str, &str>)] = &[
        (
            "value: $ocm_encrypted:Eud/p3S7TvuP03S9fuNV+w==",
            Ok(r#"{"value":"Raleigh"}"#),
        ),
        (
            "a: $ocm_encrypted:Eud/p3S7TvuP03S9fuNV+w==\nb: $ocm_encrypted:rBaGZbpT4WOXZzFI+XBrgg==\nc: $ocm_encrypted:rcKUPnLe4rejwXzsm2/g/w==",
            Ok(r#"{"a":"Raleigh","b":"Raleigh2","c":"Raleigh3"}"#),
        ),
        ("a: plain", Ok(r#"{"a":"plain"}"#)),
        (
            r#"a: '{{ "$ocm_encrypted:Eud/p3S7TvuP03S9fuNV+w==" | upper }}'"#,
            Ok(r#"{"a":"RALEIGH"}"#),
        ),
        (
            "a: '$ocm_encrypted:x7Ix9DQueY+gf08PM6VSVA=='",
            Ok(r#"{"a":"Hello\\nRaleigh"}"#),
        ),
        ("a: $ocm_encrypted:😱", Ok(r#"{"a":"$ocm_encrypted:😱"}"#)),
        (
            r#"{{ protect "x" }}"#,
            Err("the protect template function is not enabled in this mode"),
        ),
        (
            "a: $ocm_encrypted:====",
            Err(
                "decryption of $ocm_encrypted:==== failed: ====: the encrypted string is invalid base64: illegal base64 data at input byte 0",
            ),
        ),
        (
            "a: $ocm_encrypted:AAAA",
            Err(
                "decryption of $ocm_encrypted:AAAA failed: invalid PCKS7 padding: the padding length is invalid",
            ),
        ),
    ];
    check("decryption", decrypts(&KEY, None), rows);
    check(
        "unused fallback",
        decrypts(&KEY, Some(&OTHER)),
        rows.get(..3).expect("rows"),
    );
    check(
        "used fallback",
        decrypts(&OTHER, Some(&KEY)),
        rows.get(..3).expect("rows"),
    );
    check(
        "wrong key",
        decrypts(&OTHER, None),
        &[(
            "$ocm_encrypted:Eud/p3S7TvuP03S9fuNV+w==",
            Err("invalid PCKS7 padding: the padding length is invalid"),
        )],
    );
    let neither = with_keys(
        "$ocm_encrypted:Eud/p3S7TvuP03S9fuNV+w==",
        EncryptionConfig::default(),
    );
    assert_eq!(
        neither.as_deref(),
        Ok(r#""$ocm_encrypted:Eud/p3S7TvuP03S9fuNV+w==""#)
    );
    let no_key = with_keys(
        "x",
        EncryptionConfig {
            decrypts: true,
            ..EncryptionConfig::default()
        },
    );
    assert_eq!(
        no_key.expect_err("no key"),
        "error validating EncryptionConfig: AESKey must be set to use this encryption mode"
    );
    let no_vector = with_keys(
        "x",
        EncryptionConfig {
            key: &KEY,
            encrypts: true,
            ..EncryptionConfig::default()
        },
    );
    assert_eq!(
        no_vector.expect_err("no vector"),
        "error validating EncryptionConfig: initialization vector must be set to use this encryption mode"
    );
}

/// Upstream pastes decrypted text before parsing: a secret that holds `{{` runs as a template.
#[test]
fn tmpl_97_decrypted_text_is_never_parsed_as_template() {
    let token = reeve_templates_engine::encryption::Encryption::new(&KEY, None, &VECTOR)
        .expect("valid")
        .protect(br#"{{ fail "ran" }}"#);
    let decrypted = |input: String| {
        with_keys(
            &input,
            EncryptionConfig {
                key: &KEY,
                initialization_vector: &VECTOR,
                decrypts: true,
                ..EncryptionConfig::default()
            },
        )
    };
    let expected = Ok(r#"{"a":"{{ fail \"ran\" }}"}"#.to_owned());
    assert_eq!(decrypted(format!("a: '{token}'")), expected);
    assert_eq!(decrypted(format!("a: '{{{{ \"{token}\" }}}}'")), expected);
    assert_eq!(decrypted(format!("a: '{{{{ `{token}` }}}}'")), expected);
}
