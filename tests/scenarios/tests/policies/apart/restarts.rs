//! CFG-96: what happens while the controller is away.

use std::sync::Arc;

use anyhow::{Context, Result};
use reeve_scenarios::{Controller, Pair, Subject, namespace, within};

const POLICIES: &str = "case14-policies";

async fn missed(world: &Pair, controller: &mut Controller) -> Result<()> {
    let cluster = &world.managed;
    namespace(cluster, "case14-r1").await?;
    let policy = Subject::new(cluster, POLICIES, "case14-restart");
    policy
        .apply(
            "
remediationAction: enforce
evaluationInterval: {compliant: 30m, noncompliant: 30m}
namespaceSelector: {include: ['case14-r*']}
object-templates:
- complianceType: musthave
  objectDefinition: {apiVersion: v1, kind: ConfigMap, metadata: {name: map}, data: {a: b}}
",
        )
        .await?;
    policy.is("Compliant").await?;
    controller.stop().await?;
    namespace(cluster, "case14-r2").await?;
    controller.restart().await?;
    exists(world, "case14-r2").await?;
    namespace(cluster, "case14-r3").await?;
    exists(world, "case14-r3").await?;
    policy.is("Compliant").await?;
    Ok(())
}

async fn exists(world: &Pair, namespace: &str) -> Result<()> {
    within(format!("the ConfigMap is in {namespace}"), || async {
        world
            .managed
            .get("v1", "ConfigMap", Some(namespace), "map")
            .await?
            .context("it is not")?;
        Ok(())
    })
    .await
}

pub(crate) async fn namespace_while_away(world: Arc<Pair>) -> Result<()> {
    namespace(&world.managed, POLICIES).await?;
    let mut controller = Controller::start(&world.managed, POLICIES, &[]).await?;
    let outcome = missed(&world, &mut controller).await;
    controller.with_log(outcome)
}
