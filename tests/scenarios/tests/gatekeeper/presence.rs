//! Gatekeeper is installed while the addon runs, goes, and comes back.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use reeve_scenarios::guarded::{Addon, Guard, Guarded, constraint, plane, template};
use reeve_scenarios::script::{Script, Violation, audit};
use reeve_testkit::{TEMPLATES_CRD, install_gatekeeper_crds, render, templates_crd};

use crate::flows::{CLEAN, made};

const SOON: Duration = Duration::from_mins(1);

pub(crate) async fn comes_and_goes(world: Arc<Guarded>) -> Result<()> {
    let (kind, name) = ("CaseC17j", "case-c17j");
    let bare = plane("bare").await?;
    let mut addon = Addon::start(&world.hub, &bare, "case-c17j-addon", &[]).await?;
    let policy = Guard::new(&world.hub, &bare, &addon.namespace, name);
    policy
        .apply("inform", &[template(kind), constraint(kind, name)])
        .await?;
    let missing = "NonCompliant; template-error; Mapping not found, check if Gatekeeper is installed: the resource \
        version was not found: templates.gatekeeper.sh/v1, Kind=ConstraintTemplate";
    policy.says("casec17j", missing).await?;
    let missing = "NonCompliant; template-error; Mapping not found, check if the required ConstraintTemplate has \
        been deployed: the resource version was not found: constraints.gatekeeper.sh/v1beta1, Kind=CaseC17j";
    policy.says(name, missing).await?;
    policy.hub_says(name, missing).await?;

    // It is installed.
    install_gatekeeper_crds(&bare).await?;
    let _script = Script::start(bare.objects().clone());
    policy.says("casec17j", &made(kind)).await?;
    policy.constraint(kind, name).await?;
    audit(&bare, kind, name, &[]).await?;
    policy.says(name, CLEAN).await?;
    policy.is("Compliant").await?;

    // Its kind goes with all templates, and is there again a moment later; twice.
    for _ in 0..2 {
        let crd = templates_crd()?;
        bare.delete(&render(&crd)?).await?;
        let (api, crd_kind) = ("apiextensions.k8s.io/v1", "CustomResourceDefinition");
        bare.gone(api, crd_kind, None, TEMPLATES_CRD, SOON).await?;
        // Long enough for the addon to see it.
        tokio::time::sleep(Duration::from_secs(1)).await;
        install_gatekeeper_crds(&bare).await?;
        policy.template(kind).await?;
        policy.says("casec17j", &made(kind)).await?;
        let found = [Violation {
            namespace: "cups",
            name: "one",
            message: "no",
        }];
        audit(&bare, kind, name, &found).await?;
        policy
            .says(name, "NonCompliant; warn - no (on ConfigMap cups/one)")
            .await?;
        audit(&bare, kind, name, &[]).await?;
        policy.says(name, CLEAN).await?;
    }
    policy.remove().await?;
    addon.component.stop().await?;
    Ok(())
}
