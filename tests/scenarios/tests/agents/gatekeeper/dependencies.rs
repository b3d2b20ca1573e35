//! Templates that wait for templates of constraints, and for constraints.

use std::sync::Arc;

use anyhow::Result;
use reeve_scenarios::guarded::{Guarded, constraint as constraint_of, template as template_of};
use reeve_scenarios::script::{CONSTRAINTS, TEMPLATES, Violation, audit};
use reeve_scenarios::within;
use serde_json::{Value, json};

use crate::gatekeeper::flows::CLEAN;

const API: &str = "policy.open-cluster-management.io/v1";

/// An entry of `policy-templates` that depends on something.
fn depending(name: &str, dependency: &Value) -> Value {
    let definition = json!({
        "apiVersion": API, "kind": "ConfigurationPolicy",
        "metadata": { "name": name },
        "spec": { "remediationAction": "inform", "severity": "low", "object-templates": [{
            "complianceType": "musthave",
            "objectDefinition": { "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "default" } }
        }] }
    });
    json!({ "extraDependencies": [dependency], "objectDefinition": definition })
}

async fn exists(world: &Guarded, name: &str, wanted: bool) -> Result<()> {
    within(format!("{name} is there: {wanted}"), || async {
        let found = world
            .managed
            .get(API, "ConfigurationPolicy", Some("guarded"), name)
            .await?;
        anyhow::ensure!(found.is_some() == wanted, "it is {found:?}");
        Ok(())
    })
    .await
}

pub(crate) async fn template(world: Arc<Guarded>) -> Result<()> {
    let kind = "CaseC17f";
    let dependency = |compliance: &str| {
        json!({
            "apiVersion": TEMPLATES, "kind": "ConstraintTemplate", "name": "casec17f", "compliance": compliance
        })
    };
    let policy = world.policy("case-c17f");
    let templates = [
        depending("case-c17f-waits", &dependency("Compliant")),
        depending("case-c17f-other", &dependency("NonCompliant")),
    ];
    policy.apply("inform", &templates).await?;
    let pending = "Pending; Dependencies were not satisfied: 1 is still pending (ConstraintTemplate casec17f)";
    policy.reports("case-c17f-waits", pending).await?;
    exists(&world, "case-c17f-waits", false).await?;
    // What is not there is not compliant.
    exists(&world, "case-c17f-other", true).await?;
    let needed = world.policy("case-c17f-needed");
    needed.apply("inform", &[template_of(kind)]).await?;
    exists(&world, "case-c17f-waits", true).await?;
    exists(&world, "case-c17f-other", false).await?;
    policy.reports("case-c17f-other", pending).await?;
    needed.remove().await?;
    policy.reports("case-c17f-waits", pending).await?;
    exists(&world, "case-c17f-waits", false).await?;
    exists(&world, "case-c17f-other", true).await?;
    policy.remove().await
}

pub(crate) async fn constraint(world: Arc<Guarded>) -> Result<()> {
    let (kind, name) = ("CaseC17g", "case-c17g");
    let needed = world.policy("case-c17g-needed");
    needed
        .apply("inform", &[template_of(kind), constraint_of(kind, name)])
        .await?;
    needed.constraint(kind, name).await?;
    let dependency = |compliance: &str| json!({ "apiVersion": CONSTRAINTS, "kind": kind, "name": name, "compliance": compliance });
    let policy = world.policy("case-c17g");
    let templates = [
        depending("case-c17g-waits", &dependency("Compliant")),
        depending("case-c17g-other", &dependency("NonCompliant")),
    ];
    policy.apply("inform", &templates).await?;
    let pending =
        "Pending; Dependencies were not satisfied: 1 is still pending (CaseC17g case-c17g)";
    // Not audited yet: neither is met.
    policy.reports("case-c17g-waits", pending).await?;
    policy.reports("case-c17g-other", pending).await?;
    let found = [Violation {
        namespace: "cups",
        name: "one",
        message: "no",
    }];
    for _ in 0..2 {
        audit(&world.managed, kind, name, &[]).await?;
        exists(&world, "case-c17g-waits", true).await?;
        exists(&world, "case-c17g-other", false).await?;
        audit(&world.managed, kind, name, &found).await?;
        exists(&world, "case-c17g-waits", false).await?;
        exists(&world, "case-c17g-other", true).await?;
        policy.reports("case-c17g-waits", pending).await?;
    }
    audit(&world.managed, kind, name, &[]).await?;
    exists(&world, "case-c17g-waits", true).await?;
    needed.reports(name, CLEAN).await?;
    policy.remove().await?;
    needed.remove().await
}
