//! Gatekeeper is installed while the addon runs, goes, and comes back.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use reeve_scenarios::guarded::{Guard, Guarded, addon, constraint, plane, template};
use reeve_scenarios::script::{CONSTRAINTS, Script, Violation, audit};
use reeve_scenarios::{same, steadily};
use reeve_testkit::{SOON, TEMPLATES_CRD, install_gatekeeper_crds, render, templates_crd};

use crate::gatekeeper::flows::{CLEAN, made};

const NAMESPACE: &str = "case-c17j-addon";

pub(crate) async fn comes_and_goes(world: Arc<Guarded>) -> Result<()> {
    let (kind, name) = ("CaseC17j", "case-c17j");
    let bare = plane("bare").await?;
    let mut running = addon(&world.hub, &bare, NAMESPACE, &[]).await?;
    let policy = Guard::new(&world.hub, &bare, NAMESPACE, name);
    policy
        .apply("inform", &[template(kind), constraint(kind, name)])
        .await?;
    let missing = "NonCompliant; template-error; Mapping not found, check if Gatekeeper is installed: the resource \
        version was not found: templates.gatekeeper.sh/v1, Kind=ConstraintTemplate";
    policy.reports("casec17j", missing).await?;
    let missing = "NonCompliant; template-error; Mapping not found, check if the required ConstraintTemplate has \
        been deployed: the resource version was not found: constraints.gatekeeper.sh/v1beta1, Kind=CaseC17j";
    policy.reports(name, missing).await?;
    policy.hub_reports(name, missing).await?;

    // It is installed.
    install_gatekeeper_crds(&bare).await?;
    let _script = Script::start(bare.objects().clone());
    policy.reports("casec17j", &made(kind)).await?;
    policy.constraint(kind, name).await?;
    audit(&bare, kind, name, &[]).await?;
    policy.reports(name, CLEAN).await?;
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
        policy.reports("casec17j", &made(kind)).await?;
        let found = [Violation {
            namespace: "cups",
            name: "one",
            message: "no",
        }];
        audit(&bare, kind, name, &found).await?;
        policy
            .reports(name, "NonCompliant; warn - no (on ConfigMap cups/one)")
            .await?;
        audit(&bare, kind, name, &[]).await?;
        policy.reports(name, CLEAN).await?;
    }
    policy.remove().await?;
    running.component().stop().await?;
    Ok(())
}

pub(crate) async fn constraint_first(world: Arc<Guarded>) -> Result<()> {
    let (kind, name) = ("RoughEdge33", "rough-edge-33");
    let policy = world.policy(name);
    policy.apply("inform", &[constraint(kind, name)]).await?;
    let missing = "NonCompliant; template-error; Mapping not found, check if the required ConstraintTemplate has \
        been deployed: the resource version was not found: ";
    let (group, kind_too) = (
        format!("{missing}constraints.gatekeeper.sh/v1beta1, Kind={kind}"),
        format!(
            "{missing}no matching kind was found: constraints.gatekeeper.sh/v1beta1, Kind={kind}"
        ),
    );
    policy.reports_one_of(name, &[&group, &kind_too]).await?;
    // So long that trying again and again would come too late.
    tokio::time::sleep(Duration::from_secs(3)).await;
    let needed = world.policy("rough-edge-33-needed");
    needed.apply("inform", &[template(kind)]).await?;
    needed.reports("roughedge33", &made(kind)).await?;
    let asked = Instant::now();
    audit(&world.managed, kind, name, &[]).await?;
    let waited = asked.elapsed();
    ensure!(
        waited < Duration::from_secs(5),
        "the constraint came after {waited:?}"
    );
    policy.reports(name, CLEAN).await?;
    policy.remove().await?;
    needed.remove().await
}

pub(crate) async fn restarts(world: Arc<Guarded>) -> Result<()> {
    let (kind, name, namespace) = ("CaseC17n", "case-c17n", "case-c17n-addon");
    let mut running = addon(&world.hub, &world.managed, namespace, &[]).await?;
    let policy = world.policy_in(namespace, name);
    policy
        .apply("inform", &[template(kind), constraint(kind, name)])
        .await?;
    let found = [Violation {
        namespace: "cups",
        name: "one",
        message: "no",
    }];
    audit(&world.managed, kind, name, &found).await?;
    let bad = "NonCompliant; warn - no (on ConfigMap cups/one)";
    policy.hub_reports(name, bad).await?;
    policy.hub_reports("casec17n", &made(kind)).await?;
    let before = (
        policy.reported(name).await?,
        policy.reported("casec17n").await?,
    );
    running.component().restart()?;
    let mut running = running.ready().await?;
    steadily("nothing is reported twice", || async {
        let now = (
            policy.reported(name).await?,
            policy.reported("casec17n").await?,
        );
        same("the reports", &now, &before)
    })
    .await?;
    // What happened meanwhile is reported.
    running.component().stop().await?;
    audit(&world.managed, kind, name, &[]).await?;
    running.component().restart()?;
    policy.hub_reports(name, CLEAN).await?;
    policy.remove().await?;
    running.component().stop().await?;
    Ok(())
}

pub(crate) async fn on_hub(world: Arc<Guarded>) -> Result<()> {
    let (kind, name, namespace) = ("CaseC17o", "case-c17o", "case-c17o-addon");
    let flags = ["--on-multicluster-hub"];
    let mut running = addon(&world.managed, &world.managed, namespace, &flags).await?;
    let policy = Guard::new(&world.managed, &world.managed, namespace, name);
    policy
        .apply("enforce", &[template(kind), constraint(kind, name)])
        .await?;
    policy.wait_for_remediation(kind, name, "deny").await?;
    let _alone = world.webhook().await;
    let found = [Violation {
        namespace: "",
        name: "cups",
        message: "no",
    }];
    audit(&world.managed, kind, name, &found).await?;
    policy
        .reports(name, "NonCompliant; deny - no (on Namespace cups)")
        .await?;
    policy.is("NonCompliant").await?;
    policy.remove().await?;
    policy.lost(CONSTRAINTS, kind, name).await?;
    running.component().stop().await?;
    Ok(())
}
