//! Templates that Gatekeeper does not take, or has not taken yet.

use std::sync::Arc;

use anyhow::Result;
use reeve_scenarios::guarded::{Guarded, annotated, constraint, template as template_of};
use reeve_scenarios::script::{BROKEN, IGNORED, TEMPLATES, template_status};
use reeve_scenarios::{same, steadily};
use serde_json::json;

use crate::gatekeeper::flows::{made, updated};

fn mistaken(name: &str) -> String {
    format!(
        "NonCompliant; template-error; Failed to create Gatekeeper ConstraintTemplate. \
         Check the status of {name}."
    )
}

pub(crate) async fn template(world: Arc<Guarded>) -> Result<()> {
    let kind = "CaseC17h";
    let policy = world.policy("case-c17h");
    policy
        .apply(
            "inform",
            &[annotated(kind, BROKEN), constraint(kind, "case-c17h")],
        )
        .await?;
    policy.reports("casec17h", &mistaken("casec17h")).await?;
    policy.is("NonCompliant").await?;
    let missing = "NonCompliant; template-error; Mapping not found, check if the required ConstraintTemplate has \
        been deployed: the resource version was not found: ";
    let (group, kind_too) = (
        format!("{missing}constraints.gatekeeper.sh/v1beta1, Kind=CaseC17h"),
        format!(
            "{missing}no matching kind was found: constraints.gatekeeper.sh/v1beta1, Kind=CaseC17h"
        ),
    );
    policy
        .reports_one_of("case-c17h", &[&group, &kind_too])
        .await?;
    policy
        .hub_reports("casec17h", &mistaken("casec17h"))
        .await?;
    // The mistake is corrected, and Gatekeeper has another look.
    policy
        .apply(
            "inform",
            &[
                annotated(kind, "example.com/fixed"),
                constraint(kind, "case-c17h"),
            ],
        )
        .await?;
    policy
        .reports_one_of("casec17h", &[&made(kind), &updated(kind)])
        .await?;
    policy.constraint(kind, "case-c17h").await?;
    policy.remove().await
}

pub(crate) async fn not_yet(world: Arc<Guarded>) -> Result<()> {
    let kind = "RoughEdge21a";
    let policy = world.policy("rough-edge-21a");
    policy.apply("inform", &[template_of(kind)]).await?;
    policy.reports("roughedge21a", &made(kind)).await?;
    // What has been observed once is not observed again.
    steadily("it is reported once", || async {
        same(
            "the reports",
            policy.reported("roughedge21a").await?,
            vec![made(kind)],
        )
    })
    .await?;
    policy.remove().await
}

pub(crate) async fn never(world: Arc<Guarded>) -> Result<()> {
    let kind = "RoughEdge21b";
    let policy = world.policy("rough-edge-21b");
    policy.apply("inform", &[annotated(kind, IGNORED)]).await?;
    let found = policy.template(kind).await?;
    let missing = "NonCompliant; template-error; Failed to retrieve status.created from ConstraintTemplate \
        roughedge21b: <nil>";
    policy.reports("roughedge21b", missing).await?;
    template_status(&world.managed, &found, true).await?;
    policy.reports("roughedge21b", &made(kind)).await?;
    template_status(&world.managed, &found, false).await?;
    policy
        .reports("roughedge21b", &mistaken("roughedge21b"))
        .await?;
    same(
        "the history",
        policy.history("roughedge21b").await?,
        vec![mistaken("roughedge21b"), made(kind), missing.to_owned()],
    )?;
    policy.remove().await
}

pub(crate) async fn foreign(world: Arc<Guarded>) -> Result<()> {
    let kind = "RoughEdge21c";
    world.managed.apply(&template_of(kind).to_string()).await?;
    let policy = world.policy("rough-edge-21c");
    policy.apply("inform", &[template_of(kind)]).await?;
    let taken = "NonCompliant; template-error; Template name must be unique. Policy template with kind: \
        ConstraintTemplate name: roughedge21c already exists outside of a Policy";
    policy.reports("roughedge21c", taken).await?;
    steadily("only that is reported", || async {
        same(
            "the reports",
            policy.reported("roughedge21c").await?,
            vec![taken],
        )
    })
    .await?;
    policy.remove().await?;
    policy.template(kind).await?;
    world.managed.delete(&template_of(kind).to_string()).await
}

pub(crate) async fn unread_template(world: Arc<Guarded>) -> Result<()> {
    let kind = "RoughEdge21d";
    let policy = world.policy("rough-edge-21d");
    policy.apply("inform", &[annotated(kind, IGNORED)]).await?;
    let found = policy.template(kind).await?;
    // What Gatekeeper writes before it has read the template.
    let status = json!({ "status": { "created": false } });
    let (api, of) = (TEMPLATES, "ConstraintTemplate");
    world
        .managed
        .patch_status(api, of, None, "roughedge21d", status)
        .await?;
    steadily("nothing is reported", || async {
        same(
            "the reports",
            policy.reported("roughedge21d").await?,
            Vec::<String>::new(),
        )
    })
    .await?;
    template_status(&world.managed, &found, true).await?;
    policy.reports("roughedge21d", &made(kind)).await?;
    same(
        "the reports",
        policy.reported("roughedge21d").await?,
        vec![made(kind)],
    )?;
    policy.remove().await
}
