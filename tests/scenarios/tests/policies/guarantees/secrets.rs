//! Secret values go through policies in every way there is, and come out nowhere but in the objects.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::Event;
use kube::Api;
use kube::api::ListParams;
use reeve_scenarios::{Controller, Evaluator, Subject, namespace, spec};
use reeve_testkit::http_get;

/// The policies' namespace: they have a controller of their own, which logs all it can.
const POLICIES: &str = "secretive";
/// Where the objects are.
const AT: &str = "secrets";
/// The values, each in a Secret, as they are meant and as they are kept.
const PLAINTEXTS: [&str; 4] = [
    "hunter2-of-the-source",
    "aHVudGVyMi1vZi10aGUtc291cmNl",
    "hunter3-of-the-drift",
    "Raleigh-by-key",
];
const SOURCE: &str = "{apiVersion: v1, kind: Secret, metadata: {name: source, namespace: secrets}, data: {password: aHVudGVyMi1vZi10aGUtc291cmNl}}";

/// `an-iv-of-16bytes` and `reeve-tests-first-key-0123456789`, as in CFG-86.
const VECTOR: &str = "YW4taXYtb2YtMTZieXRlcw==";
const KEY: &str = "cmVldmUtdGVzdHMtZmlyc3Qta2V5LTAxMjM0NTY3ODk=";

/// Everything that the process emits is looked through: its log at the highest level, its metrics, the statuses of
/// its policies and all events.
pub(crate) async fn nowhere(world: Arc<Evaluator>) -> Result<()> {
    for name in [POLICIES, AT] {
        namespace(&world, name).await?;
    }
    world.apply(SOURCE).await?;
    let keys = format!(
        "{{apiVersion: v1, kind: Secret, metadata: {{name: policy-encryption-key, namespace: {POLICIES}}}, data: {{key: {KEY}}}}}"
    );
    world.apply(&keys).await?;
    let mut controller = Controller::start(world.plane(), POLICIES, &["--log-level=9"]).await?;
    let policies = apply(&world).await?;
    // Somebody changes what came from the Secret, so that there are differences to report.
    for (kind, name) in [("ConfigMap", "copy"), ("Secret", "copy")] {
        let field = if kind == "Secret" {
            "stringData"
        } else {
            "data"
        };
        let drift = serde_json::json!({ field: { "password": "hunter3-of-the-drift" } });
        world.patch("v1", kind, Some(AT), name, drift).await?;
    }
    for (policy, compliance) in &policies {
        policy.is(compliance).await?;
    }
    let verdict = look(&world, &controller, &policies).await;
    let verdict = controller.with_log(verdict);
    controller.stop().await?;
    verdict
}

const READ: &str = r#"{{ fromSecret "secrets" "source" "password" }}"#;
const PLAIN: &str = r#"{{ fromSecret "secrets" "source" "password" | base64dec }}"#;

fn map(name: &str, value: &str) -> String {
    format!(
        "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, namespace: {AT}}}, data: {{password: '{value}'}}}}"
    )
}

fn copy() -> String {
    let data = r#"{{ copySecretData "secrets" "source" }}"#;
    format!(
        "{{apiVersion: v1, kind: Secret, metadata: {{name: copy, namespace: {AT}}}, data: '{data}'}}"
    )
}

/// A policy's name, spec and verdict.
type Case = (&'static str, String, &'static str);

