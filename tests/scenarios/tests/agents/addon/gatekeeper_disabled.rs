//! Gatekeeper's kinds where they are not to be touched.

use std::sync::Arc;

use anyhow::{Result, ensure};
use reeve_scenarios::{Agents, Mode};
use serde_json::json;

const INTEGRATION: &str = "the Gatekeeper integration is disabled";

pub(crate) async fn reported(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let policy = world.place(mode)?.policy("case-c19-disabled");
    let template = json!({
        "apiVersion": "templates.gatekeeper.sh/v1", "kind": "ConstraintTemplate",
        "metadata": { "name": "case-c19-template" }, "spec": {}
    });
    let constraint = json!({
        "apiVersion": "constraints.gatekeeper.sh/v1beta1", "kind": "CaseC19",
        "metadata": { "name": "case-c19-constraint" }, "spec": {}
    });
    policy.apply("inform", &[template, constraint]).await?;
    let names = ["case-c19-template", "case-c19-constraint"];
    let reported = policy
        .until("both are reported", |reported| {
            names.iter().all(|name| !reported.newest(name).is_empty())
        })
        .await?;
    ensure!(reported.compliance() == "NonCompliant", "{reported}");
    let want = format!(
        "NonCompliant; template-error; A Gatekeeper policy-template was provided, but {INTEGRATION}: \
         the resource version was not found: templates.gatekeeper.sh/v1, Kind=ConstraintTemplate"
    );
    ensure!(reported.newest(names[0]) == want, "{reported}");
    let newest = reported.newest(names[1]);
    ensure!(newest.contains(INTEGRATION), "{reported}");
    // Of a kind that is cluster-scoped wherever it is served, the namespace is not observed.
    let events = policy.events().await?;
    let reasons = events
        .iter()
        .filter_map(|event| event.data["reason"].as_str());
    let reasons: Vec<_> = reasons
        .filter(|reason| reason.starts_with("policy:"))
        .collect();
    ensure!(
        reasons.contains(&"policy: case-c19-template"),
        "{reasons:?}"
    );
    Ok(())
}
