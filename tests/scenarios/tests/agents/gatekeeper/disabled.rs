//! An addon that leaves Gatekeeper's kinds alone.

use std::sync::Arc;

use anyhow::{Result, ensure};
use reeve_scenarios::guarded::{Guarded, addon, constraint, template};
use reeve_scenarios::script::TEMPLATES;

pub(crate) async fn refused(world: Arc<Guarded>) -> Result<()> {
    let (kind, namespace) = ("CaseC19", "case-c19-addon");
    let mut running = addon(
        &world.hub,
        &world.managed,
        namespace,
        &["--disable-gatekeeper-sync"],
    )
    .await?;
    let policy = world.policy_in(namespace, "case-c19");
    policy
        .apply("inform", &[template(kind), constraint(kind, "case-c19")])
        .await?;
    let unsupported = "NonCompliant; template-error; not syncing kind templates.gatekeeper.sh/v1, \
        Kind=ConstraintTemplate because the Gatekeeper integration is disabled";
    policy.hub_reports("casec19", unsupported).await?;
    let unmapped = "NonCompliant; template-error; A Gatekeeper policy-template was provided, but the Gatekeeper \
        integration is disabled: the resource version was not found: ";
    let (group, kind_too) = (
        format!("{unmapped}constraints.gatekeeper.sh/v1beta1, Kind=CaseC19"),
        format!(
            "{unmapped}no matching kind was found: constraints.gatekeeper.sh/v1beta1, Kind=CaseC19"
        ),
    );
    policy
        .reports_one_of("case-c19", &[&group, &kind_too])
        .await?;
    policy.is("NonCompliant").await?;
    let found = world
        .managed
        .get(TEMPLATES, "ConstraintTemplate", None, "casec19")
        .await?;
    ensure!(found.is_none(), "it was made: {found:?}");
    policy.remove().await?;
    running.component().stop().await?;
    Ok(())
}
