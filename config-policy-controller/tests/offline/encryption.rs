//! Encrypted values, and what is wrong with keys and vectors.

use reeve_config_policy_controller::dryrun::Options;
use rstest::rstest;

use crate::world::{detail, policy, report_of};

/// 16 bytes.
const VECTOR: &str = "AAAAAAAAAAAAAAAAAAAAAA==";

fn verdict(vector: &str, objects: &str) -> String {
    let mut policy = policy(
        "
object-templates:
- complianceType: musthave
  objectDefinition: {apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: default}, data: {a: '$ocm_encrypted:AAAA'}}
",
    );
    let name = "policy.open-cluster-management.io/encryption-iv".to_owned();
    policy.metadata.annotations = Some([(name, vector.to_owned())].into());
    detail(&report_of(&policy, objects, &Options::default()), 0)
}

fn secret(key: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Secret\nmetadata: {{name: policy-encryption-key, namespace: managed}}\ndata: {{key: {key}}}\n"
    )
}

/// 32 bytes.
const KEY: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";

#[rstest]
#[case::not_base64(
    "?",
    String::new(),
    "the policy annotation of \"policy.open-cluster-management.io/encryption-iv\" is not Base64: illegal base64 data at input byte 0"
)]
#[case::no_secret(
    VECTOR,
    String::new(),
    "failed to get the encryption key from Secret managed/policy-encryption-key: Secret \"policy-encryption-key\" not found"
)]
#[case::short_key(
    VECTOR,
    secret("AAAA"),
    "The \"policy-encryption-key\" Secret contains an invalid AES key"
)]
#[case::short_vector(
    "AAAA",
    secret(KEY),
    "The \"policy.open-cluster-management.io/encryption-iv\" annotation value is not a valid initialization vector"
)]
fn keys_and_vectors(#[case] vector: &str, #[case] objects: String, #[case] expected: &str) {
    assert_eq!(verdict(vector, &objects), expected);
}

#[test]
fn undecryptable_value_is_reported() {
    let message = verdict(VECTOR, &secret(KEY));
    assert!(message.contains("$ocm_encrypted:AAAA"), "{message}");
}
