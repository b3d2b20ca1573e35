//! Constraints that deny, and nobody who would.

use std::sync::Arc;

use anyhow::Result;
use reeve_scenarios::guarded::{Guarded, constraint, template};
use reeve_scenarios::script::{Violation, audit};
use reeve_testkit::WEBHOOK;

use crate::flows::CLEAN;

const OFF: &str = "NonCompliant; The Gatekeeper validating webhook is disabled but the constraint's \
    spec.enforcementAction is deny. ";

pub(crate) async fn disabled(world: Arc<Guarded>) -> Result<()> {
    let (kind, name) = ("CaseC17i", "case-c17i");
    let policy = world.policy(name);
    let alone = world.webhook().await;
    policy
        .apply("enforce", &[template(kind), constraint(kind, name)])
        .await?;
    policy.acts(kind, name, "deny").await?;
    let found = [Violation {
        namespace: "cups",
        name: "one",
        message: "no",
    }];
    audit(&world.managed, kind, name, &found).await?;
    policy
        .says(name, "NonCompliant; deny - no (on ConfigMap cups/one)")
        .await?;
    world.name_webhook("not-validation.gatekeeper.sh").await?;
    audit(&world.managed, kind, name, &found).await?;
    policy
        .says(name, &format!("{OFF}deny - no (on ConfigMap cups/one)"))
        .await?;
    audit(&world.managed, kind, name, &[]).await?;
    policy
        .says(name, &format!("{OFF}The constraint has no violations"))
        .await?;
    policy.is("NonCompliant").await?;
    // A warning needs no webhook.
    policy
        .apply("inform", &[template(kind), constraint(kind, name)])
        .await?;
    policy.acts(kind, name, "warn").await?;
    audit(&world.managed, kind, name, &[]).await?;
    policy.says(name, CLEAN).await?;
    world.name_webhook(WEBHOOK).await?;
    drop(alone);
    policy.remove().await
}

pub(crate) async fn watched(world: Arc<Guarded>) -> Result<()> {
    let (kind, name) = ("RoughEdge37", "rough-edge-37");
    let policy = world.policy(name);
    let alone = world.webhook().await;
    policy
        .apply("enforce", &[template(kind), constraint(kind, name)])
        .await?;
    policy.acts(kind, name, "deny").await?;
    audit(&world.managed, kind, name, &[]).await?;
    policy.says(name, CLEAN).await?;
    // Gatekeeper audits no more: only the webhook changes.
    for _ in 0..2 {
        world.name_webhook("not-validation.gatekeeper.sh").await?;
        policy
            .says(name, &format!("{OFF}The constraint has no violations"))
            .await?;
        world.name_webhook(WEBHOOK).await?;
        policy.says(name, CLEAN).await?;
    }
    drop(alone);
    policy.remove().await
}
