//! What is cluster-scoped has no owner reference: what is deleted, and what is not.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use reeve_scenarios::guarded::{Guard, Guarded, NAMESPACES, annotated, constraint, template};
use reeve_scenarios::script::{CONSTRAINTS, IGNORED, TEMPLATES, Violation, audit};
use reeve_scenarios::{same, steadily, within};
use serde_json::json;

use crate::gatekeeper::flows::{CLEAN, made};

const FINALIZER: &str = "policy.open-cluster-management.io/cleanup-cluster-scoped-policies";

async fn has_finalizer(policy: &Guard<'_>) -> Result<()> {
    let found = policy.read().await?;
    let finalizers = found.metadata.finalizers.unwrap_or_default();
    same("the finalizers", finalizers, vec![FINALIZER])
}

pub(crate) async fn foreign(world: Arc<Guarded>) -> Result<()> {
    let (ours, theirs) = ("RoughEdge02Ours", "RoughEdge02Theirs");
    world.managed.apply(&template(theirs).to_string()).await?;
    let policy = world.policy("rough-edge-02");
    policy
        .apply("inform", &[template(ours), template(theirs)])
        .await?;
    policy.reports("roughedge02ours", &made(ours)).await?;
    let taken = "NonCompliant; template-error; Template name must be unique. Policy template with kind: \
        ConstraintTemplate name: roughedge02theirs already exists outside of a Policy";
    policy.reports("roughedge02theirs", taken).await?;
    within("there is something to clean up", || has_finalizer(&policy)).await?;
    policy.remove().await?;
    policy
        .lost(TEMPLATES, "ConstraintTemplate", "roughedge02ours")
        .await?;
    steadily("the foreign template is there", || async {
        let name = "roughedge02theirs";
        let found = world
            .managed
            .get(TEMPLATES, "ConstraintTemplate", None, name)
            .await?;
        ensure!(
            found
                .context("it is gone")?
                .metadata
                .deletion_timestamp
                .is_none(),
            "it is going"
        );
        Ok(())
    })
    .await?;
    world.managed.delete(&template(theirs).to_string()).await
}

pub(crate) async fn other_kind(world: Arc<Guarded>) -> Result<()> {
    let (old, new, name) = ("RoughEdge03aOld", "RoughEdge03aNew", "rough-edge-03a");
    let policy = world.policy(name);
    let templates = [template(old), template(new)];
    policy
        .apply(
            "inform",
            &[&templates[..], &[constraint(old, name)]].concat(),
        )
        .await?;
    audit(&world.managed, old, name, &[]).await?;
    policy.reports(name, CLEAN).await?;
    policy
        .apply(
            "inform",
            &[&templates[..], &[constraint(new, name)]].concat(),
        )
        .await?;
    policy.constraint(new, name).await?;
    policy.lost(CONSTRAINTS, old, name).await?;
    policy.remove().await?;
    policy.lost(CONSTRAINTS, new, name).await
}

pub(crate) async fn two_addons(world: Arc<Guarded>) -> Result<()> {
    let name = "rough-edge-03b";
    let policies = NAMESPACES.map(|namespace| world.policy_in(namespace, name));
    let kinds = ["RoughEdge03bFirst", "RoughEdge03bSecond"];
    let names = ["rough-edge-03b-first", "rough-edge-03b-second"];
    for (index, policy) in policies.iter().enumerate() {
        let (kind, name) = (kinds[index], names[index]);
        policy
            .apply("inform", &[template(kind), constraint(kind, name)])
            .await?;
        audit(&world.managed, kind, name, &[]).await?;
        policy.reports(name, CLEAN).await?;
    }
    let uid = |kind: &'static str, name: &'static str| {
        let policy = &policies[0];
        async move { anyhow::Ok(policy.constraint(kind, name).await?.metadata.uid) }
    };
    let before = (
        uid(kinds[0], names[0]).await?,
        uid(kinds[1], names[1]).await?,
    );
    // Both look again, and clean up.
    for (index, policy) in policies.iter().enumerate() {
        policy
            .apply(
                "enforce",
                &[
                    template(kinds[index]),
                    constraint(kinds[index], names[index]),
                ],
            )
            .await?;
        policy
            .wait_for_remediation(kinds[index], names[index], "deny")
            .await?;
    }
    steadily("neither prunes the other's", || async {
        let now = (
            uid(kinds[0], names[0]).await?,
            uid(kinds[1], names[1]).await?,
        );
        same("the constraints", &now, &before)
    })
    .await?;
    policies[1].remove().await?;
    policies[1].lost(CONSTRAINTS, kinds[1], names[1]).await?;
    steadily("the first one's is there", || async {
        same(
            "the constraint",
            uid(kinds[0], names[0]).await?,
            before.0.clone(),
        )
    })
    .await?;
    policies[0].remove().await?;
    policies[0].lost(CONSTRAINTS, kinds[0], names[0]).await
}

