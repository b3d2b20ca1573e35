//! CFG-86: values that are encrypted in a policy.

use std::sync::Arc;

use anyhow::{Context, Result};
use reeve_scenarios::{Evaluator, Subject, same, spec, within};
use serde_json::json;

const ANNOTATION: &str = "policy.open-cluster-management.io/encryption-iv";
/// `an-iv-of-16bytes`, with which both values were encrypted.
const IV: &str = "YW4taXYtb2YtMTZieXRlcw==";
/// `reeve-tests-first-key-0123456789`.
const FIRST_KEY: &str = "cmVldmUtdGVzdHMtZmlyc3Qta2V5LTAxMjM0NTY3ODk=";
/// `reeve-tests-other-key-9876543210`.
const OTHER_KEY: &str = "cmVldmUtdGVzdHMtb3RoZXIta2V5LTk4NzY1NDMyMTA=";
/// `Raleigh`, by the first key and by the other one.
const BY_FIRST_KEY: &str = "$ocm_encrypted:sccn7GCvPFMYYCtjZGUrcA==";
const BY_OTHER_KEY: &str = "$ocm_encrypted:puBgRSCLqk9MB2WxW/K6iA==";

fn secret(namespace: &str, data: &str) -> String {
    format!(
        "{{apiVersion: v1, kind: Secret, metadata: {{name: policy-encryption-key, namespace: {namespace}}}, data: {data}}}"
    )
}

fn map(name: &str, value: &str) -> String {
    let map = format!(
        "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, namespace: case16}}, data: {{city: '{value}'}}}}"
    );
    spec("enforce", &[("musthave", &map)])
}

async fn decrypts(world: &Evaluator, policy: &Subject<'_>, name: &str, value: &str) -> Result<()> {
    policy
        .apply_with(&[(ANNOTATION, IV)], &map(name, value))
        .await?;
    policy.is("Compliant").await?;
    let live = world
        .get("v1", "ConfigMap", Some("case16"), name)
        .await?
        .context("absent")?;
    same(
        "the data",
        &live.data["data"],
        &json!({ "city": "Raleigh" }),
    )
}

/// One scenario, for there is one key.
pub(crate) async fn decryption(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&["case16"]).await?;
    let early = world.policy("case16-early");
    early
        .apply_with(&[(ANNOTATION, IV)], &map("early", BY_FIRST_KEY))
        .await?;
    let observed = early
        .mentions(&["failed to get the encryption key from Secret managed/policy-encryption-key: "])
        .await?;
    same(
        "the reason",
        observed.reason(0),
        "Template encryption configuration error",
    )?;
    world
        .apply(&secret("managed", &format!("{{key: {FIRST_KEY}}}")))
        .await?;
    // It is tried again.
    early.is("Compliant").await?;
    let old = world.policy("case16-old");
    decrypts(&world, &old, "old", BY_FIRST_KEY).await?;

    world
        .apply(&secret(
            "managed",
            &format!("{{key: {OTHER_KEY}, previousKey: {FIRST_KEY}}}"),
        ))
        .await?;
    decrypts(&world, &world.policy("case16-new"), "new", BY_OTHER_KEY).await?;
    world
        .delete("{apiVersion: v1, kind: ConfigMap, metadata: {name: old, namespace: case16}}")
        .await?;
    within("the old one is decrypted with the key before", || async {
        let live = world
            .get("v1", "ConfigMap", Some("case16"), "old")
            .await?
            .context("absent")?;
        same(
            "the data",
            &live.data["data"],
            &json!({ "city": "Raleigh" }),
        )
    })
    .await?;
    old.is("Compliant").await?;
    bad_input(&world).await
}

/// Vectors that are none, and a key that is none.
async fn bad_input(world: &Evaluator) -> Result<()> {
    let annotated = |iv: &'static str| {
        let policy = world.policy("case16-bad-iv");
        async move {
            policy
                .apply_with(&[(ANNOTATION, iv)], &map("bad-iv", BY_OTHER_KEY))
                .await?;
            anyhow::Ok(policy)
        }
    };
    // Ten bytes.
    let message =
        format!("The \"{ANNOTATION}\" annotation value is not a valid initialization vector");
    let observed = annotated("MDEyMzQ1Njc4OQ==")
        .await?
        .reports(&message)
        .await?;
    same("the compliance", observed.compliance(), "NonCompliant")?;
    let message = format!("the policy annotation of \"{ANNOTATION}\" is not Base64: ");
    let observed = annotated("not-base64!")
        .await?
        .mentions(&[&message])
        .await?;
    same(
        "the reason",
        observed.reason(0),
        "Template encryption configuration error",
    )?;

    world
        .apply(&secret("managed", "{key: dG9vIHNob3J0}"))
        .await?;
    let bad = world.policy("case16-bad-key");
    bad.apply_with(&[(ANNOTATION, IV)], &map("bad-key", BY_OTHER_KEY))
        .await?;
    let observed = bad
        .reports("The \"policy-encryption-key\" Secret contains an invalid AES key")
        .await?;
    same("the compliance", observed.compliance(), "NonCompliant")
}

/// A key that comes is noticed by the policies that have values to decrypt, and so is a rotation.
pub(crate) async fn rotation_is_noticed(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&["case16"]).await?;
    // In a namespace whose key nobody else needs.
    let namespace = "open-cluster-management-policies";
    world
        .apply(&secret(namespace, &format!("{{key: {FIRST_KEY}}}")))
        .await?;
    let policy = Subject::new(&world, namespace, "rough-edge-22-rotation");
    policy
        .apply_with(&[(ANNOTATION, IV)], &map("rotated", BY_FIRST_KEY))
        .await?;
    policy.is("Compliant").await?;
    let settled = world.settled(policy.name()).await?;
    world
        .apply(&secret(namespace, &format!("{{key: {OTHER_KEY}}}")))
        .await?;
    within("it is evaluated with the new key", || async {
        let count = world.evaluations(policy.name()).await?;
        anyhow::ensure!(count > settled, "it was evaluated {count} times");
        Ok(())
    })
    .await?;
    policy.is("NonCompliant").await?;
    world
        .apply(&secret(
            namespace,
            &format!("{{key: {OTHER_KEY}, previousKey: {FIRST_KEY}}}"),
        ))
        .await?;
    policy.is("Compliant").await?;
    Ok(())
}
