//! Templates and constraints go to the cluster, verdicts come back.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use kube::ResourceExt as _;
use reeve_scenarios::guarded::{Guarded, annotated, constraint, template};
use reeve_scenarios::script::{CONSTRAINTS, TEMPLATES, Violation, audit};
use reeve_scenarios::{same, steadily};
use reeve_testkit::Object;
use serde_json::json;

pub(crate) const CLEAN: &str = "Compliant; The constraint has no violations";

pub(crate) fn made(kind: &str) -> String {
    let name = kind.to_lowercase();
    format!("Compliant; ConstraintTemplate {name} was created successfully")
}

pub(crate) fn updated(kind: &str) -> String {
    let name = kind.to_lowercase();
    format!("Compliant; ConstraintTemplate {name} was updated successfully")
}

pub(crate) async fn shared(world: Arc<Guarded>) -> Result<()> {
    let kind = "CaseC17a";
    let first = world.policy("case-c17a-first");
    let second = world.policy("case-c17a-second");
    first
        .apply("inform", &[template(kind), constraint(kind, "case-c17a-1")])
        .await?;
    // Its kind is not of its own making: it is there first, or else that would be reported.
    first.constraint(kind, "case-c17a-1").await?;
    second
        .apply("Inform", &[constraint(kind, "case-c17a-2")])
        .await?;
    for (policy, name) in [(&first, "case-c17a-1"), (&second, "case-c17a-2")] {
        let found = policy.constraint(kind, name).await?;
        same(
            "the action",
            &found.data["spec"]["enforcementAction"],
            &json!("warn"),
        )?;
        let spec = &found.data["spec"]["parameters"]["forbidden"];
        same("the parameter", spec, &json!("tea"))?;
        ensure!(
            found.metadata.owner_references.is_none(),
            "a cluster-scoped object has no owner"
        );
    }
    let labels = first.template(kind).await?.labels().clone();
    for (label, value) in [
        (
            "policy.open-cluster-management.io/policy",
            "case-c17a-first",
        ),
        ("policy.open-cluster-management.io/cluster-name", "guarded"),
        (
            "policy.open-cluster-management.io/cluster-namespace",
            "guarded",
        ),
    ] {
        same(label, labels.get(label).map(String::as_str), Some(value))?;
    }
    first.reports("casec17a", &made(kind)).await?;
    // Not audited yet.
    same(
        "the second",
        second.history("case-c17a-2").await?,
        Vec::<String>::new(),
    )?;
    audit(&world.managed, kind, "case-c17a-1", &[]).await?;
    audit(&world.managed, kind, "case-c17a-2", &[]).await?;
    first.reports("case-c17a-1", CLEAN).await?;
    second.reports("case-c17a-2", CLEAN).await?;
    first.is("Compliant").await?;
    first.hub_reports("case-c17a-1", CLEAN).await?;
    first.hub_reports("casec17a", &made(kind)).await?;

    second.delete().await?;
    second.lost(CONSTRAINTS, kind, "case-c17a-2").await?;
    first.constraint(kind, "case-c17a-1").await?;
    first.remove().await?;
    first.lost(CONSTRAINTS, kind, "case-c17a-1").await?;
    first
        .lost(TEMPLATES, "ConstraintTemplate", "casec17a")
        .await
}

pub(crate) async fn violations(world: Arc<Guarded>) -> Result<()> {
    let (kind, name) = ("CaseC17b", "case-c17b");
    let policy = world.policy(name);
    policy
        .apply("inform", &[template(kind), constraint(kind, name)])
        .await?;
    audit(&world.managed, kind, name, &[]).await?;
    policy.reports(name, CLEAN).await?;
    let found = [
        Violation {
            namespace: "cups",
            name: "two",
            message: "the key tea is forbidden",
        },
        Violation {
            namespace: "cups",
            name: "one",
            message: "the key tea is forbidden",
        },
        Violation {
            namespace: "",
            name: "cups",
            message: "50% of it; all",
        },
    ];
    audit(&world.managed, kind, name, &found).await?;
    let want = "NonCompliant; warn - the key tea is forbidden (on ConfigMap cups/two); \
        warn - the key tea is forbidden (on ConfigMap cups/one); warn - 50% of it; all (on Namespace cups)";
    policy.reports(name, want).await?;
    policy.is("NonCompliant").await?;
    policy.hub_reports(name, want).await?;
    // Every audit writes the time anew.
    for _ in 0..5 {
        audit(&world.managed, kind, name, &found).await?;
    }
    audit(&world.managed, kind, name, &found[..1]).await?;
    let one = "NonCompliant; warn - the key tea is forbidden (on ConfigMap cups/two)";
    policy.reports(name, one).await?;
    audit(&world.managed, kind, name, &[]).await?;
    policy.reports(name, CLEAN).await?;
    let mut history = policy.history(name).await?;
    history.retain(|message| !message.contains("template-error"));
    same("the history", history, vec![CLEAN, one, want, CLEAN])?;
    policy.remove().await
}

pub(crate) async fn enforced(world: Arc<Guarded>) -> Result<()> {
    let (kind, name) = ("CaseC17c", "case-c17c");
    let policy = world.policy(name);
    let _alone = world.webhook().await;
    let templates = [template(kind), constraint(kind, name)];
    policy.apply("", &templates).await?;
    policy.wait_for_remediation(kind, name, "dryrun").await?;
    policy.apply("inform", &templates).await?;
    policy.wait_for_remediation(kind, name, "warn").await?;
    policy.apply("Enforce", &templates).await?;
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
    // A change by another user is reverted.
    let other = json!({ "spec": { "enforcementAction": "dryrun" } });
    world
        .managed
        .patch(CONSTRAINTS, kind, None, name, other)
        .await?;
    policy.wait_for_remediation(kind, name, "deny").await?;
    audit(&world.managed, kind, name, &[]).await?;
    policy.reports(name, CLEAN).await?;
    policy.remove().await
}