pub(crate) async fn failed_update(world: Arc<Guarded>) -> Result<()> {
    let (kind, name) = ("RoughEdge05a", "rough-edge-05a");
    let needed = world.policy("rough-edge-05a-needed");
    needed.apply("inform", &[template(kind)]).await?;
    needed.reports("roughedge05a", &made(kind)).await?;
    let policy = world.policy(name);
    policy.apply("inform", &[constraint(kind, name)]).await?;
    policy.constraint(kind, name).await?;
    within("there is something to clean up", || has_finalizer(&policy)).await?;
    let mut refused = constraint(kind, name);
    refused["spec"]["match"] = json!("everything");
    policy.apply("inform", &[refused]).await?;
    within("the change is refused", || async {
        let history = policy.history(name).await?;
        let newest = history.first().map_or("", String::as_str);
        let refusal =
            format!("NonCompliant; template-error; Failed to update policy template {name}: ");
        ensure!(newest.starts_with(&refusal), "the history is {history:#?}");
        Ok(())
    })
    .await?;
    steadily("there is something to clean up", || has_finalizer(&policy)).await?;
    policy.remove().await?;
    policy.lost(CONSTRAINTS, kind, name).await?;
    needed.remove().await
}

pub(crate) async fn finalizer_first(world: Arc<Guarded>) -> Result<()> {
    let kind = "RoughEdge05b";
    let policy = world.policy("rough-edge-05b");
    policy.apply("inform", &[annotated(kind, IGNORED)]).await?;
    // Gatekeeper never reports that it has read it, so nothing has succeeded.
    policy.template(kind).await?;
    has_finalizer(&policy).await?;
    policy.remove().await?;
    policy
        .lost(TEMPLATES, "ConstraintTemplate", "roughedge05b")
        .await
}

pub(crate) async fn of_another_policy(world: Arc<Guarded>) -> Result<()> {
    let (kind, name) = ("CaseC17p", "case-c17p-constraint");
    let first = world.policy("case-c17p-first");
    first
        .apply("inform", &[template(kind), constraint(kind, name)])
        .await?;
    audit(&world.managed, kind, name, &[]).await?;
    first.reports(name, CLEAN).await?;
    let second = world.policy("case-c17p-second");
    second.apply("enforce", &[constraint(kind, name)]).await?;
    let taken = "NonCompliant; template-error; Template name must be unique. Policy template with kind: CaseC17p \
        name: case-c17p-constraint already exists in policy case-c17p-first";
    second.reports(name, taken).await?;
    let found = [Violation {
        namespace: "cups",
        name: "one",
        message: "no",
    }];
    audit(&world.managed, kind, name, &found).await?;
    first
        .reports(name, "NonCompliant; warn - no (on ConfigMap cups/one)")
        .await?;
    steadily("the audit is not the second one's", || async {
        same("the reports", second.reported(name).await?, vec![taken])
    })
    .await?;
    second.remove().await?;
    first.wait_for_remediation(kind, name, "warn").await?;
    first.remove().await?;
    first.lost(CONSTRAINTS, kind, name).await
}
