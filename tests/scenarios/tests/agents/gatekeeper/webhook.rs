//! Constraints that deny, and nobody who would.

use std::sync::Arc;

use anyhow::Result;
use reeve_scenarios::guarded::{Guard, Guarded, addon, constraint, name_webhook, plane, template};
use reeve_scenarios::script::{Script, Violation, audit};
use reeve_testkit::{WEBHOOK, install_gatekeeper_crds};

use crate::gatekeeper::flows::CLEAN;

const OFF: &str = "NonCompliant; The Gatekeeper validating webhook is disabled but the constraint's \
    spec.enforcementAction is deny. ";

pub(crate) async fn disabled(world: Arc<Guarded>) -> Result<()> {
    let (kind, name) = ("CaseC17i", "case-c17i");
    let policy = world.policy(name);
    let alone = world.webhook().await;
    policy
        .apply("enforce", &[template(kind), constraint(kind, name)])
        .await?;
    policy.wait_for_remediation(kind, name, "deny").await?;
    let found = [Violation {
        namespace: "cups",
        name: "one",
        message: "no",
    }];
    audit(&world.managed, kind, name, &found).await?;
    policy
        .reports(name, "NonCompliant; deny - no (on ConfigMap cups/one)")
        .await?;
    name_webhook(&world.managed, "not-validation.gatekeeper.sh").await?;
    audit(&world.managed, kind, name, &found).await?;
    policy
        .reports(name, &format!("{OFF}deny - no (on ConfigMap cups/one)"))
        .await?;
    audit(&world.managed, kind, name, &[]).await?;
    policy
        .reports(name, &format!("{OFF}The constraint has no violations"))
        .await?;
    policy.is("NonCompliant").await?;
    // A warning needs no webhook.
    policy
        .apply("inform", &[template(kind), constraint(kind, name)])
        .await?;
    policy.wait_for_remediation(kind, name, "warn").await?;
    audit(&world.managed, kind, name, &[]).await?;
    policy.reports(name, CLEAN).await?;
    name_webhook(&world.managed, WEBHOOK).await?;
    drop(alone);
    policy.remove().await
}

pub(crate) async fn watched(world: Arc<Guarded>) -> Result<()> {
    let (kind, name, namespace) = ("RoughEdge37", "rough-edge-37", "rough-edge-37-addon");
    // On a cluster of its own: whatever comes and goes there makes the addon look at all constraints.
    let quiet = plane("quiet").await?;
    install_gatekeeper_crds(&quiet).await?;
    name_webhook(&quiet, WEBHOOK).await?;
    let _script = Script::start(quiet.objects().clone());
    let mut running = addon(&world.hub, &quiet, namespace, &[]).await?;
    let policy = Guard::new(&world.hub, &quiet, namespace, name);
    policy
        .apply("enforce", &[template(kind), constraint(kind, name)])
        .await?;
    policy.wait_for_remediation(kind, name, "deny").await?;
    audit(&quiet, kind, name, &[]).await?;
    policy.reports(name, CLEAN).await?;
    // Gatekeeper audits no more: only the webhook changes.
    for _ in 0..2 {
        name_webhook(&quiet, "not-validation.gatekeeper.sh").await?;
        policy
            .reports(name, &format!("{OFF}The constraint has no violations"))
            .await?;
        name_webhook(&quiet, WEBHOOK).await?;
        policy.reports(name, CLEAN).await?;
    }
    policy.remove().await?;
    running.component().stop().await?;
    Ok(())
}