pub(crate) async fn added_and_removed(world: Arc<Guarded>) -> Result<()> {
    let (stays, comes) = ("CaseC17dStays", "CaseC17dComes");
    let policy = world.policy("case-c17d");
    let base = [template(stays), constraint(stays, "case-c17d-stays")];
    policy.apply("inform", &base).await?;
    audit(&world.managed, stays, "case-c17d-stays", &[]).await?;
    policy.reports("case-c17d-stays", CLEAN).await?;
    let more = [
        &base[..],
        &[template(comes), constraint(comes, "case-c17d-comes")],
    ]
    .concat();
    policy.apply("inform", &more).await?;
    policy.template(comes).await?;
    audit(&world.managed, comes, "case-c17d-comes", &[]).await?;
    policy.reports("case-c17d-comes", CLEAN).await?;
    policy.is("Compliant").await?;

    policy.apply("inform", &base).await?;
    policy.lost(CONSTRAINTS, comes, "case-c17d-comes").await?;
    policy
        .lost(TEMPLATES, "ConstraintTemplate", "casec17dcomes")
        .await?;
    policy.constraint(stays, "case-c17d-stays").await?;
    policy.template(stays).await?;
    policy.is("Compliant").await?;
    policy.remove().await?;
    policy.lost(CONSTRAINTS, stays, "case-c17d-stays").await?;
    policy
        .lost(TEMPLATES, "ConstraintTemplate", "casec17dstays")
        .await
}

pub(crate) async fn notes(world: Arc<Guarded>) -> Result<()> {
    let (kind, name) = ("CaseC17e", "case-c17e");
    let policy = world.policy(name);
    // Annotations of the policy's own, beside what Gatekeeper notes.
    let mut first = annotated(kind, "example.com/title");
    // An old version of the API, whose defaults differ.
    first["apiVersion"] = json!("templates.gatekeeper.sh/v1beta1");
    let mut second = constraint(kind, name);
    // What Gatekeeper's definition fills in is no difference.
    second["spec"]
        .as_object_mut()
        .context("no spec")?
        .remove("enforcementAction");
    let _alone = world.webhook().await;
    policy.apply("", &[first, second]).await?;
    audit(&world.managed, kind, name, &[]).await?;
    policy.reports(name, CLEAN).await?;
    policy.reports("casec17e", &made(kind)).await?;
    let before = policy.template(kind).await?.metadata.generation;
    steadily("the histories are short", || async {
        audit(&world.managed, kind, name, &[]).await?;
        let note = json!({ "metadata": { "annotations": {
            "gatekeeper.sh/block-vapb-generation-until": jiff::Timestamp::now().to_string()
        } } });
        world
            .managed
            .patch(TEMPLATES, "ConstraintTemplate", None, "casec17e", note)
            .await?;
        for template in ["casec17e", name] {
            let history = policy.history(template).await?;
            ensure!(
                history.len() < 5,
                "the history of {template} is {history:#?}"
            );
        }
        Ok(())
    })
    .await?;
    let mut reported = policy.reported(name).await?;
    reported.retain(|message| !message.contains("template-error"));
    same("the constraint's events", reported, vec![CLEAN])?;
    let found = policy.template(kind).await?;
    same(
        "the template's generation",
        found.metadata.generation,
        before,
    )?;
    let note = "gatekeeper.sh/block-vapb-generation-until";
    ensure!(
        found.annotations().contains_key(note),
        "Gatekeeper's note is gone"
    );
    policy.remove().await
}

pub(crate) async fn events(world: Arc<Guarded>) -> Result<()> {
    let (kind, name) = ("CaseC17m", "case-c17m");
    let policy = world.policy(name);
    policy
        .apply("inform", &[template(kind), constraint(kind, name)])
        .await?;
    let found = [Violation {
        namespace: "cups",
        name: "one",
        message: "no",
    }];
    audit(&world.managed, kind, name, &found).await?;
    policy
        .reports(name, "NonCompliant; warn - no (on ConfigMap cups/one)")
        .await?;
    audit(&world.managed, kind, name, &[]).await?;
    policy.reports(name, CLEAN).await?;
    let constraint = policy.constraint(kind, name).await?;
    let reason = format!("policy: {name}");
    let all = policy.events().await?;
    // Template sync may have observed something of a slow start.
    let relay = json!("gatekeeper-constraint-status-sync");
    let is_relays = |event: &&Object| event.data["source"]["component"] == relay;
    let all: Vec<&Object> = all.iter().filter(is_relays).collect();
    same("the events", all.len(), 2)?;
    for (event, kind_of_event) in all.iter().zip(["Warning", "Normal"]) {
        let data = &event.data;
        same("the type", &data["type"], &json!(kind_of_event))?;
        same(
            "the action",
            &data["action"],
            &json!("ComplianceStateUpdate"),
        )?;
        same("the reason", &data["reason"], &json!(reason))?;
        same("the reporter", &data["reportingComponent"], &relay)?;
        let related = json!({
            "apiVersion": CONSTRAINTS, "kind": kind, "name": name, "uid": constraint.uid()
        });
        same("what it is about", &data["related"], &related)?;
        same("the count", &data["count"], &json!(1))?;
        ensure!(
            event.name_any().starts_with(&format!("{name}.")),
            "{}",
            event.name_any()
        );
    }
    policy.remove().await
}