/// Secrets are copied, compared and spoken of.
fn uses() -> Vec<Case> {
    let (plain, copy) = (map("copy", PLAIN), copy());
    let looks = [("musthave", plain.as_str()), ("musthave", &copy)];
    let other = map("copy", READ);
    let logs = spec("inform", &[("musthave", &other)]);
    let logs = logs.replace("- complianceType", "- recordDiff: Log\n  complianceType");
    let source =
        format!("{{apiVersion: v1, kind: Secret, metadata: {{name: source, namespace: {AT}}}}}");
    let reports = spec("inform", &[("musthave", &source), ("musthave", &other)]);
    let reports = format!("customMessage: {{noncompliant: '{{{{ .Policy }}}}'}}\n{reports}");
    let raw = format!(
        "remediationAction: inform\nobject-templates-raw: |\n  - complianceType: musthave\n    objectDefinition: {plain}\n"
    );
    let only = [("mustonlyhave", other.as_str()), ("mustonlyhave", &copy)];
    vec![
        ("copies", spec("enforce", &looks), "Compliant"),
        ("looks", spec("inform", &looks), "Compliant"),
        ("other", spec("inform", &only), "NonCompliant"),
        ("logs", logs, "NonCompliant"),
        ("says", reports, "NonCompliant"),
        ("raw", raw, "Compliant"),
        (
            "encrypted",
            spec("inform", &[("musthave", &map("copy", BY_KEY))]),
            "NonCompliant",
        ),
    ]
}

/// Errors quote what they are given.
fn mistakes() -> Vec<Case> {
    let plain = r#"fromSecret "secrets" "source" "password" | base64dec"#;
    let label = format!(
        "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: label, namespace: {AT}, labels: {{a: '{PLAIN}/'}}}}}}"
    );
    let number = map(
        "number",
        &format!("{{{{ {plain} | mustToDate \"2006\" }}}}"),
    );
    let has_error = map("fails", &format!("{{{{ fail ({plain}) }}}}"));
    vec![
        (
            "invalid",
            spec("enforce", &[("musthave", &label)]),
            "NonCompliant",
        ),
        (
            "number",
            spec("enforce", &[("musthave", &number)]),
            "NonCompliant",
        ),
        (
            "fails",
            spec("enforce", &[("musthave", &has_error)]),
            "NonCompliant",
        ),
    ]
}

/// Policies that take secrets in every way, and what becomes of them.
async fn apply(world: &Evaluator) -> Result<Vec<(Subject<'_>, &'static str)>> {
    let mut policies = Vec::new();
    for (name, spec, compliance) in uses().into_iter().chain(mistakes()) {
        let policy = Subject::new(world, POLICIES, &format!("secrets-{name}"));
        let vector = ("policy.open-cluster-management.io/encryption-iv", VECTOR);
        let annotations = if name == "encrypted" {
            vec![vector]
        } else {
            Vec::new()
        };
        policy.apply_with(&annotations, &spec).await?;
        policy.is(compliance).await?;
        policies.push((policy, compliance));
    }
    Ok(policies)
}

/// `Raleigh`, encrypted with the key.
const BY_KEY: &str = "$ocm_encrypted:sccn7GCvPFMYYCtjZGUrcA==";

async fn look(
    world: &Evaluator,
    controller: &Controller,
    policies: &[(Subject<'_>, &str)],
) -> Result<()> {
    let mut emitted: Vec<(String, String)> = Vec::new();
    for (policy, _) in policies {
        let status = policy.observed().await?.0.to_string();
        emitted.push((format!("the status of {}", policy.name()), status));
    }
    let events: Api<Event> = Api::all(world.client());
    for event in events.list(&ListParams::default()).await? {
        emitted.push(("an event".to_owned(), serde_json::to_string(&event)?));
    }
    let (_, metrics) = http_get(&controller.metrics_url()).await?;
    emitted.push(("the metrics".to_owned(), metrics));
    emitted.push(("the log".to_owned(), controller.log()));
    for (what, text) in &emitted {
        for plaintext in PLAINTEXTS.iter().chain(&["Raleigh", KEY]) {
            let found = text.find(plaintext).map(|at| {
                let start = text.floor_char_boundary(at.saturating_sub(200));
                text.get(start..text.floor_char_boundary(at + 60))
                    .unwrap_or_default()
            });
            ensure!(found.is_none(), "{what} holds {plaintext}: {found:?}");
        }
    }
    // It was a run worth looking at.
    let log = &emitted.last().context("nothing was emitted")?.1;
    ensure!(
        log.contains("secrets-fails"),
        "the log has no line about the policy"
    );
    ensure!(
        emitted.iter().any(|(_, text)| text.contains("[redacted]")),
        "nothing was taken out"
    );
    Ok(())
}
