//! What audits may leave behind.

use std::sync::Arc;

use anyhow::{Result, ensure};
use reeve_scenarios::guarded::{Guard, Guarded, constraint, template};
use reeve_scenarios::script::{Violation, audit, audit_raw};
use reeve_scenarios::{same, steadily, within};
use serde_json::{Value, json};

use crate::gatekeeper::flows::CLEAN;

async fn prepared<'a>(world: &'a Guarded, kind: &str, name: &str) -> Result<Guard<'a>> {
    let policy = world.policy(name);
    policy
        .apply("inform", &[template(kind), constraint(kind, name)])
        .await?;
    policy.constraint(kind, name).await?;
    Ok(policy)
}

pub(crate) async fn odd(world: Arc<Guarded>) -> Result<()> {
    let (kind, name) = ("RoughEdge38a", "rough-edge-38a");
    let policy = prepared(&world, kind, name).await?;
    let good = json!({
        "kind": "ConfigMap", "namespace": "cups", "name": "one", "message": "no", "enforcementAction": "warn"
    });
    let without = |key: &str, value: Value| {
        let mut entry = good.clone();
        entry[key] = value;
        entry
    };
    let odd = [
        without("name", Value::Null),
        without("name", json!(7)),
        without("namespace", json!(7)),
        without("message", Value::Null),
        without("enforcementAction", Value::Null),
        without("kind", json!({})),
        json!("no entry at all"),
    ];
    for entry in odd {
        // Merge patches drop nulls in objects, not in lists; a later audit replaces the list.
        let fields = json!({ "totalViolations": 2, "violations": [entry, good] });
        audit_raw(&world.managed, kind, name, fields).await?;
        within(
            format!("the valid one is reported beside {entry}"),
            || async {
                let history = policy.history(name).await?;
                let newest = history.first().map_or("", String::as_str);
                ensure!(
                    newest.starts_with("NonCompliant; "),
                    "the history is {history:#?}"
                );
                ensure!(
                    newest.contains("warn - no (on ConfigMap cups/one)"),
                    "the history is {history:#?}"
                );
                ensure!(
                    !newest.contains("<nil>") && !newest.contains("%!"),
                    "the history is {history:#?}"
                );
                Ok(())
            },
        )
        .await?;
        audit(&world.managed, kind, name, &[]).await?;
        policy.reports(name, CLEAN).await?;
    }
    policy.remove().await
}

pub(crate) async fn no_list(world: Arc<Guarded>) -> Result<()> {
    let (kind, name) = ("RoughEdge38b", "rough-edge-38b");
    let policy = prepared(&world, kind, name).await?;
    let invalid = "NonCompliant; The constraint status is invalid";
    for violations in [json!("many"), json!({ "a": "b" }), json!(3)] {
        let fields = json!({ "totalViolations": 1, "violations": violations });
        audit_raw(&world.managed, kind, name, fields).await?;
        policy.reports(name, invalid).await?;
        audit(&world.managed, kind, name, &[]).await?;
        policy.reports(name, CLEAN).await?;
    }
    // No number: not audited; what was observed stays.
    let fields = json!({ "totalViolations": "one", "violations": null });
    audit_raw(&world.managed, kind, name, fields).await?;
    steadily("nothing new is reported", || async {
        same(
            "the newest",
            policy.history(name).await?.first().map(String::as_str),
            Some(CLEAN),
        )
    })
    .await?;
    policy.remove().await
}

pub(crate) async fn none_after_some(world: Arc<Guarded>) -> Result<()> {
    let (kind, name) = ("GatekeeperG10", "gatekeeper-g10");
    let policy = prepared(&world, kind, name).await?;
    let found = [Violation {
        namespace: "",
        name: "cups",
        message: "no",
    }];
    audit(&world.managed, kind, name, &found).await?;
    policy
        .reports(name, "NonCompliant; warn - no (on Namespace cups)")
        .await?;
    audit(&world.managed, kind, name, &[]).await?;
    let status = &policy.constraint(kind, name).await?.data["status"];
    ensure!(
        status.get("violations").is_none() && status["totalViolations"] == 0,
        "{status}"
    );
    policy.reports(name, CLEAN).await?;
    policy.is("Compliant").await?;
    policy.remove().await
}

pub(crate) async fn not_listed(world: Arc<Guarded>) -> Result<()> {
    let (kind, name) = ("GatekeeperG21", "gatekeeper-g21");
    let policy = prepared(&world, kind, name).await?;
    for violations in [Value::Null, json!([])] {
        let fields = json!({ "totalViolations": 3, "violations": violations });
        audit_raw(&world.managed, kind, name, fields).await?;
        policy
            .reports(name, "NonCompliant; 3 violations (not listed)")
            .await?;
        audit(&world.managed, kind, name, &[]).await?;
        policy.reports(name, CLEAN).await?;
    }
    policy.remove().await
}

pub(crate) async fn again(world: Arc<Guarded>) -> Result<()> {
    let (kind, name) = ("RoughEdge39", "rough-edge-39");
    let needed = world.policy("rough-edge-39-needed");
    needed
        .apply("inform", &[template("RoughEdge39Needed")])
        .await?;
    let mut entry = json!({ "objectDefinition": constraint(kind, name) });
    entry["extraDependencies"] = json!([{
        "apiVersion": "templates.gatekeeper.sh/v1", "kind": "ConstraintTemplate",
        "name": "roughedge39needed", "compliance": "Compliant"
    }]);
    let policy = world.policy(name);
    policy.apply("inform", &[template(kind), entry]).await?;
    let found = [Violation {
        namespace: "cups",
        name: "one",
        message: "no",
    }];
    audit(&world.managed, kind, name, &found).await?;
    let bad = "NonCompliant; warn - no (on ConfigMap cups/one)";
    policy.reports(name, bad).await?;
    for _ in 0..2 {
        needed.remove().await?;
        policy
            .reports(
                name,
                "Pending; Dependencies were not satisfied: 1 is still pending (ConstraintTemplate roughedge39needed)",
            )
            .await?;
        policy
            .lost(reeve_scenarios::script::CONSTRAINTS, kind, name)
            .await?;
        needed
            .apply("inform", &[template("RoughEdge39Needed")])
            .await?;
        audit(&world.managed, kind, name, &found).await?;
        policy.reports(name, bad).await?;
    }
    policy.remove().await?;
    needed.remove().await
}
